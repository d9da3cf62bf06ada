"""What protection leaves behind: noisy values, and for every mechanism its line of the budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rankveil.declare import Schema
from rankveil.declare.domain import Codes
from rankveil.measure.budget import Mechanism
from rankveil.microaggregate import Clustering


@dataclass(frozen=True)
class PerturbedRecords:
    """Every record after its own noise, still in its row, in batches that can be gone through once.

    PRIVACY: once, because going through them again would draw a second noise for the same records.
    """

    schema: Schema
    row_count: int
    stream: Iterator[dict[str, Codes]]
    notes: tuple[Mechanism, ...]


@dataclass(frozen=True)
class NoisyCentroids:
    """A protected value per cluster and column, with the clusters it belongs to, which are not protected."""

    schema: Schema
    row_count: int
    centroids: dict[str, tuple[Clustering, Codes]]
    public_codes: dict[str, Codes]
    notes: tuple[Mechanism, ...]
