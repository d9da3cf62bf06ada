"""Tables of PostgreSQL, through ADBC as Arrow batches, in the types that the table declares.

Numbers of the type numeric come as texts, which say them exactly. Types that Arrow does not know come as their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adbc_driver_manager
import pyarrow as pa
from adbc_driver_postgresql import dbapi

from rankveil.errors import TableError
from rankveil.formats.format import Opening, Part, Stored
from rankveil.formats.tables import chosen, gone, named, quoted

_TABLES = """
SELECT CASE WHEN n.nspname = ANY (current_schemas(false)) AND n.nspname = current_schema()
            THEN c.relname ELSE n.nspname || '.' || c.relname END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_%' AND has_table_privilege(c.oid, 'SELECT')
"""
_COLUMNS = """
SELECT a.attname, t.typname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = '{table}'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KNOWN = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


def look(files: Sequence[Path], how: Opening) -> Stored:
    raise TableError("A PostgreSQL database is no file.", remedy="Give its address: postgresql://…?table=…")


def look_at_table(part: Part) -> Stored:
    with opened(part) as cursor:
        cursor.execute(_TABLES)
        table = chosen(part, [name for (name,) in cursor.fetchall()], "postgresql")
        cursor.execute(_COLUMNS.format(table=named(table).replace("'", "''")))
        fields = [pa.field(name, _KNOWN.get(kind, pa.string())) for name, kind in cursor.fetchall()]
    return Stored(pa.schema(fields), (Part(Path(table), inside=table, server=part.server),))


@contextmanager
def opened(part: Part) -> Iterator[Any]:
    """A cursor whose statements make one transaction: it is committed by whoever asks for that."""
    try:
        with dbapi.connect(part.server or "") as base, base.cursor() as cursor:
            yield cursor
    except (adbc_driver_manager.Error, pa.ArrowException, OSError):  # their words may quote a value, or the address
        raise gone(part) from None


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([stored.schema.field(name) for name in columns])
    listed = ", ".join(quoted(field.name) + ("::text" if pa.types.is_string(field.type) else "") for field in schema)
    with opened(part) as cursor:
        cursor.execute(f"SELECT {listed or 'NULL'} FROM {named(part.inside or '')}")
        for batch in cursor.fetch_record_batch():
            arrays = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=False)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    with opened(part) as cursor:
        cursor.execute(f"SELECT count(*) FROM {named(part.inside or '')}")
        return int(cursor.fetchone()[0])
