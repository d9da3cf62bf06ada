"""A sheet of variables: CSV or Excel with columns name, label, type, min, max, values (and missing, format, required).

Headers      In English or as REDCap and many agencies call them: variable, field, description, kind, choices, ...
Values       One list: "1=yes; 2=no", "1, yes | 2, no", "yes|no|unknown", or one entry on each line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from rankveil.declare.codebooks.codebook import Code, Codebook, Gathered, Kind, Variable, code_text, day, number
from rankveil.errors import CodebookError, MissingExtraError

LARGEST = 64 << 20
_HEADERS = {
    "name": (
        "name",
        "variable",
        "variable name",
        "field",
        "field name",
        "column",
        "column name",
        "variable / field name",
    ),
    "label": ("label", "description", "variable label", "field label", "question", "title"),
    "type": ("type", "kind", "data type", "field type", "datatype", "measure", "level"),
    "min": ("min", "minimum", "lower", "text validation min", "from"),
    "max": ("max", "maximum", "upper", "text validation max", "to"),
    "values": ("values", "categories", "codes", "choices", "value labels", "choices, calculations, or slider labels"),
    "missing": ("missing", "missing codes", "missing values", "special"),
    "format": ("format", "date format"),
    "step": ("step", "precision", "unit of measure step"),
    "required": ("required", "required field?", "mandatory"),
}
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("integer", "int", "whole", "count"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal", "real"), "number"),
    **dict.fromkeys(("numeric", "continuous", "scale", "interval", "ratio"), "quantity"),
    **dict.fromkeys(("date", "datetime", "timestamp"), "date"),
    **dict.fromkeys(("boolean", "bool", "logical", "truefalse"), "boolean"),
    **dict.fromkeys(
        ("category", "categorical", "nominal", "ordinal", "factor", "code", "label", "radio", "dropdown", "ordered"),
        "label",
    ),
    **dict.fromkeys(("drop", "identifier", "id", "key"), "drop"),
}
_ORDERED = ("ordinal", "ordered", "ordered factor")
_YES, _NO = ("y", "yes", "true", "1", "x"), ("n", "no", "false", "0", "")
_TEXT = ("string", "text", "character", "char", "str", "free text", "")


def read_csv(path: Path, columns: Collection[str]) -> Codebook:
    if path.stat().st_size > LARGEST:
        raise CodebookError(f"The codebook {path.name} is larger than {LARGEST >> 20} MiB.", remedy="Check the file.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise CodebookError(f"The codebook {path.name} is not UTF-8 text.", remedy="Save it as UTF-8.") from None
    head = text.split("\n", 1)[0]
    separator = max(",;\t|", key=head.count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error:
        raise CodebookError(f"The codebook {path.name} is no CSV file.", remedy="Check its quotes.") from None
    return _book(rows, path.name, f"{path.name}", columns)


def read_excel(path: Path, columns: Collection[str]) -> Codebook:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise MissingExtraError("Reading Excel files", "excel") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except Exception as error:  # calamine has errors of many kinds; none of its words is ours to print
        encrypted = "password" in str(error).lower() or "encrypt" in str(error).lower()
        why = "is encrypted" if encrypted else "is damaged, or no Excel file"
        raise CodebookError(f"The codebook {path.name} {why}.", remedy="Save it without a password.") from None
    fitting = {name: rows for name, rows in sheets.items() if rows and "name" in _header([str(x) for x in rows[0]])}
    if len(fitting) != 1:
        what = "no sheet with a column `name`" if not fitting else f"{len(fitting)} sheets that list variables"
        raise CodebookError(
            f"The codebook {path.name} has {what}.", remedy="Save the sheet that describes the table as its own file."
        )
    ((name, rows),) = fitting.items()
    texts = [[code_text(cell) if cell is not None else "" for cell in row] for row in rows]
    return _book(texts, path.name, f"{path.name}, sheet {name}", columns)


def is_sheet(path: Path) -> bool:
    """Whether the first line of a CSV file names variables."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = file.readline(1 << 16)
    return "name" in _header(re.split(r"[,;\t|]", head.strip()))


def _header(cells: Sequence[str]) -> dict[str, int]:
    plain = [re.sub(r"[\s_]+", " ", cell.strip().strip('"')).lower() for cell in cells]
    found = {}
    for key, names in _HEADERS.items():
        place = next((plain.index(name) for name in names if name in plain), None)
        if place is not None:
            found[key] = place
    return found


def _book(rows: Sequence[Sequence[str]], name: str, where: str, columns: Collection[str]) -> Codebook:
    header = _header(rows[0]) if rows else {}
    if "name" not in header or len(header) < 2:
        raise CodebookError(
            f"The codebook {name} has no header with `name` and one of label, type, min, max, values.",
            remedy="docs/codebooks.md shows such a sheet.",
        )
    gathered = Gathered(name, columns)
    for line, row in enumerate(rows[1:], start=2):
        cells = {key: row[place].strip() if place < len(row) else "" for key, place in header.items()}
        if cells["name"]:
            gathered.add(_variable(cells, f"{where}, row {line}"))
    return gathered.codebook()


def _variable(cells: dict[str, str], place: str) -> Variable:
    said = re.sub(r"[\s_\-]+", " ", cells.get("type", "")).lower()
    kind = _KINDS.get(said)
    codes = tuple(_codes(cells.get("values", "")))
    if said and kind is None and said not in _TEXT:
        raise CodebookError(f"{place}: the type {cells['type']!r} is not known.", remedy=f"Known: {', '.join(_KINDS)}.")
    if codes and kind in (None, "label", "boolean"):
        kind = "label"
    elif kind == "label":
        kind = None  # labels that nobody lists are no help
    limits = day if kind == "date" else number
    lower, upper = (limits(cells[key]) if cells.get(key) else None for key in ("min", "max"))
    if kind is None and said not in _TEXT[:-1] and lower is not None and upper is not None and not codes:
        kind = "integer" if not (lower % 1 or upper % 1) else "number"  # type: ignore[operator]
    required = cells.get("required", "").lower()
    return Variable(
        cells["name"],
        place,
        cells.get("label") or None,
        kind,
        lower,
        upper,
        number(cells["step"]) if cells.get("step") else (Decimal(1) if kind == "integer" else None),
        cells.get("format") or None,
        codes,
        ordered=True if said in _ORDERED else False if kind == "label" and said else None,
        complete=kind == "label",
        missing=tuple(code.value for code in _codes(cells.get("missing", ""))),
        required=True if required in _YES else None,
        why="the codebook calls it an identifier, or says drop" if kind == "drop" else None,
    )


def _codes(text: str) -> Iterator[Code]:
    if not text.strip():
        return
    sign = next((each for each in ("\n", "|", ";") if each in text), ",")
    items = [item.strip() for item in text.split(sign) if item.strip()]
    for mark in ("=", ":", ","):
        parts = [item.split(mark, 1) for item in items]
        if sign != mark and all(len(part) == 2 and part[0].strip() and part[1].strip() for part in parts):
            yield from (Code(value.strip().strip("\"'"), label.strip().strip("\"'")) for value, label in parts)
            return
    yield from (Code(item) for item in items)
