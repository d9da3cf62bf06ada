"""The method `synthetic`, end to end on small tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.errors import PlanError
from rankveil.measure import synthetic
from rankveil.measure.choose import Scores, against_others
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


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "3", "100"])
def test_shares_on_the_certificate_add_up_to_epsilon_exactly(epsilon: str) -> None:
    made = rv.release(mixed_table(), plan(MIXED, epsilon=epsilon), source=SeededSource(3))
    assert sum(Fraction(share.epsilon or 0) for share in made.certificate.shares) == Fraction(epsilon)


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_a_column_that_decides_another_is_kept(delta: str | None) -> None:
    """Sixteen grades by number and by name, one and the same fact, at ε = 1 beside a third column."""
    rng = np.random.default_rng(5)
    grade = np.minimum(rng.geometric(0.15, 20_000) - 1, 15)
    names = [f"grade {place}" for place in range(16)]
    table = pa.table({"number": grade, "name": np.array(names)[grade], "age": rng.integers(0, 80, 20_000)})
    columns = {"number": integer(15), "name": category(names), "age": integer(79)}
    made = rv.release(table, plan(columns).with_(delta=delta), source=SeededSource(1)).table
    assert joint_distance(table, made, "number", "name", names) < 0.15
    apart = table.set_column(1, "name", pa.array(rng.permutation(table["name"].to_numpy(zero_copy_only=False))))
    assert joint_distance(table, apart, "number", "name", names) > 0.7, "what is lost if nothing links them"


def joint_distance(one: pa.Table, other: pa.Table, number: str, name: str, names: list[str]) -> float:
    """Total variation between the two-way tables."""
    found = []
    for each in (one, other):
        places = np.array([names.index(label) for label in each[name].to_pylist()])
        both = each[number].to_numpy() * len(names) + places
        found.append(np.bincount(both, minlength=16 * len(names)) / each.num_rows)
    return float(np.abs(found[0] - found[1]).sum() / 2)


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_three_yes_or_no_columns_of_which_two_decide_the_third_are_kept(delta: str | None) -> None:
    """No two of them depend on each other: only a parity of all three shows it."""
    rng = np.random.default_rng(6)
    bits = rng.integers(0, 2, (20_000, 4)).astype(bool)
    bits[:, 2] = bits[:, 0] ^ bits[:, 1]
    table = pa.table({f"c{place}": bits[:, place] for place in range(4)})
    columns = {f"c{place}": 'kind = "boolean"' for place in range(4)}
    release = rv.release(table, plan(columns, epsilon=2).with_(delta=delta), source=SeededSource(2))
    made = np.stack([release.table[name].to_numpy(zero_copy_only=False) for name in columns])
    assert (made[0] ^ made[1] == made[2]).mean() > 0.95
    assert abs((made[0] ^ made[1] == made[3]).mean() - 0.5) < 0.05
    assert any("T47" in share.theorems for share in release.certificate.shares)


def difference_of_means(table: pa.Table) -> float:
    age, sex = np.asarray(table["age"]), np.asarray(table["sex"])
    return float(age[sex].mean() - age[~sex].mean())


def test_columns_that_both_decide_a_third_do_not_come_out_dependent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pay depends on age and on sex, which have little to do with each other; seeds are fixed."""
    rng = np.random.default_rng(5)
    man = rng.integers(0, 2, 20_000)
    age = np.clip(np.round(rng.normal(45.5 - man, 12, 20_000)), 18, 90).astype(np.int64)
    pay = np.round(2000 * np.exp(rng.normal(0, 0.25, 20_000) + 0.015 * (age - 45) + 0.5 * man)).astype(np.int64)
    table = pa.table({"age": age, "sex": man == 1, "pay": pay.clip(0, 50_000), "region": rng.integers(0, 5, 20_000)})
    columns = {"age": integer(90), "sex": 'kind = "boolean"', "pay": integer(50_000), "region": integer(4)}
    asked = plan(columns).with_(delta="1e-9")

    def mean_error() -> float:
        made = [rv.release(table, asked, source=SeededSource(seed)).table for seed in range(4)]
        return float(np.mean([abs(difference_of_means(each) - difference_of_means(table)) for each in made]))

    assert mean_error() < 1
    monkeypatch.setattr(synthetic, "against_others", lambda pairs, scores, *_: scores)
    assert mean_error() > 2, "pairs that are chosen by their own distance from independence alone"


def test_what_a_pair_would_come_out_as_through_a_third_column_counts() -> None:
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    scores = Scores(np.array([500.0, 400.0, 10.0, -5.0]), np.array([0.5, 0.4, 0.01, 0.0]))
    chosen = pairs[:2]
    assert against_others(pairs, scores, chosen, 500).gain.tolist() == [500, 400, 0.5 * 0.4 * 1000 - 10, 0]
    # A chain, in which the third pair is as dependent as the others make it, needs no table more than before.
    chain = Scores(np.array([500.0, 400.0, 200.0, 5.0]), np.array([0.5, 0.4, 0.2, 0.0]))
    assert against_others(pairs, chain, chosen, 500).gain.tolist() == [500, 400, 200, 5]


def test_what_the_plan_is_interested_in_is_kept_better() -> None:
    """Six pairs of columns and a budget that keeps them by halves; seeds are fixed."""
    rng = np.random.default_rng(7)
    same, own = rng.integers(0, 10, (3000, 6)), rng.integers(0, 10, (3000, 12))
    values = {f"c{place}": np.where(rng.random(3000) < 0.75, same[:, place // 2], own[:, place]) for place in range(12)}
    columns = {name: integer(9) for name in values}
    kept = []
    for entry in ("", '[[interest]]\ntarget = "c11"'):
        tables = [
            rv.release(pa.table(values), plan(columns, epsilon=2, more=entry), source=SeededSource(seed)).table
            for seed in range(4)
        ]
        kept.append(np.mean([np.corrcoef(made["c10"].to_numpy(), made["c11"].to_numpy())[0, 1] for made in tables]))
    assert kept[1] > kept[0] + 0.03


@pytest.mark.parametrize(("delta", "least"), [(None, 0.95), ("1e-6", 0.5)])
def test_labels_beyond_the_sixteenth_are_linked(delta: str | None, least: float) -> None:
    """A hundred and fifty labels, each with numbers of its own beside it."""
    rng = np.random.default_rng(9)
    place = rng.integers(0, 150, 30_000)
    names = [f"town {each:03}" for each in range(150)]
    table = pa.table({"town": np.array(names)[place], "height": place * 3 + rng.integers(0, 3, len(place))})
    columns = {"town": category(names), "height": integer(449)}
    made = rv.release(table, plan(columns, epsilon=10).with_(delta=delta), source=SeededSource(1)).table
    towns = np.array([names.index(town) for town in made["town"].to_pylist()])
    assert len(np.unique(towns)) > 145
    assert np.corrcoef(towns, made["height"].to_numpy())[0, 1] > least


def test_as_many_cells_as_a_byte_holds_and_missing_values_besides() -> None:
    """Missing is a cell of its own: the 257th would be taken for the first."""
    rng = np.random.default_rng(3)
    names = [f"l{place}" for place in range(300)]
    place = rng.integers(0, 300, 30_000)
    gone = rng.random(30_000) < 0.2
    table = pa.table(
        {
            "n": pa.array(place * 7, mask=gone),
            "l": pa.array(np.array(names)[place], mask=gone),
            "m": pa.array(gone.astype(np.int64)),
        }
    )
    columns = {"n": integer(2100, more="null = true"), "l": category(names, more="null = true"), "m": integer(1)}
    made = rv.release(table, plan(columns, epsilon=1000), source=SeededSource(1)).table
    for name in "nl":
        missing = np.asarray(made[name].is_null())
        assert missing.mean() == pytest.approx(gone.mean(), abs=0.01)
        assert (missing == (made["m"].to_numpy() == 1)).mean() > 0.95


def test_with_a_delta_shares_are_paid_in_rho_and_epsilon_is_not_claimed_pure() -> None:
    made = rv.release(mixed_table(), plan(MIXED).with_(delta="1e-9"), source=SeededSource(4))
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
    sex, role = RNG.choice(["f", "m"], ROWS), RNG.choice(["spouse", "none"], ROWS)
    role = np.where(role == "none", role, np.where(sex == "f", "wife", "husband"))
    table = pa.table({"sex": sex, "role": role})
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
    with pytest.raises(PlanError, match="No row that the plan allows can obey entry 1 of `impossible`"):
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
    assert sum(Fraction(share.epsilon or 0) for share in made.certificate.shares) == 1


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
        (
            pa.table({"a": [f"l{i % 300}" for i in range(400)], "b": [i % 7 for i in range(400)]}),
            {"a": category([f"l{i}" for i in range(300)], more="null = true"), "b": integer(9, more="null = true")},
        ),
        (
            pa.table({"a": pa.array([None] * 50, pa.int64()), "b": pa.array([None] * 50, pa.string())}),
            {"a": integer(9, more="null = true"), "b": category(["x", "y"], more="null = true")},
        ),
        (
            pa.table({"a": [1, 2] * 40, "b": [1, 2] * 40}),
            {"a": integer(9, more='role = "public"'), "b": integer(9)},
        ),
        (pa.table({f"c{i}": [True] * 60 for i in range(5)}), {f"c{i}": 'kind = "boolean"' for i in range(5)}),
    ],
    ids=[
        "two rows",
        "a constant",
        "one label",
        "all missing",
        "more columns than the budget links",
        "300 labels",
        "nothing but missing",
        "a public column",
        "yes and only yes",
    ],
)
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
@pytest.mark.parametrize("delta", [None, "1e-9"])
def test_odd_tables_are_released_without_complaint(
    table: pa.Table, columns: dict[str, str], epsilon: str, delta: str | None
) -> None:
    made = rv.release(table, plan(columns, epsilon=epsilon).with_(delta=delta), source=SeededSource(12))
    assert made.table.num_rows == table.num_rows
    assert made.table.column_names == table.column_names
