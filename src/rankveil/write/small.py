"""Small files (plans, results), whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rankveil.errors import OutputError
from rankveil.temporary import temporary_file
from rankveil.write.swap import locked, recover


def write_text(path: Path, text: str) -> None:
    """A small text file (a plan, a result), whole or not at all."""
    write_bytes(path, text.encode())


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Another content for a small file, made of what it holds: whole or not at all, and one process at a time."""
    try:
        recover(path.parent)
        with locked(path.parent):
            _replace(path, change(path.read_bytes()), path.stat().st_mode & 0o777)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None


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
