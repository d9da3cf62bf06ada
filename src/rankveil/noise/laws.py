"""Mechanisms that choose or shuffle, as laws to be asked through `RandomSource.answer`.

Guarantee    That of the sampler behind each: exponential.py, randomized_response.py, uniform.py. Integer noise is
             `Noise` of measure/budget.py; the joint channel of a record is in aligned/channel.py.
Argument     A law is its sampler with public parameters filled in; nothing is computed here.
Not covered  What the parameters have to be: the modules that ask.
Arithmetic   None.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.exponential import exponential_mechanism, permute_and_flip
from rankveil.noise.randomized_response import flip_bits
from rankveil.noise.source import Law, RandomSource
from rankveil.noise.uniform import permutation


@dataclass(frozen=True)
class Exponential:
    """For each row of scores one candidate, P(a) ~ exp(score[a] / scale)."""

    scale: Fraction

    def drawn(self, exact: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
        return exponential_mechanism(exact, self.scale, source)


@dataclass(frozen=True)
class PermuteAndFlip:
    """For each row of scores one candidate, by permute-and-flip."""

    scale: Fraction

    def drawn(self, exact: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
        return permute_and_flip(exact, self.scale, source)


@dataclass(frozen=True)
class RandomizedResponse:
    """Each bit, or its opposite with probability 1 / (1 + exp(epsilon))."""

    epsilon: Fraction

    def drawn(self, exact: NDArray[np.bool_], source: RandomSource) -> NDArray[np.bool_]:
        return flip_bits(exact, self.epsilon, source)


@dataclass(frozen=True)
class Shuffle:
    """Rows in a uniformly random order. Protects the order they came in, and nothing else about them."""

    def drawn(self, exact: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
        shuffled: NDArray[np.int64] = exact[permutation(source, len(exact))]
        return shuffled


def answer_shape(law: Law, exact: NDArray[Any]) -> tuple[int, ...]:
    """Of the answer to a question: a choice is one of a row's candidates; others have the shape of the data."""
    return exact.shape[:-1] if isinstance(law, Exponential | PermuteAndFlip) else exact.shape
