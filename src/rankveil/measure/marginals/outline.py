"""Smooth outlines of columns from few noisy counts: what to believe where counts say little. Post-processing.

Candidates   bells on the scale asinh(value / unit) and on the plain one, and the even spread, each with none, some or
             most of the records at zero where the column holds amounts. All are public.
Choice       Each candidate has the likelihood of the noisy counts, the law of the noise being known, and a weight from
             before they were seen. At each point the outline is the median of the candidates' cumulative shares: of all
             curves the one with the least expected W1, if weights were right and one of the candidates the truth.
Weights      Where a table has several columns of amounts, all of them together say how far values reach as a share of
             the declared range, and how many columns have how much at zero: whoever declares one bound far beyond the
             bulk declares others so (pooling.py). A column by itself has 1/σ^¼, σ being the candidate's standard
             deviation: a spread over the whole range is far off where the truth is narrow (decision 11).
Reads        Released counts and the plan, nothing else. It moves no promise, only what is made of the counts. T1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankveil.measure.budget import Noise
from rankveil.measure.counts import CountGrid, Counts
from rankveil.measure.marginals.partition import Edges, TreeShape, nested_edges
from rankveil.measure.marginals.projection import Floats

_POINTS = TreeShape(leaves=64, branching=64, outlined=True)
_UNITS = 3000  # in the range, on the bent scale
_BENT_MIDDLES, _BENT_WIDTHS = 49, (0.5, 1.0, 1.5, 2.0)  # natural logarithms, far from zero
_PLAIN_MIDDLES, _PLAIN_WIDTHS = 19, (0.05, 0.1, 0.2)  # of the range
AT_ZERO = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)  # close to 1 closer: what few people have is told apart from zero
_NEGLIGIBLE = 1e-6  # weight of a candidate

_NORMAL_TAIL = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)  # Abramowitz and Stegun, 7.1.26


@dataclass(frozen=True)
class Outline:
    """Cumulative shares at points of the grid, from 0 at its first to 1 at its last."""

    points: Edges
    below: Floats

    def between(self, edges: Edges) -> Floats:
        """The share in each of the cells."""
        return np.diff(np.interp(edges, self.points, self.below))


@dataclass(frozen=True)
class Evidence:
    """What one column's noisy counts say of the candidates."""

    grid: CountGrid
    points: Edges
    curves: Floats  # candidates: cumulative shares at the points
    fit: Floats  # logarithm of each candidate's likelihood, the best having 0

    @classmethod
    def of(cls, counts: Counts, edges: Edges, noisy: Floats, noise: Noise, total: float) -> Evidence:
        """Of the noisy counts of the cells between `edges`. Of `counts` only the public grid is read."""
        points = np.union1d(counts.snapped(nested_edges(counts.grid, _POINTS)[0]), edges)
        curves = _candidates(counts.grid, points)
        expected = np.diff(curves[:, np.searchsorted(points, edges)], axis=1) * total
        off = (noisy - expected) / noise.deviation
        fit = noise.log_density(off).sum(axis=1)
        return cls(counts.grid, points, curves, fit - fit.max())

    @property
    def is_amount(self) -> bool:
        return self.grid.is_amount

    @cached_property
    def reaches(self) -> Floats:
        """Root mean square distance from zero of each candidate, as the logarithm of a share of the range."""
        share, place = np.diff(self.curves, axis=1), (self.points[:-1] + self.points[1:]) / 2
        distance = (place - self.grid.zero) / self.grid.size
        reaches: Floats = np.log(np.maximum(share @ distance**2, _UNITS**-2.0)) / 2
        return reaches

    def outline(self, weight: Floats | None = None) -> Outline:
        """The outline with these weights of candidates before anything was seen."""
        if weight is None:
            weight = _deviations(self.curves, self.points) ** -0.25
        weight = weight * np.exp(self.fit)
        likely = weight > _NEGLIGIBLE * weight.max()
        return Outline(self.points, _medians(self.curves[likely], weight[likely]))


def _deviations(curves: Floats, points: Edges) -> Floats:
    """Standard deviation of each candidate as a share of the range, at least one step of the bent scale at zero."""
    share, place = np.diff(curves, axis=1), (points[:-1] + points[1:]) / (2 * points[-1])
    middle = share @ place
    deviations: Floats = np.sqrt(np.maximum(share @ place**2 - middle**2, _UNITS**-2.0))
    return deviations


def _medians(curves: Floats, weight: Floats) -> Floats:
    """Weighted medians of the curves, point by point; rising, as the curves are."""
    order = np.argsort(curves, axis=0)
    reached = np.cumsum(weight[order], axis=0) >= weight.sum() / 2
    middle = np.take_along_axis(order, reached.argmax(axis=0)[None, :], axis=0)
    median: Floats = np.maximum.accumulate(np.take_along_axis(curves, middle, axis=0)[0])
    return median


def _candidates(grid: CountGrid, points: Edges) -> Floats:
    plain = points / grid.size
    curves = [plain[None, :], _bells(plain, np.linspace(0.05, 0.95, _PLAIN_MIDDLES), _PLAIN_WIDTHS)]
    if not grid.is_amount:
        return np.concatenate(curves)
    bent = np.arcsinh((points - grid.zero) * (_UNITS / grid.size))
    curves.append(_bells(bent, np.linspace(bent[0], bent[-1], _BENT_MIDDLES), _BENT_WIDTHS))
    smooth = np.concatenate(curves)
    beyond_zero = (points > grid.zero).astype(np.float64)
    return np.concatenate([(1 - share) * smooth + share * beyond_zero for share in AT_ZERO])  # shares of zero outermost


def _bells(places: Floats, middles: Floats, widths: tuple[float, ...]) -> Floats:
    """Normal distributions between the first and the last of the places: cumulative shares, one curve each."""
    middle, width = (values.ravel()[:, None] for values in np.meshgrid(middles, widths))
    curves = _normal((places - middle) / width)
    first, last = curves[:, :1], curves[:, -1:]
    bells: Floats = (curves - first) / (last - first)
    return bells


def _normal(x: Floats) -> Floats:
    """The normal distribution function, to seven digits: it chooses and decides nothing that privacy depends on."""
    size = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * size)
    tail = np.polynomial.polynomial.polyval(t, (0.0, *_NORMAL_TAIL)) * np.exp(-(size**2)) / 2
    below: Floats = np.where(x < 0, tail, 1 - tail)
    return below
