"""The Dockerfile: what a linter says of it, and that it is given nothing but what it copies."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTION = re.compile(r"^([A-Z]+) ((?:.*\\\n)*.*)$", re.MULTILINE)
INSTRUCTIONS = INSTRUCTION.findall(re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))


def test_a_linter_has_nothing_to_say() -> None:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    linter = shutil.which("hadolint", path=places)
    if linter is None:
        pytest.skip("hadolint is not installed (tools/programs.sh does that where it can)")
    done = subprocess.run([linter, "--no-color", str(REPOSITORY / "Dockerfile")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_command_runs_as_nobody_special_with_a_ledger_that_outlives_it() -> None:
    kinds = [kind for kind, _ in INSTRUCTIONS]
    last = len(kinds) - 1 - kinds[::-1].index("FROM")
    after = dict(INSTRUCTIONS[last:])
    assert after["USER"].isdecimal() and after["USER"] != "0"
    assert after["ENTRYPOINT"] == '["rankveil"]'
    assert after["VOLUME"] == '["/ledger"]'
    assert "RANKVEIL_LEDGER=/ledger/" in after["ENV"]


def test_only_what_is_copied_is_sent_and_it_is_there() -> None:
    copied = {
        path for kind, text in INSTRUCTIONS if kind == "COPY" and "--from" not in text for path in text.split()[:-1]
    }
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").split("\n")
    assert "*" in ignored
    assert {line[1:] for line in ignored if line.startswith("!")} == {path.removeprefix("./") for path in copied}
    assert all((REPOSITORY / path).exists() for path in copied)


def test_the_extras_that_are_installed_exist() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'"\.\[(.*)\]"', DOCKERFILE)
    assert set(extras.split(",")) == set(project["optional-dependencies"]) - {"bench", "dev", "spark"}


def test_its_python_is_one_that_the_package_supports() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = tuple(map(int, project["requires-python"].removeprefix(">=").split(".")))
    images = [text.split()[0] for kind, text in INSTRUCTIONS if kind == "FROM"]
    assert images
    assert all(tuple(map(int, re.findall(r"\d+", image)[:2])) >= least for image in images)
