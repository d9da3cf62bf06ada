"""Statistics as folds over record batches: written once, the same on every engine.

Guarantee    The result does not depend on how the rows are cut into batches or in which order batches are merged, if
             `merge` is associative and commutative and `step` adds one batch. All statistics of rankveil are sums of
             integers, so it is so bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

State = TypeVar("State")


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
