"""Which released row gets which perturbed value.

own_row       a record perturbed by itself stays in its row. Reads nothing more; costs nothing more (T3).
own_cluster   every row repeats the value of the cluster it was grouped into, as the paper publishes it.
              Reads which record sits in which cluster, exactly, and pays nothing for it: NOT private (T34).
"""

from __future__ import annotations

from rankveil.draw.rows import Rows
from rankveil.perturb.results import NoisyCentroids, PerturbedRecords


def own_row(perturbed: PerturbedRecords) -> Rows:
    return Rows(perturbed.schema, perturbed.row_count, perturbed.notes, row_aligned=True, stream=perturbed.stream)


def own_cluster(noisy: NoisyCentroids) -> Rows:
    codes = dict(noisy.public_codes)
    for name, (clustering, values) in noisy.centroids.items():
        codes[name] = clustering.spread(values, noisy.row_count)
    return Rows.whole(noisy.schema, noisy.row_count, codes, noisy.notes, row_aligned=True)
