"""What runs folds: on this machine (local.py), or on many (spark.py). An engine never decides what is private.

Guarantee    Every engine gives the same state for the same rows, bit for bit: see fold.py. Engines draw no randomness;
             work that is repeated after a failure changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from rankveil.engines.fold import Fold, State
from rankveil.engines.table import Table

Item = TypeVar("Item")
Made = TypeVar("Made")

RowProgress = Callable[[int], None]
"""Is told the number of rows that were just done, in any order, from one thread at a time."""


def silent(rows: int) -> None:
    """No progress wanted."""


Meter = Callable[[int | None], RowProgress]
"""Is asked before a pass over a table of so many rows (None if nobody knows) who wants to be told about them."""


def no_meter(expected: int | None) -> RowProgress:
    """Nobody."""
    return silent


class Engine(Protocol):
    """Opens tables, runs folds over all their rows, and does work that falls into parts."""

    @property
    def name(self) -> str:
        """local, spark"""

    def open(self, source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
        """A table, without reading its rows."""

    def map(self, task: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        """What `task` makes of each item, in their order. The task may run more than once for an item."""

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State: ...
