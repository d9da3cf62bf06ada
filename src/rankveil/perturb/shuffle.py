"""Rows that belong to nobody: each column shuffled by itself, or whole rows shuffled.

Guarantee    Costs nothing: the rows are as private as the released centroids.
Argument     Rows are made of released centroids, each repeated as often as its cluster is large, which is public, and
             of released numbers of missing values; permutations are drawn independently of the data (T45). So all of it
             is post-processing (T24). Repeating centroids in the rows of the records would not be: that is what the
             paper does (T34). The methods as a whole: T32, T33.
Not covered  shuffled_columns says nothing about how columns hang together. In shuffled_rows the rows without a number
             are chosen at random, for only how many there are is known.
"""

from __future__ import annotations

import numpy as np

from rankveil.declare.domain import MISSING
from rankveil.draw.rows import Rows
from rankveil.noise import RandomSource, permutation
from rankveil.perturb.centroids import ReleasedCentroids


def shuffled_columns(released: ReleasedCentroids, source: RandomSource) -> Rows:
    """Every column in a random order of its own. Missing numbers take the top ranks, where they were filled in."""
    codes = {}
    for name, column in released.columns.items():
        ranked = np.repeat(column.values, released.sizes)
        ranked[released.row_count - column.missing :] = MISSING
        codes[name] = ranked[permutation(source, released.row_count)]
    return Rows.whole(released.schema, released.row_count, codes, released.notes, row_aligned=False)


def shuffled_rows(released: ReleasedCentroids, source: RandomSource) -> Rows:
    """Whole rows in a random order, the values of a cluster side by side."""
    cluster = np.repeat(np.arange(len(released.sizes)), released.sizes)[permutation(source, released.row_count)]
    codes = {}
    for name, column in released.columns.items():
        codes[name] = column.values[cluster]
        if column.missing:
            codes[name][permutation(source, released.row_count)[: column.missing]] = MISSING
    return Rows.whole(released.schema, released.row_count, codes, released.notes, row_aligned=False)
