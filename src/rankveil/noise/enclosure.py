"""Integer bounds on exp(-x) for rational x, as tight as asked for.

Guarantee    exp_bounds(x, bits) returns integers with low <= exp(-x) * 2**bits <= high.
             The gap shrinks to a few units as `bits` grows, so any real number other
             than exp(-x) is told apart from it after finitely many bits.
Argument     Each quantity is carried as a pair (low, high) of integers; every operation
             rounds low down and high up. The series of exp(-y) for 0 <= y <= 1
             alternates with falling terms, so what is left out is less than the next
             term. exp(-x) is exp(-y) squared as often as x was halved to give y.
Not covered  Speed: a call takes some 20 microseconds. Samplers call it to build tables
             and for the rare draw that a table cannot decide.
Arithmetic   Python integers only.
"""

from __future__ import annotations

from fractions import Fraction

Bounds = tuple[int, int]

_GUARD_BITS = 16
_SERIES_HALVINGS = 6


def exp_bounds(exponent: Fraction, bits: int) -> Bounds:
    """Integers low <= exp(-exponent) * 2**bits <= high, for exponent >= 0."""
    p, q = exponent.numerator, exponent.denominator
    if p < 0:
        raise ValueError("exp_bounds needs an exponent of at least 0")
    if p == 0:
        return 1 << bits, 1 << bits
    if p >= q * bits:  # exp(-bits) < 2**-bits
        return 0, 1
    halvings = (p // q).bit_length() + _SERIES_HALVINGS
    # Each squaring doubles the relative error, so each costs one bit of precision.
    working = bits + halvings + _GUARD_BITS
    small_low = (p << working) // (q << halvings)
    low, high = _alternating_series((small_low, small_low + 1), working)
    for _ in range(halvings):
        low, high = multiply((low, high), (low, high), working)
    surplus = working - bits
    return low >> surplus, -(-high >> surplus)


def multiply(left: Bounds, right: Bounds, bits: int) -> Bounds:
    """Bounds on the product of two numbers in [0, 1], all in units of 2**-bits."""
    return (left[0] * right[0]) >> bits, -(-(left[1] * right[1]) >> bits)


def powers(exponent: Fraction, count: int, bits: int) -> list[Bounds]:
    """Bounds on exp(-k * exponent) * 2**bits for k = 0 .. count-1."""
    ratio = exp_bounds(exponent, bits)
    result = [(1 << bits, 1 << bits)]
    while len(result) < count:
        result.append(multiply(result[-1], ratio, bits))
    return result[:count]


def _alternating_series(y: Bounds, bits: int) -> Bounds:
    """Bounds on exp(-y) = 1 - y + y**2/2 - ... for 0 <= y <= 1, in units of 2**-bits."""
    term = (1 << bits, 1 << bits)
    low = high = 1 << bits
    order = 0
    while term[1] > 1:
        order += 1
        term = (
            ((term[0] * y[0]) >> bits) // order,
            -((-(term[1] * y[1]) >> bits) // order),
        )
        if order % 2:
            low, high = low - term[1], high - term[0]
        else:
            low, high = low + term[0], high + term[1]
    # All terms left out add up to at most the last one in size, of either sign.
    return low - term[1], high + term[1]
