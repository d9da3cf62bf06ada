"""The paper's measures against hand-computed numbers and reference implementations."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from rankveil import Plan, evaluate
from rankveil.declare import Column, declare_alone
from rankveil.declare.domain import MISSING
from rankveil.errors import TableError
from rankveil.evaluate import jensen_shannon, relative_errors, variance_change
from rankveil.evaluate.measures import divergence, histogram
from tests.support import category, integer, plan_text


def column(entry: str, folder: Path = Path()) -> Column:
    return declare_alone(Plan.parse(plan_text({"a": entry}), folder=folder)).columns[0]


def codes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


# Relative error


def test_the_relative_error_is_taken_of_the_value_and_never_of_less_than_a_hundredth_of_the_domain() -> None:
    errors = relative_errors(column(integer(1000)), codes(100, 5, 0, 10), codes(150, 6, 20, 10))
    assert errors.tolist() == [50 / 100, 1 / 10, 20 / 10, 0]


def test_the_relative_error_counts_in_the_columns_own_units() -> None:
    shifted = column(integer(-100, lower=-300))
    assert relative_errors(shifted, codes(0), codes(50)).tolist() == [50 / 300]
    fine = column('kind = "number"\nlower = 0\nupper = 10\nstep = 0.5')
    assert relative_errors(fine, codes(4), codes(5)).tolist() == [0.5 / 2]


def test_dates_and_ranks_are_measured_from_their_low_end() -> None:
    dates = column('kind = "date"\nlower = 2020-01-01\nupper = 2020-04-10')
    assert relative_errors(dates, codes(50, 0), codes(60, 3)).tolist() == [10 / 50, 3 / 1]
    ranks = column('kind = "ordinal"\ncategories = ["a", "b", "c"]')
    assert relative_errors(ranks, codes(2, 0), codes(1, 1)).tolist() == [0.5, 1 / 0.02]


def test_the_error_of_a_label_is_its_semantic_distance(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\ng,r\na,g\nb,g\nc,r\n")
    labels = column('kind = "category"\ntaxonomy = "tree.csv"', tmp_path)
    # Ancestors with the node itself: a {a,g,r}, b {b,g,r}, c {c,r}, g {g,r}.
    a, b, c, g = (labels.domain.taxonomy.names.index(name) for name in "abcg")  # type: ignore[union-attr]
    errors = relative_errors(labels, codes(a, a, a, a), codes(a, b, c, g))
    assert errors.tolist() == pytest.approx([0, math.log2(1 + 2 / 4), math.log2(1 + 3 / 4), math.log2(1 + 1 / 3)])


@pytest.mark.parametrize("entry", [integer(9, more="null = true"), category(["x", "y"], more="null = true")])
def test_a_value_missing_in_one_table_only_is_an_error_of_one(entry: str) -> None:
    errors = relative_errors(column(entry), codes(MISSING, 1, MISSING), codes(1, MISSING, MISSING))
    assert errors.tolist() == [1, 1, 0]


# Variance


def test_the_variance_change_is_relative_to_the_original() -> None:
    numbers = column(integer(100))
    assert variance_change(numbers, codes(0, 2), codes(0, 4)) == 3  # 1 -> 4
    assert variance_change(numbers, codes(0, 4), codes(1, 3)) == 0.75  # 4 -> 1
    assert variance_change(numbers, codes(0, 4), codes(2, 2)) == 1


def test_the_variance_change_does_not_depend_on_units() -> None:
    x, y = codes(1, 5, 7), codes(2, 2, 9)
    wide = column('kind = "number"\nlower = -5\nupper = 5\nstep = 0.5')
    assert variance_change(wide, x, y) == pytest.approx(variance_change(column(integer(100)), x, y))


def test_labels_and_constant_columns_have_no_variance_change() -> None:
    assert variance_change(column(category(["x", "y"])), codes(0, 1), codes(1, 1)) is None
    assert variance_change(column(integer(9)), codes(5, 5), codes(1, 9)) is None


def test_missing_values_are_left_out_of_the_variance_and_a_column_without_values_has_none() -> None:
    numbers = column(integer(9, more="null = true"))
    assert variance_change(numbers, codes(0, 2, MISSING), codes(0, 4, MISSING)) == 3
    assert variance_change(numbers, codes(MISSING, MISSING), codes(1, 2)) is None
    assert variance_change(numbers, codes(0, 2), codes(MISSING, MISSING)) == 1


# Jensen-Shannon divergence

histograms = st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any)


@given(histograms, histograms)
def test_the_divergence_is_that_of_scipy_squared(first: list[int], second: list[int]) -> None:
    p, q = np.array(first) / sum(first), np.array(second) / sum(second)
    assert divergence(p, q) == pytest.approx(jensenshannon(p, q, base=2) ** 2, abs=1e-7)
    assert divergence(p, q) == pytest.approx(divergence(q, p), abs=1e-12)
    assert -1e-12 <= divergence(p, q) <= 1 + 1e-12


def test_the_divergence_is_zero_for_equal_and_one_for_disjoint_histograms() -> None:
    assert divergence(np.array([0.5, 0.5, 0]), np.array([0.5, 0.5, 0])) == 0
    assert divergence(np.array([1.0, 0]), np.array([0, 1.0])) == 1


def test_small_domains_have_a_bin_per_value_and_wide_ones_a_hundred() -> None:
    assert len(histogram(column(integer(199)), codes(0))) == 200 + 1
    assert len(histogram(column(integer(200)), codes(0))) == 100 + 1
    assert len(histogram(column(category(["x", "y"])), codes(0))) == 3 + 1  # two labels, the root, missing


def test_bins_of_a_wide_domain_are_a_hundredth_of_it_each_and_the_upper_end_belongs_to_the_last() -> None:
    wide = column(integer(1000))
    places = [int(np.argmax(histogram(wide, codes(value)))) for value in (0, 9, 10, 999, 1000)]
    assert places == [0, 0, 1, 99, 99]


def test_the_divergence_of_a_column_counts_missing_as_a_bin() -> None:
    numbers = column(integer(9, more="null = true"))
    assert jensen_shannon(numbers, codes(1, 1), codes(MISSING, MISSING)) == 1
    assert jensen_shannon(numbers, codes(1, MISSING), codes(MISSING, 1)) == 0


@given(st.lists(st.integers(-1, 10**12), min_size=1, max_size=30))
def test_every_histogram_adds_up_to_one(values: list[int]) -> None:
    wide = column(integer(10**12, more="null = true"))
    assert histogram(wide, codes(*values)).sum() == pytest.approx(1)


# Whole tables

PLAN = Plan.parse(plan_text({"a": integer(1000), "b": category(["x", "y"]), "c": 'kind = "drop"'}))
ORIGINAL = pa.table({"a": [100, 200], "b": ["x", "y"], "c": ["s", "t"]})


def test_an_evaluation_averages_over_the_protected_columns() -> None:
    measured = evaluate(ORIGINAL, pa.table({"a": [150, 200], "b": ["x", "x"]}), PLAN)
    by_name = {result.name: result for result in measured.columns}
    distance = math.log2(1 + 2 / 3)
    assert by_name["a"].relative_error == pytest.approx(0.25)
    assert by_name["b"].relative_error == pytest.approx(distance / 2)
    assert measured.relative_error == pytest.approx((0.25 + distance / 2) / 2)
    assert measured.variance_change == by_name["a"].variance_change == pytest.approx(0.75)
    assert measured.jsd == pytest.approx((by_name["a"].jsd + by_name["b"].jsd) / 2)
    assert measured.rows == 2


def test_a_perfect_copy_has_no_loss() -> None:
    measured = evaluate(ORIGINAL, ORIGINAL, PLAN)
    assert (measured.relative_error, measured.variance_change, measured.jsd) == (0, 0, 0)


def test_an_evaluation_says_first_that_it_is_internal() -> None:
    text = evaluate(ORIGINAL, ORIGINAL, PLAN).to_json()
    assert json.loads(text)["note"].startswith("INTERNAL")
    assert text.splitlines()[1].strip().startswith('"note": "INTERNAL')


def test_rows_that_do_not_belong_together_have_no_relative_error() -> None:
    measured = evaluate(ORIGINAL, pa.table({"a": [200, 100, 100], "b": ["x", "y", "y"]}), PLAN, row_aligned=False)
    assert measured.relative_error is None
    assert measured.jsd > 0


def test_tables_of_different_length_are_refused_as_rows() -> None:
    with pytest.raises(TableError, match="3 rows and the table 2"):
        evaluate(ORIGINAL, pa.table({"a": [1, 2, 3], "b": ["x"] * 3}), PLAN)


def test_a_release_without_a_column_is_refused_by_name() -> None:
    with pytest.raises(TableError, match="'b' among them"):
        evaluate(ORIGINAL, pa.table({"a": [1, 2]}), PLAN)


def test_inner_concepts_are_read_in_a_release_and_not_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\na,r\nb,r\n")
    plan = Plan.parse(plan_text({"a": 'kind = "category"\ntaxonomy = "tree.csv"'}), folder=tmp_path)
    original, released = pa.table({"a": ["a", "b"]}), pa.table({"a": ["r", "r"]})
    assert evaluate(original, released, plan).jsd == 1
    with pytest.raises(TableError):
        evaluate(released, original, plan)
