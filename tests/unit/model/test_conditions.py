"""Rows given a condition: as many as asked for, all of which fulfil it, with the law that throwing away would give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import rankveil as rv
from rankveil.draw import again
from rankveil.draw.again import given
from rankveil.errors import PlanError
from rankveil.noise import Sampler, SeededSource
from tests.support import category, integer, plan_text

COLUMNS = {
    "age": integer(99, more="null = true"),
    "pay": 'kind = "integer"\nlower = 0\nupper = 5000000',
    "hours": integer(80),
    "sex": category(["f", "m"]),
    "born": 'kind = "date"\nlower = 1950-01-01\nupper = 2020-12-31',
    "half": integer(50, more='null = true\nderived = { by = "age // 2" }'),
}


def people(rows: int = 20_000) -> pa.Table:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, rows)
    missing = rng.random(rows) < 0.1
    return pa.table(
        {
            "age": pa.array(age, mask=missing),
            "pay": np.exp(rng.normal(9 + age / 50, 1, rows)).astype(int).clip(0, 5_000_000),
            "hours": rng.integers(0, 81, rows),
            "sex": np.where(rng.random(rows) < age / 100, "m", "f"),
            "born": pa.array(rng.integers(-7305, 18627, rows).astype("datetime64[D]")),
            "half": pa.array(age // 2, mask=missing),
        }
    )


@pytest.fixture(scope="module")
def model() -> rv.Model:
    plan = rv.Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon=8))
    return rv.fit(people(), plan, source=SeededSource(1))


CONDITIONS = {
    "age >= 65": lambda rows: rows.age >= 65,
    "age = 37 and sex = 'm'": lambda rows: (rows.age == 37) & (rows.sex == "m"),
    "age is missing": lambda rows: rows.age.isna(),
    "not age < 50": lambda rows: ~(rows.age < 50),
    "age % 10 = 3": lambda rows: rows.age % 10 == 3,
    "pay between 12000 and 12400": lambda rows: rows.pay.between(12000, 12400),
    "pay > 100000 and pay % 2 = 1": lambda rows: (rows.pay > 100_000) & (rows.pay % 2 == 1),
    "half in [3, 40]": lambda rows: rows.half.isin([3, 40]),
    "born < '1951-01-01' and month(born) = 7": lambda rows: rows.born.astype(str).str.startswith("1950-07"),
    "age > 90 or hours < 5": lambda rows: (rows.age > 90) | (rows.hours < 5),
    "age < hours and sex = 'f'": lambda rows: (rows.age < rows.hours) & (rows.sex == "f"),
    "age = hours": lambda rows: rows.age == rows.hours,
}


@pytest.mark.parametrize("where", CONDITIONS)
def test_every_row_fulfils_the_condition_and_there_are_as_many_as_asked_for(where: str, model: rv.Model) -> None:
    rows = model.sample(2000, where=where, source=SeededSource(3)).to_pandas()
    assert len(rows) == 2000
    assert CONDITIONS[where](rows).all()
    assert (rows.half.dropna() == (rows.age // 2).dropna()).all()


def distance(one: pa.ChunkedArray, other: pa.ChunkedArray) -> float:
    """Total variation between the shares of values."""
    shares = [
        dict(zip(*(part.to_pylist() for part in pc.value_counts(each).flatten()), strict=True)) for each in (one, other)
    ]
    keys = shares[0].keys() | shares[1].keys()
    return sum(abs(shares[0].get(key, 0) / len(one) - shares[1].get(key, 0) / len(other)) for key in keys) / 2


@pytest.mark.parametrize("where", ["age >= 65", "age > 90 or hours < 5", "age < hours and sex = 'f'", "pay > 20000"])
def test_conditioning_has_the_law_of_throwing_other_rows_away(where: str, model: rv.Model) -> None:
    every = model.sample(400_000, source=SeededSource(4))
    thrown = every.filter(pa.array(CONDITIONS.get(where, lambda rows: rows.pay > 20_000)(every.to_pandas())))
    drawn = model.sample(thrown.num_rows, where=where, source=SeededSource(5))
    for name in ("age", "sex", "hours"):
        # Two samples of n rows over k values are about sqrt(k / (pi n)) apart; rows of the fit are rounded besides.
        values = len(pc.unique(thrown[name]))
        assert distance(thrown[name], drawn[name]) < 2 * np.sqrt(values / (np.pi * thrown.num_rows)) + 0.01, name
    share = given(model.fitted, model.schema, where, Sampler(SeededSource(6))).share
    assert share == pytest.approx(thrown.num_rows / every.num_rows, rel=0.05)


def test_the_comparison_of_laws_catches_a_condition_that_leaves_weights_alone(
    model: rv.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = model.sample(400_000, source=SeededSource(4))
    thrown = every.filter(pc.greater_equal(every["age"], 65))
    narrowed = again._narrowed
    monkeypatch.setattr(again, "_narrowed", lambda *how: (narrowed(*how)[0], np.where(narrowed(*how)[1] > 0, 1.0, 0.0)))
    monkeypatch.setattr(again, "_heavier_than_nothing", lambda model, weights, where: model)
    drawn = model.sample(thrown.num_rows, where="age >= 65", source=SeededSource(5))
    assert distance(thrown["sex"], drawn["sex"]) > 0.05


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("age > 200", "no row that fulfils"),
        ("age < 20 and age > 30", "no row that fulfils"),
        ("pay = 7 and age < age", "no row that fulfils"),
        ("weight > 3", "names column 'weight'"),
        ("age > 'old'", "a number is compared with a text"),
        ("sex = 'x'", "no label"),
        ("age >", "expected"),
        ("1 = 1", "no column"),
        ("", "expected"),
    ],
)
def test_a_condition_that_nobody_fulfils_or_that_means_nothing_is_refused(
    where: str, said: str, model: rv.Model
) -> None:
    with pytest.raises(PlanError, match=said) as refused:
        model.sample(5, where=where, source=SeededSource(1))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("count", [0, -3, 2.5])
def test_no_rows_and_half_a_row_cannot_be_drawn(count: float, model: rv.Model) -> None:
    with pytest.raises(PlanError, match="cannot be drawn"):
        model.sample(count)  # type: ignore[arg-type]


def test_a_rare_condition_costs_no_more_than_a_frequent_one(model: rv.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record in many thousands: throwing away would draw millions of rows."""
    asked: list[int] = []
    drawn = again.RowMaker._rows

    def counting(self: again.RowMaker, count: int, *how: object) -> object:
        asked.append(count)
        return drawn(self, count, *how)  # type: ignore[arg-type]

    monkeypatch.setattr(again.RowMaker, "_rows", counting)
    where = "age = 37 and born between '1960-05-01' and '1960-05-03'"
    assert given(model.fitted, model.schema, where, Sampler(SeededSource(6))).share < 1e-4
    model.sample(500, where=where, source=SeededSource(7))
    assert sum(asked) == 500
