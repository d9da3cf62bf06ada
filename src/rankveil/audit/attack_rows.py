"""Rows that belong to records, soundly (`laplace`, `aligned`): what a record's own row says about one of its cells.

laplace   Nothing but the row depends on the record. Its law is exact: discrete Laplace noise moved into the range, the
          exponential mechanism, randomized response about being missing.
aligned   The row's law given the released marginals is exact as well: the channel's weights, and how its outputs become
          cells. What the marginals say about the record is not computed; their price limits it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from rankveil.aligned.channel import HammingBall, Window
from rankveil.aligned.grouping import Linkage
from rankveil.audit.attack_belief import Floats, first_reaching
from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.fit.marginal import Marginal
from rankveil.microaggregate.clusters import axis_values
from rankveil.perturb.records import DISTANCE_UNITS, label_distances, planned

_SMALLEST = 1e-300


# laplace


def laplace_log_likelihood(column: Column, epsilon: Fraction, codes: Codes, shown: int) -> Floats:
    """log P(shown | code), up to a constant, for each code."""
    *about_missing, main = planned(column, epsilon)
    if isinstance(column.domain, Nominal):
        if main.scale is None:
            return np.zeros(len(codes))
        distances = label_distances(column.domain, with_missing=column.allows_null) / DISTANCE_UNITS / float(main.scale)
        law = -distances - np.log(np.exp(-distances).sum(axis=1, keepdims=True))
        return np.asarray(law[codes, shown])  # MISSING is -1: the last label
    found = np.zeros(len(codes))
    for mechanism in about_missing:
        wrong = -float(mechanism.epsilon or 0)
        found += np.where((codes == MISSING) == (shown == MISSING), 0.0, wrong)
    if shown == MISSING or main.scale is None:  # what the value would have been is not shown
        return found
    middle = column.domain.axis_width // 2
    positions = np.where(codes == MISSING, middle, axis_values(column, codes))
    return found + _log_chance_between(positions, *_shown_between(column.domain, shown), float(main.scale))


def _shown_between(grid: Grid, shown: int) -> tuple[float, float]:
    """The positions on the axis, unlimited at its ends, that are released as this code."""

    def code_at(positions: Codes) -> Codes:
        return grid.from_axis(positions.astype(np.float64))

    low = first_reaching(code_at, grid.axis_width, shown)
    high = first_reaching(code_at, grid.axis_width, shown + 1) - 1
    return (-math.inf if low == 0 else low), (math.inf if high == grid.axis_width else high)


def _log_chance_between(positions: Codes, low: float, high: float, scale: float) -> Floats:
    """log P(low <= position + Z <= high) + log(1 + q), Z discrete Laplace: P(Z >= z) = q^z / (1 + q) for z >= 0."""
    away = np.maximum(np.maximum(low - positions, positions - high), 0)  # steps to the nearest end from outside
    outside = -away / scale + math.log(max(-math.expm1(-(high - low + 1) / scale), _SMALLEST))
    # Inside: 1 + q - q^a - q^b with a and b the steps that leave the interval, written without cancellation.
    a, b = (np.maximum(steps + 1, 1) for steps in (positions - low, high - positions))
    inside = np.log(np.maximum(-np.expm1(-a / scale) - np.expm1(-b / scale) + math.expm1(-1 / scale), _SMALLEST))
    return np.asarray(np.where(away > 0, outside, inside))


# aligned


def aligned_log_likelihood(
    records: Records,
    released: Mapping[str, Codes],
    marginals: Mapping[str, Marginal],
    linkage: Linkage,
    row: int,
    column: Column,
    codes: Codes,
) -> Floats:
    """log P(released row | code in this column, the record's other columns as they are), for each code."""
    # becomes[name][y]: the chance that output y of the channel becomes the cell that was released.
    becomes = {
        name: linkage.redrawn[name][:, int(marginal.cell_of(released[name][row : row + 1])[0])]
        for name, marginal in marginals.items()
    }
    own = {name: int(_groups(linkage, marginals, name, records.codes[name][row : row + 1])[0]) for name in marginals}
    size = linkage.groupings[column.name].size
    per_group = [_chance(linkage, becomes, {**own, column.name: group}) for group in range(size)]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(per_group)[_groups(linkage, marginals, column.name, codes)])


def _groups(linkage: Linkage, marginals: Mapping[str, Marginal], name: str, codes: Codes) -> Codes:
    return np.asarray(linkage.groupings[name].groups[marginals[name].cell_of(codes)])


def _chance(linkage: Linkage, becomes: Mapping[str, Floats], inputs: Mapping[str, int]) -> float:
    """Σ over outputs y of P(y | inputs) Π becomes[y], up to the channel's total weight."""
    channel = linkage.channel
    outside = float(Fraction(channel.outside, channel.inside))
    if isinstance(channel, Window):
        ((name, chances),) = becomes.items()
        near = [channel.weight((inputs[name],), (y,)) == channel.inside for y in range(channel.sizes[0])]
        return float(np.where(near, chances, outside * chances).sum())
    return _ball_chance(channel, outside, becomes, inputs)


def _ball_chance(
    channel: HammingBall, outside: float, becomes: Mapping[str, Floats], inputs: Mapping[str, int]
) -> float:
    """Column by column: by_changes[c] is the chance so far with c changes, all beyond the radius counted together."""
    by_changes = np.zeros(channel.radius + 2)
    by_changes[0] = 1.0
    for name, chances in becomes.items():
        kept = float(chances[inputs[name]])
        changed = float(chances.sum()) - kept
        moved = np.concatenate([[0.0], by_changes[:-1]])
        moved[-1] += by_changes[-1]
        by_changes = kept * by_changes + changed * moved
    return float(by_changes[:-1].sum() + outside * by_changes[-1])
