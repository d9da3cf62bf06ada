"""What the tests share: small plans and tables, and the command line, as a real command and inside the process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import Ran, plan_text

REPOSITORY = Path(__file__).resolve().parents[1]

# Compiled modules are kept, whatever the environment says: else every command that a test starts compiles the package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# One thread for libraries that would take all cores: workers and commands share them. Threads of scikit-learn that wait
# for each other on busy cores made one file of tests take ten times as long. Read when a library is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# One example on a busy two-core machine may take long without anything being wrong.
settings.register_profile("rankveil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rankveil")


# A file goes to one worker, which makes its fixtures once. These folders do so as a whole, for a cluster or a browser,
# and these files test by test, as they share nothing. Both go first: what takes longest must not be left to the end.
_TOGETHER = ("tests/engines/", "tests/browser/", "tests/crash/")
_APART = tuple(
    f"tests/{file}.py"
    for file in ("audit/test_mutations", "audit/test_replay", "docs/test_tutorial", "statistics/test_preview_widths")
)
_LONG = (*_TOGETHER, *_APART, "tests/audit/", "tests/statistics/", "tests/docs/", "tests/web/", "tests/fuzz/")

FAST = 0.1  # seconds that a test took, at most, to be among those of `--fast`
_SECONDS = "rankveil/seconds"  # of every test, where it was last run, in pytest's cache


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help=f"leave out tests that took more than {FAST} s when they were last run here"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("xdist"):
        # A worker that dies is not replaced: with tests that stay together, pytest-xdist 3.8 then waits for ever.
        config.option.maxworkerrestart = "0"
        config.option.loadscopereorder = False
    if config.pluginmanager.hasplugin("cacheprovider") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Clock(config), "rankveil-clock")


class Clock:
    """Notes how long every test took."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = round(self.seconds.get(report.nodeid, 0) + report.duration, 2)

    def pytest_sessionfinish(self) -> None:
        if self.config.cache is not None:
            self.config.cache.set(_SECONDS, {**self.config.cache.get(_SECONDS, {}), **self.seconds})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((place for place, long in enumerate(_LONG) if item.nodeid.startswith(long)), 99))
    if config.getoption("fast"):
        cache = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
        took = {} if cache is None else cache.get(_SECONDS, {})
        slow = [item for item in items if took.get(item.nodeid, 0) > FAST]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if took.get(item.nodeid, 0) <= FAST]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Which tests stay together. (The mark `xdist_group` of pytest-xdist 3.8 does nothing under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(_APART):
                return nodeid
            file = nodeid.partition("::")[0]
            return next((group for group in _TOGETHER if nodeid.startswith(group)), file)

    return Together(config, log)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Empty folders. pytest's own numbered ones read the list of all of them for each that is made."""
    among = tmp_path_factory.mktemp("ledgers")
    return (_made(among / str(number)) for number in count())


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def ledger_of_this_test(folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test enters anything in the ledger of the person who runs it."""
    path = next(folders) / "ledger.sqlite"
    monkeypatch.setenv("RANKVEIL_LEDGER", str(path))
    return path


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The shared public data sets; RANKVEIL_DATA names another folder."""
    folder = Path(os.environ.get("RANKVEIL_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "adult.csv").exists():
        pytest.skip(f"no data sets in {folder}; set RANKVEIL_DATA to the folder that holds adult.csv")
    return folder


def _console_script() -> list[str]:
    script = Path(sys.executable).with_name("rankveil")
    return [str(script)] if script.exists() else [sys.executable, "-c", "from rankveil.cli import main; main()"]


@pytest.fixture
def run_cli(tmp_path: Path) -> Callable[..., Ran]:
    """The real command in a process of its own, started in the test's folder."""

    def run(*arguments: object, env: Mapping[str, str] | None = None, timeout: float = 60) -> Ran:
        finished = subprocess.run(
            [*_console_script(), *map(str, arguments)],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "error", **(env or {})},
            timeout=timeout,
        )
        return Ran(finished.returncode, finished.stdout.decode(), finished.stderr.decode())

    return run


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The same command inside this process: quicker, and open to monkeypatching."""
    from rankveil.cli.run import run as run_command

    def run(*arguments: object) -> Ran:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["rankveil", *map(str, arguments)])
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run_command()
        return Ran(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def write_plan(tmp_path: Path) -> Callable[..., Path]:
    """Writes a plan into the test's folder and gives its path."""

    def write(columns: Mapping[str, str] | str | None = None, *, name: str = "plan.toml", **parts: Any) -> Path:
        path = tmp_path / name
        path.write_text(columns if isinstance(columns, str) else plan_text(columns, **parts), encoding="utf-8")
        return path

    return write


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a table (text, bytes, or an Arrow table as Parquet) into the test's folder and gives its path."""

    def write(content: object, *, name: str | None = None) -> Path:
        path = tmp_path / (name or ("table.csv" if isinstance(content, str | bytes) else "table.parquet"))
        if isinstance(content, str):
            path.write_bytes(content.encode())
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            import pyarrow.parquet as papq

            papq.write_table(content, path)
        return path

    return write
