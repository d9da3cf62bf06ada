"""Folders and files that belong to one user alone, and nobody else can put others in their place; and their locks.

Guarantee    `only_for_me` gives a folder that is the user's own and closed to all others. `check_way` refuses a folder
             if another user (the administrator aside) could rename it, or a folder on the way to it, and put one of
             their own there.
Argument     To rename an entry takes write permission on the folder that holds it; in a folder with the sticky bit, as
             /tmp has, also that one owns the entry. So every folder on the way is owned by the user or the
             administrator, and is writable by others only with that bit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankveil import system
from rankveil.errors import OutputError
from rankveil.write import write_bytes


def only_for_me(folder: Path) -> Path:
    """A folder that nobody else may look into."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or not system.mine(found):
        raise _refusal(folder, folder, "belongs to another user" if stat.S_ISDIR(found.st_mode) else "is no folder")
    folder.chmod(0o700)
    return folder


def keep(path: Path, content: bytes) -> None:
    """A file that nobody else may read, whole or not at all."""
    write_bytes(path, content, mode=0o600)


@contextmanager
def held(path: Path) -> Iterator[int]:
    """The lock on a file, which a process that is given its handle holds as well."""
    handle = os.open(path, system.binary(os.O_RDWR | os.O_CREAT), 0o600)
    try:
        system.lock(handle)
        yield handle
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock on a file: the answer is right however that process may end."""
    try:
        handle = os.open(path, system.binary(os.O_RDWR))
    except OSError:
        return False
    try:
        system.lock(handle, wait=False)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def check_way(folder: Path) -> None:
    """Refuse a folder that others could exchange, by whatever folder on the way to it, links included."""
    if system.windows():
        if not system.below_own_folder(folder):
            raise _refusal(folder, folder, "does not lie in your own folder, so other users may look into it")
        return
    for way in {Path(os.path.abspath(folder)), folder.resolve()}:  # noqa: PTH100 - links are looked at, not followed
        for place in reversed([way, *way.parents]):
            try:
                found = place.lstat()
            except FileNotFoundError:
                break  # we make it, and those below
            if found.st_uid not in (0, os.getuid()):
                raise _refusal(folder, place, "belongs to another user")
            if place != way and stat.S_ISDIR(found.st_mode) and _others_may_change(found):
                raise _refusal(folder, place, "can be changed by other users")


def _others_may_change(found: os.stat_result) -> bool:
    if found.st_mode & stat.S_ISVTX:
        return False
    by_group = bool(found.st_mode & stat.S_IWGRP) and not _is_my_own_group(found.st_gid)
    return by_group or bool(found.st_mode & stat.S_IWOTH)


def _is_my_own_group(group: int) -> bool:
    """Whether it is the group of this user alone that many systems make with an account."""
    import grp
    import pwd

    try:
        me, known = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return known.gr_gid == me.pw_gid and known.gr_name == me.pw_name and set(known.gr_mem) <= {me.pw_name}


def _refusal(folder: Path, place: Path, reason: str) -> OutputError:
    return OutputError(
        f"The private folder {folder} is not safe: {place} {reason}, who could exchange it.",
        remedy=f"Correct owner and permissions of {place} (chmod go-w), or name another folder with the environment"
        " variable RANKVEIL_STATE.",
    )
