"""`rankveil ledger`: names that people know, caps that hold for every copy, and what counts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from rankveil.ledger import checkpoint
from tests.support import Ran, integer

Cli = Callable[..., Ran]
PEOPLE = "a\n" + "1\n2\n3\n" * 20


@pytest.fixture
def plan(write_plan: Callable[..., Path]) -> Path:
    return write_plan({"a": integer(9)}, method="synthetic")


def test_show_names_tables_and_populations_and_says_what_was_not_published(
    cli: Cli, write_table: Callable[..., Path], write_plan: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    table = write_table(PEOPLE, name="people.csv")
    plan = write_plan({"a": integer(9)}, method="synthetic")
    plan.write_text(plan.read_text().replace("epsilon = 1", 'epsilon = 1\npopulation = "patients"'))
    assert cli("release", table, "--plan", plan, "--out", "first").code == 0
    monkeypatch.setattr("rankveil.write.folder.write_rows", _no_space)
    assert cli("release", table, "--plan", plan, "--out", "second").code != 0
    shown = cli("ledger", "show").out
    words = [line.replace("(population)", "").split() for line in shown.splitlines()]
    lines = {word[0]: word[1:4] for word in words if word and word[0] in ("people.csv", "patients")}
    assert lines["people.csv"] == ["1", "1", "2"], "one release, one spent and not published, ε = 2"
    assert lines["patients"] == ["1", "1", "2"]
    entries = cli("ledger", "show", "--entries").out
    assert entries.count("people.csv, patients") == 3
    assert entries.count("spent, not published") == 1
    told = json.loads(cli("ledger", "show", "--json").out)
    assert [account["name"] for account in told["tables"]] == ["people.csv", "patients"]
    assert [account["releases"] for account in told["tables"]] == ["1", "1"]
    assert {entry["name"] for entry in told["entries"]} == {"people.csv, patients"}


def _no_space(*arguments: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_new_ledger_says_that_nothing_was_entered(cli: Cli, tmp_path: Path) -> None:
    for options in ((), ("--entries",)):
        assert cli("ledger", "init", "--ledger", tmp_path / "l.sqlite").code == 0
        assert cli("ledger", "show", "--ledger", tmp_path / "l.sqlite", *options).out == (
            f"Nothing has been entered in {tmp_path / 'l.sqlite'} yet.\n"
        )
    assert re.fullmatch(r"Nothing has been entered in \S+ledger\S* yet\.\n", cli("ledger", "show").out)


def test_a_cap_set_for_a_file_holds_for_its_copy_in_another_format(
    cli: Cli, write_table: Callable[..., Path], plan: Path, tmp_path: Path
) -> None:
    table = write_table(PEOPLE, name="people.csv")
    capped = cli("ledger", "cap", table, "--epsilon", "1")
    assert "this table (people.csv)" in capped.out
    pd.read_csv(table).to_parquet(tmp_path / "copy.parquet")
    assert cli("release", tmp_path / "copy.parquet", "--plan", plan, "--out", "first").code == 0
    refused = cli("release", table, "--plan", plan, "--out", "second")
    assert refused.code == 4
    assert "The budget of this table (people.csv) does not allow the release" in refused.err


@pytest.fixture
def german_files(write_table: Callable[..., Path], write_plan: Callable[..., Path]) -> tuple[Path, Path, Path]:
    """A table with decimal commas, its plan, and a plan for the same columns with decimal points."""
    table = write_table("a;b\n" + "1,5;x\n2,5;y\n" * 20, name="german.csv")
    columns = {"a": 'kind = "number"\nlower = 0\nupper = 9', "b": 'kind = "category"\ncategories = ["x", "y"]'}
    german = write_plan(columns, method="synthetic", table='decimal = ","', name="german.toml")
    return table, german, write_plan(columns, method="synthetic")


def test_a_cap_takes_a_plan_for_a_file_that_is_not_read_right_without(
    cli: Cli, german_files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    table, german, plain = german_files
    assert cli("ledger", "cap", table, "--plan", german, "--epsilon", "0.5").code == 0
    pd.read_csv(table, sep=";", decimal=",").to_csv(tmp_path / "english.csv", index=False)
    assert cli("release", tmp_path / "english.csv", "--plan", plain, "--out", "out").code == 4
    assert cli("release", table, "--plan", german, "--out", "out").code == 4


def test_a_cap_that_was_set_without_the_plan_can_be_said_again_with_it_but_not_changed(
    cli: Cli, german_files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    table, german, plain = german_files
    assert cli("ledger", "cap", table, "--epsilon", "0.5").code == 0
    other = cli("ledger", "cap", table, "--plan", german, "--epsilon", "5")
    assert other.code == 4 and "has a cap already: ε = 0.5" in other.err
    assert cli("ledger", "cap", table, "--plan", german, "--epsilon", "0.5").code == 0
    assert cli("ledger", "cap", table, "--plan", german, "--epsilon", "0.5").code == 4, "it gains nothing"
    pd.read_csv(table, sep=";", decimal=",").to_csv(tmp_path / "english.csv", index=False)
    assert cli("release", tmp_path / "english.csv", "--plan", plain, "--out", "out").code == 4


def test_verify_finds_a_checkpoint_that_does_not_fit(
    cli: Cli, write_table: Callable[..., Path], plan: Path, monkeypatch: pytest.MonkeyPatch, ledger_of_this_test: Path
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 1)
    table = write_table(PEOPLE)
    assert cli("release", table, "--plan", plan, "--out", "first").code == 0
    assert json.loads(cli("ledger", "verify", "--json").out)["checkpoint_fits"]
    raw = sqlite3.connect(ledger_of_this_test)
    raw.execute("UPDATE checkpoints SET content = '[]'")
    raw.commit()
    raw.close()
    found = cli("ledger", "verify")
    assert found.code == 4
    assert "its checkpoint does not fit" in found.err


@pytest.mark.parametrize("options", [[], ["--entries"], ["--json"]])
def test_show_adds_nothing_up_that_does_not_hold(
    cli: Cli, write_table: Callable[..., Path], plan: Path, tmp_path: Path, options: list[str]
) -> None:
    ledger = tmp_path / "office.sqlite"
    table = write_table(PEOPLE, name="people.csv")
    assert cli("release", table, "--plan", plan, "--out", "first", "--ledger", ledger).code == 0
    raw = sqlite3.connect(ledger)
    raw.execute("DROP TRIGGER no_update")
    raw.execute("UPDATE entries SET epsilon = '1/1000' WHERE kind = 'spend'")
    raw.commit()
    raw.close()
    shown = cli("ledger", "show", "--ledger", ledger, *options)
    assert shown.code == cli("ledger", "verify", "--ledger", ledger).code == 4
    assert "was tampered with" in shown.text
    assert "people.csv" not in shown.text
