"""A table as a stream of Arrow record batches, in order, or as slices that can be read side by side.

Text files are handed on as text: what a text means (a number, a date, a missing value) is for the plan to say, and
errors are counted there without showing a value. A slice gives texts of a Parquet file as dictionaries where it can:
the same values, read in less time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil.engines.arrays import decoded
from rankveil.engines.dialect import Dialect
from rankveil.formats import FORMATS, Format, Part, Stored
from rankveil.formats.damaged import reading

_BATCH_ROWS = 1 << 18  # shorter ones cost more calls, and threads that wait for each other; longer ones more memory


@dataclass(frozen=True)
class Table:
    """Something with named columns that can be read as record batches."""

    name: str
    format: str  # the name of a format of files; or arrow, pandas, polars, spark
    schema: pa.Schema
    path: Path | None = None  # as it was given: a file, a folder, or a pattern
    dialect: Dialect | None = None
    parts: tuple[Part, ...] = ()  # files, in the order of their rows; none for a table in memory
    _memory: pa.Table | None = field(default=None, repr=False)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, restricted to `columns`."""
        wanted = list(self.schema.names if columns is None else columns)
        if self._memory is not None:
            with reading(self.name):
                yield from self._memory.select(wanted).to_batches()
        for part in self.parts:
            yield from self._stored_as.reads.batches(part, self._stored, wanted, None, threads=True)

    @property
    def _stored_as(self) -> Format:
        return FORMATS[self.format]

    @property
    def _stored(self) -> Stored:
        return Stored(self.schema, self.parts, self.dialect)

    @property
    def of_texts(self) -> bool:
        """Whether values are texts of a text file, whose marks and words for missing the plan explains."""
        return self.format in FORMATS and FORMATS[self.format].text

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """Texts that mean missing in tables of this format by themselves, such as .a of Stata."""
        return FORMATS[self.format].missing_texts if self.parts else ()

    @property
    def in_order(self) -> bool:
        """Whether the table lists its columns. Else one record may decide in which order they are met."""
        return not self.parts or self._stored_as.ordered

    @property
    def in_this_memory(self) -> bool:
        return self._memory is not None

    def in_memory(self) -> Table:
        """The same table, read once and kept."""
        held = pa.Table.from_batches(self.batches(), schema=self.schema)
        return replace(self, parts=(), _memory=held)

    def slices(self) -> list[Slice]:
        """All rows, each in one slice, small enough to share out: groups of rows of Parquet files, text files."""
        if self._memory is not None:
            count = self._memory.num_rows
            return [Slice(self, None, start, min(_BATCH_ROWS, count - start)) for start in range(0, count, _BATCH_ROWS)]
        reads = self._stored_as.reads
        return [
            Slice(self, part, place, rows) for part in self.parts for place, rows in reads.places(part, self._stored)
        ]

    def expected_rows(self) -> int | None:
        """How many rows there are; for text files an estimate from their size; None if nobody knows."""
        if self._memory is not None:
            return int(self._memory.num_rows)
        estimates = [self._stored_as.reads.expected_rows(part, self._stored) for part in self.parts]
        return None if None in estimates or not estimates else sum(rows or 0 for rows in estimates)

    def row_count(self) -> int:
        """How many rows there are, exactly: public, as every certificate states it. Text files are read for it."""
        known = self.expected_rows() if self._memory is not None or self._knows_its_rows else None
        if known is not None:
            return known
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))

    @property
    def _knows_its_rows(self) -> bool:
        return self.format not in FORMATS or FORMATS[self.format].exact_rows

    def digest(self) -> bytes:
        """A fingerprint of types and values of a table in memory, by which ledgers of format 1 knew it."""
        digest = hashlib.sha256(self.schema.remove_metadata().to_string().encode())
        for name in self.schema.names:
            chunks = [batch.column(name) for batch in self.batches([name])]
            joined = pa.chunked_array(chunks, self.schema.field(name).type).combine_chunks()
            joined = decoded(joined)
            digest.update(f"\0{name}\0{len(joined)}\0".encode())
            sink = pa.BufferOutputStream()
            flat = pa.concat_arrays([joined]) if isinstance(joined, pa.Array) else joined
            with pa.ipc.new_stream(sink, pa.schema([("x", flat.type)])) as writer:
                writer.write_batch(pa.record_batch([flat], names=["x"]))
            digest.update(sink.getvalue())
        return digest.digest()

    def unescaped(self, known: Sequence[str]) -> Table:
        """A released text file without the apostrophe of escaped formulas before names that are `known` without it."""
        if self.dialect is None:
            return self
        names = [
            name[1:] if name[:1] == "'" and name not in known and name[1:] in known else name
            for name in self.schema.names
        ]
        return replace(
            self,
            schema=pa.schema([(name, pa.string()) for name in names]),
            dialect=replace(self.dialect, names=tuple(names)),
        )

    def rebuild(self, result: pa.Table) -> Any:
        """A result in the kind of frame that went in; the types of its columns are the result's.

        PRIVACY: types of the frame that went in are not asked for: one record may have decided them. Its index and its
        attributes are data that no plan declares; they stay behind.
        """
        if self.format == "pandas":
            return _pandas_frame(result)
        if self.format == "polars":
            import polars

            return polars.from_arrow(result)
        return result


@dataclass(frozen=True)
class Slice:
    """Some rows of a table that can be read without the others. Pieces of files are small and can be pickled."""

    table: Table
    part: Part | None
    place: int | None = 0  # where in a file; the first row of a table in memory
    rows: int | None = None  # unknown for text files

    def batches(self, columns: Sequence[str], *, threads: bool = False) -> Iterator[pa.RecordBatch]:
        """`threads`: the reader may use further threads of its own."""
        wanted, table = list(columns), self.table
        if self.part is None:
            assert table._memory is not None  # noqa: S101 - only tables in memory have no parts
            yield from table._memory.select(wanted).slice(self.place, self.rows).to_batches()
        else:
            reads = table._stored_as.reads
            yield from reads.batches(self.part, table._stored, wanted, self.place, threads=threads)


def _pandas_frame(result: pa.Table) -> Any:
    """Where values may be missing, whole numbers and truth values in pandas' types that have room for that."""
    import pandas

    nullable = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    columns = {
        field.name: column.to_pandas(types_mapper=nullable.get if field.nullable else None, date_as_object=False)
        for field, column in zip(result.schema, result.columns, strict=True)
    }
    return pandas.DataFrame(columns)
