"""Noisy lists without rows (`unlinked`, `multivariate`): how well each value of one cell explains the list.

The attacker is given the list as it was drawn, in the order of its clusters and before it is smoothed, rounded and
shuffled. That is more than the release shows, so what is computed here is an upper limit of what they learn from it.
The law is exact: discrete Laplace noise on sums, the exponential mechanism on labels, at the scales of production.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rankveil.audit.attack_belief import Attacker, Floats, by_likelihood
from rankveil.audit.attack_slots import Group, Integers, Slots, alone, per_cluster, ranks_of
from rankveil.audit.watch import Draw
from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.measure.budget import Noise
from rankveil.microaggregate import Clustered
from rankveil.microaggregate.clusters import axis_values
from rankveil.noise import Exponential
from rankveil.perturb.records import label_distances

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

        return Fit(slots.around(sums, values), own)


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

        return Fit(slots.around(choices, known), choices)


NoisyList = NumberList | LabelList


def drawn_lists(clustered: Clustered, draws: Sequence[Draw], *, ranked: bool) -> dict[str, NoisyList]:
    """The lists of all columns as production drew them, column by column."""
    lists: dict[str, NoisyList] = {}
    waiting = iter(draws)
    for clusters in clustered.columns:
        column, domain = clusters.column, clusters.column.domain
        if isinstance(domain, Grid):
            missing = next(waiting) if column.allows_null else None
            sums, filler = next(waiting), domain.axis_width if ranked else domain.axis_width // 2
            found = NumberList(sums.answer, _scale(sums), filler)
            if missing is not None:
                found = replace(found, missing=int(missing.answer[0]), missing_scale=_scale(missing))
            lists[column.name] = found
            continue
        distances = label_distances(domain, with_missing=column.allows_null)
        if len(distances) == 1:  # a single possible value: nothing is drawn
            lists[column.name] = LabelList(np.zeros(clusters.count, np.int64), distances.astype(np.float64))
        else:
            chosen = [next(waiting) for _ in clusters.label_counts()]
            lists[column.name] = LabelList(
                np.concatenate([draw.answer for draw in chosen]), distances / _scale(chosen[0])
            )
    return lists


def _scale(draw: Draw) -> float:
    match draw.law:
        case Noise(parameter=scale) | Exponential(scale=scale):
            return float(scale)
    raise TypeError("lists are drawn with Laplace noise and by the exponential mechanism")


def attacker(
    records: Records, clustered: Clustered, lists: Mapping[str, NoisyList], group: Group, *, ranked: bool
) -> Attacker:
    """`ranked`: every column has an order of its own, so other columns' lists say nothing about a cell."""
    parts = {clusters.column.name: clusters for clusters in clustered.columns}

    @lru_cache(maxsize=_FITS_KEPT)  # of whole records, one column's fit is used for the cells of all columns
    def fit(row: int, name: str) -> Fit:
        slots = Slots.without(parts[name].clustering, row)
        return lists[name].fit(parts[name].column, slots, records.codes[name][slots.known])

    def log_likelihood(row: int, column: Column, codes: Codes) -> Floats:
        own = alone(records, column) if ranked else records
        slots = Slots.without(parts[column.name].clustering, row)
        clusters = slots.cluster_of(ranks_of(group, own, row, column, codes))
        total = np.zeros(len(codes))
        for other in own.schema.protected:
            value = own.codes[other.name][row]
            tried = codes if other.name == column.name else np.full(len(codes), value)
            total += fit(row, other.name).log_likelihood(clusters, tried)
        return total

    return by_likelihood(records, log_likelihood)
