"""Temporary files and folders that say whose they are, so that those of a killed run can be removed.

Guarantee    What `sweep` takes away was made by a process of the same user that has ended.
Argument     Whoever makes a temporary file or folder holds a lock (flock) on it, which the system lets go when the
             process ends, however it ends; a number of a process that is used again means nothing here. The name says
             on which machine it was made and since which start of it. A lock that can be had counts where it was
             taken by this running system, or before this machine was started anew; a thing of another machine, on a
             file system that both see, is left alone, and so is one whose lock cannot be asked for.
             Between its making and its locking a thing may be swept: its maker then sees that it is gone, and makes
             another one.
Not covered  Files of earlier versions of rankveil, which held no lock, are left where they are.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from rankveil import system

_OURS = re.compile(r"\.rankveil-([0-9a-f]{8})-([0-9a-f]{8})-\w+(\.internal)?\.tmp")
_UNKNOWN = "0" * 8
_LOCK = ".lock"  # beside a temporary thing, on Windows
Finish = Callable[[Path], None]


@contextmanager
def temporary_file(folder: Path, *, internal: bool = False) -> Iterator[Path]:
    """An empty file, readable by its owner only; removed at the end unless it was given another name."""

    suffix = ".internal.tmp" if internal else ".tmp"

    def make() -> tuple[Path, int]:
        handle, name = tempfile.mkstemp(dir=folder, prefix=_prefix(), suffix=suffix)
        return Path(name), handle

    if system.windows():
        with _beside_a_lock(folder, suffix) as path:
            path.touch(mode=0o600, exist_ok=False)
            try:
                yield path
            finally:
                path.unlink(missing_ok=True)
        return
    path, handle = _locked(make)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def temporary_folder(folder: Path, finish: Finish) -> Iterator[Path]:
    """An empty folder, readable by its owner only; at the end it is finished with and removed, as `sweep` would."""

    def make() -> tuple[Path, int]:
        while True:
            path = Path(tempfile.mkdtemp(dir=folder, prefix=_prefix(), suffix=".tmp"))
            with suppress(FileNotFoundError):  # swept already
                return path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    if system.windows():
        with _beside_a_lock(folder, ".tmp") as path:
            path.mkdir(mode=0o700)
            try:
                yield path
            finally:
                with suppress(OSError):
                    finish(path)
                    shutil.rmtree(path)
        return
    path, handle = _locked(make)
    try:
        yield path
    finally:
        with suppress(OSError):
            finish(path)
            shutil.rmtree(path)
        os.close(handle)


@contextmanager
def _beside_a_lock(folder: Path, suffix: str) -> Iterator[Path]:
    """A name for something temporary, and a locked file beside it: on Windows nothing that is open can be renamed.

    The lock is made before the thing and removed after it, so that a thing without a lock has no living maker.
    """
    handle, name = tempfile.mkstemp(dir=folder, prefix=_prefix(), suffix=_LOCK)
    try:
        system.lock(handle)
        yield Path(name.removesuffix(_LOCK) + suffix)
    finally:
        os.close(handle)
        Path(name).unlink(missing_ok=True)


def own_place(purpose: str) -> Path:
    """Where the system keeps temporary files, a folder that only runs of this purpose and user have anything in.

    OSError if it cannot be had for this user alone.
    """
    place = Path(tempfile.gettempdir()) / f"rankveil-{purpose}-{system.user()}"
    place.mkdir(mode=0o700, exist_ok=True)
    facts = place.lstat()
    safe = system.below_own_folder(place) if system.windows() else system.closed_to_others(facts)
    if not stat.S_ISDIR(facts.st_mode) or not system.mine(facts) or not safe:
        raise PermissionError(errno.EACCES, "others may look into it", str(place))
    return place


@contextmanager
def only_folder(place: Path) -> Iterator[Path]:
    """A temporary folder in a place of its own; those that killed runs have left there are removed first."""
    sweep(place, _nothing)
    with temporary_folder(place, _nothing) as folder:
        yield folder


def _nothing(path: Path) -> None:
    """Nothing to be finished."""


def sweep(folder: Path, finish: Finish | None = None) -> None:
    """Remove what killed runs have left in a folder. Folders only with `finish`, which is called for each before.

    What cannot be finished or removed stays for the next time.
    """
    try:
        found = [path for path in folder.iterdir() if _may_be_judged(path.name)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            if system.windows():
                _swept_on_windows(path, finish)
                continue
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                system.lock(handle, wait=False)
                facts = os.fstat(handle)
                if not system.mine(facts):
                    continue
                if not stat.S_ISDIR(facts.st_mode):
                    path.unlink()
                elif finish is not None:
                    finish(path)
                    shutil.rmtree(path)
            finally:
                os.close(handle)


def _swept_on_windows(path: Path, finish: Finish | None) -> None:
    """By the lock beside it: if that can be had, or is gone, whoever made it has ended."""
    beside = path.with_name(path.name.removesuffix(".tmp").removesuffix(".internal") + _LOCK)
    handle = os.open(beside, system.binary(os.O_RDWR)) if beside.exists() else None
    try:
        if handle is not None:
            system.lock(handle, wait=False)
        if not path.is_dir():
            path.unlink()
        elif finish is not None:
            finish(path)
            shutil.rmtree(path)
    finally:
        if handle is not None:
            os.close(handle)
    if not path.exists():
        beside.unlink(missing_ok=True)


def _locked(make: Callable[[], tuple[Path, int]]) -> tuple[Path, int]:
    while True:
        path, handle = make()
        with suppress(OSError):  # a file system without locks: then nobody can sweep either
            system.lock(handle)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.lstat()):
                return path, handle
        os.close(handle)


def _prefix() -> str:
    return ".rankveil-{}-{}-".format(*_here())


def _may_be_judged(name: str) -> bool:
    found = _OURS.fullmatch(name)
    machine, start = _here()
    return found is not None and (found[1] == machine or found[2] == start != _UNKNOWN)


@cache
def _here() -> tuple[str, str]:
    """This machine, and this start of it."""
    start = _content("/proc/sys/kernel/random/boot_id")
    machine = _content("/etc/machine-id") or start
    return _short(f"{socket.gethostname()}\0{machine}"), _short(start) if start else _UNKNOWN


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
