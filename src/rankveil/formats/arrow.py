"""Feather and Arrow IPC: files and streams of record batches, read as they are mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from rankveil.errors import TableError
from rankveil.formats.damaged import one_file, reading
from rankveil.formats.format import Form, Opening, Part, Released, Stored, Style

_BATCH_ROWS = 1 << 18


def look(files: Sequence[Path], how: Opening) -> Stored:
    path = one_file(list(files), "Arrow")
    with reading(path.name):
        with path.open("rb") as file:
            if file.read(4) == b"FEA1":
                raise TableError(
                    f"Table {path.name} is of Feather's first version, which nobody writes any more.",
                    remedy="Store it again with a present version of pandas, polars or Arrow.",
                )
        with closing(_opened(path)) as reader:
            return Stored(reader.schema, (Part(path),))


class _Reader:
    """A file, whose batches can be reached one by one, or a stream."""

    def __init__(self, path: Path, columns: list[str] | None = None) -> None:
        self._map = pa.memory_map(str(path))
        self.filed = self._map.read(6) == b"ARROW1"
        self._map.seek(0)
        self._open = pa.ipc.open_file if self.filed else pa.ipc.open_stream
        self._reader = self._open(self._map)
        self.schema: pa.Schema = self._reader.schema
        if columns is not None and len(set(self.schema.names)) == len(self.schema.names):
            fields = sorted(self.schema.get_field_index(name) for name in columns)
            self._map.seek(0)
            self._reader = self._open(self._map, options=pa.ipc.IpcReadOptions(included_fields=fields))

    def batches(self, place: int | None) -> Iterator[pa.RecordBatch]:
        if not self.filed:
            yield from self._reader
            return
        for number in range(self.count) if place is None else [place]:
            yield self._reader.get_batch(number)

    @property
    def count(self) -> int:
        return int(self._reader.num_record_batches)

    def close(self) -> None:
        self._map.close()


def _opened(path: Path, columns: list[str] | None = None) -> _Reader:
    return _Reader(path, columns)


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    with reading(part.path.name), closing(_opened(part.path, columns)) as reader:
        for batch in reader.batches(place):
            batch.validate(full=True)  # a damaged file may point outside its own memory
            chosen = batch.select(columns)
            del batch
            for start in range(0, chosen.num_rows, _BATCH_ROWS):
                yield chosen.slice(start, _BATCH_ROWS)


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    with reading(part.path.name), closing(_opened(part.path, [])) as reader:
        return [(number, None) for number in range(reader.count)] if reader.filed else [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    with reading(part.path.name), closing(_opened(part.path, stored.schema.names[:1])) as reader:
        return int(sum(batch.num_rows for batch in reader.batches(None)))


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    return None


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> ArrowWriter:
    return ArrowWriter(file, columns)


class ArrowWriter:
    form: Form = "values"

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        schema = pa.schema([column.field for column in columns])
        options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        self._writer: Any = pa.ipc.new_file(pa.PythonFile(file, mode="w"), schema, options=options)

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def write(self, prepared: pa.RecordBatch) -> None:
        self._writer.write_batch(prepared)

    def close(self) -> None:
        self._writer.close()
