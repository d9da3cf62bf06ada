"""Where a table does not fit its plan: the line or row of the first value, never the value itself.

For the person who holds the table, after a refusal. Reads the table once more, from its beginning to that value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from rankveil.engines import Table
from rankveil.engines.dialect import packed_stream
from rankveil.errors import RankveilError
from rankveil.formats import Part

Fits = Callable[[pa.Array], bool]


def first_places(table: Table, checks: dict[str, Fits]) -> dict[str, str]:
    """For each column the place of its first value that does not fit, in words; nothing where it cannot be said."""
    found: dict[str, str] = {}
    try:
        if table.in_this_memory:
            return {name: f"row {row + 1}" for name, row in _first_rows(table, checks).items()}
        for part in table.parts:
            single = replace(table, parts=(part,))
            rows = _first_rows(single, {name: fits for name, fits in checks.items() if name not in found})
            several = f" of {part.path.name}" if len(table.parts) > 1 else ""
            found |= {name: _in_words(single, part, row) + several for name, row in rows.items()}
    except (RankveilError, OSError, UnicodeError, csv.Error):
        return found  # the refusal itself is what matters
    return found


def _first_rows(table: Table, checks: dict[str, Fits]) -> dict[str, int]:
    found: dict[str, int] = {}
    start = 0
    for batch in table.batches(list(checks)):
        for name, fits in checks.items():
            if name not in found and not fits(batch.column(name)):
                found[name] = start + _first(batch.column(name), fits)
        if len(found) == len(checks):
            break
        start += batch.num_rows
    return found


def _first(array: pa.Array, fits: Fits) -> int:
    """By halves: the first half that does not fit holds the first value that does not."""
    start, count = 0, len(array)
    while count > 1:
        half = count // 2
        if fits(array.slice(start, half)):
            start, count = start + half, count - half
        else:
            count = half
    return start


def _in_words(table: Table, part: Part, row: int) -> str:
    if table.dialect is None:
        return f"row {row + 1}"
    with (
        packed_stream(part.path) as stream,
        io.TextIOWrapper(stream, encoding=part.encoding or "utf-8", newline="") as text,
    ):
        reader = csv.reader(text, delimiter=table.dialect.separator)
        before, records = 0, -1  # the line in which the last record ended; the first record is the header
        for fields in reader:
            if fields or len(table.schema.names) == 1:  # where a line is empty, it is no record of several fields
                if records == row:
                    break
                records += 1
            before = reader.line_num
        return f"line {before + 1}"
