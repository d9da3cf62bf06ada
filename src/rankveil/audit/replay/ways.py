"""The ways into a release: the same cells as files and frames of all kinds, stored as libraries like to store them.

No type is forced where a library finds one by itself: that is how one record changes the type of a column. `cuts` say
after which rows files, groups of rows and chunks end; a table and its neighbour may be cut in different places.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from rankveil.audit.replay.records import Nanoday, Spelling, lowered
from rankveil.declare import Plan
from rankveil.declare.entries import DateColumn

Cells = Mapping[str, Sequence[Any]]
Cuts = Sequence[int]  # row numbers, ascending, without 0 and n
Make = Callable[[Cells, Plan, Cuts, Path], object]


@dataclass(frozen=True)
class Way:
    name: str
    make: Make  # what `release` is given
    file: bool = False  # the release is written to a folder
    text: bool = False
    objects: bool = False
    table: Mapping[str, str] = field(default_factory=dict)  # entries of [table] of a plan
    spark: bool = False


# Text files


def _text(value: Any, plan: Plan, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        entry = plan.columns[name]
        return value.strftime(entry.format if isinstance(entry, DateColumn) else "%Y-%m-%d")
    return str(value).replace(".", plan.table.decimal or ".")


def _csv_bytes(cells: Cells, plan: Plan, rows: range, **style: Any) -> bytes:
    memory = io.StringIO()
    writer = csv.writer(memory, delimiter=plan.table.separator or ",", **{"lineterminator": "\n", **style})
    writer.writerow(cells)
    columns = [[_text(values[row], plan, name) for row in rows] for name, values in cells.items()]
    writer.writerows(zip(*columns, strict=True))
    return memory.getvalue().encode()


def _csv(name: str = "table.csv", packed: Callable[[bytes], bytes] = bytes, **style: Any) -> Make:
    def make(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
        path = folder / name
        path.write_bytes(packed(_csv_bytes(cells, plan, range(_rows(cells)), **style)))
        return path

    return make


# As office programs write it: a mark at the beginning, two characters at the end of a line, quotes everywhere.
_csv_windows = _csv(packed=lambda content: codecs.BOM_UTF8 + content, lineterminator="\r\n", quoting=csv.QUOTE_ALL)


def _csv_parts(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    parts = folder / "table"
    parts.mkdir()
    for number, (start, end) in enumerate(_pieces(cells, cuts)):
        (parts / f"part-{number:03d}.csv").write_bytes(_csv_bytes(cells, plan, range(start, end)))
    return parts


# Arrow


def _rows(cells: Cells) -> int:
    return len(next(iter(cells.values())))


def _pieces(cells: Cells, cuts: Cuts) -> list[tuple[int, int]]:
    return list(pairwise((0, *cuts, _rows(cells))))


def _array(values: Sequence[Any]) -> pa.Array:
    """The type that Arrow finds for these values, or the first wider one that takes them all."""
    plain = [lowered(value) for value in values]
    if any(isinstance(value, Nanoday) for value in plain):
        days = [None if day is None else (day - datetime.date(1970, 1, 1)).days * 86_400 * 10**9 for day in plain]
        late = [isinstance(day, Nanoday) for day in plain]
        # One nanosecond after midnight; days beyond what 64 bits of nanoseconds hold make the whole column coarser.
        if all(time is None or -(1 << 63) < time < 1 << 63 for time in days):
            return pa.array([None if t is None else t + n for t, n in zip(days, late, strict=True)], pa.timestamp("ns"))
        return pa.array([None if time is None else time // 1000 for time in days], pa.timestamp("us"))
    try:
        return pa.array(plain)
    except (pa.ArrowException, OverflowError, TypeError):
        pass
    return pa.array([None if value is None else float(value) for value in plain], pa.float64())


def _table(cells: Cells, cuts: Cuts) -> pa.Table:
    arrays = [_array(values) for values in cells.values()]
    # What a file says beside its values may depend on all of them: whether any is missing, what wrote it, when.
    fields = [
        pa.field(name, a.type, a.null_count > 0, {"cut": str(cuts)}) for name, a in zip(cells, arrays, strict=True)
    ]
    whole = pa.Table.from_arrays(arrays, schema=pa.schema(fields, {"written": f"in pieces {list(cuts)}"}))
    return pa.concat_tables([whole.slice(start, end - start) for start, end in _pieces(cells, cuts)])


def _arrow_lists(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> pa.Table:
    """Texts as places in lists, each chunk with a list of its own, in the order in which they occur."""
    batches = []
    for batch in _table(cells, cuts).to_batches():
        columns = [
            column.dictionary_encode() if pa.types.is_string(column.type) else column for column in batch.columns
        ]
        batches.append(pa.RecordBatch.from_arrays(columns, names=batch.schema.names))
    return pa.Table.from_batches(batches)


def _parquet(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    """A group of rows for each piece."""
    path, table = folder / "table.parquet", _table(cells, cuts)
    with papq.ParquetWriter(path, table.schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)
    return path


def _parquet_parts(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    parts, whole = folder / "table", _table(cells, ())
    parts.mkdir()
    for number, (start, end) in enumerate(_pieces(cells, cuts)):
        papq.write_table(whole.slice(start, end - start), parts / f"part-{number:03d}.parquet")
    return parts


# Frames


def _series(values: Sequence[Any], *, objects: bool) -> Any:
    import pandas

    if any(isinstance(value, Nanoday) for value in values):
        stamps = [
            pandas.Timestamp(v).as_unit("ns") + pandas.Timedelta(1) if isinstance(v, Nanoday) else v for v in values
        ]
        return pandas.Series(stamps, dtype=object) if objects else _array(values).to_pandas()
    if objects:
        return pandas.Series([str(value) if isinstance(value, Spelling) else value for value in values], dtype=object)
    plain = [lowered(value) for value in values]
    if any(isinstance(value, datetime.date) for value in plain):
        return _array(values).cast(pa.timestamp("s")).to_pandas()
    return pandas.Series(plain)


def _pandas(cells: Cells, plan: Plan, cuts: Cuts, folder: Path, *, objects: bool = False) -> Any:
    import pandas

    frame = pandas.DataFrame({name: _series(values, objects=objects) for name, values in cells.items()})
    return _indexed(frame, cuts)


def _indexed(frame: Any, cuts: Cuts) -> Any:
    """With an index and attributes, which are data too."""
    if cuts:
        frame.index = frame.index[::-1] + cuts[0]
        frame.attrs["cut"] = list(cuts)
    return frame


def _pandas_categories(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Any:
    """Texts as categories: those that occur, in their order."""
    frame = _pandas(cells, plan, cuts, folder)
    texts = [name for name, values in cells.items() if any(isinstance(value, str) for value in values)]
    return frame.astype(dict.fromkeys(texts, "category"))


def _pandas_object_categories(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Any:
    """Everything as categories of Python objects as they occur; days as points in time in a zone."""
    import pandas

    columns = {}
    for name, values in cells.items():
        objects = [_in_zone(value) for value in _series(values, objects=True)]
        known = {value: place for place, value in enumerate(dict.fromkeys(v for v in objects if not pandas.isna(v)))}
        listed = pandas.Index(list(known), dtype=object)
        columns[name] = pandas.Categorical.from_codes([known.get(value, -1) for value in objects], listed)
    return _indexed(pandas.DataFrame(columns), cuts)


def _in_zone(value: Any) -> Any:
    if type(value) is not datetime.date:
        return value
    zone = datetime.timezone(datetime.timedelta(hours=2))
    return datetime.datetime(value.year, value.month, value.day, 0, 30, tzinfo=zone)


def _polars(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Any:
    import polars

    return polars.from_arrow(_table(cells, cuts), rechunk=False)


def _spark_parquet(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    """Spark does not read nanoseconds."""
    days = {
        name: [datetime.date(v.year, v.month, v.day) if isinstance(v, Nanoday) else v for v in values]
        for name, values in cells.items()
    }
    return _parquet(days, plan, cuts, folder)


def _spark_frame(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None  # noqa: S101 - whoever offers this way has started one
    return session.read.parquet(str(_spark_parquet(cells, plan, cuts, folder)))


LOCAL_WAYS = (
    Way("CSV", _csv(), file=True, text=True),
    Way("CSV, semicolons and decimal commas", _csv(), True, True, table={"separator": ";", "decimal": ","}),
    Way("CSV, tabs", _csv(), file=True, text=True, table={"separator": "\t"}),
    Way("CSV, as Windows writes it", _csv_windows, file=True, text=True),
    Way("CSV, compressed", _csv("table.csv.gz", partial(gzip.compress, mtime=0)), file=True, text=True),
    Way("folder of CSV files", _csv_parts, file=True, text=True),
    Way("Parquet", _parquet, file=True),
    Way("folder of Parquet files", _parquet_parts, file=True),
    Way("pandas", _pandas),
    Way("pandas, objects", partial(_pandas, objects=True), objects=True),
    Way("pandas, nullable types", lambda *given: _pandas(*given).convert_dtypes()),
    Way("pandas, categories", _pandas_categories),
    Way("pandas, categories of objects", _pandas_object_categories, objects=True),
    Way("polars", _polars),
    Way("Arrow", lambda cells, plan, cuts, folder: _table(cells, cuts)),
    Way("Arrow, dictionaries", _arrow_lists),
)
SPARK_WAYS = (
    Way("Spark frame", _spark_frame, spark=True),
    Way("Spark, Parquet", _spark_parquet, file=True, spark=True),
)
