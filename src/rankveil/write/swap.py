"""A release, its papers and its model, if it has one, take the place of others in one step.

Guarantee    Whatever ends the process, at any instruction, and if the power fails: under their names in the folder lie
             the old release with its papers (certificate, page, manifest, signature) and model, or the new one with
             its own, whole. Other files are not touched, and a folder `model` that is none of ours is never replaced.
Argument     A file system renames one name at a time, so the names are led through one switch first. In a temporary
             folder lie `new/`, which is filled, `old/`, and `current`, a symbolic link to `old`.
             1. Each name in turn becomes a link to `current/` and that name, and what it named moves to `old/`, in one
                exchange: it still leads to the same content. A name that is new leads nowhere as yet.
             2. `current` becomes a link to `new`, by one rename. This is the step: all names change with it.
             3. Each name in turn becomes the plain file or folder that it leads to; what leads nowhere is removed.
             Each phase is synced before the next. A run that ends early leaves links that lead to whole content, and
             the next one (`finish`) takes them back, or goes on from 3 if the step was done.
Not covered  Exchanging two names needs Linux and a file system that can (ext4, XFS, Btrfs, tmpfs, ZFS 2.2). Elsewhere
             (NFS, SMB, other systems) phase 1, and 3 for a release in parts, take two renames for a name; without
             symbolic links 1 is left out. A kill between them leaves a name missing or a pair that does not match,
             until the next release into the folder, or `rankveil verify`, calls `finish`: nothing is ever lost.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rankveil import system
from rankveil.errors import OutputError
from rankveil.formats import release_names
from rankveil.temporary import sweep, temporary_folder

CERTIFICATE_NAME, PAGE_NAME = "certificate.json", "certificate.html"
MANIFEST_NAME, SIGNATURE_NAME = "manifest.json", "manifest.sig"
PAPER_NAMES = (CERTIFICATE_NAME, PAGE_NAME, MANIFEST_NAME, SIGNATURE_NAME)  # the last one if somebody signs
RELEASE_NAMES = release_names()
MODEL_NAME = "model"  # a folder
WEIGHTS_NAMES = ("weights.csv", "weights.parquet")
_NAMES = (*RELEASE_NAMES, *PAPER_NAMES, *WEIGHTS_NAMES, MODEL_NAME)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # as Linux numbers them


@contextmanager
def prepared(folder: Path) -> Iterator[Path]:
    """A temporary folder with `new/` in it, to be filled and swapped in; or to be dropped."""
    with temporary_folder(folder, finish) as held:
        (held / "new").mkdir()
        yield held


def swap_in(
    held: Path, *, overwrite: bool, among: Sequence[str] = _NAMES, check: Callable[[], None] = lambda: None
) -> None:
    """Let what lies in `new/`, a release with its papers and model, take the place of what is in the folder.

    `among`: the names that this is about; others stay as they are. `check` is called when nobody else can swap, and
    may refuse.
    """
    folder, old, current = held.parent, held / "old", held / "current"
    names = [name for name in _NAMES if os.path.lexists(held / "new" / name)]
    old.mkdir()
    (held / "names").write_text("\n".join(names), encoding="ascii")
    (held / "among").write_text("\n".join(among), encoding="ascii")
    for path in (held, held / "new", old):
        path.chmod(0o755)  # names lead through it, for everyone
    for path in (held / "names", held / "among", held / "new", old, held):
        sync(path)
    recover(folder)  # another run may have been killed here while this one was at work
    with locked(folder):
        _refuse_other_swaps(folder)
        refuse_taken(folder, overwrite=overwrite)
        check()
        try:
            _point(current, "old")
            sync(held)
            if current.is_symlink():
                for name in among:
                    _lead(folder / name, old / name, held, wanted=name in names)
            sync(old)
            sync(folder)
            _point(current, "new")  # the step
            sync(held)
        finally:
            _settle(held)


def refuse_taken(folder: Path, *, overwrite: bool) -> None:
    model = folder / MODEL_NAME
    if os.path.lexists(model) and not (model / "model.json").exists():
        raise OutputError(
            f"The folder {folder} holds {MODEL_NAME}, which is no model of rankveil's.",
            remedy="Choose another folder, or give it another name: a model is written under this one.",
        )
    taken = [name for name in _NAMES if os.path.lexists(folder / name)]
    if taken and not overwrite:
        raise OutputError(
            f"The folder {folder} already holds {taken[0]}.",
            remedy="Choose another folder: a release that was made is not replaced unless you say --overwrite.",
        )


def recover(folder: Path) -> None:
    """Finish what killed runs have begun in a folder, and remove what they have left there."""
    sweep(folder, finish)


def finish(held: Path) -> None:
    """Bring the folder around to its old or its new state, whichever `current` says."""
    with locked(held.parent):
        _settle(held)


def _lead(name: Path, kept: Path, held: Path, *, wanted: bool) -> None:
    """Phase 1 for a name."""
    target = f"{held.name}/current/{name.name}"
    if not os.path.lexists(name):
        if wanted:
            name.symlink_to(target)
        return
    kept.symlink_to(target)
    if not exchange(name, kept):
        kept.unlink()
        name.rename(kept)
        name.symlink_to(target)


def _settle(held: Path) -> None:
    """Phase 3, or the way back; doing it again changes nothing."""
    side = _pointed(held / "current")
    if side is None:
        return
    new_names = (held / "names").read_text(encoding="ascii").split()
    about = held / "among"  # which an older version of rankveil did not write
    among = about.read_text(encoding="ascii").split() if about.exists() else _NAMES
    for name in among:
        at, ours = held.parent / name, held / side / name
        led = _leads_into(at, held)
        if os.path.lexists(ours) and not _leads_into(ours, held):
            if led and ours.is_dir() and not ours.is_symlink():
                if exchange(ours, at):
                    continue
                at.unlink()
            elif not led and os.path.lexists(at):  # no symbolic links here
                at.rename(held / "old" / name)
            ours.rename(at)
        elif led:
            at.unlink()  # it leads nowhere
        elif side == "new" and name not in new_names and os.path.lexists(at):
            at.rename(held / "old" / name)
    sync(held.parent)
    (held / "current").unlink()  # nothing is left to do: the rest may be removed in any order


def _point(current: Path, side: str) -> None:
    following = current.with_name("next")
    try:
        if system.windows():  # links need a privilege there, and folders and files have links of different kinds
            raise OSError(errno.EPERM, "no links")
        following.symlink_to(side)
    except OSError:
        following.write_text(side, encoding="ascii")
        sync(following)
    following.replace(current)


def _pointed(current: Path) -> str | None:
    try:
        return str(current.readlink())
    except FileNotFoundError:
        return None
    except OSError:
        return current.read_text(encoding="ascii")


def _leads_into(path: Path, held: Path) -> bool:
    return path.is_symlink() and str(path.readlink()).startswith(f"{held.name}/")


def _refuse_other_swaps(folder: Path) -> None:
    for name in _NAMES:
        target = str((folder / name).readlink()) if (folder / name).is_symlink() else ""
        if target.startswith(".rankveil-"):
            raise OutputError(
                f"The folder {folder} holds a release that another run, perhaps of another user, has not finished.",
                remedy="Choose another folder, or let that user run rankveil verify on it.",
            )


def locked(folder: Path) -> AbstractContextManager[None]:
    """One swap at a time; in a folder that cannot be locked (NFS), whoever comes second is refused by the names."""
    return system.locked_folder(folder, ".rankveil-swap.lock")


def exchange(first: Path, second: Path) -> bool:
    """Let two names change what they name, in one step; False where that cannot be done."""
    rename = _renameat2()
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(number, os.strerror(number))


@cache
def _renameat2() -> Any:
    return None if system.windows() else getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


sync = system.sync
