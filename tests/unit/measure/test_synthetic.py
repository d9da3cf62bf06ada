"""The method `synthetic`, end to end on small tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.errors import PlanError
from rankveil.noise import SeededSource
from tests.support import category, integer, plan_text

RNG = np.random.default_rng(11)
ROWS = 4000


def mixed_table() -> pa.Table:
    base = RNG.normal(size=ROWS)
    income = np.exp(9 + base)
    return pa.table(
        {
            "income": pa.array([None if i % 7 == 0 else round(float(x), 2) for i, x in enumerate(income)]),
            "born": pa.array((np.clip(4000 + 3000 * base, 0, 18000)).astype(np.int64).astype("datetime64[D]")),
            "member": pa.array(base > 0.3),
            "grade": pa.array(np.array(["low", "mid", "high"])[np.digitize(base, [-0.5, 0.5])]),
            "town": pa.array(RNG.choice(["A", "B", "C"], ROWS, p=[0.6, 0.3, 0.1])).dictionary_encode(),
        }
    )


MIXED = {
    "income": 'kind = "number"\nlower = 0\nupper = 10000000\nstep = 0.01\nscale = "log"\nnull = true\nclamp = true',
    "born": 'kind = "date"\nlower = 1970-01-01\nupper = 2020-12-31',
    "member": 'kind = "boolean"',
    "grade": 'kind = "ordinal"\ncategories = ["low", "mid", "high"]',
    "town": category(["A", "B", "C", "D"]),
}


def plan(columns: dict[str, str], *, epsilon: object = 1, more: str = "") -> rv.Plan:
    text = plan_text(columns, method="synthetic", epsilon=epsilon)
    return rv.Plan.parse(text.replace("[columns", more + "\n[columns", 1))


def test_every_kind_of_column_comes_back_in_the_type_of_its_kind_and_in_its_domain() -> None:
    table = mixed_table()
    made = rv.release(table, plan(MIXED, epsilon=5), source=SeededSource(1))
    kinds = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32(), "boolean": pa.bool_()}
    for note in made.certificate.columns:
        assert made.table.schema.field(note.name).type == kinds.get(note.kind, pa.string())
    assert made.table.num_rows == ROWS
    income = made.table["income"].drop_null().to_numpy()
    assert income.min() >= 0
    assert income.max() <= 10_000_000
    assert np.allclose(income * 100, np.rint(income * 100))
    assert set(made.table["grade"].to_pylist()) <= {"low", "mid", "high"}
    assert made.certificate.row_aligned is False
    assert made.certificate.for_release is False


def test_missing_values_and_dependence_survive_at_a_large_epsilon() -> None:
    table = mixed_table()
    made = rv.release(table, plan(MIXED, epsilon=50), source=SeededSource(2)).table
    assert made["income"].null_count == pytest.approx(table["income"].null_count, rel=0.1)
    before, after = (
        np.corrcoef(t["member"].to_numpy(), t["born"].cast(pa.int32()).to_numpy())[0, 1] for t in (table, made)
    )
    assert after == pytest.approx(before, abs=0.08)


def test_shares_on_the_certificate_add_up_to_epsilon_exactly() -> None:
    made = rv.release(mixed_table(), plan(MIXED, epsilon="0.3"), source=SeededSource(3))
    assert sum(Fraction(share.epsilon) for share in made.certificate.shares) == Fraction(3, 10)


def test_with_a_delta_shares_are_paid_in_rho_and_epsilon_is_not_claimed_pure() -> None:
    made = rv.release(mixed_table(), plan(MIXED).with_release(delta="1e-9"), source=SeededSource(4))
    assert made.certificate.delta == "0.000000001"
    assert all(share.epsilon is None and share.rho is not None for share in made.certificate.shares)
    assert "δ" in made.certificate.statement


def test_the_certificate_says_how_a_column_was_counted() -> None:
    made = rv.release(mixed_table(), plan(MIXED), source=SeededSource(5))
    assert "counts of" in next(share.mechanism for share in made.certificate.shares if share.column == "income")


def test_the_same_seed_gives_the_same_release_and_another_seed_another() -> None:
    table = mixed_table()
    first, again, other = (rv.release(table, plan(MIXED), source=SeededSource(seed)).table for seed in (6, 6, 7))
    assert first.equals(again)
    assert not first.equals(other)


def test_public_columns_are_kept_in_another_order_and_the_others_follow_them() -> None:
    group = RNG.integers(0, 4, ROWS)
    table = pa.table({"group": group, "value": (group * 20 + RNG.integers(0, 10, ROWS))})
    columns = {"group": integer(3, more='role = "public"'), "value": integer(99)}
    made = rv.release(table, plan(columns, epsilon=5), source=SeededSource(8))
    kept = made.table["group"].to_numpy()
    assert sorted(kept) == sorted(group)
    assert kept.tolist() != group.tolist()
    assert np.corrcoef(made.table["value"].to_numpy(), kept)[0, 1] > 0.9
    assert "known to everyone" in made.certificate.neighbours
    assert not any(share.column == "group" for share in made.certificate.shares)


def test_impossible_combinations_never_appear() -> None:
    table = pa.table({"sex": RNG.choice(["f", "m"], ROWS), "role": RNG.choice(["wife", "husband", "none"], ROWS)})
    columns = {"sex": category(["f", "m"]), "role": category(["wife", "husband", "none"])}
    more = '[[impossible]]\nsex = "m"\nrole = "wife"\n[[impossible]]\nsex = "f"\nrole = ["husband"]'
    made = rv.release(table, plan(columns, more=more), source=SeededSource(9)).table
    seen = set(zip(made["sex"].to_pylist(), made["role"].to_pylist(), strict=True))
    assert ("m", "wife") not in seen
    assert ("f", "husband") not in seen
    assert made.num_rows == ROWS


def test_an_impossible_entry_with_an_unknown_label_or_column_is_refused() -> None:
    columns = {"sex": category(["f", "m"])}
    for entry in ('sex = "x"', 'age = "m"'):
        with pytest.raises(PlanError, match="impossible"):
            rv.release(pa.table({"sex": ["f", "m"]}), plan(columns, more=f"[[impossible]]\n{entry}"))


def test_a_plan_that_forbids_every_row_is_refused_instead_of_looping() -> None:
    table = pa.table({"sex": RNG.choice(["f", "m"], 100)})
    with pytest.raises(PlanError, match="leave no row"):
        rv.release(table, plan({"sex": category(["f", "m"])}, more='[[impossible]]\nsex = ["f", "m"]'))


def test_private_bounds_enclose_nearly_all_values_and_are_paid_for() -> None:
    rng, rows = np.random.default_rng(11), 40_000
    table = pa.table({"a": rng.integers(3, 5000, rows), "b": -rng.lognormal(3, 1, rows)})
    columns = {"a": 'kind = "integer"\nbounds = "private"', "b": 'kind = "number"\nstep = 0.01\nbounds = "private"'}
    made = rv.release(table, plan(columns), source=SeededSource(10))
    a, b = made.certificate.columns
    assert a.lower == "0"
    assert 4096 <= int(a.upper or 0) <= 8192
    assert float(b.lower or 0) < -100
    assert float(b.upper or 1) == 0
    assert made.certificate.shares[0].mechanism == "noisy histogram for bounds"
    assert sum(Fraction(share.epsilon) for share in made.certificate.shares) == 1


def test_bounds_must_be_public_or_private_but_not_both() -> None:
    for entry in ('kind = "integer"\nlower = 0', 'kind = "integer"\nlower = 0\nupper = 5\nbounds = "private"'):
        with pytest.raises(PlanError):
            plan({"a": entry})


@pytest.mark.parametrize(
    "table, columns",
    [
        (pa.table({"a": [1, 5], "b": ["x", "y"]}), {"a": integer(9), "b": category(["x", "y"])}),
        (pa.table({"a": [3] * 300}), {"a": integer(99999)}),
        (pa.table({"a": ["x"] * 50, "b": [1] * 50}), {"a": category(["x"]), "b": integer(5)}),
        (
            pa.table({"a": pa.array([None] * 50, pa.int64()), "b": [1] * 50}),
            {"a": integer(9, more="null = true"), "b": integer(5)},
        ),
        (pa.table({f"c{i}": RNG.integers(0, 3, 60) for i in range(25)}), {f"c{i}": integer(2) for i in range(25)}),
    ],
    ids=["two rows", "a constant", "one label", "all missing", "more columns than the budget links"],
)
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
def test_odd_tables_are_released_without_complaint(table: pa.Table, columns: dict[str, str], epsilon: str) -> None:
    made = rv.release(table, plan(columns, epsilon=epsilon), source=SeededSource(12))
    assert made.table.num_rows == table.num_rows
    assert made.table.column_names == table.column_names
