"""What one replaced record can change in tables, scores, parities and sign products, by brute force in exact numbers.

Every bound that is stated is reached, and a twin with half the noise is caught by the same reckoning.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankveil import rules
from rankveil.audit.laws import permute_and_flip_law, worst_loss
from rankveil.audit.watch import Watch
from rankveil.declare import Column, Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import MISSING, Grid
from rankveil.declare.unit import A_ROW, Sensitivity, Unit
from rankveil.draw.synthetic import draw
from rankveil.engines import open_table
from rankveil.fit.model import fit
from rankveil.measure import choose
from rankveil.measure.budget import Budget, Noise, Price
from rankveil.measure.choose import in_parts, noisy_scores
from rankveil.measure.divide import divide
from rankveil.measure.measurements import Measurements
from rankveil.measure.parities import changing, measure_parities, parity_noise
from rankveil.measure.signs import all_change, best_tree, choice_scale, tree_change
from rankveil.measure.synthetic import counted, measure
from rankveil.measure.tables import count_tables, grouped
from rankveil.noise import Sampler, SeededSource

PRICES = (
    Price("epsilon", Fraction(3, 2)),
    Price("rho", Fraction(1, 50), "concentrated"),
    Price("rho", Fraction(1, 50), "gaussian"),
)


def number_column(name: str, width: int, *, null: bool = False) -> Column:
    return Column(name, "integer", Grid(width, Decimal(0)), "protected", null, False, ())


def dataset_of(values: dict[str, list[int | None]], columns: Sequence[Column]) -> Dataset:
    table = pa.table({name: pa.array(column, pa.int64()) for name, column in values.items()})
    return Dataset(Schema(tuple(columns)), open_table(table))


def lost(noise: Noise, change: np.ndarray) -> Fraction:
    """What entries that change by so much lose with this noise: in ε or in ρ, as it was bought."""
    return worst_loss(noise, change, np.zeros_like(change)).amount


def nearly(price: Price, loss: Fraction) -> bool:
    """At most the price, and less only by what parameters were rounded."""
    return price.amount * (1 - Fraction(1, 10**6)) <= loss <= price.amount


# Tables (T17)


def measured(dataset: Dataset, epsilon: int, seed: int) -> Measurements:
    return measure(counted(dataset, 1), Budget(Fraction(epsilon)), SeededSource(seed))


COLUMNS = [number_column("a", 200), number_column("b", 200, null=True), number_column("c", 3)]
WANTED = [*combinations("abc", 2), ("a", "b", "c")]


def some_records(rows: int = 300) -> dict[str, list[int | None]]:
    rng = np.random.default_rng(1)
    values: dict[str, list[int | None]] = {
        column.name: rng.integers(0, column.domain.width + 1, rows).tolist()  # type: ignore[union-attr]
        for column in COLUMNS
    }
    values["b"] = [None if value is not None and value < 30 else value for value in values["b"]]
    return values


RECORDS = some_records()
MARGINALS = measured(dataset_of(RECORDS, COLUMNS), 5, 3).columns
VALUE = st.integers(0, 200)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 299), st.tuples(VALUE, st.one_of(st.none(), VALUE), st.integers(0, 3)), st.integers(1, 9))
def test_replacing_one_record_changes_tables_of_two_and_three_columns_by_at_most_two(
    row: int, record: tuple[int | None, ...], most: int
) -> None:
    changed = {
        name: [*column[:row], new, *column[row + 1 :]]
        for (name, column), new in zip(RECORDS.items(), record, strict=True)
    }
    coarse = {columns: tuple(MARGINALS[name].group(most, 0.0) for name in columns) for columns in WANTED}
    for grouping in (dict.fromkeys(WANTED), coarse):
        before, after = (count_tables(dataset_of(each, COLUMNS), MARGINALS, grouping) for each in (RECORDS, changed))
        for columns in WANTED:
            change = after[columns] - before[columns]
            assert int(np.abs(change).sum()) in (0, 2)
            assert int((change**2).sum()) in (0, 2)


def test_cells_put_together_after_counting_are_the_cells_counted_together() -> None:
    dataset = dataset_of(RECORDS, COLUMNS)
    coarse = {columns: tuple(MARGINALS[name].group(4, 0.0) for name in columns) for columns in WANTED}
    fine = count_tables(dataset, MARGINALS, dict.fromkeys(WANTED))
    at_once = count_tables(dataset, MARGINALS, coarse)
    for columns, groups in coarse.items():
        np.testing.assert_array_equal(grouped(fine[columns], groups), at_once[columns])
        assert at_once[columns].sum() == 300


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_noise_on_a_table_costs_its_price_and_half_of_it_more(price: Price) -> None:
    change = np.array([1, 0, -1, 0])
    noise = price.laplace_or_gaussian(l1=2, l2_squared=2)
    assert nearly(price, lost(noise, change))
    assert lost(halved(noise), change) > 1.9 * price.amount


def halved(noise: Noise) -> Noise:
    """Half the scale; of a variance half of what counts."""
    if noise.name == "discrete Laplace":
        return Noise(noise.name, noise.parameter / 2)
    return Noise(noise.name, (noise.parameter - noise.smoothing) / 2 + noise.smoothing, noise.smoothing)


def test_cells_from_true_ranks_would_change_tables_by_more_than_two() -> None:
    """The trap of T40, as a broken twin of the tests above."""

    def rank_table(points: np.ndarray, cells: int) -> np.ndarray:
        ranks = points.argsort(axis=0, kind="stable").argsort(axis=0) * cells // len(points)
        return np.bincount(ranks[:, 0] * cells + ranks[:, 1], minlength=cells * cells)

    points = np.array([[i, (5 * i) % 12] for i in range(12)])
    before = rank_table(points, 4)
    changes = []
    for row, end in product(range(12), ([100, 100], [100, -1], [-1, 100], [-1, -1])):
        changed = points.copy()
        changed[row] = end
        changes.append(int(np.abs(rank_table(changed, 4) - before).sum()))
    assert max(changes) >= 10


# Scores (T18)

SHAPES = [(2, 2), (3, 4), (2, 3, 2)]


def scores_of(exact: list[np.ndarray], expected: list[np.ndarray], price: Price) -> tuple[Noise, np.ndarray]:
    """The noise that production code asks for, and the exact scores that it asks about."""
    watch = Watch(SeededSource(1))
    noisy_scores(exact, expected, 10, price, watch)
    (asked,) = watch.draws
    assert isinstance(asked.law, Noise)
    return asked.law, asked.exact


def tables_of(shapes: Sequence[tuple[int, ...]], most: int) -> st.SearchStrategy[list[np.ndarray]]:
    return st.tuples(*(arrays.arrays(np.int64, shape, elements=st.integers(0, most)) for shape in shapes)).map(list)


@settings(max_examples=100, deadline=None)
@given(tables_of(SHAPES, 5), tables_of(SHAPES, 10), st.data())
def test_a_score_changes_by_minus_two_nothing_or_two_whatever_is_expected(
    exact: list[np.ndarray], expected: list[np.ndarray], data: st.DataObject
) -> None:
    changed = [table.copy() for table in exact]
    for table in changed:
        place = st.integers(0, table.size - 1)
        table.flat[data.draw(place)] -= 1
        table.flat[data.draw(place)] += 1
    model = [table.astype(np.float64) - 3 + data.draw(st.floats(-0.4, 0.4)) for table in expected]  # as fitted
    price = PRICES[0]
    _, before = scores_of(exact, model, price)
    noise, after = scores_of(changed, model, price)
    assert set((after - before).tolist()) <= {-2, 0, 2}
    assert lost(noise, after - before) <= price.amount


def worst_scores(price: Price) -> tuple[Noise, np.ndarray]:
    """Everybody is expected in the first cell, and one record leaves it."""
    expected = [np.zeros(shape) for shape in SHAPES]
    exact = [np.zeros(shape, np.int64) for shape in SHAPES]
    changed = [np.zeros(shape, np.int64) for shape in SHAPES]
    for model, table, other in zip(expected, exact, changed, strict=True):
        model.flat[0], table.flat[0], other.flat[0], other.flat[-1] = 7, 7, 6, 1
    noise, before = scores_of(exact, expected, price)
    _, after = scores_of(changed, expected, price)
    assert (after - before).tolist() == [2, 2, 2]
    return noise, after - before


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_scores_cost_their_price_and_no_less(price: Price) -> None:
    assert nearly(price, lost(*worst_scores(price)))


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_scores_with_half_their_change_are_caught(price: Price, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "score_change", lambda protects: Sensitivity(1, 1))
    assert lost(*worst_scores(price)) > 1.9 * price.amount


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=40))
def test_parts_of_a_price_are_positive_and_add_up_to_at_most_the_whole(amounts: list[float]) -> None:
    parts = in_parts(np.array(amounts))
    assert min(parts) > 0
    assert sum(parts) <= 1


# Parities (T47)


def parities(record: Sequence[int], order: int) -> np.ndarray:
    """Products of signs of one record, by definition."""
    signs = 1 - 2 * np.array(record)
    return np.array([signs[list(columns)].prod() for columns in combinations(range(len(record)), order)])


@pytest.mark.parametrize("columns", range(2, 7))
def test_just_the_parities_of_an_odd_number_of_changed_columns_change_and_by_two(columns: int) -> None:
    records = list(product((0, 1), repeat=columns))
    for order in range(1, columns + 1):
        known = {record: parities(record, order) for record in records}
        for one, other in product(records, repeat=2):
            change = known[other] - known[one]
            flipped = sum(a != b for a, b in zip(one, other, strict=True))
            assert set(np.abs(change).tolist()) <= {0, 2}
            assert np.count_nonzero(change) == changing(columns, flipped, order)


def worst_parities(columns: int, orders: Sequence[int], noise: dict[int, Noise]) -> Fraction:
    """The largest loss over all pairs of records: the sums over all others do not change."""
    records = list(product((0, 1), repeat=columns))
    known = {(record, order): parities(record, order) for record in records for order in orders}
    return max(
        sum((lost(noise[order], known[one, order] - known[other, order]) for order in orders), Fraction(0))
        for one, other in product(records, repeat=2)
    )


CASES = [(columns, orders) for columns in range(2, 7) for orders in ((2,), (2, 3)) if columns >= max(orders)]


@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize(("columns", "orders"), CASES)
def test_parities_cost_their_price_and_no_less(columns: int, orders: tuple[int, ...], price: Price) -> None:
    noise = parity_noise(price, columns, orders)
    assert nearly(price, worst_parities(columns, orders, noise))
    half = {order: halved(noise[order]) for order in orders}
    assert worst_parities(columns, orders, half) > 1.9 * price.amount
    if len(orders) > 1:  # and an order that is forgotten in the joint bound
        alone = {order: parity_noise(price, columns, (order,))[order] for order in orders}
        assert worst_parities(columns, orders, alone) > 1.2 * price.amount


@pytest.mark.parametrize(("columns", "orders"), CASES)
def test_sensitivities_of_parities_are_the_largest_that_occur(columns: int, orders: tuple[int, ...]) -> None:
    records = list(product((0, 1), repeat=columns))
    changes = [
        np.concatenate([parities(one, order) - parities(other, order) for order in orders])
        for one, other in product(records, repeat=2)
    ]
    flips = range(columns + 1)
    assert max(int(np.abs(each).sum()) for each in changes) == max(
        sum(2 * changing(columns, p, order) for order in orders) for p in flips
    )
    assert max(int((each**2).sum()) for each in changes) == max(
        sum(4 * changing(columns, p, order) for order in orders) for p in flips
    )


@pytest.mark.parametrize("accounting", ["concentrated", "gaussian"])
def test_parities_use_no_more_than_a_fourth_of_the_entries_that_gaussian_accounting_allows(accounting: str) -> None:
    """K ≤ 2ρ s² in T46: entries that change, whatever the price; the orders' own prices add up to the whole."""
    price = Price("rho", Fraction(1, 7), accounting)  # type: ignore[arg-type]
    for columns in range(3, 12):
        noise = parity_noise(price, columns, (2, 3))
        spread = {order: each.parameter - each.smoothing for order, each in noise.items()}
        for p in range(columns + 1):
            own = {order: 4 * changing(columns, p, order) / (2 * spread[order]) for order in spread}
            assert sum(own.values()) <= price.amount
            for order in spread:
                assert 4 * changing(columns, p, order) <= 2 * own[order] * spread[order]


def test_measured_parities_are_those_of_the_records() -> None:
    """Read off exact tables; the counts that follow add up to the records."""
    rng = np.random.default_rng(2)
    records = rng.integers(0, 2, (50, 4))
    names = "abcd"
    counts = {}
    for order in (2, 3):
        for places in combinations(range(4), order):
            table = np.zeros((2,) * order, np.int64)
            np.add.at(table, tuple(records[:, place] for place in places), 1)
            counts[tuple(names[place] for place in places)] = table
    watch = Watch(SeededSource(1))
    found = measure_parities(counts, names, (2, 3), 50, PRICES[0], watch)
    exact = np.concatenate([draw.exact for draw in watch.draws])
    assert exact.tolist() == [
        *sum(parities(record, 2) for record in records),
        *sum(parities(record, 3) for record in records),
    ]
    assert len(found) == 10
    noisy = np.concatenate([draw.answer for draw in watch.draws])
    for table, product_of_signs in zip(found, noisy, strict=True):
        assert table.parity
        assert table.noisy.sum() == 50
        assert table.noisy[0] - table.noisy[1] == product_of_signs
    assert {table.deviation for table in found} == {draw.law.deviation for draw in watch.draws}  # type: ignore[union-attr]


# Sign products (T19)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_sign_products_change_by_at_most_the_bound_of_t19_exhaustively(size: int) -> None:
    pairs = list(combinations(range(size), 2))
    vectors = list(product((-1, 0, 1), repeat=size))
    products = {v: np.array([v[a] * v[b] for a, b in pairs]) for v in vectors}
    changes = [products[v] - products[w] for v in vectors for w in vectors]
    assert max(int(np.abs(change).sum()) for change in changes) == 2 * (size**2 // 4)
    assert max(int((change**2).sum()) for change in changes) == size**2 - size % 2
    for price in PRICES:
        assert nearly(price, max(lost(price.noise_for(all_change(A_ROW, size)), change) for change in changes))


# Trees of sign products (T56)


class Halves:
    """A column of which one half of the records lies on either side."""

    mass = np.array([0.5, 0.5])

    def signs(self) -> np.ndarray:
        return np.array([-1.0, 1.0])


def half(price: Price, columns: int) -> Fraction:
    """A broken twin of the scale of choices."""
    return choice_scale(price, columns) / 2


def chances(exact: Sequence[int], pairs: Sequence[tuple[int, int]], columns: int, scale: Fraction) -> dict[Any, float]:
    """Of every sequence of choices that makes a tree, exactly."""
    found: dict[Any, float] = {}

    def go_on(joined: tuple[int, ...], chosen: tuple[int, ...], chance: float) -> None:
        left = [place for place, (a, b) in enumerate(pairs) if joined[a] != joined[b]]
        if not left:
            found[chosen] = chance
            return
        scores = np.abs(np.array([[exact[place] for place in left]]))
        for place, log_chance in zip(left, permute_and_flip_law(scores, scale)[0], strict=True):
            a, b = pairs[place]
            after = tuple(joined[a] if part == joined[b] else part for part in joined)
            go_on(after, (*chosen, place), chance * float(np.exp(log_chance)))

    go_on(tuple(range(columns)), (), 1.0)
    return found


@pytest.mark.parametrize(("scale_of", "holds"), [(choice_scale, True), (half, False)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_a_tree_is_chosen_at_its_price_between_all_neighbours_among_tables_of_two_records(
    epsilon: Fraction, scale_of: Any, holds: bool
) -> None:
    """Largest log-ratio of the exact laws of all sequences of choices: .63 of the price, so that the half is caught."""
    columns, price = 3, Price("epsilon", epsilon)
    pairs = list(combinations(range(columns), 2))
    products = [[v[a] * v[b] for a, b in pairs] for v in product((-1, 0, 1), repeat=columns)]
    worst = 0.0
    for other in products:
        laws = [
            chances([x + y for x, y in zip(other, own, strict=True)], pairs, columns, scale_of(price, columns))
            for own in products
        ]
        worst = max(worst, *(abs(log(one[way] / two[way])) for one in laws for two in laws for way in one))
    assert (worst <= epsilon) == holds


@pytest.mark.parametrize("unit", [A_ROW, Unit("add-remove"), Unit("replace", "p", 3), Unit("add-remove", "p", 3)])
def test_products_along_every_tree_of_four_columns_cost_their_price_and_reach_it(unit: Unit) -> None:
    columns, price = 4, Price("epsilon", Fraction(3, 2), protects=unit)
    pairs = list(combinations(range(columns), 2))
    noise = price.noise_for(tree_change(unit, columns))
    none = (0,) * columns
    signs = list(product((-1, 1), repeat=columns))
    for tree in combinations(pairs, columns - 1):
        if len({name for pair in tree for name in pair}) < columns:
            continue  # a circle of three
        along = {v: unit.rows * np.array([v[a] * v[b] for a, b in tree]) for v in [*signs, none]}
        others = signs if unit.neighbours == "replace" else [none]
        assert nearly(price, max(lost(noise, along[v] - along[w]) for v in signs for w in others))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(0, 3), st.integers(0, 2**32), st.fractions(Fraction(1, 20), 20))
def test_the_chosen_pairs_are_a_tree_of_pairs_that_were_counted(
    columns: int, public: int, seed: int, epsilon: Fraction
) -> None:
    rng = np.random.default_rng(seed)
    marginals: dict[str, Any] = {f"c{place}": Halves() for place in range(columns)}
    known = set(list(marginals)[: min(public, columns - 1)])
    pairs = [pair for pair in combinations(marginals, 2) if not known.issuperset(pair)]
    products = {pair: int(rng.integers(-50, 50)) for pair in pairs}
    tree = best_tree(products, marginals, 50, dict.fromkeys(pairs, 1.0), Price("epsilon", epsilon), SeededSource(seed))
    assert set(tree) <= set(pairs)
    assert len(tree) == columns - 1
    joined = {name: {name} for name in marginals}
    for a, b in tree:
        assert joined[a] is not joined[b], "a circle"
        joined[a] |= joined[b]
        for name in joined[b]:
            joined[name] = joined[a]


def test_a_tree_takes_the_pairs_farthest_from_independence_and_those_of_interest_before_others() -> None:
    marginals: dict[str, Any] = {name: Halves() for name in "abc"}
    products, price = {("a", "b"): 900, ("a", "c"): -600, ("b", "c"): 500}, Price("epsilon", Fraction(100))
    plain = best_tree(products, marginals, 1000, dict.fromkeys(products, 1.0), price, SeededSource(1))
    assert plain == [("a", "b"), ("a", "c")]
    weights = {**dict.fromkeys(products, 1.0), ("b", "c"): 4.0}
    assert best_tree(products, marginals, 1000, weights, price, SeededSource(1)) == [("b", "c"), ("a", "b")]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 6), st.sampled_from([1.0, 0.25, 0.3, 1 / 3]))
def test_a_score_that_counts_for_less_changes_by_no_more(distance: int, change: int, weight: float) -> None:
    parts = [each * Fraction(weight) // 1 for each in (distance, distance + change)]
    assert 0 <= parts[1] - parts[0] <= change


@pytest.mark.parametrize(("columns", "rows", "linkage", "tree"), [
    (12, 700, "none", False), (12, 800, "copula", True), (12, 1200, "copula", True), (12, 1300, "copula", False),
    (4, 100, "none", False), (4, 200, "copula", False),
])  # fmt: skip
def test_a_tree_links_columns_where_all_pairs_have_too_much_noise(
    columns: int, rows: int, linkage: str, tree: bool
) -> None:
    division = divide(Budget(Fraction(1)), rows, columns_of([8] * columns))
    assert (division.linkage, bool(division.choice)) == (linkage, tree)
    with_delta = divide(Budget(Fraction(1), Fraction(1, 10**9)), rows, columns_of([8] * columns))
    assert with_delta.linkage != "copula" or not with_delta.choice


# The budget


def columns_of(sizes: Sequence[int]) -> Schema:
    return Schema(tuple(number_column(f"c{place}", size) for place, size in enumerate(sizes)))


@settings(max_examples=60, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 100), max_value=50, max_denominator=100),
    st.booleans(),
    st.integers(2, 10**7),
    st.lists(st.sampled_from([1, 2, 15, 300, 10**6]), min_size=1, max_size=30),
)
def test_the_parts_of_a_division_add_up_to_the_whole_and_read_no_data(
    epsilon: Fraction, approximate: bool, rows: int, sizes: list[int]
) -> None:
    budget = Budget(epsilon, Fraction(1, 10**9) if approximate else None)
    division = divide(budget, rows, columns_of(sizes))
    assert division.columns + division.signs + division.choice + division.tables == 1
    assert min(division.columns, division.signs, division.choice, division.tables) >= 0
    assert division.columns > 0
    assert 2 <= division.finest.numbers <= division.finest.labels <= rules.MOST_BASE_CELLS
    assert division == divide(budget, rows, columns_of(sizes))


LINKED = {
    "a": number_column("a", 5000),
    "b": number_column("b", 20),
    "c": number_column("c", 3, null=True),
    "d": number_column("d", 1),
    "e": number_column("e", 1),
    "f": number_column("f", 1),
}


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(100)])
@pytest.mark.parametrize("delta", [None, Fraction(1, 10**9)])
@pytest.mark.parametrize("names", ["a", "ab", "abc", "def", "bdef"])
def test_every_spend_is_noted_and_the_notes_add_up_to_the_whole(
    epsilon: Fraction, delta: Fraction | None, names: str
) -> None:
    rng = np.random.default_rng(2)
    base = rng.integers(0, 5001, 3000)
    values: dict[str, list[int | None]] = {
        "a": base.tolist(),
        "b": (base // 250).tolist(),
        "c": [None if value == 0 else value for value in rng.integers(0, 4, 3000).tolist()],
        "d": (base % 2).tolist(),
        "e": ((base + rng.integers(0, 3, 3000) // 2) % 2).tolist(),
        "f": rng.integers(0, 2, 3000).tolist(),
    }
    columns = [LINKED[name] for name in names]
    dataset = dataset_of({name: values[name] for name in names}, columns)
    budget, source = Budget(epsilon, delta), SeededSource(4)
    found = measure(counted(dataset, 1), budget, source)
    spent = sum(fraction for _, fraction in budget.spent)
    assert 0 < spent <= 1
    noted = sum((note.epsilon if delta is None else note.rho) or Fraction(0) for note in found.notes)
    assert spent * budget.whole.amount <= noted == budget.whole.amount, "what is set aside counts as spent"
    codes = draw(fit(found, Sampler(source)), found, dataset, source).collected()
    for column in columns:
        assert len(codes[column.name]) == 3000
        assert codes[column.name].min() >= (MISSING if column.allows_null else 0)
        assert codes[column.name].max() <= column.domain.width  # type: ignore[union-attr]
