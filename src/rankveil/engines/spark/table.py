"""What Spark reads, as a table: data frames, catalogue tables, paths and URLs.

Guarantee    The code of a value depends on that value, on the plan and on the session's time zone, and on nothing else:
             no type is inferred from the rows. CSV and JSON are read as text.
Not covered  A data frame that gives other rows when it is computed again (a sample without a seed, `limit` without an
             order). Statistics are taken in several passes: write such a frame out first.

Plain Parquet and CSV files do not go through Spark's readers: the executors read them as the local engine does. So what
a value means does not depend on the engine, and handing rows from the JVM to Python would cost more than reading them
(docs/decisions/0009-spark.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil.engines.source import check_names, open_table
from rankveil.engines.spark import session as sessions
from rankveil.engines.spark.tasks import pack_rows
from rankveil.engines.table import Slice, Table
from rankveil.errors import TableError
from rankveil.formats.addresses import STANDARD_INPUT, is_address

_SALTS = (0x52414E4B, 0x5645494C)  # two hashes of 64 bits each


@dataclass(frozen=True)
class FrameTable(Table):
    """Rows that Spark computes."""

    frame: Any = field(default=None, repr=False)  # its columns are named by their places: any name will do then

    def select(self, columns: Sequence[str]) -> Any:
        """Some columns; whoever gets their batches gives them their names back."""
        return self.frame.select(*(_place(self.schema.get_field_index(name)) for name in columns))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, partition after partition, through the driver."""
        wanted = list(self.schema.names if columns is None else columns)
        with sessions.spark_errors(f"Table {self.name} cannot be read", TableError):
            packed = self.select(wanted).mapInArrow(pack_rows, "batch binary")
            for row in packed.toLocalIterator(prefetchPartitions=True):
                for batch in pa.ipc.open_stream(bytes(row.batch)):
                    yield batch.rename_columns(wanted)

    def slices(self) -> list[Slice]:
        """One, for engines that are not Spark: they get the rows through the driver."""
        return [FrameSlice(self, None)]

    def expected_rows(self) -> int | None:
        return None  # only a pass over the rows would tell

    def digest(self) -> bytes:
        """The number of rows and the sums of two hashes of each of them.

        It does not depend on the order of the rows or their partitions. Two tables with the same sums would share one
        budget: the safe side.
        """
        from pyspark.sql.functions import col, count, isnull, lit, xxhash64
        from pyspark.sql.functions import sum as total

        with sessions.spark_errors(f"Table {self.name} cannot be read", TableError):
            columns = [col(_place(place)) for place in range(len(self.schema))]
            # Spark's hash passes over nulls, so where they are is hashed as well.
            parts = [*columns, *map(isnull, columns)]
            sums = [total(xxhash64(lit(salt), *parts).cast("decimal(28,0)")) for salt in _SALTS]
            found = self.frame.select(count(lit(1)), *sums).collect()[0]
        digest = hashlib.sha256(b"spark\0" + self.schema.remove_metadata().to_string().encode())
        digest.update("\0".join(str(value) for value in found).encode())
        return digest.digest()


@dataclass(frozen=True)
class GroupedTable(Table):
    """Rows that executors have put together: a frame each of whose rows holds many."""

    frame: Any = field(default=None, repr=False)

    def expected_rows(self) -> int | None:
        return None


@dataclass(frozen=True)
class FrameSlice(Slice):
    """All rows of a data frame."""

    def batches(self, columns: Sequence[str], *, threads: bool = False) -> Iterator[pa.RecordBatch]:
        return self.table.batches(columns)


def open_for_spark(spark: Any, source: object, *, separator: str | None, encoding: str | None) -> Table:
    """Look at what Spark is asked to read, without reading its rows."""
    if not isinstance(source, str | Path):
        return open_table(source, separator=separator, encoding=encoding)
    name = str(source)
    suffixes = {suffix.lower() for suffix in Path(name).suffixes}
    if is_address(name) or name == STANDARD_INPUT:
        return open_table(source, separator=separator, encoding=encoding)
    with sessions.spark_errors(f"Table {Path(name).name} cannot be read", TableError):
        if "://" not in name and Path(name).exists() and not suffixes & {".orc", ".json", ".jsonl"}:
            return open_table(source, separator=separator, encoding=encoding)
        if "://" not in name and not Path(name).exists():
            if "/" in name or not spark.catalog.tableExists(name):
                raise TableError(
                    f"Table {name} does not exist, neither as a file nor in Spark's catalogue.",
                    remedy="Check the path or the name; a name may be given with its database, as in sales.orders.",
                )
            return frame_table(spark.table(name), name=name)
        read = spark.read
        if ".orc" in suffixes:
            return frame_table(read.orc(name), name=Path(name).name)
        if suffixes & {".json", ".jsonl"}:
            # PRIVACY: else one record's value would decide the type, and so the reading, of all others.
            return frame_table(read.option("primitivesAsString", True).json(name), name=Path(name).name)
        if suffixes & {".csv", ".tsv", ".txt"}:
            return _csv(spark, name, separator, encoding)
        return frame_table(read.parquet(name), name=Path(name).name)


def _csv(spark: Any, name: str, separator: str | None, encoding: str | None) -> FrameTable:
    """Text, as the local engine reads it: quotes doubled, lines inside quotes, no row with too few or many fields."""
    read = spark.read.options(
        header=True,
        inferSchema=False,
        sep=separator or ("\t" if name.lower().endswith(".tsv") else ","),
        encoding=encoding or "utf-8",
        quote='"',
        escape='"',
        multiLine=True,
        mode="FAILFAST",
        enforceSchema=False,
    )
    # Spark makes null of an empty field; here the plan says what an empty field means.
    return frame_table(read.csv(name).na.fill(""), name=Path(name).name, kind="csv")


def frame_table(frame: Any, *, name: str = "of Spark", kind: str = "spark") -> FrameTable:
    """A data frame as a table."""
    with sessions.spark_errors(f"Table {name} cannot be read", TableError):
        schema = frame.limit(0).toArrow().schema
    # A moment is released as the calendar day and time of the session's zone, without naming the zone.
    plain = [item.with_type(_without_zone(item.type)) for item in schema]
    places = [_place(place) for place in range(len(plain))]
    table = FrameTable(name, kind, pa.schema(plain), frame=frame.toDF(*places))
    check_names(table)
    return table


def _without_zone(found: pa.DataType) -> pa.DataType:
    return pa.timestamp(found.unit) if pa.types.is_timestamp(found) else found


def _place(number: int) -> str:
    return f"c{number}"
