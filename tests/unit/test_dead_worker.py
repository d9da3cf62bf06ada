"""A test process that dies ends the run of tests, instead of leaving it waiting (decision 14)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY

DIES = """
import os
import pytest

@pytest.mark.parametrize("number", range(12))
def test_it(number):
    if number == 5:
        os.abort()
"""


def test_a_dead_worker_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_dies.py").write_text(DIES, encoding="utf-8")
    options = ["-c", str(REPOSITORY / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", "2"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1, ran.stdout
    assert "test_it[5]" in ran.stdout
