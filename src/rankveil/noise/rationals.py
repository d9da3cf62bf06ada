"""Rational parameters: what is accepted, and how a long one is shortened.

Guarantee    `round_up` never returns less than it was given, and at most a factor of
             1 + 2**-63 more. Larger scales mean more noise, so this direction is safe.
Argument     The result is the ceiling of value * 2**k, divided by 2**k, with k chosen
             so that the ceiling is at least 2**63: adding less than 1 changes it by
             less than one part in 2**63.
Not covered  Whether the parameter is the right one for a guarantee.
Arithmetic   Fractions only. Floats are refused: 0.1 is not one tenth.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational

_MAX_BITS = 96
_SIGNIFICANT_BITS = 64


def exact(value: Rational | int, name: str) -> Fraction:
    """`value` as a Fraction; refuses anything that is not exactly rational."""
    if not isinstance(value, Rational):
        raise TypeError(f"{name} must be a Fraction or an int, not {type(value).__name__}")
    # A NumPy integer would keep its 64 bits inside the fraction and overflow there.
    return Fraction(int(value.numerator), int(value.denominator))


def within(value: Fraction, low: Fraction, high: Fraction, name: str) -> Fraction:
    """`value` if low <= value <= high; an error that names the range otherwise."""
    if not low <= value <= high:
        raise ValueError(f"{name} must lie between {low} and {high}")
    return value


def round_up(value: Fraction) -> Fraction:
    """`value`, or the next larger fraction with 64 significant bits if it is too long.

    A positive fraction is short enough if numerator and denominator have at most 96
    bits; it is then returned as it is.
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= _MAX_BITS:
        return value
    # 2**(magnitude - 1) < value < 2**(magnitude + 1)
    magnitude = value.numerator.bit_length() - value.denominator.bit_length()
    unit = Fraction(2) ** (magnitude - _SIGNIFICANT_BITS)
    return -(-value // unit) * unit
