"""Small files (plans, results), whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from rankveil.errors import OutputError
from rankveil.temporary import temporary_file
from rankveil.write.swap import recover


def write_text(path: Path, text: str) -> None:
    """A small text file (a plan, a result), whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> None:
    """A small file, whole or not at all. What killed runs have left beside it is removed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        recover(path.parent)
        with temporary_file(path.parent) as temporary:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(mode)
            temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None
