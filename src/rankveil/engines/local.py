"""The local engine: one machine, its processors, and memory that does not grow with the number of rows.

Pieces of a table are shared out among threads; each thread folds what it gets into a state of its own, and the states
are merged at the end. Decoding and most arithmetic run outside Python's lock, so that threads do. A table of fewer
slices than threads has one reader, whose batches the threads take in turns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from threading import Lock
from typing import Any, TypeVar

import pyarrow as pa

from rankveil.engines.engine import Fold, Item, Made, Map, Regrouping, RowProgress, RowsToCome, State, silent
from rankveil.engines.source import open_table
from rankveil.engines.spill import regrouped
from rankveil.engines.table import Slice, Table

T = TypeVar("T")


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalEngine:
    threads: int | None = None  # one for each processor

    @property
    def in_parts(self) -> bool:
        return False

    def refuse(self, reads_records: str | None, out: object) -> None:
        """Nothing."""

    def open(self, source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
        return open_table(source, separator=separator, encoding=encoding)

    def map(self, task: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        return map(task, items)

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State:
        slices, columns = table.slices(), list(work.columns)
        threads = self.threads or processors()
        if threads == 1 or len(slices) >= threads:
            queue = _Turns(slices)
            return _shared_out(queue, lambda: _read(queue, columns), threads, work, progress)
        # Few slices: one reader, which uses threads of its own.
        reader = _Turns(_read(slices, columns, threads=True))
        return _shared_out(reader, lambda: reader, threads, work, progress)

    def regroup(self, table: Table, work: Regrouping, progress: RowProgress = silent) -> AbstractContextManager[Table]:
        return regrouped(table.name, work, lambda spilling: self.fold(table, spilling, progress))

    def frame(self, rows: RowsToCome[Any], like: Table) -> Any:
        return like.rebuild(rows.whole())

    def files(self, whole: Callable[[], Made], in_parts: Callable[[Map], Made]) -> Made:
        return whole()


def _read(slices: Iterable[Slice], columns: list[str], threads: bool = False) -> Iterator[pa.RecordBatch]:
    """The batches of one slice after another. No generator: it would hold a batch while the next one is read."""
    return chain.from_iterable(each.batches(columns, threads=threads) for each in slices)


class _Turns(Iterator[T]):
    """Items that threads take in turns, each item once; none after a failure."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self.lock = Lock()

    def __next__(self) -> T:
        with self.lock:
            return next(self._items)

    def close(self) -> None:
        with self.lock:
            self._items = iter(())


def _shared_out(
    shared: _Turns[Any],
    batches: Callable[[], Iterator[pa.RecordBatch]],
    threads: int,
    work: Fold[State],
    progress: RowProgress,
) -> State:
    """One state for each thread, of the batches it gets, merged at the end."""

    def folded() -> State:
        state = work.zero()
        try:
            for batch in batches():
                state = work.step(state, batch)
                rows = batch.num_rows
                del batch  # not held while the next one is read
                if progress is not silent:
                    with shared.lock:
                        progress(rows)
        except BaseException:
            shared.close()
            raise
        return state

    if threads == 1:
        return folded()
    with ThreadPoolExecutor(threads, thread_name_prefix="rankveil") as pool:
        running = [pool.submit(folded) for _ in range(threads)]
        try:
            return reduce(work.merge, [each.result() for each in running])
        except BaseException:
            shared.close()  # an interrupted pass does not go on in the other threads
            raise
