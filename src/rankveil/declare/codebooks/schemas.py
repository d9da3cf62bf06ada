"""Schemas in JSON: Frictionless Table Schema and data packages, CSV on the Web, metadata of SDV.

Read safely  At most 64 MiB, local files only: a document that names another one is followed within its own folder and
             nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

from rankveil.declare.codebooks.codebook import Code, Codebook, Gathered, Kind, Variable, code_text, day, number
from rankveil.errors import CodebookError

LARGEST = 64 << 20
_FRICTIONLESS: dict[str, Kind] = {
    "integer": "integer",
    "year": "integer",
    "number": "number",
    "boolean": "boolean",
    "date": "date",
    "datetime": "date",
}
_WHOLE = (
    *("integer", "int", "long", "short", "byte", "gYear", "nonNegativeInteger", "positiveInteger"),
    *("nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
)
_CSVW: dict[str, Kind] = {
    **dict.fromkeys(
        [
            "integer",
            "int",
            "long",
            "short",
            "byte",
            "nonNegativeInteger",
            "positiveInteger",
            "unsignedInt",
            "unsignedLong",
            "unsignedShort",
            "unsignedByte",
            "nonPositiveInteger",
            "negativeInteger",
            "gYear",
        ],
        "integer",
    ),
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **dict.fromkeys(("date", "datetime", "dateTime", "dateTimeStamp"), "date"),
    "boolean": "boolean",
}
_WHOLE_BOUNDS = {"nonNegativeInteger": (0, None), "positiveInteger": (1, None), "unsignedByte": (0, 255)}
_SDV: dict[str, Kind] = {"numerical": "quantity", "boolean": "boolean", "datetime": "date", "id": "drop"}
_SDV_LABELS = ("categorical", "unknown", "text")
_PICTURES = (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S"))


def read(path: Path, columns: Collection[str], table: str | None) -> Codebook:
    """Whichever of the three it is; `table` is the file name of the table, where a document describes several."""
    content = _json(path)
    if isinstance(content, dict):
        if "resources" in content:
            return _frictionless(path, _resource(path, content["resources"], table, columns), columns)
        if "fields" in content:
            return _frictionless(path, content, columns)
        if "tableSchema" in content or "w3.org/ns/csvw" in json.dumps(content.get("@context", "")):
            return _csvw(path, content, columns, table)
        if "tables" in content and "@context" not in content:
            return _sdv(path, _only_table(path, content["tables"], columns, table), columns)
        if isinstance(content.get("columns"), dict):
            return _sdv(path, content, columns)
    raise CodebookError(
        f"The codebook {path.name} is JSON, but no Table Schema, data package, CSVW or SDV metadata.",
        remedy="docs/codebooks.md lists what is understood.",
    )


def _json(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise CodebookError(f"The codebook {path.name} is larger than {LARGEST >> 20} MiB.", remedy="Check the file.")
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise CodebookError(
            f"The codebook {path.name} is no JSON" + (f": line {line}." if line else "."), remedy="Correct it."
        ) from None


def _mapping(value: Any, path: Path, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CodebookError(f"The codebook {path.name}: {what} is not an object.", remedy="Correct it.")
    return value


# Frictionless


def _resource(path: Path, resources: Any, table: str | None, columns: Collection[str]) -> Mapping[str, Any]:
    found = [each for each in resources if isinstance(each, dict)] if isinstance(resources, list) else []
    same = [each for each in found if PurePosixPath(str(each.get("path", ""))).name == table]
    chosen = same if len(same) == 1 else found
    if len(chosen) != 1:
        raise CodebookError(
            f"The data package {path.name} describes {len(found)} tables, and not one of them has this table's name.",
            remedy="Give the Table Schema of this table as a file of its own.",
        )
    schema = chosen[0].get("schema")
    if isinstance(schema, str):
        other = path.parent / schema
        inside = other.resolve().is_relative_to(path.parent.resolve())
        if re.match(r"\w+://", schema) or not inside or not other.is_file():
            raise CodebookError(
                f"The data package {path.name} names a schema that does not lie beside it.",
                remedy="Download the schema, and give that file.",
            )
        schema = _json(other)
    return _mapping(schema, path, "the schema of the resource")


def _frictionless(path: Path, schema: Mapping[str, Any], columns: Collection[str]) -> Codebook:
    gathered = Gathered(path.name, columns)
    fields = schema.get("fields")
    for place, each in enumerate(fields if isinstance(fields, list) else []):
        entry = _mapping(each, path, f"field {place + 1}")
        if isinstance(entry.get("name"), str):
            gathered.add(_field(entry, f"Table Schema {path.name}, field {entry['name']}"))
    missing = schema.get("missingValues")
    texts = (
        [each.get("value") if isinstance(each, dict) else each for each in missing]
        if isinstance(missing, list)
        else None
    )
    return gathered.codebook(None if texts is None else tuple(map(str, texts)))


def _field(entry: Mapping[str, Any], place: str) -> Variable:
    limits = entry.get("constraints") if isinstance(entry.get("constraints"), dict) else {}
    assert isinstance(limits, dict)  # noqa: S101 - by the line above
    said = str(entry.get("type", "string"))
    kind = _FRICTIONLESS.get(said)
    listed = entry.get("categories") or limits.get("enum") or ()
    codes = tuple(_code(each) for each in listed)
    if kind == "boolean" and (entry.get("trueValues") or entry.get("falseValues")):
        texts = [*entry.get("falseValues", ["false"]), *entry.get("trueValues", ["true"])]
        codes, kind = tuple(Code(str(text)) for text in texts), "label"
    if codes:
        kind = "label"
    read = day if kind == "date" else number
    lower, upper = (None if limits.get(key) is None else read(limits[key]) for key in ("minimum", "maximum"))
    form = entry.get("format")
    return Variable(
        str(entry["name"]),
        place,
        _text(entry.get("title") or entry.get("description")),
        kind,
        lower,
        upper,
        Decimal(1) if kind == "integer" else None,
        str(form) if kind == "date" and isinstance(form, str) and "%" in form else None,
        codes,
        ordered=bool(entry["categoriesOrdered"]) if "categoriesOrdered" in entry else None,
        missing=tuple(code.value for code in map(_code, entry.get("missingValues") or ()) if code.value),
        required=True if limits.get("required") is True else None,
    )


def _code(each: Any) -> Code:
    if isinstance(each, dict):
        return Code(code_text(each.get("value", "")), _text(each.get("label")))
    return Code(code_text(each))


def _text(value: Any) -> str | None:
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    if isinstance(value, list):
        value = value[0] if value else None
    return " ".join(str(value).split()) or None if value is not None else None


# CSV on the Web


def _csvw(path: Path, content: Mapping[str, Any], columns: Collection[str], table: str | None) -> Codebook:
    tables = content.get("tables", [content])
    found = [each for each in tables if isinstance(each, dict)] if isinstance(tables, list) else []
    same = [each for each in found if PurePosixPath(str(each.get("url", ""))).name == table]
    chosen = same if len(same) == 1 else found
    if len(chosen) != 1:
        raise CodebookError(
            f"The metadata {path.name} describes {len(found)} tables, and none of them alone has this table's name.",
            remedy="Leave the other tables out of it.",
        )
    schema = _mapping(chosen[0].get("tableSchema", content.get("tableSchema")), path, "tableSchema")
    gathered = Gathered(path.name, columns)
    listed = schema.get("columns")
    for place, each in enumerate(listed if isinstance(listed, list) else []):
        entry = {key: schema[key] for key in ("required", "datatype") if key in schema}
        entry |= _mapping(each, path, f"column {place + 1}")
        titles = _all_texts(entry.get("titles"))
        name = entry.get("name") or (titles[0] if titles else None)
        if isinstance(name, str) and not entry.get("virtual"):
            gathered.add(_csvw_column(entry, name, f"CSVW metadata {path.name}, column {name}"), *titles)
    null = schema.get("null", chosen[0].get("null"))
    texts = None if null is None else tuple(_all_texts(null))
    return gathered.codebook(texts)


def _all_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _all_texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _all_texts(each)]
    return [value] if isinstance(value, str) else []


def _csvw_column(entry: Mapping[str, Any], name: str, place: str) -> Variable:
    typed = entry.get("datatype", "string")
    said = typed if isinstance(typed, dict) else {"base": typed}
    base = str(said.get("base", "string"))
    kind = _CSVW.get(base)
    form = said.get("format")
    codes: tuple[Code, ...] = ()
    if kind == "boolean" and isinstance(form, str) and "|" in form:
        codes, kind = tuple(Code(text) for text in reversed(form.split("|", 1))), "label"
    elif kind is None and isinstance(form, str):
        listed = re.fullmatch(r"\^?\(?((?:[\w ./&'-]+\|)+[\w ./&'-]+)\)?\$?", form)
        codes = tuple(Code(text) for text in listed.group(1).split("|")) if listed else ()
        kind = "label" if codes else None
    read = day if kind == "date" else number
    ends = [said.get(key, said.get(other)) for key, other in (("minimum", "minInclusive"), ("maximum", "maxInclusive"))]
    ends = [
        end if end is not None else whole
        for end, whole in zip(ends, _WHOLE_BOUNDS.get(base, (None, None)), strict=True)
    ]
    lower, upper = (None if end is None else read(end) for end in ends)
    spelled = form if isinstance(form, str) else None
    if spelled is not None:
        for picture, code in _PICTURES:
            spelled = spelled.replace(picture, code)
    return Variable(
        name,
        place,
        _text(entry.get("dc:title") or entry.get("dc:description") or entry.get("titles")),
        kind,
        lower,
        upper,
        Decimal(1) if kind == "integer" else None,
        spelled if kind == "date" and spelled and "%d" in spelled else None,
        codes,
        missing=tuple(filter(None, _all_texts(entry.get("null")))),
        required=True if entry.get("required") is True else None,
    )


# SDV


def _only_table(path: Path, tables: Any, columns: Collection[str], table: str | None) -> Mapping[str, Any]:
    """The one that has the table's name, or all of its columns, or is the only one."""
    named = {name: each for name, each in tables.items() if isinstance(each, dict)} if isinstance(tables, dict) else {}
    found = list(named.values())
    same = [each for name, each in named.items() if table is not None and name == table.partition(".")[0]]
    fitting = [each for each in found if set(each.get("columns", ())) >= set(columns)]
    chosen = next((each for each in (same, fitting) if len(each) == 1), found)
    if len(chosen) != 1:
        raise CodebookError(
            f"The metadata {path.name} describe {len(found)} tables, and none of them alone has this table's name.",
            remedy="Give the metadata of this table alone: rankveil releases one table.",
        )
    return _mapping(chosen[0], path, "the table")


def _sdv(path: Path, content: Mapping[str, Any], columns: Collection[str]) -> Codebook:
    gathered = Gathered(path.name, columns)
    keys = set(_names(content.get("primary_key"))) | set(_names(content.get("alternate_keys")))
    persons = set(_names(content.get("sequence_key")))
    for name, each in _mapping(content.get("columns"), path, "columns").items():
        entry = _mapping(each, path, f"column {name}")
        gathered.add(_sdv_column(name, entry, f"SDV metadata {path.name}, column {name}", keys, persons))
    return gathered.codebook()


def _names(value: Any) -> Iterable[str]:
    return _all_texts(value)


def _sdv_column(name: str, entry: Mapping[str, Any], place: str, keys: set[str], persons: set[str]) -> Variable:
    said = str(entry.get("sdtype", "unknown"))
    if name in keys or name in persons or said == "id" or (said not in _SDV and said not in _SDV_LABELS):
        key = name in keys or name in persons
        why = "a key" if key else "an identifier" if said == "id" else f"personal data ({said})"
        return Variable(name, place, kind="drop", why=f"SDV metadata call it {why}", person=name in persons)
    kind = _SDV.get(said)
    if kind == "quantity" and str(entry.get("computer_representation", "")).startswith(("Int", "UInt")):
        kind = "integer"
    order = entry.get("order")
    codes = tuple(Code(code_text(each)) for each in order) if isinstance(order, list) else ()
    form = entry.get("datetime_format")
    return Variable(
        name,
        place,
        None,
        "label" if codes else kind,
        format=str(form) if kind == "date" and form else None,
        codes=codes,
        ordered=True if codes else None,
        step=Decimal(1) if kind == "integer" else None,
    )
