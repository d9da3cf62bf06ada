"""Step 4: which released row gets which protected value.

own_row       a record perturbed by itself stays in its row. Reads nothing more; costs nothing more.
own_cluster   every row repeats the value of the cluster it was grouped into, as the paper publishes it.
              Reads which record sits in which cluster, exactly, and pays nothing for it: NOT private (Theorem 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankveil.flow.declare import Schema
from rankveil.flow.declare.domain import Codes
from rankveil.flow.protect import Mechanism, NoisyCentroids, PerturbedRecords


@dataclass(frozen=True)
class Rows:
    """Rows ready to be written, in batches that are made when they are asked for: the only thing `write` accepts."""

    schema: Schema
    row_count: int
    notes: tuple[Mechanism, ...]
    row_aligned: bool  # row r of the release belongs to record r of the table
    batches: Iterator[dict[str, Codes]]  # can be gone through once
    linkage: str = ""  # how columns were linked, where a rule decided it
    remarks: tuple[str, ...] = ()  # what readers of the certificate should know, such as lower bounds

    @classmethod
    def whole(
        cls, schema: Schema, row_count: int, codes: dict[str, Codes], notes: tuple[Mechanism, ...], *, row_aligned: bool
    ) -> Rows:
        """Rows that are in memory anyway."""
        return cls(schema, row_count, notes, row_aligned, iter([codes]))

    def collected(self) -> dict[str, Codes]:
        """All rows at once. Uses the batches up."""
        batches = list(self.batches)
        if len(batches) == 1:
            return batches[0]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in self.schema.names}


def own_row(perturbed: PerturbedRecords) -> Rows:
    return Rows.whole(perturbed.schema, perturbed.row_count, perturbed.codes, perturbed.notes, row_aligned=True)


def own_cluster(noisy: NoisyCentroids) -> Rows:
    codes = dict(noisy.public_codes)
    for name, (clustering, values) in noisy.centroids.items():
        codes[name] = clustering.spread(values, noisy.row_count)
    return Rows.whole(noisy.schema, noisy.row_count, codes, noisy.notes, row_aligned=True)
