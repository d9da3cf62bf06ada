"""Exact numbers as a certificate writes them, and what is said where a check fails."""

from __future__ import annotations

from fractions import Fraction

_SMALLEST = Fraction(1, 10**60)


class Fails(Exception):
    """A check does not hold, for the reason given."""


def number(text: str | None) -> Fraction | None:
    """An exact number as the certificate writes it: decimal or fraction."""
    if text is None:
        return None
    try:
        if len(text) > 10_000 or "e" in text.lower():
            raise ValueError
        read = Fraction(text)
        if read and not _SMALLEST <= abs(read) <= 1 / _SMALLEST:  # beyond any plan, and beyond floating point
            raise ValueError
        return read
    except (ValueError, ZeroDivisionError):
        raise Fails("an exact number is not written as a decimal or a fraction") from None
