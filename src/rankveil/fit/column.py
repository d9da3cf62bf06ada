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
            free = free | _spikes(self.own, even, expected)
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


EVEN = float(os.environ.get("EVEN", "1e-5"))


MOST_POINTS = int(os.environ.get("POINTS", "32"))
MOST_LEAVES = int(os.environ.get("LEAVES", "160"))


def public_levels(each: ColumnMeasurement) -> tuple[int, int]:
    """How many levels cover the whole column, and how many the density is fitted to."""
    size = Axis.of(each.column).size
    public = sum(1 for level in each.levels if level.low[0] == 0 and (level.high - level.low).sum() == size)
    more = len(each.levels) > public and len(each.levels[public - 1].low) + len(each.levels[public].low) <= MOST_LEAVES
    return public, public + int(more)


def _observed(each: ColumnMeasurement, rows: int) -> _Observed:
    column, axis = each.column, Axis.of(each.column)
    ordered = isinstance(column.domain, Grid)
    public, used = public_levels(each)
    first, main = each.levels[0], each.levels[public - 1]
    low, high = main.low, main.high
    if used > public:
        second = each.levels[public]
        inside = np.searchsorted(low, second.low, side="right") - 1
        whole = np.setdiff1d(np.arange(len(low)), inside)
        low, high = (np.sort(np.concatenate([a[whole], b])) for a, b in ((low, second.low), (high, second.high)))
    if ordered and len(low) < MOST_POINTS:  # counts are few: the prior's curve says what is inside their cells
        edges = np.union1d(np.append(low, high[-1]), axis.cut(MOST_POINTS))
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
    return _Observed(kind, axis, low, high, edges, zero, own, free, member, noisy, deviation, laplace, rows, missing)


def _own_counts(levels: tuple[Level, ...], low: NDArray[np.int64], high: NDArray[np.int64]) -> list[tuple[float, float]]:
    found = {}
    for level in levels:
        for a, b, y in zip(level.low.tolist(), level.high.tolist(), level.noisy.tolist(), strict=True):
            found[a, b] = (y, level.deviation)
    return [found.get((a, b), (-math.inf, 1.0)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def _spikes(own: list[tuple[float, float]], width: Floats, curve: Floats) -> Bools:
    """Cells that stand far above their neighbours: above the median density of the three on each side."""
    noisy, deviation = (np.array(each) for each in zip(*own, strict=True))
    seen = np.flatnonzero(np.isfinite(noisy))
    density = noisy / width
    limit = math.sqrt(2 * math.log(len(noisy))) + float(os.environ.get("SPIKE", "1.5"))
    found = np.zeros(len(noisy), np.bool_)
    for cell in seen:
        near = np.setdiff1d(np.arange(max(cell - 3, 0), min(cell + 4, len(noisy))), [cell])
        if len(near) < 3 or not np.isfinite(noisy[near]).all():
            continue
        expected = max(float(np.median(density[near])) * width[cell], curve[cell])
        found[cell] = noisy[cell] > 2 * expected + limit * deviation[cell]
    return found


def _spike_or_nothing(noisy: float, deviation: float, rows: int) -> float:
    """Mean of a count that is nothing or, as likely, anything up to n, evenly in its logarithm."""
    reach = max(rows / deviation, 2.0)
    off = noisy / deviation
    if off > 8:
        return noisy
    possible = np.geomspace(1.0, reach, 64)
    log_like = -((off - possible) ** 2) / 2
    like = np.exp(log_like)
    something, nothing = float(like.mean()), math.exp(-(off**2) / 2)
    mean = float((like * possible).mean() / max(like.mean(), 1e-300))
    return deviation * mean * something / max(something + nothing, 1e-300)


def divided(segments: Segments, level: Level, axis: Axis) -> Segments:
    """Segments that a level looked into, divided: pieces that stand out keep what was counted, the rest is shared by
    width on the axis."""
    low, high, mass = [segments.low], [segments.high], [segments.mass]
    of = np.searchsorted(segments.low, level.low, side="right") - 1
    keep = np.ones(len(segments.low), np.bool_)
    for parent in np.unique(of):
        here = of == parent
        if level.low[here][0] != segments.low[parent] or level.high[here][-1] != segments.high[parent]:
            continue
        whole = float(segments.mass[parent])
        edges = axis.places(np.append(level.low[here], segments.high[parent]))
        share = np.diff(edges) / (edges[-1] - edges[0])
        expected, noisy = whole * share, level.noisy[here]
        limit = math.sqrt(2 * math.log(len(noisy))) + 1.5
        out = noisy - expected > limit * level.deviation
        if not out.any():
            pieces = expected
        else:
            spikes = np.where(out, noisy, 0.0)
            rest = whole - spikes.sum()
            if rest < 0:
                spikes, rest = spikes * whole / spikes.sum(), 0.0
            left = np.where(out, 0.0, share)
            pieces = spikes + (rest * left / left.sum() if left.sum() > 0 else 0.0)
            pieces = pieces * whole / pieces.sum()
        keep[parent] = False
        low.append(level.low[here]); high.append(level.high[here]); mass.append(pieces)
    low[0], high[0], mass[0] = low[0][keep], high[0][keep], mass[0][keep]
    order = np.argsort(np.concatenate(low), kind="stable")
    return Segments(np.concatenate(low)[order], np.concatenate(high)[order], np.concatenate(mass)[order], segments.missing)
