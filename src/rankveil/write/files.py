"""Batches of a release as the bytes of a file of any format, fingerprinted on their way to the disk.

Guarantee    Bytes are a function of the released codes, the plan, the number of rows and the format: not of how the
             table was stored, cut or typed.
Argument     Types come from the plan (decode.py). Rows come in batches whose sizes follow from the number of rows
             (draw/rows.py, declare/again.py). A format's writer sees those batches and what the plan says about their
             columns, and no clock (formats/format.py).
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from rankveil.declare import Column, Plan, Schema
from rankveil.declare.domain import Codes, Nominal
from rankveil.draw.rows import Rows
from rankveil.engines import RowProgress, silent
from rankveil.formats import Released, Style, format_named
from rankveil.write.ahead import made_ahead
from rankveil.write.decode import FEW_CODES, Decoder


@dataclass(frozen=True)
class Said:
    """What the plan says about a column in words."""

    label: str | None = None
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()  # labels that stand for missing


_NOTHING_SAID: Mapping[str, Said] = {}


def said_by(plan: Plan) -> dict[str, Said]:
    """PRIVACY: labels of the original file are documentation, and public only where the plan repeats them."""
    said = {
        name: Said(entry.label, entry.value_labels or {}, getattr(entry, "missing", ()))
        for name, entry in plan.columns.items()
    }
    return {name: each for name, each in said.items() if each != Said()}


@dataclass(frozen=True)
class FileFormat:
    """How a release is written; a function of the plan and of the form of the table."""

    name: str  # of a format
    separator: str = ","
    escape_formulas: bool = False
    decimal: Literal[".", ","] = "."  # as the plan's columns write it
    said: Mapping[str, Said] = field(default_factory=dict)  # about columns, by name
    concepts: bool = True  # the method may release inner concepts of taxonomies beside labels


@dataclass(frozen=True)
class Written:
    """A finished file, or (with `parts`) a finished folder of files."""

    name: str
    sha256: str
    size: int
    parts: tuple[Written, ...] = ()
    beside: tuple[Written, ...] = ()  # what else is released with it, in files of its own

    @classmethod
    def in_parts(cls, name: str, parts: tuple[Written, ...]) -> Written:
        """A folder's fingerprint is that of its parts' fingerprints, listed as the command sha256sum lists them."""
        listing = "".join(f"{part.sha256}  {part.name}\n" for part in parts)
        return cls(name, hashlib.sha256(listing.encode()).hexdigest(), sum(part.size for part in parts), parts)


class _Fingerprinting(io.RawIOBase):
    """A file to write to, which knows the fingerprint of what was written. One that is changed is read again for it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._digest: Any = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return self._digest is None

    def seekable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._file.write(content)
        count = memoryview(content).nbytes
        if self._digest is not None:
            self._digest.update(content)
            self.size += count
        return count

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if (offset, whence) not in ((0, os.SEEK_CUR), (0, os.SEEK_END), (self.tell(), os.SEEK_SET)):
            self._digest = None
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self.size if self._digest is not None else self._file.tell()

    def flush(self) -> None:
        if not self._file.closed:
            self._file.flush()

    def written(self, name: str) -> Written:
        if self._digest is not None:
            return Written(name, self._digest.hexdigest(), self.size)
        self._file.flush()
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha256")  # type: ignore[arg-type]
        return Written(name, digest.hexdigest(), self._file.seek(0, os.SEEK_END))


def write_rows(rows: Rows, path: Path, name: str, file_format: FileFormat, progress: RowProgress = silent) -> Written:
    """All rows in one file at `path`, known as `name`."""
    columns = released_columns(rows.schema, file_format.said, concepts=file_format.concepts)
    with path.open("w+b") as file:
        sink = _Fingerprinting(file)
        style = Style(file_format.separator, file_format.escape_formulas)
        writer = format_named(file_format.name).writes.writer(cast(BinaryIO, sink), columns, style)
        decoder = Decoder.of(rows.schema, writer.form)

        def prepared(codes: dict[str, Codes]) -> tuple[int, Any]:
            batch = decoder(codes)
            return batch.num_rows, writer.prepared(batch)

        with closing(made_ahead(rows, prepared)) as batches:
            for count, batch in batches:
                writer.write(batch)
                progress(count)
        writer.close()
        return sink.written(name)


def released_columns(
    schema: Schema, said: Mapping[str, Said] = _NOTHING_SAID, *, concepts: bool
) -> tuple[Released, ...]:
    """What the plan says about columns that are written. `concepts`: inner ones of taxonomies may be among them."""
    return tuple(_released(column, said.get(column.name, Said()), concepts=concepts) for column in schema.columns)


def _released(column: Column, said: Said, *, concepts: bool) -> Released:
    domain = column.domain
    few = domain.code_count <= FEW_CODES
    made = partial(Released, column.field, column.kind, few, label=said.label, value_labels=said.value_labels)
    if isinstance(domain, Nominal):
        listed = domain.taxonomy.names if concepts else domain.taxonomy.labels
        return made(labels=None if domain.boolean else listed, missing=said.missing)
    if domain.labels is not None:
        return made(labels=domain.labels)
    return made(
        date_format=domain.date_format,
        decimal=domain.marks.decimal,
        lower=float(domain.lower),
        upper=float(domain.lower + domain.width * domain.step),
        special=tuple(f"{value:f}" for value in domain.special),
    )
