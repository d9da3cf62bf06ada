"""Group the values of a table and sum each group, with a stated sensitivity.

blocks.py     the public partition of rank positions 1..n into clusters of k
clusters.py   what the next step gets: which rows form which cluster, and the clusters' values
ranking.py    individual ranking: every column sorted by itself
distance.py   a public total order of whole records (the predecessor's insensitive microaggregation)
single.py     no grouping: every record by itself
unaligned.py  both again with every row in a cluster, for releases whose rows are shuffled
"""

from rankveil.microaggregate.clusters import Clustered, Clustering, ColumnClusters
from rankveil.microaggregate.distance import by_distance
from rankveil.microaggregate.ranking import individual_ranking
from rankveil.microaggregate.single import SingleRecords, single_records

__all__ = [
    "Clustered",
    "Clustering",
    "ColumnClusters",
    "SingleRecords",
    "by_distance",
    "individual_ranking",
    "single_records",
]
