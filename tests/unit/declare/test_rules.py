"""Rules, derived columns and special values in a plan: what is refused, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.declare import Plan, declare, declare_alone, encode
from rankveil.declare.domain import MISSING
from rankveil.declare.draft import draft
from rankveil.declare.plan_file import plan_toml
from rankveil.engines import open_table
from rankveil.errors import DomainError, PlanError

AGE: dict[str, Any] = {"kind": "integer", "lower": 0, "upper": 100}
JOB: dict[str, Any] = {"kind": "category", "categories": ["cook", "smith", "clerk"], "null": True}
GROUP: dict[str, Any] = {"kind": "ordinal", "categories": ["child", "adult", "old"]}


def plan(columns: dict[str, Any], *rules: dict[str, str], folder: Path = Path(), **more: Any) -> Plan:
    content = {"release": {"epsilon": 1}, "columns": columns, "rule": list(rules), **more}
    return Plan.from_dict(content, folder=folder)


def refused(made: Plan, match: str) -> None:
    with pytest.raises(PlanError, match=match) as caught:
        declare_alone(made)
    assert "no budget was spent" in str(caught.value)


# Derived columns


def derived(table: pa.Table, columns: dict[str, Any], name: str, folder: Path = Path()) -> list[Any]:
    """The derived column as computed from the others of a table, which has it as it should be."""
    opened = open_table(table)
    schema = declare(plan(columns, folder=folder), opened)
    records = encode(opened, schema)
    drawn = {column.name: records.codes[column.name] for column in schema.drawn}
    computed = schema.completed(drawn)[name]
    assert (computed == records.codes[name]).all()
    found: list[Any] = (
        next(column for column in schema.columns if column.name == name).domain.decode(computed).to_pylist()
    )
    return found


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        (GROUP | {"derived": {"from": ["age"], "bands": [0, 15, 65]}}, ["child", "child", "adult", "old"]),
        (AGE | {"derived": {"from": ["age"], "bands": [0, 15, 65]}}, [0, 0, 15, 65]),
        (AGE | {"derived": {"by": "age // 10 * 10"}}, [0, 10, 10, 90]),
        (AGE | {"derived": {"by": "100 - age"}}, [100, 86, 85, 1]),
        (AGE | {"clamp": True, "derived": {"by": "age * 2"}}, [0, 28, 30, 100]),
        ({"kind": "boolean", "derived": {"by": "age >= 15"}}, [False, False, True, True]),
        ({"kind": "number", "lower": 0, "upper": 50, "step": "0.5", "derived": {"by": "age * 0.5"}}, [0, 7, 7.5, 49.5]),
    ],
)
def test_a_column_follows_from_numbers(entry: dict[str, Any], values: list[Any]) -> None:
    table = pa.table({"age": [0, 14, 15, 99], "more": values})
    assert derived(table, {"age": AGE, "more": entry}, "more") == values


def test_a_column_follows_from_labels_by_a_list_or_by_a_file(tmp_path: Path) -> None:
    table = pa.table({"job": ["cook", "smith", None], "class": ["a", "b", None]})
    entry = {"kind": "category", "categories": ["a", "b"], "null": True}
    listed = entry | {"derived": {"from": ["job"], "values": {"cook": "a", "smith": "b", "clerk": "b"}}}
    assert derived(table, {"job": JOB, "class": listed}, "class") == ["a", "b", None]
    (tmp_path / "classes.csv").write_text("job;class\ncook;a\nsmith;b\n", encoding="utf-8")
    filed = entry | {"derived": {"from": ["job"], "by": "classes.csv"}}
    assert derived(table, {"job": JOB, "class": filed}, "class", tmp_path) == ["a", "b", None]


def test_a_column_follows_from_two_others_by_a_file_and_from_a_derived_one(tmp_path: Path) -> None:
    (tmp_path / "both.csv").write_text("group,job,x\nchild,cook,1\nadult,cook,2\nold,,3\n", encoding="utf-8")
    columns = {
        "x": AGE | {"null": True, "derived": {"from": ["group", "job"], "by": "both.csv"}},
        "group": GROUP | {"derived": {"from": ["age"], "bands": [0, 15, 65]}},
        "age": AGE,
        "job": JOB,
    }
    values = {"x": [1, 2, 3, None], "group": ["child", "adult", "old", "old"], "age": [1, 20, 70, 70]}
    table = pa.table({**values, "job": ["cook", "cook", None, "cook"]})
    assert derived(table, columns, "x", tmp_path) == [1, 2, 3, None]


def test_a_table_that_contradicts_a_derived_column_or_breaks_a_rule_is_refused_with_counts() -> None:
    columns = {"age": AGE, "job": JOB, "group": GROUP | {"derived": {"from": ["age"], "bands": [0, 15, 65]}}}
    made = plan(columns, {"when": "age < 15", "then": "job is missing"}, {"when": "group = 'old'", "then": "age > 70"})
    ages, jobs = [3, 4, 30, 66, 80], ["cook", None, "cook", "cook", "smith"]
    table = pa.table({"age": ages, "job": jobs, "group": ["child", "adult", "adult", "old", "adult"]})
    for read in (lambda: rv.release(table, made), lambda: encode(open_table(table), declare(made, open_table(table)))):
        with pytest.raises(DomainError) as caught:
            read()
        said = str(caught.value)
        assert "1 of 5 rows break rule 1 (when age < 15 then job is missing)" in said
        assert "1 of 5 rows break rule 2 (when group = 'old' then age > 70)" in said
        assert "2 of 5 rows break column 'group' (derived: bands of age)" in said
        assert "no budget was spent" in said
        assert "66" not in said and "smith" not in said


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"a": AGE | {"derived": {"by": "b + 1"}}, "b": AGE | {"derived": {"by": "a - 1"}}, "c": AGE}, "in a circle"),
        ({"a": AGE | {"derived": {"by": "a + 1"}}, "c": AGE}, "in a circle"),
        ({"a": AGE | {"derived": {"by": "b + 1"}}, "c": AGE}, "names column 'b'"),
        ({"a": AGE | {"derived": {"by": "1 + 1"}}, "c": AGE}, "names no column"),
        ({"a": AGE | {"derived": {"by": "7 // c"}}, "c": AGE}, "may be zero"),
        ({"a": AGE | {"derived": {"by": "c * 0.5"}}, "c": AGE}, "may give fractions"),
        ({"a": AGE | {"derived": {"by": "c < 3"}}, "c": AGE}, "gives a truth, and the column holds a number"),
        ({"a": GROUP | {"derived": {"from": ["c"], "bands": [0, 5]}}, "c": AGE}, "2 bands and 3 labels"),
        ({"a": AGE | {"derived": {"from": ["c"], "bands": [0, 5]}}, "c": JOB}, "bands cut columns of numbers"),
        ({"a": AGE | {"derived": {"from": ["c"], "values": {"baker": 1}}}, "c": JOB}, "values are none that the plan"),
        ({"a": AGE | {"derived": {"from": ["c"], "by": "no.csv"}}, "c": JOB}, "cannot be read"),
        ({"a": AGE | {"derived": {"from": ["d"], "by": "c + 1"}}, "c": AGE, "d": AGE}, "other columns than"),
        ({"a": AGE | {"derived": {"by": "`no such` + 1"}}, "no": AGE}, "names column 'no such'"),
        ({"a": AGE | {"derived": {"by": "marital = 1"}}, "marital-status": AGE}, "backquotes"),
    ],
)
def test_a_derivation_that_cannot_be_meant_is_refused(columns: dict[str, Any], match: str) -> None:
    refused(plan(columns), match)


@pytest.mark.parametrize(
    "entry",
    [
        {"derived": {"from": ["c"]}},
        {"derived": {"by": "c", "bands": [1]}},
        {"derived": {"bands": [1]}},
        {"derived": {"from": ["c"], "bands": [3, 1]}},
        {"derived": {"from": ["c"], "bands": [1, 3], "labels": ["x"]}},
        {"derived": {"by": "c"}, "role": "public"},
        {"special": [1, 1]},
        {"role": "weight"},  # and c as well
    ],
)
def test_entries_that_do_not_go_together_are_refused_when_the_plan_is_read(entry: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        plan({"a": AGE | entry, "c": AGE | {"role": "weight"}})


def test_a_file_with_two_values_for_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("job,a\ncook,1\ncook,2\n", encoding="utf-8")
    refused(plan({"a": AGE | {"derived": {"from": ["job"], "by": "x.csv"}}, "job": JOB}, folder=tmp_path), "two values")


# Rules that leave nothing


@pytest.mark.parametrize(
    "rules",
    [
        [{"then": "age > 100"}],
        [{"then": "age < 10"}, {"then": "age > 20"}],
        [{"then": "age < 10"}, {"when": "age < 10", "then": "job = 'cook'"}, {"then": "job != 'cook'"}],
        [{"then": "job is missing"}, {"then": "wide > 5 and job is not missing"}],
        [{"then": "wide > 5"}, {"then": "wide <= 5"}],
        [
            {"when": "age < 50", "then": "job = 'cook'"},
            {"when": "age >= 50", "then": "job = 'cook'"},
            {"then": "job is missing"},
        ],
        # Each pair of values is possible, all together are not: only trying columns together shows it.
        [{"then": "a != b"}, {"then": "b != c"}, {"then": "a != c"}],
    ],
)
def test_rules_that_contradict_each_other_are_refused(rules: list[dict[str, str]]) -> None:
    two = {"kind": "category", "categories": ["x", "y"]}
    wide = {"kind": "integer", "lower": 0, "upper": 10**9}
    refused(plan({"age": AGE, "job": JOB, "wide": wide, "a": two, "b": two, "c": two}, *rules), "No row that the plan")


@pytest.mark.parametrize(
    "rules",
    [
        [{"then": "age > 99"}],
        [{"then": "wide > 999999999"}],
        [{"then": "wide = 999 or job is missing"}, {"then": "job is not missing"}],
        [{"when": "age < 10", "then": "age > 20"}],  # nobody is below ten
        [{"then": "wide > age * 1000"}],
    ],
)
def test_rules_that_some_row_obeys_are_taken(rules: list[dict[str, str]]) -> None:
    wide = {"kind": "integer", "lower": 0, "upper": 10**9, "special": [-9]}
    declare_alone(plan({"age": AGE, "job": JOB, "wide": wide}, *rules))


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ({"then": "size > 3"}, "Rule 1 \\(size > 3\\) names column 'size'"),
        ({"then": "1 < 2"}, "names no column"),
        ({"when": "age <", "then": "job is missing"}, "Rule 1, `when`: a value is expected"),
        ({"when": "age < 5", "then": "age is missing"}, "cannot be missing"),
        ({"then": "job = 'baker'"}, "'baker' is no label"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(rule: dict[str, str], match: str) -> None:
    refused(plan({"age": AGE, "job": JOB}, rule), match)


def test_only_synthetic_takes_them() -> None:
    table = pa.table({"age": [1, 2, 3], "x": [1, 2, 3]})
    for columns, rules in (
        ({"age": AGE, "x": AGE | {"derived": {"by": "age + 0"}}}, []),
        ({"age": AGE, "x": AGE | {"special": [-9]}}, []),
        ({"age": AGE, "x": AGE}, [{"then": "age < 50"}]),
    ):
        with pytest.raises(PlanError, match="The method laplace does not keep to"):
            rv.release(table, plan(columns, *rules).with_(method="laplace"))


# Special values


def test_special_values_have_codes_of_their_own_however_they_are_written() -> None:
    entry = AGE | {"special": [999, -9, 50], "null": True}
    for column in ([5, 999, -9, 50, None], ["5", " 999", "-9.0", "50", ""], [5.0, 999.0, -9.0, 50.0, float("nan")]):
        opened = open_table(pa.table({"a": column}))
        made = plan({"a": entry}, table={"null_values": [""]})
        records = encode(opened, declare(made, opened))
        assert records.codes["a"].tolist() == [5, 101, 102, 103, MISSING]
    domain = records.schema.columns[0].domain
    assert domain.decode(records.codes["a"]).to_pylist() == [5, 999, -9, 50, None]


def test_a_special_value_outside_the_range_is_no_misfit_and_another_one_is() -> None:
    made = plan({"a": AGE | {"special": [999]}})
    opened = open_table(pa.table({"a": [1, 2, 998, 999]}))
    with pytest.raises(DomainError, match="1 of 4 values lie outside"):
        encode(opened, declare(made, opened))


# The plan as a file


def test_a_plan_written_and_read_again_is_the_same() -> None:
    columns = {
        "age": AGE | {"special": [-9]},
        "my job": JOB,
        "class": JOB
        | {"derived": {"from": ["my job"], "values": {"cook": "cook", "smith": "clerk", "clerk": "clerk"}}},
        "group": GROUP | {"derived": {"from": ["age"], "bands": [-9, 15, 65]}},
        "day": {"kind": "date", "lower": "2020-01-01", "upper": "2030-01-01"},
        "late": {
            "kind": "boolean",
            "derived": {"from": ["day"], "bands": ["2020-01-01", "2025-01-01"], "labels": [False, True]},
        },
    }
    made = plan(columns, {"when": "age < 15", "then": "`my job` is missing"}, {"then": "late or age < 90"})
    again = Plan.parse(plan_toml(made))
    assert again.sha256() == made.sha256()
    assert again.with_(epsilon=2).rule == made.rule
    declare_alone(again)


def test_a_plan_without_them_keeps_its_fingerprint() -> None:
    made = Plan.parse('[release]\nepsilon = 1\n[columns.a]\nkind = "integer"\nlower = 0\nupper = 9\n')
    assert made.sha256() == FINGERPRINT


FINGERPRINT = "ec015a9f122db7afcc3ceef42fd796d9c86eff86233fcb601fa3596d0aa82133"


# Proposals of a draft


def test_a_draft_proposes_special_values_and_columns_that_others_decide() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 90, 6000)
    job = rng.choice(["cook", "smith", "clerk", "nurse"], 6000)
    table = pa.table(
        {
            "age": age,
            "born": 2020 - age,
            "group": np.array(["young", "adult", "old"])[np.digitize(age, [15, 65])],
            "job": job,
            "class": np.where(np.isin(job, ["cook", "smith"]), "manual", "office"),
            "hours": np.where(rng.random(6000) < 0.1, 99, rng.integers(1, 60, 6000)),
            "income": np.where(rng.random(6000) < 0.1, -9, rng.integers(0, 90_000, 6000)),
            "free": rng.choice(["a", "b"], 6000),
        }
    )
    text = draft(open_table(table))
    made = Plan.parse(text)
    derived = {name: entry.derived for name, entry in made.columns.items() if entry.derived is not None}
    assert set(derived) == {"born", "group", "class"}
    assert derived["born"].by == "2020 - age"
    assert derived["group"].labels == ("young", "adult", "old")
    assert [int(start) for start in derived["group"].bands or ()] == [0, 15, 65]
    assert (derived["class"].values or {})["smith"] == "manual"
    assert {name: getattr(made.columns[name], "special", ()) for name in ("age", "hours", "income")} == {
        "age": (),
        "hours": (99,),
        "income": (-9,),
    }
    assert made.columns["income"].lower == 0  # type: ignore[union-attr]
    assert all("derived" in made.guesses[name] for name in derived)
    assert all("special" in made.guesses[name] for name in ("hours", "income"))
    encode(open_table(table), declare(made, open_table(table)))  # the table fits its draft


def test_a_draft_proposes_nothing_that_may_be_chance_or_that_another_method_would_refuse() -> None:
    rows = pa.table(
        {"name": [f"n{place}" for place in range(100)], "sex": ["f", "m"] * 50, "rare": ["no"] * 99 + ["yes"]}
    )
    assert "derived" not in draft(open_table(rows))
    many = pa.table({"a": [1, 2, 3, 4] * 50, "b": [2, 3, 4, 5] * 50, "c": [-9, 1, 2, 3] * 50})
    assert "derived" in draft(open_table(many))
    assert "derived" not in (plain := draft(open_table(many), method="laplace"))
    assert "special" not in plain
