"""Kill a release anywhere: no unrecorded release, no half file, and the next run works."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankveil.ledger import Ledger

KILLER = Path(__file__).with_name("killer.py")
BOUNDARIES = [
    "before grouping",
    "inside the spend",
    "after the spend",
    "before noise",
    "before linking",
    "writing rows",
    "before renaming",
    "after the certificate",
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
            assert spends[says["ledger"]["entry"]].seal == says["ledger"]["seal"], "a release without its entry"
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


def test_two_hundred_releases_killed_at_random_moments_leave_nothing_wrong_behind(folder: Path) -> None:
    assert run(folder, "random", 202, 7) == 0
    outs = [folder / f"out{number}" for number in range(202)]
    finished = check(folder, outs)
    assert 2 <= finished < 202, "the kills should hit at least one release, and spare the first two"
    leftovers = [path for out in outs if out.exists() for path in out.iterdir() if path.suffix == ".tmp"]
    assert all(path.name.startswith(".rankveil-") for path in leftovers), "only marked temporary files may be left"
