"""The local engine: one machine, its processors, and memory that does not grow with the number of rows.

Pieces of a table are shared out among threads; each thread folds what it gets into a state of its own, and the states
are merged at the end. Decoding and most arithmetic run outside Python's lock, so that threads do. A table of fewer
pieces than threads is left to the reader's own threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from threading import Lock

from rankveil.engines.engine import RowProgress, silent
from rankveil.engines.fold import Fold, State
from rankveil.engines.table import Piece, Table


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class LocalEngine:
    threads: int | None = None  # one for each processor
    name: str = "local"

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State:
        pieces = table.pieces()
        threads = min(self.threads or processors(), len(pieces))
        queue = _Queue(pieces)
        if threads <= 1:
            return _folded(queue, work, progress, reader_threads=self.threads != 1)
        with ThreadPoolExecutor(threads, thread_name_prefix="rankveil") as pool:
            running = [pool.submit(_folded, queue, work, progress) for _ in range(threads)]
            try:
                return reduce(work.merge, [each.result() for each in running])
            except BaseException:
                queue.close()  # an interrupted pass does not go on in the other threads
                raise


class _Queue:
    """Pieces to be taken, each once; none after a failure."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = iter(pieces)
        self.lock = Lock()

    def taken(self) -> Iterator[Piece]:
        while True:
            with self.lock:
                piece = next(self._pieces, None)
            if piece is None:
                return
            yield piece

    def close(self) -> None:
        with self.lock:
            self._pieces = iter(())


def _folded(queue: _Queue, work: Fold[State], progress: RowProgress, *, reader_threads: bool = False) -> State:
    """What one thread makes of the pieces it gets."""
    state, columns = work.zero(), list(work.columns)
    try:
        for piece in queue.taken():
            for batch in piece.batches(columns, threads=reader_threads):
                state = work.step(state, batch)
                rows = batch.num_rows
                del batch  # its memory, still in the cache, takes the next one
                if progress is not silent:
                    with queue.lock:
                        progress(rows)
    except BaseException:
        queue.close()
        raise
    return state
