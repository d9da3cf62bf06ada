"""Individual ranking: each column is sorted by itself and cut into clusters of k consecutive values.

Guarantee    Replacing one record changes the list of cluster sums of a numeric column by at most D = the width of its
             axis, in L1 norm; hence the list of cluster means by at most D / k.
Argument     T20: raise one value, and position by position the sorted column can
             only rise, by as much in all as that value did. The partition of positions is public (blocks.py).
Not covered  Which record sits in which cluster. Clusters of labels: their list is not covered by Lemma 1 at all
             (T35). Rows with a missing value form no cluster, so the number of clusters of a column with
             missing values depends on the data. Noise for the local sensitivity of a table would gain little: T42.
Ties         Equal values are ranked by their row number. The rule is public, and it makes the order total.
Reference    The paper, Section 3.2 and Lemma 1; for labels the marginality order of Section 3.4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Records
from rankveil.declare.domain import MISSING, Grid
from rankveil.microaggregate.blocks import cluster_starts
from rankveil.microaggregate.clusters import Clustered, Clustering, ColumnClusters, axis_values

# NumPy's stable sort of 16-bit integers is a radix sort.
_DIGIT_SORTED = 1 << 16


def individual_ranking(records: Records, cluster_size: int) -> Clustered:
    """Cluster every protected column by itself."""
    columns = []
    for column in records.schema.protected:
        values = axis_values(column, records.codes[column.name])
        if isinstance(column.domain, Grid):
            clustering, ranked = rank_and_cut(values, cluster_size)
        else:
            taxonomy = column.domain.taxonomy
            places = np.append(taxonomy.rank, MISSING)[values]
            clustering, ranked_places = rank_and_cut(places, cluster_size)
            ranked = taxonomy.order[ranked_places]
        columns.append(ColumnClusters(column, clustering, ranked))
    return Clustered(records.schema, records.row_count, cluster_size, tuple(columns), records.public_codes)


def rank_and_cut(values: NDArray[np.int64], cluster_size: int) -> tuple[Clustering, NDArray[np.int64]]:
    """Sort the present values (ties by row number) and cut them; gives the clusters and the sorted values."""
    rows, ranked = _ranked(values)
    missing = int(np.searchsorted(ranked, 0))  # MISSING is -1 and sorts before every value
    if missing:
        rows, ranked = rows[missing:], ranked[missing:]
    return Clustering(rows, cluster_starts(len(rows), cluster_size)), ranked


def _ranked(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers in ascending order of value, ties by row number, and the values in that order.

    Three ways to the same order, each several times as fast as a plain argsort where it applies: few different values
    are sorted by their digits; otherwise value and row number are packed into one integer, if both fit, so that
    sorting plain integers gives the stable order.
    """
    shifted_largest = int(values.max(initial=0)) + 1  # MISSING is -1: shifted by one, all values are 0 or more
    if shifted_largest < _DIGIT_SORTED:
        small = (values + 1).astype(np.uint8 if shifted_largest < 256 else np.uint16)
        rows = np.argsort(small, kind="stable")
        counts = np.bincount(small, minlength=shifted_largest + 1)
        return rows, np.repeat(np.arange(-1, shifted_largest), counts)
    row_bits = max(1, (len(values) - 1).bit_length())
    if shifted_largest.bit_length() + row_bits > 63:
        rows = np.argsort(values, kind="stable")
        return rows, values[rows]
    packed = (values + 1) << row_bits
    packed |= np.arange(len(values), dtype=np.int64)
    packed.sort()
    rows = packed & ((1 << row_bits) - 1)
    packed >>= row_bits
    packed -= 1
    return rows, packed
