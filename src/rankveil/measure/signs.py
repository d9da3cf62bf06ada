"""Sign products of pairs of columns: linkage for few records.

Guarantee    Differentially private at the price it is given.
Argument     T19: every value counts as +1 or -1 by a released split of its column, 0 if missing.
             G_ab = sum over records of s_a·s_b. Replacing one record changes the vector of all G_ab by at most
             2·floor(m²/4) in L1 and m (m even) or sqrt(m² - 1) (m odd) in L2; adding one by m(m-1)/2 in L1 and its root
             in L2. For whole persons T50.
             T56: where noise on all pairs would be too much, without δ, those of a tree. Its pairs are chosen one after
             the other by permute-and-flip, among those that join what is not joined yet, at even parts of a price.
Arithmetic   Integer sums from the two-way counts; exact noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.unit import ADDED, Sensitivity, Unit
from rankveil.fit.marginal import Marginal
from rankveil.measure.budget import Price
from rankveil.measure.measurements import SignProducts
from rankveil.measure.tables import Columns, Counted
from rankveil.noise import PermuteAndFlip, RandomSource, representable_scale

Products = dict[Columns, int]


def all_change(protects: Unit, columns: int) -> Sensitivity:
    """Of the sign products of all pairs of so many columns."""
    replaced = Sensitivity(2 * (columns**2 // 4), columns**2 - columns % 2)
    return protects.sensitivity(replaced, ADDED * comb(columns, 2))


def tree_change(protects: Unit, columns: int) -> Sensitivity:
    """Of those of the pairs of a tree: each by 2 at most, all of them at once."""
    return protects.sensitivity(Sensitivity(2, 4) * (columns - 1), ADDED * (columns - 1))


def exact_products(counts: Counted, marginals: Mapping[str, Marginal]) -> Products:
    """Raw data: sums over the records of the products of two signs."""
    signs = {name: marginal.signs() for name, marginal in marginals.items()}
    return {(a, b): int(signs[a] @ table @ signs[b]) for (a, b), table in counts.items()}


def best_tree(
    products: Products,
    marginals: Mapping[str, Marginal],
    rows: int,
    weights: Mapping[Columns, float],
    price: Price,
    source: RandomSource,
) -> list[Columns]:
    """Pairs that join all columns, those before others whose product is far from what independence would give."""
    pairs, place = list(products), {name: number for number, name in enumerate(marginals)}
    ends = np.array([[place[name] for name in pair] for pair in pairs])
    scores = _scores(products, marginals, rows, weights)
    joined = np.arange(len(marginals))  # to which part each column belongs
    law = PermuteAndFlip(representable_scale(choice_scale(price, len(marginals))))
    chosen = []
    left = np.arange(len(pairs))
    for _ in range(len(marginals) - 1):
        left = left[joined[ends[left, 0]] != joined[ends[left, 1]]]
        # PRIVACY: which pairs are left follows from earlier choices alone.
        pick = left[int(source.answer(law, scores[left][np.newaxis])[0])]
        chosen.append(pairs[pick])
        first, second = joined[ends[pick]]
        joined[joined == second] = first
    return chosen


def choice_scale(price: Price, columns: int) -> Fraction:
    """Of one of the choices of a tree: T9 asks for twice what a score can change, for an even part of the price."""
    return 2 * tree_change(price.protects, 2).l1 * (columns - 1) / price.amount


def _scores(
    products: Products, marginals: Mapping[str, Marginal], rows: int, weights: Mapping[Columns, float]
) -> NDArray[np.int64]:
    """Distances from independence. Pairs of less interest count for less: whole parts change by no more than wholes."""
    mean = {name: float(each.signs() @ each.mass / each.mass.sum()) for name, each in marginals.items()}
    distance = [abs(product - round(rows * mean[a] * mean[b])) for (a, b), product in products.items()]
    most = max(weights.values())
    parts = [Fraction(weights[pair]) / Fraction(most) for pair in products]
    return np.array([each * part // 1 for each, part in zip(distance, parts, strict=True)], dtype=np.int64)


def measured_products(
    products: Products, pairs: Sequence[Columns], change: Sensitivity, price: Price, source: RandomSource
) -> SignProducts:
    """Those of these pairs, with noise for what all of them together change."""
    noise = price.noise_for(change)
    exact = np.array([products[pair] for pair in pairs], dtype=np.int64)
    # PRIVACY: all of them in one vector; the sensitivity is that of the whole vector.
    noisy = noise.added_to(exact, source).astype(np.float64)
    return SignProducts(dict(zip(pairs, noisy.tolist(), strict=True)), noise.deviation)
