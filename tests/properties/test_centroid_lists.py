"""Methods `unlinked` and `multivariate`: what one record can change in a whole release, on every small table.

A release is made of independent draws around exact sums, counts and scores (perturb/centroids.py) and of public
sizes, so its privacy loss is that of the list of draws:
    sums and counts   Σ |change| / scale, attained where all draws lie beyond both values (T6)
    labels            Σ over clusters of the largest log-ratio of two exponential mechanisms (T22, T23)
Scales come from the mechanisms' own notes. Sums, counts and scores come from the release's own grouping.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from rankveil import Plan
from rankveil.declare import Records, Schema, declare_alone
from rankveil.declare.domain import MISSING, Grid, Nominal
from rankveil.measure.budget import equal_shares
from rankveil.microaggregate import by_distance, individual_ranking
from rankveil.microaggregate.unaligned import order_every_row, rank_every_row
from rankveil.perturb.centroids import filled_sums, mechanisms_for
from rankveil.perturb.records import DISTANCE_UNITS, label_distances
from tests.support import category, integer, plan_text

ROUNDING = 1e-9  # losses are added up in floating point; sums, counts and scores are exact
Rows = Sequence[Sequence[int]]


def schema_of(columns: dict[str, str]) -> Schema:
    return declare_alone(Plan.parse(plan_text(columns, k=1)))


def records(schema: Schema, rows: Rows) -> Records:
    columns = np.array(rows, dtype=np.int64).T
    return Records(schema, dict(zip(schema.names, columns, strict=True)), len(rows))


@dataclass(frozen=True)
class Line:
    """Independent draws of a release: integers with a Laplace scale, or log-probabilities of labels per cluster."""

    values: NDArray[np.float64]
    scale: float | None = None

    def loss(self, other: Line) -> float:
        if self.scale is not None:
            return float(np.abs(self.values - other.values).sum() / self.scale)
        return float((self.values - other.values).max(axis=1).sum())


def release_of(schema: Schema, rows: Rows, k: int, *, ranked: bool, epsilon: Fraction) -> list[Line]:
    """The lists a release draws around, for whole tables of codes."""
    group = rank_every_row if ranked else order_every_row
    clustered = group(records(schema, rows), k)
    shares = equal_shares(epsilon, schema.names)
    lines = []
    for clusters in clustered.columns:
        column = clusters.column
        assert clusters.count == len(rows) // k, "public"
        *about_missing, main = mechanisms_for(column, shares[column.name], k, clusters.count, ranked=ranked)
        assert main.scale is not None
        per_sum = float(main.scale * k)
        if isinstance(column.domain, Nominal):
            (counts,) = [counts for _, counts in clusters.label_counts()]
            if column.allows_null:
                counts = np.column_stack([counts, clusters.clustering.sizes - counts.sum(axis=1)])
            table = label_distances(column.domain, with_missing=column.allows_null)
            logs = -(counts @ table) / DISTANCE_UNITS / per_sum
            lines.append(Line(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))))
            continue
        lines.append(Line(filled_sums(clusters, column.domain, ranked=ranked).astype(float), per_sum))
        for mechanism in about_missing:
            assert mechanism.epsilon is not None
            lines.append(Line(np.array([float((clusters.values == MISSING).sum())]), float(1 / mechanism.epsilon)))
    return lines


def worst_loss(columns: dict[str, str], n: int, k: int, *, ranked: bool, epsilon: Fraction = Fraction(1)) -> float:
    """Over all tables of n rows and all replacements of one record."""
    schema = schema_of(columns)
    domains = [
        [
            *range(column.domain.width + 1 if isinstance(column.domain, Grid) else column.domain.label_count),
            *([MISSING] if column.allows_null else []),
        ]
        for column in schema.columns
    ]
    possible = list(itertools.product(*domains))
    # Ranked columns do not know the order of the rows, so tables up to order are enough.
    choose = itertools.combinations_with_replacement(possible, n) if ranked else itertools.product(possible, repeat=n)
    released = {table: release_of(schema, table, k, ranked=ranked, epsilon=epsilon) for table in choose}
    worst = 0.0
    for table, lines in released.items():
        for row, new in itertools.product(range(n), possible):
            neighbour = (*table[:row], new, *table[row + 1 :])
            if ranked:
                neighbour = tuple(sorted(neighbour, key=possible.index))
            others = released[neighbour]
            worst = max(worst, sum(one.loss(other) for one, other in zip(lines, others, strict=True)))
    return worst


# unlinked

RANKED = {
    "numbers": {"a": integer(4)},
    "numbers with missing": {"a": integer(3, more="null = true")},
    "logarithmic numbers with missing": {"a": integer(3, more='scale = "log"\nnull = true')},
    "labels": {"a": category(["x", "y", "z", "w"])},
    "labels with missing": {"a": category(["x", "y", "z"], more="null = true")},
    "truth values with missing": {"a": 'kind = "boolean"\nnull = true'},
}


@pytest.mark.parametrize(("n", "k"), [(4, 1), (5, 2), (6, 3), (4, 4)])
@pytest.mark.parametrize("name", RANKED)
def test_replacing_any_record_of_any_small_column_costs_at_most_epsilon(name: str, n: int, k: int) -> None:
    """Also where the replacement makes a value missing, or a missing one present."""
    loss = worst_loss(RANKED[name], n, k, ranked=True)
    assert loss <= 1 + ROUNDING
    if "numbers" in name:
        assert loss > 1 - ROUNDING, "and that is attained"


def test_replacing_any_record_of_two_columns_costs_at_most_epsilon_in_all() -> None:
    columns = {"a": integer(1, more="null = true"), "b": category(["x", "y"], more="null = true")}
    assert 0.7 < worst_loss(columns, 3, 1, ranked=True) <= 1 + ROUNDING


def log_ratio(y: int, one: int, other: int, scale: Fraction) -> Fraction:
    """log P(y | one) / P(y | other) under discrete Laplace noise."""
    return (abs(y - other) - abs(y - one)) / scale


def test_no_list_of_outputs_is_more_than_e_to_the_epsilon_times_as_likely_under_a_neighbour() -> None:
    """T6 in exact fractions, over outputs from far below to far above all sums."""
    schema, k, epsilon = schema_of({"a": integer(4)}), 2, Fraction(7, 3)
    (note,) = mechanisms_for(schema.columns[0], epsilon, k, 3, ranked=True)
    assert note.scale is not None
    worst = Fraction(0)
    for table in itertools.combinations_with_replacement(range(5), 6):
        for old, new in itertools.permutations(set(range(5)), 2):
            if old in table:
                rest = list(table)
                rest.remove(old)
                one, other = (
                    rank_every_row(records(schema, [[x] for x in rows]), k).columns[0].sums()[0].tolist()
                    for rows in (table, [*rest, new])
                )
                ratios = [
                    max(log_ratio(y, s, t, note.scale * k) for y in range(-2, 12))
                    for s, t in zip(one, other, strict=True)
                ]
                worst = max(worst, sum(ratios, Fraction(0)))
    assert worst == epsilon


def test_leaving_missing_values_out_of_the_clusters_would_show_how_many_there_are() -> None:
    """The broken twin of ranking every row: the number of clusters would change from table to table."""
    schema = schema_of({"a": integer(3, more="null = true")})
    some, more = ([[0], [1], [2], [MISSING]], [[0], [1], [MISSING], [MISSING]])
    assert [individual_ranking(records(schema, rows), 1).columns[0].count for rows in (some, more)] == [3, 2]
    assert [rank_every_row(records(schema, rows), 1).columns[0].count for rows in (some, more)] == [4, 4]


# multivariate

RECORDS = {
    "two numbers": {"a": integer(2), "b": integer(2)},
    "numbers and labels": {"a": integer(2), "b": category(["x", "y", "z"])},
    "all with missing": {"a": integer(1, more="null = true"), "b": category(["x", "y"], more="null = true")},
    "numbers with missing, truth values": {"a": integer(1, more="null = true"), "b": 'kind = "boolean"'},
}


@pytest.mark.parametrize(
    ("name", "n", "k"),
    [*((name, 3, 1) for name in RECORDS), ("numbers with missing, truth values", 4, 2), ("numbers and labels", 3, 3)],
)
def test_replacing_any_whole_record_of_any_small_table_costs_at_most_epsilon(name: str, n: int, k: int) -> None:
    loss = worst_loss(RECORDS[name], n, k, ranked=False)
    assert 0.4 < loss <= 1 + ROUNDING


def list_change(columns: dict[str, str], one: Rows, other: Rows, k: int) -> list[int]:
    """Per column: by how much the sums of all clusters change, in all."""
    schema = schema_of(columns)
    sums = [
        [clusters.sums()[0] for clusters in order_every_row(records(schema, rows), k).columns] for rows in (one, other)
    ]
    return [int(np.abs(a - b).sum()) for a, b in zip(*sums, strict=True)]


def alternating(m: int, width: int, clusters: int, k: int) -> tuple[Rows, Rows]:
    """The worst case of T36, tables with k records per cluster: one record goes from the smallest to the largest.

    Clusters start with records that alternate between two opposite faces, each a little farther out than the last.
    """
    first = [width - 4 * clusters if column % 2 == 0 else 0 for column in range(m)]
    corners = [
        [width - 4 * (clusters - place) if column % 2 == place % 2 else 0 for column in range(m)]
        for place in range(clusters + 1)
    ]
    assert corners[0] == first
    rows = [corner for corner in corners[:-1] for _ in range(k)]
    return rows, [corners[-1], *rows[1:]]


@pytest.mark.parametrize("m", [2, 4, 8])
def test_without_the_factor_m_the_predecessor_spends_m_times_what_it_claims(m: int) -> None:
    """Its scale (n/k)·(Δ/k)/ε per mean is J·D/ε per sum in every column, with ε = 1 for all columns together."""
    width, clusters, k = 10_000, 6, 3
    columns = {f"c{i}": integer(width) for i in range(m)}
    one, other = alternating(m, width, clusters, k)
    changes = list_change(columns, one, other, k)
    assert all(0.98 * clusters * width < change <= clusters * width for change in changes)
    printed = Fraction(sum(changes), clusters * width)
    assert 0.98 * m < printed <= m
    spent = Fraction(0)
    for column, change in zip(schema_of(columns).columns, changes, strict=True):
        (note,) = mechanisms_for(column, Fraction(1, m), k, clusters, ranked=False)
        assert note.scale is not None
        spent += change / (note.scale * k)
    assert Fraction(98, 100) < spent <= 1, "with the factor m the same neighbours cost ε, and nearly all of it"


def test_on_every_small_table_the_predecessors_scale_is_exceeded_and_the_stated_sensitivity_is_not() -> None:
    columns, width, n, k = RECORDS["two numbers"], 2, 4, 2
    schema = schema_of(columns)
    possible = list(itertools.product(range(width + 1), repeat=2))
    tables = list(itertools.product(possible, repeat=n))
    sums = np.array(
        [[clusters.sums()[0] for clusters in by_distance(records(schema, table), k).columns] for table in tables]
    ).reshape(*[len(possible)] * n, 2, n // k)
    most_per_column = most_in_all = 0
    for row in range(n):
        moved = np.moveaxis(sums, row, 0)
        for one, other in itertools.combinations(moved, 2):
            per_column = np.abs(one - other).sum(axis=-1)
            most_per_column = max(most_per_column, int(per_column.max()))
            most_in_all = max(most_in_all, int(per_column.sum(axis=-1).max()))
    stated = width * (n // k)
    assert most_per_column <= stated
    assert most_in_all > stated, "so one ε for all columns at the scale J·D/ε is not enough"
    assert most_in_all <= 2 * stated


def test_the_enumeration_catches_noise_a_tenth_too_small() -> None:
    assert worst_loss(RANKED["numbers"], 4, 2, ranked=True, epsilon=Fraction(11, 10)) > 1.05
    assert math.isclose(worst_loss(RANKED["numbers"], 4, 2, ranked=True, epsilon=Fraction(9, 10)), 0.9)
