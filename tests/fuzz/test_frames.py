"""Frames of pandas, polars and Arrow, wrong in themselves or merely odd: released or refused, in good time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rankveil as rv
from rankveil.engines import open_table
from rankveil.errors import TableError
from tests.fuzz.frames import MADE, Panic, Stream
from tests.fuzz.harness import CASES, refused
from tests.support import plan_text

_REPOSITORY = Path(__file__).parents[2]
_AT_ONCE = 500


def ran(first: int, last: int) -> int:
    """How many frames a process of its own has made and got through."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.frames", str(first), str(last)],
        capture_output=True,
        text=True,
        cwd=_REPOSITORY,
        timeout=600,
    )
    at = (done.stdout.strip().splitlines() or ["the start"])[-1]
    assert done.returncode == 0, f"code {done.returncode} at case {at}\n{done.stderr[-3000:]}"
    return int(at.removeprefix("made "))


def test_any_frame_is_released_or_refused() -> None:
    assert ran(0, len(MADE)) > 90


def test_any_stream_of_arrow_is_released_or_refused() -> None:
    first, last = len(MADE), len(MADE) + CASES["frame"]
    made = sum(ran(start, min(start + _AT_ONCE, last)) for start in range(first, last, _AT_ONCE))
    assert made > CASES["frame"] // 20, "most are not read by Arrow itself"


@pytest.mark.parametrize("name", ["nulls without end", "empty lists without end", "runs without end"])
def test_rows_without_memory_for_them_are_refused(name: str) -> None:
    with pytest.raises(TableError, match="no memory that could hold them"):
        open_table(MADE[name]())


def test_a_panic_of_another_library_is_a_refusal_without_its_text() -> None:
    assert isinstance(refused(lambda: open_table(Stream(Panic("Zanzibar")))), TableError)
    with pytest.raises(KeyboardInterrupt):
        open_table(Stream(KeyboardInterrupt()))


@pytest.mark.parametrize("encoding", ["\\u0000", "utf-8\\u0000", "\\ud7ff", "é", "", " ", "hex", "undefined", "idna"])
def test_any_name_of_an_encoding_is_taken_or_refused(encoding: str, tmp_path: Path) -> None:
    table, plan = tmp_path / "t.csv", tmp_path / "plan.toml"
    table.write_text("a\n1\n2\n")
    plan.write_text(plan_text({"a": 'kind = "boolean"'}, table=f'encoding = "{encoding}"'))
    refused(lambda: rv.release(table, plan, out=tmp_path / "out"))
