"""What cannot be read, in our words: those of libraries may quote the line or the cell at fault, which is data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from rankveil.errors import TableError

LONGEST_LINE = 1 << 20  # of a text file


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Arrow's errors and the system's as a TableError about the table or file of this name."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise unreadable(name, error) from None


def unreadable(name: str, error: Exception) -> TableError:
    text = str(error)
    if "straddl" in text or "block size" in text:
        reason = f"a line is longer than {LONGEST_LINE >> 20} MiB"
    elif isinstance(error, UnicodeError) or "UTF8" in text.replace("-", "").upper():
        reason = "it is not valid text in the expected encoding"
    elif isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    else:
        reason = "it is damaged, or not what its beginning promises"
    return TableError(
        f"Table {name} cannot be read: {reason}.",
        remedy="Check the file; [table] separator and encoding in the plan override what was detected.",
    )


def other_columns(first: Path, other: Path, what: str) -> TableError:
    return TableError(
        f"Table {first.parent.name}: its parts {first.name} and {other.name} have different {what}.",
        remedy="All parts of a table have the same columns; give a pattern that leaves other files out.",
    )


def one_file(files: list[Path], title: str) -> Path:
    """The only file of a table, of a format that is not read in parts."""
    if len(files) > 1:
        raise TableError(
            f"Table {files[0].parent.name} consists of {len(files)} files of {title}, which are not read as parts of"
            " one table.",
            remedy="Give one file, or put them together in CSV or Parquet files first.",
        )
    return files[0]
