"""What a report adds to an evaluation: chance, distributions, groups of people, scores."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.declare import Plan, Records, declare_alone
from rankveil.declare.domain import MISSING
from rankveil.evaluate import measure_all
from rankveil.evaluate.distances import Cells, expected_by_chance, total_variation
from rankveil.evaluate.distributions import distribution
from rankveil.evaluate.learning import Learning
from rankveil.evaluate.measuring import all_cells, measure_details
from rankveil.evaluate.results import Distribution, Evaluation, Queries, Subgroup
from rankveil.evaluate.scores import score_text, with_scores, word_for
from rankveil.evaluate.subgroups import subgroups
from rankveil.methods import METHODS
from tests.support import category, integer, plan_text, records_of

# Chance


@pytest.mark.parametrize(("rows", "released"), [(400, 400), (2000, 500)])
def test_chance_is_the_mean_distance_of_two_samples(rows: int, released: int) -> None:
    rng = np.random.default_rng(1)
    shares = np.array([0.4, 0.3, 0.2, 0.05, 0.03, 0.02])
    measured = []
    for _ in range(400):
        first, second = (rng.choice(6, size, p=shares) for size in (rows, released))
        measured.append(total_variation(Cells(first, second, 6)))
    exact = np.repeat(np.arange(6), (shares * rows).round().astype(int))
    expected = expected_by_chance(Cells(exact, np.zeros(released, np.int64), 6))
    # 400 runs: a standard error of about 1 %; a formula without one of its factors is off by 20 % or more.
    assert np.mean(measured) == pytest.approx(expected, rel=0.06)


def test_chance_is_never_more_than_all_rows_and_none_for_a_single_cell() -> None:
    assert expected_by_chance(Cells(np.arange(10), np.arange(10), 10)) <= 1
    assert expected_by_chance(Cells(np.zeros(10, np.int64), np.zeros(10, np.int64), 1)) == 0


# Distributions

WIDE = {"a": integer(5000, more="null = true")}


def shown(entry: str, before: list[int | None], after: list[int | None]) -> Distribution:
    original, released = (records_of({"a": values}, {"a": entry}) for values in (before, after))
    return distribution(original.schema.columns[0], original.codes["a"], released.codes["a"])


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 5000)), min_size=2, max_size=60),
    st.lists(st.one_of(st.none(), st.integers(0, 5000)), min_size=2, max_size=60),
    st.sampled_from(["linear", "log"]),
)
def test_bars_spike_and_missing_add_up_to_all_rows(
    before: list[int | None], after: list[int | None], scale: str
) -> None:
    column = declare_alone(Plan.parse(plan_text({"a": f'{WIDE["a"]}\nscale = "{scale}"'}))).columns[0]
    codes = [
        np.array([MISSING if value is None else value for value in values], np.int64) for values in (before, after)
    ]
    made = distribution(column, *codes)
    spike = (0.0, 0.0) if made.spike is None else (made.spike.before, made.spike.after)
    assert sum(bar.before for bar in made.bars) + spike[0] + made.missing_before == pytest.approx(1)
    assert sum(bar.after for bar in made.bars) + spike[1] + made.missing_after == pytest.approx(1)
    ends = [(bar.start, bar.end) for bar in made.bars]
    assert all(first[1] == second[0] for first, second in pairwise(ends))
    assert len(made.bars) <= 42


def test_a_value_of_more_than_half_of_the_rows_is_told_apart() -> None:
    made = shown(integer(5000), [0] * 60 + list(range(100, 140)), [0] * 30 + list(range(100, 170)))
    assert made.spike is not None
    assert (made.spike.label, made.spike.before, made.spike.after) == ("0", 0.6, 0.3)
    assert shown(integer(5000), [0] * 40 + list(range(60)), [0, 1]).spike is None


def test_far_values_are_gathered_at_the_ends_and_the_distribution_says_so() -> None:
    made = shown(integer(5000), [*range(100, 1100), 5000], [200, 300])
    assert made.gathered
    assert made.bars[-1].end is not None and made.bars[-1].end < 1200
    assert not shown(integer(30), [1, 2, 3], [4, 30]).gathered


def test_every_bin_holds_as_many_values_of_the_grid_as_its_neighbour() -> None:
    made = shown(integer(5000), list(range(0, 4000, 3)), [1, 2])
    widths = {round((bar.end or 0) - (bar.start or 0), 9) for bar in made.bars}
    assert len(widths) == 1


def test_labels_without_an_order_are_sorted_by_the_original_and_the_smallest_share_a_bar() -> None:
    labels = [f"l{place:02}" for place in range(20)]
    values = [label for place, label in enumerate(labels) for _ in range(place + 1)]
    records = records_of({"a": values}, {"a": category(labels)})
    made = distribution(records.schema.columns[0], records.codes["a"], records.codes["a"])
    assert [bar.label for bar in made.bars[:2]] == ["l19", "l18"]
    assert made.bars[-1].label == "5 others"
    assert len(made.bars) == 16
    assert sum(bar.before for bar in made.bars) == pytest.approx(1)


# Groups


def people(seed: int, rows: int = 600) -> tuple[Records, np.random.Generator]:
    rng = np.random.default_rng(seed)
    values = {
        "town": rng.choice(["north", "south", "west"], rows, p=[0.5, 0.4, 0.1]).tolist(),
        "income": rng.integers(0, 1000, rows).tolist(),
        "kind": rng.choice(["x", "y"], rows).tolist(),
    }
    columns = {"town": category(["north", "south", "west"]), "income": integer(1000), "kind": category(["x", "y"])}
    return records_of(values, columns), rng


def groups_of(original: Records, released: Records) -> dict[tuple[str, str], Subgroup]:
    found = subgroups(original, released, all_cells(original, released))
    return {(group.column, group.group): group for group in found}


def test_the_group_whose_values_were_destroyed_is_served_worst() -> None:
    original, _ = people(1)
    codes = {name: column.copy() for name, column in original.codes.items()}
    codes["kind"][codes["town"] == 1] = 0
    released = Records(original.schema, codes, original.row_count)
    found = subgroups(original, released, all_cells(original, released))
    assert (found[0].column, found[0].group, found[0].worst_column) == ("town", "south", "kind")
    untouched = groups_of(original, released)["town", "north"]
    assert (untouched.error, untouched.beyond_chance) == (0, 0)


def test_a_groups_error_is_the_mean_over_the_other_columns_by_hand() -> None:
    columns = {"g": category(["p", "q"]), "a": category(["x", "y"]), "b": category(["x", "y"])}
    original = records_of({"g": ["p", "p", "q"], "a": ["x", "y", "x"], "b": ["x", "x", "x"]}, columns)
    released = records_of({"g": ["p", "p", "q"], "a": ["x", "x", "x"], "b": ["y", "y", "x"]}, columns)
    group = groups_of(original, released)["g", "p"]
    assert group.error == pytest.approx((0.5 + 1.0) / 2)
    assert (group.rows, group.released_rows, group.worst_column, group.worst_error) == (2, 2, "b", 1.0)


def test_a_group_that_vanished_comes_first_and_small_groups_come_last() -> None:
    original, _ = people(2, rows=2000)
    codes = {name: column.copy() for name, column in original.codes.items()}
    codes["town"][codes["town"] == 2] = 0
    released = Records(original.schema, codes, original.row_count)
    found = subgroups(original, released, all_cells(original, released))
    assert (found[0].group, found[0].released_rows, found[0].error, found[0].beyond_chance) == ("west", 0, None, 1)
    small, _ = people(3, rows=150)
    sizes = [group.rows for group in subgroups(small, small, all_cells(small, small))]
    assert [size >= 100 for size in sizes] == sorted((size >= 100 for size in sizes), reverse=True)


def test_fifths_hold_a_fifth_each_and_every_row_is_in_one_group_per_column() -> None:
    original, _ = people(4)
    found = groups_of(original, original)
    fifths = [group.rows for (column, _), group in found.items() if column == "income"]
    assert len(fifths) == 5
    assert all(100 < size < 140 for size in fifths)
    for name in original.schema.names:
        assert sum(group.rows for (column, _), group in found.items() if column == name) == original.row_count


def test_missing_values_are_a_group_and_released_values_outside_the_original_range_belong_to_the_ends() -> None:
    columns = {"a": integer(100, more="null = true"), "b": category(["x", "y"])}
    original = records_of({"a": [None, 10, 20, 30, 40, 50], "b": ["x"] * 6}, columns)
    released = records_of({"a": [None, None, 0, 20, 40, 100], "b": ["x"] * 6}, columns)
    found = groups_of(original, released)
    assert (found["a", "missing"].rows, found["a", "missing"].released_rows) == (1, 2)
    assert sum(group.released_rows for (column, _), group in found.items() if column == "a") == 6


# Scores


def evaluation(**more: object) -> Evaluation:
    return Evaluation(rows=1, columns=(), relative_error=None, variance_change=None, jsd=0.0, **more)  # type: ignore[arg-type]


def scored(**more: object) -> dict[str, float]:
    return {score.aspect: score.value for score in with_scores(evaluation(**more)).scores}


def test_scores_follow_their_printed_rules() -> None:
    queries = Queries(2, mean=0.02, median=0, ninth_decile=0, worst=0, mean_answer=0.2)
    groups = (
        Subgroup("a", "x", 100, 100, 0.3, 0.1, 0.2, "b", 0.4),
        Subgroup("a", "y", 200, 100, 0.1, 0.1, 0.0, "b", 0.4),
        Subgroup("a", "z", 99, 100, 0.9, 0.1, 0.8, "b", 0.9),  # too small to be judged
    )
    assert scored(
        total_variation=0.1,
        pair_total_variation=0.25,
        correlation_error=0.5,
        queries=queries,
        subgroups=groups,
        learning=Learning("t", "AUC", 0.7, 0.9, 10, 0.5),
        propensity_auc=0.75,
    ) == pytest.approx(
        {
            "Single columns": 0.9,
            "Pairs of columns": 0.75,
            "Correlations": 0.5,
            "Counts": 0.9,
            "Groups of people": 0.9,
            "Models": 0.5,
            "Whole rows": 0.5,
        }
    )


def test_scores_stay_between_zero_and_one_and_what_was_not_measured_has_none() -> None:
    assert scored() == {}
    assert scored(correlation_error=1.7, propensity_auc=0.4) == {"Correlations": 0, "Whole rows": 1}
    assert scored(learning=Learning("t", "R²", -3.0, 0.5, 10, 0.0)) == {"Models": 0}
    assert scored(learning=Learning("t", "R²", 0.2, -0.1, 10, 0.0)) == {}


def test_words_change_at_their_limits_and_no_score_looks_better_than_its_word() -> None:
    assert [word_for(value) for value in (1, 0.95, 0.9499, 0.85, 0.8499, 0)] == [
        "good", "good", "fair", "fair", "poor", "poor",
    ]  # fmt: skip
    assert (score_text(0.9499), score_text(0.95), score_text(0.29), score_text(1.0)) == ("0.94", "0.95", "0.29", "1.00")


def test_a_perfect_copy_scores_one_everywhere() -> None:
    original, _ = people(5)
    found = with_scores(measure_details(measure_all(original, original, row_aligned=True), original, original))
    assert {score.value for score in found.scores} == {1.0}
    assert [score.aspect for score in found.scores][:2] == ["Single columns", "Pairs of columns"]


def test_methods_that_keep_rows_in_place_say_so() -> None:
    aligned = {name for name, method in METHODS.items() if method.row_aligned}
    assert aligned == {"laplace", "aligned", *(name for name in METHODS if name.startswith("published:"))}
