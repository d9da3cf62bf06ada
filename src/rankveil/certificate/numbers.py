"""Numbers as a certificate writes them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction


def plain(number: Decimal | Fraction) -> str:
    """Exactly: a decimal where the number has a finite one, a fraction otherwise."""
    fraction = Fraction(number)
    rest = fraction.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(fraction)
    return f"{_as_decimal(fraction):f}"


def _as_decimal(fraction: Fraction) -> Decimal:
    places = 0
    while (fraction * 10**places).denominator != 1:
        places += 1
    # Built from its digits, so that no context precision rounds it.
    return Decimal((int(fraction < 0), tuple(map(int, str(abs(int(fraction * 10**places))))), -places))
