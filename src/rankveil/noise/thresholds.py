"""Draw an index by comparing one uniform real number with a list of real thresholds.

Guarantee    With 0 < t1 <= t2 <= ... <= 1 real and U uniform on [0, 1), the draw is the
             number of thresholds at or below U, exactly: index k has probability
             t(k+1) - t(k), with t0 = 0.
Argument     The bits of U are drawn as they are needed. After b bits U lies in an
             interval of width 2**-b, and each threshold lies between two integers in
             units of 2**-b. If those leave only one possible index, more bits would not
             change it. If not, 64 more bits are drawn and the thresholds are computed
             again to that precision. Bits never drawn never mattered.
Not covered  Time: undecided draws take longer, and which index they end in correlates
             with that. The first 16 bits decide all but about one draw in a hundred.
Arithmetic   Integers only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.enclosure import Bounds
from rankveil.noise.source import RandomSource
from rankveil.noise.uniform import draw_words

# bits -> bounds on each threshold in units of 2**-bits, both ends never falling along
# the list. A list without end stops with one entry that covers all thresholds left out.
ThresholdBounds = Callable[[int], list[Bounds]]

_FIRST_BITS = 16
_TABLE_BITS = 64
_MORE_BITS = 64
_UNDECIDED = -1


class ThresholdTable:
    """Thresholds prepared for fast draws; holds no random state and can be shared."""

    def __init__(self, bounds: ThresholdBounds) -> None:
        self._bounds = bounds
        table = bounds(_TABLE_BITS)
        top = (1 << _TABLE_BITS) - 1
        # Lowering a lower end is always allowed; here it keeps it inside 64 bits.
        self._low = np.array([min(low, top) for low, _ in table], dtype=np.uint64)
        # One less than the upper end, because the upper end itself can be 2**64. It never needs
        # to be more, as no threshold exceeds 1, and raising it from 0 to 1 is allowed.
        self._below_high = np.array([min(max(high - 1, 0), top) for _, high in table], dtype=np.uint64)
        spare = _TABLE_BITS - _FIRST_BITS
        first = np.arange(1 << _FIRST_BITS, dtype=np.uint64) << np.uint64(spare)
        last = first | np.uint64((1 << spare) - 1)
        fewest, most = self._reached(first), self._reachable(last)
        self._by_first_bits = np.where(fewest == most, fewest, _UNDECIDED).astype(np.int32)

    def draw(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """`count` independent indices."""
        first = draw_words(source, count, _FIRST_BITS // 8)
        index: NDArray[np.int64] = self._by_first_bits[first].astype(np.int64)
        undecided = np.flatnonzero(index == _UNDECIDED)
        if undecided.size:
            index[undecided] = self._decide(first[undecided], source)
        return index

    def _decide(self, first: NDArray[np.uint16], source: RandomSource) -> NDArray[np.int64]:
        spare = np.uint64(_TABLE_BITS - _FIRST_BITS)
        rest = draw_words(source, first.size, 8) >> np.uint64(_FIRST_BITS)
        uniform = (first.astype(np.uint64) << spare) | rest
        fewest, most = self._reached(uniform), self._reachable(uniform)
        for i in np.flatnonzero(fewest != most):
            fewest[i] = self._decide_one(int(uniform[i]), source)
        return fewest

    def _decide_one(self, uniform: int, source: RandomSource) -> int:
        bits = _TABLE_BITS
        while True:
            uniform = uniform << _MORE_BITS | int(draw_words(source, 1, _MORE_BITS // 8)[0])
            bits += _MORE_BITS
            table = self._bounds(bits)
            fewest = bisect_right([high for _, high in table], uniform)
            if fewest == bisect_left([low for low, _ in table], uniform + 1):
                return fewest

    def _reached(self, uniform: NDArray[np.uint64]) -> NDArray[np.int64]:
        """How many thresholds are certainly at or below U: upper end <= first bits of U."""
        return np.searchsorted(self._below_high, uniform, side="left").astype(np.int64)

    def _reachable(self, uniform: NDArray[np.uint64]) -> NDArray[np.int64]:
        """How many thresholds are possibly at or below U: lower end < first bits of U plus 1."""
        return np.searchsorted(self._low, uniform, side="right").astype(np.int64)
