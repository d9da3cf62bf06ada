"""Noisy sums over ranks, made monotone and interpolated: the paper's microaggregation, soundly released.

Guarantee    Differentially private at the price it is given.
Argument     T21: the values are sorted and cut into J clusters of public sizes; replacing one
             record changes the list of sums by at most D = the width of the axis, in L1 and in L2. Isotonic regression,
             clamping and interpolation are post-processing. A missing value is filled with the largest position; the
             number of missing values is a count of sensitivity 1 (T16), paid for with an eighth of the price.
Not covered  Which record sits in which cluster: never used.
Reference    The paper, Lemma 1, read as a list without rows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.domain import Grid
from rankveil.measure.budget import Price
from rankveil.measure.counts import Counts
from rankveil.measure.marginals.projection import Floats
from rankveil.measure.marginals.tree import Segments
from rankveil.microaggregate.blocks import cluster_starts
from rankveil.noise import RandomSource

_FOR_MISSING = Fraction(1, 8)


def ranked_sums(counts: Counts, rows: int, clusters: int, price: Price, source: RandomSource) -> Segments:
    """The marginal as `clusters` noisy means of consecutive ranks."""
    grid = counts.grid.column.domain
    if not isinstance(grid, Grid):
        raise TypeError("ranked sums need an order")
    missing = 0.0
    if counts.grid.column.allows_null:
        count_price = price * _FOR_MISSING
        price = price * (1 - _FOR_MISSING)
        noisy = count_price.laplace_or_gaussian(l1=1, l2_squared=1).added_to(np.array([counts.missing]), source)
        missing = float(min(max(noisy[0], 0), rows))
    starts = cluster_starts(rows, rows // max(1, min(clusters, rows)))
    sizes = np.diff(np.append(starts, rows))
    width = grid.axis_width
    # PRIVACY: sums of public blocks of ranks; L1 = L2 = width.
    noise = price.laplace_or_gaussian(l1=width, l2_squared=width * width)
    noisy_sums = noise.added_to(_block_sums(counts, starts, rows), source)
    means = np.clip(isotonic(noisy_sums / sizes, sizes.astype(np.float64)), 0, width)
    return _interpolated(grid, means, sizes, rows - missing, missing, counts.grid.size)


def _block_sums(counts: Counts, starts: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Exact sums of the sorted axis positions over blocks of ranks, from the counts."""
    grid = counts.grid.column.domain
    assert isinstance(grid, Grid)  # noqa: S101 - checked by the caller
    first_codes = np.arange(counts.grid.size) if counts.grid.edges is None else counts.grid.edges[:-1]
    positions = np.append(grid.to_axis(first_codes), grid.axis_width)  # missing values sit at the top
    amounts = np.append(counts.present, counts.missing)
    ends = np.cumsum(amounts)
    sums_below = np.concatenate([[0], np.cumsum(amounts * positions)])
    ranks = np.append(starts, rows)
    cell = np.searchsorted(ends, ranks, side="left")
    cell = np.minimum(cell, len(amounts) - 1)
    before = np.concatenate([[0], ends])[cell]
    cumulative: NDArray[np.int64] = sums_below[cell] + (ranks - before) * positions[cell]
    return np.diff(cumulative)


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


def _interpolated(
    grid: Grid, means: Floats, sizes: NDArray[np.int64], present: float, missing: float, size: int
) -> Segments:
    """Means as the middle of their cluster on the quantile function, with lines between them."""
    middles = np.cumsum(sizes) - sizes / 2
    total = float(sizes.sum())
    if len(means) == 1:
        ranks, positions = np.array([0.0, total]), np.array([means[0], means[0]])
    else:
        first = max(0.0, means[0] - (means[1] - means[0]) / 2)
        last = min(float(grid.axis_width), means[-1] + (means[-1] - means[-2]) / 2)
        ranks = np.concatenate([[0.0], middles, [total]])
        positions = np.concatenate([[first], means, [last]])
    keep = ranks < max(total - missing, 1.0)  # the missing ones are the top ranks
    ranks, positions = (
        np.append(ranks[keep], max(total - missing, 1.0)),
        np.append(positions[keep], positions[keep][-1]),
    )
    edges = grid.from_axis(positions)
    low, mass = edges[:-1], np.diff(ranks)
    high = np.maximum(edges[1:], low + 1)
    merged: dict[tuple[int, int], float] = {}
    for start, end, amount in zip(low.tolist(), high.tolist(), mass.tolist(), strict=True):
        merged[(start, min(end, size))] = merged.get((start, min(end, size)), 0.0) + amount
    ordered = sorted(merged)
    scale = present / max(sum(merged.values()), 1e-9)
    return Segments(
        np.array([start for start, _ in ordered]),
        np.array([end for _, end in ordered]),
        np.array([merged[key] * scale for key in ordered]),
        missing,
    )
