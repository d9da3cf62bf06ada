"""At most r rows of every person, wherever in the table they lie.

Guarantee    Which rows of a person stay is a function of that person's own rows, of r and of a key that is drawn for
             this release: no other person's rows, and no place in the table, has a part in it (T51). Every row without
             a person is refused, and so is a table that does not fit the plan, before anything is left out.
Argument     Rows are put together by their person as written, not by a hash of it, so that nobody is taken for someone
             else. Of a person's rows those r stay whose hash is smallest: of the key, the person and the codes of the
             row. Rows with one hash count as the same row, and any of them will do: their codes are the same but for
             one pair in 2^64. Taking the r smallest of parts first changes nothing.
Not covered  Which rows are whose: a person who goes by two ids is two persons. The hash is not cryptographic, and need
             not be: it decides nothing but which of one's own rows are used.
Memory       Does not grow with the number of rows: engines put groups of persons aside (engines/spill.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from rankveil.declare.dataset import Dataset, Encoding
from rankveil.declare.reading import texts_of
from rankveil.declare.schema import Column, Schema, Tally, encode_batch, refuse_misfits
from rankveil.engines import silent
from rankveil.engines.arrays import decoded, value_array, values_of, without
from rankveil.engines.content import Words, mixed, text_words
from rankveil.engines.engine import no_meter
from rankveil.errors import DomainError
from rankveil.noise import RandomSource

ROWS_OF_A_GROUP = 1 << 18  # about: persons are put aside in groups, one of which is in memory at a time
_MOST_GROUPS = 1 << 12
_KEY_BYTES = 16
_ODD = np.uint64(0x9E3779B97F4A7C15)


@contextmanager
def limited(dataset: Dataset, source: RandomSource) -> Iterator[Dataset]:
    """The dataset with at most so many rows of a person as its schema says; itself if it speaks of no persons."""
    schema = dataset.schema
    if schema.unit.person is None:
        yield dataset
        return
    progress = silent if dataset.meter is no_meter else dataset.meter(dataset.table.expected_rows())
    nameless, tally = dataset.engine.fold(dataset.table, _Checking(schema), progress)
    refuse_misfits(dataset.table, schema, tally)
    if nameless:
        raise DomainError(
            f"column {schema.unit.person!r}: {nameless} of {tally.rows} rows do not say whose they are.",
            remedy="Fill in the person of every row, or leave these rows out of the table: all rows without one would"
            " count as one person's.",
        )
    groups = min(-(-tally.rows // ROWS_OF_A_GROUP), _MOST_GROUPS)
    work = Limiting(schema, source.random_bytes(_KEY_BYTES), groups)
    with dataset.engine.regroup(dataset.table, work, progress) as table:
        yield replace(dataset, table=table)


def persons_of(schema: Schema, batch: pa.RecordBatch) -> pa.Array:
    """Whose the rows are, as text without white space around it; null where nobody is named."""
    texts = texts_of(decoded(batch.column(schema.unit.person)))
    return without(texts.cast(pa.large_string()), ("", *schema.columns[0].null_tokens))


@dataclass(frozen=True)
class _Checking:
    """The fold that looks for rows without a person, values that do not fit the plan, and rows that break its rules.

    Of all rows: whether a table is refused must not tell which rows of a person the key leaves out.
    """

    schema: Schema

    @property
    def columns(self) -> Sequence[str]:
        return _columns(self.schema)

    def zero(self) -> tuple[int, Tally]:
        return 0, Tally(0, {})

    def step(self, state: tuple[int, Tally], batch: pa.RecordBatch) -> tuple[int, Tally]:
        columns = {column.name: column for column in self.schema.columns}
        nameless = persons_of(self.schema, batch).null_count
        return state[0] + nameless, state[1] + Encoding(columns, batch, self.schema.checks).tally()

    def merge(self, first: tuple[int, Tally], second: tuple[int, Tally]) -> tuple[int, Tally]:
        return first[0] + second[0], first[1] + second[1]


@dataclass(frozen=True)
class Limiting:
    """What an engine does with rows to leave out a person's surplus ones."""

    schema: Schema
    key: bytes
    groups: int

    @property
    def columns(self) -> Sequence[str]:
        return _columns(self.schema)

    def grouped(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.Table]]:
        """Rows by the group of their persons, a person's surplus ones already left out."""
        first, second = np.frombuffer(self.key, np.uint64)
        persons = persons_of(self.schema, batch)
        whose = mixed(text_words(persons) ^ first)
        rows = self._marked(batch, persons, _row_words(self.schema.columns, batch, whose ^ second))
        group = value_array((whose % np.uint64(self.groups)).astype(np.int64))
        kept = self.kept(rows.append_column(_unlike(rows.schema.names), group))
        number = values_of(kept.column(kept.num_columns - 1).combine_chunks())
        for each in np.unique(number).tolist():
            yield each, kept.remove_column(kept.num_columns - 1).filter(value_array(number == each))

    def _marked(self, batch: pa.RecordBatch, persons: pa.Array, words: Words) -> pa.Table:
        """Released columns, then the person and the hash of each row."""
        arrays = [_movable(batch.column(name)) for name in self.schema.names]
        names = list(self.schema.names)
        for _ in range(2):
            names.append(_unlike(names))
        return pa.Table.from_arrays([*arrays, persons, value_array(words)], names=names)

    def kept(self, rows: pa.Table) -> pa.Table:
        """Of every person in it the rows with the smallest hashes."""
        width = len(self.schema.names)
        person = rows.column(width).combine_chunks().dictionary_encode().indices
        numbers, words = values_of(person), values_of(rows.column(width + 1).combine_chunks())
        order = np.lexsort((words, numbers))
        ordered = numbers[order]
        place = np.arange(len(ordered))
        first = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        rank = place - np.maximum.accumulate(np.where(first, place, 0))
        return rows.take(value_array(order[rank < self.schema.unit.rows]))


def _columns(schema: Schema) -> list[str]:
    assert schema.unit.person is not None  # noqa: S101 - asked for by `limited` alone
    return [*schema.names, schema.unit.person]


def _movable(array: pa.Array) -> pa.Array:
    """The same values in a form whose rows Arrow can pick."""
    array = decoded(array)
    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


def _row_words(columns: Sequence[Column], batch: pa.RecordBatch, words: Words) -> Words:
    """A word for each row, of its codes: what the row says, however it is spelt."""
    words = mixed(words)
    for column in columns:
        codes = encode_batch(column, batch.column(column.name)).codes
        words = mixed(words * _ODD + codes.astype(np.int64).view(np.uint64))
    return words


def _unlike(names: Sequence[str]) -> str:
    """A name that no column has: longer than all."""
    return max(names, key=len) + "'"
