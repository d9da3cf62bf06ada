"""Discrete Laplace noise: integers z with P(z) proportional to exp(-|z| / scale).

Guarantee    Draws are independent and follow the stated law exactly, for the rational
             scale `representable_scale(scale)`. With scale = D/epsilon added to integer
             sums of L1 sensitivity D the release is epsilon-DP (T6).
Argument     laplace.proof.md (T11).
Not covered  Time (see staircase.py). A seeded source: see source.py. Sensitivity.
Arithmetic   Integers and fractions only. Scales from 2**-20 to 2**45; one whose
             numerator or denominator exceeds 96 bits is first rounded up by less than
             one part in 2**63, which can only add noise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.rationals import exact, round_up, within
from rankveil.noise.source import RandomSource
from rankveil.noise.staircase import Staircase

SMALLEST_SCALE = Fraction(1, 1 << 20)
LARGEST_SCALE = Fraction(1 << 45)
# Steps of at most scale/8: about nineteen proposals in twenty are kept, and tables stay short.
_STEPS_PER_SCALE = 8


def representable_scale(scale: Fraction) -> Fraction:
    """The scale that `discrete_laplace` really uses: `scale`, or a hair more. For the certificate."""
    return within(round_up(exact(scale, "scale")), SMALLEST_SCALE, LARGEST_SCALE, "scale")


def discrete_laplace(scale: Fraction, count: int, source: RandomSource) -> NDArray[np.int64]:
    """`count` integers, P(z) proportional to exp(-|z| / representable_scale(scale))."""
    return _sampler(representable_scale(scale)).draw(count, source)


@lru_cache(maxsize=64)
def _sampler(scale: Fraction) -> Staircase:
    step_bits = max(0, int(scale // _STEPS_PER_SCALE).bit_length() - 1)
    return Staircase(linear=Fraction(1, scale), quadratic=Fraction(0), step_bits=step_bits)
