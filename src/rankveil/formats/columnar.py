"""Parquet files: groups of rows that can be read side by side, and one for each batch of a release."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as papq

from rankveil.engines.arrays import is_text
from rankveil.formats.damaged import other_columns, reading
from rankveil.formats.format import Form, Opening, Part, Released, Stored, Style

_BUFFER = 1 << 20  # of a column: read as it is needed, not a group of rows at once
_BATCH_ROWS = 1 << 18  # shorter ones cost more calls, and threads that wait for each other; longer ones more memory
_WRITTEN_AT_ONCE = 1 << 17  # values of a column


def look(files: Sequence[Path], how: Opening) -> Stored:
    schemas = []
    for file in files:
        with reading(file.name):
            schemas.append(papq.read_schema(file))
    first = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        if {(field.name, field.type) for field in schema} != {(field.name, field.type) for field in first}:
            raise other_columns(files[0], file, "names and types of columns")
    return Stored(first, tuple(map(Part, files)))


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    """At one place texts as dictionaries where that is possible: the same values, read in less time."""
    with reading(part.path.name):
        if place is None:
            with papq.ParquetFile(part.path) as file:
                yield from _checked(file.iter_batches(batch_size=_BATCH_ROWS, columns=columns))
            return
        texts = [name for name in columns if is_text(stored.schema.field(name).type)]
        with papq.ParquetFile(part.path, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False) as file:
            yield from _checked(
                file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[place], columns=columns, use_threads=threads)
            )


def _checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        batch.validate(full=True)  # a damaged file may point outside its own memory
        yield batch
        del batch  # not held while the next one is read


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    with reading(part.path.name), papq.ParquetFile(part.path) as file:
        groups = range(file.metadata.num_row_groups)
        return [(group, file.metadata.row_group(group).num_rows) for group in groups]


def expected_rows(part: Part, stored: Stored) -> int | None:
    return sum(rows or 0 for _, rows in places(part, stored))


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    return None


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> ParquetWriter:
    return ParquetWriter(file, columns)


class ParquetWriter:
    form: Form = "listed"

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        self._file, self._columns = file, columns
        self._writer: papq.ParquetWriter | None = None

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def write(self, prepared: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = self._begun(prepared.schema)
        self._writer.write_batch(prepared)

    def _begun(self, schema: pa.Schema) -> Any:
        few = [column.name for column in self._columns if column.few]
        writer = papq.ParquetWriter(
            pa.PythonFile(self._file, mode="w"),
            schema,
            store_schema=False,
            # Columns of few values are stored as places in a list of them, which leaves nothing to compress.
            use_dictionary=few or False,
            compression={name: "none" if name in few else "snappy" for name in schema.names},
            write_batch_size=_WRITTEN_AT_ONCE,
        )
        # Readers see the types of the plan; that labels were listed once, to write them faster, is not passed on.
        shown = base64.b64encode(pa.schema([column.field for column in self._columns]).serialize().to_pybytes())
        writer.add_key_value_metadata({"ARROW:schema": shown.decode()})
        return writer

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
