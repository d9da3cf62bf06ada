"""Ones added to places of an array of counts, quicker for many rows where numba is installed (extra `fast`).

Guarantee    Both ways give the same counts: they are sums of integers. tests/engines compares them.
Why          NumPy holds Python's lock while it adds to random places, so that threads take turns; numba does not.
             Loading numba takes most of a second, so it is left until a table has shown that it is long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

LONG = 1 << 21  # rows that one thread has seen before numba pays
_ONE = np.int32(1)

Adding = Callable[[NDArray[np.int32], NDArray[np.int64]], None]


def add_ones(counts: NDArray[np.int32], places: NDArray[np.int64], rows_so_far: int) -> None:
    """One more at each place; -1 is the last one. `rows_so_far` decides how, not what."""
    ready = rows_so_far > LONG or _compiled.cache_info().currsize > 0
    compiled = _compiled() if ready else None
    if compiled is None:
        np.add.at(counts, places, _ONE)
    else:
        compiled(counts, places)


@cache
def _compiled() -> Adding | None:
    try:
        import numba
    except ImportError:
        return None

    # Bounds are checked: a place outside the array would be somebody else's memory.
    @numba.njit("void(int32[::1], int64[::1])", nogil=True, boundscheck=True, cache=True)
    def compiled(counts: NDArray[np.int32], places: NDArray[np.int64]) -> None:
        for place in places:
            counts[place] += 1

    kept: Adding = compiled
    return kept
