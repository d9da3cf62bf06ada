"""SPSS, Stata and SAS files, read by pyreadstat in pieces of rows; written by sav.py, dta.py and xpt.py.

Guarantee    A value is read as it stands in the file: a missing code of SPSS is the number it is, and what it means is
             for the plan to say. Missing values of Stata and SAS that have a label (.a to .z) are these texts in their
             column; those without a label are missing like any other. Which columns have such labels is said by the
             file's dictionary, not by its rows. An empty text is missing: these programs have no other.
Not covered  Times of day are read as seconds. A .por file is held in memory while it is read, and so it is limited.
Work         A piece begins by passing over the rows before it: fast in SPSS and Stata files, slow in .xpt files, which
             are therefore read in longer pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyreadstat

from rankveil.engines.arrays import value_array
from rankveil.engines.spelling import number_texts
from rankveil.errors import TableError
from rankveil.formats.damaged import one_file
from rankveil.formats.format import Opening, Part, Stored
from rankveil.formats.metadata import ColumnMetadata, described, is_letter
from rankveil.formats.sav_damage import contradicts_itself

_READERS: dict[str, Callable[..., Any]] = {
    "sav": pyreadstat.read_sav,
    "zsav": pyreadstat.read_sav,
    "por": pyreadstat.read_por,
    "dta": pyreadstat.read_dta,
    "sas7bdat": pyreadstat.read_sas7bdat,
    "xpt": pyreadstat.read_xport,
}
_ROWS = 1 << 16  # of a piece
_ROWS_OF_XPT = 1 << 19
_LARGEST_POR = 256 << 20  # bytes
_TYPES = {
    "number": pa.float64(),
    "time": pa.float64(),
    "text": pa.string(),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
}
_LETTERS = "letters"  # metadata of a field: numbers, and labelled missing values of Stata or SAS
_DAY = 86_400
_EPOCHS = {"sav/zsav": -141_428, "por": -141_428, "dta": -3653, "sas7bdat": -3653, "xport": -3653}  # days from 1970
_SECONDS = {"dta": 0.001}  # Stata counts milliseconds
_MOST_DAYS = 3_000_000  # from 1970, either way: beyond, a day is no day of any plan


def read_dictionary(path: Path, kind: str, encoding: str | None = None) -> Any:
    """What pyreadstat says about a file, without its rows."""
    if kind in ("sav", "zsav") and contradicts_itself(path):
        raise _damaged(path)
    more: dict[str, Any] = {}
    catalogue = path.with_suffix(".sas7bcat")
    if kind == "sas7bdat" and catalogue.is_file():
        more["catalog_file"] = str(catalogue)
    read = _read(path, kind, encoding, metadataonly=True, **more)[1]
    if not all(read.column_names):
        raise _damaged(path)
    return read


def _read(path: Path, kind: str, encoding: str | None, **how: Any) -> tuple[dict[str, list[Any]], Any]:
    if kind not in ("por", "xpt"):
        how["user_missing"] = True
    if encoding is not None:
        how["encoding"] = encoding
    try:
        found, read = _READERS[kind](str(path), output_format="dict", disable_datetime_conversion=True, **how)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, ValueError, MemoryError):
        raise _damaged(path) from None  # its own words may quote a value
    return found, read


def _damaged(path: Path) -> TableError:
    return TableError(
        f"Table {path.name} cannot be read: it is damaged, or not what its name says, or its texts are in another"
        " encoding than it states.",
        remedy="Check the file; [table] encoding in the plan overrides what it states.",
    )


def _kind(path: Path) -> str:
    from rankveil.formats import format_of_file

    return format_of_file(path).name


def look(files: Sequence[Path], how: Opening) -> Stored:
    path = one_file(list(files), "SPSS, Stata or SAS")
    kind = _kind(path)
    if kind == "por" and path.stat().st_size > _LARGEST_POR:
        raise TableError(
            f"Table {path.name} is larger than {_LARGEST_POR >> 20} MiB; a .por file is read as a whole.",
            remedy="Store it as .sav, which is read piece by piece.",
        )
    read = read_dictionary(path, kind, how.encoding)
    fields = [_field(each, read.file_format) for each in described(read).values()]
    return Stored(pa.schema(fields), (Part(path, how.encoding, kind),))


def _field(column: ColumnMetadata, file_format: str) -> pa.Field:
    letters = column.holds == "number" and any(map(is_letter, column.missing))
    kind = pa.string() if letters else _TYPES[column.holds]
    return pa.field(column.name, kind, metadata={"format": file_format, "holds": _LETTERS if letters else column.holds})


def batches(
    part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
) -> Iterator[pa.RecordBatch]:
    kind = part.inside or ""
    schema = pa.schema([stored.schema.field(name) for name in columns])
    if kind == "por":  # passing over rows takes as long as reading them
        whole, _ = _read(part.path, kind, part.encoding, usecols=columns)
        yield from pa.Table.from_batches([_batch(whole, schema)]).to_batches(max_chunksize=_ROWS)
        return
    length = _ROWS_OF_XPT if kind == "xpt" else _ROWS
    start = place or 0
    while True:
        found, _ = _read(part.path, kind, part.encoding, usecols=columns, row_offset=start, row_limit=length)
        batch = _batch(found, schema)
        yield batch
        start += batch.num_rows
        if place is not None or batch.num_rows < length:
            break
        del batch, found


def _batch(found: dict[str, list[Any]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [_array(found[field.name], field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    holds, file_format = field.metadata[b"holds"].decode(), field.metadata[b"format"].decode()
    if holds == "text":
        texts = pc.utf8_rtrim(pa.array(values, pa.string()), " ")
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if holds == _LETTERS:
        return _with_letters(values)
    try:
        numbers = pa.array(values, pa.float64(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        numbers = pa.array([None if isinstance(value, str) else value for value in values], pa.float64())
    if holds not in ("day", "moment"):
        return numbers
    return _times(numbers, file_format, days=holds == "day")


def _with_letters(values: list[Any]) -> pa.Array:
    letters = [f".{value.lower()}" if isinstance(value, str) else None for value in values]
    plain = pa.array([None if isinstance(value, str) else value for value in values], pa.float64(), from_pandas=True)
    return pc.coalesce(pa.array(letters, pa.string()), number_texts(plain))


def _times(numbers: pa.Array, file_format: str, *, days: bool) -> pa.Array:
    missing = np.asarray(pc.is_null(numbers, nan_is_null=True).to_numpy(zero_copy_only=False))
    held = np.where(missing, 0.0, pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False))
    counts_days = days and file_format in ("dta", "sas7bdat", "xport")
    seconds = held * (_DAY if counts_days else _SECONDS.get(file_format, 1.0))
    most = float(_MOST_DAYS) * _DAY
    seconds = np.clip(seconds, -most, most) + _EPOCHS[file_format] * float(_DAY)
    if days:
        return value_array(np.floor(seconds / _DAY).astype("datetime64[D]"), missing)
    return value_array(np.rint(seconds * 1e6).astype(np.int64), missing).view(pa.timestamp("us"))


def places(part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
    rows = expected_rows(part, stored)
    if rows is None:
        return [(None, None)]
    return [(start, min(_ROWS, rows - start)) for start in range(0, rows, _ROWS)]


def expected_rows(part: Part, stored: Stored) -> int | None:
    if part.inside in ("por", "xpt"):
        return None
    rows = read_dictionary(part.path, part.inside or "", part.encoding).number_rows
    return None if rows is None or rows < 0 else int(rows)
