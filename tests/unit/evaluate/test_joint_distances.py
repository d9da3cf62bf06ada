"""W1, total variation and correlations against hand-computed values and other people's code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr, wasserstein_distance

from rankveil.declare import Column, Plan, declare_alone
from rankveil.declare.domain import MISSING, Codes
from rankveil.evaluate.distances import (
    Cells,
    cells_of,
    pair_of,
    rank_correlations,
    total_variation,
    wasserstein,
)
from rankveil.measure.cutting import QUANTILE_BINS
from tests.support import category, integer, plan_text


def column(entry: str, *, folder: Path = Path()) -> Column:
    return declare_alone(Plan.parse(plan_text({"a": entry}), folder=folder)).columns[0]


def codes(*values: int) -> Codes:
    return np.array(values, dtype=np.int64)


WIDE = column(integer(1000, more="null = true"))
VALUES = st.lists(st.integers(-1, 1000), min_size=1, max_size=40).map(lambda values: codes(*values))


# W1


@given(VALUES, VALUES)
def test_w1_is_scipys_distance_in_standard_deviations(original: Codes, released: Codes) -> None:
    before, after = (values[values != MISSING] for values in (original, released))
    measured = wasserstein(WIDE, original, released)
    if len(before) == 0 or len(after) == 0 or np.std(before) == 0:
        assert measured is None
    else:
        assert measured == pytest.approx(wasserstein_distance(before, after) / np.std(before))


def test_w1_does_not_depend_on_the_unit_of_a_column() -> None:
    tens = column(integer(10_000, lower=-500, more="step = 10"))
    plain = column(integer(1000))
    assert wasserstein(tens, codes(1, 5, 9), codes(2, 2, 9)) == wasserstein(plain, codes(1, 5, 9), codes(2, 2, 9))


def test_w1_counts_days_of_dates_and_ranks_of_ordered_labels() -> None:
    dates = column('kind = "date"\nlower = 2020-01-01\nupper = 2020-12-31')
    ordered = column('kind = "ordinal"\ncategories = ["low", "middle", "high"]')
    for one in (dates, ordered):
        assert wasserstein(one, codes(0, 2), codes(1, 2)) == pytest.approx(0.5)


def test_labels_have_no_w1() -> None:
    assert wasserstein(column(category(["x", "y"])), codes(0, 1), codes(1, 1)) is None


# Cells


def test_small_domains_and_labels_get_a_cell_per_value_and_one_for_missing() -> None:
    twenty = cells_of(column(integer(19)), codes(0, 19, MISSING), codes(7, 7, 7))
    assert (twenty.original.tolist(), twenty.released.tolist(), twenty.count) == ([0, 19, 20], [7, 7, 7], 21)
    labels = cells_of(column(category(["x", "y"], more="null = true")), codes(0, 1, MISSING), codes(2, 1, 0))
    assert (labels.original.tolist(), labels.released.tolist(), labels.count) == ([0, 1, 3], [2, 1, 0], 4)


def test_wide_domains_get_twenty_bins_with_as_many_rows_of_the_original_in_each() -> None:
    original = np.random.default_rng(1).permutation(1000)
    cells = cells_of(WIDE, original, original)
    assert np.bincount(cells.original, minlength=cells.count).tolist() == [50] * QUANTILE_BINS + [0]


def test_a_spike_has_a_cell_of_its_own() -> None:
    original = np.concatenate([np.zeros(96, np.int64), codes(10, 20, 30, 40)])
    cells = cells_of(WIDE, original, codes(0, 1, 1000, MISSING))
    zero, one, far, missing = cells.released.tolist()
    assert one == far
    assert len({zero, one, missing}) == 3
    assert missing == cells.count - 1


def test_a_column_without_any_value_has_a_cell_for_missing_and_one_for_the_rest() -> None:
    cells = cells_of(WIDE, codes(MISSING, MISSING), codes(3, MISSING))
    assert total_variation(cells) == pytest.approx(0.5)


# Total variation


def test_total_variation_of_a_column_by_hand() -> None:
    cells = cells_of(column(category(["x", "y", "z"])), codes(0, 0, 1, 1), codes(0, 1, 1, 2, 2))
    # shares 1/2, 1/2, 0 against 1/5, 2/5, 2/5
    assert total_variation(cells) == pytest.approx((0.3 + 0.1 + 0.4) / 2)


def test_a_released_concept_is_none_of_the_labels(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\na,r\nb,r\n")
    tree = column('kind = "category"\ntaxonomy = "tree.csv"', folder=tmp_path)
    assert total_variation(cells_of(tree, codes(0, 1), codes(2, 2))) == 1
    assert total_variation(cells_of(tree, codes(0, 1), codes(2, 0))) == pytest.approx(0.5)


@given(VALUES, VALUES)
def test_total_variation_lies_between_zero_and_one(original: Codes, released: Codes) -> None:
    assert 0 <= total_variation(cells_of(WIDE, original, released)) <= 1 + 1e-12
    assert total_variation(cells_of(WIDE, original, original)) == 0


def test_total_variation_of_a_pair_sees_dependence_that_columns_do_not_show() -> None:
    same = Cells(codes(0, 1, 0, 1), codes(0, 1, 0, 1), 2)
    other = Cells(codes(0, 1, 0, 1), codes(1, 0, 1, 0), 2)
    assert total_variation(same) == total_variation(other) == 0
    assert total_variation(pair_of(same, other)) == 1
    independent = Cells(codes(0, 1, 0, 1), codes(0, 0, 1, 1), 2)
    assert total_variation(pair_of(same, independent)) == pytest.approx(0.5)


@given(st.data())
def test_a_pair_is_at_least_as_far_apart_as_each_of_its_columns(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 20))
    column_codes = st.lists(st.integers(0, 3), min_size=rows, max_size=rows).map(lambda values: codes(*values))
    first, second = (Cells(data.draw(column_codes), data.draw(column_codes), 4) for _ in range(2))
    both = total_variation(pair_of(first, second))
    assert max(total_variation(first), total_variation(second)) - 1e-12 <= both <= 1 + 1e-12


def test_pairs_with_very_many_cells_are_counted_the_same() -> None:
    rng = np.random.default_rng(2)
    first, second = (Cells(rng.integers(0, 5, 100), rng.integers(0, 5, 80), 5) for _ in range(2))
    wide = [Cells(cells.original * 400, cells.released * 400, 2001) for cells in (first, second)]
    assert total_variation(pair_of(*wide)) == pytest.approx(total_variation(pair_of(first, second)))


# Correlations


def test_rank_correlations_are_spearmans_where_nothing_is_missing() -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 30, 200) for _ in range(3)]
    columns.append(columns[0] + rng.integers(0, 10, 200))
    assert rank_correlations(columns) == pytest.approx(spearmanr(np.column_stack(columns)).statistic)


def test_rank_correlations_use_the_rows_in_which_both_values_are_present() -> None:
    rng = np.random.default_rng(4)
    first = rng.integers(0, 50, 300)
    second = first + rng.integers(0, 50, 300)
    first[:60], second[40:90] = MISSING, MISSING
    measured = rank_correlations([first, second])
    both = (first != MISSING) & (second != MISSING)
    ranks = [np.array([np.mean(column[column != MISSING] < value) + np.mean(column[column != MISSING] == value) / 2
                       for value in column[both]]) for column in (first, second)]  # fmt: skip
    assert measured[0, 1] == measured[1, 0] == pytest.approx(np.corrcoef(ranks[0], ranks[1])[0, 1])


def test_a_column_that_does_not_vary_or_is_missing_is_correlated_with_nothing() -> None:
    measured = rank_correlations([codes(1, 2, 3), codes(5, 5, 5), codes(MISSING, MISSING, MISSING)])
    assert measured[0, 1:].tolist() == [0, 0]
    assert measured[0, 0] == pytest.approx(1)
