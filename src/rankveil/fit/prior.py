"""The prior density of a column, before its own counts: a mixture of normal curves, learnt from all columns.

Candidates   Normal curves of several widths all on the axis, and the even spread, each with none, some or most of the
             records at zero where the column holds amounts. All are public.
Weights      Columns of one table are alike in how far values reach as a share of the declared range, and in how much is
             at zero: whoever declares one bound far beyond the bulk declares others so. Logarithms of reaches are
             normal around one of some middles with one of some spreads; every such hypothesis has the likelihood of all
             columns' counts. Shares at zero have a frequency each, learnt by expectation and maximisation with one
             imagined column for each.
Curve        At each point the median of the candidates' cumulative shares, by their weight after the column's own
             counts: of all curves the one with the least expected W1, if one of the candidates were the truth.
Reads        Released counts and the plan, nothing else: T1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.axis import Axis, Edges
from rankveil.fit.simplex import Floats

MIDDLES = np.linspace(0.0, 1.0, 41)
_ROUNDS = 20
_NEGLIGIBLE = 1e-6

_CENTRES, _SPREADS = (
    each.ravel()[:, None] for each in np.meshgrid(np.linspace(-8.0, 0.0, 17), np.array(rules.SPREADS_OF_REACH))
)  # hypotheses about reaches

_NORMAL_TAIL = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)  # Abramowitz and Stegun, 7.1.26


@dataclass(frozen=True)
class Evidence:
    """What one column's noisy counts say of the candidates."""

    curves: Floats  # candidates x edges: cumulative shares at the edges of the finest cells
    fit: Floats  # logarithm of each candidate's likelihood: by share at zero, and curve
    extent: Floats  # of each curve: root mean square distance from zero, as a logarithm of a share of the range

    @classmethod
    def of(
        cls,
        axis: Axis,
        edges: Edges,
        zero: int | None,
        member: Floats,
        noisy: Floats,
        deviation: Floats,
        laplace: NDArray[np.bool_],
        total: float,
    ) -> Evidence:
        """`edges`: of the finest cells; `zero`: which of them is zero; `member`: observations x cells."""
        smooth = _curves(axis.places(edges))
        curves = smooth if zero is None else _with_zero(smooth, zero)
        off = (noisy - np.diff(curves, axis=1) @ member.T * total) / deviation
        fit = np.where(laplace, -math.sqrt(2) * np.abs(off), -(off**2) / 2).sum(axis=1)
        shares = 1 if zero is None else len(rules.AT_ZERO)
        fine = np.linspace(0, 1, 257)
        codes = axis.codes((fine[:-1] + fine[1:]) / 2)
        distance = (codes - min(max(axis.zero, 0), axis.size)) / axis.size
        extent = np.log(np.maximum(np.diff(_curves(fine), axis=1) @ distance**2, 1e-8)) / 2
        return cls(curves, (fit - fit.max()).reshape(shares, -1), extent)

    def by_hypothesis(self) -> Floats:
        """Weights of the curves under each hypothesis; they add up to 1."""
        near = np.exp(-(((self.extent - _CENTRES) / _SPREADS) ** 2) / 2)
        weights: Floats = near / np.maximum(near.sum(axis=1, keepdims=True), 1e-300)
        return weights


def curves(evidence: Sequence[Evidence]) -> list[Floats]:
    """Every column's share in each of its finest cells. Columns with a zero and others must not be mixed."""
    likely = [np.exp(each.fit) for each in evidence]
    near = [each.by_hypothesis() for each in evidence]
    shares = len(likely[0])
    at_zero = np.full(shares, 1 / shares)
    by_place = [one @ each.T for one, each in zip(near, likely, strict=True)]  # hypotheses x shares at zero
    for _ in range(_ROUNDS):
        together = sum(np.log(np.maximum(each @ at_zero, 1e-300)) for each in by_place)
        hypotheses = np.exp(together - np.max(together))
        hypotheses /= hypotheses.sum()
        seen = [hypotheses @ each * at_zero for each in by_place]
        at_zero = sum(each / max(each.sum(), 1e-300) for each in seen) + 1.0
        at_zero = at_zero / at_zero.sum()
    return [
        _median(each.curves, (at_zero[:, None] * (hypotheses @ one) * fit).ravel())
        for each, one, fit in zip(evidence, near, likely, strict=True)
    ]


def _median(curves: Floats, weight: Floats) -> Floats:
    """Weighted medians of the curves, point by point, as shares of the cells."""
    likely = weight > _NEGLIGIBLE * weight.max()
    curves, weight = curves[likely], weight[likely]
    order = np.argsort(curves, axis=0)
    reached = np.cumsum(weight[order], axis=0) >= weight.sum() / 2
    middle = np.take_along_axis(order, reached.argmax(axis=0)[None, :], axis=0)
    median = np.maximum.accumulate(np.take_along_axis(curves, middle, axis=0)[0])
    share: Floats = np.diff(median)
    return share


def _curves(places: Floats) -> Floats:
    grid = np.meshgrid(np.array(rules.PRIOR_WIDTHS), MIDDLES, indexing="ij")
    width, middle = (each.ravel()[:, None] for each in grid)
    curves = normal((places - middle) / width)
    first, last = curves[:, :1], curves[:, -1:]
    smooth: Floats = (curves - first) / (last - first)
    return np.concatenate([smooth, places[None, :]])  # and the even spread


def _with_zero(smooth: Floats, zero: int) -> Floats:
    """The curves with every share of the records at zero, shares outermost."""
    beyond = (np.arange(smooth.shape[1]) > zero).astype(np.float64)
    return np.concatenate([(1 - share) * smooth + share * beyond for share in rules.AT_ZERO])


def normal(x: Floats) -> Floats:
    """The normal distribution function, to seven digits: it decides nothing that privacy depends on."""
    size = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * size)
    tail = np.polynomial.polynomial.polyval(t, (0.0, *_NORMAL_TAIL)) * np.exp(-(size**2)) / 2
    below: Floats = np.where(x < 0, tail, 1 - tail)
    return below
