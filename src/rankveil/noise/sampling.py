"""Random numbers for post-processing: drawing rows from a released model.

Guarantee    None is needed: what is drawn here depends on released numbers only. They come from the same generator all
             the same, so that there is one place in rankveil that draws randomness.
Arithmetic   float64 on a grid of 2**-53; normal draws by the Box-Muller transform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.laws import Shuffle
from rankveil.noise.source import RandomSource
from rankveil.noise.uniform import below, draw_words, permutation, uniform_floats

_PLACE_BITS = 17


class Sampler:
    """Uniform, normal and permuted draws from a source."""

    def __init__(self, source: RandomSource) -> None:
        self._source = source

    def uniform(self, count: int) -> NDArray[np.float64]:
        return uniform_floats(self._source, count)

    def normal(self, rows: int, columns: int) -> NDArray[np.float64]:
        count = rows * columns
        half = (count + 1) // 2
        radius = np.sqrt(-2 * np.log(uniform_floats(self._source, half)))
        angle = 2 * np.pi * uniform_floats(self._source, half)
        both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        return both[:count].reshape(rows, columns)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """Uniform integers from 0 to bound - 1."""
        return below(self._source, bound, count)

    def permutation(self, count: int) -> NDArray[np.int64]:
        return permutation(self._source, count)

    def shuffled(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows in a uniformly random order, asked for like a protected answer: the order they come in is data."""
        return self._source.answer(Shuffle(), rows)

    def words(self, count: int, word_bytes: int) -> NDArray[Any]:
        """Uniform unsigned integers of 1, 2, 4 or 8 bytes: the cheapest draws there are."""
        return draw_words(self._source, count, word_bytes)

    def shuffle(self, count: int) -> NDArray[np.int64]:
        """A random order of up to 2**17 things by keys of 15 bits; things of equal keys keep their order.

        Not uniform over all orders, and meant for things that are in no telling order to begin with.
        """
        if count > 1 << _PLACE_BITS:
            raise ValueError(f"cannot shuffle {count} things; at most 2**{_PLACE_BITS}")
        drawn = draw_words(self._source, count, 2).astype(np.uint32) << np.uint32(_PLACE_BITS)
        drawn |= np.arange(count, dtype=np.uint32)
        drawn.sort()  # whole words, which is ten times as fast as finding the order of keys
        return (drawn & np.uint32((1 << _PLACE_BITS) - 1)).astype(np.int64)
