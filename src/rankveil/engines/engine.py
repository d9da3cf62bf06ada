"""Statistics as folds over record batches, and what runs them: on this machine (local.py), or on many (spark/).

Guarantee    Every engine gives the same state for the same rows, bit for bit. Engines draw no randomness; work that is
             repeated after a failure changes nothing. An engine never decides what is private.
Argument     The state does not depend on how the rows are cut into batches or in which order batches are merged, if
             `merge` is associative and commutative and `step` adds one batch. All statistics of rankveil are sums of
             integers, so it is so bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from rankveil.engines.table import Table

State = TypeVar("State")
Item = TypeVar("Item")
Made = TypeVar("Made")


class Fold(Protocol, Generic[State]):
    """A statistic: deterministic, no randomness, and its state does not grow with the number of rows.

    Folds travel to other processes and machines: plain pickle must do, so they are frozen dataclasses, not closures.
    `step` and `merge` may change their first argument in place; a state belongs to one thread at a time.
    """

    @property
    def columns(self) -> Sequence[str]: ...

    def zero(self) -> State: ...

    def step(self, state: State, batch: pa.RecordBatch) -> State: ...

    def merge(self, first: State, second: State) -> State: ...


class Regrouping(Protocol):
    """Rows put together that belong together, and what is kept of them.

    Deterministic, and pickled like a fold. `kept` may be asked of parts of a group first: that changes nothing.
    """

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def groups(self) -> int: ...

    def grouped(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.Table]]:
        """Rows of a batch by the number of their group."""

    def kept(self, rows: pa.Table) -> pa.Table:
        """What stays of rows of a group."""


RowProgress = Callable[[int], None]
"""Is told the number of rows that were just done, in any order, from one thread at a time."""


def silent(rows: int) -> None:
    """No progress wanted."""


Meter = Callable[[int | None], RowProgress]
"""Is asked before a pass over a table of so many rows (None if nobody knows) who wants to be told about them."""


def no_meter(expected: int | None) -> RowProgress:
    """Nobody."""
    return silent


RowsDone = Callable[[int, int | None], None]
"""Is told how many rows of a pass have been done, and of how many."""


def metered(told: RowsDone | None) -> Meter:
    """A meter that adds rows up for someone who wants to see them."""
    if told is None:
        return no_meter

    def begin(expected: int | None) -> RowProgress:
        done = 0

        def add(rows: int) -> None:
            nonlocal done
            done += rows
            told(done, expected)

        return add

    return begin


class Map(Protocol):
    """What a task makes of each item, in their order. The task may run more than once for an item."""

    def __call__(self, task: Callable[[Item], Made], items: Sequence[Item], /) -> Iterator[Made]: ...


@dataclass(frozen=True)
class RowsToCome(Generic[Item]):
    """Rows that can be made all at once here, or anywhere, those of one item after the other."""

    schema: pa.Schema
    whole: Callable[[], pa.Table]
    items: Sequence[Item]
    make: Callable[[Item], Iterator[pa.RecordBatch]]  # can be pickled


class Engine(Protocol):
    """Opens tables, runs folds over all their rows, does work that falls into parts, and publishes what comes out."""

    @property
    def in_parts(self) -> bool:
        """Whether releases are written in parts, by many workers."""

    def refuse(self, reads_records: str | None, out: object) -> None:
        """Refuse, before anything is read, what this engine cannot do.

        `reads_records` says what needs every record by itself, if anything does; `out` is where the release is to go.
        """

    def open(self, source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
        """A table, without reading its rows."""

    def map(self, task: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        """What `task` makes of each item, in their order. The task may run more than once for an item."""

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State: ...

    def regroup(self, table: Table, work: Regrouping, progress: RowProgress = silent) -> AbstractContextManager[Table]:
        """What is kept of every group of rows, as a table that is there until the end of the context."""

    def frame(self, rows: RowsToCome[Any], like: Table) -> Any:
        """Rows as a table of the kind that `like` is."""

    def files(self, whole: Callable[[], Made], in_parts: Callable[[Map], Made]) -> Made:
        """Rows as files: `whole` writes one here, `in_parts` has many written wherever the engine's `map` runs."""
