"""The privacy budget and its shares.

Guarantee    The shares of a release add up to its ε exactly.
Argument     Sequential composition; all arithmetic is rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction


def equal_shares(epsilon: Decimal | Fraction, names: Sequence[str]) -> dict[str, Fraction]:
    """ε divided evenly over the protected columns: ε/m each."""
    return {name: Fraction(epsilon) / len(names) for name in names}
