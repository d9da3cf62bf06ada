"""The language of rules: what it means, exactly, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.declare.derive import Shape
from rankveil.declare.domain import MISSING, Grid, Nominal
from rankveil.declare.expression import Any as Either
from rankveil.declare.expression import Call, Comparison, Name, Number, clauses, parse
from rankveil.declare.reading import day_number
from rankveil.declare.values import condition, value
from rankveil.errors import PlanError
from rankveil.taxonomy import flat_taxonomy

SHAPES = {
    "age": Shape("age", Grid(110), allows_null=False),
    "price": Shape("price", Grid(50, Decimal("0.1"), Decimal("0.1"), whole=False), allows_null=True),
    "born": Shape("born", Grid(40_000, Decimal(0), date_format="%Y-%m-%d"), allows_null=True),
    "job": Shape("job", Nominal(flat_taxonomy(("cook", "smith", "it's"), name="job")), allows_null=True),
    "level": Shape("level", Grid(2, labels=("low", "mid", "high")), allows_null=True),
    "marital-status": Shape(
        "marital-status", Nominal(flat_taxonomy(("single", "married"), name="m")), allows_null=True
    ),
    "smoker": Shape("smoker", Nominal(flat_taxonomy(("false", "true"), name="s"), boolean=True), allows_null=True),
    "hours": Shape("hours", Grid(80, special=(Decimal(99), Decimal(-9))), allows_null=True),
}


def held(text: str, **codes: list[int]) -> list[bool]:
    columns = {name: SHAPES[name.replace("_", "-")].series(np.array(each)) for name, each in codes.items()}
    columns = {name.replace("_", "-"): series for name, series in columns.items()}
    return condition(parse(text, "Rule 1"), columns).tolist()


@pytest.mark.parametrize(
    ("text", "codes", "expected"),
    [
        ("age < 15", {"age": [14, 15]}, [True, False]),
        ("age between 10 and 20", {"age": [9, 10, 20, 21]}, [False, True, True, False]),
        ("not age < 15 and age < 20 or age = 1", {"age": [1, 10, 16, 30]}, [True, False, True, False]),
        ("job in ['cook', 'it''s']", {"job": [0, 1, 2, MISSING]}, [True, False, True, False]),
        ("job not in ['cook']", {"job": [0, 1, MISSING]}, [False, True, False]),
        ("job != 'cook'", {"job": [0, 1, MISSING]}, [False, True, False]),
        ("not job = 'cook'", {"job": [0, 1, MISSING]}, [False, True, True]),
        ("job is missing", {"job": [0, MISSING]}, [False, True]),
        ("job is not missing", {"job": [0, MISSING]}, [True, False]),
        ("level < 'high'", {"level": [0, 1, 2, MISSING]}, [True, True, False, False]),
        ("smoker", {"smoker": [0, 1, MISSING]}, [False, True, False]),
        ("smoker = true or not smoker", {"smoker": [0, 1, MISSING]}, [True, True, True]),
        ("`marital-status` = 'married'", {"marital_status": [0, 1]}, [False, True]),
        ("price + 0.2 = 0.5", {"price": [2, 3, MISSING]}, [True, False, False]),  # 0.3 + 0.2, exactly
        ("price * 3 = 0.9", {"price": [2]}, [True]),
        ("price // 1 = 5 and price % 1 = 0", {"price": [49, 48]}, [True, False]),
        ("-age // 10 = -2", {"age": [15, 20, 21]}, [True, True, False]),  # rounded down
        ("hours = 99 or hours = -9", {"hours": [80, 81, 82, MISSING]}, [False, True, True, False]),
        ("min(age, 10) = max(age, 10)", {"age": [9, 10]}, [False, True]),
        ("abs(age - 10) = 3", {"age": [7, 13, 10]}, [True, True, False]),
    ],
)
def test_conditions_mean_what_they_say(text: str, codes: dict[str, list[int]], expected: list[bool]) -> None:
    assert held(text, **codes) == expected


def test_dates_are_compared_subtracted_and_taken_apart() -> None:
    day = day_number(__import__("datetime").date(2020, 2, 29))
    assert held("born = '2020-02-29'", born=[day, day + 1, MISSING]) == [True, False, False]
    assert held("year(born) = 2020 and month(born) = 2", born=[day, day + 1]) == [True, False]
    assert held("born - 59 = '2020-01-01'", born=[day]) == [True]
    columns = {"born": SHAPES["born"].series(np.array([day, 0]))}
    assert value(parse("born - (born - 5)", ""), columns).numbers.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age <", "a value is expected"),
        ("age < 15 15", "is not expected, at character 10"),
        ("age / 2 = 1", "Use // for division"),
        ("age ? 2", "'?' is not understood, at character 5"),
        ("(age < 3", "')' is expected"),
        ("foo(age) = 1", "no function 'foo'"),
        ("min(age) = 1", "min takes 2 values, not 1"),
        ("age // 0 = 1", "division by zero"),
        ("5 % age = 1", "may be zero"),
        ("age // (age - 5) = 1", "may be zero"),
        ("age = 'x'", "a number is compared with a text"),
        ("job = 3", "a label is compared with a number"),
        ("job = 'baker'", "'baker' is no label"),
        ("job < 'cook'", "without an order"),
        ("born = '31.1.2020'", "is no date"),
        ("age is missing", "cannot be missing"),
        ("age", "where a condition is expected"),
        ("age and age < 3", "where a condition is expected"),
        ("age + 1", "where a condition is expected"),
        ("(age < 3) + 1 = 2", "a condition stands where a value"),
        ("job + 1 = 2", "takes numbers and dates"),
        ("born * 2 = 3", "does not go with"),
        ("age in [age]", "a list holds"),
        ("age * age * age * age * age * age * age * age * age * age > 1", "too large"),
        ("age > 1e-30", "too large, or has too many decimals"),
        ("'a' = 'b'", "two constants"),
        ("age = 1 and " * 400 + "age = 1", "more than 500"),
        ("not " * 450 + "smoker", None),
    ],
)
def test_mistakes_are_refused_in_words(text: str, said: str | None) -> None:
    every = {name: shape.series(np.zeros(0, np.int64)) for name, shape in SHAPES.items()}
    if said is None:
        condition(parse(text, "Rule 1"), every)
        return
    with pytest.raises(PlanError) as refused:
        condition(parse(text, "Rule 1"), every)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "text", ["__import__('os').system('x') = 1", "age.real = 1", "lambda: 1", "age; age", "f'{age}'"]
)
def test_nothing_that_python_would_run_is_understood(text: str) -> None:
    with pytest.raises(PlanError):
        condition(parse(text, "Rule 1"), {"age": SHAPES["age"].series(np.zeros(1, np.int64))})


# Against plain fractions, one row at a time

_LEAVES = st.sampled_from(["age", "price", "hours", "3", "0.25", "2"])


def _sums(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda each: f"({each[0]} {each[1]} {each[2]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["3", "0.25"])).map(
            lambda each: f"({each[0]} {each[1]} {each[2]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda each: f"{each[0]}({each[1]}, {each[2]})"),
    )


def plain(node: Any, row: Mapping[str, Fraction | None]) -> Fraction | None:
    """What a tree is worth for one row, in fractions."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        return row[node.column]
    assert isinstance(node, Call)
    given = [plain(each, row) for each in node.arguments]
    if any(each is None for each in given):
        return None
    a, b = given[0], given[-1]
    assert a is not None and b is not None
    made = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: Fraction(a // b), "%": lambda: a % b,
        "min": lambda: min(a, b), "max": lambda: max(a, b),
    }  # fmt: skip
    return made[node.function]()


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(_LEAVES, _sums, max_leaves=5),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.recursive(_LEAVES, _sums, max_leaves=3),
    st.tuples(st.integers(0, 110), st.integers(-1, 50), st.integers(-1, 82)),
)
def test_arithmetic_is_exact(left: str, sign: str, right: str, codes: tuple[int, int, int]) -> None:
    row: dict[str, Fraction | None] = {
        "age": Fraction(codes[0]),
        "price": None if codes[1] < 0 else Fraction(codes[1] + 1, 10),
        "hours": None if codes[2] < 0 else Fraction({81: 99, 82: -9}.get(codes[2], codes[2])),
    }
    node = parse(f"{left} {sign} {right}", "")
    assert isinstance(node, Comparison)
    a, b = plain(node.left, row), plain(node.right, row)
    compared = {"=": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[sign]
    expected = a is not None and b is not None and getattr(a, compared)(b)
    columns = {name: SHAPES[name].series(np.array([code])) for name, code in zip(row, codes, strict=True)}
    assert condition(node, columns).tolist() == [expected]
    # The limits that were computed beside it hold.
    series = value(node.left, columns)
    assert series.low <= series.numbers[0] <= series.high


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_clauses_hold_together_exactly_where_the_whole_does(data: st.DataObject) -> None:
    leaf = st.sampled_from(["age < 2", "job = 'cook'", "job is missing", "smoker", "level > 'low'"])

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join).map("({})".format)
        return joined | inner.map("not ({})".format)

    node = parse(data.draw(st.recursive(leaf, grown, max_leaves=8)), "")
    grids = np.meshgrid([0, 1, 2, 3], [0, 1, MISSING], [0, 1, MISSING], [0, 1, MISSING])
    columns = {
        name: SHAPES[name].series(grid.ravel())
        for name, grid in zip(("age", "job", "smoker", "level"), grids, strict=True)
    }
    whole = condition(node, columns)
    together = np.logical_and.reduce([condition(clause, columns) for clause in clauses(node)])
    assert (whole == together).all()


def test_a_conjunction_after_when_becomes_clauses_of_two_columns() -> None:
    node = Either((parse("not age < 15", ""), parse("job is missing and level is missing", "")))
    assert len(clauses(node)) == 2
