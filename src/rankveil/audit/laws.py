"""Exact laws of what is drawn, and the largest log-ratio of two of them.

A list of independent draws loses the sum of what its draws lose, and that is attained: each draw can come out at its
own worst value. Integers with Laplace noise of one scale lose Σ |change| / scale, where all draws lie beyond both
values; choices of one candidate per row the sum over rows of the largest log-ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.aligned.channel import Channel, HammingBall, Window
from rankveil.measure.accounting import negligible
from rankveil.measure.budget import Noise
from rankveil.noise import Exponential, Law, PermuteAndFlip, RandomizedResponse, Shuffle

Floats = NDArray[np.float64]


def log_chances(law: Law, scores: NDArray[np.int64]) -> Floats:
    """Of every candidate of every row."""
    if isinstance(law, Exponential):
        return exponential_law(scores, law.scale)
    if isinstance(law, PermuteAndFlip):
        return permute_and_flip_law(scores, law.scale)
    raise TypeError(f"no exact law of {type(law).__name__} is known here")


def exponential_law(scores: NDArray[np.int64], scale: Fraction) -> Floats:
    """P(a) ∝ exp(score / scale), row by row."""
    logs = (scores - scores.max(axis=1, keepdims=True)) / float(scale)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def permute_and_flip_law(scores: NDArray[np.int64], scale: Fraction) -> Floats:
    """Walk through a row's candidates in random order, stop at a with chance p(a) = exp((score - best) / scale).

    With random times of arrival, a is the first to stop with chance p(a) ∫ Π (1 - t p(b)) dt over all others b and t
    from 0 to 1: polynomials, which Gauss and Legendre integrate without error.
    """
    logs = (scores - scores.max(axis=1, keepdims=True)) / float(scale)
    nodes, weights = np.polynomial.legendre.leggauss(scores.shape[1] // 2 + 1)
    passed = 1 - np.exp(logs)[:, :, None] * (nodes + 1) / 2  # never zero: all nodes lie inside
    first = (passed.prod(axis=1, keepdims=True) / passed * weights / 2).sum(axis=2)
    return np.asarray(logs + np.log(first))


_BEYOND = 10**9  # a loss without end, as a number: more than any ε


@dataclass(frozen=True)
class Lost:
    """The largest privacy loss of one answer: in ε, or in ρ as it was bought, of zCDP (T7) or Gaussian (T46)."""

    unit: Literal["epsilon", "rho"]
    amount: Fraction
    rounded: bool = False  # computed in floating point


def worst_loss(law: Law, one: NDArray[Any], other: NDArray[Any]) -> Lost:
    """What the answer of `law` can lose at most, in either direction, between exact data and those of a neighbour."""
    if isinstance(law, Noise):
        change = (one - other).ravel()
        change = change[change != 0].tolist()  # whole numbers of Python, which have room for squares
        if law.name == "discrete Laplace":
            return Lost("epsilon", sum(map(abs, change)) / law.parameter)
        counted = law.parameter - law.smoothing  # what T46 lets count
        if counted <= 0:
            return Lost("rho", Fraction(_BEYOND if change else 0))
        return Lost("rho", sum(each * each for each in change) / (2 * counted))
    if isinstance(law, RandomizedResponse):
        return Lost("epsilon", int(np.count_nonzero(one != other)) * law.epsilon)
    if isinstance(law, Shuffle):
        same = np.array_equal(one[np.lexsort(one.T)], other[np.lexsort(other.T)])
        return Lost("epsilon", Fraction(0 if same else _BEYOND))
    if isinstance(law, HammingBall | Window):
        return Lost("epsilon", _apart(law, one, other) * Fraction(log(Fraction(law.inside, law.outside))), rounded=True)
    different = np.flatnonzero((one != other).any(axis=1))
    ratios = log_chances(law, one[different]) - log_chances(law, other[different])
    worst = max(float(side.max(axis=1).sum()) for side in (ratios, -ratios))
    return Lost("epsilon", Fraction(worst), rounded=True)


def well_smoothed(law: Law) -> bool:
    """Whether noise has the r² that T46 asks for, but for the last bits of a variance that was rounded up."""
    if not isinstance(law, Noise) or law.name == "discrete Laplace":
        return True
    spread = (law.parameter - law.smoothing) * (1 - Fraction(1, 1 << 60))
    return spread > 0 and negligible(spread, law.smoothing)


def _apart(channel: Channel, one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """How many rows of cells have neighbourhoods that differ from those of the other rows."""
    if isinstance(channel, Window):
        return int(np.count_nonzero(channel.first(one) != channel.first(other)))
    if channel.radius >= sum(size > 1 for size in channel.sizes):
        return 0  # all neighbourhoods hold everything
    return int(np.count_nonzero((one != other).any(axis=1)))
