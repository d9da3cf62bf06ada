"""A table with its schema: what a method may read, either whole or batch by batch.

Guarantee    Every pass over the rows checks them against the plan, and refuses the table before its result is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from rankveil.declare.domain import Codes
from rankveil.declare.rule import RowRule
from rankveil.declare.schema import (
    Column,
    Misfits,
    Records,
    Schema,
    Tally,
    broken_rules,
    encode,
    encode_batch,
    refuse_misfits,
)
from rankveil.engines import Engine, LocalEngine, Meter, RowProgress, Table, no_meter, silent

State = TypeVar("State")
CodeBatch = dict[str, Codes]
Codings = Mapping[str, Codes]


class CodeFold(Protocol, Generic[State]):
    """A fold over codes instead of values; the same rules hold (engines/engine.py)."""

    @property
    def columns(self) -> Sequence[str]: ...

    def zero(self) -> State: ...

    def step(self, state: State, batch: Codings) -> State:
        """`batch` makes the codes of a column each time they are asked for: to be done once."""

    def merge(self, first: State, second: State) -> State: ...


class Encoding(Mapping[str, Codes]):
    """The codes of a batch, made when they are asked for and not kept, but for those that rules are about.

    So the codes of few columns are in memory at a time. What does not fit the plan is tallied on the way; columns that
    nobody has asked for are checked by `tally`.
    """

    def __init__(self, columns: Mapping[str, Column], batch: pa.RecordBatch, rules: Sequence[RowRule] = ()) -> None:
        self._columns, self._batch, self._rules = columns, batch, rules
        self._misfits: dict[str, Misfits] = {}
        self._kept: dict[str, Codes] = {}

    def __getitem__(self, name: str) -> Codes:
        if name in self._kept:
            return self._kept[name]
        encoded = encode_batch(self._columns[name], self._batch.column(name))
        self._misfits[name] = Misfits.of(encoded)
        if any(name in rule.columns for rule in self._rules):
            self._kept[name] = encoded.codes
        return encoded.codes

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def tally(self) -> Tally:
        for name in self._columns:
            if name not in self._misfits:
                self[name]
        return Tally(self._batch.num_rows, self._misfits, broken_rules(self._rules, self._kept))


@dataclass(frozen=True)
class _Checked(Generic[State]):
    """A fold over codes that also tallies what does not fit the plan."""

    schema: Schema
    work: CodeFold[State]
    rules: tuple[RowRule, ...] = ()  # about columns of the fold

    @property
    def columns(self) -> Sequence[str]:
        return self.work.columns

    def zero(self) -> tuple[State, Tally]:
        return self.work.zero(), Tally(0, {})

    def step(self, state: tuple[State, Tally], batch: pa.RecordBatch) -> tuple[State, Tally]:
        wanted = {column.name: column for column in self.schema.columns if column.name in self.columns}
        encoding = Encoding(wanted, batch, self.rules)
        done = self.work.step(state[0], encoding)
        return done, state[1] + encoding.tally()

    def merge(self, first: tuple[State, Tally], second: tuple[State, Tally]) -> tuple[State, Tally]:
        return self.work.merge(first[0], second[0]), first[1] + second[1]


@dataclass(frozen=True)
class Dataset:
    schema: Schema
    table: Table
    engine: Engine = field(default_factory=LocalEngine)
    meter: Meter = no_meter

    def records(self) -> Records:
        """All rows in memory, for methods that need them one by one."""
        return self._records

    @cached_property
    def _records(self) -> Records:
        return encode(self.table, self.schema)

    def fold(self, work: CodeFold[State], rules: tuple[RowRule, ...] = ()) -> tuple[State, int]:
        """A statistic of the codes of some columns, and the number of rows; all rows obey these `rules`."""
        progress = silent if self.meter is no_meter else self.meter(self.table.expected_rows())
        state, tally = self.engine.fold(self.table, _Checked(self.schema, work, rules), progress)
        refuse_misfits(self.table, self.schema, tally)
        return state, tally.rows

    def with_schema(self, schema: Schema) -> Dataset:
        """The same rows, read another way."""
        return Dataset(schema, self.table, self.engine, self.meter)


@dataclass(frozen=True)
class _Nobody(LocalEngine):
    """Reads nothing, and says that there were so many rows."""

    rows: int = 0

    def fold(self, table: Table, work: Any, progress: RowProgress = silent) -> Any:
        return work.zero()[0], Tally(self.rows, {})


def without_records(schema: Schema, rows: int) -> Dataset:
    """A table as long as is said whose counts are all zero: for dry runs, which ask the same questions of it."""
    return Dataset(schema, Table("of the dry run", "arrow", schema.arrow), _Nobody(rows=rows))
