"""What operating systems do differently: locks, owners, syncing, ends of processes. All of it is here.

Guarantee    A lock is let go when its process ends, however it ends. Files that are said to be on the disk are.
Windows      Locks are of bytes of a file (msvcrt) instead of whole files; folders cannot be locked, so a file in them
             is. What is open cannot be renamed or removed. A folder is not synced: NTFS keeps a journal of names.
             Files have no owner's number and no bits for others: what lies below the user's own folder inherits that
             nobody else but the administrator may read it, and other places are refused where that matters.
Not covered  None of this was run on Windows. docs/windows.md lists every call, and what tests simulate.
"""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

WINDOWS = os.name == "nt"
_FAR = 1 << 30  # the byte that is locked on Windows lies behind any content: locked bytes cannot be read by others
_POLL = 0.05  # seconds
_AT_A_PLACE = Lock()


def windows() -> bool:
    """Asked each time, so that tests can answer for a machine that is not there."""
    return WINDOWS


def binary(flags: int) -> int:
    """Flags for `os.open` of a file whose bytes are meant as they are, and that no other program inherits."""
    return flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)


def lock(handle: int, *, wait: bool = True) -> None:
    """Lock an open file until it is closed; BlockingIOError if somebody else has it, OSError if it has no locks."""
    if not windows():
        fcntl = _module("fcntl")
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    msvcrt = _module("msvcrt")
    while True:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return
        except OSError as error:
            if not wait:
                raise BlockingIOError(error.errno, "locked by another process") from None
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        time.sleep(_POLL)


@contextmanager
def locked_folder(folder: Path, name: str) -> Iterator[None]:
    """One at a time in a folder; where it cannot be locked (NFS), nobody waits."""
    path = folder / name if windows() else folder
    handle = os.open(path, binary(os.O_RDWR | os.O_CREAT if windows() else os.O_RDONLY), 0o600)
    try:
        with suppress(OSError):
            lock(handle)
        yield
    finally:
        os.close(handle)
        if windows():
            with suppress(OSError):  # another one has it open by now
                path.unlink()


def sync(path: Path) -> None:
    """Let what a file or folder holds be on the disk."""
    if windows():
        if path.is_dir():
            return
        handle = os.open(path, binary(os.O_RDWR))  # a handle that may not write cannot be synced
    else:
        handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def user() -> str:
    """Who runs this, for names of places of their own."""
    if not windows():
        return str(os.geteuid())
    name = os.environ.get("USERNAME") or "user"
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def mine(facts: os.stat_result) -> bool:
    """Whether something belongs to the user; on Windows whoever can reach a place of their own is one."""
    return windows() or facts.st_uid == os.geteuid()


def closed_to_others(facts: os.stat_result) -> bool:
    return windows() or not facts.st_mode & 0o077


def below_own_folder(path: Path) -> bool:
    """Whether a path lies in the user's own folder, where Windows lets nobody else in."""
    own = Path(os.environ.get("USERPROFILE") or Path.home())
    return path.resolve().is_relative_to(own.resolve())


def data_folder(kind: str) -> Path:
    """Where programs keep what is the user's: `data` or `state`."""
    if windows():
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "rankveil"
    given = os.environ.get(f"XDG_{kind.upper()}_HOME")
    usual = Path.home() / ".local" / ("share" if kind == "data" else "state")
    return (Path(given) if given else usual) / "rankveil"


def read_at(handle: int, size: int, start: int) -> bytes:
    """Bytes of a file from a place on, by any of several threads."""
    if hasattr(os, "pread") and not windows():
        return os.pread(handle, size, start)
    with _AT_A_PLACE:
        os.lseek(handle, start, os.SEEK_SET)
        parts = []
        while size > 0 and (part := os.read(handle, size)):
            parts.append(part)
            size -= len(part)
    return b"".join(parts)


def apart() -> dict[str, Any]:
    """How to start a process that a Ctrl-C in the terminal does not reach."""
    if windows():
        return {"creationflags": 0x00000200}  # CREATE_NEW_PROCESS_GROUP
    return {"start_new_session": True}


def kill_signal() -> signal.Signals:
    """What ends a process at once; on Windows every signal does."""
    return getattr(signal, "SIGKILL", signal.SIGTERM)


def reader_has_gone(error: BaseException | None) -> bool:
    """Whether writing failed because the program that reads has ended (`| head`); Windows calls that EINVAL."""
    return isinstance(error, BrokenPipeError) or (windows() and isinstance(error, OSError) and error.errno == 22)


def _module(name: str) -> Any:
    return importlib.import_module(name)
