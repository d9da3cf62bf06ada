"""Method `aligned`: rows stay with their records, groups come from released numbers, the budget adds up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil import Plan, release
from rankveil.aligned.channel import HammingBall, Window, least_bit_error, ratio_within, stay_chances
from rankveil.aligned.grouping import Grouping, link, staying
from rankveil.aligned.rows import (
    lower_bounds,
    marginals_for_rows,
    planned_for_aligned,
    rows_through_channel,
    share_for_marginals,
)
from rankveil.declare import declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.errors import PlanError
from rankveil.fit.marginal import Marginal, NominalMarginal, OrderedMarginal
from rankveil.fit.segments import Segments
from rankveil.measure.budget import Budget
from rankveil.measure.synthetic import counted
from rankveil.noise import Sampler, SeededSource
from rankveil.preview import preview
from tests.support import category, integer, plan_text

ROWS = 6_000
COLUMNS = {
    "age": integer(90, lower=17),
    "pay": 'kind = "number"\nlower = 0\nupper = 100000\nstep = 1\nscale = "log"\nnull = true',
    "job": category(["a", "b", "c", "d"], more="null = true"),
    "sex": 'kind = "boolean"',
}


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    age = rng.integers(17, 91, rows)
    pay = np.minimum(np.exp(rng.normal(8, 1, rows)), 100_000).round()
    job = rng.choice(["a", "b", "c", "d"], rows, p=[0.5, 0.3, 0.15, 0.05])
    return pa.table(
        {
            "age": age,
            "pay": pa.array(pay, mask=rng.random(rows) < 0.1),
            "job": pa.array(job, mask=rng.random(rows) < 0.2),
            "sex": rng.random(rows) < 0.4,
        }
    )


def plan_for(columns: Mapping[str, str] = COLUMNS, epsilon: object = 1) -> Plan:
    return Plan.parse(plan_text(columns, method="aligned", epsilon=epsilon))


def uniform_numbers(size: int, cells: int = 16, *, null: bool = False) -> OrderedMarginal:
    segments = Segments(np.array([0]), np.array([size]), np.array([1000.0]), 100.0 if null else 0.0)
    return OrderedMarginal(size, segments, most_cells=cells, least_mass=1.0, cell_variance=1.0, null=null)


def labels(*mass: float, null: bool = False) -> NominalMarginal:
    return NominalMarginal(np.array(mass), most_cells=16, least_mass=1.0, label_variance=1.0, null=null)


# Rows and records


def test_row_r_of_a_release_follows_record_r_where_epsilon_allows_it() -> None:
    table = people()
    made = release(table, plan_for(epsilon=60), source=SeededSource(1))
    assert made.certificate.row_aligned
    age = np.corrcoef(table["age"].to_numpy(), made.table["age"].to_numpy())[0, 1]
    assert age > 0.97
    for name in ("sex", "job"):
        kept = np.mean(np.array(table[name].to_pylist(), object) == np.array(made.table[name].to_pylist(), object))
        assert kept > 0.95
    shifted = np.corrcoef(np.roll(table["age"].to_numpy(), 1), made.table["age"].to_numpy())[0, 1]
    assert abs(shifted) < 0.1


def test_a_single_column_follows_its_records_more_closely_with_more_epsilon() -> None:
    table = people().select(["age"])
    found = []
    for epsilon in (1, 4, 20):
        made = release(table, plan_for({"age": COLUMNS["age"]}, epsilon), source=SeededSource(2))
        found.append(np.corrcoef(table["age"].to_numpy(), made.table["age"].to_numpy())[0, 1])
    assert 0.05 < found[0] < found[1] < found[2]
    assert found[2] > 0.99


def test_rows_beyond_one_batch_stay_in_order() -> None:
    values = np.arange(150_000) % 2
    made = release(pa.table({"a": values}), plan_for({"a": integer(1)}, 30), source=SeededSource(3))
    assert made.table.num_rows == len(values)
    assert (made.table["a"].to_numpy() == values).all()


def test_public_columns_are_kept_row_by_row() -> None:
    table = people()
    columns = COLUMNS | {"age": integer(90, lower=17, more='role = "public"')}
    made = release(table, plan_for(columns), source=SeededSource(4))
    assert made.table["age"].to_pylist() == table["age"].to_pylist()
    assert made.table.column_names == table.column_names
    assert "Columns marked public" in made.certificate.neighbours
    assert all(share.column != "age" for share in made.certificate.shares)


def test_missing_values_are_followed_and_stay_about_as_many() -> None:
    table = people()
    gone = np.array([value is None for value in table["job"].to_pylist()])
    made = release(table, plan_for(epsilon=60), source=SeededSource(5))
    drawn = np.array([value is None for value in made.table["job"].to_pylist()])
    assert (gone == drawn).mean() > 0.98
    little = release(table, plan_for(epsilon=2), source=SeededSource(5))
    assert abs(little.table["job"].null_count - table["job"].null_count) < 0.05 * ROWS
    assert little.table["age"].null_count == 0


def test_released_columns_keep_their_marginals_although_the_channel_flattens_them() -> None:
    table = people()
    made = release(table, plan_for(epsilon=2), source=SeededSource(6))
    for name in ("job", "sex"):
        before = _shares(table, name)
        after = _shares(made.table, name)
        assert sum(abs(before.get(k, 0) - after.get(k, 0)) for k in before | after) / 2 < 0.05
    assert abs(np.median(made.table["age"].to_numpy()) - np.median(table["age"].to_numpy())) < 4


def _shares(table: pa.Table, name: str) -> dict[str, float]:
    values, counts = np.unique([str(value) for value in table[name].to_pylist()], return_counts=True)
    return dict(zip(values.tolist(), (counts / table.num_rows).tolist(), strict=True))


def test_the_same_seed_gives_the_same_release_and_another_seed_another() -> None:
    first, again, other = (release(people(), plan_for(), source=SeededSource(seed)).table for seed in (7, 7, 8))
    assert first.equals(again)
    assert not first.equals(other)


def test_columns_with_one_possible_value_and_tiny_tables_go_through() -> None:
    columns = {"a": category(["only"]), "b": integer(1), "c": category(["x", "y"], more="null = true")}
    table = pa.table({"a": ["only"] * 3, "b": [0, 1, 0], "c": ["x", None, "y"]})
    made = release(table, plan_for(columns, "0.01"), source=SeededSource(9))
    assert made.table["a"].to_pylist() == ["only"] * 3
    assert made.table.num_rows == 3
    alone = release(table.select(["a"]), plan_for({"a": columns["a"]}), source=SeededSource(9))
    assert alone.table["a"].to_pylist() == ["only"] * 3


def test_a_column_with_private_bounds_is_bounded_first_and_paid_for() -> None:
    columns = {"pay": 'kind = "number"\nbounds = "private"\nstep = 1', "sex": 'kind = "boolean"'}
    rng = np.random.default_rng(1)
    table = pa.table({"pay": rng.integers(0, 900, ROWS).astype(float), "sex": rng.random(ROWS) < 0.5})
    made = release(table, plan_for(columns, 40), source=SeededSource(10))
    assert np.corrcoef(made.table["pay"].to_numpy(), table["pay"].to_numpy())[0, 1] > 0.95
    assert sum(Fraction(share.epsilon or 0) for share in made.certificate.shares) == 40


# The budget


@settings(max_examples=25)
@given(st.decimals("0.001", "100", places=5), st.sets(st.sampled_from(sorted(COLUMNS)), min_size=1))
def test_the_shares_add_up_to_epsilon_exactly(epsilon: Decimal, names: set[str]) -> None:
    columns = {name: COLUMNS[name] for name in COLUMNS if name in names}
    made = release(people(40).select(list(columns)), plan_for(columns, epsilon), source=SeededSource(1))
    shares = [Fraction(share.epsilon or 0) for share in made.certificate.shares]
    assert sum(shares) == Fraction(epsilon)
    assert len(shares) == len(columns) + 1
    assert sum(note.epsilon or 0 for note in planned_for_aligned(plan_for(columns, epsilon))) == Fraction(epsilon)


@given(st.fractions(Fraction(1, 1000), 1000), st.integers(2, 10**8), st.integers(1, 100))
def test_marginals_get_between_a_twentieth_and_half_of_epsilon(epsilon: Fraction, rows: int, columns: int) -> None:
    assert Fraction(1, 20) <= share_for_marginals(epsilon, rows, columns) <= Fraction(1, 2)


def test_the_channel_is_bought_with_what_marginals_leave_and_states_its_parameters() -> None:
    made = release(people(), plan_for(epsilon=5), source=SeededSource(1))
    last = made.certificate.shares[-1]
    assert last.column == "all columns together"
    assert last.mechanism.startswith("joint Hamming-ball channel, radius ")
    assert Fraction(last.epsilon or 0) == 5 * (1 - share_for_marginals(Fraction(5), ROWS, 4))
    alone = release(people().select(["age"]), plan_for({"age": COLUMNS["age"]}, 5), source=SeededSource(1))
    assert alone.certificate.shares[-1].mechanism.startswith("window channel, ")


def test_the_channel_in_force_has_the_weights_of_its_share() -> None:
    marginals: dict[str, Marginal] = {"a": uniform_numbers(100), "b": labels(500, 500)}
    epsilon = Fraction(17, 10)
    channel = link(marginals, epsilon).channel
    assert (channel.inside, channel.outside) == ratio_within(epsilon)


def test_a_delta_is_refused_because_the_channel_is_pure() -> None:
    plan = Plan.parse(plan_text(COLUMNS, method="aligned", epsilon="1\ndelta = 1e-9"))
    with pytest.raises(PlanError, match="not made for a delta"):
        release(people(), plan)


def test_a_dry_run_shows_the_shares_without_data() -> None:
    lines = preview(plan_for()).lines
    assert [line.column for line in lines] == [*COLUMNS, "all columns together"]
    assert lines[-1].mechanism == "joint Hamming-ball channel"


# What the certificate says about T26 and T27


def test_the_certificate_quotes_the_lower_bounds_of_t26_and_t27() -> None:
    made = release(people(), plan_for(), source=SeededSource(1))
    first, second, third = made.certificate.remarks
    assert "D/(1+e^ε) = 0.268 D" in first
    assert "Of 4 independent fair bits" in second
    assert "at least 0.395 of the bits" in second
    assert "order of the rows is released" in third
    assert made.certificate.linkage == "channel"


@given(st.fractions(Fraction(1, 100), 2000), st.integers(1, 30))
def test_quoted_bounds_are_rounded_down(epsilon: Fraction, columns: int) -> None:
    remarks = lower_bounds(epsilon, columns)
    assert len(remarks) == (1 if columns == 1 else 2)
    if columns > 1:
        quoted = float(remarks[1].split("at least ")[1].split(" of")[0])
        assert 0 <= least_bit_error(columns, float(epsilon)) - quoted < 0.0011


# Groups


def dataset_of(table: pa.Table, plan: Plan) -> Dataset:
    opened = open_table(table)
    return Dataset(declare(plan, opened), opened)


def test_groups_and_radius_follow_from_released_marginals_whatever_the_rows_are() -> None:
    plan = plan_for(epsilon=8)
    notes = []
    for rows in (people(), pa.table({"age": [17] * 5, "pay": [None] * 5, "job": ["d"] * 5, "sex": [True] * 5})):
        released = marginals_for_rows(counted(dataset_of(people(), plan), 1), Budget(Fraction(8)), SeededSource(1))
        poisoned = replace(released, dataset=dataset_of(rows, plan), rows=rows.num_rows)
        notes.append(rows_through_channel(poisoned, Budget(Fraction(8)), SeededSource(2)).notes)
    assert notes[0] == notes[1]


def test_the_cell_of_a_record_does_not_depend_on_the_other_records() -> None:
    """With the same released numbers, permuted rows give permuted cells."""
    plan, table = plan_for(epsilon=8), people()
    released = marginals_for_rows(counted(dataset_of(table, plan), 1), Budget(Fraction(8)), SeededSource(1)).marginals
    order = np.random.default_rng(2).permutation(ROWS)
    records = dataset_of(table, plan).records()
    permuted = dataset_of(table.take(order), plan).records()
    for name, marginal in released.items():
        cells = marginal.cell_of(records.codes[name])
        assert (marginal.cell_of(permuted.codes[name]) == cells[order]).all()
        alone = np.array([marginal.cell_of(code)[0] for code in records.codes[name][:50, None]])
        assert (alone == cells[:50]).all()


def test_missing_is_a_group_of_its_own() -> None:
    marginals: dict[str, Marginal] = {
        "a": uniform_numbers(100, null=True),
        "b": labels(400, 300, 200, 100, null=True),
    }
    linkage = link(marginals, Fraction(20))
    for name, marginal in marginals.items():
        groups = linkage.groupings[name].groups
        assert np.count_nonzero(groups == groups[-1]) == 1
        assert marginal.cell_of(np.array([-1]))[0] == len(groups) - 1


def test_fair_bits_get_two_groups_each_and_the_radius_of_t27() -> None:
    for columns, epsilon in [(13, 1), (13, 5), (13, 10), (4, 1), (4, 5)]:
        marginals: dict[str, Marginal] = {f"b{place}": labels(500, 500) for place in range(columns)}
        linkage = link(marginals, Fraction(epsilon))
        assert isinstance(linkage.channel, HammingBall)
        assert linkage.channel.sizes == (2,) * columns
        stays = stay_chances(linkage.channel.sizes, epsilon)[linkage.channel.radius, 0]
        assert linkage.groupings["b0"].error(staying(2, stays)) == pytest.approx(least_bit_error(columns, epsilon))


def test_more_epsilon_buys_finer_groups() -> None:
    marginals: dict[str, Marginal] = {name: uniform_numbers(1000) for name in "abcd"}
    sizes = [link(marginals, Fraction(epsilon)).channel.sizes for epsilon in (2, 12, 40)]
    assert max(sizes[0]) <= max(sizes[1]) <= max(sizes[2])
    assert sizes[0] < sizes[2]
    assert sizes[2] == (16,) * 4


def test_a_column_that_hardly_varies_is_left_out_where_the_budget_is_small() -> None:
    marginals: dict[str, Marginal] = {"rare": labels(995, 5), **{name: labels(500, 500) for name in "abc"}}
    linkage = link(marginals, Fraction(1))
    assert linkage.channel.sizes == (1, 2, 2, 2)
    assert "left out" in linkage.in_words()
    assert link(marginals, Fraction(30)).channel.sizes == (2, 2, 2, 2)


def test_the_window_of_a_single_column_shrinks_with_epsilon() -> None:
    shares = []
    for epsilon in (1, 2, 4, 8):
        channel = link({"a": uniform_numbers(1000)}, Fraction(epsilon)).channel
        assert isinstance(channel, Window)
        shares.append(channel.width / channel.sizes[0])
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.3
    assert shares[-1] < 0.1


def test_a_single_column_of_labels_gets_no_window_across_labels() -> None:
    channel = link({"a": labels(300, 300, 200, 200)}, Fraction(1, 2)).channel
    assert isinstance(channel, Window)
    assert channel.width == 1


@given(
    st.lists(st.integers(1, 100), min_size=2, max_size=8),
    st.integers(2, 5),
    st.floats(0, 1),
)
def test_redrawn_outputs_follow_the_released_masses(masses: list[int], most: int, stay: float) -> None:
    mass = np.array(masses) / sum(masses)
    groups = np.minimum(np.arange(len(mass)), most - 1)
    grouping = Grouping(groups, mass, 1.0 - np.eye(len(mass)))
    chances = staying(grouping.size, stay)
    redrawn = grouping.redrawn(chances)
    np.testing.assert_allclose(redrawn.sum(axis=1), 1)
    assert (redrawn >= 0).all()
    np.testing.assert_allclose(np.bincount(groups, mass) @ chances @ redrawn, mass, atol=1e-12)


def test_values_are_drawn_inside_the_cells_they_were_asked_for() -> None:
    sampler = Sampler(SeededSource(1))
    several: list[Marginal] = [
        uniform_numbers(1000),
        uniform_numbers(37, null=True),
        labels(500, 300, 0, 0.5, 0.2, 200),
        labels(500, 300, 0.5, 0.2, 200, null=True),
    ]
    for marginal in several:
        cells = np.tile(np.arange(marginal.cell_count), 200)
        assert (marginal.cell_of(marginal.values_in(cells, sampler)) == cells).all()
