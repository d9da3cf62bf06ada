"""Ctrl-C and SIGTERM at any moment: one line, the documented code, nothing half-done left behind; and `| head`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import files_in

Write = Callable[..., Path]

# Sends the process a signal at the moment in which it begins to import a module, then runs the command.
_AT_AN_IMPORT = """
import os, sys
moment, number, sys.argv[1:] = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Watch())
from rankveil.cli import main
if moment == "done":
    import atexit
    atexit.register(os.kill, os.getpid(), 2)
main()
"""
# Replaces a function that `release` calls by one that is hit by a signal in the middle of it.
_INSIDE = """
import os, sys
from rankveil.cli import main
import rankveil.write.folder as folder
number, manner = int(sys.argv[1]), sys.argv[2]
sys.argv[1:] = sys.argv[3:]
class Lost:
    def __del__(self):
        os.kill(os.getpid(), number)
        for _ in range(1000):
            pass
def hit(*arguments, **more):
    import time
    if manner == "lost in a destructor":
        Lost()
    elif manner == "caught by everything":
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except BaseException:
            pass
    elif manner == "turned into another error":
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except BaseException:
            raise ImportError("half a library") from None
    else:
        os.kill(os.getpid(), number)
    time.sleep(9)
folder.write_rows = hit
main()
"""


def ended(code: str, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    # Also where these tests ignore them, as behind nohup.
    code = "import signal; signal.signal(2, signal.default_int_handler); signal.signal(1, signal.SIG_DFL)\n" + code
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=60
    )


@pytest.fixture
def release(write_table: Write, write_plan: Write, tmp_path: Path) -> list[object]:
    table = write_table("x,y\n1,2\n3,4\n5,6\n7,8\n")
    number = 'kind = "integer"\nlower = 0\nupper = 10'
    plan = write_plan({"x": number, "y": number})
    return ["release", table, "--plan", plan, "--out", tmp_path / "out", "--quiet"]


@pytest.mark.parametrize(
    ("module", "number"),
    [
        *((name, signal.SIGINT) for name in ("click", "rankveil.cli.release", "pydantic", "numpy", "pyarrow.lib")),
        *(("numpy", number) for number in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_while_a_library_is_imported_is_one_line_and_its_code(
    module: str, number: signal.Signals, release: list[object], tmp_path: Path
) -> None:
    done = ended(_AT_AN_IMPORT, module, int(number), *release, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "Stopped.\n")
    assert files_in(tmp_path / "out") == []


def test_a_signal_after_the_work_is_done_changes_nothing(tmp_path: Path) -> None:
    done = ended(_AT_AN_IMPORT, "done", 0, "methods", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "synthetic" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "manner", ["raised", "lost in a destructor", "caught by everything", "turned into another error"]
)
def test_a_signal_that_gets_lost_ends_the_release_all_the_same(
    manner: str, number: signal.Signals, release: list[object], tmp_path: Path
) -> None:
    done = ended(_INSIDE, int(number), manner, *release, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "Stopped.\n")
    assert files_in(tmp_path / "out") == [], "temporary files are removed"


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    script = f"import signal; signal.signal({int(signal.SIGTERM)}, signal.SIG_IGN)\n" + _AT_AN_IMPORT
    done = ended(script, "numpy", int(signal.SIGTERM), "methods", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["methods"], ["--help"], ["release", "--help"], ["methods", "--json"], ["nope"]])
def test_a_reader_that_closes_the_output_early_is_no_failure(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from rankveil.cli import main; main()", *arguments],
            stdout=writer,
            stderr=writer if arguments == ["nope"] else subprocess.PIPE,
            cwd=tmp_path,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr or b"") == (141, b"")
