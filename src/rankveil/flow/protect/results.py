"""What protection leaves behind: noisy values, and a line of the budget for every mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rankveil.flow.declare import Schema
from rankveil.flow.declare.domain import Codes
from rankveil.flow.microaggregate import Clustering


@dataclass(frozen=True)
class Mechanism:
    """One line of the budget: which mechanism protects which column, at what price."""

    column: str
    name: str
    epsilon: Fraction | None  # None: this step is not differentially private
    scale: Fraction | None = None  # of the noise, in units of the column's axis or of semantic distance
    scale_in_units: float | None = None  # the same in the column's own units, where the axis is linear
    sensitivity: str = ""  # what one record can change, in words
    clusters: int | None = None


@dataclass(frozen=True)
class PerturbedRecords:
    """Every record after its own noise, still in its row."""

    schema: Schema
    row_count: int
    codes: dict[str, Codes]
    notes: tuple[Mechanism, ...]


@dataclass(frozen=True)
class NoisyCentroids:
    """A protected value per cluster and column, with the clusters it belongs to, which are not protected."""

    schema: Schema
    row_count: int
    centroids: dict[str, tuple[Clustering, Codes]]
    public_codes: dict[str, Codes]
    notes: tuple[Mechanism, ...]
