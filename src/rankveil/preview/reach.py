"""How far noise reaches: the distance within which a stated share of all draws lies, exactly for integer noise."""

from __future__ import annotations

import math
from fractions import Fraction

from rankveil.measure.budget import Noise

HALF, MOST = 0.5, 0.95
_SUMMED_UP_TO = 50.0  # deviations of a discrete Gaussian below which its law is summed term by term
_NORMAL = {HALF: 0.674489750196, MOST: 1.959963984540}


def laplace_reach(scale: Fraction | float, share: float) -> int:
    """The least r for which a discrete Laplace draw lies in -r..r with at least this probability.

    P(|Z| > r) = 2 q^(r+1) / (1 + q) with q = exp(-1/scale).
    """
    log_q = -1 / float(scale)
    return max(0, math.ceil(math.log((1 - share) * (1 + math.exp(log_q)) / 2) / log_q - 1 - 1e-9))


def gaussian_reach(variance: Fraction | float, share: float) -> int:
    """The same for a discrete Gaussian draw."""
    deviation = math.sqrt(variance)
    if deviation > _SUMMED_UP_TO:
        return math.ceil(_NORMAL[share] * deviation)
    weights = _weights(float(variance))
    whole, inside = 2 * sum(weights) - weights[0], weights[0]
    reach = 0
    while inside < share * whole:
        reach += 1
        inside += 2 * weights[reach]
    return reach


def _weights(variance: float) -> list[float]:
    """Of 0, 1, 2, ... under a discrete Gaussian law, until nothing is left."""
    return [math.exp(-(z * z) / (2 * variance)) for z in range(math.ceil(12 * math.sqrt(variance)) + 2)]


def reach_of(noise: Noise, share: float = MOST) -> int:
    return (laplace_reach if noise.name == "discrete Laplace" else gaussian_reach)(noise.parameter, share)


def mean_size(noise: Noise) -> float:
    """E|Z|, for what is expected on average: 2q / (1 - q²) with q = exp(-1/scale) for a discrete Laplace draw."""
    if noise.name == "discrete Laplace":
        q = math.exp(-1 / float(noise.parameter))
        return 2 * q / (-math.expm1(-2 / float(noise.parameter)))
    if noise.deviation > _SUMMED_UP_TO:
        return noise.deviation * math.sqrt(2 / math.pi)
    weights = _weights(float(noise.parameter))
    return 2 * sum(z * weight for z, weight in enumerate(weights)) / (2 * sum(weights) - weights[0])
