"""Distances between two tables that need no row of one to belong to a row of the other.

    W1/σ                  earth mover's distance of two columns of numbers, in standard deviations of the original
    total variation       half the sum of differences between the shares of rows per cell, of a column or of a pair
    correlation error     difference of rank correlations of two columns of numbers

Cells of total variation are those of measure/cutting.py, cut by the original. Only total variation looks at special
values.

Dates count as days and ordered labels as ranks. Rank correlations are those of the columns' ranks (mid-ranks for ties)
over the rows in which neither value is missing, which is Spearman's where none is; a column that does not vary is
correlated with nothing, so 0. Pairs with unordered labels have none: their dependence shows in total variation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.measure.cutting import cut

_MOST_TALLIES = 1 << 20  # cells of a pair that are counted in one array; more are first reduced to those that occur


def wasserstein(column: Column, original: Codes, released: Codes) -> float | None:
    """W1/σ. None for labels, where the original does not vary, and where a table has no value to compare."""
    if not isinstance(column.domain, Grid):
        return None
    # Codes are values up to a shift and a factor, and both cancel.
    before, after = (np.sort(codes[column.domain.ordinary(codes)]) for codes in (original, released))
    deviation = float(np.std(before)) if len(before) else 0.0
    if deviation == 0 or len(after) == 0:
        return None
    points = np.sort(np.concatenate([before, after]))
    below_before, below_after = (
        np.searchsorted(codes, points[:-1], side="right") / len(codes) for codes in (before, after)
    )
    return float(np.sum(np.abs(below_before - below_after) * np.diff(points))) / deviation


@dataclass(frozen=True)
class Cells:
    """One column of both tables, as numbers of cells 0..count-1."""

    original: NDArray[np.int64]
    released: NDArray[np.int64]
    count: int


def cells_of(column: Column, original: Codes, released: Codes) -> Cells:
    cutting = cut(column, original)
    return Cells(cutting.places(original), cutting.places(released), cutting.count)


def total_variation(cells: Cells) -> float:
    before, after = (
        np.bincount(side, minlength=cells.count) / max(1, len(side)) for side in (cells.original, cells.released)
    )
    return float(np.abs(before - after).sum()) / 2


def pair_of(first: Cells, second: Cells) -> Cells:
    """Two columns as one, whose cells are the combinations of theirs."""
    size = first.count * second.count
    before = first.original * second.count + second.original
    after = first.released * second.count + second.released
    if size > _MOST_TALLIES:
        occurring, numbers = np.unique(np.concatenate([before, after]), return_inverse=True)
        before, after, size = numbers[: len(before)], numbers[len(before) :], len(occurring)
    return Cells(before, after, size)


def expected_by_chance(cells: Cells) -> float:
    """The total variation to be expected between two random samples, as large as the two tables, of one population."""
    rows, released_rows = (np.array([len(side)], np.float64) for side in (cells.original, cells.released))
    shares = np.bincount(cells.original, minlength=cells.count) / np.maximum(1, rows)
    return float(chance_variation(shares, rows, released_rows))


def chance_variation(
    shares: NDArray[np.float64], rows: NDArray[np.float64], released_rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same from the shares of cells (last axis), which the population is taken to have.

    The difference of two measured shares p is about normal with variance p(1-p)(1/n + 1/n'), and its mean size is never
    more than 2p. This is half the sum of its mean sizes.
    """
    variances = shares * (1 - shares) * (1 / np.maximum(1, rows) + 1 / np.maximum(1, released_rows))
    expected: NDArray[np.float64] = np.minimum(np.sqrt(variances / (2 * np.pi)), shares).sum(axis=-1)
    return expected


def rank_correlations(columns: Sequence[Codes]) -> NDArray[np.float64]:
    """Of every pair of these columns of numbers."""
    present = np.column_stack([codes != MISSING for codes in columns]).astype(np.float64)
    ranks = np.column_stack([_centred_ranks(codes) for codes in columns])
    rows = np.maximum(present.T @ present, 1)
    sums = ranks.T @ present  # [a, b]: of a's ranks over the rows in which b is present too
    squares = (ranks**2).T @ present
    covariances = ranks.T @ ranks - sums * sums.T / rows
    variances = np.maximum(squares - sums**2 / rows, 0)
    scale = np.sqrt(variances * variances.T)
    varies = scale > 1e-12 * rows
    return np.where(varies, covariances / np.where(varies, scale, 1), 0.0)


def _centred_ranks(codes: Codes) -> NDArray[np.float64]:
    """Mid-ranks as shares of the column, from -1/2 to 1/2; 0 for missing values."""
    ranks = np.zeros(len(codes))
    present = codes != MISSING
    _, place, counts = np.unique(codes[present], return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2
    ranks[present] = (middles / max(1, counts.sum()) - 0.5)[place] if len(counts) else 0.0
    return ranks
