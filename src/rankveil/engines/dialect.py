"""A first look at a text file: its encoding, its separator, its column names.

Only the first mebibyte is read. What the look gets wrong, the `[table]` section of the plan sets right.
"""

from __future__ import annotations

import codecs
import csv
import io
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil.errors import TableError

LOOK = 1 << 20
# What Western office programs write. Any byte of the first mebibyte may lead to it, so a release wants it stated.
GUESSED_ENCODING = "cp1252"
_SEPARATORS = (",", ";", "\t", "|")
_LINES_COMPARED = 50


@dataclass(frozen=True)
class Dialect:
    separator: str
    encoding: str
    names: tuple[str, ...]


def look_at(path: Path, *, separator: str | None = None, encoding: str | None = None) -> Dialect:
    """Find out how a CSV file is written. Compressed files (.gz, .bz2, .zst, .lz4, .zip) are read as they are."""
    try:
        with packed_stream(path) as stream:
            head = stream.read(LOOK)
            cut_off = bool(stream.read(1))
    except (OSError, pa.ArrowInvalid, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise TableError(f"Table {path.name} cannot be read: {reason}.", remedy="Check the file.") from None
    if not head.strip():
        raise TableError(f"Table {path.name} is empty.", remedy="It needs a header line and at least two rows.")
    text, encoding = _decoded(head, encoding, path, cut_off=cut_off)
    if cut_off:
        text, newline, _ = text.rpartition("\n")
        if not newline:
            raise TableError(
                f"Table {path.name}: its first line is longer than {LOOK >> 20} MiB.",
                remedy="This does not look like a CSV file with a header line; check the line ends and the format.",
            )
    if "\0" in text:
        raise TableError(
            f"Table {path.name} holds binary data, not text.", remedy="docs/formats.md lists what is read."
        )
    if not cut_off and not {"\n", "\r"} & set(text):
        raise TableError(
            f"Table {path.name} has no rows; it ends in its first line.",
            remedy="Check that this is the right file and that its first line is the header.",
        )
    separator = separator or _separator(text)
    return Dialect(separator, encoding, _names(text, separator, path))


def packed_stream(path: Path) -> Any:
    """The bytes of a text file, unpacked as its name says, or from a ZIP archive of one file."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return pa.input_stream(str(path), compression="detect")
    archive = zipfile.ZipFile(path)  # closed with what is read from it
    members = [each for each in archive.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX/")]
    problem = f"holds {len(members)} files" if len(members) != 1 else "is encrypted"
    if len(members) != 1 or members[0].flag_bits & 1:
        archive.close()
        raise TableError(
            f"The archive {path.name} {problem}.", remedy="Unpack it, and give the file that holds the table."
        )
    return archive.open(members[0])


def _decoded(head: bytes, encoding: str | None, path: Path, *, cut_off: bool) -> tuple[str, str]:
    if encoding is None:
        if head.startswith(codecs.BOM_UTF8):
            encoding = "utf-8-sig"
        elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        else:
            try:
                return codecs.getincrementaldecoder("utf-8")().decode(head, final=not cut_off), "utf-8"
            except UnicodeDecodeError:
                encoding = GUESSED_ENCODING
    try:
        "a".encode(encoding)  # a LookupError for codecs that do not make text, such as 'hex'
        return codecs.getincrementaldecoder(encoding)("replace").decode(head), encoding
    except UnicodeError:
        raise TableError(
            f"Table {path.name} is not text in the encoding {encoding!r}.",
            remedy="Correct [table] encoding in the plan.",
        ) from None
    except (LookupError, ValueError):  # the latter for a name that holds NUL
        raise TableError(
            f"Table {path.name}: the encoding {encoding!r} is not known.",
            remedy="Correct [table] encoding in the plan.",
        ) from None


def _separator(text: str) -> str:
    """The candidate that cuts the most of the first lines into the same number (at least two) of fields."""
    lines = text.splitlines()[:_LINES_COMPARED]

    def agreement(candidate: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _parsed(lines, candidate) if row)
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        return (count / max(1, widths.total()) if width > 1 else 0.0, width)

    best = max(_SEPARATORS, key=agreement)
    return best if agreement(best)[0] > 0 else ","


def _parsed(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        return []


def _names(text: str, separator: str, path: Path) -> tuple[str, ...]:
    try:
        header = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error:
        raise TableError(
            f"Table {path.name}: its header line cannot be read as CSV.", remedy="Check its quotes."
        ) from None
    return tuple(name.strip() for name in header)
