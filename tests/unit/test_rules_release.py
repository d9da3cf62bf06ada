"""Releases of the census-like example: every row obeys, whatever the budget, and the rest works with such plans."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import rankveil as rv
from rankveil.compare.stand_in import made_table
from rankveil.declare import declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.methods import budget_of, method_named
from rankveil.noise import SeededSource
from rankveil.verify import verify

EXAMPLE = Path(__file__).parents[2] / "examples" / "rules"
COMPUTED = {"age_group", "birth_year", "minor", "education_years", "sector"}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    table: pa.Table = runpy.run_path(str(EXAMPLE / "make_people.py"))["tables"]()[0]
    return table


@pytest.fixture(scope="module")
def plan() -> rv.Plan:
    return rv.Plan.load(EXAMPLE / "people.toml")


def broken(table: pa.Table) -> dict[str, int]:
    """Rows that break what the example promises: written anew, without the language of rules."""
    frame = {name: np.array(table[name].to_pylist(), dtype=object) for name in table.column_names}
    none = {name: np.array([each is None for each in values]) for name, values in frame.items()}
    age, size, children = (frame[name].astype(int) for name in ("age", "household_size", "children"))
    works, shared = frame["status"] == "employed", np.isin(frame["housing"].astype(str), ["institution", "dormitory"])
    years = np.where(none["education_years"], 0, frame["education_years"]).astype(int)
    sectors = dict(line.split(",") for line in (EXAMPLE / "sectors.csv").read_text().split()[1:])
    bands = np.array(["0-14", "15-24", "25-44", "45-64", "65+"])[np.digitize(age, [15, 25, 45, 65])]
    wrong = {
        "under 15": (age < 15) & ~(none["marital"] & none["status"] & none["income"]),
        "from 15": (age >= 15) & (none["marital"] | none["status"] | none["income"]),
        "school": (age < 6) != none["education"],
        "work": (works == none["industry"]) | (works == none["hours"]),
        "children": size <= children,
        "housing": (shared != (frame["tenure"] == "none")) | (shared != (frame["role"] == "resident")),
        "partner": (frame["role"] == "partner")
        & ~(np.isin(frame["marital"].astype(str), ["married", "union"]) & (size > 1)),
        "role": (frame["role"] != "child") & (age < 16),
        "years": (years > 12) & (age - years < 6),
        "age group": frame["age_group"] != bands,
        "birth year": frame["birth_year"].astype(int) != 2025 - age,
        "minor": frame["minor"].astype(str) != np.where(age < 18, "True", "False"),
        "sector": np.array([sectors.get(i) != s for i, s in zip(frame["industry"], frame["sector"], strict=True)]),
    }
    return {name: int(each.sum()) for name, each in wrong.items()}


def drawn(table: pa.Table, plan: rv.Plan, seed: int = 1) -> pa.Table:
    return rv.release(table, plan, source=SeededSource(seed)).table


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-9"), ("10", "1e-9"), ("0.003", None), ("0.05", None), ("3", None)]
)
def test_no_row_breaks_a_rule_at_any_budget(people: pa.Table, plan: rv.Plan, epsilon: str, delta: str | None) -> None:
    content = plan.model_dump()
    content["release"] |= {"epsilon": epsilon, "delta": delta}
    made = rv.Plan.from_dict(content, folder=plan.folder)
    released = drawn(people.slice(0, 4000), made)
    assert released.column_names == [name for name in people.column_names if name not in ("household_id", "person_id")]
    assert set(broken(released).values()) == {0}


def test_without_its_rules_the_same_plan_breaks_them(people: pa.Table, plan: rv.Plan) -> None:
    free = rv.Plan.from_dict({**plan.model_dump(), "rule": ()}, folder=plan.folder)
    found = broken(drawn(people.slice(0, 4000), free))
    assert sum(count > 0 for count in found.values()) > 5
    assert all(found[name] == 0 for name in ("age group", "birth year", "minor", "sector")), "these are derived"


@pytest.fixture(scope="module")
def released(people: pa.Table, plan: rv.Plan) -> pa.Table:
    """Of all 20,000 people, by the plan as it is."""
    return drawn(people, plan, 2)


def test_rare_kinds_of_rows_are_not_lost(people: pa.Table, released: pa.Table) -> None:
    """About one in forty lives in an institution, and one in forty is too young for school."""
    for name, value in (("tenure", "none"), ("education", None)):
        shares = [
            pc.mean(pc.fill_null(pc.equal(table[name], value), False) if value else pc.is_null(table[name])).as_py()
            for table in (people, released)
        ]
        assert shares[1] == pytest.approx(shares[0], rel=0.25), name


def test_special_values_keep_their_share_and_nothing_is_smeared_around_them(
    people: pa.Table, released: pa.Table
) -> None:
    for name, value, empty in (("hours", 99, (80, 99)), ("income", -9, (-9, 0))):
        before, after = (table[name].drop_null().to_numpy() for table in (people, released))
        assert (after == value).mean() == pytest.approx((before == value).mean(), abs=0.01)
        assert not ((after > empty[0]) & (after < empty[1])).any()


def test_what_is_no_rule_stays_possible(people: pa.Table, plan: rv.Plan) -> None:
    """No widowed person under 30 is in the table; some are in releases with much noise."""
    young_widows = pc.sum(pc.and_(pc.equal(people["marital"], "widowed"), pc.less(people["age"], 30))).as_py()
    assert young_widows == 0
    for seed in range(3):
        made = drawn(people.slice(0, 4000), plan, seed)
        if pc.sum(pc.and_(pc.equal(made["marital"], "widowed"), pc.less(made["age"], 30))).as_py():
            return
    pytest.fail("none in three releases")


def test_rules_with_public_columns_hold_too(people: pa.Table, plan: rv.Plan) -> None:
    content = plan.model_dump()
    for name in ("housing", "age"):
        content["columns"][name]["role"] = "public"
    released = drawn(people.slice(0, 3000), rv.Plan.from_dict(content, folder=plan.folder))
    assert set(broken(released).values()) == {0}
    assert sorted(released["age"].to_pylist()) == sorted(people["age"].slice(0, 3000).to_pylist())


def test_rules_about_a_column_with_private_bounds_hold_in_its_released_bounds() -> None:
    rng = np.random.default_rng(1)
    gross = rng.integers(0, 3000, 5000)
    table = pa.table({"gross": gross, "net": gross // 2, "tax": gross - gross // 2})
    entry = {"kind": "integer", "bounds": "private"}
    columns = {
        "gross": entry,
        "net": entry,
        "tax": {"kind": "integer", "lower": -1, "upper": 9000, "derived": {"by": "gross - net"}},
    }
    made = rv.Plan.from_dict({"release": {"epsilon": 2}, "columns": columns, "rule": [{"then": "net <= gross"}]})
    released = drawn(table, made)
    assert pc.all(pc.less_equal(released["net"], released["gross"])).as_py()
    assert pc.all(pc.equal(pc.subtract(released["gross"], released["net"]), released["tax"])).as_py()


def test_a_release_is_certified_verified_evaluated_and_previewed(
    people: pa.Table, plan: rv.Plan, tmp_path: Path
) -> None:
    made = rv.release(people, plan, out=tmp_path / "out", ledger=tmp_path / "ledger.sqlite")
    assert verify(tmp_path / "out" / "certificate.json", tmp_path / "out" / "release.parquet").verified
    columns = {column.name: column for column in made.certificate.columns}
    assert {name for name, column in columns.items() if column.derived} == COMPUTED
    assert not COMPUTED & {share.column for share in made.certificate.shares}
    assert columns["hours"].special == ("99",)
    assert columns["weight"].role == "weight"
    assert len(made.certificate.rules or ()) == len(plan.rule)
    found = rv.evaluate(people, tmp_path / "out", plan)
    assert {column.name for column in found.columns} >= COMPUTED
    estimates = {(each.column, each.of, each.label): each for each in found.estimates}
    total = estimates["weight", "total", None]
    assert total.before == pytest.approx(float(np.sum(people["weight"].to_numpy())))
    mean = estimates["age", "mean", None]
    assert mean.before == pytest.approx(np.average(people["age"].to_numpy(), weights=people["weight"].to_numpy()))
    assert mean.after == pytest.approx(mean.before, rel=0.05)
    assert not {note.column for note in method_named("synthetic").planned(plan)} & COMPUTED
    assert rv.preview(plan)


def test_a_changed_special_value_is_found_by_verify(people: pa.Table, plan: rv.Plan, tmp_path: Path) -> None:
    from rankveil.certificate import ColumnNote
    from rankveil.verify.inspection import Inspection

    note = ColumnNote(
        name="hours", kind="integer", role="protected", null=True, lower="1", upper="80", step="1", special=("99",)
    )
    for values, outside in (([1, 80, 99, None], 0), ([98], 1), (["99", "-9"], 1)):
        seen = Inspection(note)
        seen.see(pa.array(values))
        assert seen.outside == outside


def test_a_comparison_and_a_stand_in_know_rules(people: pa.Table, plan: rv.Plan) -> None:
    made = made_table(plan)
    assert all(rule.holds(made.codes).all() for rule in made.schema.checks)
    assert len(np.unique(np.stack(list(made.codes.values())), axis=1)[0]) > made.row_count // 2
    found = rv.compare(people.slice(0, 2000), plan, methods=["synthetic"], epsilons=["1"], runs=1)
    asked = [row for row in found.rows if row.cell.method == "synthetic"]
    assert asked and all(row.finding.measures["pair_total_variation"] for row in asked)


def test_pieces_with_derived_columns_can_be_sent_to_other_machines(people: pa.Table, plan: rv.Plan) -> None:
    opened = open_table(people.slice(0, 2000))
    method = method_named("synthetic")
    rows = method.drawn(method.prepare(Dataset(declare(plan, opened), opened), 1), budget_of(plan), SeededSource(1))
    make = pickle.loads(pickle.dumps(rows.make))
    here, there = rows.make(rows.pieces[0]), make(rows.pieces[0])
    assert set(here) == set(rows.schema.names)
    assert all((here[name] == there[name]).all() for name in here)


def test_the_part_beyond_a_rule_s_threshold_is_measured_by_itself() -> None:
    """A wide column is cut at the constant: its share beyond is as good as any cell's, and so is what depends on it."""
    rng = np.random.default_rng(4)
    income = rng.gamma(2, 10_000, 20_000).astype(int)
    taxed = np.where(income >= 31_737, "yes", "no")
    columns = {
        "income": {"kind": "integer", "lower": 0, "upper": 1_000_000},
        "taxed": {"kind": "category", "categories": ["no", "yes"]},
    }
    rules = [{"when": "income >= 31737", "then": "taxed = 'yes'"}, {"when": "income < 31737", "then": "taxed = 'no'"}]
    made = rv.Plan.from_dict({"release": {"epsilon": "0.5", "delta": "1e-9"}, "columns": columns, "rule": rules})
    released = drawn(pa.table({"income": income, "taxed": taxed}), made)
    beyond = released["income"].to_numpy() >= 31_737
    assert (beyond == (np.array(released["taxed"].to_pylist()) == "yes")).all()
    assert beyond.mean() == pytest.approx((income >= 31_737).mean(), abs=0.01)
