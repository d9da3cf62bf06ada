"""Whole records in one public order: by their distance from a corner of the joint domain.

Guarantee    Replacing one record changes each cluster by at most one record; so each of the J lists of sums, one per
             cluster, changes by at most D in every column, and all of them together by at most J·D per column.
Argument     The distance of a record is a function of that record and of public domains. So the order is fixed
             beforehand, and a replacement moves one record past others: every cluster in between hands one record on
             (T23).
Not covered  Which record sits in which cluster. The paper's scale for these clusters ignores the number of columns:
             T36. The method that does not: T33.
Ties         Records at the same distance are ranked by row number, as published methods may; or by their own values, so
             that clusters depend on the records alone and not on the order of the table, which may be sorted by what is
             to be protected.
Reference    The predecessor's insensitive microaggregation, as Section 2.4 of the paper describes it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.microaggregate.blocks import cluster_starts
from rankveil.microaggregate.clusters import Clustered, Clustering, ColumnClusters, axis_values


def by_distance(
    records: Records, cluster_size: int, *, weigh_by_deviation: bool = False, ties_by_value: bool = False
) -> Clustered:
    """Cluster whole records in the order of their distance from the corner of the domain.

    `weigh_by_deviation` divides each column's distances by their standard deviation. That reads the data, so the
    order is no longer public and nothing above holds; only the reproduction of the paper uses it, whose printed
    figures it fits (docs/reproduction.md).
    """
    squared = np.zeros(records.row_count)
    for column in records.schema.protected:
        distance = _from_the_corner(column, records.codes[column.name])
        deviation = float(distance.std()) if weigh_by_deviation else 0.0
        squared += (distance / (deviation or 1.0)) ** 2
    ties = [records.codes[column.name] for column in records.schema.protected] if ties_by_value else []
    order = np.lexsort((*ties, squared)).astype(np.int64)  # by the last key first, and by row number at the end
    return cut_records(records, order, cluster_starts(records.row_count, cluster_size), cluster_size)


def cut_records(records: Records, order: NDArray[np.int64], starts: NDArray[np.int64], cluster_size: int) -> Clustered:
    """The same clusters of rows for every protected column."""
    clustering = Clustering(order, starts)
    columns = tuple(
        ColumnClusters(column, clustering, axis_values(column, records.codes[column.name])[order])
        for column in records.schema.protected
    )
    return Clustered(records.schema, records.row_count, cluster_size, columns, records.public_codes)


def _from_the_corner(column: Column, codes: Codes) -> NDArray[np.float64]:
    """Distance of each value from the low end, or from the most marginal label, as a share of the largest one.

    A missing value counts as far away as a value can be.
    """
    if isinstance(column.domain, Grid):
        share = axis_values(column, codes) / column.domain.axis_width
    else:
        taxonomy = column.domain.taxonomy
        reference = taxonomy.distances[taxonomy.reference, : taxonomy.label_count]
        share = np.append(reference / (taxonomy.width or 1.0), 1.0)[codes]
    return np.where(codes == MISSING, 1.0, share)
