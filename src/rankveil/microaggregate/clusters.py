"""Clusters of rows and what is summed in them.

Not covered  A `Clustering` says which row sits in which cluster. That is read from the data; publishing it, even by
             repeating a cluster's value in its rows, has no bounded privacy loss (T34); the list by itself may be
             shuffled (T24).
Arithmetic   Sums are exact int64 in units of the column's axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Schema
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal

# Clusters whose label counts are held in memory at a time.
_CLUSTERS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Clustering:
    """Rows listed cluster by cluster. Rows that are not listed (missing values) belong to no cluster."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, len(self.rows)))

    def spread(self, per_cluster: NDArray[np.int64], row_count: int) -> NDArray[np.int64]:
        """Give every row the value of its cluster, and MISSING to rows in no cluster."""
        whole = len(self.rows) == row_count
        per_row = np.empty(row_count, np.int64) if whole else np.full(row_count, MISSING, np.int64)
        per_row[self.rows] = np.repeat(per_cluster, self.sizes)
        return per_row


@dataclass(frozen=True)
class ColumnClusters:
    """One column's values inside its clusters, listed in the order of `clustering.rows`.

    `values` are positions on the axis of a numeric column, or codes of labels; MISSING may occur where whole
    records are grouped.
    """

    column: Column
    clustering: Clustering
    values: Codes

    @property
    def count(self) -> int:
        return self.clustering.count

    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sum of the present values of each cluster, and how many there are."""
        if self.count == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        present = self.values != MISSING
        if present.all():
            return np.add.reduceat(self.values, self.clustering.starts), self.clustering.sizes
        filled = np.where(present, self.values, 0)
        return (
            np.add.reduceat(filled, self.clustering.starts),
            np.add.reduceat(present.astype(np.int64), self.clustering.starts),
        )

    def label_counts(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """How often each label occurs in each cluster, some clusters at a time: (which clusters, clusters x labels)."""
        labels = self._nominal.label_count
        ends = np.append(self.clustering.starts, len(self.values))
        for first in range(0, self.count, _CLUSTERS_AT_ONCE):
            last = min(first + _CLUSTERS_AT_ONCE, self.count)
            values = self.values[ends[first] : ends[last]]
            cluster = np.repeat(np.arange(last - first), self.clustering.sizes[first:last])
            present = values != MISSING
            cells = np.bincount(cluster[present] * labels + values[present], minlength=(last - first) * labels)
            yield slice(first, last), cells.reshape(last - first, labels)

    @property
    def _nominal(self) -> Nominal:
        if not isinstance(self.column.domain, Nominal):
            raise TypeError(f"column {self.column.name!r} has numbers, not labels")
        return self.column.domain

    def means(self) -> NDArray[np.float64]:
        """Plain centroids on the axis; NaN where a cluster holds no value."""
        sums, sizes = self.sums()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / sizes, dtype=np.float64)

    def semantic_centroids(self) -> NDArray[np.int64]:
        """Plain centroids of labels by the paper's definition; MISSING where a cluster holds no value."""
        taxonomy = self._nominal.taxonomy
        known: dict[bytes, int] = {}  # neighbouring clusters often hold the same labels
        centroids = np.full(self.count, MISSING, np.int64)
        for where, counts in self.label_counts():
            for offset, row in enumerate(counts):
                if row.any():
                    key = row.tobytes()
                    if key not in known:
                        present = np.flatnonzero(row)
                        known[key] = taxonomy.centroid_of_counts(present, row[present])
                    centroids[where.start + offset] = known[key]
        return centroids


@dataclass(frozen=True)
class Clustered:
    """All protected columns in clusters, and the public columns, which the release keeps as they are."""

    schema: Schema
    row_count: int
    cluster_size: int  # k in the paper
    columns: tuple[ColumnClusters, ...]
    public_codes: dict[str, Codes]


def axis_values(column: Column, codes: Codes) -> Codes:
    """What is grouped and averaged: axis positions of numbers, codes of labels; MISSING stays."""
    if isinstance(column.domain, Grid):
        positions = column.domain.to_axis(np.maximum(codes, 0))
        return np.where(codes == MISSING, MISSING, positions) if (codes == MISSING).any() else positions
    return codes
