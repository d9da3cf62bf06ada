"""Coins with rational probabilities of any length.

Guarantee    A coin with probability p = heads / out_of shows heads with probability p, exactly, coins independent.
Argument     Heads means U < p for a uniform real U in [0, 1), whose bits are drawn 64 at a time. Write
             p * 2**64 = a + r with a whole and 0 <= r < 1, and u for the first 64 bits of U as a whole number. If
             u < a then U < p; if u > a then U >= p. If u = a, then U < p just if the bits after the first 64, which
             are uniform again, are below r: a coin with probability r, flipped in the same way.
Not covered  Time: the one word in 2**64 that leaves a doubt takes longer.
Arithmetic   Integers only; numerators and denominators are Python's, so they may be as long as they like.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.source import RandomSource
from rankveil.noise.uniform import uint64s

_BITS = 64
_LARGEST_WORD = (1 << _BITS) - 1


class RationalCoins:
    """A few kinds of coins, each with its probability heads / out_of."""

    def __init__(self, heads: Sequence[int], out_of: Sequence[int]) -> None:
        self._kinds = list(zip(heads, out_of, strict=True))
        if any(whole <= 0 or not 0 <= part <= whole for part, whole in self._kinds):
            raise ValueError("a probability lies between 0 and 1")
        limits = [min((part << _BITS) // whole, _LARGEST_WORD) for part, whole in self._kinds]
        self._limits = np.array(limits, dtype=np.uint64)

    def flip(self, kinds: NDArray[np.int64], source: RandomSource) -> NDArray[np.bool_]:
        """One coin for each entry of `kinds`, which says which kind it is."""
        words = uint64s(source, kinds.size)
        limits = self._limits[kinds]
        heads: NDArray[np.bool_] = words < limits
        for place in np.flatnonzero(words == limits):
            heads[place] = _decide(int(words[place]), *self._kinds[int(kinds[place])], source)
        return heads


def _decide(word: int, heads: int, out_of: int, source: RandomSource) -> bool:
    """Whether U < heads / out_of, given the first word of U."""
    while True:
        whole, rest = divmod(heads << _BITS, out_of)
        if word != whole or rest == 0:
            return word < whole
        heads, word = rest, int(uint64s(source, 1)[0])
