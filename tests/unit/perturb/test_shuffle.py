"""Shuffled columns and shuffled rows: same values, nobody's rows."""

from __future__ import annotations

import numpy as np
import pytest

from rankveil import Plan
from rankveil.declare import declare_alone
from rankveil.declare.domain import MISSING
from rankveil.noise import SeededSource
from rankveil.perturb.centroids import ReleasedCentroids, ReleasedColumn
from rankveil.perturb.shuffle import shuffled_columns, shuffled_rows
from tests.support import integer, plan_text


def released(*columns: ReleasedColumn, sizes: list[int]) -> ReleasedCentroids:
    names = [f"c{i}" for i in range(len(columns))]
    schema = declare_alone(Plan.parse(plan_text({name: integer(1000, more="null = true") for name in names})))
    return ReleasedCentroids(schema, sum(sizes), np.array(sizes), dict(zip(names, columns, strict=True)), ())


def test_every_centroid_occurs_as_often_as_its_cluster_is_large() -> None:
    given = released(ReleasedColumn(np.array([5, 7, 9])), sizes=[2, 2, 3])
    for shuffle in (shuffled_columns, shuffled_rows):
        rows = shuffle(given, SeededSource(1))
        assert not rows.row_aligned
        assert sorted(rows.collected()["c0"].tolist()) == [5, 5, 7, 7, 9, 9, 9]


def test_missing_numbers_of_a_shuffled_column_take_the_place_of_its_largest_values() -> None:
    given = released(ReleasedColumn(np.array([5, 7, 9]), missing=4), sizes=[2, 2, 3])
    assert sorted(shuffled_columns(given, SeededSource(1)).collected()["c0"].tolist()) == [MISSING] * 4 + [5, 5, 7]


@pytest.mark.parametrize("missing", [0, 3, 7])
def test_as_many_numbers_are_missing_as_were_released_to_be(missing: int) -> None:
    given = released(ReleasedColumn(np.array([5, 7, 9]), missing=missing), sizes=[2, 2, 3])
    for shuffle in (shuffled_columns, shuffled_rows):
        assert (shuffle(given, SeededSource(2)).collected()["c0"] == MISSING).sum() == missing


def test_shuffled_rows_keep_the_values_of_a_cluster_side_by_side_and_shuffled_columns_do_not() -> None:
    values = np.arange(100)
    given = released(ReleasedColumn(values), ReleasedColumn(values + 500), sizes=[2] * 100)
    together = shuffled_rows(given, SeededSource(1)).collected()
    assert (together["c1"] - together["c0"] == 500).all()
    apart = shuffled_columns(given, SeededSource(1)).collected()
    # Of 200 rows about one keeps its partner; 20 or more would be a chance of less than 1e-15.
    assert (apart["c1"] - apart["c0"] == 500).sum() < 20


def test_rows_without_a_number_are_not_always_those_of_the_same_cluster() -> None:
    given = released(ReleasedColumn(np.arange(10), missing=10), sizes=[10] * 10)
    emptied = np.zeros(10)
    for seed in range(100):
        left = shuffled_rows(given, SeededSource(seed)).collected()["c0"]
        emptied += 10 - np.bincount(left[left != MISSING], minlength=10)
    assert emptied.sum() == 1000
    # 100 expected per cluster, deviation below 10.
    assert np.abs(emptied - 100).max() < 50
