"""Discrete Gaussian noise: integers z with P(z) proportional to exp(-z**2 / (2 variance)).

Guarantee    Draws are independent and follow the stated law exactly, for the rational
             `representable_variance(variance)`. Added to integers of L2 sensitivity D the
             release is D**2 / (2 variance)-zCDP (T7); beside a normal law: T46.
Argument     gaussian.proof.md (T11).
Not covered  Time (see staircase.py). A seeded source: see source.py. Sensitivity. The
             parameter `variance` is the one in the exponent; the variance of the draws
             is never larger, and below about 1/4 clearly smaller.
Arithmetic   Integers and fractions only. Variances from 2**-20 to 2**80; one whose
             numerator or denominator exceeds 96 bits is first rounded up by less than
             one part in 2**63, which can only add noise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.rationals import exact, round_up, within
from rankveil.noise.source import RandomSource
from rankveil.noise.staircase import Staircase

SMALLEST_VARIANCE = Fraction(1, 1 << 20)
LARGEST_VARIANCE = Fraction(1 << 80)
# Steps of at most an eighth of a standard deviation: the quadratic part of staircase.py.
_STEPS_PER_DEVIATION = 8


def representable_variance(variance: Fraction) -> Fraction:
    """The variance that `discrete_gaussian` really uses: `variance`, or a hair more. For the certificate."""
    return within(round_up(exact(variance, "variance")), SMALLEST_VARIANCE, LARGEST_VARIANCE, "variance")


def discrete_gaussian(variance: Fraction, count: int, source: RandomSource) -> NDArray[np.int64]:
    """`count` integers, P(z) proportional to exp(-z**2 / (2 representable_variance(variance)))."""
    return _sampler(representable_variance(variance)).draw(count, source)


@lru_cache(maxsize=64)
def _sampler(variance: Fraction) -> Staircase:
    deviation = isqrt(int(variance // 1))  # rounded down, so steps can only be narrower
    step_bits = max(0, (deviation // _STEPS_PER_DEVIATION).bit_length() - 1)
    return Staircase(linear=Fraction(0), quadratic=Fraction(1, 2 * variance), step_bits=step_bits)
