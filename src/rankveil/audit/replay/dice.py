"""Choices that follow from a name: the same name, the same plan, table and neighbour, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankveil.noise import KeyedSource, SeededSource, below

T = TypeVar("T")


class Dice:
    def __init__(self, name: str) -> None:
        self._key = hashlib.sha256(name.encode()).digest()
        self._source = KeyedSource(self._key)

    def below(self, bound: int) -> int:
        return int(below(self._source, bound, 1)[0])

    def many_below(self, bound: int, count: int) -> NDArray[np.int64]:
        return below(self._source, bound, count)

    def one_of(self, things: Sequence[T]) -> T:
        return things[self.below(len(things))]

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def source(self, purpose: int) -> SeededSource:
        """A stream of random bytes of its own for each purpose."""
        return SeededSource(int.from_bytes(self._key[:16], "big") + purpose)
