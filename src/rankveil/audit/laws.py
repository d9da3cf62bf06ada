"""Exact laws of what is drawn, and the largest log-ratio of two of them.

A list of independent draws loses the sum of what its draws lose, and that is attained: each draw can come out at its
own worst value.
    Sums       integers with Laplace noise of one scale: Σ |change| / scale, where all draws lie beyond both values
    Choices    one candidate per row: Σ over rows of the largest log-ratio
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from rankveil.audit.findings import DependsOnData
from rankveil.flow.relink.channel import Channel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sums:
    values: Floats
    scale: Fraction

    def loss(self, other: Line) -> float:
        if not isinstance(other, Sums) or self.scale != other.scale or self.values.shape != other.values.shape:
            raise DependsOnData("the scale of the noise, or the number of draws, differs between neighbouring tables")
        return float(np.abs(self.values - other.values).sum() / float(self.scale))


@dataclass(frozen=True)
class Choices:
    log_chances: Floats  # rows x candidates

    def loss(self, other: Line) -> float:
        if not isinstance(other, Choices) or self.log_chances.shape != other.log_chances.shape:
            raise DependsOnData("the candidates, or the number of draws, differ between neighbouring tables")
        return float((self.log_chances - other.log_chances).max(axis=1).sum())


Line = Sums | Choices


def loss_of_list(original: Sequence[Line], changed: Sequence[Line]) -> float:
    """The larger of the two directions: outputs that favour the one table, or the other."""
    both = list(zip(original, changed, strict=True))
    return max(sum(one.loss(other) for one, other in both), sum(other.loss(one) for one, other in both))


def exponential_law(scores: NDArray[np.int64], scale: Fraction) -> Choices:
    """P(a) ∝ exp(score / scale), row by row."""
    logs = (scores - scores.max(axis=1, keepdims=True)) / float(scale)
    return Choices(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def permute_and_flip_law(scores: NDArray[np.int64], scale: Fraction) -> Floats:
    """The chance of each candidate: walk through them in random order, stop at a with chance exp((score - best)/scale).

    By enumeration of all orders: for a handful of candidates.
    """
    stop = [exp((int(score) - int(scores.max())) / float(scale)) for score in scores]
    chances = np.zeros(len(stop))
    orders = list(permutations(range(len(stop))))
    for order in orders:
        reached = 1.0
        for place in order:
            chances[place] += reached * stop[place] / len(orders)
            reached *= 1 - stop[place]
    return chances


def channel_loss(channel: Channel, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The largest log P(y|one) / P(y|other), over all outputs y of a small channel."""
    if one == other:
        return 0.0
    outputs = product(*(range(size) for size in channel.sizes))
    return log(max(Fraction(channel.weight(one, y), channel.weight(other, y)) for y in outputs))
