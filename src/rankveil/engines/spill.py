"""Rows put together that belong together, wherever in a table they lie: through a file where memory is too small.

Guarantee    The table that comes out holds what `kept` leaves of every group, and nothing is left behind.
Not covered  The order of its rows, which depends on threads. Rows that do not fit into memory lie in temporary files
             that have no name and go with the process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import pyarrow as pa

from rankveil.engines.engine import Regrouping
from rankveil.engines.table import Slice, Table
from rankveil.errors import OutputError
from rankveil.system import read_at

_MOST_HELD = 1 << 18  # rows in the memory of a thread


@dataclass(frozen=True)
class Segment:
    """Rows in a file."""

    file: int  # its handle
    start: int
    size: int
    rows: int

    def read(self) -> pa.Table:
        with pa.ipc.open_stream(read_at(self.file, self.size, self.start)) as stream:
            return stream.read_all()


@dataclass(frozen=True)
class SpilledTable(Table):
    """Rows in a file without a name: one segment after the other."""

    segments: tuple[Segment, ...] = ()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for each in self.slices():
            yield from each.batches(self.schema.names if columns is None else columns)

    def slices(self) -> list[Slice]:
        return [SpilledSlice(self, None, place, each.rows) for place, each in enumerate(self.segments)]

    def expected_rows(self) -> int | None:
        return sum(each.rows for each in self.segments)


@dataclass(frozen=True)
class SpilledSlice(Slice):
    table: SpilledTable

    def batches(self, columns: Sequence[str], *, threads: bool = False) -> Iterator[pa.RecordBatch]:
        return iter(self.table.segments[self.place or 0].read().select(list(columns)).to_batches())


class Spill:
    """Tables on their way to their groups: in memory, and in a file once there are many rows."""

    def __init__(self) -> None:
        self.held: list[tuple[int, pa.Table]] = []
        self.put_aside: list[tuple[int, Segment]] = []
        self._rows = 0
        self._file: BinaryIO | None = None

    def add(self, group: int, rows: pa.Table) -> None:
        self.held.append((group, rows))
        self._rows += rows.num_rows
        if self._rows > _MOST_HELD:
            self.put_aside += [(group, self.write(found)) for group, found in self._by_group()]
            self.held, self._rows = [], 0

    def _by_group(self) -> Iterator[tuple[int, pa.Table]]:
        for group in sorted({group for group, _ in self.held}):
            yield group, pa.concat_tables([rows for each, rows in self.held if each == group])

    def write(self, rows: pa.Table) -> Segment:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="rankveil-")  # noqa: SIM115 - closed by `close`
        start = self._file.seek(0, os.SEEK_END)
        with pa.ipc.new_stream(
            pa.PythonFile(self._file, "w"), rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer:
            writer.write_table(rows)
        self._file.flush()
        return Segment(self._file.fileno(), start, self._file.tell() - start, rows.num_rows)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


@dataclass(frozen=True)
class Spilling:
    """The fold of one process whose state is what its threads have put aside."""

    work: Regrouping
    opened: list[Spill] = field(default_factory=list)

    @property
    def columns(self) -> Sequence[str]:
        return self.work.columns

    def zero(self) -> list[Spill]:
        self.opened.append(Spill())
        return [self.opened[-1]]

    def step(self, state: list[Spill], batch: pa.RecordBatch) -> list[Spill]:
        for group, rows in self.work.grouped(batch):
            state[0].add(group, rows)
        return state

    def merge(self, first: list[Spill], second: list[Spill]) -> list[Spill]:
        return first + second


@contextmanager
def regrouped(name: str, work: Regrouping, fold: Callable[[Spilling], list[Spill]]) -> Iterator[Table]:
    """What is kept of every group, as a table; `fold` goes over the rows."""
    spilling, result = Spilling(work), Spill()
    try:
        yield _made(name, work, fold(spilling), result)
    finally:
        for spill in [*spilling.opened, result]:
            spill.close()


def _made(name: str, work: Regrouping, spills: list[Spill], result: Spill) -> Table:
    try:
        if not any(spill.put_aside for spill in spills):
            whole = pa.concat_tables(list(_kept(work, spills)))
            return Table(name, "arrow", whole.schema, _memory=whole)
        segments = tuple(map(result.write, _kept(work, spills)))
        return SpilledTable(name, "arrow", segments[0].read().schema, segments=segments)
    except OSError as error:
        raise OutputError(
            f"The temporary folder cannot hold the rows of the table: {error.strerror}.",
            remedy="Free space there, or name another folder in the environment variable TMPDIR.",
        ) from None


def _kept(work: Regrouping, spills: list[Spill]) -> Iterator[pa.Table]:
    """Group after group."""
    held: dict[int, list[pa.Table | Segment]] = {}
    for spill in spills:
        for group, rows in [*spill.held, *spill.put_aside]:
            held.setdefault(group, []).append(rows)
    for group in sorted(held):
        yield work.kept(
            pa.concat_tables([rows.read() if isinstance(rows, Segment) else rows for rows in held.pop(group)])
        )
