"""Noisy lists without rows (`unlinked`, `multivariate`): how well each value of one cell explains the list.

The attacker is given the list as it was drawn, in the order of its clusters and before it is smoothed, rounded and
shuffled. That is more than the release shows, so what is computed here is an upper limit of what they learn from it.
The law is exact: discrete Laplace noise on sums, the exponential mechanism on labels, at the scales of production.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rankveil.audit.attack_belief import Attacker, Belief, Floats, candidates, from_likelihood
from rankveil.audit.attack_slots import Group, Integers, Slots, alone, per_cluster, ranks_of
from rankveil.flow.declare import Column, Records
from rankveil.flow.declare.domain import MISSING, Codes, Grid
from rankveil.flow.microaggregate import Clustered, ColumnClusters
from rankveil.flow.microaggregate.clusters import axis_values
from rankveil.flow.protect.centroids import ReleasedCentroids, filled_sums, mechanisms_for
from rankveil.flow.protect.records import DISTANCE_UNITS, label_distances
from rankveil.noise import RandomSource, discrete_laplace, representable_scale


@dataclass(frozen=True)
class NumberList:
    """Noisy sums, and a noisy count of missing values where they are allowed."""

    sums: Integers
    scale: float
    filler: int  # stands for missing in sums
    missing: int = 0
    missing_scale: float | None = None

    def positions(self, column: Column, codes: Codes) -> Integers:
        return np.where(codes == MISSING, self.filler, axis_values(column, codes))

    def log_likelihood(self, column: Column, slots: Slots, known: Codes, codes: Codes, clusters: Integers) -> Floats:
        """Of each code in its cluster, the known values being in the order of the slots."""
        values = self.positions(column, known)
        core = per_cluster(np.add, values, slots, 0)

        def fit(which: slice | Integers, more: Integers) -> Floats:
            return np.asarray(-np.abs(self.sums[which] - core[which] - more) / self.scale)

        around = Slots.around(fit(slice(None, -1), values[slots.unshifted]), fit(slice(1, None), values[slots.shifted]))
        found = around[clusters] + fit(clusters, self.positions(column, codes))
        if self.missing_scale is not None:
            others = int(np.count_nonzero(known == MISSING))
            found -= np.abs(self.missing - others - (codes == MISSING)) / self.missing_scale
        return np.asarray(found)


@dataclass(frozen=True)
class LabelList:
    """One label drawn for each cluster; missing is the last label."""

    values: Integers
    distances: Floats  # over the scale of the exponential mechanism

    def log_likelihood(self, column: Column, slots: Slots, known: Codes, codes: Codes, clusters: Integers) -> Floats:
        places, cluster = slots.core
        labels = len(self.distances)
        counts = np.bincount(cluster * labels + known[places] % labels, minlength=len(slots.starts) * labels)
        core = counts.reshape(-1, labels) @ self.distances

        def fit(which: slice | Integers, more: Codes) -> Floats:
            away = core[which] + self.distances[more % labels]  # MISSING is -1: the last label
            away -= away.min(axis=1, keepdims=True)
            drawn = np.take_along_axis(away, self.values[which][:, None], axis=1)[:, 0]
            return np.asarray(-drawn - np.log(np.exp(-away).sum(axis=1)))

        around = Slots.around(fit(slice(None, -1), known[slots.unshifted]), fit(slice(1, None), known[slots.shifted]))
        return np.asarray(around[clusters] + fit(clusters, codes))


@dataclass(frozen=True)
class Constant:
    """A column with a single possible value says nothing."""

    def log_likelihood(self, column: Column, slots: Slots, known: Codes, codes: Codes, clusters: Integers) -> Floats:
        return np.zeros(len(codes))


NoisyList = NumberList | LabelList | Constant


def drawn_lists(
    clustered: Clustered,
    released: ReleasedCentroids,
    shares: Mapping[str, Fraction],
    source: RandomSource,
    *,
    ranked: bool,
) -> dict[str, NoisyList]:
    """The lists of all columns: labels as production drew them; numbers drawn here, for production rounds them."""
    lists: dict[str, NoisyList] = {}
    for clusters in clustered.columns:
        name, k = clusters.column.name, clustered.cluster_size
        *about_missing, main = mechanisms_for(clusters.column, shares[name], k, clusters.count, ranked=ranked)
        if main.scale is None:
            lists[name] = Constant()
        elif isinstance(clusters.column.domain, Grid):
            price = about_missing[0].epsilon if about_missing else None
            lists[name] = _number_list(clusters, clusters.column.domain, main.scale * k, price, source, ranked=ranked)
        else:
            distances = label_distances(clusters.column.domain, with_missing=clusters.column.allows_null)
            values = released.columns[name].values % len(distances)
            lists[name] = LabelList(values, distances / float(main.scale * k * DISTANCE_UNITS))
    return lists


def _number_list(
    clusters: ColumnClusters,
    grid: Grid,
    scale: Fraction,
    price_of_missing: Fraction | None,
    source: RandomSource,
    *,
    ranked: bool,
) -> NumberList:
    noisy = filled_sums(clusters, grid, ranked=ranked) + discrete_laplace(scale, clusters.count, source)
    filler = grid.axis_width if ranked else grid.axis_width // 2
    if price_of_missing is None:
        return NumberList(noisy, float(scale), filler)
    missing_scale = representable_scale(1 / price_of_missing)
    missing = int(np.count_nonzero(clusters.values == MISSING)) + int(discrete_laplace(missing_scale, 1, source)[0])
    return NumberList(noisy, float(scale), filler, missing, float(missing_scale))


def attacker(
    records: Records, clustered: Clustered, lists: Mapping[str, NoisyList], group: Group, *, ranked: bool
) -> Attacker:
    """`ranked`: every column has an order of its own, so other columns' lists say nothing about a cell."""
    clusterings = {clusters.column.name: clusters.clustering for clusters in clustered.columns}

    def belief(row: int, column: Column) -> Belief:
        codes = candidates(column)
        slots = Slots.without(clusterings[column.name], row)
        own = alone(records, column) if ranked else records
        clusters = slots.cluster_of(ranks_of(group, own, row, column, codes))
        total = np.zeros(len(codes))
        for other in own.schema.protected:
            raw = own.codes[other.name]
            tried = codes if other.name == column.name else np.full(len(codes), raw[row])
            total += lists[other.name].log_likelihood(other, slots, raw[slots.known], tried, clusters)
        return from_likelihood(column, codes, total, int(own.codes[column.name][row]))

    return belief
