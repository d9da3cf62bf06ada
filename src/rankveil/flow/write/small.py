"""Small files (plans, results), whole or not at all; and what it takes for a file to be on the disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rankveil.errors import OutputError


def write_text(path: Path, text: str) -> None:
    """A small text file (a plan, a result), whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> None:
    """A small file, whole or not at all."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".rankveil-", suffix=".tmp")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
