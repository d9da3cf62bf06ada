"""T53 in exact arithmetic: how much published accuracy changes between neighbours, and how wide its intervals are."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.audit.tables import dataset, labels, number
from rankveil.declare import Schema
from rankveil.declare.expression import parse
from rankveil.declare.unit import A_ROW, Unit
from rankveil.measure.accuracy import Conditions, Exact, Question, noise_of
from rankveil.measure.budget import Price
from rankveil.published_accuracy import CONFIDENCE, figure_of, half_width

COLUMNS = (number("a", 30), labels("b", 3), number("c", 4, null=True))
QUERIES = tuple(parse(text, "a query") for text in ("a < 7 or b = 'label 1'", "c is missing", "a > 20 and c = 1"))
UNITS = (A_ROW, Unit("add-remove"), Unit("replace", "who", 3), Unit("add-remove", "who", 3))

rows = st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(-1, 4))


def question(release: list[tuple[int, ...]]) -> Question:
    return Question.about(dataset(COLUMNS, release).records(), Conditions(Schema(COLUMNS), QUERIES))


def change(one: Exact, other: Exact) -> tuple[int, int, int]:
    named = int(np.abs(one.named - other.named).sum())
    return abs(one.one_way - other.one_way), abs(one.two_way - other.two_way), named


def bounds(unit: Unit) -> list[Fraction]:
    """What the noise of each figure is made for, at a price of 1."""
    price = Price("epsilon", Fraction(1), protects=unit)
    sizes = [("1-way TV", len(COLUMNS)), ("2-way TV", 3), ("query", len(QUERIES))]
    return [noise_of(kind, tables, price).parameter for kind, tables in sizes]  # type: ignore[arg-type]


@given(
    unit=st.sampled_from(UNITS),
    release=st.lists(rows, min_size=2, max_size=12),
    others=st.lists(rows, min_size=2, max_size=8),
    before=st.lists(rows, min_size=1, max_size=3),
    after=st.lists(rows, min_size=1, max_size=3),
)
def test_a_unit_changes_no_figure_by_more_than_its_noise_is_made_for(
    unit: Unit,
    release: list[tuple[int, ...]],
    others: list[tuple[int, ...]],
    before: list[tuple[int, ...]],
    after: list[tuple[int, ...]],
) -> None:
    before, after = before[: unit.rows], after[: unit.rows]
    asked = question(release)
    one, _ = asked.exact(dataset(COLUMNS, [*others, *before]))
    other, _ = asked.exact(dataset(COLUMNS, [*others, *(after if unit.neighbours == "replace" else [])]))
    assert all(moved <= bound for moved, bound in zip(change(one, other), bounds(unit), strict=True))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.neighbours} {unit.rows}")
def test_the_bounds_are_attained(unit: Unit) -> None:
    first, last = (0, 1, 3), (30, 0, -1)
    crowd = [first] * 9
    asked = question(crowd)
    one, _ = asked.exact(dataset(COLUMNS, crowd))
    stays = crowd[unit.rows :] if unit.neighbours == "replace" else crowd
    other, _ = asked.exact(dataset(COLUMNS, [*stays, *[last] * unit.rows]))
    of_one, of_two, of_named = bounds(unit)
    assert change(one, other)[:2] == (of_one, of_two)
    # No unit moves all three of these queries at once; two of them it does.
    assert change(one, other)[2] >= of_named * Fraction(1, 3)


def test_a_bound_of_one_instead_of_two_would_be_caught() -> None:
    """The broken twin: what noise for an added row would be made for."""
    asked = question([(0, 1, 3)] * 9)
    one, _ = asked.exact(dataset(COLUMNS, [(0, 1, 3)] * 9))
    other, _ = asked.exact(dataset(COLUMNS, [*[(0, 1, 3)] * 8, (30, 0, 2)]))
    assert change(one, other)[0] > bounds(Unit("add-remove"))[0]


@given(release=st.lists(rows, min_size=2, max_size=30), table=st.lists(rows, min_size=2, max_size=30))
def test_with_as_many_rows_a_distance_is_even_and_half_of_it_is_total_variation_times_rows(
    release: list[tuple[int, ...]], table: list[tuple[int, ...]]
) -> None:
    size = min(len(release), len(table))
    asked = question(release[:size])
    exact, rows_read = asked.exact(dataset(COLUMNS, table[:size]))
    assert rows_read == size
    assert exact.one_way % 2 == exact.two_way % 2 == 0
    assert 0 <= exact.one_way <= 2 * size * len(COLUMNS)
    assert asked.exact(dataset(COLUMNS, release[:size]))[0].one_way == 0


@pytest.mark.parametrize("scale", ["1/10", "1", "7/3", "45", "3600", "1234567/11", "900000000"])
def test_an_interval_is_the_narrowest_that_misses_in_at_most_five_of_a_hundred_cases(scale: str) -> None:
    getcontext().prec = 60
    parameter = Fraction(scale)
    q = (-Decimal(parameter.denominator) / Decimal(parameter.numerator)).exp()
    miss = Decimal(1) - Decimal(CONFIDENCE.numerator) / Decimal(CONFIDENCE.denominator)

    def beyond(width: int) -> Decimal:
        return 2 * q ** (width + 1) / (1 + q)

    width = half_width(parameter)
    assert beyond(width) <= miss
    assert width == 0 or beyond(width - 1) > miss


@given(
    noisy=st.integers(-2000, 90_000), rows=st.integers(2, 10**7), scale=st.sampled_from(["1/10", "7/3", "45", "3600"])
)
def test_rounding_makes_no_interval_narrower_and_shows_two_digits_of_its_width(
    noisy: int, rows: int, scale: str
) -> None:
    said = figure_of("query", noisy=noisy, rows=rows, tables=1, epsilon="1", scale=scale, rows_public=True)
    width = half_width(Fraction(scale))
    low, high = Fraction(noisy - width, rows), Fraction(noisy + width, rows)
    assert Fraction(str(said.lower)) <= low and high <= Fraction(str(said.upper))
    unit = max(Fraction(width, rows), Fraction(1, rows)) / 5
    assert low - Fraction(str(said.lower)) <= unit and Fraction(str(said.upper)) - high <= max(unit, Fraction(1, 100))
    assert said.lower <= said.value <= said.upper
