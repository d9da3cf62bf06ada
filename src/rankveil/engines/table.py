"""A table as a stream of Arrow record batches, in order, or as pieces that can be read side by side.

Text files are handed on as text: what a text means (a number, a date, a missing value) is for the plan to say, and
errors are counted there without showing a value. A piece gives texts of a Parquet file as dictionaries where it can:
the same values, read in less time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.engines.decoding import as_utf8
from rankveil.engines.dialect import LOOK, Dialect
from rankveil.errors import TableError

_MISFIT = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")  # Arrow's words
_BLOCK = 1 << 20  # of a text file, and the longest line; Arrow reads up to 32 of them ahead, whoever waits for whom
_BUFFER = 1 << 20  # of a column of a Parquet file: read as it is needed, not a group of rows at once
_BATCH_ROWS = 1 << 18  # shorter ones cost more calls, and threads that wait for each other; longer ones more memory


@dataclass(frozen=True)
class Part:
    """One file of a table."""

    path: Path
    encoding: str | None = None  # text files


@dataclass(frozen=True)
class Table:
    """Something with named columns that can be read as record batches."""

    name: str
    format: str  # csv, parquet, arrow, pandas, polars
    schema: pa.Schema
    path: Path | None = None  # as it was given: a file, a folder, or a pattern
    dialect: Dialect | None = None
    parts: tuple[Part, ...] = ()  # files, in the order of their rows; none for a table in memory
    _memory: pa.Table | None = field(default=None, repr=False)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, restricted to `columns`."""
        wanted = list(self.schema.names if columns is None else columns)
        if self._memory is not None:
            with self._reading(self.name):
                yield from self._memory.select(wanted).to_batches()
        for part in self.parts:
            yield from self._part_batches(part, wanted)

    def _part_batches(self, part: Part, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        with self._reading(part.path.name):
            if self.format == "csv":
                yield from self._csv_batches(part, wanted)
                return
            with papq.ParquetFile(part.path) as file:
                yield from _checked(file.iter_batches(batch_size=_BATCH_ROWS, columns=wanted))

    @property
    def in_this_memory(self) -> bool:
        return self._memory is not None

    def in_memory(self) -> Table:
        """The same table, read once and kept."""
        held = pa.Table.from_batches(self.batches(), schema=self.schema)
        return replace(self, parts=(), _memory=held)

    def pieces(self) -> list[Piece]:
        """All rows, each in one piece, small enough to share out: groups of rows of Parquet files, text files."""
        if self._memory is not None:
            count = self._memory.num_rows
            return [Piece(self, None, start, min(_BATCH_ROWS, count - start)) for start in range(0, count, _BATCH_ROWS)]
        if self.format == "csv":
            return [Piece(self, part) for part in self.parts]
        found = []
        for part in self.parts:
            with self._reading(part.path.name), papq.ParquetFile(part.path) as file:
                groups = range(file.metadata.num_row_groups)
                found += [Piece(self, part, place, file.metadata.row_group(place).num_rows) for place in groups]
        return found

    def expected_rows(self) -> int | None:
        """How many rows there are; for text files an estimate from their size; None if nobody knows."""
        if self._memory is not None:
            return int(self._memory.num_rows)
        if self.format == "parquet":
            return sum(piece.rows or 0 for piece in self.pieces())
        estimates = [_estimated_lines(part.path) for part in self.parts]
        return None if None in estimates or not estimates else sum(lines or 0 for lines in estimates)

    def row_count(self) -> int:
        """How many rows there are, exactly: public, as every certificate states it. Text files are read for it."""
        known = self.expected_rows() if self.format != "csv" else None
        if known is not None:
            return known
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            # Arrow's own message may quote the line at fault, which is data.
            raise unreadable(name, error) from None

    def _csv_batches(self, part: Part, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        text, until_let_go = as_utf8(pa.input_stream(str(part.path), compression="detect"), part.encoding or "utf-8")
        try:
            yield from pacsv.open_csv(text, **self._csv_options(wanted))
        except (pa.ArrowException, OSError, UnicodeError) as error:
            error.__traceback__ = None  # frames hold what they name: the stream, if the decoder found the error
            # Read from the message, for a handler of invalid rows is Python code in Arrow's threads: one that still
            # holds it while the interpreter ends aborts the process.
            misfit = _MISFIT.match(str(error))
            if misfit is None:
                raise
            number, expected, actual = misfit.groups()
            place = f"line {number}" if number is not None else "a line"
            raise TableError(
                f"Table {part.path.name}: {place} has {actual} fields where the header has {expected}.",
                remedy="Check the separator and the quotes; [table] separator in the plan sets another one.",
            ) from None
        finally:
            del text
            until_let_go()

    def _csv_options(self, wanted: list[str]) -> dict[str, Any]:
        dialect = self.dialect
        assert dialect is not None  # noqa: S101 - set for every CSV table
        return {
            "read_options": pacsv.ReadOptions(
                block_size=_BLOCK, column_names=list(dialect.names), skip_rows=0, skip_rows_after_names=1
            ),
            "parse_options": pacsv.ParseOptions(
                delimiter=dialect.separator,
                newlines_in_values=True,
                # In a table of one column an empty line is a missing value, and rows are never dropped.
                ignore_empty_lines=len(dialect.names) > 1,
            ),
            "convert_options": pacsv.ConvertOptions(
                column_types=dict.fromkeys(dialect.names, pa.string()),
                include_columns=wanted,
                strings_can_be_null=False,
            ),
        }

    def digest(self) -> bytes:
        """A fingerprint of types and values of a table in memory, by which ledgers of format 1 knew it."""
        digest = hashlib.sha256(self.schema.remove_metadata().to_string().encode())
        for name in self.schema.names:
            chunks = [batch.column(name) for batch in self.batches([name])]
            joined = pa.chunked_array(chunks, self.schema.field(name).type).combine_chunks()
            joined = joined.dictionary_decode() if pa.types.is_dictionary(joined.type) else joined
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
class Piece:
    """Some rows of a table that can be read without the others. Pieces of files are small and can be pickled."""

    table: Table
    part: Part | None
    place: int = 0  # the group of rows in a Parquet file; the first row of a table in memory
    rows: int | None = None  # unknown for text files

    def batches(self, columns: Sequence[str], *, threads: bool = False) -> Iterator[pa.RecordBatch]:
        """`threads`: the reader may use further threads of its own."""
        wanted, table = list(columns), self.table
        if self.part is None:
            assert table._memory is not None  # noqa: S101 - only tables in memory have no parts
            yield from table._memory.select(wanted).slice(self.place, self.rows).to_batches()
        elif table.format == "csv":
            yield from table._part_batches(self.part, wanted)
        else:
            texts = [name for name in wanted if _is_text(table.schema.field(name).type)]
            with (
                table._reading(self.part.path.name),
                papq.ParquetFile(self.part.path, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False) as file,
            ):
                yield from _checked(
                    file.iter_batches(
                        batch_size=_BATCH_ROWS, row_groups=[self.place], columns=wanted, use_threads=threads
                    )
                )


def _checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        batch.validate(full=True)  # a damaged file may point outside its own memory
        yield batch
        del batch  # not held while the next one is read


def _pandas_frame(result: pa.Table) -> Any:
    """Where values may be missing, whole numbers and truth values in pandas' types that have room for that."""
    import pandas

    nullable = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
    columns = {
        field.name: column.to_pandas(types_mapper=nullable.get if field.nullable else None, date_as_object=False)
        for field, column in zip(result.schema, result.columns, strict=True)
    }
    return pandas.DataFrame(columns)


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def _estimated_lines(path: Path) -> int | None:
    """From the first mebibyte; None for a compressed file."""
    try:
        with path.open("rb") as file, pa.input_stream(str(path), compression="detect") as plain:
            head = file.read(LOOK)
            if head != plain.read(LOOK):
                return None
            return head.count(b"\n") * path.stat().st_size // max(len(head), 1)
    except (pa.ArrowException, OSError):
        return None  # the pass over the rows says what is wrong


def unreadable(name: str, error: Exception) -> TableError:
    text = str(error)
    if "straddl" in text or "block size" in text:
        reason = f"a line is longer than {_BLOCK >> 20} MiB"
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
