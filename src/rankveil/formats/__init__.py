"""Ways in and out: one file for each, listed here, imported when it is met.

format.py        what a format is
addresses.py     what a table is called: files, folders, patterns, sheets, standard input, tables of databases
damaged.py       what cannot be read, in our words
metadata.py      what files of SPSS, Stata and SAS say about their columns

delimited.py     CSV, plain, compressed or in a ZIP archive
columnar.py      Parquet
arrow.py         Feather and Arrow IPC
json_lines.py    one JSON object to a line
statistical.py   SPSS, Stata and SAS, read; written by sav.py, zsav.py, dta.py and xpt.py, columns as coded.py says
excel.py         sheets of Excel workbooks
sqlite.py  duck.py  postgres.py   tables of databases, with what they share in tables.py
into.py          a release as a table of a database
own_texts.py     cells that have types of their own
"""

from __future__ import annotations

from pathlib import Path

from rankveil.errors import TableError
from rankveil.formats.format import SHEET_REMEDY, Form, Format, Opening, Part, Released, Stored, Style, Writer
from rankveil.formats.metadata import ColumnMetadata, metadata

__all__ = [
    "FORMATS",
    "SHEET_REMEDY",
    "ColumnMetadata",
    "Form",
    "Format",
    "Opening",
    "Part",
    "Released",
    "Stored",
    "Style",
    "Writer",
    "format_named",
    "format_of_ending",
    "format_of_file",
    "metadata",
    "release_names",
]

_LABELS = "names, numbers, texts, days; variable labels, value labels and missing codes that the plan states"
_LETTERS = tuple(f".{letter}" for letter in "_abcdefghijklmnopqrstuvwxyz")
_PLAIN = "names, numbers, texts, days, truth values, missing values"

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format(
            "csv",
            "CSV text",
            "delimited",
            (".csv", ".tsv", ".txt", ".csv.gz", ".csv.bz2", ".csv.zst", ".csv.lz4", ".zip"),
            "names and texts; the separator and the decimal mark",
            text=True,
            exact_rows=False,
        ),
        Format("parquet", "Parquet", "columnar", (".parquet",), _PLAIN),
        Format("feather", "Feather", "arrow", (".feather",), _PLAIN),
        Format("arrow", "Arrow IPC", "arrow", (".arrow", ".ipc", ".arrows"), _PLAIN),
        Format(
            "jsonl",
            "JSON lines",
            "json_lines",
            (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
            _PLAIN,
            ordered=False,
            exact_rows=False,
        ),
        Format("sav", "SPSS", "statistical", (".sav",), _LABELS, "spss", ("pyreadstat",), written_by="sav"),
        Format(
            "zsav", "compressed SPSS", "statistical", (".zsav",), _LABELS, "spss", ("pyreadstat",), written_by="zsav"
        ),
        Format(
            "por",
            "portable SPSS",
            "statistical",
            (".por",),
            "the same, read only: written as .sav",
            "spss",
            ("pyreadstat",),
            released_as="sav",
            exact_rows=False,
        ),
        Format(
            "dta",
            "Stata",
            "statistical",
            (".dta",),
            _LABELS,
            "spss",
            ("pyreadstat",),
            written_by="dta",
            missing_texts=_LETTERS,
        ),
        Format(
            "sas7bdat",
            "SAS",
            "statistical",
            (".sas7bdat",),
            "names, numbers, texts, days; read only: written as .xpt",
            "spss",
            ("pyreadstat",),
            released_as="xpt",
            missing_texts=_LETTERS,
        ),
        Format(
            "xpt",
            "SAS transport",
            "statistical",
            (".xpt", ".xport"),
            "names, numbers, texts, days; variable labels that the plan states",
            "spss",
            ("pyreadstat",),
            exact_rows=False,
            written_by="xpt",
        ),
        Format(
            "xlsx",
            "Excel",
            "excel",
            (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
            "names, numbers, texts, days, truth values; one sheet",
            "excel",
            ("python_calamine", "xlsxwriter"),
        ),
        Format(
            "sqlite",
            "SQLite",
            "sqlite",
            (".sqlite", ".sqlite3", ".db"),
            _PLAIN + "; one table",
            released_as="parquet",
        ),
        Format(
            "duckdb",
            "DuckDB",
            "duck",
            (".duckdb",),
            _PLAIN + "; one table",
            "duckdb",
            ("duckdb",),
            released_as="parquet",
        ),
        Format(
            "postgresql",
            "PostgreSQL",
            "postgres",
            (),
            _PLAIN + "; one table",
            "postgres",
            ("adbc_driver_manager", "adbc_driver_postgresql"),
            released_as="parquet",
        ),
    )
}

_LOOK = 512  # bytes
_SAS7BDAT = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # what office programs wrote before 2007, and encrypted workbooks


def format_named(name: str) -> Format:
    return FORMATS[name]


def format_of_ending(name: str) -> Format | None:
    """The format that a file is to be written in, by its name."""
    found = FORMATS.get(Path(name).suffix.lower().removeprefix("."))
    return found if found is not None and found.released_as is None else None


def release_names(stem: str = "release") -> tuple[str, ...]:
    """What releases are called, each format by its own ending."""
    return tuple(f"{stem}.{each.name}" for each in FORMATS.values() if each.released_as is None)


def format_of_file(path: Path) -> Format:
    """By what the file begins with; by its name where that says nothing. What nothing tells is text."""
    try:
        with path.open("rb") as file:
            head = file.read(_LOOK)
    except OSError as error:
        raise TableError(f"Table {path.name} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    found = _by_content(head) or _by_name(path, head)
    if found == "feather" and path.name.lower().endswith(FORMATS["arrow"].endings):
        found = "arrow"
    return FORMATS[found]


def _by_content(head: bytes) -> str | None:
    if head[:4] in (b"$FL2", b"$FL3"):
        return "sav" if head[:4] == b"$FL2" else "zsav"
    starts = {
        b"PAR1": "parquet",
        b"ARROW1": "feather",
        b"FEA1": "feather",
        b"<stata_dta>": "dta",
        _SAS7BDAT: "sas7bdat",
        b"HEADER RECORD*******LIB": "xpt",
        b"SQLite format 3\0": "sqlite",
        _OFFICE: "xlsx",
    }
    found = next((name for start, name in starts.items() if head.startswith(start)), None)
    if found is None and head[8:12] == b"DUCK":
        return "duckdb"
    return found


def _by_name(path: Path, head: bytes) -> str:
    name = path.name.lower()
    if head.startswith(b"PK\x03\x04"):
        return "xlsx" if _is_workbook(path) else "csv"
    if name.endswith(FORMATS["jsonl"].endings) or (head.lstrip()[:1] == b"{" and not name.endswith(".csv")):
        return "jsonl"
    if b"ASCII SPSS PORT FILE" in head or name.endswith(".por"):
        return "por"
    if name.endswith(".dta") and head[:1] and head[0] in (104, 105, 108, 110, 111, 112, 113, 114, 115):
        return "dta"
    if head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    for ending in (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".xport", ".xlsx", ".xlsm", ".duckdb", ".sqlite"):
        if name.endswith(ending):  # it is not what it says: the reader of that format says so
            return next(each.name for each in FORMATS.values() if ending in each.endings)
    return "csv"


def _is_workbook(path: Path) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError):
        return path.suffix.lower() in FORMATS["xlsx"].endings
    return bool(names & {"[Content_Types].xml", "content.xml"})
