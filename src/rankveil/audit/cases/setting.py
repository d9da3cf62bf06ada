"""What an audit is given: a method, the ε it claims, how much work to do, and randomness."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rankveil.methods import Method
from rankveil.noise import RandomSource

_DRAWS_PER_RUN = 200


@dataclass(frozen=True)
class Setting:
    method: Method
    epsilon: Fraction
    runs: int  # whole releases of each table, where a release is quick
    source: RandomSource

    @property
    def claimed(self) -> float:
        return float(self.epsilon)

    @property
    def draws(self) -> int:
        """Draws for each table, where many can be made in one call."""
        return _DRAWS_PER_RUN * self.runs
