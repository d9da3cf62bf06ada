"""The page for users of R: its blocks are one session of base R, and print what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs import make_tutorial

PAGE = make_tutorial.EXAMPLES.parent / "docs" / "r.md"
BLOCK = re.compile(r"^```(r|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (make programs)")
def test_the_blocks_of_the_page_run_in_base_r_and_print_what_it_shows(tmp_path: Path) -> None:
    shutil.copy(make_tutorial.EXAMPLES / "adult_test.csv.gz", tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    (tmp_path / "page.R").write_text("".join(text for kind, text in blocks if kind == "r"), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["Rscript", "--vanilla", "page.R"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "R_DEFAULT_PACKAGES": "base,utils,stats,methods"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [line for kind, text in blocks if kind == "text" for line in text.splitlines()]
    assert shown
    printed = [line.strip() for line in done.stdout.splitlines()]
    assert [line for line in shown if line not in printed] == []
