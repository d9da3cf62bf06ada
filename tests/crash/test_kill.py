"""Kill a release anywhere: no unrecorded release, no half file, and the next run works."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rankveil.ledger import Ledger
from rankveil.temporary import _prefix
from rankveil.write import FileFormat, OutputFolder, recover
from tests.crash import swapper
from tests.support import PAPERS

KILLER = Path(__file__).with_name("killer.py")
BOUNDARIES = [
    "before grouping",
    "inside the spend",
    "after the spend",
    "before noise",
    "before linking",
    "writing rows",
    "before renaming",
    "before the step",
    "after the release",
    "inside the last entry",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{number % 100},{'xy'[number % 2]}\n" for number in range(300))
    (tmp_path / "table.csv").write_text("a,b\n" + rows)
    return tmp_path


def run(*arguments: object) -> int:
    return subprocess.run([sys.executable, KILLER, *map(str, arguments)], timeout=300, check=False).returncode


def check(folder: Path, outs: list[Path]) -> int:
    """What must hold after any crash; returns the number of finished releases."""
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert ledger.broken_at() is None
        spends = {entry.number: entry for entry in ledger.entries() if entry.kind == "spend"}
    finished = 0
    for out in outs:
        release, certificate = out / "release.csv", out / "certificate.json"
        if certificate.exists():
            says = json.loads(certificate.read_text())  # never half a file
            assert says["ledger"]["receipt"] in spends[says["ledger"]["entry"]].note, "a release without its entry"
        if release.exists():
            finished += 1
            assert certificate.exists(), "a release without its certificate"
            content = release.read_bytes()
            assert hashlib.sha256(content).hexdigest() == says["release"]["sha256"], "half a release"
            assert content.count(b"\n") == 301
    assert finished <= len(spends)
    return finished


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_release_killed_at_a_step_boundary_leaves_nothing_wrong_behind(folder: Path, boundary: str) -> None:
    assert run(folder, "boundary", boundary) == -signal.SIGKILL
    finished = check(folder, [folder / "out"])
    assert finished == (boundary in ("after the release", "inside the last entry"))
    with Ledger(folder / "ledger.sqlite") as ledger:
        spent = [entry.kind for entry in ledger.entries()]
    assert spent == ([] if boundary in ("before grouping", "inside the spend") else ["spend"])
    # The next run works, in the same folder and with the same ledger.
    assert run(folder, "random", 1, 0) == 0
    assert check(folder, [folder / "out", folder / "out0"]) == finished + 1


def test_a_hundred_releases_killed_at_random_moments_leave_nothing_wrong_behind(folder: Path) -> None:
    assert run(folder, "random", 102, 7) == 0
    outs = [folder / f"out{number}" for number in range(102)]
    finished = check(folder, outs)
    assert 2 <= finished < 102, "the kills should hit at least one release, and spare the first two"
    leftovers = [path for out in outs if out.exists() for path in out.iterdir() if path.name.startswith(".")]
    assert all(path.name.startswith(".rankveil-") for path in leftovers), "only marked temporary files may be left"
    for out in outs:
        recover(out)
    assert not [path for out in outs if out.exists() for path in out.iterdir() if path.name.startswith(".")]


def test_a_hundred_releases_killed_while_they_replace_another_leave_the_old_or_the_new_one(folder: Path) -> None:
    assert run(folder, "again", 102, 11) == 0
    assert check(folder, [folder / "again"]) == 1
    recover(folder / "again")
    assert sorted(path.name for path in (folder / "again").iterdir()) == [*PAPERS, "release.csv"]


def test_runs_that_replace_one_release_at_once_leave_that_of_one_of_them(tmp_path: Path) -> None:
    def work(start: int) -> None:
        for kind in ("csv", "parquet", "parts"):
            swapper.publish(tmp_path, kind, start)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert isinstance(swapper.seen(tmp_path), dict)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_run_that_is_killed_inside_its_swap_does_not_stop_another_that_was_at_work_meanwhile(tmp_path: Path) -> None:
    waiting = OutputFolder(tmp_path, FileFormat("csv"))
    held = tmp_path / f"{_prefix()}abcdefgh.tmp"
    for side in ("old", "new"):
        (held / side).mkdir(parents=True)
    (held / "names").write_text("certificate.json\nrelease.csv")
    (held / "current").symlink_to("old")
    for name in ("certificate.json", "release.csv"):
        (held / "new" / name).write_text("killed")
        (tmp_path / name).symlink_to(f"{held.name}/current/{name}")
    waiting.publish(swapper.rows(1), swapper.certify)
    assert isinstance(swapper.seen(tmp_path), dict)
    assert sorted(path.name for path in tmp_path.iterdir()) == [*PAPERS, "release.csv"]


def swapped(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, KILLER.with_name("swapper.py"), folder, *arguments]
    found: dict[str, Any] = json.loads(subprocess.run(command, timeout=300, check=True, capture_output=True).stdout)
    assert found["kills"] > 30
    assert min(found["old"], found["new"]) > 5, "kills before and after the step"
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("none", "csv"),
        ("csv", "csv"),
        ("csv", "parquet"),
        ("parquet", "csv"),
        ("parts", "parts"),
        ("csv", "parts"),
        ("parts", "csv"),
        ("none", "model"),
        ("csv", "model"),
        ("model", "model"),
        ("model", "parts"),
    ],
)
def test_a_kill_before_any_call_to_the_system_leaves_the_old_pair_or_the_new_one_whole(
    tmp_path: Path, old: str, new: str
) -> None:
    assert swapped(tmp_path, old, new, "exchange")["wrong"] == []


@pytest.mark.parametrize("mode", ["renames", "no-links"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("none", "csv"), ("csv", "parquet"), ("parts", "parts"), ("parts", "csv"), ("model", "model"), ("model", "csv")],
)
def test_where_a_file_system_can_do_less_the_next_run_finishes_or_takes_back(
    tmp_path: Path, old: str, new: str, mode: str
) -> None:
    wrong = swapped(tmp_path, old, new, mode)["wrong"]
    assert [finding for finding in wrong if finding[1] != "after the kill"] == []
