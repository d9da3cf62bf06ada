"""The partition of rank positions into clusters: a function of n, k and a fixed place, never of the data.

Guarantee    floor(n/k) clusters of k consecutive positions, except one, at a place fixed beforehand, that takes the
             rest and holds at most 2k - 1.
Argument     By construction. That the place is public is what Lemma 1 of the paper needs and does not say: choosing it
             by the data (as optimal microaggregation does) multiplies the sensitivity (T39). With public blocks: T20.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.errors import TableError

Place = Literal["first", "middle", "last"]


def cluster_starts(value_count: int, cluster_size: int, *, larger: Place = "last") -> NDArray[np.int64]:
    """First rank position of each cluster; empty where there is nothing to group."""
    if value_count == 0:
        return np.empty(0, np.int64)
    if cluster_size > value_count:
        raise TableError(
            f"k = {cluster_size} is more than the {value_count} values there are to group.",
            remedy="Choose a k of at most the number of rows.",
        )
    count, rest = divmod(value_count, cluster_size)
    sizes = np.full(count, cluster_size, np.int64)
    sizes[{"first": 0, "middle": count // 2, "last": count - 1}[larger]] += rest
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
