"""A table read once more, block by block in the order of its rows, after a pass that has checked all of it.

Guarantee    Either the rows that come are as many as in the pass before, and all fit the plan, or the reading ends with
             an error. Memory does not depend on the number of rows. The sizes of the blocks follow from the number of
             rows, not from how the table is stored or cut: what is drawn or written block by block shows nothing of it.
Not covered  A table changed in between that still fits and has as many rows is not noticed. What is released of each
             record is then protected as ever: noise is drawn for the values that were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rankveil.declare.dataset import CodeBatch, Dataset
from rankveil.declare.schema import Misfits, Tally, encode_batch, refuse_misfits
from rankveil.errors import DomainError, TableError

ROWS_AT_ONCE = 1 << 16


def read_again(dataset: Dataset, names: Sequence[str], row_count: int, size: int = ROWS_AT_ONCE) -> Iterator[CodeBatch]:
    """Codes of some columns, in blocks of `size` rows, the last one smaller; `row_count` rows in all."""
    return in_blocks(_as_stored(dataset, names, row_count), size)


def _as_stored(dataset: Dataset, names: Sequence[str], row_count: int) -> Iterator[CodeBatch]:
    columns = [column for column in dataset.schema.columns if column.name in set(names)]
    seen = 0
    for whole in dataset.table.batches([column.name for column in columns]):
        seen += whole.num_rows
        if seen > row_count:
            raise _changed(dataset, "more rows")
        for start in range(0, whole.num_rows, ROWS_AT_ONCE):
            batch = whole.slice(start, ROWS_AT_ONCE)
            encoded = {column.name: encode_batch(column, batch.column(column.name)) for column in columns}
            try:
                misfits = {name: Misfits.of(piece) for name, piece in encoded.items()}
                refuse_misfits(dataset.table, dataset.schema, Tally(row_count, misfits))
            except DomainError:
                raise _changed(dataset, "values that do not fit the plan") from None
            yield {name: piece.codes for name, piece in encoded.items()}
    if seen < row_count:
        raise _changed(dataset, "fewer rows")


def _changed(dataset: Dataset, what: str) -> TableError:
    return TableError(
        f"Table {dataset.table.name} has changed since it was read first: it has {what} now.",
        remedy="Release a copy that nobody writes to.",
    )


def in_blocks(batches: Iterator[CodeBatch], size: int) -> Iterator[CodeBatch]:
    """The same rows in blocks of `size`, the last one smaller."""
    waiting: list[CodeBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(next(iter(batch.values())))
        if rows < size:
            continue
        together = joined(waiting)
        whole = rows - rows % size
        for start in range(0, whole, size):
            yield {name: codes[start : start + size] for name, codes in together.items()}
        waiting, rows = [{name: codes[whole:] for name, codes in together.items()}], rows - whole
    if rows:
        yield joined(waiting)


def joined(batches: list[CodeBatch]) -> CodeBatch:
    """Batches that follow each other as one."""
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
