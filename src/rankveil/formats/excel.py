"""Sheets of Excel workbooks: the first line has the names, every other line is a record.

Guarantee    Every cell is read by itself (own_texts.py). A release is one sheet, written row by row.
Not covered  A sheet is held in memory while it is read; Excel allows 1,048,576 lines. Formulas count by the results
             that Excel has stored. What is formatted as a number or a day is one; colours and comments are not read.
"""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import python_calamine as calamine

from rankveil.errors import TableError
from rankveil.formats.damaged import one_file
from rankveil.formats.format import SHEET_REMEDY, Form, Opening, Part, Released, Stored, Style
from rankveil.formats.own_texts import own_texts

_BATCH_ROWS = 1 << 15
_MOST_LINES, _MOST_COLUMNS, _LONGEST_TEXT = 1_048_576, 16_384, 32_767
_LARGEST = 4 << 30  # bytes of a workbook that is unpacked
_FIRST_DAY = -25_508  # 1 March 1900, in days from 1970: before, Excel's calendar is wrong or has not begun
_ISO = "%Y-%m-%d"


def look(files: Sequence[Path], how: Opening) -> Stored:
    path = one_file(list(files), "Excel")
    with _opened(path) as book:
        sheet = _chosen(path, book, how.inside)
        first = next(_lines(book, sheet), None)
    if first is None:
        raise TableError(f"Sheet {sheet!r} of {path.name} is empty.", remedy="Its first line needs the column names.")
    names = [str(name).strip() for name in first]
    return Stored(pa.schema([(name, pa.string()) for name in names]), (Part(path, inside=sheet),))


def _chosen(path: Path, book: Any, asked: str | None) -> str:
    named = [each for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
    names = [each.name for each in named]
    if asked is not None:
        if asked not in names:
            raise TableError(f"The workbook {path.name} has no sheet {asked!r}.", remedy=_which(names))
        return asked
    seen = [each.name for each in named if each.visible == calamine.SheetVisibleEnum.Visible]
    if len(seen) != 1:
        raise TableError(f"The workbook {path.name} has {len(seen)} sheets.", remedy=_which(seen))
    return str(seen[0])


def _which(names: Sequence[str]) -> str:
    """Names of sheets are no values of the data, but may be many."""
    shown = ", ".join(repr(name) for name in names[:10]) + (" and others" if len(names) > 10 else "")
    return f"{SHEET_REMEDY} There are: {shown}."


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        _refuse_bombs(path)
        with closing(calamine.CalamineWorkbook.from_path(str(path))) as book:
            yield book
    except calamine.PasswordError:
        raise _encrypted(path) from None
    except (calamine.CalamineError, calamine.XmlError, calamine.ZipError, zipfile.BadZipFile, ValueError):
        if _is_encrypted(path):
            raise _encrypted(path) from None
        raise TableError(
            f"The workbook {path.name} cannot be read: it is damaged, or no workbook.",
            remedy="Open it in Excel and store it again, or store the sheet as CSV.",
        ) from None
    except OSError as error:
        raise TableError(
            f"The workbook {path.name} cannot be read: {error.strerror or 'it is damaged'}.", remedy="Check the file."
        ) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of libraries written in Rust; it is no Exception
            raise
        raise TableError(f"The workbook {path.name} cannot be read: it is damaged.", remedy="Store it again.") from None


def _is_encrypted(path: Path) -> bool:
    """A workbook with a password is an older kind of container, with the workbook inside of it."""
    name = "EncryptedPackage".encode("utf-16-le")
    with path.open("rb") as file:
        return file.read(4) == b"\xd0\xcf\x11\xe0" and name in file.read(1 << 22)


def _encrypted(path: Path) -> TableError:
    return TableError(
        f"The workbook {path.name} is protected by a password.",
        remedy="Open it in Excel, store it without the password in a safe place, and give that file.",
    )


def _refuse_bombs(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        if sum(each.file_size for each in archive.infolist()) > _LARGEST:
            raise TableError(
                f"The workbook {path.name} unpacks to more than {_LARGEST >> 30} GiB.", remedy="Store it as CSV."
            )


def _lines(book: Any, sheet: str) -> Iterator[list[Any]]:
    return iter(book.get_sheet_by_name(sheet).to_python(skip_empty_area=False))


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, pa.string()) for name in columns])
    where = [stored.schema.get_field_index(name) for name in columns]
    with _opened(part.path) as book:
        lines = _lines(book, part.inside or "")
        next(lines, None)
        while some := list(islice(lines, _BATCH_ROWS)):
            arrays = [own_texts([_cell(line[number]) for line in some]) for number in where]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cell(value: Any) -> Any:
    return None if value == "" else value


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    with _opened(part.path) as book:
        end = book.get_sheet_by_name(part.inside or "").end  # the last line, counted from 0, and its last column
        return 0 if end is None else int(end[0])


# Written


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    if len(columns) > _MOST_COLUMNS or (rows or 0) >= _MOST_LINES:
        return f"a sheet holds at most {_MOST_LINES - 1:,} rows and {_MOST_COLUMNS:,} columns"
    long = next((each for each in columns if any(len(text) > _LONGEST_TEXT for text in each.labels or ())), None)
    return None if long is None else f"column {long.name!r} has a label of more than {_LONGEST_TEXT:,} characters"


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> ExcelWriter:
    return ExcelWriter(file, columns)


class ExcelWriter:
    """Days as days where the plan reads ISO days, else as the texts that the plan reads."""

    form: Form = "values"

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        import xlsxwriter

        self._columns = columns
        self._book = xlsxwriter.Workbook(
            file,
            {
                "constant_memory": True,  # row by row
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
            },
        )
        self._book.set_properties({"created": datetime.datetime(1970, 1, 1), "author": "", "comments": ""})
        self._sheet = self._book.add_worksheet("release")
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._row = 0
        for place, column in enumerate(columns):
            self._sheet.write_string(0, place, column.name)

    def prepared(self, batch: pa.RecordBatch) -> list[list[Any]]:
        return [_values(column, array) for column, array in zip(self._columns, batch.columns, strict=True)]

    def write(self, prepared: list[list[Any]]) -> None:
        sheet = self._sheet
        for row in zip(*prepared, strict=True):
            self._row += 1
            for place, value in enumerate(row):
                if value is None:
                    continue
                if isinstance(value, str):
                    sheet.write_string(self._row, place, value)
                elif isinstance(value, bool):
                    sheet.write_boolean(self._row, place, value)
                elif isinstance(value, datetime.date):
                    sheet.write_datetime(self._row, place, value, self._day)
                else:
                    sheet.write_number(self._row, place, value)

    def close(self) -> None:
        self._book.close()


def _values(column: Released, array: pa.Array) -> list[Any]:
    if column.date_format is None:
        if column.decimal != "." and pa.types.is_floating(array.type):  # texts, as the plan reads them
            return [None if value is None else repr(value).replace(".", column.decimal) for value in array.to_pylist()]
        return list(array.to_pylist())
    if column.date_format == _ISO and column.lower is not None and column.lower >= _FIRST_DAY:
        return list(array.to_pylist())
    return [None if value is None else value.strftime(column.date_format) for value in array.to_pylist()]
