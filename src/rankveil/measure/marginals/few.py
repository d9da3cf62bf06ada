"""Only a noisy mean: the synopsis of a numeric column where the plan says `synopsis = "mean"`.

Guarantee    Differentially private at the price it is given.
Argument     The sum of all codes is the ranked sum of a single cluster: L1 = L2 = D (T21). Missing values are filled
             with a public constant, and their number is not measured: none are released.
Shape        A truncated exponential away from zero, with the mean that the noisy sum suggests under a prior that is
             uniform in the logarithm of the mean: amounts are mostly small, and the noise does not tell otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from rankveil.measure.budget import Price
from rankveil.measure.counts import Counts
from rankveil.measure.marginals.tree import Segments
from rankveil.noise import RandomSource

_CANDIDATES = 60
_PIECES = 64


def noisy_mean(counts: Counts, rows: int, price: Price, source: RandomSource) -> Segments:
    grid = counts.grid
    width = grid.size - 1
    zero = min(max(grid.zero, 0), width)
    first_codes = np.arange(grid.size) if grid.edges is None else grid.edges[:-1]
    # PRIVACY: a missing value counts as zero, a public constant; one replacement changes the sum by at most `width`.
    exact = int(np.dot(counts.present, first_codes)) + counts.missing * zero
    noise = price.laplace_or_gaussian(l1=width, l2_squared=width * width)
    noisy = noise.added_to(np.array([exact]), source)[0]
    above_zero, deviation = float(noisy) / rows - zero, noise.deviation / rows

    span = max(width - zero, zero)
    means = np.geomspace(span / 256, span / 2, _CANDIDATES)
    if zero > 0:
        means = np.concatenate([-means[::-1], means])
    off = (above_zero - means) / deviation
    weight = np.exp(-(off**2) / 2 if noise.name == "discrete Gaussian" else -math.sqrt(2) * np.abs(off))
    if not weight.any():
        weight = (np.abs(off) == np.abs(off).min()).astype(np.float64)
    upwards = weight[means > 0].sum() >= weight[means < 0].sum()
    side = (means > 0) == upwards
    mean = math.exp(float((weight[side] * np.log(np.abs(means[side]))).sum() / weight[side].sum()))
    return _exponential(mean, zero, width - zero if upwards else zero, upwards, rows)


def _exponential(mean: float, zero: int, reach: int, upwards: bool, rows: int) -> Segments:
    shares = np.arange(_PIECES + 1) / _PIECES
    distance = -np.log1p(np.maximum(shares * math.expm1(-reach / mean), -1 + 1e-6)) * mean
    distance[-1] = reach
    edges = np.unique(np.rint(zero + (distance if upwards else -distance)).astype(np.int64))
    edges[-1] += 1  # ranges end before their high edge
    mass = np.abs(np.diff(-np.expm1(-np.abs(edges - zero) / mean)))
    return Segments(edges[:-1], edges[1:], mass / mass.sum() * rows)
