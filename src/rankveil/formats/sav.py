"""SPSS system files (.sav), written row by row without compression. See zsav.py for compressed ones.

Guarantee    Streams: memory does not depend on the number of rows. No clock, no user and no machine is named in it.
Layout       As documented by the PSPP project ("System File Format"). UTF-8, little-endian.
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

_SYSTEM_MISSING, _HIGHEST = -np.finfo(np.float64).max, np.finfo(np.float64).max
_LOWEST = float(np.nextafter(_SYSTEM_MISSING, 0))
_EPOCH_DAYS = 141_428  # from SPSS's first day to 1970
_NUMBER_FORMAT, _TEXT_FORMAT, _DAY_FORMAT = 5, 1, 39  # F, A, SDATE: year/month/day
_WIDEST, _SHORT, _LONGEST_LABEL = 255, 8, 120
_MOST_MISSING = 3
_MOST_ROWS = (1 << 31) - 1
_NAME = r"[^\W\d_][\w.$#@]*(?<!\.)"
_RESERVED = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])
_WHEN = b"01 Jan 70", b"00:00:00"  # no clock: the certificate says when


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    made = [coded(column) for column in columns]
    if rows is not None and rows > _MOST_ROWS:
        return f"it holds at most {_MOST_ROWS:,} rows"
    return bad_names([column.name for column in columns], _NAME, 64, _RESERVED) or too_wide(made, _WIDEST)


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> SavWriter:
    return SavWriter(file, columns)


class SavWriter:
    form: Form = "values"
    compression = 0

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        self._file, self._rows = file, 0
        self._columns = [coded(column) for column in columns]
        self._type = np.dtype([(f"c{place}", _stored(each)) for place, each in enumerate(self._columns)])
        file.write(dictionary(self._columns, self.compression))

    def prepared(self, batch: pa.RecordBatch) -> Any:
        made = np.empty(batch.num_rows, self._type)
        for place, (each, array) in enumerate(zip(self._columns, batch.columns, strict=True)):
            made[f"c{place}"] = self._values(each, array)
        return made

    def _values(self, each: Coded, array: pa.Array) -> Any:
        if each.kind == "text":
            return each.texts(array, _padded(each.width), b" ")
        numbers, _ = each.numbers(array)
        if each.kind == "day":
            numbers = (numbers + _EPOCH_DAYS) * 86_400.0
        return np.where(np.isnan(numbers), _SYSTEM_MISSING, numbers)

    def write(self, prepared: Any) -> None:
        self._rows += len(prepared)
        self._put(prepared.tobytes())

    def _put(self, content: bytes) -> None:
        self._file.write(content)

    def close(self) -> None:
        self._file.seek(_COUNT_AT)
        self._file.write(struct.pack("<i", self._rows))
        self._file.seek(0, os.SEEK_END)


_COUNT_AT = 80  # bytes from the beginning


def _padded(width: int) -> int:
    return -(-width // 8) * 8


def _stored(each: Coded) -> str:
    return f"S{_padded(each.width)}" if each.kind == "text" else "<f8"


def dictionary(columns: Sequence[Coded], compression: int) -> bytes:
    """Everything before the rows."""
    units = [_padded(each.width) // 8 if each.kind == "text" else 1 for each in columns]
    head = b"$FL2" if compression != 2 else b"$FL3"
    head += b"@(#) SPSS DATA FILE - rankveil".ljust(60)
    head += struct.pack("<iiiiid", 2, sum(units), compression, 0, -1, 100.0) + b"".join(_WHEN) + b" " * 64 + b"\0" * 3
    parts = [head]
    parts += [_variable(place, each) for place, each in enumerate(columns)]
    starts = [1 + sum(units[:place]) for place in range(len(columns))]
    parts += [_labels(each, start) for each, start in zip(columns, starts, strict=True)]
    parts.append(_extension(3, 4, struct.pack("<8i", 1, 0, 0, -1, 1, 1, 2, 65001)))
    parts.append(_extension(4, 8, struct.pack("<3d", _SYSTEM_MISSING, _HIGHEST, _LOWEST)))
    parts.append(_extension(11, 4, b"".join(_display(each) for each in columns)))
    names = "\t".join(f"{_short(place)}={each.name}" for place, each in enumerate(columns))
    parts.append(_extension(13, 1, names.encode()))
    parts.append(_extension(20, 1, b"UTF-8"))
    parts.append(struct.pack("<ii", 999, 0))
    return b"".join(parts)


def _short(place: int) -> str:
    return f"V{place + 1:05d}"


def _variable(place: int, each: Coded) -> bytes:
    shown = _shown(each)
    codes, form = _missing(each)
    label = _cut(each.column.label or "", 252)
    made = struct.pack("<6i", 2, each.width if each.kind == "text" else 0, int(bool(label)), form, shown, shown)
    made += _short(place).encode().ljust(8)
    if label:
        made += struct.pack("<i", len(label)) + label + b"\0" * (-len(label) % 4)
    made += codes
    if each.kind == "text":
        more = _padded(each.width) // 8 - 1
        made += (struct.pack("<6i", 2, -1, 0, 0, 0x011D01, 0x011D01) + b" " * 8) * more
    return made


def _shown(each: Coded) -> int:
    if each.kind == "text":
        return _TEXT_FORMAT << 16 | each.width << 8
    if each.kind == "day":
        return _DAY_FORMAT << 16 | 10 << 8
    decimals = 0 if each.whole or pa.types.is_integer(each.column.field.type) else 2
    return _NUMBER_FORMAT << 16 | 12 << 8 | decimals


def _missing(each: Coded) -> tuple[bytes, int]:
    """Missing values of SPSS: labels and special numbers of the plan; at most three, or a range of numbers and one."""
    column = each.column
    if each.kind == "text":
        held = column.missing if each.width <= _SHORT and len(column.missing) <= _MOST_MISSING else ()
        return b"".join(label.encode().ljust(8) for label in held), len(held)
    values = sorted(map(float, column.special if column.labels is None else column.missing))
    if len(values) <= _MOST_MISSING:
        return struct.pack(f"<{len(values)}d", *values), len(values)
    if column.labels is None:
        others = [end for end in (column.lower, column.upper) if end is not None]
    else:
        others = [float(label) for label in column.labels if label not in column.missing]
    for apart in ([], values[:1], values[-1:]):
        inside = [value for value in values if value not in apart]
        if others and (inside[-1] < min(others) or inside[0] > max(others)):
            return struct.pack(f"<{2 + len(apart)}d", inside[0], inside[-1], *apart), -2 - len(apart)
    return b"", 0


def _labels(each: Coded, start: int) -> bytes:
    if not each.value_labels or (each.kind == "text" and each.width > _SHORT):
        return b""
    made = struct.pack("<ii", 3, len(each.value_labels))
    for value, text in each.value_labels.items():
        stored = value.encode().ljust(8) if each.kind == "text" else struct.pack("<d", float(value))
        label = _cut(text, _LONGEST_LABEL)
        made += stored + bytes([len(label)]) + label + b" " * (-(len(label) + 1) % 8)
    return made + struct.pack("<iii", 4, 1, start)


def _display(each: Coded) -> bytes:
    measure = {"ordinal": 2, "category": 1, "boolean": 1}.get(each.column.kind, 2 if _all_labelled(each) else 3)
    return struct.pack("<3i", measure, min(max(each.width, 8), 40) if each.kind == "text" else 10, 0)


def _all_labelled(each: Coded) -> bool:
    """Whether every number of a range has a label: an order, then, and no quantity."""
    lower, upper = each.column.lower, each.column.upper
    if each.column.kind != "integer" or lower is None or upper is None or upper - lower >= len(each.value_labels):
        return False
    return all(str(value) in each.value_labels for value in range(int(lower), int(upper) + 1))


def _extension(subtype: int, size: int, content: bytes) -> bytes:
    return struct.pack("<4i", 7, subtype, size, len(content) // size) + content


def _cut(text: str, most: int) -> bytes:
    """At most so many bytes, and no half of a character."""
    return text.encode()[:most].decode(errors="ignore").encode()
