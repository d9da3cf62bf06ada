"""Through a draft by keyboard: keys, what they change, and a real terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankveil import Plan
from rankveil.cli.run import root
from tests.support import Ran

Cli = Callable[..., Ran]
ROWS = "".join(f"u{n:05},{20 + n % 40},{'abc'[n % 3]},{n % 7}.5\n" for n in range(120))
TABLE = "id,age,group,score\n" + ROWS


@pytest.fixture
def walked(tmp_path: Path) -> Callable[[str], tuple[Plan, str]]:
    (tmp_path / "t.csv").write_text(TABLE)

    def walk(keys: str) -> tuple[Plan, str]:
        options = ["init", str(tmp_path / "t.csv"), "--interactive", "--overwrite", "--out", str(tmp_path / "p.toml")]
        done = CliRunner().invoke(root, options, input=keys, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return Plan.load(tmp_path / "p.toml"), done.output

    return walk


def test_keeping_everything_ends_with_a_plan_that_a_release_accepts(
    walked: Callable[[str], tuple[Plan, str]], cli: Cli, tmp_path: Path
) -> None:
    plan, said = walked("kkkkk")
    assert plan.guesses == {}
    assert "All guesses are confirmed." in said
    done = cli("release", tmp_path / "t.csv", "--plan", tmp_path / "p.toml", "--out", tmp_path / "out")
    assert done.code == 0, done.err


def test_kinds_limits_and_missing_values_are_changed_and_columns_left_out(
    walked: Callable[[str], tuple[Plan, str]],
) -> None:
    # [table] kept; id kept out; age: limits 0 and 99, then kept; group left out; score: missing allowed, then kept
    plan, _ = walked("k" + "k" + "l0\n99\nk" + "x" + "mk")
    assert plan.guesses == {}
    assert (plan.columns["age"].lower, plan.columns["age"].upper) == (0, 99)  # type: ignore[union-attr]
    assert plan.columns["group"].kind == "drop"
    assert plan.columns["score"].null


def test_another_kind_is_chosen_among_those_that_the_values_can_be_read_as(
    walked: Callable[[str], tuple[Plan, str]],
) -> None:
    plan, said = walked("kk" + "t3k" + "kk")
    assert "[1] integer   [2] number   [3] ordinal   [4] category   [5] drop" in said
    assert plan.columns["age"].kind == "ordinal"


def test_questions_that_were_drafted_alike_are_changed_and_kept_by_one_key(tmp_path: Path) -> None:
    names = [f"q{n}" for n in range(1, 41)]
    rows = "".join(",".join(str((row + n) % 5 + 1) for n in range(40)) + f",{'xyz'[row % 3]}\n" for row in range(60))
    (tmp_path / "t.csv").write_text(",".join([*names, "group"]) + "\n" + rows)
    options = ["init", str(tmp_path / "t.csv"), "--interactive", "--out", str(tmp_path / "p.toml")]
    done = CliRunner().invoke(root, options, input="l0\n9\n" + "a" + "k", catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "of 39 others that were drafted alike" in done.output
    plan = Plan.load(tmp_path / "p.toml").over([*names, "group"])
    assert plan.guesses == {}
    assert {(plan.columns[name].lower, plan.columns[name].upper) for name in names} == {(0, 9)}  # type: ignore[union-attr]
    assert plan.columns["group"].kind == "category"


def test_back_returns_to_the_column_before(walked: Callable[[str], tuple[Plan, str]]) -> None:
    plan, said = walked("kkk" + "b" + "x" + "kk")
    assert plan.columns["age"].kind == "drop"
    assert plan.guesses == {}
    assert said.count("3 of 5  age") == 2


def test_quitting_saves_what_was_decided_and_leaves_the_rest_as_guesses(
    walked: Callable[[str], tuple[Plan, str]],
) -> None:
    plan, said = walked("kkkq")
    assert set(plan.guesses) == {"group", "score"}
    assert "2 places still hold guesses." in said


def test_limits_that_make_no_range_are_refused_and_asked_again(walked: Callable[[str], tuple[Plan, str]]) -> None:
    plan, said = walked("kk" + "l50\n10\n" + "k" + "kk")
    assert "lower must be less than upper" in said
    assert plan.columns["age"].lower == 0  # type: ignore[union-attr]


def test_other_keys_are_passed_over(walked: Callable[[str], tuple[Plan, str]]) -> None:
    plan, _ = walked("zzk?k!kkk")
    assert plan.guesses == {}


def test_a_machine_is_not_asked(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    assert cli("init", tmp_path / "t.csv", "--interactive", "--json").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of POSIX")
def test_it_works_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        code = "import sys; from rankveil.cli.run import run; sys.exit(run())"
        os.execv(sys.executable, [sys.executable, "-c", code, "init", "t.csv", "--interactive"])
    seen = b""
    deadline = time.monotonic() + 50
    while time.monotonic() < deadline:
        # Keys pressed before the program listens are thrown away: press again until it says more.
        if not select.select([terminal], [], [], 0.5)[0]:
            if seen.endswith(b"save and quit\r\n"):
                os.write(terminal, b"k")
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, seen.decode(errors="replace")
    assert b"All guesses are confirmed." in seen
    assert Plan.load(tmp_path / "plan.toml").guesses == {}
