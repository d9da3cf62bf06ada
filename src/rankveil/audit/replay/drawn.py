"""Noise as it was drawn in a campaign: is it as large as its scale says?

Replaying says nothing about the sampler, which may draw less noise than it was asked for. All noise of all first runs
together can tell: under a wrong scale the score of the likelihood, Σ (E|z| - |z|) / scale, drifts away from zero, for
Gaussian noise Σ (E z² - z²) / variance. Both have a known mean and variance under the stated law.
False alarms A deviation of more than MOST standard deviations comes by chance about once in 10^9 campaigns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from rankveil.audit.watch import Draw
from rankveil.measure.budget import Noise

MOST = 6.0
_WIDE = 100.0  # variances from here on have the moments of the normal law, but for one part in 10^800


@dataclass
class NoiseDrawn:
    """Sums over everything drawn so far, for each kind of noise."""

    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    lacking: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    variance: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, draws: Iterable[Draw]) -> None:
        for draw in draws:
            if isinstance(draw.law, Noise):
                mean, variance = moments(draw.law)
                drawn = (draw.answer - draw.exact).astype(np.float64)
                size = np.abs(drawn) if draw.law.name == "discrete Laplace" else drawn**2
                self.counts[draw.law.name] += drawn.size
                self.lacking[draw.law.name] += float((mean - size).sum() / float(draw.law.parameter))
                self.variance[draw.law.name] += drawn.size * variance / float(draw.law.parameter) ** 2

    def deviations(self) -> dict[str, float]:
        """How much noise is lacking, in standard deviations of chance; negative where there is more than stated."""
        return {
            name: self.lacking[name] / math.sqrt(self.variance[name]) for name in self.counts if self.variance[name]
        }

    def problems(self) -> list[str]:
        return [
            f"{name} noise as drawn is smaller than its scale says, by {deviation:.1f} standard deviations of chance"
            for name, deviation in self.deviations().items()
            if deviation > MOST
        ]


@lru_cache(maxsize=4096)
def moments(law: Noise) -> tuple[float, float]:
    """Mean and variance of |z| for Laplace noise, of z² for Gaussian noise."""
    parameter = float(law.parameter)
    if law.name == "discrete Laplace":
        ratio, left = math.exp(-1 / parameter), -math.expm1(-1 / parameter)
        mean = 2 * ratio / (left * (1 + ratio))
        return mean, 2 * ratio / left**2 - mean**2
    if parameter >= _WIDE:
        return parameter, 2 * parameter**2
    places = np.arange(-300, 301, dtype=np.float64)
    weights = np.exp(-(places**2) / (2 * parameter))
    chances = weights / weights.sum()
    mean = float(chances @ places**2)
    return mean, float(chances @ places**4) - mean**2
