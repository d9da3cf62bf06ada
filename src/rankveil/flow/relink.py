"""Step 4: which released row gets which protected value.

own_row       a record perturbed by itself stays in its row. Reads nothing more; costs nothing more.
own_cluster   every row repeats the value of the cluster it was grouped into, as the paper publishes it.
              Reads which record sits in which cluster, exactly, and pays nothing for it: NOT private (Theorem 3).
"""

from __future__ import annotations

from dataclasses import dataclass

from rankveil.flow.declare import Schema
from rankveil.flow.declare.domain import Codes
from rankveil.flow.protect import Mechanism, NoisyCentroids, PerturbedRecords


@dataclass(frozen=True)
class Rows:
    """Rows ready to be written: the only thing `write` accepts."""

    schema: Schema
    row_count: int
    codes: dict[str, Codes]
    notes: tuple[Mechanism, ...]
    row_aligned: bool  # row r of the release belongs to record r of the table


def own_row(perturbed: PerturbedRecords) -> Rows:
    return Rows(perturbed.schema, perturbed.row_count, perturbed.codes, perturbed.notes, row_aligned=True)


def own_cluster(noisy: NoisyCentroids) -> Rows:
    codes = dict(noisy.public_codes)
    for name, (clustering, values) in noisy.centroids.items():
        codes[name] = clustering.spread(values, noisy.row_count)
    return Rows(noisy.schema, noisy.row_count, codes, noisy.notes, row_aligned=True)
