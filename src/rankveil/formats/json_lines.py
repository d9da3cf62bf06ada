"""JSON lines: one object to a line, whose keys are the columns. Plain or compressed.

Guarantee    A value is read by itself, a number as it is spelled. What is absent is missing. The order of keys in
             records decides nothing: columns come in the order of the plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from rankveil.engines.dialect import packed_stream
from rankveil.errors import TableError
from rankveil.formats.damaged import LONGEST_LINE, one_file, reading
from rankveil.formats.format import Form, Opening, Part, Released, Stored, Style

_BATCH_ROWS = 1 << 15
_BLOCK = 1 << 20


def look(files: Sequence[Path], how: Opening) -> Stored:
    """All records are read once for their keys."""
    path = one_file(list(files), "JSON lines")
    keys: dict[str, None] = {}
    with reading(path.name):
        for record in _records(path):
            if record.keys() - keys.keys():
                keys |= dict.fromkeys(record)
    if not keys:
        raise TableError(f"Table {path.name} is empty.", remedy="It needs one JSON object to a line.")
    return Stored(pa.schema([(name, pa.string()) for name in sorted(keys)]), (Part(path),))


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, pa.string()) for name in columns])
    with reading(part.path.name):
        records = _records(part.path)
        while some := list(islice(records, _BATCH_ROWS)):
            arrays = [pa.array([record.get(name) for record in some], pa.string()) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _records(path: Path) -> Iterator[dict[str, str | None]]:
    decode = json.JSONDecoder(object_pairs_hook=_record, parse_int=str, parse_float=str, parse_constant=_no_constant)
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = decode.decode(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError):  # its text would quote the line
            raise TableError(
                f"Table {path.name}: line {number} is not a JSON object of plain values in UTF-8, each key once.",
                remedy="Put one object to a line; lists and objects inside of it cannot be columns.",
            ) from None
        if not isinstance(record, dict):
            raise TableError(
                f"Table {path.name}: line {number} is JSON, but no object.", remedy="Put one object to a line."
            )
        yield record


def _record(pairs: list[tuple[str, Any]]) -> dict[str, str | None]:
    record = {}
    for key, value in pairs:
        if key in record or isinstance(value, dict | list):
            raise ValueError
        record[key] = value if value is None or isinstance(value, str) else "true" if value else "false"
    return record


def _no_constant(text: str) -> str:
    raise ValueError  # NaN and Infinity are not JSON


def _lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with packed_stream(path) as stream:
        while block := stream.read(_BLOCK):
            *whole, rest = (rest + block).split(b"\n")
            yield from whole
            if len(rest) > LONGEST_LINE:
                raise TableError(
                    f"Table {path.name}: a line is longer than {LONGEST_LINE >> 20} MiB.",
                    remedy="Put one object to a line.",
                )
    if rest:
        yield rest


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    return [(None, None)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    return None


def refuse(columns: Sequence[Released], rows: int | None) -> str | None:
    return None


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> JsonLinesWriter:
    return JsonLinesWriter(file, columns)


class JsonLinesWriter:
    """Every key in every line, in the plan's order; missing values as null."""

    form: Form = "written"

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        self._file, self._names = file, [column.name for column in columns]

    def prepared(self, batch: pa.RecordBatch) -> bytes:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return "".join(encode(dict(zip(self._names, row, strict=True))) + "\n" for row in rows).encode()

    def write(self, prepared: bytes) -> None:
        self._file.write(prepared)

    def close(self) -> None:
        """Nothing is left to do."""
