"""Noise on cluster values: what is stated, what is refused, what is drawn where nothing is left to chance."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil import Plan, release
from rankveil.declare import declare_alone
from rankveil.declare.domain import MISSING
from rankveil.errors import PlanError, TableError
from rankveil.measure.budget import equal_shares
from rankveil.methods import METHODS
from rankveil.microaggregate.unaligned import order_every_row, rank_every_row
from rankveil.noise import SeededSource
from rankveil.perturb.centroids import (
    mechanisms_for,
    planned_ranked,
    planned_records,
    protect_ranked,
    protect_records,
)
from rankveil.preview import preview
from tests.support import category, integer, plan_text, records_of

METHOD_NAMES = ("unlinked", "multivariate")
NULL = "null = true"
CERTAIN = Fraction(10**5)  # an ε at which sums and choices are exact, all but certainly
ENTRIES = [
    integer(9),
    integer(9, more=NULL),
    integer(1000, more=f'scale = "log"\n{NULL}'),
    category(["x", "y", "z"]),
    category(["x", "y"], more=NULL),
    category(["x"], more=NULL),
    'kind = "boolean"',
    'kind = "ordinal"\ncategories = ["s", "m", "l"]\nnull = true',
    'kind = "date"\nlower = 2020-01-01\nupper = 2020-12-31',
]


# The budget


@settings(max_examples=40)
@given(
    st.decimals("0.001", "1000", places=7),
    st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=6),
    st.integers(1, 50),
    st.integers(1, 1000),
    st.booleans(),
)
def test_the_prices_of_all_mechanisms_add_up_to_epsilon_exactly(
    epsilon: Decimal, entries: list[str], k: int, clusters: int, ranked: bool
) -> None:
    schema = declare_alone(Plan.parse(plan_text({f"c{i}": entry for i, entry in enumerate(entries)})))
    shares = equal_shares(epsilon, schema.names)
    notes = [
        note
        for column in schema.columns
        for note in mechanisms_for(column, shares[column.name], k, clusters, ranked=ranked)
    ]
    assert sum(note.epsilon for note in notes if note.epsilon is not None) == Fraction(epsilon)
    assert all(note.epsilon for note in notes)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_the_shares_in_a_certificate_add_up_to_epsilon_exactly_and_tell_the_public_number_of_clusters(
    method: str,
) -> None:
    columns = {"a": integer(9, more=NULL), "b": category(["x", "y"], more=NULL), "c": 'kind = "boolean"'}
    table = pa.table({"a": [1, None, 3, 4, 5], "b": ["x", None, "y", "y", "x"], "c": [True, False] * 2 + [True]})
    plan = Plan.parse(plan_text(columns, method=method, epsilon="0.1", k=2))
    certificate = release(table, plan, source=SeededSource(1)).certificate
    assert certificate.differentially_private
    assert not certificate.row_aligned
    assert sum(Fraction(share.epsilon or 0) for share in certificate.shares) == Fraction(1, 10)
    assert [share.clusters for share in certificate.shares] == [None, 2, 2, 2]
    assert certificate.shares[0].epsilon == str(Fraction(1, 240)), "an eighth of a third"


def test_a_column_with_a_single_possible_value_costs_nothing() -> None:
    (column,) = declare_alone(Plan.parse(plan_text({"a": category(["only"])}))).columns
    for ranked in (True, False):
        (note,) = mechanisms_for(column, Fraction(1), 2, 3, ranked=ranked)
        assert (note.name, note.epsilon, note.scale) == ("constant", 0, None)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_a_column_with_a_single_possible_value_keeps_it(method: str) -> None:
    table = pa.table({"a": ["only"] * 4, "b": [0, 1, 0, 1]})
    plan = Plan.parse(plan_text({"a": category(["only"]), "b": integer(1)}, method=method, k=2))
    assert release(table, plan, source=SeededSource(1)).table["a"].to_pylist() == ["only"] * 4


# Scales


def test_the_scale_of_a_ranked_mean_is_width_over_k_epsilon_whatever_the_number_of_clusters() -> None:
    (column,) = declare_alone(
        Plan.parse(plan_text({"a": 'kind = "number"\nlower = 0\nupper = 10\nstep = 0.5'}))
    ).columns
    for clusters in (1, 7, 1000):
        (note,) = mechanisms_for(column, Fraction(1, 4), 10, clusters, ranked=True)
        assert (note.scale, note.scale_in_units) == (8, 4.0)


def test_the_scale_of_a_mean_of_records_grows_with_the_number_of_clusters() -> None:
    (column,) = declare_alone(Plan.parse(plan_text({"a": integer(100)}))).columns
    scales = [mechanisms_for(column, Fraction(1, 2), 10, clusters, ranked=False)[0].scale for clusters in (1, 2, 30)]
    assert scales == [20, 40, 600]


def test_labels_are_calibrated_to_the_way_through_all_of_them_and_records_to_every_cluster() -> None:
    (column,) = declare_alone(Plan.parse(plan_text({"a": category(["w", "x", "y", "z"])}))).columns
    one, two, many = (mechanisms_for(column, Fraction(1), 5, j, ranked=True)[0].scale for j in (1, 2, 99))
    assert one and two and many
    assert (two, many) == (2 * one, 3 * one)
    assert mechanisms_for(column, Fraction(1), 5, 99, ranked=False)[0].scale == 99 * one


def test_missing_lengthens_the_way_through_the_labels_by_one_step() -> None:
    with_null, without = (
        mechanisms_for(declare_alone(Plan.parse(plan_text({"a": entry}))).columns[0], Fraction(1), 1, 99, ranked=True)
        for entry in (category(["x", "y"], more=NULL), category(["x", "y"]))
    )
    assert with_null[0].scale and without[0].scale
    assert with_null[0].scale == 2 * without[0].scale


@pytest.mark.parametrize(
    ("entry", "epsilon"), [(integer(2**40), "0.01"), (integer(1), "1e9"), (integer(9, more=NULL), "1e8")]
)
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_noise_that_cannot_be_drawn_exactly_is_refused_as_a_mistake_of_the_plan(
    method: str, entry: str, epsilon: str
) -> None:
    plan = Plan.parse(plan_text({"a": entry}, method=method, epsilon=epsilon, k=2))
    with pytest.raises(PlanError, match="'a': at this ε"):
        release(pa.table({"a": [0, 1]}), plan, accept_large_epsilon=True)


# Dry runs


def planned_plan(method: str, more: str) -> Plan:
    columns = {"a": integer(100, more=NULL), "b": category(["x", "y", "z"])}
    return Plan.parse(plan_text(columns, method=method, k=10).replace("k = 10", f"k = 10\n{more}"))


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_a_dry_run_that_knows_the_number_of_rows_states_what_a_release_states(method: str) -> None:
    plan = planned_plan(method, "expected_rows = 40")
    table = pa.table({"a": list(range(40)), "b": ["x", "y"] * 20})
    made = release(table, plan, source=SeededSource(1)).certificate.shares
    planned = METHODS[method].planned(plan)
    assert [(note.name, str(note.scale), note.clusters, note.sensitivity) for note in planned] == [
        (share.mechanism, str(share.scale and Fraction(share.scale)), share.clusters, share.sensitivity)
        for share in made
    ]


def test_a_dry_run_of_ranked_columns_without_a_number_of_rows_states_the_most_noise_there_can_be() -> None:
    open_ended, many_rows = planned_plan("unlinked", ""), planned_plan("unlinked", "expected_rows = 1000000")
    assert [note.scale for note in planned_ranked(open_ended)] == [note.scale for note in planned_ranked(many_rows)]
    assert {note.clusters for note in planned_ranked(open_ended)} == {None}


def test_a_dry_run_of_records_without_a_number_of_rows_says_that_it_is_needed() -> None:
    plan = planned_plan("multivariate", "")
    assert [note.scale for note in planned_records(plan)] == [None] * 3
    assert [line.half_within for line in preview(plan).lines][1:] == [
        "grows with the number of clusters: set expected_rows"
    ] * 2


# Refusals


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_public_columns_are_refused_because_shuffled_rows_cannot_keep_them(method: str) -> None:
    columns = {"a": integer(9), "b": integer(9, more='role = "public"')}
    plan = Plan.parse(plan_text(columns, method=method, k=2))
    with pytest.raises(PlanError, match=r"'b' as public.*shuffles the rows"):
        release(pa.table({"a": [1, 2], "b": [1, 2]}), plan)
    with pytest.raises(PlanError, match="'b' as public"):
        preview(plan)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_clusters_larger_than_the_table_are_refused(method: str) -> None:
    with pytest.raises(TableError, match="k = 3"):
        release(pa.table({"a": [1, 2]}), Plan.parse(plan_text({"a": integer(9)}, method=method, k=3)))


# What comes out where the noise is all but zero


def test_ranked_clusters_hold_the_means_of_consecutive_values_and_missing_values_fill_the_top() -> None:
    records = records_of({"a": [7, None, 1, 3, 2, None, 5]}, {"a": integer(10, more=NULL)})
    released = protect_ranked(rank_every_row(records, 2), {"a": CERTAIN}, SeededSource(1))
    # 1 2 | 3 5 | 7 and two missing values, which count as 10
    assert released.sizes.tolist() == [2, 2, 3]
    assert released.columns["a"].values.tolist()[1:] == [4, 9]
    assert released.columns["a"].missing == 2


def test_labels_are_ranked_along_the_taxonomy_and_missing_ones_come_last(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\ng,r\nh,r\ni,r\na,g\nc,h\ne,i\nb,g\nd,h\n")
    entry = f'kind = "category"\ntaxonomy = "tree.csv"\n{NULL}'
    records = records_of({"x": ["d", None, "b", "c", "a", "b", "e", None]}, {"x": entry}, folder=tmp_path)
    taxonomy = records.schema.columns[0].domain.taxonomy  # type: ignore[union-attr]
    (clusters,) = rank_every_row(records, 1).columns
    named = [None if code == MISSING else taxonomy.labels[code] for code in clusters.values]
    assert named == ["a", "b", "b", "c", "d", "e", None, None]
    released = protect_ranked(rank_every_row(records, 1), {"x": CERTAIN}, SeededSource(1))
    assert released.columns["x"].values.tolist() == clusters.values.tolist()
    assert released.columns["x"].missing == 0, "they are among the labels"


def test_clusters_of_records_keep_columns_together_and_fill_missing_numbers_with_the_middle() -> None:
    columns = {"a": integer(10, more=NULL), "b": category(["x", "y"], more=NULL)}
    values = {"a": [0, 9, None, 2], "b": ["x", "y", None, "x"]}
    clustered = order_every_row(records_of(values, columns), 2)
    released = protect_records(clustered, dict.fromkeys(columns, CERTAIN), SeededSource(1))
    assert clustered.columns[0].values.tolist() == [0, 2, 9, MISSING]
    assert released.columns["a"].values.tolist() == [1, 7]
    assert released.columns["a"].missing == 1
    assert released.columns["b"].values.tolist()[0] == 0


def test_what_is_released_carries_no_rows() -> None:
    records = records_of({"a": [3, 1, 2, 0]}, {"a": integer(3)})
    released = protect_ranked(rank_every_row(records, 2), {"a": CERTAIN}, SeededSource(1))
    assert set(vars(released)) == {"schema", "row_count", "sizes", "columns", "notes"}
    assert set(vars(released.columns["a"])) == {"values", "missing"}


def test_ranked_means_ascend_however_large_the_noise() -> None:
    records = records_of({"a": list(range(100))}, {"a": integer(99)})
    values = protect_ranked(rank_every_row(records, 5), {"a": Fraction(1)}, SeededSource(5)).columns["a"].values
    assert (np.diff(values) >= 0).all()
    assert 0 <= values.min() <= values.max() <= 99


def test_the_noisy_number_of_missing_values_stays_between_none_and_all() -> None:
    records = records_of({"a": [1, None, 2]}, {"a": integer(3, more=NULL)})
    numbers = {
        protect_ranked(rank_every_row(records, 1), {"a": Fraction(1, 10)}, SeededSource(seed)).columns["a"].missing
        for seed in range(40)
    }
    assert {0, 3} <= numbers <= {0, 1, 2, 3}
