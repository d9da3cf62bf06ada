"""`rankveil release --replicates` and `rankveil estimate`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.support import PAPERS, Ran, category, files_in, integer

Write = Callable[..., Path]
Cli = Callable[..., Ran]
TABLE = "a,b\n" + "".join(f"{number % 7},{'xyz'[number % 3]}\n" for number in range(400))
COLUMNS = {"a": integer(6), "b": category(["x", "y", "z"])}


def test_a_release_with_replicates_answers_questions_with_intervals(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    plan = write_plan(COLUMNS, method="synthetic")
    done = cli("release", write_table(TABLE), "--plan", plan, "--out", "out", "--replicates", 12, "--json")
    assert done.code == 0, done.err
    assert Path(json.loads(done.out)["weights"]).name == "weights.csv"
    assert files_in(tmp_path / "out") == [*PAPERS, "release.csv", "weights.csv"]
    assert cli("verify", "out/certificate.json", "out/release.csv").code == 0
    said = json.loads(cli("estimate", "out", "mean(a) by b", "--target", "population", "--json").out)
    assert (said["target"], said["replicates"]) == ("population", 12)
    assert [one["name"] for one in said["estimates"]] == ["b = x", "b = y", "b = z"]
    assert all(one["low"] < one["estimate"] < one["high"] for one in said["estimates"])
    shown = cli("estimate", "out", "mean(a)", "--level", "0.9")
    assert shown.code == 0
    assert "90% intervals for the table that was protected" in shown.out


def test_a_question_about_an_unknown_column_ends_with_code_2(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    plan = write_plan(COLUMNS, method="synthetic")
    cli("release", write_table(TABLE), "--plan", plan, "--out", "out", "--replicates", 10)
    done = cli("estimate", "out", "mean(c)")
    assert done.code == 2
    assert "no column 'c'" in done.err


def test_replicates_are_refused_for_other_methods_before_anything_is_spent(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    plan = write_plan(COLUMNS, method="laplace")
    done = cli("release", write_table(TABLE), "--plan", plan, "--out", "out", "--replicates", 80)
    assert done.code == 2
    assert "no budget was spent" in done.err
    assert files_in(tmp_path / "out") == []
