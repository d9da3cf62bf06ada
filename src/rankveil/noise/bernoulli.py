"""Coins that land heads with probability exp(-x), x rational, different for every coin.

Guarantee    Coin i is True with probability exp(-x_i) exactly, independently of the rest.
Argument     A coin is the comparison U < exp(-x) with U uniform, and the bits of U are
             drawn as they are needed. The first 32 bits are compared with integer bounds
             on exp(-x) from two tables; unless these decide (they fail about three times
             in a million) 64 more bits are drawn and exp(-x) is bounded anew from the exact x.
             U equals exp(-x) with probability 0, so some number of bits decides.
Not covered  Time: the rare exact comparisons take longer.
Arithmetic   Unsigned 64-bit and Python integers. The error of each rounded step is
             bounded beside it, and every bound is on the side of "not yet decided".
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.enclosure import exp_bounds, powers
from rankveil.noise.rationals import exact
from rankveil.noise.source import RandomSource
from rankveil.noise.uniform import draw_words

# Exponents travel as integers in units of 2**-20.
UNIT_BITS = 20
# exp(-23) * 2**32 < 1: from here on the first 32 bits can only say "no" or "not decided".
LARGEST_EXPONENT = 23
_LIMIT = np.uint64(LARGEST_EXPONENT << UNIT_BITS)

FIRST_BITS = 32
_FINE_BITS = 12
_MORE_BITS = 64
_TABLE_GUARD_BITS = 64
# Two table entries, each low by at most one unit, and one division that rounds down.
_TABLE_ERROR = np.uint64(3)
_CHUNK = 1 << 16


def bernoulli_exp(
    numerators: NDArray[np.int64] | NDArray[np.uint64], denominator: Fraction, source: RandomSource
) -> NDArray[np.bool_]:
    """One coin per numerator, True with probability exp(-numerator / denominator).

    Numerators are integers of at least 0, in any shape; the denominator is a positive
    fraction, so that exp(-p/q) with one p/q for all is `bernoulli_exp(ones, Fraction(q, p))`.
    """
    if numerators.dtype.kind not in "iu":
        raise TypeError(f"numerators must be integers, not {numerators.dtype}")
    if numerators.size and int(numerators.min()) < 0:
        raise ValueError("numerators must be at least 0")
    gaps = numerators.ravel().astype(np.uint64)
    return GapCoins(denominator).flip(gaps, source).reshape(numerators.shape)


class GapCoins:
    """Coins with heads probability exp(-gap / scale) for one scale and many gaps."""

    # Three roundings in `_exponents`, each less than one unit.
    _SLACK = 3
    _PRODUCT_BITS = 34

    def __init__(self, scale: Fraction) -> None:
        self._scale = exact(scale, "scale")
        if self._scale <= 0:
            raise ValueError("scale must be greater than 0")
        # From this gap on the exponent is at least 24, one more than the tables' limit.
        cap = -(-(LARGEST_EXPONENT + 1) * self._scale // 1)
        self._cap = np.uint64(min(cap, (1 << 64) - 1))
        self._shift = max(0, int(self._cap).bit_length() - self._PRODUCT_BITS)
        factor = Fraction(1 << (UNIT_BITS + self._PRODUCT_BITS + self._shift)) * Fraction(1, self._scale) // 1
        # Only scales below 1/24 reach the minimum; there every gap but 0 is past the limit.
        self._factor = np.uint64(min(factor, 1 << 59))

    def flip(self, gaps: NDArray[np.uint64], source: RandomSource) -> NDArray[np.bool_]:
        """One coin per gap."""
        heads = np.empty(gaps.size, dtype=np.bool_)
        for start in range(0, gaps.size, _CHUNK):  # pieces that stay in the processor's cache
            part = gaps[start : start + _CHUNK]
            exponent = partial(self._exact, part)
            first = draw_words(source, part.size, FIRST_BITS // 8).astype(np.uint64)
            heads[start : start + _CHUNK] = decide(first, self._exponents(part), self._SLACK, exponent, source)
        return heads

    def _exponents(self, gaps: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """gap / scale in units of 2**-20, low by less than three units.

        The product stays below 2**61: gap * factor / 2**shift is at most
        (24 * scale + 1) / scale * 2**54 <= 48 * 2**54 for scales of at least 1/24.
        Dropping `shift` bits of the gap costs less than 2**-8 units, rounding the factor
        less than one because the shifted gap is below 2**34, the last shift less than one.
        """
        capped = np.minimum(gaps, self._cap) >> np.uint64(self._shift)
        return (capped * self._factor) >> np.uint64(self._PRODUCT_BITS)

    def _exact(self, gaps: NDArray[np.uint64], i: int) -> Fraction:
        return Fraction(int(gaps[i]), self._scale)


def decide(
    first: NDArray[np.uint64],
    exponents: NDArray[np.uint64],
    slack: int,
    exact_exponent: Callable[[int], Fraction],
    source: RandomSource,
) -> NDArray[np.bool_]:
    """Whether U_i < exp(-x_i), given the first 32 bits of every U_i.

    `exponents` are lower bounds on x in units of 2**-20, and x is at most `slack` units
    more, except where the lower bound is 23 or larger: there x may be any amount larger.
    """
    probability = _exp_low(np.minimum(exponents, _LIMIT))
    # exp(-(x + s)) >= exp(-x) - s, and one unit of x is 2**12 units of probability.
    allowance = np.uint64(slack << (FIRST_BITS - UNIT_BITS))
    # Past the limit `probability` is 0, so this comparison cannot succeed there.
    heads = first + allowance < probability
    undecided = (first < probability + _TABLE_ERROR) & ~heads
    for i in np.flatnonzero(undecided):
        heads[i] = decide_one(int(first[i]), FIRST_BITS, exact_exponent(int(i)), source)
    return heads


def decide_one(uniform: int, bits: int, exponent: Fraction, source: RandomSource) -> bool:
    """Whether U < exp(-exponent), given the first `bits` bits of U as an integer."""
    while True:
        low, high = exp_bounds(exponent, bits)
        if uniform + 1 <= low:
            return True
        if uniform >= high:
            return False
        uniform = uniform << _MORE_BITS | int(draw_words(source, 1, _MORE_BITS // 8)[0])
        bits += _MORE_BITS


def _exp_low(exponents: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """exp(-x) in units of 2**-32, low by less than `_TABLE_ERROR`, for x up to the limit.

    Both tables stay below 2**32, so the product fits 64 bits.
    """
    coarse, fine = _tables()
    product: NDArray[np.uint64] = (
        coarse[exponents >> np.uint64(_FINE_BITS)] * fine[exponents & np.uint64((1 << _FINE_BITS) - 1)]
    )
    np.right_shift(product, np.uint64(FIRST_BITS), out=product)
    return product


@cache
def _tables() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """exp(-k * 2**-8) up to k * 2**-8 = 23, and exp(-k * 2**-20) for k < 4096."""
    coarse_bits = UNIT_BITS - _FINE_BITS
    coarse = _table(Fraction(1, 1 << coarse_bits), (LARGEST_EXPONENT << coarse_bits) + 1)
    return coarse, _table(Fraction(1, 1 << UNIT_BITS), 1 << _FINE_BITS)


def _table(step: Fraction, count: int) -> NDArray[np.uint64]:
    """exp(-k * step) in units of 2**-32, rounded down and at most 2**32 - 1."""
    entries = []
    for low, high in powers(step, count, FIRST_BITS + _TABLE_GUARD_BITS):
        entry = min(low >> _TABLE_GUARD_BITS, (1 << FIRST_BITS) - 1)
        if high > (entry + 1) << _TABLE_GUARD_BITS:
            raise ArithmeticError("a table entry is not known to within one unit")
        entries.append(entry)
    return np.array(entries, dtype=np.uint64)
