"""Noise on the values of clusters: what is sound about the paper's method and about its predecessor's.

Guarantee    With shares adding up to ε the noisy centroids of all columns together are ε-differentially private (pure).
             That holds for the lists of centroids and whatever is made of them and of public cluster sizes; the rows
             of the clusters are not handed on.
Argument     Every column costs its share ε_a, and the shares add up. With S = what one record can change in all
             clusters of the column together, noise of scale S/ε_a is enough:
             ranked    each column sorted by itself. Numbers: S = D, the width of the axis, in L1 norm of the integer
                       sums, one draw of discrete Laplace noise per cluster (T21). Labels: P(a) ∝ exp(-ε_a·m/S),
                       m the summed distance of a cluster to a, and S = 2·L_J (T22): Algorithm 2, calibrated to
                       the list of clusters.
             records   whole records in clusters. Each of J clusters may exchange one record, so S = J·D for numbers,
                       and for labels J times the largest range of δ(c', a) - δ(c, a) over candidates a (T23). The
                       share ε/m of a column is the factor m that the predecessor leaves out (T36).
             missing   among labels, missing is one more label, last in the order and a candidate. Among numbers it
                       is filled with a constant (ranked: the top of the axis; records: its middle), and how many are
                       missing is a count of sensitivity 1, paid with an eighth of the share (T16).
             Candidates are the labels of the plan. Isotonic regression, moving into the domain and rounding come after
             the noise. The methods as a whole: T32 (ranked), T33 (records).
Not covered  A ranked cluster that holds both numbers and missing values has a mean pulled towards the top. In clusters
             of records filled values pull means towards the middle, and which rows lack a number is not measured.
Arithmetic   Sums, counts and distances (in units of 2^-20, rounded once, a public table) are integers, scales rational,
             noise exact. Floating point only after the noise. Scales are stated per mean: the noise of a sum of k is
             k times as large, and is drawn so.
Ties         None are left: sums and counts do not depend on the order inside a cluster.
Reference    The paper, Algorithms 1 and 2; its Section 2.4 for the predecessor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Plan, Schema, declare_alone
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.measure.budget import Mechanism, Noise, equal_shares
from rankveil.microaggregate import Clustered, ColumnClusters
from rankveil.microaggregate.unaligned import refuse_public_columns
from rankveil.noise import Exponential, RandomSource, representable_scale
from rankveil.perturb.isotonic import isotonic
from rankveil.perturb.records import DISTANCE_UNITS, known, label_distances, laplace_scale
from rankveil.taxonomy.paths import depth_first_order, doubled_steps, path_length

_FOR_MISSING = Fraction(1, 8)
_scale = partial(laplace_scale, levers="ε or k")


@dataclass(frozen=True)
class ReleasedColumn:
    """A protected value per cluster, and a protected number of missing values (labels: they are among the values)."""

    values: Codes
    missing: int = 0


@dataclass(frozen=True)
class ReleasedCentroids:
    """All columns after the noise, without any record. `sizes` of the clusters follow from n and k."""

    schema: Schema
    row_count: int
    sizes: NDArray[np.int64]
    columns: dict[str, ReleasedColumn]
    notes: tuple[Mechanism, ...]


def protect_ranked(clustered: Clustered, shares: Mapping[str, Fraction], source: RandomSource) -> ReleasedCentroids:
    """Clusters of columns sorted by themselves (`rank_every_row`)."""
    return _protected(clustered, shares, source, ranked=True)


def protect_records(clustered: Clustered, shares: Mapping[str, Fraction], source: RandomSource) -> ReleasedCentroids:
    """Clusters of whole records in a public order (`order_every_row`)."""
    return _protected(clustered, shares, source, ranked=False)


def _protected(
    clustered: Clustered, shares: Mapping[str, Fraction], source: RandomSource, *, ranked: bool
) -> ReleasedCentroids:
    columns, notes = {}, []
    for clusters in clustered.columns:
        column, k = clusters.column, clustered.cluster_size
        mechanisms = mechanisms_for(column, shares[column.name], k, clusters.count, ranked=ranked)
        if isinstance(column.domain, Grid):
            columns[column.name] = _noisy_numbers(clusters, column.domain, mechanisms, k, source, ranked=ranked)
        else:
            columns[column.name] = _noisy_labels(clusters, column.domain, mechanisms[0], k, source)
        notes += mechanisms
    sizes = clustered.columns[0].clustering.sizes
    return ReleasedCentroids(clustered.schema, clustered.row_count, sizes, columns, tuple(notes))


# What is drawn, as a function of public numbers


def mechanisms_for(
    column: Column, epsilon: Fraction, cluster_size: int, clusters: int, *, ranked: bool
) -> list[Mechanism]:
    """What is drawn for a column at this price: a function of the plan and of n."""
    domain = column.domain
    change = sensitivity(column, clusters, ranked=ranked)
    if isinstance(domain, Nominal):
        if change == 0:  # a single possible value: nothing to protect
            return [Mechanism(column.name, "constant", Fraction(0), sensitivity="none", theorems=("T1",))]
        return [
            Mechanism(
                column.name,
                "exponential mechanism per cluster, scale per mean",
                epsilon,
                scale=change / epsilon / cluster_size / DISTANCE_UNITS,
                sensitivity=f"semantic distance {change / 2 / DISTANCE_UNITS:.4f} over all clusters",
                clusters=clusters,
                theorems=("T22" if ranked else "T23", "T8"),
            )
        ]
    notes = []
    if column.allows_null:
        for_missing, epsilon = epsilon * _FOR_MISSING, epsilon * (1 - _FOR_MISSING)
        in_words = f"1 record; noise of scale {float(_scale(column, 1, for_missing)):.4g}"
        notes.append(
            Mechanism(
                column.name,
                "discrete Laplace, how many are missing",
                for_missing,
                sensitivity=in_words,
                theorems=("T16", "T6"),
            )
        )
    scale = _scale(column, change, epsilon) / cluster_size
    notes.append(
        Mechanism(
            column.name,
            "discrete Laplace on cluster sums, scale per mean",
            epsilon,
            scale=scale,
            scale_in_units=domain.in_units(scale),
            sensitivity=f"{change} steps of the axis over all clusters",
            clusters=clusters,
            theorems=("T21" if ranked else "T23", "T6"),
        )
    )
    return notes


def sensitivity(column: Column, clusters: int, *, ranked: bool) -> int:
    """S: steps of the axis, or units of distance, by which one record can change all clusters together."""
    if isinstance(column.domain, Grid):
        return column.domain.axis_width * (1 if ranked else clusters)
    distances = label_distances(column.domain, with_missing=column.allows_null)
    if not ranked:
        return int(doubled_steps(distances).max()) * clusters
    order = depth_first_order(column.domain.taxonomy)
    if column.allows_null:
        order = np.append(order, len(order))
    return path_length(distances[order], clusters)


def planned_ranked(plan: Plan) -> list[Mechanism]:
    """For dry runs. The noise on numbers does not depend on n; the noise on labels grows with J up to a limit."""
    clusters = _expected_clusters(plan)
    notes = []
    for column, share in _shares(plan):
        limit = 1 if isinstance(column.domain, Grid) else column.domain.label_count + 1
        notes += mechanisms_for(column, share, plan.release.k or 1, clusters or limit, ranked=True)
    return notes if clusters is not None else [replace(note, clusters=None) for note in notes]


def planned_records(plan: Plan) -> list[Mechanism]:
    """For dry runs. All noise grows with the number of clusters, so the plan has to say how many rows it expects."""
    clusters = _expected_clusters(plan)
    notes = [
        note
        for column, share in _shares(plan)
        for note in mechanisms_for(column, share, plan.release.k or 1, clusters or 1, ranked=False)
    ]
    if clusters is not None:
        return notes
    unknown = "grows with the number of clusters: set expected_rows"
    return [
        note
        if note.scale is None
        else replace(note, scale=None, scale_in_units=None, sensitivity=unknown, clusters=None)
        for note in notes
    ]


def _shares(plan: Plan) -> list[tuple[Column, Fraction]]:
    schema = declare_alone(plan)
    refuse_public_columns(schema)
    shares = equal_shares(plan.release.epsilon, schema.names)
    return [(column, shares[column.name]) for column in schema.columns]


def _expected_clusters(plan: Plan) -> int | None:
    rows = plan.release.expected_rows
    return None if rows is None else max(1, rows // (plan.release.k or 1))


# Drawing


def _noisy_numbers(
    clusters: ColumnClusters,
    grid: Grid,
    mechanisms: list[Mechanism],
    cluster_size: int,
    source: RandomSource,
    *,
    ranked: bool,
) -> ReleasedColumn:
    *about_missing, laplace = mechanisms
    missing = 0
    for mechanism in about_missing:
        true_count = np.array([np.count_nonzero(clusters.values == MISSING)])
        count_noise = Noise("discrete Laplace", _scale(clusters.column, 1, known(mechanism.epsilon)))
        missing = min(max(int(count_noise.added_to(true_count, source)[0]), 0), len(clusters.values))
    sizes = clusters.clustering.sizes
    # PRIVACY: one draw per cluster, on exact sums of all its rows.
    noise = Noise("discrete Laplace", representable_scale(known(laplace.scale) * cluster_size))
    means = noise.added_to(filled_sums(clusters, grid, ranked=ranked), source) / sizes
    if ranked:  # true means ascend, so noisy ones may be made to
        means = isotonic(means, sizes.astype(np.float64))
    return ReleasedColumn(grid.from_axis(means), missing)


def filled_sums(clusters: ColumnClusters, grid: Grid, *, ranked: bool) -> NDArray[np.int64]:
    """Exact sums over all rows of each cluster, missing values filled with a constant on the axis."""
    filler = grid.axis_width if ranked else grid.axis_width // 2
    sums, present = clusters.sums()
    return sums + (clusters.clustering.sizes - present) * filler


def _noisy_labels(
    clusters: ColumnClusters, nominal: Nominal, mechanism: Mechanism, cluster_size: int, source: RandomSource
) -> ReleasedColumn:
    values = np.zeros(clusters.count, np.int64)
    if mechanism.scale is None:
        return ReleasedColumn(values)
    distances = label_distances(nominal, with_missing=clusters.column.allows_null)
    scale = mechanism.scale * cluster_size * DISTANCE_UNITS
    for where, counts in clusters.label_counts():
        if clusters.column.allows_null:
            counts = np.column_stack([counts, clusters.clustering.sizes[where] - counts.sum(axis=1)])
        # PRIVACY: candidates are the labels of the plan, present in the cluster or not.
        values[where] = source.answer(Exponential(scale), -(counts @ distances))
    values[values == nominal.label_count] = MISSING
    return ReleasedColumn(values)
