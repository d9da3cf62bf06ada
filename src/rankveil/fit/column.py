"""From measurements of columns to marginals: one estimator for all of them. Post-processing (T1).

Guarantee    Reads measurements, n and the plan; sees no data and draws nothing.
Steps        The finest cells of the levels that cover a column; which of them stand out as spikes; a curve that is
             likely a priori (prior.py); one density for all of them (density.py); the levels of the
             search divide its cells further; last digits say which codes are round (digits.py). Labels and columns of
             few values: labels.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.axis import Axis
from rankveil.declare.domain import Grid
from rankveil.declare.schema import Column
from rankveil.fit.density import System, fit_densities
from rankveil.fit.digits import with_round_numbers
from rankveil.fit.labels import Labels, fit_labels
from rankveil.fit.marginal import Finest, Marginal, marginal_of
from rankveil.fit.prior import Evidence, curves
from rankveil.fit.segments import Segments
from rankveil.fit.simplex import Floats
from rankveil.fit.threads import on_one_thread
from rankveil.fit.trust import shrunk
from rankveil.measure.measurements import ColumnMeasurement, Level, beyond_noise
from rankveil.rules import CURVE_POINTS, MOST_CELLS

Bools = NDArray[np.bool_]
Edges = NDArray[np.int64]

_EVERYWHERE = 1e-8  # of the records are expected evenly spread, so that no cell is impossible
_FEW = 5  # values: of fewer there is no third derivative, and they are fitted like labels
_SUM = 0.05  # deviation of n, in deviations of a count: nearly none


@on_one_thread
def fit_columns(measured: Mapping[str, ColumnMeasurement], rows: int, finest: Finest) -> dict[str, Marginal]:
    """Every column's marginal."""
    few = {name: each for name, each in measured.items() if not _has_axis(each.column)}
    masses = dict(zip(few, fit_labels([_labels(each, rows) for each in few.values()]), strict=True))
    seen = {name: _observed(each, rows) for name, each in measured.items() if name not in few}
    expected = _expected(seen)
    fitted = fit_densities([each.system(expected[name]) for name, each in seen.items()])
    segments = {
        name: _with_digits(measured[name], _divided(measured[name], each.segments(mass)))
        for (name, each), mass in zip(seen.items(), fitted, strict=True)
    }
    for name, mass in masses.items():
        if isinstance(few[name].column.domain, Grid):
            codes = np.arange(len(mass) - len(few[name].apart))
            segments[name] = _segments(few[name].column, codes, codes + 1, mass)
    found: dict[str, Marginal] = {}
    for name, each in measured.items():
        shape = segments[name] if name in segments else masses[name]
        covering = each.levels[_covering(each) - 1]
        found[name] = marginal_of(each.column, shape, covering.deviation**2, finest)
    return found


def even_columns(measured: Mapping[str, ColumnMeasurement], rows: int, finest: Finest) -> dict[str, Marginal]:
    """Marginals of columns of which nothing is known: every value as likely as every other. For dry runs."""
    found: dict[str, Marginal] = {}
    for name, each in measured.items():
        size, level = Axis.of(each.column).size, each.levels[0]
        apart = np.full(len(each.apart), rows / (len(level.noisy) + len(each.apart)))
        present = np.full(1 if isinstance(each.column.domain, Grid) else size, rows - apart.sum())
        mass = np.append(present / len(present), apart)
        shape: Segments | Floats = mass
        if isinstance(each.column.domain, Grid):
            shape = _segments(each.column, np.array([0]), np.array([size]), mass)
        found[name] = marginal_of(each.column, shape, level.deviation**2, finest)
    return found


# Labels and few values


def _has_axis(column: Column) -> bool:
    return isinstance(column.domain, Grid) and Axis.of(column).size >= _FEW


def _labels(each: ColumnMeasurement, rows: int) -> Labels:
    [level] = each.levels
    return Labels(np.append(level.noisy, each.apart), level.deviation, level.law == "discrete Laplace", float(rows))


def _segments(column: Column, low: Edges, high: Edges, mass: Floats) -> Segments:
    """Masses of cells, followed by those of special values and of missing."""
    missing = float(mass[-1]) if column.allows_null else 0.0
    return Segments(low, high, mass[: len(low)], missing, mass[len(low) : len(mass) - int(column.allows_null)])


# Columns along an axis


@dataclass(frozen=True)
class _Observed:
    """The finest cells of a column that the density is fitted to, and all noisy counts about them."""

    kind: str
    column: Column
    low: Edges
    high: Edges
    zero: int | None  # the cell of zero, of wide columns of amounts
    standing: Bools  # cells that stand far above their neighbours
    own: Floats  # noisy count of each cell that was counted by itself
    free: Bools
    member: Floats  # observations x cells
    noisy: Floats
    deviation: Floats
    laplace: Bools
    rows: int
    apart: Floats  # noisy counts of special values and of missing
    apart_deviation: float

    @property
    def _edges(self) -> Edges:
        return np.append(self.low, self.high[-1])

    def evidence(self) -> Evidence:
        total = max(self.rows - self.apart.sum(), 1.0)
        axis = Axis.of(self.column)
        return Evidence.of(axis, self._edges, self.zero, self.member, self.noisy, self.deviation, self.laplace, total)

    def segments(self, mass: Floats) -> Segments:
        return _segments(self.column, self.low, self.high, mass)

    def system(self, curve: Floats) -> System:
        """For a curve that is expected."""
        places = Axis.of(self.column).places(self._edges)
        width, place = np.diff(places), (places[:-1] + places[1:]) / 2
        expected = (curve + _EVERYWHERE * width) * self.rows
        free = self.free | (self.standing & (self.own > 2 * expected))
        member, noisy, deviation, laplace = self.member, self.noisy, self.deviation, self.laplace
        apart = len(self.apart)
        if apart:
            member = np.pad(member, ((0, apart), (0, apart)))
            member[-apart:, -apart:] = np.eye(apart)
            noisy, deviation = np.append(noisy, self.apart), np.append(deviation, np.full(apart, self.apart_deviation))
            laplace, free = np.append(laplace, np.full(apart, laplace[0])), np.append(free, np.ones(apart, np.bool_))
            expected = np.append(expected, np.maximum(self.apart, 0.1 * self.apart_deviation))
            width, place = np.append(width, np.ones(apart)), np.append(place, 2.0 + np.arange(apart))
        member = np.concatenate([member, np.ones((1, member.shape[1]))])
        noisy, deviation = np.append(noisy, float(self.rows)), np.append(deviation, _SUM * deviation[0])
        laplace = np.append(laplace, False)
        return System(self.kind, expected, width, place, free, member, noisy, deviation, laplace, float(self.rows))


def _expected(observed: Mapping[str, _Observed]) -> dict[str, Floats]:
    """What is expected of the cells, as shares: columns of a kind learn together."""
    found: dict[str, Floats] = {}
    for kind in sorted({each.kind for each in observed.values()}):
        members = {name: each for name, each in observed.items() if each.kind == kind}
        found |= zip(members, curves([each.evidence() for each in members.values()]), strict=True)
    return found


def _covering(each: ColumnMeasurement) -> int:
    """How many levels cover the whole column."""
    size = Axis.of(each.column).size
    return sum(1 for level in each.levels if level.low[0] == 0 and (level.high - level.low).sum() == size)


def _used(each: ColumnMeasurement) -> int:
    """How many levels the density is fitted to: those that cover, and one more if it is small."""
    covering = _covering(each)
    more = each.levels[covering : covering + 1]
    small = sum(len(level.low) for level in each.levels[covering - 1 : covering + 1]) <= MOST_CELLS
    return covering + int(bool(more) and small)


def _observed(each: ColumnMeasurement, rows: int) -> _Observed:
    axis, levels, covering = Axis.of(each.column), each.levels[: _used(each)], _covering(each)
    low, high = levels[covering - 1].low, levels[covering - 1].high
    for level in levels[covering:]:
        whole = np.setdiff1d(np.arange(len(low)), np.searchsorted(low, level.low, side="right") - 1)
        low, high = (np.sort(np.append(a[whole], b)) for a, b in ((low, level.low), (high, level.high)))
    own, deviation = _counted(levels, low, high)
    law = levels[0].law
    out = _standing_out(own, deviation, np.diff(axis.places(np.append(low, high[-1]))), beyond_noise(len(low), law))
    standing = low[out]
    if len(low) < CURVE_POINTS:  # counts are few: the prior's curve says what is inside their cells
        points = axis.cut(CURVE_POINTS)
        inside = np.minimum(np.searchsorted(low, points, side="right") - 1, len(low) - 1)
        edges = np.union1d(np.append(low, high[-1]), points[~out[inside]])
        low, high = edges[:-1], edges[1:]
        own, deviation = _counted(levels, low, high)
    cells = np.arange(len(low))
    start = np.concatenate([np.searchsorted(low, level.low) for level in levels])
    end = np.concatenate([np.searchsorted(low, level.high) for level in levels])
    every = len(levels[covering - 1].low) == axis.size
    free, zero = np.zeros(len(low), np.bool_), None
    if not every:
        first = min(max(axis.zero, 0), axis.size - 1)
        free[low == first] = True
        free[-1] = own[-1] > beyond_noise(1, law) * deviation[-1]  # a top code
        zero = int(np.searchsorted(low, first)) if axis.is_amount else None
    return _Observed(
        "values" if every else "amounts" if axis.is_amount else "numbers",
        each.column,
        low,
        high,
        zero,
        np.isin(low, standing),
        own,
        free,
        ((cells >= start[:, None]) & (cells < end[:, None])).astype(np.float64),
        np.concatenate([level.noisy for level in levels]),
        np.concatenate([np.full(len(level.noisy), level.deviation) for level in levels]),
        np.full(len(start), law == "discrete Laplace"),
        rows,
        np.clip(each.apart, 0.0, float(rows)),
        each.apart_deviation,
    )


def _counted(levels: tuple[Level, ...], low: Edges, high: Edges) -> tuple[Floats, Floats]:
    """Noisy counts of these cells, and their deviations, where they were counted by themselves, once or more often."""
    weight, total = np.zeros(len(low)), np.zeros(len(low))
    for level in levels:
        place = np.minimum(np.searchsorted(low, level.low), len(low) - 1)
        same = (low[place] == level.low) & (high[place] == level.high)
        weight[place[same]] += level.deviation**-2
        total[place[same]] += level.noisy[same] * level.deviation**-2
    counted = np.where(weight > 0, weight, 1.0)
    return np.where(weight > 0, total / counted, -np.inf), counted**-0.5


def _standing_out(noisy: Floats, deviation: Floats, width: Floats, limit: float) -> Bools:
    """Cells far above twice the median density of the three on each side."""
    padded = np.pad(noisy / width, 3, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(padded, 7)[:, [0, 1, 2, 4, 5, 6]]
    expected = np.maximum(np.nanmedian(around, axis=1) * width, 0.0)
    found: Bools = noisy > 2 * expected + limit * deviation
    return found


# Further down


def _divided(each: ColumnMeasurement, segments: Segments) -> Segments:
    for level in each.levels[_used(each) :]:
        segments = divided(segments, level, Axis.of(each.column))
    return segments


def _with_digits(each: ColumnMeasurement, segments: Segments) -> Segments:
    return segments if each.digits is None else with_round_numbers(segments, each.digits)


def divided(segments: Segments, level: Level, axis: Axis) -> Segments:
    """Segments that a level divided, in its pieces.

    What is expected of a piece follows the density around it; counts weigh as much as those of the whole level
    differ from that by more than noise; pieces that stand out by themselves keep what was counted.
    """
    of = np.searchsorted(segments.low, level.low, side="right") - 1
    whole = segments.mass[of]
    width = np.diff(axis.places(np.stack([level.low, level.high])), axis=0)[0]
    share = width * _density_at(segments, axis, (level.low + level.high) / 2)
    expected = whole * share / np.bincount(of, share, minlength=len(segments.low))[of]
    mass, out = shrunk(expected, level.noisy, level.deviation, level.law)
    # What the pieces of a cell are over or short goes to those that do not stand out, as far as they can take it.
    taken = np.bincount(of, np.where(out, mass, 0.0), minlength=len(segments.low))[of]
    rest = np.bincount(of, np.where(out, 0.0, mass), minlength=len(segments.low))[of]
    mass = np.where(
        out,
        mass * np.minimum(1.0, whole / np.maximum(taken, 1e-9)),
        mass * np.maximum(whole - taken, 0.0) / np.maximum(rest, 1e-9),
    )
    total = np.bincount(of, mass, minlength=len(segments.low))[of]
    mass = np.where(total > 0, mass * whole / np.maximum(total, 1e-300), expected)
    kept = np.setdiff1d(np.arange(len(segments.low)), of)
    low, high, masses = (
        np.concatenate([before[kept], after])
        for before, after in ((segments.low, level.low), (segments.high, level.high), (segments.mass, mass))
    )
    order = np.argsort(low, kind="stable")
    return Segments(low[order], high[order], masses[order], segments.missing, segments.special)


def _density_at(segments: Segments, axis: Axis, codes: Floats) -> Floats:
    """The density along the axis at these codes, between the middles of segments; spikes have none."""
    smooth = segments.high - segments.low > 1
    if smooth.sum() < 2:
        return np.ones(len(codes))
    low, high = axis.places(segments.low[smooth]), axis.places(segments.high[smooth])
    density = np.log(np.maximum(segments.mass[smooth] / (high - low), 1e-9))
    return np.exp(np.interp(axis.places(codes), (low + high) / 2, density))
