"""How often attacks succeed, and by how much oftener on members than on others.

Definitions  Giomi, Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in
             synthetic data": the risk is (v - w) / (1 - w), v being the rate of success on records of the table and w
             that on records that are not in it (controls): what the release, and not the population, gives away.
Intervals    Clopper-Pearson, of which each of two misses in at most 2.5 of 100 cases, so that the interval of the risk
             holds in at least 95: targets are drawn at random, and the risk is that over all from whom they were drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from rankveil.audit.bounds import at_least, at_most

MISSES = 0.05


@dataclass(frozen=True)
class Rate:
    """Hits among trials."""

    hits: int
    trials: int

    @property
    def value(self) -> float:
        return self.hits / self.trials if self.trials else 0.0

    def between(self, misses: float = MISSES) -> tuple[float, float]:
        """Both ends of an interval that misses in at most so many cases."""
        if not self.trials:
            return 0.0, 1.0
        return at_least(self.hits, self.trials, misses / 2), at_most(self.hits, self.trials, misses / 2)

    def as_dict(self) -> dict[str, float]:
        low, high = self.between()
        return {"hits": self.hits, "trials": self.trials, "value": self.value, "low": low, "high": high}


def beyond(v: float, w: float) -> float:
    """(v - w) / (1 - w), and 0 where nothing was left to succeed on."""
    return (v - w) / (1 - w) if w < 1 else 0.0


def risk_between(members: Rate, others: Rate, misses: float = MISSES) -> tuple[float, float]:
    """An interval for the risk: it rises with v and falls with w. Below -1 nothing is told apart."""
    low, high = members.between(misses / 2)
    least, most = others.between(misses / 2)
    return max(-1.0, beyond(low, most)) if most < 1 else -1.0, beyond(high, least) if least < 1 else 1.0
