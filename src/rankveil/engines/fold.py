"""Statistics as folds over record batches: written once, the same on every engine.

Guarantee    The result does not depend on how the rows are cut into batches or in which order batches are merged, if
             `merge` is associative and commutative and `step` adds one batch. All statistics of rankveil are sums of
             integers, so it is so bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from rankveil.engines.source import Table

State = TypeVar("State")


class Fold(Protocol, Generic[State]):
    """A statistic: deterministic, no randomness, and its state does not grow with the number of rows."""

    @property
    def columns(self) -> Sequence[str]: ...

    def zero(self) -> State: ...

    def step(self, state: State, batch: pa.RecordBatch) -> State: ...

    def merge(self, first: State, second: State) -> State: ...


def fold(table: Table, work: Fold[State]) -> State:
    """Run a fold over all rows of a table, one batch after the other."""
    state = work.zero()
    for batch in table.batches(work.columns):
        state = work.step(state, batch)
    return state
