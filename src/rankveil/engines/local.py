"""The local engine: one machine, its processors, and memory that does not grow with the number of rows.

Pieces of a table are shared out among threads; each thread folds what it gets into a state of its own, and the states
are merged at the end. Decoding and most arithmetic run outside Python's lock, so that threads do. A table of fewer
pieces than threads has one reader, whose batches the threads take in turns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import Protocol

import pyarrow as pa

from rankveil.engines.engine import Item, Made, RowProgress, silent
from rankveil.engines.fold import Fold, State
from rankveil.engines.source import open_table
from rankveil.engines.table import Piece, Table


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalEngine:
    threads: int | None = None  # one for each processor
    name: str = "local"

    def open(self, source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
        return open_table(source, separator=separator, encoding=encoding)

    def map(self, task: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        return map(task, items)

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State:
        pieces, columns = table.pieces(), list(work.columns)
        threads = self.threads or processors()
        if threads == 1:
            return _folded(_Queue(pieces, columns), work, progress)
        source: _Source = _Queue(pieces, columns) if len(pieces) >= threads else _OneReader(pieces, columns)
        with ThreadPoolExecutor(threads, thread_name_prefix="rankveil") as pool:
            running = [pool.submit(_folded, source, work, progress) for _ in range(threads)]
            try:
                return reduce(work.merge, [each.result() for each in running])
            except BaseException:
                source.close()  # an interrupted pass does not go on in the other threads
                raise


class _Source(Protocol):
    """Where threads get batches from, each batch once; none after a failure."""

    lock: Lock

    def batches(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None: ...


class _Queue:
    """Pieces, each read by the thread that takes it."""

    def __init__(self, pieces: list[Piece], columns: list[str]) -> None:
        self._pieces, self._columns = iter(pieces), columns
        self.lock = Lock()

    def batches(self) -> Iterator[pa.RecordBatch]:
        while True:
            with self.lock:
                piece = next(self._pieces, None)
            if piece is None:
                return
            yield from piece.batches(self._columns)

    def close(self) -> None:
        with self.lock:
            self._pieces = iter(())


class _OneReader:
    """Few pieces: one reader with threads of its own, whose batches are taken in turns."""

    def __init__(self, pieces: list[Piece], columns: list[str]) -> None:
        self._batches: Iterator[pa.RecordBatch] = (
            batch for piece in pieces for batch in piece.batches(columns, threads=True)
        )
        self.lock = Lock()

    def batches(self) -> Iterator[pa.RecordBatch]:
        while True:
            with self.lock:
                batch = next(self._batches, None)
            if batch is None:
                return
            yield batch
            del batch  # not held while the next one is read

    def close(self) -> None:
        with self.lock:
            self._batches = iter(())


def _folded(source: _Source, work: Fold[State], progress: RowProgress) -> State:
    """What one thread makes of the batches it gets."""
    state = work.zero()
    try:
        for batch in source.batches():
            state = work.step(state, batch)
            rows = batch.num_rows
            del batch  # not held while the next one is read
            if progress is not silent:
                with source.lock:
                    progress(rows)
    except BaseException:
        source.close()
        raise
    return state
