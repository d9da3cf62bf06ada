"""What a guarantee allows attacks to find: limits beside which measured risks are shown.

Guarantee    A limit is not less than the mean, over releases and over who was drawn into the table, of what any attack
             of its kind finds (T54, T55). Rates of a single release scatter around their mean.
Arithmetic   Floating point, rounded up by one part in 10^9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rankveil.declare.unit import Unit

_UP = 1 + 1e-9


@dataclass(frozen=True)
class Limits:
    """An (ε, δ) by which two tables can be distinguished at most."""

    epsilon: float
    delta: float = 0.0

    @classmethod
    def of_replaced(cls, epsilon: Fraction, delta: Fraction, unit: Unit) -> Limits:
        """Between tables in which one unit is replaced by another: with `add-remove` that is two steps."""
        one = cls(float(epsilon), float(delta))
        return one if unit.neighbours == "replace" else one.twice

    @property
    def twice(self) -> Limits:
        """Between tables that are two steps apart."""
        return Limits(2 * self.epsilon, min(1.0, self.delta * (1 + _exp(self.epsilon))))

    def rate(self, others: float) -> float:
        """How often an attack succeeds on members, at most, that succeeds so often on others."""
        first = _exp(self.epsilon) * others + self.delta
        second = 1 - math.exp(-self.epsilon) * max(0.0, 1 - self.delta - others)
        return min(1.0, first * _UP, second * _UP)

    def risk(self, others: float) -> float:
        """The same as a share of what was left to succeed on: (v - w) / (1 - w)."""
        return 1.0 if others >= 1 else max(0.0, (self.rate(others) - others) / (1 - others))

    @property
    def advantage(self) -> float:
        """True positives less false positives of whoever tells the two tables apart: tanh(ε/2), where δ is 0."""
        grown = math.exp(-self.epsilon)
        return min(1.0, (1 - grown + 2 * self.delta * grown) / (1 + grown) * _UP)

    def share(self, records: int = 1) -> float:
        """Of what is found among equally many members and others, the part of the members."""
        grown = math.exp(-self.epsilon)
        return min(1.0, (1 + records * self.delta * grown) / (1 + grown) * _UP)

    def isolated(self, others: float, records: int) -> float:
        """How often a guess isolates one of so many members, where it isolates one of as many others so often."""
        return min(1.0, (_exp(self.epsilon) * others + records * self.delta) * _UP, self.share(records))

    def risk_isolated(self, others: float, records: int) -> float:
        """The same as a share of what was left to succeed on, where others are isolated so often or less often.

        It rises with how often others are until `share` is what holds, and falls from there.
        """
        turn = (self.share(records) - records * self.delta) / _exp(self.epsilon)
        worst = min(others, max(0.0, turn), 1.0)
        return 1.0 if worst >= 1 else max(0.0, (self.isolated(worst, records) - worst) / (1 - worst))


def _exp(exponent: float) -> float:
    return math.exp(min(exponent, 700.0))
