"""Published methods: what the equality pattern of a release gives away.

Rows of one cluster show one value. The attacker knows all records but one, so they know the order, and see for every
place where the unknown record may be whether all clusters would show one value each. What remains is a bracket:
values outside it cannot have led to this release (T34). The noise does not matter: it is only used
that equal clusters show equal values. It can make the bracket wider by chance, where neighbouring clusters show the
same value, above all where noise beyond the range is moved to its ends.

Without noise a released centroid also says what the values of its rows add up to, up to rounding, and all but one of
them are known. That holds for any clusters (MDAV).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.audit.attack_belief import (
    Attacker,
    Belief,
    first_reaching,
    from_bracket,
    from_labels,
    known_missing,
)
from rankveil.audit.attack_slots import Group, Slots, alone, per_cluster, ranks_of
from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.microaggregate import Clustered
from rankveil.microaggregate.clusters import axis_values

_ROUNDING = 1e-6  # floating-point means, in steps of the axis


@dataclass(frozen=True)
class Release:
    """A release whose rows belong to records, with how it was made."""

    records: Records
    clustered: Clustered
    codes: dict[str, Codes]
    group: Group | None  # a public order; None: clusters that follow no order
    by_column: bool  # every column is ranked by itself
    noisy: bool


def attacker(release: Release) -> Attacker:
    def belief(row: int, column: Column) -> Belief:
        if release.codes[column.name][row] == MISSING:  # published methods leave missing values missing
            return known_missing(column)
        if isinstance(column.domain, Nominal):
            return from_labels(_labels(release, row, column, column.domain))
        low, high = _bracket(release, row, column, column.domain)
        return from_bracket(column, low, high)

    return belief


def _bracket(release: Release, row: int, column: Column, grid: Grid) -> tuple[int, int]:
    low, high = 0, grid.width
    if release.group is not None:
        clusters = _Clusters(release, release.group, row, column)
        possible = np.flatnonzero(clusters.possible)
        low = first_reaching(clusters.of, grid.width, int(possible[0]))
        high = first_reaching(clusters.of, grid.width, int(possible[-1]) + 1) - 1
    if not release.noisy:
        lowest, highest = _from_the_sum(release, row, column, grid)
        low, high = max(low, lowest), min(high, highest)
    return low, high


def _labels(release: Release, row: int, column: Column, nominal: Nominal) -> Codes:
    codes: Codes = np.arange(nominal.label_count)
    if release.group is None:
        alike = _alike(release, row, column)
        single = len(alike) + 1 < 2 * release.clustered.cluster_size  # not several clusters that show the same
        mates = [alike] * len(codes) if single else []
    else:
        clusters = _Clusters(release, release.group, row, column)
        where = clusters.of(codes)
        fits = clusters.possible[where]
        codes, mates = codes[fits], [clusters.mates(cluster) for cluster in where[fits]]
    if release.noisy or not mates:
        return codes
    raw, shown = release.records.codes[column.name], int(release.codes[column.name][row])
    samples = [np.append(raw[others], code) for code, others in zip(codes, mates, strict=True)]
    return np.asarray(codes[np.array([_centroid(nominal, sample) == shown for sample in samples])])


def _centroid(nominal: Nominal, labels: Codes) -> int:
    return nominal.taxonomy.centroid(labels[labels != MISSING])


class _Clusters:
    """Where the record of a row may be, as far as the rows of all others tell."""

    def __init__(self, release: Release, group: Group, row: int, column: Column) -> None:
        clustering = next(part for part in release.clustered.columns if part.column.name == column.name).clustering
        self._records = alone(release.records, column) if release.by_column else release.records
        self._group, self._row, self._column = group, row, column
        self._slots = Slots.without(clustering, row)
        self.possible: NDArray[np.bool_] = np.ones(len(self._slots.starts), np.bool_)
        for name in _agreeing(release, column):
            self.possible &= _one_value_each(self._slots, release.codes[name], row)

    def of(self, codes: Codes) -> NDArray[np.int64]:
        """The cluster in which the record would be with each of these values."""
        return self._slots.cluster_of(ranks_of(self._group, self._records, self._row, self._column, codes))

    def mates(self, cluster: int) -> NDArray[np.int64]:
        """The rows that share this cluster with the record, if it is there."""
        places, clusters = self._slots.core
        return np.asarray(self._slots.known[places[clusters == cluster]])


def _one_value_each(slots: Slots, released: Codes, row: int) -> NDArray[np.bool_]:
    """For each cluster c: whether every cluster shows one value if the record of `row` is in c."""
    shown = released[slots.known]
    largest = np.iinfo(np.int64).max
    low = per_cluster(np.minimum, np.where(shown == MISSING, largest, shown), slots, largest)
    high = per_cluster(np.maximum, shown, slots, MISSING)

    def fits(which: slice, value: Codes | np.int64) -> NDArray[np.bool_]:
        one = np.minimum(low[which], np.where(value == MISSING, largest, value)) >= np.maximum(high[which], value)
        return np.asarray(one)

    misfits = slots.around(lambda which, value: (~fits(which, value)).astype(np.float64), shown)
    return np.asarray((misfits == 0) & fits(slice(None), released[row]))


def _agreeing(release: Release, column: Column) -> list[str]:
    """The columns in which the rows of a cluster agree: this one, and of whole records those with nothing missing."""
    names = [] if release.by_column else [part.name for part in release.records.schema.protected]
    return [
        column.name,
        *(name for name in names if name != column.name and not (release.codes[name] == MISSING).any()),
    ]


def _alike(release: Release, row: int, column: Column) -> NDArray[np.int64]:
    """Rows that show the same as this one, itself left out: one cluster, or several that show the same."""
    shown = [release.codes[name] for name in _agreeing(release, column)]
    same = np.logical_and.reduce([codes == codes[row] for codes in shown])
    same[row] = False
    return np.flatnonzero(same)


def _from_the_sum(release: Release, row: int, column: Column, grid: Grid) -> tuple[int, int]:
    """Every mean of these clusters rounds to the released code, so their sum is known up to half a step per row."""
    mates = _alike(release, row, column)
    others = int(axis_values(column, release.records.codes[column.name][mates]).sum())
    code = int(release.codes[column.name][row])
    least, most = (_on_axis(grid, code + side) for side in (-0.5, 0.5))
    count = len(mates) + 1
    low = first_reaching(grid.to_axis, grid.width, math.ceil(count * (least - _ROUNDING) - others))
    high = first_reaching(grid.to_axis, grid.width, math.floor(count * (most + _ROUNDING) - others) + 1) - 1
    return low, high


def _on_axis(grid: Grid, code: float) -> float:
    """Where on the axis a code lies that need not be whole."""
    if not grid.log:
        return code
    return math.log1p(max(code, 0.0)) * grid.axis_width / math.log1p(grid.width)
