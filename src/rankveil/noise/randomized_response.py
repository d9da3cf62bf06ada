"""Randomized response on bits: tell the truth, or its opposite.

Guarantee    Each bit is flipped with probability 1 / (1 + exp(epsilon)), exactly and
             independently; each single bit is epsilon-DP in the local model (T10, T11).
Argument     The two answers' probabilities have ratio exp(epsilon). The flip is the
             comparison of a uniform number with 1 / (1 + exp(epsilon)), decided by
             thresholds.py.
Not covered  Several bits about one record: their epsilons add up. Time.
Arithmetic   Integers and fractions only.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.enclosure import Bounds, exp_bounds
from rankveil.noise.rationals import exact
from rankveil.noise.source import RandomSource
from rankveil.noise.thresholds import ThresholdTable

_GUARD_BITS = 8


def flip_bits(bits: NDArray[np.bool_], epsilon: Fraction, source: RandomSource) -> NDArray[np.bool_]:
    """A copy of `bits` (any shape) with each flipped with probability 1 / (1 + exp(epsilon))."""
    if bits.dtype != np.bool_:
        raise TypeError(f"bits must be bool, not {bits.dtype}")
    budget = exact(epsilon, "epsilon")
    if budget < 0:
        raise ValueError("epsilon must be at least 0")
    flips = _flip_table(budget).draw(bits.size, source) == 0
    answer: NDArray[np.bool_] = np.logical_xor(bits, flips.reshape(bits.shape))
    return answer


@lru_cache(maxsize=64)
def _flip_table(epsilon: Fraction) -> ThresholdTable:
    def bounds(bits: int) -> list[Bounds]:
        # 1/(1 + e) = x/(1 + x) with x = exp(-epsilon), which rises with x.
        low, high = exp_bounds(epsilon, bits + _GUARD_BITS)
        one = 1 << (bits + _GUARD_BITS)
        return [((low << bits) // (one + low), -((high << bits) // -(one + high)))]

    return ThresholdTable(bounds)
