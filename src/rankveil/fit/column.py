"""From measurements of columns to marginals: one estimator for all of them. Post-processing (T1).

Guarantee    Reads measurements, n and the plan; sees no data and draws nothing.
Steps        The finest cells that the first two levels asked for; which of them are spikes; one density for all of them
             (density.py); then the levels of the search divide cells further (`divided`).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.axis import Axis
from rankveil.declare.domain import Grid
from rankveil.fit.density import System, fit_densities
from rankveil.fit.marginal import Marginal, NominalMarginal, OrderedMarginal
from rankveil.fit.prior import Evidence, curves
from rankveil.fit.segments import Segments
from rankveil.fit.simplex import Floats
from rankveil.measure.measurements import ColumnMeasurement, Level

Bools = NDArray[np.bool_]


def fit_columns(
    measured: Mapping[str, ColumnMeasurement], rows: int, *, most_cells: int, least_mass: float
) -> dict[str, Marginal]:
    """Every column's marginal; `most_cells` and `least_mass` are of base cells."""
    observed = {name: _observed(each, rows) for name, each in measured.items()}
    curves = _prior_curves(observed)
    fitted = fit_densities([each.system(curves.get(name)) for name, each in observed.items()])
    found: dict[str, Marginal] = {}
    for (name, each), seen, (mass, _) in zip(measured.items(), observed.values(), fitted, strict=True):
        column = each.column
        null = column.allows_null
        noise = each.levels[0].deviation ** 2
        if not isinstance(column.domain, Grid):
            found[name] = NominalMarginal(mass, most_cells=most_cells, least_mass=least_mass, label_variance=noise, null=null)
            continue
        segments = Segments(seen.low, seen.high, mass[: len(seen.low)], float(mass[-1]) if null else 0.0)
        for level in each.levels[public_levels(each)[1] :]:
            segments = divided(segments, level, Axis.of(column))
        found[name] = OrderedMarginal(
            Axis.of(column).size, segments, most_cells=most_cells, least_mass=least_mass, cell_variance=noise, null=null
        )
    return found


def _prior_curves(observed: Mapping[str, _Observed]) -> dict[str, Floats]:
    """What is expected of the cells of ordered columns: columns of a kind learn together."""
    found = {}
    for kind in {each.kind for each in observed.values()} - {"labels"}:
        members = {name: each for name, each in observed.items() if each.kind == kind}
        found |= zip(members, curves([each.evidence() for each in members.values()]), strict=True)
    return found


@dataclass(frozen=True)
class _Observed:
    """The finest cells of the first two levels, and all noisy counts about them."""

    kind: str
    axis: Axis
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    edges: Floats | None  # on the axis
    zero: int | None
    own: list[tuple[float, float]]
    standing: Bools  # cells that stand far above their neighbours
    free: Bools
    member: Floats
    noisy: Floats
    deviation: Floats
    laplace: Bools
    rows: int
    missing: float | None

    def evidence(self) -> Evidence:
        total = self.rows - (self.missing or 0.0)
        assert self.edges is not None
        return Evidence.of(self.axis, np.append(self.low, self.high[-1]), self.zero, self.member, self.noisy, self.deviation, self.laplace, total)

    def system(self, curve: Floats | None) -> System:
        cells, rows = len(self.low), float(self.rows)
        members, counts, deviations, laws, free = self.member, self.noisy, self.deviation, self.laplace, self.free
        if curve is None or self.edges is None:
            expected, place, width = np.full(cells, rows / cells), None, np.ones(cells)
        else:
            even = width = np.diff(self.edges)
            expected = (curve + EVEN * even) * rows
            place = (self.edges[:-1] + self.edges[1:]) / 2
            free = free | (self.standing & (np.array([noisy for noisy, _ in self.own]) > 2 * expected))
        if self.missing is not None:
            members = np.pad(members, ((0, 1), (0, 1)))
            members[-1, -1] = 1.0
            counts, deviations = np.append(counts, self.missing), np.append(deviations, deviations[0])
            laws, free = np.append(laws, laws[0]), np.append(free, True)
            expected = np.append(expected, max(self.missing, 0.1 * deviations[0]))
            place, width = None if place is None else np.append(place, 2.0), np.append(width, 1.0)
        members = np.concatenate([members, np.ones((1, members.shape[1]))])
        counts, deviations = np.append(counts, rows), np.append(deviations, 0.05 * deviations[0])
        return System(self.kind, expected, width, place, free, members, counts, deviations, np.append(laws, False), rows)


EVEN = float(os.environ.get("EVEN", "1e-8"))


FEW_VALUES = int(os.environ.get("FEW", "8"))
MOST_POINTS = int(os.environ.get("POINTS", "32"))
MOST_LEAVES = int(os.environ.get("LEAVES", "128"))


def public_levels(each: ColumnMeasurement) -> tuple[int, int]:
    """How many levels cover the whole column, and how many the density is fitted to."""
    size = Axis.of(each.column).size
    public = sum(1 for level in each.levels if level.low[0] == 0 and (level.high - level.low).sum() == size)
    more = len(each.levels) > public and len(each.levels[public - 1].low) + len(each.levels[public].low) <= MOST_LEAVES
    return public, public + int(more)


def _observed(each: ColumnMeasurement, rows: int) -> _Observed:
    column, axis = each.column, Axis.of(each.column)
    ordered = isinstance(column.domain, Grid) and axis.size >= FEW_VALUES
    public, used = public_levels(each)
    first, main = each.levels[0], each.levels[public - 1]
    low, high = main.low, main.high
    if used > public:
        second = each.levels[public]
        inside = np.searchsorted(low, second.low, side="right") - 1
        whole = np.setdiff1d(np.arange(len(low)), inside)
        low, high = (np.sort(np.concatenate([a[whole], b])) for a, b in ((low, second.low), (high, second.high)))
    standing = np.zeros(0, np.int64)
    if ordered:
        width = np.diff(axis.places(np.append(low, high[-1])))
        out = _standing_out(_own_counts(each.levels[:used], low, high), width)
        standing = low[out]
        if len(low) < MOST_POINTS:  # counts are few: the prior's curve says what is inside their cells
            points = axis.cut(MOST_POINTS)
            inside = np.minimum(np.searchsorted(low, points, side="right") - 1, len(low) - 1)
            edges = np.union1d(np.append(low, high[-1]), points[~out[inside]])
            low, high = edges[:-1], edges[1:]
    cells = len(low)
    levels = each.levels[:used]
    starts = np.concatenate([np.searchsorted(low, level.low) for level in levels])
    ends = np.concatenate([np.searchsorted(low, level.high) for level in levels])
    member = ((np.arange(cells) >= starts[:, None]) & (np.arange(cells) < ends[:, None])).astype(np.float64)
    noisy = np.concatenate([level.noisy for level in levels])
    deviation = np.concatenate([np.full(len(level.noisy), level.deviation) for level in levels])
    laplace = np.full(len(noisy), first.law == "discrete Laplace")
    free = np.zeros(cells, np.bool_)
    own: list[tuple[float, float]] = []
    edges, zero, kind = None, None, "labels"
    if ordered:
        edges = axis.places(np.append(low, high[-1]))
        kind = "values" if cells == axis.size else "amount" if axis.is_amount else "plain"
        own = _own_counts(levels, low, high)
        if kind != "values":
            zero_code = min(max(axis.zero, 0), axis.size - 1)
            free |= low == zero_code
            upper = len(low) - 1
            free[upper] = own[upper][0] > (math.sqrt(2 * math.log(cells)) + 0.5) * own[upper][1]
            if kind == "amount":
                zero = int(np.flatnonzero(low == zero_code)[0])
    missing = None
    if each.missing is not None:
        missing = min(max(each.missing, 0.0), float(rows))
    return _Observed(kind, axis, low, high, edges, zero, own, np.isin(low, standing), free, member, noisy, deviation, laplace, rows, missing)


def _own_counts(levels: tuple[Level, ...], low: NDArray[np.int64], high: NDArray[np.int64]) -> list[tuple[float, float]]:
    found = {}
    for level in levels:
        for a, b, y in zip(level.low.tolist(), level.high.tolist(), level.noisy.tolist(), strict=True):
            found[a, b] = (y, level.deviation)
    return [found.get((a, b), (-math.inf, 1.0)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def _standing_out(own: list[tuple[float, float]], width: Floats) -> Bools:
    """Cells far above twice the median density of the three on each side."""
    noisy, deviation = (np.array(each) for each in zip(*own, strict=True))
    limit = math.sqrt(2 * math.log(len(noisy))) + 1.5
    padded = np.pad(noisy / width, 3, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(padded, 7)[:, [0, 1, 2, 4, 5, 6]]
    expected = np.maximum(np.nanmedian(around, axis=1) * width, 0.0)
    found: Bools = noisy > 2 * expected + limit * deviation
    return found


def divided(segments: Segments, level: Level, axis: Axis) -> Segments:
    """Segments that a level looked into, in its pieces. What is expected of a piece follows the density around it; counts
    are believed as far as those of the whole level differ from that by more than noise; pieces that stand out by
    themselves keep what was counted.
    """
    of = np.searchsorted(segments.low, level.low, side="right") - 1
    whole, count = segments.mass[of], np.bincount(of, minlength=len(segments.low))[of]
    width = np.diff(axis.places(np.stack([level.low, level.high])), axis=0)[0]
    share = width * _density_at(segments, axis, (level.low + level.high) / 2)
    expected = whole * share / np.bincount(of, share, minlength=len(segments.low))[of]
    off = level.noisy - expected
    out = off > (np.sqrt(2 * np.log(count)) + 1.5) * level.deviation
    usual = ~out
    spread = max(0.0, float((off[usual] ** 2 - level.deviation**2).sum() / max((expected[usual] ** 2).sum(), 1e-9)))
    trust = spread * expected**2 / (spread * expected**2 + level.deviation**2)
    mass = np.where(out, level.noisy, np.maximum(expected + trust * off, 0.0))
    # What the pieces of a cell are over or short goes to those that do not stand out, as far as they can take it.
    taken = np.bincount(of, np.where(out, mass, 0.0), minlength=len(segments.low))[of]
    rest = np.bincount(of, np.where(out, 0.0, mass), minlength=len(segments.low))[of]
    mass = np.where(out, mass * np.minimum(1.0, whole / np.maximum(taken, 1e-9)), mass * np.maximum(whole - taken, 0.0) / np.maximum(rest, 1e-9))
    total = np.bincount(of, mass, minlength=len(segments.low))[of]
    mass = np.where(total > 0, mass * whole / np.maximum(total, 1e-300), expected)
    kept = np.setdiff1d(np.arange(len(segments.low)), of)
    low, high, masses = (
        np.concatenate([before[kept], after])
        for before, after in ((segments.low, level.low), (segments.high, level.high), (segments.mass, mass))
    )
    order = np.argsort(low, kind="stable")
    return Segments(low[order], high[order], masses[order], segments.missing)


def _density_at(segments: Segments, axis: Axis, codes: Floats) -> Floats:
    """The density along the axis at these codes, between the middles of segments; spikes have none."""
    smooth = segments.high - segments.low > 1
    if smooth.sum() < 2:
        return np.ones(len(codes))
    low, high = axis.places(segments.low[smooth]), axis.places(segments.high[smooth])
    density = np.log(np.maximum(segments.mass[smooth] / (high - low), 1e-9))
    return np.exp(np.interp(axis.places(codes), (low + high) / 2, density))
