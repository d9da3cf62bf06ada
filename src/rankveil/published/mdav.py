"""Maximum distance to average vector: plain multivariate microaggregation.

Guarantee    Every cluster has at least k records, so the microaggregated table is k-anonymous in the protected columns.
Not covered  Differential privacy: there is no noise (T41), and changing one record can change all clusters.
Cost         O(n²/k) distances, in vectorised passes over the records that are left.
Distance     Euclidean. A number counts in standard deviations of its column; two labels are apart by their semantic
             distance as a share of the largest one; a missing value is 1 away from any present value.
Ties         The lowest row number wins.
Reference    Domingo-Ferrer and Torra 2005 (MDAV-generic), with the paper's centroid for labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Records
from rankveil.declare.domain import MISSING, Grid
from rankveil.errors import TableError
from rankveil.microaggregate import Clustered
from rankveil.microaggregate.clusters import axis_values
from rankveil.microaggregate.distance import cut_records
from rankveil.taxonomy import Taxonomy


def mdav(records: Records, cluster_size: int) -> Clustered:
    """Cluster whole records around those farthest from the average, two clusters at a time."""
    if cluster_size > records.row_count:
        raise TableError(
            f"k = {cluster_size} is more than the {records.row_count} rows of the table.",
            remedy="Choose a k of at most the number of rows.",
        )
    left = _Remaining(records)
    clusters: list[NDArray[np.int64]] = []
    while left.count >= 3 * cluster_size:
        far = left.farthest_from(left.average())
        opposite = left.farthest_from(left.point(far))
        # The two are taken by row, because removing the first cluster moves the places of the others.
        opposite_point, opposite_row = left.point(opposite), left.rows[opposite]
        clusters.append(left.take_nearest(left.point(far), cluster_size))
        if opposite_row in clusters[-1]:  # only among ties and very small clusters
            opposite_point = left.point(left.farthest_from(opposite_point))
        clusters.append(left.take_nearest(opposite_point, cluster_size))
    if left.count >= 2 * cluster_size:
        far = left.farthest_from(left.average())
        clusters.append(left.take_nearest(left.point(far), cluster_size))
    clusters.append(left.rows)
    starts = np.cumsum([0, *(len(cluster) for cluster in clusters[:-1])]).astype(np.int64)
    return cut_records(records, np.concatenate(clusters), starts, cluster_size)


class _Numbers:
    """One numeric column: positions in standard deviations."""

    def __init__(self, positions: NDArray[np.int64]) -> None:
        self.absent = positions == MISSING if (positions == MISSING).any() else None
        present = positions[positions != MISSING]
        self.scale = float(present.std()) if len(present) else 1.0
        self.positions = np.where(positions == MISSING, 0, positions)
        self.scaled = self.positions / (self.scale or 1.0)
        self.total = int(self.positions.sum())

    def average(self) -> tuple[float, bool]:
        present = len(self.positions) - (0 if self.absent is None else int(np.count_nonzero(self.absent)))
        return (self.total / present / (self.scale or 1.0), False) if present else (0.0, True)

    def point(self, place: int) -> tuple[float, bool]:
        return float(self.scaled[place]), bool(self.absent is not None and self.absent[place])

    def add_squared(self, point: tuple[float, bool], squared: NDArray[np.float64]) -> None:
        value, absent = point
        if self.absent is None and not absent:
            difference = self.scaled - value
            difference *= difference
            squared += difference
        else:
            rows_absent = np.zeros(len(self.scaled), np.bool_) if self.absent is None else self.absent
            between = (self.scaled - value) ** 2 if not absent else np.ones(len(self.scaled))
            squared += np.where(rows_absent, 0.0 if absent else 1.0, between)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self.total -= int(self.positions[~kept].sum())
        self.positions, self.scaled = self.positions[kept], self.scaled[kept]
        if self.absent is not None:
            self.absent = self.absent[kept]


class _Labels:
    """One column of labels: the squared distance from any concept to every label, in a table."""

    def __init__(self, codes: NDArray[np.int64], taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        labels = taxonomy.label_count
        self.codes = np.where(codes == MISSING, labels, codes)
        share = taxonomy.distances[:, :labels] / (taxonomy.width or 1.0)
        self.squared = np.ones((taxonomy.node_count + 1, labels + 1))  # the last row and column stand for missing
        self.squared[:-1, :-1] = share**2
        self.squared[-1, -1] = 0.0
        self.counts = np.bincount(self.codes, minlength=labels + 1)

    def average(self) -> int:
        present = np.flatnonzero(self.counts[:-1])
        return self.taxonomy.centroid_of_counts(present, self.counts[present]) if len(present) else -1

    def point(self, place: int) -> int:
        code = int(self.codes[place])
        return -1 if code == self.taxonomy.label_count else code

    def add_squared(self, point: int, squared: NDArray[np.float64]) -> None:
        squared += self.squared[point][self.codes]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self.counts = self.counts - np.bincount(self.codes[~kept], minlength=len(self.counts))
        self.codes = self.codes[kept]


class _Remaining:
    """Records in no cluster yet, in row order. A point is one entry per column: a number or a concept."""

    def __init__(self, records: Records) -> None:
        self.rows = np.arange(records.row_count, dtype=np.int64)
        self._columns: list[_Numbers | _Labels] = []
        for column in records.schema.protected:
            codes = records.codes[column.name]
            if isinstance(column.domain, Grid):
                self._columns.append(_Numbers(axis_values(column, codes)))
            else:
                self._columns.append(_Labels(codes, column.domain.taxonomy))

    @property
    def count(self) -> int:
        return len(self.rows)

    def average(self) -> list[object]:
        return [column.average() for column in self._columns]

    def point(self, place: int) -> list[object]:
        return [column.point(place) for column in self._columns]

    def _squared(self, point: list[object]) -> NDArray[np.float64]:
        squared = np.zeros(self.count)
        for column, entry in zip(self._columns, point, strict=True):
            column.add_squared(entry, squared)  # type: ignore[arg-type]
        return squared

    def farthest_from(self, point: list[object]) -> int:
        return int(np.argmax(self._squared(point)))

    def take_nearest(self, point: list[object], wanted: int) -> NDArray[np.int64]:
        """Remove the `wanted` records nearest to the point and return their rows."""
        squared = self._squared(point)
        limit = np.partition(squared, wanted - 1)[wanted - 1]
        nearer, tied = squared < limit, np.flatnonzero(squared == limit)
        nearer[tied[: wanted - int(np.count_nonzero(nearer))]] = True
        taken: NDArray[np.int64] = self.rows[nearer]
        kept = ~nearer
        self.rows = self.rows[kept]
        for column in self._columns:
            column.keep(kept)
        return taken
