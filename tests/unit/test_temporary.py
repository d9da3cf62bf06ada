"""Temporary files: removed by the next run once their owner is dead, and never before."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rankveil import temporary
from rankveil.temporary import sweep, temporary_file, temporary_folder
from rankveil.web.home import Home
from rankveil.web.serve import remove_left_behind
from rankveil.write import FileFormat, OutputFolder, recover, write_text

MAKER = """
import sys, time
from pathlib import Path
from rankveil.temporary import temporary_file, temporary_folder
with temporary_file(Path(sys.argv[1])) as file, temporary_folder(Path(sys.argv[1]), lambda held: None) as folder:
    file.write_text("rows")
    (folder / "rows").write_text("rows")
    print("made", flush=True)
    time.sleep(300)
"""


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def maker(tmp_path: Path) -> subprocess.Popen[str]:
    return made_in(tmp_path)


def made_in(folder: Path) -> subprocess.Popen[str]:
    """A process that has made a temporary file and a folder in a folder, and lives."""
    process = subprocess.Popen([sys.executable, "-c", MAKER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "made\n"
    return process


def ended(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


RUNS: dict[str, Callable[[Path], object]] = {
    "a small file": lambda folder: write_text(folder / "plan.toml", "new"),
    "a release": lambda folder: OutputFolder(folder, FileFormat("csv")),
}


@pytest.mark.parametrize("run", RUNS)
def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_one_that_lives(
    tmp_path: Path, maker: subprocess.Popen[str], run: str
) -> None:
    try:
        RUNS[run](tmp_path)
        assert len(hidden(tmp_path)) == 2, "its owner lives"
    finally:
        ended(maker)
    assert len(hidden(tmp_path)) == 2
    RUNS[run](tmp_path)
    assert hidden(tmp_path) == []


def test_the_page_removes_at_its_start_what_killed_jobs_have_left_anywhere_in_its_folder(tmp_path: Path) -> None:
    home = Home(tmp_path / "state")
    folder = home.workings_folder / "0123456789abcdef" / "jobs" / "0123456789abcdef"
    folder.mkdir(parents=True)
    process = made_in(folder)
    (home.servers_folder / f"{temporary._prefix()}abcdefgh.tmp").touch()
    try:
        remove_left_behind(home)
        assert hidden(home.servers_folder) == []
        assert len(hidden(folder)) == 2, "its owner lives"
    finally:
        ended(process)
    remove_left_behind(home)
    assert hidden(folder) == []


def test_what_another_machine_has_made_is_left_alone(
    tmp_path: Path, maker: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(maker)
    here = temporary._here()
    monkeypatch.setattr(temporary, "_here", lambda: ("11111111", "22222222"))
    recover(tmp_path)
    assert len(hidden(tmp_path)) == 2
    monkeypatch.setattr(temporary, "_here", lambda: (here[0], "22222222"))  # the same machine, started anew
    recover(tmp_path)
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("name", [".rankveil-abcdefgh.tmp", ".rankveil-notes.tmp", ".other-1-2-x.tmp", "mine.tmp"])
def test_files_that_do_not_say_whose_they_are_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    recover(tmp_path)
    assert (tmp_path / name).read_text() == "mine"


def test_a_link_that_is_named_like_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    (tmp_path / f"{temporary._prefix()}abcdefgh.tmp").symlink_to(tmp_path / "mine")
    recover(tmp_path)
    assert (tmp_path / "mine" / "file").exists()


def test_a_folder_that_cannot_be_finished_stays_for_the_next_time(tmp_path: Path, maker: subprocess.Popen[str]) -> None:
    ended(maker)

    def fails(held: Path) -> None:
        raise OSError(28, "No space left on device")

    sweep(tmp_path, fails)
    assert [(tmp_path / name).is_dir() for name in hidden(tmp_path)] == [True]


def test_a_maker_whose_file_is_swept_before_it_is_locked_makes_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = temporary.system.lock, []

    def late(handle: int, *, wait: bool = True) -> None:
        if not swept:
            swept.append(True)
            sweep(tmp_path, lambda held: None)
        lock(handle, wait=wait)

    monkeypatch.setattr(temporary.system, "lock", late)
    with temporary_file(tmp_path) as file:
        assert file.exists()
    swept.clear()
    with temporary_folder(tmp_path, lambda held: None) as folder:
        assert folder.is_dir()
    assert hidden(tmp_path) == []


def test_temporary_files_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    with temporary_file(tmp_path) as file, temporary_folder(tmp_path, lambda held: None) as folder:
        assert [path.stat().st_mode & 0o077 for path in (file, folder)] == [0, 0]
