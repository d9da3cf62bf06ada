"""`release --escape-formulas`: no cell of a CSV release runs as a formula, and rankveil still reads the release."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import rankveil as rv
from rankveil.noise import SeededSource
from tests.support import Ran, category, integer, plan_text

Cli = Callable[..., Ran]
LABELS = ["=1+1", "+", "-", "@home", "plain", "'quoted", "a=b", '=cmd|" /C calc"!A0']
RANKS = ["-", "+", "++"]
COLUMNS = {
    "=name": integer(5, lower=-5),
    "job": category(LABELS),
    "rank": 'kind = "ordinal"\ncategories = ["-", "+", "++"]\nnull = true',
    "-born": 'kind = "date"\nlower = 2000-01-01\nupper = 2001-01-01',
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number in range(80):
            writer.writerow([-number % 6 - 5, LABELS[number % 8], ["-", "+", "++", ""][number % 4], "2000-05-05"])
    (tmp_path / "plan.toml").write_text(plan_text(COLUMNS, epsilon=1000000))
    return path


def cells(folder: Path) -> list[list[str]]:
    with (folder / "release.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_labels_and_names_get_an_apostrophe_and_numbers_do_not(cli: Cli, table: Path, tmp_path: Path) -> None:
    done = cli("release", table, "--plan", "plan.toml", "--out", "out", "--escape-formulas", "--accept-large-epsilon")
    assert done.code == 0, done.err
    header, *rows = cells(tmp_path / "out")
    assert header == ["'=name", "job", "rank", "'-born"]
    assert {row[1] for row in rows} == {"'" + label if label[0] in "=+-@" else label for label in LABELS}
    assert {row[2] for row in rows} == {"", "'-", "'+", "'++"}
    assert {int(row[0]) for row in rows} >= {-5, 0}, "negative numbers are numbers"
    assert not any(cell[:1] in set("=+@\t\r") for row in (header, *rows) for cell in row)


def test_without_the_option_labels_are_released_as_the_plan_spells_them(cli: Cli, table: Path, tmp_path: Path) -> None:
    assert cli("release", table, "--plan", "plan.toml", "--out", "out", "--accept-large-epsilon").code == 0
    header, *rows = cells(tmp_path / "out")
    assert header == list(COLUMNS)
    assert {row[1] for row in rows} == set(LABELS)
    assert "apostrophe" not in (tmp_path / "out" / "certificate.json").read_text()


@pytest.mark.parametrize("separator", [",", ";", "#"])
def test_an_escaped_release_is_verified_and_evaluated_like_any_other(
    cli: Cli, table: Path, tmp_path: Path, separator: str
) -> None:
    table.write_text(table.read_text().replace(",", separator))
    (tmp_path / "plan.toml").write_text(plan_text(COLUMNS, epsilon=1000000, table=f'separator = "{separator}"'))
    assert (
        cli("release", table, "--plan", "plan.toml", "--out", "out", "--escape-formulas", "--accept-large-epsilon").code
        == 0
    )
    checked = cli("verify", "out/certificate.json", "out")
    assert checked.code == 0, checked.text
    measured = cli("evaluate", table, "out", "--plan", "plan.toml", "--json")
    assert measured.code == 0, measured.text
    # At this ε nothing is changed by noise, so whatever is lost would be lost by reading.
    assert json.loads(measured.out)["total_variation"] == 0


def test_the_certificate_says_that_formulas_were_escaped(table: Path, tmp_path: Path) -> None:
    made = rv.release(table, tmp_path / "plan.toml", out=tmp_path / "out", escape_formulas=True, source=SeededSource(1))
    assert any("apostrophe" in remark for remark in made.certificate.remarks)


def test_parquet_and_results_in_memory_are_left_as_they_are(tmp_path: Path) -> None:
    table = pa.table({"job": ["=1+1", "-"] * 5})
    papq.write_table(table, tmp_path / "t.parquet")
    plan = rv.Plan.parse(plan_text({"job": category(["=1+1", "-"])}, epsilon=1000000))
    for source in (table, tmp_path / "t.parquet"):
        out = tmp_path / "out" if source is not table else None
        made = rv.release(source, plan, out=out, escape_formulas=True, source=SeededSource(1))
        released = made.table if out is None else papq.read_table(out / "release.parquet")
        assert set(released["job"].to_pylist()) == {"=1+1", "-"}
        assert not any("formulas" in remark for remark in made.certificate.remarks)


def test_a_label_with_an_apostrophe_of_its_own_is_read_as_it_is(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("job\n" + "'-\n'quoted\n" * 5)
    plan = rv.Plan.parse(plan_text({"job": category(["'-", "'quoted"])}, epsilon=1000000))
    rv.release(table, plan, out=tmp_path / "out", escape_formulas=True, source=SeededSource(1))
    assert rv.evaluate(table, tmp_path / "out", plan).jsd == 0
