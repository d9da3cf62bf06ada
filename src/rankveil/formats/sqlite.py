"""Tables of SQLite files. Every value is read by itself, for a column of SQLite may hold values of any type."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from rankveil.formats.damaged import one_file
from rankveil.formats.format import Opening, Part, Stored
from rankveil.formats.own_texts import own_texts
from rankveil.formats.tables import chosen, gone, no_file, quoted

_BATCH_ROWS = 1 << 15
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


def look(files: Sequence[Path], how: Opening) -> Stored:
    return look_at_table(Part(one_file(list(files), "SQLite"), inside=how.inside))


def look_at_table(part: Part) -> Stored:
    no_file(part.path)
    with _opened(part) as base:
        table = chosen(part, [name for (name,) in base.execute(_TABLES)], "sqlite")
        names = [row[0] for row in base.execute(f"SELECT * FROM {quoted(table)} LIMIT 0").description]
    return Stored(pa.schema([(name, pa.string()) for name in names]), (Part(part.path, inside=table),))


@contextmanager
def _opened(part: Part) -> Iterator[sqlite3.Connection]:
    try:
        base = sqlite3.connect(f"file:{quote(str(part.path.absolute()))}?mode=ro", uri=True, check_same_thread=False)
        base.text_factory = _text
    except sqlite3.Error:
        raise gone(part) from None
    try:
        yield base
    except (sqlite3.Error, UnicodeError):  # their words may quote a value
        raise gone(part) from None
    finally:
        base.close()


def _text(content: bytes) -> str:
    return content.decode("utf-8")


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, pa.string()) for name in columns])
    listed = ", ".join(map(quoted, columns)) or "NULL"
    with _opened(part) as base:
        found = base.execute(f"SELECT {listed} FROM {quoted(part.inside or '')}")
        while some := found.fetchmany(_BATCH_ROWS):
            arrays = [own_texts(values) for values in list(zip(*some, strict=True))[: len(columns)]]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    with _opened(part) as base:
        return int(base.execute(f"SELECT count(*) FROM {quoted(part.inside or '')}").fetchone()[0])
