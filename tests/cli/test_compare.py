"""`rankveil compare` as a command: what it prints, how it ends, and how it goes on after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support import Ran, category, files_in, integer, plan_text

Cli = Callable[..., Ran]
Write = Callable[..., Path]
PLAN = plan_text({"age": integer(99), "pay": integer(5000), "job": category(["a", "b", "c"])}, method="synthetic")


@pytest.fixture
def table(write_table: Write) -> Path:
    rng = np.random.default_rng(1)
    rows = zip(rng.integers(0, 100, 400), rng.integers(0, 5001, 400), rng.choice(list("abc"), 400), strict=True)
    return write_table("age,pay,job\n" + "".join(f"{age},{pay},{job}\n" for age, pay, job in rows))


def test_the_command_compares_and_names_its_page(cli: Cli, table: Path, write_plan: Write, tmp_path: Path) -> None:
    done = cli("compare", table, "--plan", write_plan(PLAN), "--methods", "synthetic,unlinked", "--epsilons", "1,10",
               "--ks", "5,20", "--runs", "2")  # fmt: skip
    assert done.code == 0, done.err
    assert "INTERNAL" in done.out.splitlines()[0]
    assert "leaks a little" in done.out.splitlines()[0]
    assert "ε = 10: synthetic is best on" in done.out
    assert "± " in done.out
    assert str(Path("compare.internal") / "compare.internal.html") in done.out
    assert "done" in done.err
    assert "left" in done.err
    assert len(files_in(tmp_path / "compare.internal")) == 4


def test_json_and_csv_go_to_standard_output_alone(cli: Cli, table: Path, write_plan: Write) -> None:
    options = ["compare", table, "--plan", write_plan(PLAN), "--methods", "laplace", "--runs", "1"]
    said = cli(*options, "--json")
    assert json.loads(said.out)["note"].startswith("INTERNAL")
    assert said.err == ""
    assert cli(*options, "--csv").out.splitlines()[1].startswith("method,role,epsilon,delta,k,run")
    assert cli(*options, "--csv", "--json").code == 2


def test_a_made_stand_in_needs_no_table_and_says_so(cli: Cli, write_plan: Write) -> None:
    done = cli("compare", "--plan", write_plan(PLAN), "--stand-in", "made", "--methods", "laplace", "--runs", "1")
    assert done.code == 0, done.err
    assert "costs no privacy" in done.out
    assert "made from the plan alone; no data were read" in done.out
    assert "INTERNAL" not in done.out
    assert cli("compare", "--plan", write_plan(PLAN)).code == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--methods", "nonsense"], 2),
        (["--epsilons", "x"], 2),
        (["--ks", "ten", "--methods", "unlinked"], 2),
        (["--target", "job"], 2),
        (["--stand-in", "no-such-table.csv"], 3),
    ],
)
def test_refusals_have_their_exit_codes(
    cli: Cli, table: Path, write_plan: Write, options: list[str], code: int
) -> None:
    done = cli("compare", table, "--plan", write_plan(PLAN), *options)
    assert done.code == code
    assert len(done.err.strip().splitlines()) >= 2


def test_values_outside_the_plan_end_with_exit_code_3(cli: Cli, write_table: Write, write_plan: Write) -> None:
    assert cli("compare", write_table("age,pay,job\n1,2,z\n3,4,a\n"), "--plan", write_plan(PLAN)).code == 3


def test_unconfirmed_guesses_are_refused(cli: Cli, table: Path, write_plan: Write) -> None:
    plan = PLAN.replace("upper = 99\n", 'upper = 99\nunconfirmed = ["upper"]\n')
    done = cli("compare", table, "--plan", write_plan(plan))
    assert done.code == 2
    assert "nobody has confirmed" in done.err


def test_help_shows_examples_and_exit_codes(cli: Cli) -> None:
    shown = cli("compare", "--help").out
    assert shown.count("rankveil compare ") >= 3
    assert "--stand-in made" in shown
    assert "Exit codes" in shown


def test_a_comparison_killed_in_the_middle_goes_on_where_it_was(table: Path, write_plan: Write, tmp_path: Path) -> None:
    command = [
        sys.executable, "-c", "from rankveil.cli import main; main()", "compare", str(table), "--plan",
        str(write_plan(PLAN)), "--methods", "synthetic", "--epsilons", "1,2,3", "--runs", "4", "--out", "out",
    ]  # fmt: skip
    journal = tmp_path / "out" / "compare.internal.jsonl"
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not journal.exists() or journal.read_bytes().count(b"\n") < 4):
        time.sleep(0.005)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "it was killed and had not ended by itself"
    kept = journal.read_bytes()
    whole = kept[: kept.rfind(b"\n") + 1]
    finished = whole.count(b"\n") - 1
    assert 3 <= finished < 12 + 12 + 1
    assert not (tmp_path / "out" / "compare.internal.json").exists()

    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0, again.stderr
    assert journal.read_bytes().startswith(whole), "finished cells are left as they were"
    keys = [json.loads(line)["key"] for line in journal.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(keys) == len(set(keys)) == 12 + 12 + 4, "synthetic, laplace, and the original drawn again"
    assert f"... {finished} of 28 done" in again.stderr, "no cell is computed twice"
    assert len(json.loads((tmp_path / "out" / "compare.internal.json").read_text(encoding="utf-8"))["rows"]) == 28
