"""Labels and missing codes of a statistics file: by way of the plan into release and certificate, or nowhere."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankveil import Plan
from rankveil.certificate.content import MOST_VALUE_LABELS
from rankveil.errors import PlanError
from rankveil.release import release
from tests.support import Ran

pyreadstat = pytest.importorskip("pyreadstat")
pandas = pytest.importorskip("pandas")

Cli = Callable[..., Ran]
ROWS = 400
LABELS = {
    "sex": "Sex of the respondent",
    "voted": "Voted <in> the last election",
    "hours": "Hours worked last week",
    "mood": "Mood today",
    "place": "Kind of place",
}
VALUES: dict[str, dict[Any, str]] = {
    "sex": {1: "Male", 2: "Female"},
    "voted": {1: "Yes", 2: "No", 8: "Don't know", 9: "No answer"},
    "hours": {-8: "Not applicable"},
    "mood": {1: "Bad", 2: "Fair", 3: "Good", 9: "No answer"},
    "place": {"T": "Town", "V": "Village", "X": "Not said"},
}
MISSING: dict[str, list[Any]] = {"voted": [8, 9], "hours": [-8], "mood": [9], "place": ["X"]}
MEASURES = {"sex": "nominal", "voted": "nominal", "hours": "scale", "mood": "ordinal", "place": "nominal"}


def people() -> Any:
    return pandas.DataFrame(
        {
            "sex": [1.0 + row % 2 for row in range(ROWS)],
            "voted": [[1.0, 2.0, 8.0, 9.0][row * 7 % 4] for row in range(ROWS)],
            "hours": [-8.0 if row % 5 == 0 else float(row % 60) for row in range(ROWS)],
            "mood": [[1.0, 2.0, 3.0, 9.0][row * 3 % 4] for row in range(ROWS)],
            "place": ["TVX"[row % 3] for row in range(ROWS)],
        }
    )


def spss(path: Path) -> Path:
    pyreadstat.write_sav(
        people(),
        str(path),
        column_labels=LABELS,
        variable_value_labels=VALUES,
        missing_ranges=MISSING,
        variable_measure=MEASURES,
        variable_format=dict.fromkeys(("sex", "voted", "hours", "mood"), "F4.0"),
    )
    return path


def confirmed(path: Path) -> str:
    """The plan as whoever agrees with every guess leaves it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join(line for line in lines if not line.startswith("unconfirmed"))


@pytest.fixture
def released(cli: Cli, tmp_path: Path) -> Path:
    """The folder of a release, made as an officer makes it."""
    table, plan, out = spss(tmp_path / "people.sav"), tmp_path / "plan.toml", tmp_path / "out"
    assert cli("init", table, "--out", plan).code == 0
    plan.write_text(confirmed(plan), encoding="utf-8")
    made = cli("release", table, "--plan", plan, "--epsilon", 10, "--out", out)
    assert made.code == 0, made.err
    return out


def test_labels_and_missing_codes_of_an_spss_file_are_in_its_release(released: Path) -> None:
    _, said = pyreadstat.read_sav(str(released / "release.sav"), user_missing=True)
    assert said.column_names_to_labels == LABELS
    assert said.variable_value_labels == VALUES
    found = {name: [ends["lo"] for ends in ranges] for name, ranges in said.missing_ranges.items()}
    assert found == MISSING
    assert {name: said.variable_measure[name] for name in LABELS} == MEASURES
    codes = {name: kind for name, kind in said.readstat_variable_types.items() if name != "place"}
    assert set(codes.values()) == {"double"}, "codes are numbers, as they were"


def test_spss_takes_released_missing_codes_for_missing(released: Path) -> None:
    whole, _ = pyreadstat.read_sav(str(released / "release.sav"), user_missing=True)
    used, _ = pyreadstat.read_sav(str(released / "release.sav"))
    for name, codes in MISSING.items():
        assert whole[name].isin(codes).any(), name
        assert not used[name].isin(codes).any(), name


def test_they_stand_on_the_certificate_and_on_its_page_and_it_is_verified(released: Path, cli: Cli) -> None:
    notes = {note["name"]: note for note in json.loads((released / "certificate.json").read_text())["columns"]}
    assert {name: note["label"] for name, note in notes.items()} == LABELS
    texts = {name: {str(value): text for value, text in said.items()} for name, said in VALUES.items()}
    assert {name: note["value_labels"] for name, note in notes.items()} == texts
    said = {name: note["missing"] or note["special"] for name, note in notes.items()}
    assert said == {name: [str(code) for code in MISSING[name]] if name in MISSING else None for name in LABELS}
    page = (released / "certificate.html").read_text()
    for label in LABELS.values():
        assert html.escape(label) in page
    assert html.escape("missing: 8 (Don't know), 9 (No answer)") in page
    assert "special: -8 (Not applicable)" in page
    checked = cli("verify", released / "certificate.json")
    assert checked.code == 0, checked.out


def test_what_the_plan_does_not_say_is_published_nowhere(tmp_path: Path) -> None:
    plan = {
        "release": {"epsilon": 10},
        "columns": {
            "sex": {"kind": "category", "categories": ["1", "2"]},
            "voted": {"kind": "category", "categories": ["1", "2", "8", "9"]},
            **{name: {"kind": "drop", "label": LABELS[name]} for name in ("hours", "mood", "place")},
        },
    }
    release(spss(tmp_path / "people.sav"), Plan.from_dict(plan), out=tmp_path / "out")
    texts = [*LABELS.values(), *(text for said in VALUES.values() for text in said.values() if len(text) > 3)]
    for file in (tmp_path / "out").iterdir():
        content = file.read_bytes()
        assert [text for text in texts if text.encode() in content] == [], file.name
    _, said = pyreadstat.read_sav(str(tmp_path / "out" / "release.sav"), user_missing=True)
    assert (said.missing_ranges, said.variable_value_labels) == ({}, {})


def test_labels_of_a_stata_file_are_in_its_release(cli: Cli, tmp_path: Path) -> None:
    table, plan, out = tmp_path / "people.dta", tmp_path / "plan.toml", tmp_path / "out"
    kept = ["sex", "voted"]
    pyreadstat.write_dta(
        people()[kept].astype(int),
        str(table),
        column_labels={name: LABELS[name] for name in kept},
        variable_value_labels={name: VALUES[name] for name in kept},
    )
    assert cli("init", table, "--out", plan).code == 0
    plan.write_text(confirmed(plan), encoding="utf-8")
    assert cli("release", table, "--plan", plan, "--out", out).code == 0
    _, said = pyreadstat.read_dta(str(out / "release.dta"))
    assert said.column_names_to_labels == {name: LABELS[name] for name in kept}
    assert said.variable_value_labels == {name: VALUES[name] for name in kept}


def test_values_without_a_label_make_a_guess_and_keep_the_labels_of_others(cli: Cli, tmp_path: Path) -> None:
    table = pandas.DataFrame({"sex": [1.0, 2.0, 3.0, 9.0] * 20})
    labels = {"sex": {1: "Male", 2: "Female"}}
    pyreadstat.write_sav(
        table,
        str(tmp_path / "p.sav"),
        variable_value_labels=labels,
        variable_measure={"sex": "nominal"},
        missing_ranges={"sex": [9]},
    )
    assert cli("init", tmp_path / "p.sav", "--out", tmp_path / "plan.toml").code == 0
    entry = Plan.load(tmp_path / "plan.toml").columns["sex"]
    assert (entry.kind, "categories" in entry.unconfirmed) == ("category", True)
    assert entry.value_labels == {"1": "Male", "2": "Female"}
    assert entry.missing == ("9",)  # type: ignore[union-attr]


# The plan


def plan_with(missing: list[str], **more: Any) -> Plan:
    column = {"kind": "category", "categories": ["1", "2", "9"], "missing": missing}
    return Plan.from_dict({"release": {"epsilon": 1}, "columns": {"a": column, **more}})


def test_a_missing_label_that_the_column_does_not_have_is_refused() -> None:
    table = pandas.DataFrame({"a": ["1", "2", "9"] * 10})
    with pytest.raises(PlanError, match="missing names a label that the column does not have"):
        release(table, plan_with(["8"]))


def test_a_plan_without_missing_labels_keeps_its_fingerprint() -> None:
    without = Plan.from_dict(
        {"release": {"epsilon": 1}, "columns": {"a": {"kind": "category", "categories": ["1", "2", "9"]}}}
    )
    assert plan_with([]).sha256() == without.sha256() != plan_with(["9"]).sha256()


def test_a_list_brings_its_missing_labels_and_a_plan_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    plan = Plan.parse(
        '[release]\nepsilon = 1\n[lists.answer]\nlabels = [1, 2, 9]\nmeanings = { 9 = "none" }\nmissing = [9]\n'
        '[columns.a]\ncategories = "answer"\n[columns.b]\ncategories = "answer"\nmissing = []\n'
    )
    assert plan.columns["a"].missing == ("9",)  # type: ignore[union-attr]
    assert plan.columns["b"].missing == ()  # type: ignore[union-attr]
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml").sha256() == plan.sha256()


@pytest.mark.parametrize(("count", "there"), [(MOST_VALUE_LABELS, True), (MOST_VALUE_LABELS + 1, False)])
def test_long_lists_of_value_labels_are_left_out_of_the_certificate(count: int, there: bool) -> None:
    labels = [str(number) for number in range(count)]
    texts = {label: f"text {label}" for label in labels}
    column = {"kind": "category", "categories": labels, "value_labels": texts}
    made = release(
        pandas.DataFrame({"a": labels}), Plan.from_dict({"release": {"epsilon": 1}, "columns": {"a": column}})
    )
    assert (made.certificate.columns[0].value_labels == texts) is there
    assert (made.certificate.columns[0].value_labels is None) is not there
