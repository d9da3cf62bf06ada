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
