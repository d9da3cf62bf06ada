"""Small files (plans, results), whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from rankveil import system
from rankveil.errors import OutputError
from rankveil.temporary import temporary_file
from rankveil.write.swap import CERTIFICATE_NAME, PAPER_NAMES, prepared, recover, swap_in


def write_text(path: Path, text: str) -> None:
    """A small text file (a plan, a result), whole or not at all."""
    write_bytes(path, text.encode())


class _ChangedMeanwhileError(Exception):
    """Another process has written other papers since these were read."""


def rewrite_papers(folder: Path, change: Callable[[Path], Mapping[str, bytes]]) -> None:
    """Other papers for a release, made of those it has: all at once or not at all, and nobody else's are lost."""
    try:
        while True:
            recover(folder)
            read = (folder / CERTIFICATE_NAME).read_bytes()

            def unchanged(read: bytes = read) -> None:
                if (folder / CERTIFICATE_NAME).read_bytes() != read:
                    raise _ChangedMeanwhileError

            with suppress(_ChangedMeanwhileError), prepared(folder) as held:
                for name, content in change(folder).items():
                    path = held / "new" / name
                    path.write_bytes(content)
                    path.chmod(0o644)
                    system.sync(path)
                swap_in(held, overwrite=True, among=PAPER_NAMES, check=unchanged)
                return
    except OSError as error:
        raise OutputError(
            f"The documents in {folder} cannot be written: {error.strerror}.", remedy="Try again."
        ) from None


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> None:
    """A small file, whole or not at all. What killed runs have left beside it is removed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        recover(path.parent)
        _replace(path, content, mode)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None


def _replace(path: Path, content: bytes, mode: int) -> None:
    with temporary_file(path.parent) as temporary:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
