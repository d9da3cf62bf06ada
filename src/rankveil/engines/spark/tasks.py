"""What runs on the executors: steps of folds, merges of their states, and pieces of other work.

Guarantee    A task is a function of what it is sent and of the rows it reads. It draws no randomness that a release
             depends on, so a task that Spark runs twice, after a failure or on suspicion, gives the same result twice.
Argument     Folds are deterministic (engines/engine.py). Noise is drawn by the driver and never sent out for drawing.

What a task has to refuse travels as a row: the text of an exception that Spark carries may quote data.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pyarrow as pa

from rankveil import errors
from rankveil._arrow_memory import take_memory_from_the_system
from rankveil._version import __version__
from rankveil.engines.engine import Fold, Regrouping
from rankveil.engines.table import Slice

# `part` says which partition a state comes from: it decides where states are merged, and no part may come twice.
RESULT_TYPE = "part long, rows long, refusal boolean, content binary"
_COLUMNS = ("part", "rows", "refusal", "content")


@dataclass(frozen=True)
class Result:
    """One row that a task gives back."""

    part: int
    rows: int
    content: Any

    def row(self) -> pa.RecordBatch:
        return _row(self.part, self.rows, False, packed(self.content))


def packed(content: Any) -> bytes:
    """Pickled and compressed: most cells of a count are empty, and eight million bytes of them become a few."""
    raw = pickle.dumps(content, protocol=5)
    buffer: pa.Buffer = pa.compress(raw, codec="zstd")
    return b"".join([len(raw).to_bytes(8, "little"), buffer.to_pybytes()])


def unpacked(content: bytes) -> Any:
    size = int.from_bytes(content[:8], "little")
    return pickle.loads(pa.decompress(content[8:], decompressed_size=size, codec="zstd"))


def results(batches: Iterator[pa.RecordBatch]) -> Iterator[Result]:
    """Rows of RESULT_TYPE as results. A refusal is raised."""
    for batch in batches:
        for place in range(batch.num_rows):
            part, rows, refusal, content = (batch.column(name)[place].as_py() for name in _COLUMNS)
            yield result_of(part, rows, refusal, content)


def result_of(part: int, rows: int, refusal: bool, content: bytes) -> Result:
    if refusal:
        raise _refusal(content)
    return Result(part, rows, unpacked(bytes(content)))


def _row(part: int, rows: int, refusal: bool, content: bytes) -> pa.RecordBatch:
    arrays = [
        pa.array([part], pa.int64()),
        pa.array([rows], pa.int64()),
        pa.array([refusal]),
        pa.array([content], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(_COLUMNS))


def _refusal(content: bytes) -> errors.RankveilError:
    name, problem, remedy, cost = unpacked(bytes(content))
    error: errors.RankveilError = errors.RankveilError.__new__(getattr(errors, name))
    errors.RankveilError.__init__(error, problem, remedy=remedy, cost=cost)
    return error


@dataclass(frozen=True)
class _Task:
    """Gives the rows that `_run` makes of a partition, or its refusal as a row."""

    work: bytes  # pickled
    version: str = field(default=__version__, kw_only=True)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        take_memory_from_the_system()
        try:
            yield from self._run(self._unpickled(), batches)
        except errors.RankveilError as error:
            said = (type(error).__name__, error.problem, error.remedy, error.cost)
            yield _row(-1, 0, True, packed(said))

    def _unpickled(self) -> Any:
        if self.version != __version__:
            raise errors.TableError(
                f"The driver runs rankveil {self.version} and an executor runs rankveil {__version__}.",
                remedy="Install the same version everywhere: only then are statistics the same.",
            )
        return pickle.loads(self.work)

    def _run(self, work: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


def _part() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None  # noqa: S101 - this runs on an executor
    return context.partitionId()


@dataclass(frozen=True)
class FoldRows(_Task):
    """Fold the rows of one partition of a data frame."""

    def _run(self, work: Fold[Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _folded(work, (batch.rename_columns(list(work.columns)) for batch in batches))


@dataclass(frozen=True)
class _Files(_Task):
    """Slices of files that the executors read by themselves; the partition holds the slices' numbers."""

    slices: tuple[Slice, ...]

    def _read(self, numbers: Iterator[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for number in numbers:
            _visible(self.slices[number])
            yield from self.slices[number].batches(columns)


@dataclass(frozen=True)
class FoldFiles(_Files):
    """Fold slices of files."""

    def _run(self, work: Fold[Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _folded(work, self._read(_numbers(batches), work.columns))


@dataclass(frozen=True)
class FoldGroups(_Task):
    """Fold rows that were put together before: tables, one in each row of the partition."""

    def _run(self, work: Fold[Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = list(work.columns)
        return _folded(
            work, (batch for found in results(batches) for batch in found.content.select(columns).to_batches())
        )


def _grouped(work: Regrouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tables of rows, each with the number of its group as its part."""
    for batch in batches:
        if batch.num_rows:
            for group, rows in work.grouped(batch):
                yield Result(group, rows.num_rows, rows).row()


@dataclass(frozen=True)
class GroupRows(_Task):
    """Rows of a data frame on their way to their groups."""

    def _run(self, work: Regrouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _grouped(work, (batch.rename_columns(list(work.columns)) for batch in batches))


@dataclass(frozen=True)
class GroupFiles(_Files):
    """Rows of files on their way to their groups."""

    def _run(self, work: Regrouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _grouped(work, self._read(_numbers(batches), work.columns))


@dataclass(frozen=True)
class KeepRows(_Task):
    """What is kept of the groups in a partition, which lie one after the other."""

    def _run(self, work: Regrouping, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for group, found in groupby(results(batches), key=lambda result: result.part):
            kept = work.kept(pa.concat_tables([result.content for result in found]))
            yield Result(group, kept.num_rows, kept).row()


def _folded(work: Fold[Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One state for the partition; none for a partition without rows."""
    state, rows = work.zero(), 0
    for batch in batches:
        if batch.num_rows:
            state = work.step(state, batch)
            rows += batch.num_rows
    if rows:
        yield Result(_part(), rows, state).row()


def _visible(wanted: Slice) -> None:
    if wanted.part is not None and wanted.part.server is None and not wanted.part.path.exists():
        raise errors.TableError(
            f"Table {wanted.table.name}: an executor cannot see {wanted.part.path.name}.",
            remedy="Put the table where the driver and all executors find it under the same path, or let Spark read it:"
            " register it in the catalogue, or give its URL.",
        )


@dataclass(frozen=True)
class MergeStates(_Task):
    """Merge the states of several parts."""

    def _run(self, work: Fold[Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        merged = merge_results(work, results(batches))
        if merged.rows:
            yield Result(_part(), merged.rows, merged.content).row()


def merge_results(work: Fold[Any], found: Iterator[Result]) -> Result:
    """All states as one. Each part counts once; a part that came twice would be a fault of the engine."""
    state, rows, seen = work.zero(), 0, set[int]()
    for result in found:
        if result.part in seen:
            raise RuntimeError(f"the state of part {result.part} has arrived twice")
        seen.add(result.part)
        state, rows = work.merge(state, result.content), rows + result.rows
    return Result(-1, rows, state)


@dataclass(frozen=True)
class RunItems(_Task):
    """Do one piece of work per number in the partition; sent are a task and its items."""

    def _run(self, work: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, items = work
        for number in _numbers(batches):
            yield Result(number, 1, task(items[number])).row()


@dataclass(frozen=True)
class MakeRows(_Task):
    """Rows of a data frame: the batches that a function gives for each of the numbered items. A refusal ends it."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        make, items = self._unpickled()
        for number in _numbers(batches):
            yield from make(items[number])


def pack_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a partition as bytes, so that the driver can read them batch by batch, in Arrow."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["batch"])


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
