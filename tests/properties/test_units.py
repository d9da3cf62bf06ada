"""Units of protection (T50 to T52): what a person changes at most; which rows stay depends on that person alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil import rules
from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.declare.persons import limited
from rankveil.declare.unit import A_ROW, Unit
from rankveil.engines import LocalEngine, open_table, spill
from rankveil.errors import PlanError
from rankveil.measure.budget import Budget, Price
from rankveil.measure.choose import score_change
from rankveil.measure.parities import parity_change, parity_noise
from rankveil.measure.signs import all_change, tree_change
from rankveil.measure.size import released_size
from rankveil.noise import SeededSource

UNITS = [Unit(neighbours, "p", rows) for neighbours in ("replace", "add-remove") for rows in (1, 2, 3)]
Vector = tuple[Fraction, ...]


def groups(records: Sequence[Vector], most: int) -> list[Vector]:
    """The sums of all groups of 1 to `most` records."""
    sums = set()
    for count in range(1, most + 1):
        for chosen in combinations_with_replacement(records, count):
            sums.add(tuple(map(sum, zip(*chosen, strict=True))))
    return [tuple(map(Fraction, each)) for each in sums]


def changes(unit: Unit, records: Sequence[Vector]) -> Iterator[list[Fraction]]:
    """Every change that a unit can make to a sum over rows."""
    found = groups(records, unit.rows)
    if unit.neighbours == "add-remove":
        yield from (list(each) for each in found)
    else:
        yield from ([a - b for a, b in zip(one, other, strict=True)] for one, other in product(found, found))


def worst(unit: Unit, records: Sequence[Vector]) -> tuple[Fraction, Fraction]:
    l1 = l2_squared = Fraction(0)
    for change in changes(unit, records):
        l1 = max(l1, sum(map(abs, change), Fraction(0)))
        l2_squared = max(l2_squared, sum((each * each for each in change), Fraction(0)))
    return l1, l2_squared


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_counts_change_by_no_more_than_their_sensitivity_and_by_as_much(unit: Unit) -> None:
    cells = [tuple(Fraction(int(place == cell)) for place in range(3)) for cell in range(3)]
    nowhere = (Fraction(0),) * 3
    assert worst(unit, [*cells, nowhere]) == (unit.of_counts.l1, unit.of_counts.l2_squared)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_sign_products_change_by_no_more_than_their_sensitivity_and_by_as_much(unit: Unit) -> None:
    for columns in (2, 3, 4) if unit.rows < 3 else (2, 3):
        signs = list(product((-1, 0, 1) if columns < 4 else (-1, 1), repeat=columns))
        records = sorted({tuple(Fraction(a * b) for a, b in combinations(sign, 2)) for sign in signs})
        change = all_change(unit, columns)
        assert worst(unit, records) == (change.l1, change.l2_squared)
        for tree in (tuple(pairwise(range(columns))), tuple((0, leaf) for leaf in range(1, columns))):
            along = sorted({tuple(Fraction(sign[a] * sign[b]) for a, b in tree) for sign in signs})
            change = tree_change(unit, columns)
            assert worst(unit, along) == (change.l1, change.l2_squared)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("orders", [(2,), (2, 3)])
def test_parities_change_by_no_more_than_their_sensitivity_and_by_as_much(unit: Unit, orders: tuple[int, ...]) -> None:
    columns, factor = 3, {order: Fraction(order, 2) for order in orders}
    records = sorted(
        {
            tuple(
                Fraction(int(np.prod([sign[place] for place in chosen]))) / factor[order]
                for order in orders
                for chosen in combinations(range(columns), order)
            )
            for sign in product((-1, 1), repeat=columns)
        }
    )
    change = parity_change(unit, columns, factor)
    assert worst(unit, records) == (change.l1, change.l2_squared)


@given(st.sampled_from(UNITS), st.lists(st.integers(-5, 5), min_size=4, max_size=4), st.data())
def test_a_score_changes_by_no_more_than_its_sensitivity(unit: Unit, expected: list[int], data: st.DataObject) -> None:
    """The distance of a table from what is expected of it, for any rows a unit may have before and after."""
    least = 1 if unit.neighbours == "replace" else 0
    before = data.draw(st.lists(st.integers(0, 3), min_size=least, max_size=unit.rows))
    after = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=unit.rows)) if least else []
    tables = [np.bincount(np.array(rows, int), minlength=4) for rows in (before, after)]
    one, other = (int(np.abs(table - np.array(expected)).sum()) for table in tables)
    assert abs(one - other) <= score_change(unit).l1
    assert score_change(unit).l2_squared == score_change(unit).l1 ** 2


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_the_number_of_rows_changes_by_no_more_than_its_sensitivity_and_by_as_much(unit: Unit) -> None:
    sizes = range(1, unit.rows + 1)
    changed = sizes if unit.neighbours == "add-remove" else [abs(a - b) for a in sizes for b in sizes]
    assert max(changed) == unit.of_rows
    assert unit.rows_public == (unit.neighbours == "replace" and unit.rows == 1)


@pytest.mark.parametrize(
    "unit", [A_ROW, Unit("add-remove"), Unit("replace", "p", 3), Unit("add-remove", "p", 3)], ids=str
)
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_noise_on_parities_costs_the_price_at_the_worst_unit(unit: Unit, kind: str) -> None:
    price = Price(kind, Fraction(1, 7), protects=unit)  # type: ignore[arg-type]
    noises = parity_noise(price, 3, (2, 3))
    records = [
        [
            int(np.prod([sign[place] for place in chosen]))
            for order in (2, 3)
            for chosen in combinations(range(3), order)
        ]
        for sign in product((-1, 1), repeat=3)
    ]
    lost = Fraction(0)
    for change in changes(unit, [tuple(map(Fraction, record)) for record in records]):
        by_order = {2: change[:3], 3: change[3:]}
        if kind == "epsilon":
            loss = sum((abs(each) / noises[k].parameter for k, part in by_order.items() for each in part), Fraction(0))
        else:
            spread = {k: noise.parameter - noise.smoothing for k, noise in noises.items()}
            loss = sum((each * each / (2 * spread[k]) for k, part in by_order.items() for each in part), Fraction(0))
        lost = max(lost, loss)
    assert Fraction(999, 1000) * price.amount < lost <= price.amount


def test_an_added_row_costs_half_of_a_replaced_one() -> None:
    replaced, added = (Price("epsilon", Fraction(1), protects=unit).on_counts() for unit in (A_ROW, Unit("add-remove")))
    assert added.parameter * 2 == replaced.parameter


# The number of rows


def test_a_public_number_of_rows_costs_nothing_and_another_one_its_share() -> None:
    budget = Budget(Fraction(1))
    assert released_size(7, budget, SeededSource(1)).rows == 7
    assert budget.spent == []
    budget = Budget(Fraction(1), protects=Unit("add-remove"))
    size = released_size(1000, budget, SeededSource(1))
    assert size.rows != 1000
    assert abs(size.rows - 1000) < 1000
    assert size.budget.whole.amount == 1 - rules.FOR_ROWS
    assert [note.epsilon for note in size.notes] == [rules.FOR_ROWS]


def test_a_noisy_number_of_rows_is_never_too_small_for_a_table() -> None:
    sizes = [
        released_size(2, Budget(Fraction(1), protects=Unit("add-remove")), SeededSource(s)).rows for s in range(20)
    ]
    assert min(sizes) == 2


def test_a_budget_that_would_make_up_millions_of_rows_is_refused() -> None:
    with pytest.raises(PlanError, match="number of rows"):
        released_size(1000, Budget(Fraction(1, 10**6), protects=Unit("add-remove")), SeededSource(1))


# Limiting rows

PLAN = """
[release]
epsilon = 1
[privacy]
person = "who"
rows_per_person = {rows}
[columns.who]
kind = "drop"
[columns.a]
kind = "integer"
lower = 0
upper = 1000
[columns.b]
kind = "category"
categories = ["x", "y"]
"""
Row = tuple[str, int, str]


def kept(rows: Sequence[Row], most: int, engine: LocalEngine | None = None) -> Counter[tuple[int, str]]:
    table = open_table(pa.table({name: [row[place] for row in rows] for place, name in enumerate(("who", "a", "b"))}))
    plan = Plan.parse(PLAN.format(rows=most))
    with limited(Dataset(declare(plan, table), table, engine or LocalEngine(1)), SeededSource(5)) as dataset:
        batches = list(dataset.table.batches(["a", "b"]))
        return Counter(row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))


PEOPLE = st.lists(
    st.tuples(st.sampled_from(["p", "q", "r", "s"]), st.integers(0, 1000), st.sampled_from("xy")),
    min_size=2,
    max_size=30,
)


@given(PEOPLE, st.integers(1, 4), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_which_rows_of_a_person_stay_depends_on_that_person_alone(rows: list[Row], most: int, random: object) -> None:
    together = kept(rows, most)
    alone: Counter[tuple[int, str]] = Counter()
    for person in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == person]
        # A table has two rows at least: the other one is nobody's that matters.
        found = kept([*own, ("somebody else", 7, "x")], most) - Counter([(7, "x")])
        assert sum(found.values()) == min(len(own), most)
        alone += found
    assert together == alone
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert kept(shuffled, most) == together


def test_rows_stay_the_same_whether_they_go_through_a_file_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"p{who}", int(a), "xy"[b])
        for who, a, b in zip(*(rng.integers(0, k, 3000) for k in (300, 1000, 2)), strict=True)
    ]
    together = kept(rows, 3)
    monkeypatch.setattr("rankveil.engines.table._BATCH_ROWS", 37)
    monkeypatch.setattr("rankveil.declare.persons.ROWS_OF_A_GROUP", 100)
    monkeypatch.setattr(spill, "_MOST_HELD", 50)
    assert kept(rows, 3, LocalEngine(4)) == together
    assert sum(together.values()) < len(rows)


def test_one_person_with_most_of_the_rows_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every batch no more rows of a person are put aside than are used."""
    held: list[int] = []
    plain = spill.Spill.add
    monkeypatch.setattr("rankveil.engines.table._BATCH_ROWS", 100)
    monkeypatch.setattr(
        spill.Spill, "add", lambda self, group, rows: (held.append(rows.num_rows), plain(self, group, rows))
    )
    assert sum(kept([("p", number % 1000, "x") for number in range(5000)], 2).values()) == 2
    assert sum(held) == 2 * 50


def test_surplus_rows_are_left_out_without_regard_to_what_they_say() -> None:
    """Of two rows with a = 0 and a = 1 each is kept by about half of 2,000 persons: 6 deviations are 134."""
    rows = [(f"p{who}", a, "x") for who in range(2000) for a in (0, 1)]
    found = kept(rows, 1)
    assert abs(found[0, "x"] - 1000) < 134
