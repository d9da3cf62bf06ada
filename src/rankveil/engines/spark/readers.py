"""Pieces of files that executors read by themselves, exactly as the local engine reads them.

Plain Parquet and CSV files do not go through Spark's own readers: what a value means must not depend on the engine, and
handing rows from the JVM to Python costs more than reading them (docs/decisions/0009-spark.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as papq

from rankveil.engines.source import Table, unreadable
from rankveil.errors import TableError

_BATCH_ROWS = 1 << 16
_PIECE_BYTES = 128 << 20  # what Spark itself gives to one task


@dataclass(frozen=True)
class Reader:
    """Some row groups of a Parquet file, or a whole file of text."""

    table: Table
    row_groups: tuple[int, ...] | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if self.table.path is not None and not self.table.path.exists():
            raise TableError(
                f"Table {self.table.name} cannot be seen by an executor.",
                remedy="Put it where the driver and all executors find it under the same path,"
                " or let Spark read it: register it as a table, or give its URL.",
            )
        if self.row_groups is None:
            yield from self.table.batches(columns)
            return
        try:
            with papq.ParquetFile(self.table.path) as file:
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=list(self.row_groups), columns=list(columns)):
                    batch.validate(full=True)  # a damaged file may point outside its own memory
                    yield batch
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise unreadable(self.table.name, error) from None


def readers_of(table: Table) -> tuple[Reader, ...]:
    """A file in pieces of about 128 MiB. Text is not cut: only reading it tells where its lines end."""
    if table.format != "parquet":
        return (Reader(table),)
    with papq.ParquetFile(table.path) as file:
        sizes = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
    groups: list[list[int]] = []
    room = 0
    for number, size in enumerate(sizes):
        if not groups or size > room:
            groups.append([])
            room = _PIECE_BYTES
        groups[-1].append(number)
        room -= size
    return tuple(Reader(table, tuple(group)) for group in groups)
