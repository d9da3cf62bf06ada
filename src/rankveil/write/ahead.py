"""Batches of a release made by several threads and handed on in order, a few at a time.

Guarantee    The batches and their order do not depend on the number of threads, and memory does not depend on the
             number of rows: no more batches than there are threads, and one, are made or wait at any time.
Argument     Pieces are functions of themselves (draw/rows.py). A stream is gone through by one thread, which draws
             its noise in the order of the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import pyarrow as pa

from rankveil.declare.domain import Codes
from rankveil.draw.rows import Rows
from rankveil.engines import RowProgress, silent
from rankveil.engines.local import processors
from rankveil.write.decode import Decoder

Made = TypeVar("Made")
Finish = Callable[[dict[str, Codes]], Made]


def made_ahead(rows: Rows, finish: Finish[Made], threads: int | None = None) -> Generator[Made, None, None]:
    """Every batch of rows, finished by `finish`, in order."""
    if rows.stream is None and len(rows.pieces) < 2:  # nothing to do side by side
        yield from map(finish, rows.batches)
        return
    workers = 1 if rows.stream is not None else min(threads or processors(), len(rows.pieces))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="rankveil-rows")
    try:
        waiting: deque[Future[Made | None]] = deque()
        for job in _jobs(rows, finish):
            waiting.append(pool.submit(job))
            if len(waiting) > workers:
                done = waiting.popleft().result()
                if done is None:
                    return
                yield done
        for left in waiting:
            last = left.result()
            if last is not None:
                yield last
    finally:
        pool.shutdown(cancel_futures=True)


def _jobs(rows: Rows, finish: Finish[Made]) -> Iterator[Callable[[], Made | None]]:
    """Work to hand out; from a stream without end, whose last pieces of work come back empty."""
    stream = rows.stream
    if stream is None:
        for piece in rows.pieces:
            yield partial(lambda piece: finish(rows.make(piece)), piece)
        return

    def following() -> Made | None:
        codes = next(stream, None)
        return None if codes is None else finish(codes)

    while True:
        yield following


def as_arrow(rows: Rows, progress: RowProgress = silent) -> pa.Table:
    """All rows in memory."""
    batches: list[pa.RecordBatch] = []
    for batch in made_ahead(rows, Decoder.of(rows.schema)):
        batches.append(batch)
        progress(batch.num_rows)
    return pa.Table.from_batches(batches, rows.schema.arrow)
