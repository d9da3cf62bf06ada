"""Every record perturbed by itself: discrete Laplace noise on numbers, the exponential mechanism on labels.

Guarantee    With shares adding up to ε the released rows are ε-differentially private (pure), for neighbours that
             differ in the protected values of one record.
Argument     T31, which is T3 with nothing released beforehand: row r of the output depends on record r only, so a
             replacement at r changes one factor of the output's probability. That factor is a composition over
             the columns:
             numbers   positions lie in 0..D, so discrete Laplace of scale D/ε_a is ε_a-DP (T6); rounding and
                       moving the result into the domain is post-processing;
             labels    P(a) ∝ exp(-ε_a·d(x, a) / 2Δ), Δ the largest change of d(·, a) over two labels: the exponential
                       mechanism (T8). Candidates are the labels of the plan, and 'missing' where the plan allows it;
             missing   in a numeric column half of ε_a pays for a randomized response about being missing (T10), half
                       for the value, in which missing is replaced by the middle of the domain, a constant (T5).
Arithmetic   Positions and distances are integers (distances in units of 2^-20, rounded once, a public table);
             scales are rational; noise is exact. Floating point only after the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.again import read_again
from rankveil.declare.dataset import CodeBatch
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.draw.rows import Rows
from rankveil.errors import PlanError
from rankveil.measure.budget import Mechanism, Noise
from rankveil.microaggregate import SingleRecords
from rankveil.noise import Exponential, RandomizedResponse, RandomSource, representable_scale

DISTANCE_UNITS = 1 << 20


def planned(column: Column, epsilon: Fraction) -> list[Mechanism]:
    """What will be drawn for a column at this price. A function of the plan alone."""
    domain = column.domain
    if isinstance(domain, Nominal):
        distances = label_distances(domain, with_missing=column.allows_null)
        sensitivity = int(np.ptp(distances, axis=0).max())
        if sensitivity == 0:  # a single possible value: nothing to protect
            return [Mechanism(column.name, "constant", Fraction(0), sensitivity="none", theorems=("T1",))]
        return [
            Mechanism(
                column.name,
                "exponential mechanism",
                epsilon,
                scale=2 * sensitivity / epsilon / DISTANCE_UNITS,
                sensitivity=f"semantic distance {sensitivity / DISTANCE_UNITS:.4f}",
                theorems=("T8",),
            )
        ]
    notes = []
    if column.allows_null:
        epsilon /= 2
        notes.append(
            Mechanism(
                column.name,
                "randomized response on being missing",
                epsilon,
                sensitivity="one bit",
                theorems=("T10",),
            )
        )
    scale = laplace_scale(column, domain.axis_width, epsilon)
    notes.append(
        Mechanism(
            column.name,
            "discrete Laplace",
            epsilon,
            scale=scale,
            scale_in_units=domain.in_units(scale),
            sensitivity=f"{domain.axis_width} steps of the axis",
            theorems=("T6",),
        )
    )
    return notes


def laplace_scale(column: Column, change: int, epsilon: Fraction, *, levers: str = "ε") -> Fraction:
    """Of noise on integers that one record changes by so much. `levers`: what may be changed if there is none."""
    try:
        return representable_scale(change / epsilon)
    except ValueError:
        raise PlanError(
            f"Column {column.name!r}: at this ε its noise is too large or too small to be drawn exactly.",
            remedy=f"Change {levers}, or declare fewer steps: a narrower range or a larger step.",
        ) from None


def perturb_records(given: SingleRecords, shares: Mapping[str, Fraction], source: RandomSource) -> Rows:
    """Each protected value through its own channel, at the price of its column's share, and still in its row.

    The channel is set here; records go through it when the rows are asked for.
    PRIVACY: once, because going through them again would draw a second noise for the same records.
    """
    mechanisms = {column.name: planned(column, shares[column.name]) for column in given.schema.protected}
    stream = _perturbed(given, mechanisms, source)
    notes = tuple(chain.from_iterable(mechanisms.values()))
    return Rows(given.schema, given.row_count, notes, row_aligned=True, stream=stream)


def _perturbed(
    given: SingleRecords, mechanisms: Mapping[str, list[Mechanism]], source: RandomSource
) -> Iterator[CodeBatch]:
    for codes in read_again(given.dataset, given.schema.names, given.row_count):
        for column in given.schema.protected:
            raw, of_column = codes[column.name], mechanisms[column.name]
            if isinstance(column.domain, Grid):
                codes[column.name] = _perturb_numbers(column.domain, raw, of_column, source)
            else:
                codes[column.name] = _perturb_labels(column, column.domain, raw, of_column[0], source)
        yield codes


def _perturb_numbers(grid: Grid, codes: Codes, mechanisms: list[Mechanism], source: RandomSource) -> Codes:
    *about_missing, laplace = mechanisms
    missing = codes == MISSING
    for mechanism in about_missing:
        # PRIVACY: every record answers, whether or not its value is missing.
        missing = source.answer(RandomizedResponse(known(mechanism.epsilon)), missing)
    positions = np.where(codes == MISSING, grid.axis_width // 2, grid.to_axis(np.maximum(codes, 0)))
    # PRIVACY: one draw per value, on integers; clipping and rounding come after.
    noisy = Noise("discrete Laplace", known(laplace.scale)).added_to(positions, source)
    return np.where(missing, MISSING, grid.from_axis(noisy.astype(np.float64)))


def _perturb_labels(
    column: Column, nominal: Nominal, codes: Codes, mechanism: Mechanism, source: RandomSource
) -> Codes:
    if mechanism.scale is None:
        return codes.copy()
    distances = label_distances(nominal, with_missing=column.allows_null)
    last = len(distances) - 1
    inputs = np.where(codes == MISSING, last, codes)
    drawn = source.answer(Exponential(mechanism.scale * DISTANCE_UNITS), -distances[inputs])
    if column.allows_null:
        drawn[drawn == last] = MISSING
    return drawn


def known(number: Fraction | None) -> Fraction:
    if number is None:
        raise TypeError("a private mechanism needs a share of the budget and a scale")
    return number


def label_distances(nominal: Nominal, *, with_missing: bool) -> NDArray[np.int64]:
    """Semantic distances between labels as integers, 'missing' last and as far from all others as labels can be."""
    labels = nominal.label_count
    table = np.rint(nominal.taxonomy.distances[:labels, :labels] * DISTANCE_UNITS).astype(np.int64)
    if with_missing:
        farthest = int(table.max()) or DISTANCE_UNITS
        table = np.pad(table, (0, 1), constant_values=farthest)
        table[-1, -1] = 0
    return table
