"""Plans drafted, made, changed, confirmed and saved in code."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import ValidationError

import rankveil as rv
from rankveil.errors import GuaranteeError, OutputError, PlanError, TableError
from rankveil.noise import SeededSource

COLUMNS: dict[str, Any] = {
    "age": {"kind": "integer", "lower": 0, "upper": 120},
    "sex": {"kind": "category", "categories": ["f", "m"]},
}
PEOPLE = {"age": [20 + place % 60 for place in range(300)], "sex": ["fm"[place % 2] for place in range(300)]}


def made(**release: Any) -> rv.Plan:
    return rv.Plan(release={"epsilon": 1, **release}, columns=COLUMNS)


# Made


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"release": {"epsilon": 0}, "columns": COLUMNS}, "release.epsilon: must be greater than or equal to 1E-9"),
        ({"columns": COLUMNS}, "release: is missing"),
        ({"release": {"epsilon": 1}, "columns": {}}, "columns: must have at least 1 item"),
        ({"release": {"epsilon": 1}, "columns": {"a": {"kind": "integer"}}}, "columns.a: lower is missing"),
        ({"release": {"epsilon": 1, "k": 1.5}, "columns": COLUMNS}, "release.k: must be a whole number"),
        ({"release": {"epsilon": 1}, "columns": COLUMNS, "gamma": 1}, "gamma: unknown entry"),
        ({"release": 3, "columns": COLUMNS}, "release: must hold entries"),
    ],
)
def test_a_plan_made_in_code_is_refused_in_our_words(content: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as refused:
        rv.Plan(**content)
    assert said in str(refused.value)
    assert not isinstance(refused.value, ValidationError)
    assert "pydantic" not in str(refused.value) and "Input should" not in str(refused.value)


def test_a_number_means_what_it_is_written_as() -> None:
    assert made(epsilon=0.1).release.epsilon == Decimal("0.1")


def test_a_plan_made_in_code_is_the_one_that_a_file_says(tmp_path: Path) -> None:
    text = '[release]\nepsilon = 1\n[columns.age]\nkind = "integer"\nlower = 0\nupper = 120\n'
    text += '[columns.sex]\nkind = "category"\ncategories = ["f", "m"]\n'
    assert rv.Plan.parse(text).sha256() == made().sha256()


# Changed


def test_settings_of_a_release_are_replaced_and_taken_back() -> None:
    plan = made().with_(epsilon=0.5, delta=1e-9)
    assert (plan.release.epsilon, plan.release.delta) == (Decimal("0.5"), Decimal("1e-9"))
    assert plan.with_(delta=None) == made(epsilon=0.5)
    with pytest.raises(PlanError, match=r"release\.gamma: unknown entry"):
        plan.with_(gamma=2)


def test_a_release_takes_epsilon_and_delta_in_the_place_of_the_plans(tmp_path: Path) -> None:
    table = pa.table(PEOPLE)
    made_one = rv.release(table, made(), epsilon=0.25, delta="1e-9", source=SeededSource(1))
    assert (made_one.certificate.epsilon, made_one.certificate.delta) == ("0.25", "0.000000001")
    made().save(tmp_path / "plan.toml")
    model = rv.fit(table, tmp_path / "plan.toml", epsilon=2, source=SeededSource(1))
    assert '"epsilon": "2"' in (model.certificate or "")


# Drafted and confirmed


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_draft_of_a_frame_marks_every_guess_and_is_refused_until_they_are_confirmed(kind: Any) -> None:
    frame = kind(PEOPLE)
    plan = rv.draft(frame, epsilon=2)
    assert set(plan.guesses) == {"age", "sex"}
    assert plan.release.epsilon == 2
    assert "guesses to confirm" in repr(plan)
    with pytest.raises(GuaranteeError, match="nobody has confirmed"):
        rv.release(frame, plan)
    confirmed = plan.confirm("age", lower=0, upper=120).confirm("sex")
    assert confirmed.guesses == {} == plan.confirm().guesses
    assert plan.guesses, "the draft itself stays as it is"
    out = rv.release(frame, confirmed, source=SeededSource(1)).table
    assert type(out) is type(frame)


def test_a_draft_is_that_of_the_command_line(tmp_path: Path, run_cli: Any) -> None:
    pd.DataFrame(PEOPLE).to_csv(tmp_path / "people.csv", index=False)
    assert run_cli("init", "people.csv", "--out", "plan.toml").code == 0
    assert rv.draft(tmp_path / "people.csv").sha256() == rv.Plan.load(tmp_path / "plan.toml").sha256()


def test_confirming_a_column_leaves_the_guesses_about_others() -> None:
    plan = rv.draft(pa.table(PEOPLE)).confirm("age")
    assert set(plan.guesses) == {"sex"}


def test_what_is_known_better_takes_the_place_of_a_guess_and_a_new_kind_starts_afresh() -> None:
    plan = rv.draft(pa.table(PEOPLE)).confirm("age", lower=0, upper=150)
    assert (plan.columns["age"].lower, plan.columns["age"].upper) == (0, 150)
    ordered = plan.confirm("sex", kind="ordinal", categories=["m", "f"])
    assert ordered.columns["sex"].kind == "ordinal"
    assert ordered.columns["sex"].categories == ("m", "f")
    assert plan.confirm("age", kind="drop").columns["age"].kind == "drop"


@pytest.mark.parametrize(
    ("names", "said", "problem"),
    [
        (("height",), {}, "no column 'height'"),
        ((), {"lower": 0}, "one column at a time"),
        (("age", "sex"), {"lower": 0}, "one column at a time"),
        (("[table]",), {"decimal": ","}, "one column at a time"),
        (("age",), {"lower": 200}, "lower must be less than upper"),
        (("age",), {"colour": 1}, "unknown entry"),
    ],
)
def test_a_confirmation_that_fits_no_column_is_refused(names: tuple[str, ...], said: Any, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        rv.draft(pa.table(PEOPLE)).confirm(*names, **said)


def test_guesses_about_the_file_are_confirmed_by_the_name_of_their_part(tmp_path: Path) -> None:
    rows = "\n".join(f"{place % 50};{place % 7},5" for place in range(300))
    (tmp_path / "people.csv").write_text(f"age;size\n{rows}\n", encoding="utf-8")
    plan = rv.draft(tmp_path / "people.csv")
    assert "[table]" in plan.guesses
    assert "[table]" not in plan.confirm("[table]").guesses


def test_a_draft_with_a_wrong_epsilon_or_of_no_table_is_refused_in_our_words() -> None:
    with pytest.raises(PlanError, match=r"release\.epsilon"):
        rv.draft(pa.table(PEOPLE), epsilon="much")
    with pytest.raises(TableError):
        rv.draft(3)


def test_a_notebook_and_a_prompt_show_no_guess_and_printing_does_say_internal() -> None:
    plan = rv.draft(pa.table({"age": [7 * place % 61 + 23 for place in range(300)]}))
    upper = str(plan.columns["age"].upper)
    assert upper not in repr(plan) and upper not in plan._repr_html_()
    assert str(plan).startswith("# INTERNAL DRAFT") and upper in str(plan)


# Saved


def test_a_saved_plan_is_read_back_as_the_same_plan(tmp_path: Path) -> None:
    for plan in (made(delta="1e-9"), rv.draft(pa.table(PEOPLE))):
        plan.save(tmp_path / "plan.toml", overwrite=True)
        again = rv.Plan.load(tmp_path / "plan.toml")
        assert again.sha256() == plan.sha256()
        assert again.guesses == plan.guesses
    assert [path.name for path in tmp_path.iterdir()] == ["plan.toml"]


def test_a_draft_is_saved_with_its_comments(tmp_path: Path) -> None:
    frame = pa.table({"id": [f"P{place:05}" for place in range(300)], **PEOPLE})
    plan = rv.draft(frame)
    plan.save(tmp_path / "elsewhere" / "draft.toml")
    text = (tmp_path / "elsewhere" / "draft.toml").read_text(encoding="utf-8")
    assert text == str(plan)
    assert text.count("\n# ") >= 2, "why a column is left out, and what is to be done"
    assert "\n# " not in str(plan.confirm())


def test_saving_replaces_nothing_unless_told_to(tmp_path: Path) -> None:
    made().save(tmp_path / "plan.toml")
    with pytest.raises(OutputError, match="exists already"):
        made().save(tmp_path / "plan.toml")
    made(epsilon=2).save(tmp_path / "plan.toml", overwrite=True)
    assert rv.Plan.load(tmp_path / "plan.toml").release.epsilon == 2


def test_saving_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be written"):
        made().save(tmp_path / "file" / "plan.toml")


def test_a_plan_saved_elsewhere_still_finds_its_taxonomies(tmp_path: Path) -> None:
    (tmp_path / "work.csv").write_text("node,parent\nwork,\nclerk,work\nnurse,work\n", encoding="utf-8")
    plan = rv.Plan.from_dict(
        {"release": {"epsilon": 1}, "columns": {"work": {"kind": "category", "taxonomy": "work.csv"}}}, folder=tmp_path
    )
    plan.save(tmp_path / "plans" / "2031" / "plan.toml")
    moved = rv.Plan.load(tmp_path / "plans" / "2031" / "plan.toml")
    assert moved.columns["work"].taxonomy == "../../work.csv"
    table = pa.table({"work": ["clerk", "nurse"] * 50})
    assert rv.release(table, moved, source=SeededSource(1)).table.num_rows == 100
