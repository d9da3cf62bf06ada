"""What is published: a wheel made from the source archive, installed into an environment of its own, offline."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from rankveil import __version__
from tests.conftest import REPOSITORY
from tests.support import PAPERS, files_in, plan_text

# Extra -> its libraries, as they are imported, each with a command that cannot do without it.
NEEDS = {
    "duckdb": {"duckdb": "release t.duckdb --plan plan.toml --out out"},
    "evaluate": {"sklearn": "evaluate t.csv t.csv --plan plan.toml"},
    "excel": dict.fromkeys(("python_calamine", "xlsxwriter"), "release t.xlsx --plan plan.toml --out out"),
    "postgres": dict.fromkeys(
        ("adbc_driver_manager", "adbc_driver_postgresql"),
        "release postgresql://localhost/d#t --plan plan.toml --out out",
    ),
    "report": dict.fromkeys(
        ("jinja2", "vl_convert"), "evaluate t.csv t.csv --plan plan.toml --html page.internal.html"
    ),
    "sign": {"cryptography": "key new --out key.pem"},
    "spark": dict.fromkeys(
        ("pandas", "pyspark"), "release t.csv --plan plan.toml --out out --engine spark --master local[1]"
    ),
    "spss": {"pyreadstat": "release t.sav --plan plan.toml --out out"},
    "web": dict.fromkeys(
        ("jinja2", "python_multipart", "starlette", "uvicorn", "vl_convert"), "web t.csv --no-browser --port 0"
    ),
}
NOT_OF_THE_PACKAGE = {"bench", "dev"}  # for benchmarks/ and tests/, which the wheel does not hold
NAMES = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert"}
CASES = [(extra, library) for extra, needs in NEEDS.items() for library in needs]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from nothing but the unpacked source archive."""
    folder = tmp_path_factory.mktemp("built")
    build(REPOSITORY, "sdist", folder)
    with tarfile.open(folder / f"rankveil-{__version__}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    build(folder / f"rankveil-{__version__}", "wheel", folder)
    return folder / f"rankveil-{__version__}-py3-none-any.whl"


def build(source: Path, target: str, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment with the wheel; the libraries are those of the tests, seen through a .pth file."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=120)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--isolated", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], check=True, capture_output=True, timeout=120)
    (own,) = home.glob("lib/python*/site-packages")
    (own / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "plan.toml").write_text(plan_text(method="synthetic"), encoding="utf-8")
    for name in ("t.csv", "t.duckdb", "t.xlsx", "t.sav"):
        (folder / name).write_text("a\n" + "1\n2\n3\n" * 20, encoding="utf-8")
    return folder


def finished(python: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    # Nothing of this repository, which the tests may have on their path.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(python), *command], cwd=folder, env=own, capture_output=True, text=True, check=True, timeout=120
    )


def test_the_wheel_holds_the_package_and_nothing_of_the_repository_around_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"rankveil", f"rankveil-{__version__}.dist-info"}
    source = REPOSITORY / "src" / "rankveil"
    wanted = {f"rankveil/{path.relative_to(source).as_posix()}" for path in source.rglob("*") if path.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name}
    assert {name for name in names if name.startswith("rankveil/") and "/examples/" not in name} == wanted


def test_an_installed_wheel_releases_a_table_and_verifies_it(installed: Path, folder: Path) -> None:
    command = str(installed.with_name("rankveil"))
    where = finished(installed, folder, "-c", "import rankveil; print(rankveil.__file__)").stdout.strip()
    assert Path(where).is_relative_to(installed.parents[1])
    assert finished(installed, folder, command, "--version").stdout.split()[-1] == __version__
    finished(installed, folder, command, *["release", "t.csv", "--plan", "plan.toml", "--out", "made", "--no-sign"])
    assert set(PAPERS) < set(files_in(folder / "made"))
    finished(installed, folder, command, "verify", "made")


def test_every_extra_is_tried_with_each_of_its_libraries() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert declared["version"] if "version" in declared else "version" in declared["dynamic"]
    found = {
        extra: {_imported(each) for each in libraries}
        for extra, libraries in declared["optional-dependencies"].items()
        if extra not in NOT_OF_THE_PACKAGE
    }
    assert found == {extra: set(needs) for extra, needs in NEEDS.items()}


def _imported(requirement: str) -> str:
    name = re.split(r"[<>=]", requirement)[0]
    return NAMES.get(name, name.replace("-", "_"))


@pytest.fixture(scope="module")
def said(installed: Path, folder: Path) -> dict[tuple[str, str], tuple[int, str]]:
    """What each command says where one library is hidden."""
    cases = [[library, NEEDS[extra][library].split()] for extra, library in CASES]
    script = str(Path(__file__).with_name("without.py"))
    answers = json.loads(finished(installed, folder, script, json.dumps(cases)).stdout)
    return {case: (code, text) for case, (code, text) in zip(CASES, answers, strict=True)}


@pytest.mark.parametrize(("extra", "library"), CASES)
def test_without_a_library_the_command_names_the_extra_that_brings_it(
    said: dict[tuple[str, str], tuple[int, str]], extra: str, library: str
) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: nothing to hide")
    code, text = said[extra, library]
    assert f"pip install 'rankveil[{extra}]'" in " ".join(text.split()), text
    assert "Traceback" not in text
    assert code == (0 if extra == "evaluate" else 2)
