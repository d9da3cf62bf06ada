"""Batches of a release as the bytes of a CSV or Parquet file, fingerprinted on their way to the disk.

Guarantee    Bytes are a function of the released codes, the plan, the number of rows and the format: not of how the
             table was stored, cut or typed.
Argument     Types come from the plan (decode.py). Rows come in batches whose sizes follow from the number of rows
             (draw/rows.py, declare/again.py), and a batch makes a row group. Which columns are stored as places in a
             list of values, and how they are compressed, follows from the plan.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.declare import Schema
from rankveil.declare.domain import Codes, Grid
from rankveil.draw.rows import Rows
from rankveil.engines import RowProgress, silent
from rankveil.engines.arrays import text_array
from rankveil.write.ahead import made_ahead
from rankveil.write.decode import Decoder

_WRITTEN_AT_ONCE = 1 << 17  # values of a column


@dataclass(frozen=True)
class FileFormat:
    """How a release is written; a function of the plan and of the form of the table."""

    name: Literal["csv", "parquet"]
    separator: str = ","
    escape_formulas: bool = False
    decimal: Literal[".", ","] = "."  # as the plan's columns write it


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
    """A file to write to, which knows the fingerprint of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._file.write(content)
        self._digest.update(content)
        self.size += memoryview(content).nbytes
        return memoryview(content).nbytes

    def tell(self) -> int:
        return self.size

    def written(self, name: str) -> Written:
        return Written(name, self._digest.hexdigest(), self.size)


def write_rows(rows: Rows, path: Path, name: str, file_format: FileFormat, progress: RowProgress = silent) -> Written:
    """All rows in one file at `path`, known as `name`."""
    with path.open("wb") as file:
        sink = _Fingerprinting(file)
        if file_format.name == "parquet":
            decoder = Decoder.of(rows.schema, "listed")
            with closing(made_ahead(rows, decoder)) as batches:
                _write_parquet(batches, rows.schema, decoder, sink, progress)
        else:
            _write_csv(rows, sink, file_format, progress)
        return sink.written(name)


def _write_parquet(
    batches: Iterator[pa.RecordBatch], schema: Schema, decoder: Decoder, sink: _Fingerprinting, progress: RowProgress
) -> None:
    first = next(batches)
    # Readers see the types of the plan; that labels were listed once, to write them faster, is not passed on.
    shown = base64.b64encode(schema.arrow.serialize().to_pybytes())
    few = decoder.of_few_codes
    writer = papq.ParquetWriter(
        pa.PythonFile(sink, mode="w"),
        first.schema,
        store_schema=False,
        # Columns of few values are stored as places in a list of them, which leaves nothing to compress.
        use_dictionary=few or False,
        compression={name: "none" if name in few else "snappy" for name in first.schema.names},
        write_batch_size=_WRITTEN_AT_ONCE,
    )
    with writer:
        writer.add_key_value_metadata({"ARROW:schema": shown.decode()})
        for batch in chain([first], batches):
            writer.write_batch(batch)
            progress(batch.num_rows)


def _write_csv(rows: Rows, sink: _Fingerprinting, file_format: FileFormat, progress: RowProgress) -> None:
    separator, escape = file_format.separator, file_format.escape_formulas
    names = _harmless(text_array(rows.schema.names)).to_pylist() if escape else rows.schema.names
    # The header by hand: Arrow puts quotes around every name.
    sink.write((separator.join(_quoted(name, separator) for name in names) + "\n").encode())
    plain = _needs_no_quotes(rows.schema, separator)
    # Numbers as texts would get quotes, or an apostrophe before their sign, where texts do.
    decoder = Decoder.of(rows.schema, "texts" if plain and not escape and separator in ",;\t|" else "written")
    options = pacsv.WriteOptions(
        include_header=False,
        delimiter=separator,
        quoting_style="none" if plain else "needed",
        batch_size=_WRITTEN_AT_ONCE,
    )

    def text(codes: dict[str, Codes]) -> tuple[int, pa.Buffer]:
        batch = decoder(codes)
        memory = pa.BufferOutputStream()
        pacsv.write_csv(_without_formulas(batch) if escape else batch, memory, options)
        return batch.num_rows, memory.getvalue()

    with closing(made_ahead(rows, text)) as texts:
        for count, content in texts:
            sink.write(content)
            progress(count)


def _without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [_harmless(column) if pa.types.is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _harmless(texts: pa.Array) -> pa.Array:
    """An apostrophe before every text that a spreadsheet would run as a formula."""
    return pc.replace_substring_regex(texts, pattern=r"^([=+\-@\t\r])", replacement=r"'\1")


def _needs_no_quotes(schema: Schema, separator: str) -> bool:
    """Whether no label that the release may hold needs quotes; decided by the plan, not by what was drawn."""
    for column in schema.columns:
        labels = column.domain.labels if isinstance(column.domain, Grid) else column.domain.taxonomy.names
        if any(not label or _quoted(label, separator) != label for label in labels or ()):
            return False
        if isinstance(column.domain, Grid) and separator in (column.domain.date_format or column.domain.marks.decimal):
            return False
    return True


def _quoted(text: str, separator: str) -> str:
    if any(mark in text for mark in (separator, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text
