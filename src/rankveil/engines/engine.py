"""What runs folds: on this machine (local.py), or on many (spark.py). An engine never decides what is private.

Guarantee    Every engine gives the same state for the same rows, bit for bit: see fold.py. Engines draw no randomness;
             work that is repeated after a failure changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rankveil.engines.fold import Fold, State
from rankveil.engines.table import Table

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
    """Runs a fold over all rows of a table."""

    @property
    def name(self) -> str:
        """local, spark"""

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State: ...
