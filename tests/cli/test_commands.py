"""The commands when all is well: release, dry run, methods, evaluate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support import INTEGER, PAPERS, Ran, category, files_in, integer

Write = Callable[..., Path]
Cli = Callable[..., Ran]
GOOD = "a\n1\n2\n3\n4\n"


def test_a_release_through_the_real_command(
    run_cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    done = run_cli("release", write_table(GOOD), "--plan", write_plan(), "--out", "out")
    assert done.code == 0, done.err
    assert files_in(tmp_path / "out") == [*PAPERS, "release.csv"]
    assert "differentially private" in done.out
    assert "..." in done.err, "progress goes to standard error"
    assert "..." not in done.out


def test_json_on_standard_output_is_one_object_and_nothing_else(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out", "--json")
    said = json.loads(done.out)
    assert said["rows"] == 4
    assert said["differentially_private"] is True
    assert Path(said["release"]).exists()
    assert Path(said["certificate"]).exists()
    assert done.err == ""


def test_quiet_says_nothing_on_standard_error(cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path) -> None:
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out", "--quiet")
    assert (done.code, done.err) == (0, "")


def test_a_published_method_with_consent_prints_that_nothing_holds(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    options = ("--method", "published:individual-ranking", "--k", 2, "--accept-no-guarantee")
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out", *options)
    assert done.code == 0, done.err
    assert "NOT differentially private" in done.out
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["differentially_private"] is False
    assert certificate["reason"]


def test_options_take_the_place_of_the_plans_settings(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out", "--epsilon", "0.1")
    assert done.code == 0
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["epsilon"] == "0.1"


# Dry runs


@pytest.mark.parametrize(
    "method", ["laplace", "published:individual-ranking", "published:multivariate", "published:mdav"]
)
def test_a_dry_run_counts_the_rows_and_writes_nothing(
    cli: Cli, write_plan: Write, write_table: Write, tmp_path: Path, method: str
) -> None:
    plan = write_plan({"a": integer(9, more="null = true"), "b": category(["x", "y"])}, method=method, k=2)
    table = write_table("a,b\n1,x\n700,nonsense\n,y\n")
    done = cli("release", table, "--plan", plan, "--out", tmp_path / "out", "--dry-run")
    assert done.code == 0, done.err
    assert "rows = 3" in done.out
    assert "only the number of rows was read" in done.out
    assert files_in(tmp_path) == ["plan.toml", "table.csv"]


def test_a_dry_run_uses_the_tables_own_number_of_rows_whatever_the_plan_expects(
    cli: Cli, write_plan: Write, write_table: Write
) -> None:
    plan = write_plan({"a": INTEGER, "b": category(["x", "y"])}, method="synthetic", expected_rows=77)
    text = "a,b\n" + 60 * '1,"two\nlines"\n' + 40 * "2,x\n"
    said = json.loads(cli("release", write_table(text), "--plan", plan, "--dry-run", "--json").out)
    assert (said["rows"], said["rows_assumed"], said["rows_counted"]) == (100, False, True)
    parquet = write_table(pa.table({"a": [1] * 123, "b": ["x"] * 123}))
    said = json.loads(cli("release", parquet, "--plan", plan, "--dry-run", "--json").out)
    assert (said["rows"], said["rows_counted"]) == (123, True)


def test_the_rows_of_a_parquet_file_are_counted_without_reading_one(
    cli: Cli, write_plan: Write, write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def poisoned(*arguments: object, **more: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr("rankveil.engines.table.Table.batches", poisoned)
    table = write_table(pa.table({"a": [1, 2, 3]}))
    assert "rows = 3" in cli("release", table, "--plan", write_plan({"a": INTEGER}), "--dry-run").out


def test_a_dry_run_without_its_table_needs_the_plans_word_on_the_number_of_rows(
    cli: Cli, write_plan: Write, tmp_path: Path
) -> None:
    absent = tmp_path / "no-such-table.csv"
    assert cli("release", absent, "--plan", write_plan(), "--dry-run").code == 3
    said = cli("release", absent, "--plan", write_plan(expected_rows=500), "--dry-run")
    assert said.code == 0, said.err
    assert "rows = 500" in said.out
    assert "no table was read" in said.out


def test_a_dry_run_shows_guesses_that_a_release_would_refuse(cli: Cli, write_plan: Write, tmp_path: Path) -> None:
    plan = write_plan({"a": integer(9, more='unconfirmed = ["upper"]')}, expected_rows=9)
    assert "a release would refuse" in cli("release", "t.csv", "--plan", plan, "--dry-run").out
    said = json.loads(cli("release", "t.csv", "--plan", plan, "--dry-run", "--json").out)
    assert said["unconfirmed"] == {"a": ["upper"]}
    assert said["dry_run"] is True


@pytest.mark.parametrize("name", ["a[/b]", "[bold]x", "ε ", "with space", "a.b"])
def test_column_names_are_shown_as_they_are(cli: Cli, write_plan: Write, name: str) -> None:
    done = cli("release", "t.csv", "--plan", write_plan({name: INTEGER}, expected_rows=9), "--dry-run")
    assert done.code == 0, done.err
    assert name.strip() in done.out


def test_a_terminal_that_cannot_show_greek_letters_does_not_end_a_run(
    run_cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    table, plan = write_table(GOOD), write_plan()
    assert run_cli("release", table, "--plan", plan, "--dry-run", env=ascii_only).code == 0
    assert run_cli("release", table, "--plan", plan, "--out", "out", env=ascii_only).code == 0
    assert run_cli("methods", env=ascii_only).code == 0


# Methods and evaluation

METHODS = {
    "laplace": True,
    "published:individual-ranking": False,
    "published:multivariate": False,
    "published:ranking": False,
    "published:mdav-insensitive": False,
    "published:mdav": False,
}


def test_methods_are_listed_with_what_holds_for_each(cli: Cli) -> None:
    shown = cli("methods").out
    listed = {entry["method"]: entry for entry in json.loads(cli("methods", "--json").out)}
    for name, private in METHODS.items():
        assert name in shown
        assert listed[name]["differentially_private"] is private
        assert listed[name]["holds"]
        assert listed[name]["theorems"]


@pytest.mark.parametrize("as_folder", [True, False])
def test_an_evaluation_of_a_folder_or_a_file(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path, as_folder: bool
) -> None:
    table, plan = write_table(GOOD), write_plan()
    assert cli("release", table, "--plan", plan, "--out", tmp_path / "out").code == 0
    target = tmp_path / "out" if as_folder else tmp_path / "out" / "release.csv"
    shown = cli("evaluate", table, target, "--plan", plan)
    assert shown.code == 0
    assert shown.out.startswith("INTERNAL")
    said = json.loads(cli("evaluate", table, target, "--plan", plan, "--json").out)
    assert set(said) >= {"note", "rows", "columns", "relative_error", "variance_change", "jsd"}
    assert said["columns"][0]["name"] == "a"
    unaligned = json.loads(cli("evaluate", table, target, "--plan", plan, "--json", "--not-aligned").out)
    assert unaligned["relative_error"] is None


def test_a_release_with_a_separator_of_its_own_can_be_evaluated(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    table = write_table("a^b\n1^2\n3^4\n")
    plan = write_plan({"a": INTEGER, "b": INTEGER}, table='separator = "^"')
    assert cli("release", table, "--plan", plan, "--out", tmp_path / "out").code == 0
    assert cli("evaluate", table, tmp_path / "out", "--plan", plan).code == 0


def test_the_version_is_printed(cli: Cli) -> None:
    from rankveil import __version__

    assert __version__ in cli("--version").out
