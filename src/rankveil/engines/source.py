"""Tables to read: CSV and Parquet files, pandas and polars frames, Arrow tables and streams.

A table is a stream of Arrow record batches. Text files are handed on as text: what a text means (a number, a
date, a missing value) is for the plan to say, and errors are counted there without showing a value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.engines.dialect import Dialect, look_at
from rankveil.errors import TableError

MOST_COLUMNS = 1000
_BLOCK = 16 << 20
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Table:
    """Something with named columns that can be read as record batches."""

    name: str
    format: str  # csv, parquet, arrow, pandas, polars
    schema: pa.Schema
    path: Path | None = None
    dialect: Dialect | None = None
    _memory: pa.Table | None = field(default=None, repr=False)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, restricted to `columns`."""
        wanted = list(self.schema.names if columns is None else columns)
        try:
            if self._memory is not None:
                yield from self._memory.select(wanted).to_batches()
            elif self.format == "parquet":
                with papq.ParquetFile(self.path) as file:
                    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=wanted):
                        batch.validate(full=True)  # a damaged file may point outside its own memory
                        yield batch
            else:
                yield from self._csv_batches(wanted)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            # Arrow's own message may quote the line at fault, which is data.
            raise _unreadable(self.name, error) from None

    def _csv_batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        dialect = self.dialect
        assert dialect is not None  # noqa: S101 - set for every CSV table
        misfits: list[tuple[int, int, int | None]] = []

        def on_misfit(row: Any) -> str:
            misfits.append((row.expected_columns, row.actual_columns, row.number))
            return "error"

        try:
            reader = pacsv.open_csv(
                pa.input_stream(str(self.path), compression="detect"),
                read_options=pacsv.ReadOptions(
                    encoding=dialect.encoding,
                    block_size=_BLOCK,
                    column_names=list(dialect.names),
                    skip_rows=0,
                    skip_rows_after_names=1,
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=dialect.separator,
                    newlines_in_values=True,
                    # In a table of one column an empty line is a missing value, and rows are never dropped.
                    ignore_empty_lines=len(dialect.names) > 1,
                    invalid_row_handler=on_misfit,
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(dialect.names, pa.string()),
                    include_columns=wanted,
                    strings_can_be_null=False,
                ),
            )
            yield from reader
        except pa.ArrowInvalid:
            if not misfits:
                raise
            expected, actual, number = misfits[0]
            place = f"line {number}" if number is not None else "a line"
            raise TableError(
                f"Table {self.name}: {place} has {actual} fields where the header has {expected}.",
                remedy="Check the separator and the quotes; [table] separator in the plan sets another one.",
            ) from None

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
        """A result in the same kind as the table that went in."""
        if self.format == "pandas":
            # PRIVACY: the index and the attributes of a frame are data that no plan declares; they stay behind.
            return result.replace_schema_metadata(self._pandas_types(result.schema)).to_pandas()
        if self.format == "polars":
            import polars

            return polars.from_arrow(result)
        return result

    def _pandas_types(self, result: pa.Schema) -> dict[str, str]:
        """pandas' own types, such as Int64, as Arrow's metadata keep them, for columns whose type has not changed."""
        known = json.loads(self.schema.metadata[b"pandas"])
        unchanged = {field.name for field in result if field.type == self.schema.field(field.name).type}
        columns = [column for column in known["columns"] if column["field_name"] in unchanged]
        kept = {"index_columns": [], "column_indexes": known["column_indexes"], "columns": columns}
        return {"pandas": json.dumps({**kept, "pandas_version": known["pandas_version"]})}


def open_table(source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
    """Look at a path, a data frame or anything with the Arrow C stream, without reading its rows yet."""
    path = Path(source) if isinstance(source, str | Path) else None
    table = _open_memory(source) if path is None else _open_file(path, separator, encoding)
    _check_names(table)
    return table


def _open_file(path: Path, separator: str | None, encoding: str | None) -> Table:
    if not path.exists():
        raise TableError(f"Table {path} does not exist.", remedy="Check the path.")
    if path.is_dir():
        raise TableError(f"Table {path} is a folder.", remedy="Give one CSV or Parquet file.")
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == b"PAR1":
            return Table(path.name, "parquet", papq.read_schema(path), path=path)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise _unreadable(path.name, error) from None
    dialect = look_at(path, separator=separator, encoding=encoding)
    schema = pa.schema([(name, pa.string()) for name in dialect.names])
    return Table(path.name, "csv", schema, path=path, dialect=dialect)


def _open_memory(source: object) -> Table:
    library = type(source).__module__.partition(".")[0]
    try:
        if isinstance(source, pa.Table):
            table, kind = source, "arrow"
        elif isinstance(source, pa.RecordBatch):
            table, kind = pa.Table.from_batches([source]), "arrow"
        elif library == "pandas" and hasattr(source, "columns"):
            table, kind = pa.Table.from_pandas(_without_guessing(source), preserve_index=False), "pandas"
        elif hasattr(source, "__arrow_c_stream__"):
            table, kind = pa.table(source), "polars" if library == "polars" else "arrow"
        else:
            raise TableError(
                f"A {type(source).__name__} cannot be read as a table.",
                remedy="Give a path, a pandas or polars frame, or anything with the Arrow C stream.",
            )
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise _unreadable("in memory", error) from None
    return Table("in memory", kind, table.schema, _memory=table)


def _without_guessing(frame: Any) -> Any:
    """A pandas frame whose columns of Python objects hold texts, or days, each made from its own value alone.

    PRIVACY: Arrow would choose one type for such a column by looking at all of its values, and with it how every single
    value is read: one record with more decimals, or another time zone, would change the others.
    """
    if not frame.columns.is_unique:
        return frame
    objects = [name for name in frame.columns if frame[name].dtype == object]
    if not objects:
        return frame
    frame = frame.copy(deep=False)
    for name in objects:
        values = [_own_text(value) for value in frame[name]]
        days = all(value is None or isinstance(value, date) for value in values)
        texts = [value.isoformat() if isinstance(value, date) else value for value in values]
        frame[name] = type(frame[name])(values if days else texts, index=frame.index, dtype=object)
    return frame


def _own_text(value: Any) -> Any:
    """A Python object as text, a point in time as its own calendar day, and what stands for nothing as None."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # NaN is not itself
        return None
    value = value.item() if hasattr(value, "item") else value  # NumPy's own numbers
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value.is_finite() else str(value)
    if isinstance(value, str | int | float | bool):
        return str(value)
    return repr(type(value))  # no kind of column takes it: it is refused, without showing it


def _check_names(table: Table) -> None:
    names = table.schema.names
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"Table {table.name} has {len(names)} columns; at most {MOST_COLUMNS} are supported.",
            remedy="Release fewer columns: every further column thins the budget of all others.",
        )
    if any(not name.strip() for name in names):
        position = next(place for place, name in enumerate(names, start=1) if not name.strip())
        raise TableError(f"Table {table.name}: column {position} has no name.", remedy="Name it in the header line.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        first = names.index(twice[0])
        # By position: in a file without a header line the first row stands in the place of the names.
        raise TableError(
            f"Table {table.name}: {len(twice)} column name(s) occur twice; columns {first + 1} and"
            f" {names.index(twice[0], first + 1) + 1} have the same name.",
            remedy="Give every column a name of its own, and check that the first line is the header.",
        )


def _unreadable(name: str, error: Exception) -> TableError:
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
