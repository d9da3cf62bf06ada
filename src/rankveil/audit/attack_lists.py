"""Noisy lists without rows (`unlinked`, `multivariate`): how well each value of one cell explains the list.

The attacker is given the list as it was drawn, in the order of its clusters and before it is smoothed, rounded and
shuffled. That is more than the release shows, so what is computed here is an upper limit of what they learn from it.
The law is exact: discrete Laplace noise on sums, the exponential mechanism on labels, at the scales of production.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from rankveil.audit.attack_belief import Attacker, Belief, Floats, candidates, from_likelihood
from rankveil.audit.attack_slots import Group, Integers, Slots, alone, per_cluster, ranks_of
from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.microaggregate import Clustered, ColumnClusters
from rankveil.microaggregate.clusters import axis_values
from rankveil.noise import RandomSource, discrete_laplace, representable_scale
from rankveil.perturb.centroids import ReleasedCentroids, filled_sums, mechanisms_for
from rankveil.perturb.records import DISTANCE_UNITS, label_distances

_FITS_KEPT = 16


@dataclass(frozen=True)
class Fit:
    """How well a column's list fits: for each cluster c the fit of all others, and of c with a value added to it."""

    around: Floats
    own: Callable[[Integers, Codes], Floats]

    def log_likelihood(self, clusters: Integers, codes: Codes) -> Floats:
        return np.asarray(self.around[clusters] + self.own(clusters, codes))


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

    def fit(self, column: Column, slots: Slots, known: Codes) -> Fit:
        """`known`: the known values, in the order of the slots."""
        values = self.positions(column, known)
        core = per_cluster(np.add, values, slots, 0)
        others_missing = int(np.count_nonzero(known == MISSING))

        def sums(which: slice | Integers, more: Integers) -> Floats:
            return np.asarray(-np.abs(self.sums[which] - core[which] - more) / self.scale)

        def own(clusters: Integers, codes: Codes) -> Floats:
            found = sums(clusters, self.positions(column, codes))
            if self.missing_scale is None:
                return found
            return np.asarray(found - np.abs(self.missing - others_missing - (codes == MISSING)) / self.missing_scale)

        before, after = sums(slice(None, -1), values[slots.unshifted]), sums(slice(1, None), values[slots.shifted])
        return Fit(Slots.around(before, after), own)


@dataclass(frozen=True)
class LabelList:
    """One label drawn for each cluster; missing is the last label."""

    values: Integers
    distances: Floats  # over the scale of the exponential mechanism

    def fit(self, column: Column, slots: Slots, known: Codes) -> Fit:
        places, cluster = slots.core
        labels = len(self.distances)
        counts = np.bincount(cluster * labels + known[places] % labels, minlength=len(slots.starts) * labels)
        core = counts.reshape(-1, labels) @ self.distances

        def choices(which: slice | Integers, more: Codes) -> Floats:
            away = core[which] + self.distances[more % labels]  # MISSING is -1: the last label
            away -= away.min(axis=1, keepdims=True)
            drawn = np.take_along_axis(away, self.values[which][:, None], axis=1)[:, 0]
            return np.asarray(-drawn - np.log(np.exp(-away).sum(axis=1)))

        before, after = choices(slice(None, -1), known[slots.unshifted]), choices(slice(1, None), known[slots.shifted])
        return Fit(Slots.around(before, after), choices)


@dataclass(frozen=True)
class Constant:
    """A column with a single possible value says nothing."""

    def fit(self, column: Column, slots: Slots, known: Codes) -> Fit:
        return Fit(np.zeros(len(slots.starts)), lambda clusters, codes: np.zeros(len(codes)))


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
    parts = {clusters.column.name: clusters for clusters in clustered.columns}

    @lru_cache(maxsize=_FITS_KEPT)  # of whole records, one column's fit is used for the cells of all columns
    def fit(row: int, name: str) -> Fit:
        slots = Slots.without(parts[name].clustering, row)
        return lists[name].fit(parts[name].column, slots, records.codes[name][slots.known])

    def belief(row: int, column: Column) -> Belief:
        codes = candidates(column)
        own = alone(records, column) if ranked else records
        slots = Slots.without(parts[column.name].clustering, row)
        clusters = slots.cluster_of(ranks_of(group, own, row, column, codes))
        total = np.zeros(len(codes))
        for other in own.schema.protected:
            value = own.codes[other.name][row]
            tried = codes if other.name == column.name else np.full(len(codes), value)
            total += fit(row, other.name).log_likelihood(clusters, tried)
        return from_likelihood(column, codes, total, int(own.codes[column.name][row]))

    return belief
