"""The places that one unknown record can take among known ones, for clusters cut from a public order.

All rows but one have a known place in the order. The unknown one goes to some cluster c. Then the clusters before c
hold the known records as if there were no other, and every cluster after c has got the last record of the one before:

    ranks        0 1 2 | 3 4 5 | 6 7 8        clusters of three
    c = 1        a b c | d e ? | f g h        before c: unchanged; after c: shifted by one
    core           all but the last place of each cluster: these belong to it whatever c is

So what is released per cluster has one value before c and one after it, and depends on the unknown value in c only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.audit.attack_belief import Floats
from rankveil.declare import Column, Records
from rankveil.declare.domain import Codes
from rankveil.microaggregate import Clustered, Clustering

Group = Callable[[Records, int], Clustered]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Slots:
    """The known rows in the public order, and the clusters of all rows, the unknown one among them."""

    known: Integers  # row numbers
    starts: Integers  # first rank of each cluster

    @classmethod
    def without(cls, clustering: Clustering, row: int) -> Slots:
        return cls(clustering.rows[clustering.rows != row], clustering.starts)

    @cached_property
    def ends(self) -> Integers:
        return np.append(self.starts[1:], len(self.known) + 1)

    def cluster_of(self, ranks: Integers) -> Integers:
        """The cluster of the unknown record, if so many known ones come before it."""
        return np.searchsorted(self.starts, ranks, side="right") - 1

    @cached_property
    def core(self) -> tuple[Integers, Integers]:
        """Places in `known` that belong to a cluster whatever c is, and the clusters they belong to."""
        cluster = np.repeat(np.arange(len(self.starts)), self.ends - 1 - self.starts)
        inside = np.ones(len(self.known), np.bool_)
        inside[self.ends[:-1] - 1] = False  # the last places of all clusters but the last one
        return np.flatnonzero(inside), cluster

    def around(self, fit: Callable[[slice, NDArray[Any]], Floats], known: NDArray[Any]) -> Floats:
        """For each c: the sum over all other clusters. `fit`: of some clusters, given what each has besides its core.

        The record between two clusters belongs to the first if both come before c, to the second if both come after.
        """
        between = known[self.starts[1:] - 1]
        before, after = fit(slice(None, -1), between), fit(slice(1, None), between)
        left = np.concatenate([[0.0], np.cumsum(before)])
        right = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
        both: Floats = left + right
        return both


def ranks_of(group: Group, records: Records, row: int, column: Column, codes: Codes) -> Integers:
    """How many known records come before the record of `row`, if its value were each of these codes.

    All these records stand in the place of the row at once, so that production code decides, ties included.
    """
    count = len(codes)
    stacked = {
        name: np.concatenate([known[:row], np.repeat(known[row], count), known[row + 1 :]])
        for name, known in records.codes.items()
    }
    stacked[column.name][row : row + count] = codes
    grouped = group(replace(records, codes=stacked, row_count=records.row_count - 1 + count), 1)
    order = next(part for part in grouped.columns if part.column.name == column.name).clustering.rows
    ours = (order >= row) & (order < row + count)
    ranks = np.empty(count, np.int64)
    ranks[order[ours] - row] = np.cumsum(~ours)[ours]
    return ranks


def alone(records: Records, column: Column) -> Records:
    """A table of this column only, for methods that rank every column by itself."""
    return replace(
        records,
        schema=replace(records.schema, columns=(column,), stated=()),
        codes={column.name: records.codes[column.name]},
    )


def per_cluster(operation: Any, values: NDArray[Any], slots: Slots, empty: int) -> NDArray[Any]:
    """Minimum, maximum or sum (a NumPy ufunc) over the core of each cluster."""
    places, cluster = slots.core
    result = np.full(len(slots.starts), empty, dtype=values.dtype)
    operation.at(result, cluster, values[places])
    return result
