"""The way through all labels of a taxonomy, and how far one record can push a list of clusters along it.

Guarantee    `path_length` is at least 2·L_J of T22, and equals it for up to MOST_FOR_CHAINS
             categories. Order and length are functions of the taxonomy and of J, all public.
Argument     Categories are ranked in a public order and cut into J clusters. One replacement changes t <= J of them,
             each by handing one category on: the categories handed on form a chain c_0 <= ... <= c_t in the order,
             and a cluster that passes from c to c' changes its scores by δ(c', a) - δ(c, a), whose range over the
             candidates a is 2·d(c, c'). L_J is the largest sum of d along such a chain.
             A longer chain never gains by repeating a category, so J >= C - 1 gives all of L, the sum of d along the
             whole order; and d is a seminorm of differences, so no chain is longer than L.
Arithmetic   Distances are integers, so 2·d, chains and lengths are exact.
Order        Depth-first orders are nearly the shortest way through all labels, and shorter than the paper's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.taxonomy.graph import Taxonomy

# Beyond so many categories chains are not searched: that takes cubic time, and L is a bound in any case.
MOST_FOR_CHAINS = 512


def depth_first_order(taxonomy: Taxonomy) -> NDArray[np.int64]:
    """Label codes as a depth-first walk from the root first meets them; children in the order of the taxonomy.

    A label with other labels below it comes right before them. A node with several parents is met once.
    """
    met: dict[int, None] = {}
    waiting = [taxonomy.root]
    while waiting:
        node = waiting.pop()
        if node not in met:
            met[node] = None
            waiting.extend(reversed(taxonomy.children[node]))
    return np.array([node for node in met if node < taxonomy.label_count], dtype=np.int64)


def doubled_steps(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """2·d between any two categories: the range over candidates of the difference of their distances.

    `distances` has a row per category and a column per candidate.
    """
    return np.array([np.ptp(distances - row, axis=1) for row in distances], dtype=np.int64)


def path_length(distances: NDArray[np.int64], clusters: int) -> int:
    """2·L_J for J clusters; the rows of `distances` stand in the public order of the categories."""
    categories = len(distances)
    if clusters >= categories - 1 or categories > MOST_FOR_CHAINS:
        return int(np.ptp(np.diff(distances, axis=0), axis=1).sum())
    forward = doubled_steps(distances)
    forward[np.tril_indices(categories, -1)] = np.iinfo(np.int64).min // 2  # chains never go back
    longest = np.zeros(categories, np.int64)  # of the chains that end in each category
    for _ in range(clusters):
        longest = (longest[:, np.newaxis] + forward).max(axis=0)
    return int(longest.max())
