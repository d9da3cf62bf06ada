"""Shared lists of labels and patterns of column names: what they stand for, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rankveil import Plan, release
from rankveil.declare import declare, declare_alone
from rankveil.declare.plan_file import plan_toml
from rankveil.engines import open_table
from rankveil.errors import PlanError
from tests.support import Ran

HEAD = "[release]\nepsilon = 1\n\n"
LISTS = '[lists.yes_no]\nlabels = [1, 2]\nmeanings = { 1 = "yes", 2 = "no" }\n'
DRUGS = LISTS + '[columns."drug_*"]\ncategories = "yes_no"\nnull = true\n'
NAMES = ["age", "drug_1", "drug_2", "drug_3"]
AGE = '[columns.age]\nkind = "integer"\nlower = 0\nupper = 9\n'


def test_a_pattern_and_a_list_stand_for_every_column_that_fits() -> None:
    plan = Plan.parse(HEAD + DRUGS + AGE).over(NAMES)
    assert list(plan.columns) == NAMES
    for name in NAMES[1:]:
        entry = plan.columns[name]
        assert (entry.kind, entry.null) == ("category", True)
        assert entry.categories == ("1", "2")  # type: ignore[union-attr]
        assert entry.value_labels == {"1": "yes", "2": "no"}


def test_an_entry_with_a_kind_stands_by_itself_and_one_without_adds_to_the_pattern() -> None:
    own = '[columns.drug_2]\nkind = "boolean"\n[columns.drug_3]\nlabel = "the third"\nnull = false\n'
    plan = Plan.parse(HEAD + DRUGS + AGE + own).over(NAMES)
    assert (plan.columns["drug_2"].kind, plan.columns["drug_2"].null) == ("boolean", False)
    third = plan.columns["drug_3"]
    assert (third.kind, third.label, third.null) == ("category", "the third", False)


def test_an_ordered_list_makes_ordinal_columns() -> None:
    listed = '[lists.often]\nlabels = ["never", "often"]\nordered = true\n[columns.a]\ncategories = "often"\n'
    assert Plan.parse(HEAD + listed).columns["a"].kind == "ordinal"


def test_the_short_form_means_the_same_as_the_long_one() -> None:
    short = Plan.parse(HEAD + DRUGS + AGE).over(NAMES)
    long = Plan.parse(plan_toml(short).replace("categories = ", "categories = "))
    assert long.sha256() == short.sha256()
    assert 'categories = "yes_no"' in plan_toml(short)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DRUGS + '[columns."pill_*"]\nkind = "boolean"\n', "'pill_*'"),
        (DRUGS + '[columns."*_2"]\nkind = "boolean"\n', "'drug_2' fits patterns of the plan that contradict"),
    ],
)
def test_idle_and_contradicting_patterns_are_refused(text: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        Plan.parse(HEAD + text + AGE).over(NAMES)
    assert said in str(refused.value)


def test_patterns_that_agree_say_together_what_each_says() -> None:
    two = '[columns."a*"]\nkind = "boolean"\nnull = true\n[columns."*b"]\nkind = "boolean"\nlabel = "x"\n'
    entry = Plan.parse(HEAD + two).over(["ab"]).columns["ab"]
    assert (entry.null, entry.label) == (True, "x")


def test_a_list_that_is_not_there_is_a_mistake_of_the_plan() -> None:
    with pytest.raises(PlanError, match=r"no \[lists.maybe\]"):
        Plan.parse(HEAD + '[columns.a]\ncategories = "maybe"\n')


def test_a_name_that_the_table_has_is_no_pattern() -> None:
    plan = Plan.parse(HEAD + '[columns."a*"]\nkind = "boolean"\n[columns.ab]\nkind = "drop"\n')
    over = plan.over(["a*", "ab"])
    assert {name: entry.kind for name, entry in over.columns.items()} == {"a*": "boolean", "ab": "drop"}
    assert Plan.parse(plan_toml(over)).over(["a*", "ab"]).columns == over.columns
    declare_alone(over)


def test_without_a_table_patterns_are_refused_and_not_taken_for_columns() -> None:
    with pytest.raises(PlanError, match="by patterns"):
        declare_alone(Plan.parse(HEAD + DRUGS + AGE))


def test_sources_stand_on_the_certificate_and_releases_use_patterns(
    tmp_path: Path, run_cli: object, write_table: object
) -> None:
    said = DRUGS.replace("null = true", 'null = true\nsource = "codebook.xml, page 3"')
    rows = {"age": [1, 2, 3] * 20, **{name: ["1", "2", None] * 20 for name in NAMES[1:]}}
    made = release(pa.table(rows), Plan.parse(HEAD + said + AGE))
    assert [note.source for note in made.certificate.columns] == [None, *["codebook.xml, page 3"] * 3]
    assert declare(Plan.parse(HEAD + DRUGS + AGE), open_table(pa.table(rows))).names == NAMES


def test_a_dry_run_and_an_evaluation_know_the_columns_of_patterns(cli: object, tmp_path: Path) -> None:
    run = cli  # the fixture runs the command line
    rows = "".join(f"{age % 10},{1 + age % 2},1,2\n" for age in range(200))
    (tmp_path / "t.csv").write_text(",".join(NAMES) + "\n" + rows)
    (tmp_path / "p.toml").write_text(HEAD + DRUGS + AGE)
    seen: Ran = run("release", tmp_path / "t.csv", "--plan", tmp_path / "p.toml", "--dry-run")  # type: ignore[operator]
    assert seen.code == 0, seen.err
    assert "drug_3" in seen.out
    done: Ran = run("release", tmp_path / "t.csv", "--plan", tmp_path / "p.toml", "--out", tmp_path / "out")  # type: ignore[operator]
    assert done.code == 0, done.err
    checked: Ran = run("verify", tmp_path / "out" / "certificate.json", tmp_path / "out")  # type: ignore[operator]
    assert checked.code == 0, checked.text
