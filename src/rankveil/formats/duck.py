"""Tables of DuckDB files, in the types that the table declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rankveil.formats.damaged import one_file
from rankveil.formats.format import Opening, Part, Stored
from rankveil.formats.tables import chosen, gone, named, no_file, quoted

_BATCH_ROWS = 1 << 16
_TABLES = (
    "SELECT CASE WHEN schema_name = 'main' THEN name ELSE schema_name || '.' || name END FROM"
    " (SELECT schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal"
    " UNION ALL SELECT schema_name, view_name AS name FROM duckdb_views() WHERE NOT internal)"
)


def look(files: Sequence[Path], how: Opening) -> Stored:
    return look_at_table(Part(one_file(list(files), "DuckDB"), inside=how.inside))


def look_at_table(part: Part) -> Stored:
    no_file(part.path)
    with _opened(part) as base:
        table = chosen(part, [name for (name,) in base.execute(_TABLES).fetchall()], "duckdb")
        schema = _reader(base, f"SELECT * FROM {named(table)} LIMIT 0").schema
    return Stored(schema.remove_metadata(), (Part(part.path, inside=table),))


@contextmanager
def _opened(part: Part) -> Iterator[Any]:
    try:
        base = duckdb.connect(str(part.path), read_only=True)
    except duckdb.Error:
        raise gone(part) from None
    try:
        yield base
    except (duckdb.Error, pa.ArrowException):  # their words may quote a value
        raise gone(part) from None
    finally:
        base.close()


def _reader(base: Any, query: str) -> Any:
    found = base.sql(query)
    made = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # before DuckDB 1.4
    return made(_BATCH_ROWS)


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    listed = ", ".join(map(quoted, columns)) or "NULL AS nothing"
    with _opened(part) as base:
        for batch in _reader(base, f"SELECT {listed} FROM {named(part.inside or '')}"):
            yield batch.select(columns)


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    with _opened(part) as base:
        return int(base.execute(f"SELECT count(*) FROM {named(part.inside or '')}").fetchone()[0])
