"""A test process that dies or hangs ends the run of tests, instead of leaving it waiting (decision 14)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

CASES = """
import os
import time
import pytest

@pytest.mark.parametrize("number", range(12))
def test_it(number):
    if number == 5:
        {ending}
"""


@pytest.mark.parametrize("ending", ["os.abort()", "time.sleep(600)"])
def test_the_run_ends(tmp_path: Path, ending: str) -> None:
    (tmp_path / "test_ending.py").write_text(CASES.format(ending=ending), encoding="utf-8")
    options = ["-c", str(REPOSITORY / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", "2"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-o", "faulthandler_timeout=10", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1, ran.stdout
    assert "test_it[5]" in ran.stdout


def test_tests_run_without_the_plugin_that_shares_them_among_workers(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): ...\n", encoding="utf-8")
    options = ["-c", str(REPOSITORY / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:xdist", "-q"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout


def test_fast_leaves_out_what_took_long_the_last_time(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(
        "import time\n\ndef test_quick(): ...\n\ndef test_slow():\n    time.sleep(0.2)\n", encoding="utf-8"
    )
    options = ["-c", str(REPOSITORY / "pyproject.toml"), "-p", "tests.conftest", "-q", "-o", f"cache_dir={tmp_path}/c"]
    said = [
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--fast", str(tmp_path)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=120,
        ).stdout
        for _ in range(2)
    ]
    assert "2 passed" in said[0]
    assert "1 passed, 1 deselected" in said[1]
