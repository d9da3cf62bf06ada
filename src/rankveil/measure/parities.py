"""Yes/no columns: how they depend on each other, one number per pair (and per triple) instead of a table.

Guarantee    Differentially private at the price it is given.
Argument     Every record has a sign in each of b columns, and a parity is the sum over records of the product of the
             signs of some columns. Replace a record, and let p of its b signs change: a product changes, by 2, if and
             only if an odd number of its columns changed. Of the products of k columns those are
                 N_k(p) = sum over odd j of C(p, j) C(b - p, k - j),
             so the loss is at most the largest, over p, of the sum over k of 2 N_k(p) / scale_k with Laplace noise, and
             of 4 N_k(p) / (2 variance_k) with Gaussian noise: T47. An added record changes every product by 1. For
             whole persons T50: these are norms, which grow r times, and the second one r² times.
Arithmetic   Integer sums, exact integer noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.unit import Sensitivity, Unit
from rankveil.measure.budget import Noise, Price
from rankveil.measure.measurements import TableMeasurement
from rankveil.measure.tables import Counted
from rankveil.noise import RandomSource

_YES_OR_NO = np.arange(2)


def changing(columns: int, flipped: int, order: int) -> int:
    """N_k(p): how many products of `order` columns change if `flipped` signs do."""
    return sum(comb(flipped, odd) * comb(columns - flipped, order - odd) for odd in range(1, order + 1, 2))


def parity_noise(price: Price, columns: int, orders: Sequence[int]) -> dict[int, Noise]:
    """The noise on products of each order, if all of them are measured at this price.

    A product of two columns is part of m - 2 tables of three columns, a product of three of one. Errors of these tables
    are least if noise is in proportion to the number of tables to the power -1/4 (-1/3 with Laplace noise).
    """
    times = Fraction(round(8 * max(columns - 2, 1) ** (1 / 3 if price.unit == "epsilon" else 1 / 4)), 8)
    factor = {order: times if order == 3 else Fraction(1) for order in orders}
    change = parity_change(price.protects, columns, factor)
    return {
        order: price.laplace_or_gaussian(l1=times * change.l1, l2_squared=times**2 * change.l2_squared)
        for order, times in factor.items()
    }


def parity_change(protects: Unit, columns: int, factor: Mapping[int, Fraction]) -> Sensitivity:
    """Of all products of these orders, each divided by the factor of its order."""
    flips = range(columns + 1)
    replaced = Sensitivity(
        max(sum(2 * changing(columns, p, k) / each for k, each in factor.items()) for p in flips),
        max(sum(4 * changing(columns, p, k) / each**2 for k, each in factor.items()) for p in flips),
    )
    added = Sensitivity(
        sum((comb(columns, k) / each for k, each in factor.items()), Fraction(0)),
        sum((comb(columns, k) / each**2 for k, each in factor.items()), Fraction(0)),
    )
    return protects.sensitivity(replaced, added)


def orders_worth(price: Price, columns: int, rows: int) -> tuple[int, ...]:
    """Pairs, and triples too if their noise is small beside the table."""
    if columns < 3:
        return (2,)
    noise = parity_noise(price, columns, (2, 3))[3]
    return (2, 3) if noise.deviation / rows <= rules.WORTH_OF_TRIPLES else (2,)


def measure_parities(
    counts: Counted, names: Sequence[str], orders: Sequence[int], rows: int, price: Price, source: RandomSource
) -> list[TableMeasurement]:
    """All products of so many columns, from their exact tables."""
    noises = parity_noise(price, len(names), orders)
    found = []
    for order in orders:
        asked = list(combinations(names, order))
        exact = np.array([_signed(counts[columns]) for columns in asked], dtype=np.int64)
        # PRIVACY: all products of all orders together cost the price, whatever record is replaced (T47).
        noisy = noises[order].added_to(exact, source).astype(np.float64)
        found += [
            TableMeasurement(
                columns,
                (_YES_OR_NO,) * order,
                np.array([(rows + product) / 2, (rows - product) / 2]),
                noises[order].deviation,
                parity=True,
            )
            for columns, product in zip(asked, noisy, strict=True)
        ]
    return found


def _signed(table: NDArray[np.int64]) -> int:
    """The sum of the products of signs: cells of an even number of yeses less those of an odd number."""
    for _ in range(table.ndim):
        table = table[0] - table[1]
    return int(table)


def parity_part(columns: int, price: Price) -> float:
    """What all pairs together weigh in the division of the budget: as a table with so many cells."""
    change, of_counts = parity_change(price.protects, columns, {2: Fraction(1)}), price.protects.of_counts
    if price.unit == "epsilon":
        return comb(columns, 2) * float(change.l1 / of_counts.l1)
    return comb(columns, 2) * math.sqrt(change.l2_squared / of_counts.l2_squared)
