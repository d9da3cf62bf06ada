"""CSV: texts between separators, plain, compressed, or in a ZIP archive of one file.

Texts are handed on as texts: what a text means (a number, a date, a missing value) is for the plan to say, and errors
are counted there without showing a value.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from rankveil.engines.arrays import text_array
from rankveil.engines.decoding import as_utf8
from rankveil.engines.dialect import LOOK, Dialect, look_at, packed_stream
from rankveil.errors import TableError
from rankveil.formats.damaged import LONGEST_LINE, other_columns, reading
from rankveil.formats.format import Form, Opening, Part, Released, Stored, Style

_MISFIT = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")  # Arrow's words
_BLOCK = LONGEST_LINE  # Arrow reads up to 32 of them ahead, whoever waits for whom
_WRITTEN_AT_ONCE = 1 << 17  # values of a column


def look(files: Sequence[Path], how: Opening) -> Stored:
    first = look_at(files[0], separator=how.separator, encoding=how.encoding)
    parts = [Part(files[0], first.encoding)]
    for file in files[1:]:
        dialect = look_at(file, separator=first.separator, encoding=how.encoding)
        if dialect.names != first.names:
            raise other_columns(files[0], file, "header lines")
        parts.append(Part(file, dialect.encoding))
    return Stored(pa.schema([(name, pa.string()) for name in first.names]), tuple(parts), first)


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    with reading(part.path.name):
        yield from _batches(part, stored, columns)


def _batches(part: Part, stored: Stored, columns: list[str]) -> Iterator[pa.RecordBatch]:
    text, until_let_go = as_utf8(packed_stream(part.path), part.encoding or "utf-8")
    try:
        yield from pacsv.open_csv(text, **_options(stored.dialect, columns))
    except zipfile.BadZipFile:
        raise TableError(
            f"Table {part.path.name} cannot be read: the archive is damaged.", remedy="Check the file."
        ) from None
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


def _options(dialect: Dialect, columns: list[str]) -> dict[str, Any]:
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
            include_columns=columns,
            strings_can_be_null=False,
        ),
    }


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    """From the first mebibyte; None for a compressed file."""
    path = part.path
    try:
        with path.open("rb") as file, packed_stream(path) as plain:
            head = file.read(LOOK)
            if head != plain.read(LOOK):
                return None
            return head.count(b"\n") * path.stat().st_size // max(len(head), 1)
    except (pa.ArrowException, OSError, zipfile.BadZipFile):
        return None  # the pass over the rows says what is wrong


# Written


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    return None


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> CsvWriter:
    return CsvWriter(file, columns, style)


class CsvWriter:
    def __init__(self, file: BinaryIO, columns: Sequence[Released], style: Style) -> None:
        self._file, self._escape = file, style.escape_formulas
        separator = style.separator
        names = [column.name for column in columns]
        names = _harmless(text_array(names)).to_pylist() if self._escape else names
        # The header by hand: Arrow puts quotes around every name.
        file.write((separator.join(_quoted(name, separator) for name in names) + "\n").encode())
        plain = _needs_no_quotes(columns, separator)
        # Numbers as texts would get quotes, or an apostrophe before their sign, where texts do.
        self.form: Form = "texts" if plain and not self._escape and separator in ",;\t|" else "written"
        self._options = pacsv.WriteOptions(
            include_header=False,
            delimiter=separator,
            quoting_style="none" if plain else "needed",
            batch_size=_WRITTEN_AT_ONCE,
        )

    def prepared(self, batch: pa.RecordBatch) -> pa.Buffer:
        memory = pa.BufferOutputStream()
        pacsv.write_csv(_without_formulas(batch) if self._escape else batch, memory, self._options)
        return memory.getvalue()

    def write(self, prepared: pa.Buffer) -> None:
        self._file.write(prepared)

    def close(self) -> None:
        """Nothing is left to do."""


def _without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [_harmless(column) if pa.types.is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _harmless(texts: pa.Array) -> pa.Array:
    """An apostrophe before every text that a spreadsheet would run as a formula."""
    return pc.replace_substring_regex(texts, pattern=r"^([=+\-@\t\r])", replacement=r"'\1")


def _needs_no_quotes(columns: Sequence[Released], separator: str) -> bool:
    """Whether no label that the release may hold needs quotes; decided by the plan, not by what was drawn."""
    for column in columns:
        if any(not label or _quoted(label, separator) != label for label in column.labels or ()):
            return False
        if separator in (column.date_format or column.decimal):
            return False
    return True


def _quoted(text: str, separator: str) -> str:
    if any(mark in text for mark in (separator, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text
