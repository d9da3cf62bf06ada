"""The non-decreasing sequence nearest to noisy means: post-processing (T1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The non-decreasing sequence nearest to the values (pool adjacent violators)."""
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, length = value, weight, 1
        while means and means[-1] >= mean:
            mean = (means[-1] * masses[-1] + mean * mass) / (masses[-1] + mass)
            mass += masses.pop()
            length += lengths.pop()
            means.pop()
        means.append(mean)
        masses.append(mass)
        lengths.append(length)
    return np.repeat(means, lengths)
