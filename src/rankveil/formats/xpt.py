"""SAS transport files (.xpt, version 8), written row by row.

Guarantee    Streams: memory does not depend on the number of rows. Its times are always the same ones.
Layout       As SAS describes it ("Record layout of a SAS version 8 or 9 data set in SAS transport format"). Texts are
             written in UTF-8, of which SAS sees the bytes. Value labels are kept in catalogues, not in these files.
Arithmetic   Numbers are floats to the base 16, as IBM's machines had them: 53 bits always fit into their 56.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.formats.coded import Coded, Floats, bad_names, coded, too_wide
from rankveil.formats.format import Form, Released, Style

_RECORD = 80
_EPOCH_DAYS = 3653  # from SAS's first day to 1970
_WHEN = b"01JAN70:00:00:00"  # no clock: the certificate says when
_SYSTEM = b"9.4     rankveil"
_WIDEST, _SHORT_LABEL, _LONGEST_LABEL = 32_767, 40, 256
_LARGEST = 7.2e75  # of the floats
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    made = [coded(column) for column in columns]
    large = next((column for column in columns if max(abs(column.lower or 0), abs(column.upper or 0)) > _LARGEST), None)
    if large is not None:
        return f"the numbers of column {large.name!r} are too large for it"
    return bad_names([column.name for column in columns], _NAME, 32, frozenset()) or too_wide(made, _WIDEST)


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> XptWriter:
    return XptWriter(file, columns)


class XptWriter:
    form: Form = "values"

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        self._file, self._rows = file, 0
        self._columns = [coded(column) for column in columns]
        self._type = np.dtype([(f"c{place}", _stored(each)) for place, each in enumerate(self._columns)])
        file.write(self._head())
        self._count_at = file.tell() + len(_header("OBSV8", ""))
        file.write(_record(_header("OBSV8", "")))

    def _head(self) -> bytes:
        columns = self._columns
        made = _record(_header("LIBV8", "0" * 30))
        made += _record(b"SAS     SAS     SASLIB  " + _SYSTEM + b" " * 24 + _WHEN) + _record(_WHEN)
        made += _record(_header("MEMBV8", "000000000000000001600000000140"))
        made += _record(_header("DSCPTV8", "0" * 30))
        made += _record(b"SAS     " + b"RELEASE".ljust(32) + b"SASDATA " + _SYSTEM + _WHEN) + _record(_WHEN)
        made += _record(_header("NAMSTV8", f"000000{len(columns):04d}".ljust(30, "0")))
        starts = [sum(_width(each) for each in columns[:place]) for place in range(len(columns))]
        names = b"".join(_name(place, each, starts[place]) for place, each in enumerate(columns))
        made += names + b" " * (-len(names) % _RECORD)
        return made + self._long_labels()

    def _long_labels(self) -> bytes:
        long = [(place, each) for place, each in enumerate(self._columns) if len(_label(each)) > _SHORT_LABEL]
        if not long:
            return b""
        labels = b""
        for place, each in long:
            name, label = each.name.encode(), _label(each)
            labels += struct.pack(">HHH", place + 1, len(name), len(label)) + name + label
        return _record(_header("LABELV8", str(len(long)))) + labels + b" " * (-len(labels) % _RECORD)

    def prepared(self, batch: pa.RecordBatch) -> Any:
        made = np.empty(batch.num_rows, self._type)
        for place, (each, array) in enumerate(zip(self._columns, batch.columns, strict=True)):
            made[f"c{place}"] = _values(each, array)
        return made

    def write(self, prepared: Any) -> None:
        self._rows += len(prepared)
        self._file.write(prepared.tobytes())

    def close(self) -> None:
        self._file.write(b" " * (-(self._rows * self._type.itemsize) % _RECORD))
        self._file.seek(self._count_at)
        self._file.write(f"{self._rows:15d}".encode())
        self._file.seek(0, os.SEEK_END)


def _record(content: bytes) -> bytes:
    return content.ljust(_RECORD)


def _header(name: str, rest: str) -> bytes:
    return f"HEADER RECORD*******{name:<8}HEADER RECORD!!!!!!!{rest}".encode()


def _width(each: Coded) -> int:
    return each.width if each.kind == "text" else 8


def _stored(each: Coded) -> str:
    return f"S{each.width}" if each.kind == "text" else ">u8"


def _label(each: Coded) -> bytes:
    return (each.column.label or "").encode()[:_LONGEST_LABEL].decode(errors="ignore").encode()


def _name(place: int, each: Coded, start: int) -> bytes:
    label = _label(each)
    shown, length = (b"YYMMDD  ", 10) if each.kind == "day" else (b" " * 8, 0)
    made = struct.pack(">HHHH", 2 if each.kind == "text" else 1, 0, _width(each), place + 1)
    made += each.name.encode()[:8].ljust(8) + label[:_SHORT_LABEL].ljust(_SHORT_LABEL)
    made += shown + struct.pack(">HHH2x", length, 0, 0) + b" " * 8 + struct.pack(">HHI", 0, 0, start)
    return made + each.name.encode().ljust(32) + struct.pack(">H18x", len(label) if len(label) > _SHORT_LABEL else 0)


def _values(each: Coded, array: pa.Array) -> Any:
    if each.kind == "text":
        return each.texts(array, each.width, b" ")
    numbers, _ = each.numbers(array)
    if each.kind == "day":
        numbers = numbers + _EPOCH_DAYS
    missing = np.isnan(numbers)
    made = ibm_floats(np.where(missing, 0.0, numbers))
    return np.where(missing, np.uint64(ord(".")) << np.uint64(56), made)


def ibm_floats(numbers: Floats) -> NDArray[np.uint64]:
    """Floats to the base 16: a sign, seven bits of exponent, 56 bits of fraction."""
    fraction, exponent = np.frexp(np.abs(numbers))
    power = -(-exponent // 4)  # rounded up: fraction * 2**exponent = smaller fraction * 16**power
    digits = (fraction * 2.0**53).astype(np.uint64) << (3 - (4 * power - exponent)).astype(np.uint64)
    sign = (numbers < 0).astype(np.uint64) << np.uint64(63)
    made = sign | ((power + 64).astype(np.uint64) << np.uint64(56)) | digits
    return np.where(numbers == 0, np.uint64(0), made)
