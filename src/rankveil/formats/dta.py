"""Stata files (.dta, format 118, for Stata 14 and later), written row by row.

Guarantee    Streams: memory does not depend on the number of rows. The file names no time.
Layout       As Stata's manual describes it (`help dta_118`). UTF-8, little-endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from rankveil.formats.coded import Coded, bad_names, coded, too_wide
from rankveil.formats.format import Form, Released, Style

_DOUBLE, _LONG = 65526, 65528
_EPOCH_DAYS = 3653  # from Stata's first day to 1970
_LONG_MISSING = 2_147_483_621  # and .a to .z after it
_DOUBLE_MISSING, _DOUBLE_STEP = 0x7FE0000000000000, 0x0000010000000000
_WIDEST = 2045
_NAME = r"[^\W\d][\w]*"
_RESERVED = frozenset(
    ["_ALL", "_B", "BYTE", "_COEF", "_CONS", "DOUBLE", "FLOAT", "IF", "IN", "INT", "LONG", "_N", "_PI"]
)
_RESERVED |= {"_PRED", "_RC", "_SKIP", "STRL", "USING", "WITH"}


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    made = [coded(column, letters=True) for column in columns]
    names = [column.name for column in columns]
    long = next((name for name in names if len(name) > 32), None)
    if long is not None:
        return f"it does not allow the column name {long!r}"
    return bad_names(names, _NAME, 128, _RESERVED) or too_wide(made, _WIDEST)


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> DtaWriter:
    return DtaWriter(file, columns)


class DtaWriter:
    form: Form = "values"

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        self._file, self._rows = file, 0
        self._columns = [coded(column, letters=True) for column in columns]
        self._type = np.dtype([(f"c{place}", _stored(each)) for place, each in enumerate(self._columns)])
        self._places = [0]
        self._begin()

    def _begin(self) -> None:
        columns = self._columns
        head = b"<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>"
        head += struct.pack("<H", len(columns)) + b"</K><N>"
        self._count_at = len(head)
        head += struct.pack("<Q", 0) + b"</N><label>" + struct.pack("<H", 0) + b"</label><timestamp>\0</timestamp>"
        self._file.write(head + b"</header>")
        self._map_at = self._file.tell()
        self._element("map", b"\0" * 14 * 8)
        self._element("variable_types", b"".join(struct.pack("<H", _type(each)) for each in columns))
        self._element("varnames", b"".join(each.name.encode().ljust(129, b"\0") for each in columns))
        self._element("sortlist", b"\0" * 2 * (len(columns) + 1))
        self._element("formats", b"".join(_shown(each).encode().ljust(57, b"\0") for each in columns))
        names = [_list_name(place, each) for place, each in enumerate(columns)]
        self._element("value_label_names", b"".join(name.encode().ljust(129, b"\0") for name in names))
        labels = [(each.column.label or "")[:80].encode() for each in columns]
        self._element("variable_labels", b"".join(label.ljust(321, b"\0") for label in labels))
        self._element("characteristics", b"")
        self._places.append(self._file.tell())
        self._file.write(b"<data>")

    def _element(self, name: str, content: bytes) -> None:
        self._places.append(self._file.tell())
        self._file.write(f"<{name}>".encode() + content + f"</{name}>".encode())

    def prepared(self, batch: pa.RecordBatch) -> Any:
        made = np.empty(batch.num_rows, self._type)
        for place, (each, array) in enumerate(zip(self._columns, batch.columns, strict=True)):
            made[f"c{place}"] = _values(each, array)
        return made

    def write(self, prepared: Any) -> None:
        self._rows += len(prepared)
        self._file.write(prepared.tobytes())

    def close(self) -> None:
        self._file.write(b"</data>")
        self._element("strls", b"")
        lists = [_list(place, each) for place, each in enumerate(self._columns)]
        self._element("value_labels", b"".join(lists))
        self._places.append(self._file.tell())
        self._file.write(b"</stata_dta>")
        self._places.append(self._file.tell())
        self._file.seek(self._count_at)
        self._file.write(struct.pack("<Q", self._rows))
        self._file.seek(self._map_at + len(b"<map>"))
        self._file.write(struct.pack("<14Q", *self._places))
        self._file.seek(0, os.SEEK_END)


def _type(each: Coded) -> int:
    return each.width if each.kind == "text" else _LONG if each.whole else _DOUBLE


def _stored(each: Coded) -> str:
    return f"S{each.width}" if each.kind == "text" else "<i4" if each.whole else "<f8"


def _shown(each: Coded) -> str:
    if each.kind == "text":
        return f"%-{min(each.width, 80)}s"
    return "%td" if each.kind == "day" else "%12.0g" if each.whole else "%10.0g"


def _values(each: Coded, array: pa.Array) -> Any:
    if each.kind == "text":
        return each.texts(array, each.width, b"\0")
    numbers, marks = each.numbers(array)
    if each.kind == "day":
        numbers = numbers + _EPOCH_DAYS
    missing = np.isnan(numbers)
    letter = np.zeros(len(numbers), np.int64) if marks is None else np.where(marks < 0, 0, marks - ord("a") + 1)
    if each.whole:
        return np.where(missing, _LONG_MISSING + letter, np.where(missing, 0, numbers).astype(np.int64))
    patterns = (_DOUBLE_MISSING + letter * _DOUBLE_STEP).view(np.float64)
    return np.where(missing, patterns, numbers)


def _labelled(each: Coded) -> dict[int, bytes]:
    """Stata labels whole numbers and .a to .z only."""
    made: dict[int, bytes] = {}
    for value, text in {**each.letters, **each.value_labels}.items():  # a letter without a label is not told apart
        if each.kind == "text":
            continue
        if value in each.letters:
            made[_LONG_MISSING + ord(value[1]) - ord("a") + 1] = text.encode()[:32_000]
        elif float(value).is_integer() and abs(float(value)) < _LONG_MISSING:
            made[int(float(value))] = text.encode()[:32_000]
    return made


def _list_name(place: int, each: Coded) -> str:
    return f"labels{place + 1}" if _labelled(each) else ""


def _list(place: int, each: Coded) -> bytes:
    labels = _labelled(each)
    if not labels:
        return b""
    texts = [text + b"\0" for text in labels.values()]
    starts = [sum(map(len, texts[:number])) for number in range(len(texts))]
    table = struct.pack("<ii", len(labels), sum(map(len, texts)))
    table += struct.pack(f"<{len(labels)}i", *starts) + struct.pack(f"<{len(labels)}i", *labels) + b"".join(texts)
    name = _list_name(place, each).encode().ljust(129, b"\0")
    return b"<lbl>" + struct.pack("<i", len(table)) + name + b"\0" * 3 + table + b"</lbl>"
