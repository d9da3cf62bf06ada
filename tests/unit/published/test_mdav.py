"""MDAV against a slow implementation written from its description (Domingo-Ferrer and Torra 2005)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.declare import Records
from rankveil.declare.domain import MISSING, Grid, Nominal
from rankveil.errors import TableError
from rankveil.published.mdav import mdav
from tests.support import category, grouped_rows, integer, records_of

Point = list[Any]


def slow_mdav(records: Records, k: int) -> list[list[int]]:
    """The method as its authors describe it, one distance at a time.

    While at least 3k records are left: take the record r farthest from the average of those left, and s, the one
    farthest from r; r and its k - 1 nearest form a cluster, then s and its k - 1 nearest of the rest. With 2k to
    3k - 1 left: one more cluster around the record farthest from the average. What is left is the last cluster.
    """
    columns = records.schema.protected
    codes = {column.name: records.codes[column.name].tolist() for column in columns}
    deviations = {}
    for column in columns:
        present = np.array([code for code in codes[column.name] if code != MISSING])
        deviations[column.name] = (float(present.std()) if len(present) else 1.0) or 1.0

    def entry(column: Any, row: int) -> Any:
        code = codes[column.name][row]
        if code == MISSING:
            return None
        return code / deviations[column.name] if isinstance(column.domain, Grid) else code

    def record(row: int) -> Point:
        return [entry(column, row) for column in columns]

    def average(rows: Sequence[int]) -> Point:
        point: Point = []
        for column in columns:
            present = [codes[column.name][row] for row in rows if codes[column.name][row] != MISSING]
            if not present:
                point.append(None)
            elif isinstance(column.domain, Grid):
                point.append(sum(present) / len(present) / deviations[column.name])
            else:
                point.append(column.domain.taxonomy.centroid(np.array(present)))
        return point

    def distance(row: int, point: Point) -> float:
        total = 0.0
        for column, here, there in zip(columns, record(row), point, strict=True):
            if here is None or there is None:
                total += 0.0 if here is there else 1.0
            elif isinstance(column.domain, Grid):
                total += (here - there) * (here - there)
            else:
                taxonomy = column.domain.taxonomy
                share = float(taxonomy.distances[there, here]) / (taxonomy.width or 1.0)
                total += share * share
        return total

    def farthest(rows: Sequence[int], point: Point) -> int:
        return max(rows, key=lambda row: (distance(row, point), -row))

    def nearest(rows: Sequence[int], point: Point) -> list[int]:
        return sorted(sorted(rows, key=lambda row: (distance(row, point), row))[:k])

    left = list(range(records.row_count))
    clusters = []

    def form(point: Point) -> None:
        clusters.append(nearest(left, point))
        left[:] = [row for row in left if row not in clusters[-1]]

    while len(left) >= 3 * k:
        r = farthest(left, average(left))
        s = farthest(left, record(r))
        form(record(r))
        form(record(s if s in left else farthest(left, record(s))))
    if len(left) >= 2 * k:
        form(record(farthest(left, average(left))))
    clusters.append(left)
    return clusters


def fast_mdav(records: Records, k: int) -> list[list[int]]:
    clustered = mdav(records, k)
    clustering = clustered.columns[0].clustering
    assert all(column.clustering is clustering for column in clustered.columns)
    return grouped_rows(clustering.rows, clustering.starts)


NUMBERS = {"a": integer(50), "b": integer(9)}
MIXED = {
    "a": integer(50, more="null = true"),
    "b": category(["u", "v", "w"], more="null = true"),
    "c": 'kind = "boolean"',
}

number_rows = st.tuples(st.integers(0, 50), st.integers(0, 9))
mixed_rows = st.tuples(
    st.one_of(st.none(), st.integers(0, 50)), st.one_of(st.none(), st.sampled_from("uvw")), st.booleans()
)


@settings(max_examples=80)
@given(st.lists(number_rows, min_size=2, max_size=30), st.data())
def test_mdav_on_numbers_forms_the_clusters_of_its_description(
    rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(rows)))
    a, b = zip(*rows, strict=True)
    records = records_of({"a": a, "b": b}, NUMBERS)
    assert fast_mdav(records, k) == slow_mdav(records, k)


@settings(max_examples=80)
@given(st.lists(mixed_rows, min_size=2, max_size=24), st.data())
def test_mdav_on_mixed_tables_with_missing_values_forms_the_clusters_of_its_description(
    rows: list[tuple[int | None, str | None, bool]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(rows)))
    a, b, c = zip(*rows, strict=True)
    records = records_of({"a": a, "b": b, "c": c}, MIXED)
    assert fast_mdav(records, k) == slow_mdav(records, k)


@settings(max_examples=60)
@given(st.lists(mixed_rows, min_size=2, max_size=60), st.data())
def test_mdav_clusters_are_a_partition_with_k_to_two_k_minus_one_records_each(
    rows: list[tuple[int | None, str | None, bool]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(rows)))
    a, b, c = zip(*rows, strict=True)
    clusters = fast_mdav(records_of({"a": a, "b": b, "c": c}, MIXED), k)
    assert sorted(row for cluster in clusters for row in cluster) == list(range(len(rows)))
    assert all(k <= len(cluster) <= max(k, 2 * k - 1) for cluster in clusters)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 12])
def test_mdav_breaks_ties_by_row_number(k: int) -> None:
    records = records_of({"a": [7] * 12, "b": [3] * 12}, NUMBERS)
    clusters = fast_mdav(records, k)
    assert [row for cluster in clusters for row in cluster] == list(range(12))


def test_mdav_puts_well_separated_groups_into_clusters_of_their_own() -> None:
    a = [0, 50, 25, 1, 49, 26, 2, 48, 24]
    clusters = fast_mdav(records_of({"a": a, "b": [0] * 9}, NUMBERS), 3)
    assert sorted(clusters) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_mdav_does_not_depend_on_the_units_of_a_column() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.integers(0, 50, 40), generator.integers(0, 9, 40)
    small = fast_mdav(records_of({"a": a.tolist(), "b": b.tolist()}, NUMBERS), 4)
    large = fast_mdav(
        records_of({"a": (a * 1024).tolist(), "b": b.tolist()}, {"a": integer(51200), "b": integer(9)}), 4
    )
    assert small == large


def test_mdav_refuses_k_above_the_number_of_rows() -> None:
    with pytest.raises(TableError, match="k = 3 is more than the 2 rows"):
        mdav(records_of({"a": [1, 2], "b": [1, 2]}, NUMBERS), 3)


def test_mdav_of_the_real_size_takes_seconds() -> None:
    generator = np.random.default_rng(1)
    n = 30_162
    records = records_of(
        {"a": generator.integers(0, 51, n).tolist(), "b": generator.integers(0, 10, n).tolist()}, NUMBERS
    )
    start = time.perf_counter()
    mdav(records, 100)
    assert time.perf_counter() - start < 10


def test_labels_with_a_taxonomy_are_averaged_to_a_concept_between_them() -> None:
    records = records_of({"a": [1, 1], "b": ["u", "v"], "c": [True, True]}, MIXED)
    domain = records.schema.columns[1].domain
    assert isinstance(domain, Nominal)
    (_, labels, _) = mdav(records, 2).columns
    assert labels.semantic_centroids().tolist() == [domain.taxonomy.centroid(np.array([0, 1]))]
