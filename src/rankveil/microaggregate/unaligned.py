"""Clusters for releases whose rows are shuffled: every row is in a cluster, whatever is missing in it.

Guarantee    The number and the sizes of the clusters are functions of n and k.
             rank_every_row   replacing one record changes the list of cluster sums of a numeric column, missing values
                              filled with the top of the axis, by at most D = the width of the axis in L1 norm; and
                              the clusters of a column of labels by a chain as in taxonomy/paths.py.
             order_every_row  replacing one record changes each cluster by at most one record.
             Both hold whatever order the rows of the two tables come in.
Argument     Filling is a fixed map of each value by itself (T5), so T20 holds for the filled column. Labels are ranked
             in the taxonomy's depth-first order, missing last: public orders. Whole records: distance.py.
Not covered  Which record sits in which cluster: not to be handed on. Columns that everyone knows: refused, because they
             would say which shuffled row is whose (T34).
Ties         Records at the same distance are ranked by their values. Between equal values, or records, it does not
             matter: clusters are handed on as sums and counts.
Reference    The paper, Section 3.2; the predecessor's insensitive microaggregation.
"""

from __future__ import annotations

import numpy as np

from rankveil.declare import Records, Schema
from rankveil.declare.domain import MISSING, Grid
from rankveil.errors import PlanError
from rankveil.microaggregate.clusters import Clustered, ColumnClusters, axis_values
from rankveil.microaggregate.distance import by_distance
from rankveil.microaggregate.ranking import rank_and_cut
from rankveil.taxonomy.paths import depth_first_order


def rank_every_row(records: Records, cluster_size: int) -> Clustered:
    """Every protected column sorted by itself and cut, missing values at the end."""
    refuse_public_columns(records.schema)
    columns = []
    for column in records.schema.protected:
        codes = records.codes[column.name]
        if isinstance(column.domain, Grid):
            last = column.domain.axis_width + 1
            places = np.where(codes == MISSING, last, axis_values(column, codes))
            clustering, ranked = rank_and_cut(places, cluster_size)
            values = np.where(ranked == last, MISSING, ranked)
        else:
            order = depth_first_order(column.domain.taxonomy)
            place_of_code = np.append(np.argsort(order), len(order))  # MISSING is -1: the last entry
            clustering, ranked = rank_and_cut(place_of_code[codes], cluster_size)
            values = np.append(order, MISSING)[ranked]
        columns.append(ColumnClusters(column, clustering, values))
    return Clustered(records.schema, records.row_count, cluster_size, tuple(columns), {})


def order_every_row(records: Records, cluster_size: int) -> Clustered:
    """Whole records in a public order, cut; a missing value counts as far from the corner as a value can be."""
    refuse_public_columns(records.schema)
    return by_distance(records, cluster_size, ties_by_value=True)


def refuse_public_columns(schema: Schema) -> None:
    public = [column.name for column in schema.columns if not column.protected]
    if public:
        raise PlanError(
            f"The plan keeps {', '.join(map(repr, public))} as public, and this method shuffles the rows: values that"
            " everyone knows would either leave their rows or tell whose rows the others are.",
            remedy='Protect these columns, say kind = "drop", or choose a method that keeps rows: rankveil methods.',
        )
