"""A sheet of variables: CSV or Excel with columns name, label, type, min, max, values (and missing, format, required).

Headers      In English, German, French or Spanish, or as REDCap and many agencies call them: variable, field, kind,
             choices, ... They may stand below a title.
Values       One list: "1=yes; 2=no", "1, yes | 2, no", "yes|no|unknown", or one entry on each line. A range, "16-110",
             is that of the numbers. Or one row for each value, with columns value and value label; in a workbook these
             rows may be a sheet of their own.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from rankveil.declare.codebooks.codebook import Code, Codebook, Gathered, Kind, Variable, code_text, day, number
from rankveil.declare.codebooks.ddi import DATE_FORMATS
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
        *("variables", "variablenname", "feld", "spalte", "nom", "nom de variable", "nombre", "campo"),
    ),
    "label": (
        *("label", "description", "variable label", "field label", "question", "title", "beschriftung", "beschreibung"),
        *("bezeichnung", "variablenlabel", "fragetext", "frage", "libellé", "etiqueta", "descripción", "pregunta"),
    ),
    "type": (
        *("type", "kind", "data type", "field type", "datatype", "measure", "measurement", "level", "scale", "typ"),
        *("art", "datentyp", "skala", "skalenniveau", "messniveau", "tipo", "variable type", "measurement level"),
    ),
    "min": ("min", "minimum", "lower", "text validation min", "from", "von", "mínimo"),
    "max": ("max", "maximum", "upper", "text validation max", "to", "bis", "máximo"),
    "values": (
        *("values", "categories", "codes", "choices", "value labels", "choices, calculations, or slider labels"),
        *("response options", "options", "levels", "allowed values", "coding", "werte", "wertelabels", "ausprägungen"),
        *("kategorien", "codierung", "kodierung", "modalités", "valeurs", "valores", "categorías"),
    ),
    "missing": (
        *("missing", "missing codes", "missing values", "special", "missings", "missing code", "missing value"),
        *("fehlend", "fehlende werte", "valeurs manquantes", "valores perdidos"),
    ),
    "validation": ("validation", "text validation type or show slider number"),
    "personal": ("identifier?", "identifier", "pii", "personal data"),
    "format": ("format", "date format", "datumsformat"),
    "step": ("step", "precision", "unit of measure step"),
    "required": ("required", "required field?", "mandatory", "pflicht", "pflichtfeld"),
    "value": ("value", "code", "wert", "valeur", "valor", "response code"),
    "value label": ("value label", "code label", "meaning", "response label", "wertelabel", "bedeutung", "modalité"),
}
_MOST_ABOVE = 20  # rows of a title, above the header
_RANGE = re.compile(r"\[?\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|—|\.\.+|to|bis|,)\s*(-?\d+(?:\.\d+)?)\s*\]?")
_ORDERS = ("ymd", "mdy", "dmy")  # of year, month and day, as REDCap names them: its files always have the first
_NO_COLUMN = ("descriptive",)  # texts between the questions of a form
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("integer", "int", "whole", "count", "ganzzahl", "ganzzahlig", "entier", "entero"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal", "real"), "number"),
    **dict.fromkeys(("numeric", "continuous", "scale", "interval", "ratio", "metric", "discrete"), "quantity"),
    **dict.fromkeys(("numerisch", "zahl", "metrisch", "stetig", "numérique", "numérico", "quantitative"), "quantity"),
    **dict.fromkeys(("date", "datetime", "timestamp", "datum", "fecha"), "date"),
    **dict.fromkeys(("boolean", "bool", "logical", "truefalse", "yes/no", "yesno", "ja/nein"), "boolean"),
    **dict.fromkeys(
        (
            *("category", "categorical", "nominal", "ordinal", "factor", "code", "label", "radio", "dropdown"),
            *("ordered", "binary", "dichotomous", "kategorial", "qualitative", "catégorie", "categórica"),
        ),
        "label",
    ),
    **dict.fromkeys(("drop", "identifier", "id", "key"), "drop"),
    # REDCap's
    **dict.fromkeys(("slider",), "integer"),
    **dict.fromkeys(("calc", "number 1dp", "number 2dp", "number 3dp", "number 4dp"), "quantity"),
    **dict.fromkeys(
        (f"{what} {order}" for what in ("date", "datetime", "datetime seconds") for order in _ORDERS), "date"
    ),
}
_ORDERED = ("ordinal", "ordered", "ordered factor")
_YES, _NO = ("y", "yes", "true", "1", "x"), ("n", "no", "false", "0", "")
_YES_MISSING = ("y", "yes", "true", "x", "missing", "ja", "oui", "sí", "m")
_TEXT = (
    "string",
    "text",
    "character",
    "char",
    "str",
    "free text",
    "texte",
    "texto",
    "zeichenkette",
    "notes",
    "file",
    "signature",
    "sql",
    "",
)


def read_csv(path: Path, columns: Collection[str]) -> Codebook:
    if path.stat().st_size > LARGEST:
        raise CodebookError(f"The codebook {path.name} is larger than {LARGEST >> 20} MiB.", remedy="Check the file.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise CodebookError(f"The codebook {path.name} is not UTF-8 text.", remedy="Save it as UTF-8.") from None
    head = "\n".join(text.split("\n", _MOST_ABOVE)[:_MOST_ABOVE])
    separator = max(",;\t|", key=lambda sign: _separates(head, sign))
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error:
        raise CodebookError(f"The codebook {path.name} is no CSV file.", remedy="Check its quotes.") from None
    return _book(rows, path.name, f"{path.name}", columns)


def _separates(head: str, sign: str) -> tuple[int, int]:
    """How many headings a mark makes of the first lines, and how often it stands there."""
    rows = [[cell.strip('"') for cell in line.split(sign)] for line in head.splitlines()]
    return max((len(_header(row)) for row in rows), default=0), head.count(sign)


def read_excel(path: Path, columns: Collection[str]) -> Codebook:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise MissingExtraError("Reading Excel files", "excel") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except Exception as error:  # calamine has errors of many kinds; none of its words is ours to print
        if "password" in str(error).lower() or "encrypt" in str(error).lower():
            raise CodebookError(
                f"The codebook {path.name} is encrypted.", remedy="Save it without a password."
            ) from None
        raise CodebookError(
            f"The codebook {path.name} is damaged, or no Excel file.",
            remedy="Open it in Excel and store it again, or store the sheet as CSV.",
        ) from None
    fitting = {
        name: rows
        for name, rows in sheets.items()
        if _place_of_header([list(map(str, x)) for x in rows[:_MOST_ABOVE]]) is not None
    }
    of_values = {name: rows for name, rows in fitting.items() if _lists_values(rows)}
    values: dict[str, str] = {}
    if len(fitting) == 2 and len(of_values) == 1:  # variables on one sheet, their values on another
        ((name, rows),) = of_values.items()
        values = _values_of(_as_texts(rows))
        del fitting[name]
    if len(fitting) != 1:
        what = "no sheet with a column `name`" if not fitting else f"{len(fitting)} sheets that list variables"
        raise CodebookError(
            f"The codebook {path.name} has {what}.", remedy="Save the sheet that describes the table as its own file."
        )
    ((name, rows),) = fitting.items()
    return _book(_as_texts(rows), path.name, f"{path.name}, sheet {name}", columns, values)


def _as_texts(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    return [[code_text(cell) if cell is not None else "" for cell in row] for row in rows]


def _lists_values(rows: Sequence[Sequence[object]]) -> bool:
    """Whether a sheet has a row for each value, and says nothing else of variables."""
    place = _place_of_header(_as_texts(rows[:_MOST_ABOVE]))
    header = _header(_as_texts(rows)[place]) if place is not None else {}
    return "value" in header and header.keys() <= {"name", "value", "value label", "label", "missing"}


def _values_of(rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """For each variable its values, as a sheet of variables would list them."""
    first = _place_of_header(rows) or 0
    header = _header(rows[first])
    lines = ({key: row[at].strip() if at < len(row) else "" for key, at in header.items()} for row in rows[first + 1 :])
    return {cells["name"]: cells["values"] for cells, _ in _by_variable((each, "") for each in lines)}


def is_sheet(path: Path) -> bool:
    """Whether one of the first lines of a CSV file names variables."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = [file.readline(1 << 16) for _ in range(_MOST_ABOVE)]
    return _place_of_header([re.split(r"[,;\t|]", line.strip()) for line in head]) is not None


def _place_of_header(rows: Sequence[Sequence[str]]) -> int | None:
    """The first of these rows that names variables and something about them; of a first row, the name is enough."""
    for place, row in enumerate(rows[:_MOST_ABOVE]):
        found = _header(row)
        if "name" in found and (place == 0 or len(found) > 1):
            return place
    return None


def _header(cells: Sequence[str]) -> dict[str, int]:
    plain = [re.sub(r"[\s_]+", " ", cell.strip().strip('"')).lower() for cell in cells]
    found = {}
    for key, names in _HEADERS.items():
        place = next((plain.index(name) for name in names if name in plain), None)
        if place is not None:
            found[key] = place
    return found


def _book(
    rows: Sequence[Sequence[str]],
    name: str,
    where: str,
    columns: Collection[str],
    values: Mapping[str, str] = MappingProxyType({}),
) -> Codebook:
    first = _place_of_header(rows) or 0
    header = _header(rows[first]) if rows else {}
    if "name" not in header or len(header) < 2:
        raise CodebookError(
            f"The codebook {name} has no header with `name` and one of label, type, min, max, values.",
            remedy="docs/codebooks.md shows such a sheet.",
        )
    gathered = Gathered(name, columns)
    found = (
        ({key: row[place].strip() if place < len(row) else "" for key, place in header.items()}, f"{where}, row {line}")
        for line, row in enumerate(rows[first + 1 :], start=first + 2)
    )
    for cells, place in _by_variable(found) if "value" in header and "values" not in header else found:
        listed = cells.get("values") or values.get(cells["name"], "")
        for each in _columns_of({**cells, "values": listed} if listed else cells):
            gathered.add(_variable(each, place))
    return gathered.codebook()


def _columns_of(cells: dict[str, str]) -> Iterator[dict[str, str]]:
    """What the table has of a line: nothing of a text between questions, a column for each box to tick."""
    said = cells.get("type", "").lower()
    if not cells["name"] or said in _NO_COLUMN:
        return
    if said != "checkbox":
        yield cells
        return
    for code in _codes(cells.get("values", "")):
        label = f"{cells.get('label') or cells['name']}: {code.label or code.value}"
        name = f"{cells['name']}___{code.value.lower()}"
        yield {**cells, "name": name, "label": label, "type": "nominal", "values": "0=Unchecked\n1=Checked"}


def _by_variable(rows: Iterable[tuple[dict[str, str], str]]) -> Iterator[tuple[dict[str, str], str]]:
    """One row for each variable, of rows for each value: those below a variable repeat its name or leave it empty."""
    current: tuple[dict[str, str], str] | None = None
    for cells, place in rows:
        code, meaning = (
            cells["value"],
            cells.get("value label") or ("" if "value label" in cells else cells.get("label", "")),
        )
        if cells["name"] and (current is None or cells["name"] != current[0]["name"]):
            if current is not None:
                yield current
            about = cells if "value label" in cells or not code else {**cells, "label": ""}
            current = ({**about, "values": "", "missing": ""}, place)
        if current is None or not code:
            continue
        whole = current[0]
        absent = cells.get("missing", "").lower() in _YES_MISSING or code == cells.get("missing")
        whole["values"] += f"{code}={meaning}\n" if meaning else f"{code}\n"
        whole["missing"] += f"{code}\n" if absent else ""
    if current is not None:
        yield current


def _variable(cells: dict[str, str], place: str) -> Variable:
    said = re.sub(r"[\s_\-]+", " ", cells.get("type", "")).lower()
    if said in _TEXT and (checked := re.sub(r"[\s_\-]+", " ", cells.get("validation", "")).lower()) in _KINDS:
        said = checked
    if cells.get("personal", "").lower() in _YES:
        said = "identifier"
    kind = _KINDS.get(said)
    ends = _RANGE.fullmatch(cells.get("values", "")) if kind in ("integer", "number", "quantity") else None
    if ends is not None:
        cells = {"min": ends[1], "max": ends[2], **{key: text for key, text in cells.items() if text}, "values": ""}
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
        kind = "quantity"  # whole or not: nothing says so
    required = cells.get("required", "").lower()
    return Variable(
        cells["name"],
        place,
        cells.get("label") or None,
        kind,
        lower,
        upper,
        number(cells["step"]) if cells.get("step") else (Decimal(1) if kind == "integer" else None),
        _date_format(cells.get("format", "")),
        codes,
        ordered=True if said in _ORDERED else False if kind == "label" and said else None,
        complete=kind == "label",
        missing=tuple(code.value for code in _codes(cells.get("missing", ""))),
        required=True if required in _YES else None,
        why="the codebook calls it an identifier, or says drop" if kind == "drop" else None,
    )


def _date_format(text: str) -> str | None:
    return DATE_FORMATS.get(text.lower(), text) or None


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
