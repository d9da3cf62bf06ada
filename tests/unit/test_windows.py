"""What can be simulated of Windows here: modules that are not there, locks of bytes, no links, names that are open.

Nothing of this runs on Windows; docs/windows.md says what that leaves open.
"""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rankveil
from rankveil import system
from rankveil import temporary as temporaries
from rankveil.declare import Plan
from rankveil.engines import open_table
from rankveil.errors import OutputError
from rankveil.ledger.identity import default_ledger_path
from rankveil.release import release
from rankveil.temporary import own_place, sweep, temporary_file, temporary_folder
from rankveil.verify import verify
from rankveil.write import recover, write_text
from tests.support import files_in

PACKAGE = Path(rankveil.__file__).parent
ABSENT = ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "posix")
# Names that Windows' Python does not have, or that do something else there; `system` asks before it uses them.
POSIX_ONLY = {
    "os": {
        "geteuid", "getuid", "getegid", "getgid", "umask", "fchmod", "fchown", "chown", "fork", "setsid", "killpg",
        "getpgid", "pread", "pwrite", "mkfifo", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_TMPFILE", "O_DIRECTORY",
        "sched_getaffinity", "uname", "getloadavg", "statvfs",
    },
    "signal": {"SIGKILL", "SIGHUP", "SIGALRM", "SIGPIPE", "SIGUSR1", "setitimer", "alarm", "pthread_sigmask"},
}  # fmt: skip
# Where such a name stands behind a question that Windows answers with no.
ASKED = {
    "system.py": {"geteuid", "pread"},
    "temporary.py": {"O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"},
    "engines/local.py": {"sched_getaffinity"},
    "cli/stopping.py": {"SIGALRM", "setitimer"},
    "report/drawing.py": {"alarm"},
    "web/private.py": {"getuid"},
}


class FakeLocks(types.ModuleType):
    """msvcrt: one byte of a file is one process's; here one handle's. Locks go when their handle is closed."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.held: dict[tuple[int, int], int] = {}

    def locking(self, handle: int, mode: int, size: int) -> None:
        facts = os.fstat(handle)
        name = (facts.st_dev, facts.st_ino)
        owner = self.held.get(name)
        if owner is not None and owner != handle and _is_open(owner, name):
            raise OSError(errno.EACCES, "locked")
        self.held[name] = handle


def _is_open(handle: int, name: tuple[int, int]) -> bool:
    try:
        facts = os.fstat(handle)
    except OSError:
        return False
    return (facts.st_dev, facts.st_ino) == name


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeLocks]:
    locks = FakeLocks()
    monkeypatch.setattr(system, "WINDOWS", True)
    monkeypatch.setitem(sys.modules, "msvcrt", locks)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData" / "Local"))
    monkeypatch.setenv("USERNAME", "J. Müller")
    monkeypatch.setattr("pathlib.Path.symlink_to", _no_links)
    monkeypatch.setattr(os, "open", _without_folders(os.open))
    monkeypatch.setattr(Path, "replace", _no_open_names(Path.replace))
    monkeypatch.setattr(Path, "rename", _no_open_names(Path.rename))
    yield locks


def _no_links(self: Path, target: Any, target_is_directory: bool = False) -> None:
    raise OSError(1314, "a required privilege is not held by the client")


def _without_folders(really: Any) -> Any:
    def opened(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if not more and not isinstance(path, int) and Path(path).is_dir():
            raise PermissionError(errno.EACCES, "a folder cannot be opened")
        return int(really(path, flags, mode, **more))

    return opened


def _no_open_names(really: Any) -> Any:
    """Renaming fails while this process has the file open."""

    def renamed(self: Path, target: Any) -> Any:
        facts = self.lstat()
        for number in [path.name for path in Path("/proc/self/fd").iterdir()]:
            try:
                held = os.fstat(int(number))
            except OSError:
                continue
            if (held.st_dev, held.st_ino) == (facts.st_dev, facts.st_ino):
                raise PermissionError(errno.EACCES, "the file is open")
        return really(self, target)

    return renamed


def test_no_module_needs_what_windows_does_not_have() -> None:
    """Every module of the package is imported where the POSIX modules are not."""
    code = f"""
import sys
for name in {ABSENT!r}:
    if name != "posix": sys.modules[name] = None
import importlib, pkgutil, rankveil
for found in pkgutil.walk_packages(rankveil.__path__, "rankveil."):
    if ".spark" in found.name or found.name.endswith("__main__") or found.name == "rankveil.report.drawing":
        continue
    importlib.import_module(found.name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    if "uvloop" in done.stderr or "asyncio" in done.stderr or "subprocess" in done.stderr:
        pytest.fail("a library of Python's own needs a module that was hidden: " + done.stderr[-300:])
    assert done.returncode == 0, done.stderr[-2000:]


def posix_names(path: Path) -> set[str]:
    """Names of POSIX that a module uses, and imports of modules that only POSIX has."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} & POSIX_ONLY.get(node.value.id, set())
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & set(ABSENT)
    return found


@pytest.mark.parametrize(
    "path", [p for p in sorted(PACKAGE.rglob("*.py")) if "spark" not in p.parts], ids=lambda p: p.stem
)
def test_names_that_only_posix_has_stand_behind_a_question(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    allowed = ASKED.get(name, set()) | ({"pwd", "grp"} if name == "web/private.py" else set())
    assert posix_names(path) <= allowed


def test_the_check_of_posix_names_finds_them(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "import fcntl, os, signal\nos.umask(0)\nsignal.alarm(1)\nos.open('x', os.O_TMPFILE)\n"
    )
    assert posix_names(tmp_path / "m.py") == {"fcntl", "umask", "alarm", "O_TMPFILE"}


def test_a_temporary_file_is_renamed_while_its_lock_is_held_beside_it(on_windows: FakeLocks, tmp_path: Path) -> None:
    with temporary_file(tmp_path) as path:
        path.write_text("content")
        assert len(files_in(tmp_path)) == 2, "the file and its lock"
        path.replace(tmp_path / "final")
    assert files_in(tmp_path) == ["final"]


def test_what_a_living_run_holds_is_not_swept_and_what_a_dead_one_left_is(
    on_windows: FakeLocks, tmp_path: Path
) -> None:
    with temporary_file(tmp_path) as alive, temporary_folder(tmp_path, lambda held: None) as folder:
        left = tmp_path / alive.name.replace(".tmp", "x.tmp")
        left.write_text("of a killed run")
        lock = left.with_name(left.name.replace(".tmp", ".lock"))
        lock.touch()
        without = tmp_path / alive.name.replace(".tmp", "y.tmp")
        without.mkdir()
        sweep(tmp_path, lambda held: None)
        assert alive.exists() and folder.exists()
        assert not left.exists() and not without.exists()
        assert not lock.exists()
    assert files_in(tmp_path) == []


PLAN = Plan.from_dict(
    {
        "release": {"method": "synthetic", "epsilon": 1},
        "columns": {"a": {"kind": "integer", "lower": 0, "upper": 9}, "b": {"kind": "boolean"}},
    }
)


def people(folder: Path) -> Path:
    (folder / "people.csv").write_text(
        "a,b\n" + "".join(f"{n % 10},{'true' if n % 3 else 'false'}\n" for n in range(50))
    )
    return folder / "people.csv"


def test_a_release_is_made_verified_and_replaced(on_windows: FakeLocks, tmp_path: Path) -> None:
    table, out = people(tmp_path), tmp_path / "out"
    first = release(table, PLAN, out=out, keep_model=True, ledger=tmp_path / "ledger.sqlite")
    assert verify(out / "certificate.json", out / "release.csv").verified
    second = release(table, PLAN, out=out, overwrite=True, ledger=tmp_path / "ledger.sqlite")
    assert verify(out / "certificate.json", out / "release.csv").verified
    assert second.certificate.release != first.certificate.release
    assert files_in(out) == ["certificate.html", "certificate.json", "manifest.json", "release.csv"], (
        "the model of the first one has gone with it"
    )
    with pytest.raises(OutputError, match="already holds"):
        release(table, PLAN, out=out, ledger=tmp_path / "ledger.sqlite")


def test_a_swap_that_was_killed_is_finished_by_the_next_run(
    on_windows: FakeLocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, out = people(tmp_path), tmp_path / "out"
    release(table, PLAN, out=out, ledger=tmp_path / "ledger.sqlite")
    before = (out / "release.csv").read_bytes()
    with monkeypatch.context() as killed:
        # A killed process runs no `finally`: neither the swap's nor that of the temporary folder.
        killed.setattr("rankveil.write.swap._settle", lambda held: None)
        killed.setattr(temporaries.shutil, "rmtree", lambda *given, **more: None)
        release(table, PLAN, out=out, overwrite=True, ledger=tmp_path / "ledger.sqlite")
    assert (out / "release.csv").read_bytes() == before, "the old one, whole"
    recover(out)
    assert verify(out / "certificate.json", out / "release.csv").verified
    assert (out / "release.csv").read_bytes() != before
    assert files_in(out) == ["certificate.html", "certificate.json", "manifest.json", "release.csv"]


def test_rows_put_aside_in_a_file_are_read_without_pread(on_windows: FakeLocks, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(range(100)))
    with (tmp_path / "f").open("rb") as file:
        assert system.read_at(file.fileno(), 10, 50) == bytes(range(50, 60))
        assert system.read_at(file.fileno(), 10, 95) == bytes(range(95, 100))


def test_the_key_of_a_ledger_is_written_as_bytes_and_not_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "O_BINARY", 0x8000, raising=False)
    assert system.binary(os.O_WRONLY) & 0x8000


def test_places_of_the_users_own(on_windows: FakeLocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKVEIL_LEDGER")
    assert default_ledger_path() == tmp_path / "AppData" / "Local" / "rankveil" / "ledger.sqlite"
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert own_place("replay").name == "rankveil-replay-J__Müller"
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "elsewhere"))
    with pytest.raises(PermissionError):
        own_place("replay")


def test_the_page_refuses_a_folder_that_others_may_look_into(on_windows: FakeLocks, tmp_path: Path) -> None:
    from rankveil.web.private import check_way, held, is_held

    check_way(tmp_path / "state")
    with pytest.raises(OutputError, match="your own folder"):
        check_way(Path("/somewhere/else"))
    with held(tmp_path / "running"):
        assert is_held(tmp_path / "running")
    assert not is_held(tmp_path / "running")


def test_a_process_apart_and_its_end(on_windows: FakeLocks, monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.apart() == {"creationflags": subprocess.__dict__.get("CREATE_NEW_PROCESS_GROUP", 0x200)}
    monkeypatch.delattr("signal.SIGKILL")
    assert system.kill_signal() is system.signal.SIGTERM


def test_a_reader_that_has_gone_is_known_by_windows_words_as_well(on_windows: FakeLocks) -> None:
    assert system.reader_has_gone(OSError(errno.EINVAL, "Invalid argument"))
    assert system.reader_has_gone(BrokenPipeError())
    assert not system.reader_has_gone(OSError(errno.ENOSPC, "no space"))


def test_small_files_appear_whole(on_windows: FakeLocks, tmp_path: Path) -> None:
    write_text(tmp_path / "plan.toml", "first")
    write_text(tmp_path / "plan.toml", "second")
    assert files_in(tmp_path) == ["plan.toml"]
    assert (tmp_path / "plan.toml").read_text() == "second"


def test_a_drive_is_no_scheme_of_an_address() -> None:
    from rankveil.formats.addresses import database, is_address

    assert not is_address("C:\\data\\people.csv")
    kind, part = database("sqlite:///C:/data/people.db?table=t")
    assert (kind, part.path.as_posix()) == ("sqlite", "C:/data/people.db")
    assert open_table(pa.table({"a": [1, 2]})).row_count() == 2
