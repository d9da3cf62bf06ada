"""Noise on centroids as the paper and its predecessor print it.

Guarantee    None for the table, because rows repeat the value of their cluster (T34), or because there is no noise
             (T41). For the list of centroids of numeric columns alone: ε under individual ranking (the paper's Lemma 1,
             T20), m·ε under the predecessor's scale (T36). Not even that for labels, whose mechanism is calibrated to a
             single cluster (T35).
Arithmetic   Ordinary floating-point Laplace noise, as published. Labels are drawn exactly.
Reference    Algorithm 1 (numbers), Algorithm 2 (labels), Section 2.4 (predecessor).

A missing value forms no cluster under individual ranking and adds nothing to its cluster otherwise; under every
published method it stays missing in its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Schema
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.draw.rows import Rows
from rankveil.measure.budget import Mechanism
from rankveil.microaggregate import Clustered, Clustering, ColumnClusters
from rankveil.noise import Exponential, RandomSource, laplace_floats
from rankveil.perturb.records import DISTANCE_UNITS

_SCALE_GROWS = "grows with the number of clusters"


@dataclass(frozen=True)
class NoisyCentroids:
    """A protected value per cluster and column, with the clusters it belongs to, which are not protected."""

    schema: Schema
    row_count: int
    centroids: dict[str, tuple[Clustering, Codes]]
    public_codes: dict[str, Codes]
    notes: tuple[Mechanism, ...]


def own_cluster(noisy: NoisyCentroids) -> Rows:
    """Every row repeats the value of the cluster it was grouped into, as the paper publishes it.

    Reads which record sits in which cluster, exactly, and pays nothing for it: NOT private (T34).
    """
    codes = dict(noisy.public_codes)
    for name, (clustering, values) in noisy.centroids.items():
        codes[name] = clustering.spread(values, noisy.row_count)
    return Rows.whole(noisy.schema, noisy.row_count, codes, noisy.notes, row_aligned=True)


def planned_by_paper(column: Column, shares: Mapping[str, Fraction], cluster_size: int) -> list[Mechanism]:
    """Individual ranking: scale Δ/(k·ε_a) on numbers, one draw per cluster; Algorithm 2 on labels."""
    return [_mechanism(column, shares[column.name], cluster_size)]


def planned_by_predecessor(column: Column, shares: Mapping[str, Fraction], cluster_size: int) -> list[Mechanism]:
    """Multivariate: the scale depends on the number of rows, which a plan does not know."""
    return [
        replace(
            _mechanism(column, Fraction(1), cluster_size),
            scale=None,
            scale_in_units=None,
            sensitivity=_SCALE_GROWS,
        )
    ]


def planned_without_noise(column: Column, shares: Mapping[str, Fraction], cluster_size: int) -> list[Mechanism]:
    return [Mechanism(column.name, "none", None)]


def algorithm_1_and_2(clustered: Clustered, shares: Mapping[str, Fraction], source: RandomSource) -> NoisyCentroids:
    return _noisy(clustered, shares, source, every_cluster_affected=False)


def predecessor(clustered: Clustered, shares: Mapping[str, Fraction], source: RandomSource) -> NoisyCentroids:
    """Scale (n/k)·(Δ/k)/ε in every column, with the whole ε and no factor m, as printed."""
    whole = dict.fromkeys(shares, sum(shares.values(), Fraction(0)))
    return _noisy(clustered, whole, source, every_cluster_affected=True)


def no_noise(clustered: Clustered, shares: Mapping[str, Fraction], source: RandomSource) -> NoisyCentroids:
    """Microaggregation alone."""

    def centroids(clusters: ColumnClusters) -> tuple[Mechanism, Codes]:
        (note,) = planned_without_noise(clusters.column, shares, 1)
        domain = clusters.column.domain
        if isinstance(domain, Grid):
            return note, _positions_to_codes(domain, clusters.means())
        return note, clusters.semantic_centroids()

    return _released(clustered, centroids)


def _mechanism(column: Column, epsilon: Fraction, cluster_size: int, *, affected: Fraction = Fraction(1)) -> Mechanism:
    """`affected`: how many clusters one record is said to change by a whole Δ/k."""
    if isinstance(column.domain, Grid):
        scale = affected * column.domain.axis_width / cluster_size / epsilon
        name = "Laplace (floating point) on cluster means"
        return Mechanism(column.name, name, None, scale=scale, scale_in_units=column.domain.in_units(scale))
    widest = int(_concept_distances(column.domain)[:, : column.domain.label_count].max())
    scale = 2 * widest * affected / epsilon / DISTANCE_UNITS
    return Mechanism(column.name, "exponential mechanism per cluster (Algorithm 2)", None, scale=scale)


def _noisy(
    clustered: Clustered,
    shares: Mapping[str, Fraction],
    source: RandomSource,
    *,
    every_cluster_affected: bool,
) -> NoisyCentroids:
    # As printed: n/k, a fraction, although the number of clusters is a whole number.
    affected = Fraction(clustered.row_count, clustered.cluster_size) if every_cluster_affected else Fraction(1)

    def centroids(clusters: ColumnClusters) -> tuple[Mechanism, Codes]:
        column = clusters.column
        note = _mechanism(column, shares[column.name], clustered.cluster_size, affected=affected)
        scale = note.scale or Fraction(0)
        if isinstance(column.domain, Nominal):
            return note, _algorithm_2(clusters, column.domain, scale * DISTANCE_UNITS, source)
        # One draw per cluster: the paper's note after Lemma 3.
        noisy = clusters.means() + laplace_floats(float(scale), clusters.count, source)
        return note, _positions_to_codes(column.domain, noisy)

    return _released(clustered, centroids)


def _released(clustered: Clustered, of: Callable[[ColumnClusters], tuple[Mechanism, Codes]]) -> NoisyCentroids:
    """`of`: the values of a column's clusters, and what was drawn for them."""
    centroids, notes = {}, []
    for clusters in clustered.columns:
        note, values = of(clusters)
        centroids[clusters.column.name] = (_with_a_value(clusters), values)
        # Where n and k decide it. With missing values the number of clusters would tell how many there are.
        count = None if clusters.column.allows_null else clustered.row_count // clustered.cluster_size
        notes.append(replace(note, clusters=count))
    return NoisyCentroids(clustered.schema, clustered.row_count, centroids, clustered.public_codes, tuple(notes))


def _positions_to_codes(grid: Grid, positions: NDArray[np.float64]) -> Codes:
    empty = np.isnan(positions)
    return np.where(empty, MISSING, grid.from_axis(np.where(empty, 0.0, positions)))


def _algorithm_2(clusters: ColumnClusters, nominal: Nominal, scale: Fraction, source: RandomSource) -> Codes:
    """P(a) ∝ exp(-ε·m(S, a) / 2Δ) over all concepts a of the taxonomy, S the labels of one cluster."""
    values = np.zeros(clusters.count, np.int64)
    if scale == 0:  # one label only
        return values
    distances = _concept_distances(nominal)
    for where, counts in clusters.label_counts():
        values[where] = source.answer(Exponential(scale), -(counts @ distances))
    return values


def _concept_distances(nominal: Nominal) -> NDArray[np.int64]:
    """Semantic distance of every label from every concept of the taxonomy, in integer units."""
    distances = nominal.taxonomy.distances[: nominal.label_count, : nominal.code_count]
    return np.rint(distances * DISTANCE_UNITS).astype(np.int64)


def _with_a_value(clusters: ColumnClusters) -> Clustering:
    """The clustering without rows whose own value is missing."""
    present = clusters.values != MISSING
    if present.all():
        return clusters.clustering
    kept_before = np.concatenate([[0], np.cumsum(present)])
    return Clustering(clusters.clustering.rows[present], kept_before[clusters.clustering.starts])
