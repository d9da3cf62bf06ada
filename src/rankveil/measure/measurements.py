"""What was measured: the questions, the noisy answers and their deviations. Released, so what follows is free (T1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.digits import LastDigits
from rankveil.declare.schema import Column, Schema
from rankveil.measure.budget import Mechanism
from rankveil.rules import FALSE_ALARMS

if TYPE_CHECKING:
    from rankveil.fit.marginal import Marginal

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]
NoiseLaw = Literal["discrete Laplace", "discrete Gaussian"]


def beyond_noise(places: int, law: NoiseLaw) -> float:
    """Deviations that noise exceeds in one of so many places with a probability of `FALSE_ALARMS` at most."""
    nats = math.log(places / (2 * FALSE_ALARMS))
    return nats / math.sqrt(2) if law == "discrete Laplace" else math.sqrt(2 * nats)


@dataclass(frozen=True)
class Level:
    """Noisy counts of disjoint ranges of codes [low, high), ascending."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    noisy: Floats
    deviation: float  # of each noisy count
    law: NoiseLaw


@dataclass(frozen=True)
class DigitCounts:
    """Noisy counts of a column's numbers by their last digit that is not zero, and its place."""

    digits: LastDigits
    noisy: Floats
    deviation: float
    law: NoiseLaw


@dataclass(frozen=True)
class ColumnMeasurement:
    """All that was asked of one column by itself, coarse to fine: each level's cells are parts of those above."""

    column: Column  # public
    levels: tuple[Level, ...]
    apart: Floats = field(default_factory=lambda: np.zeros(0))  # noisy counts of special values, and of missing last
    apart_deviation: float = 0.0
    digits: DigitCounts | None = None


@dataclass(frozen=True)
class TableMeasurement:
    """A noisy table of some columns over groups of their base cells.

    A parity asks one number only: columns in two groups each, and how many records are in the second group of an even
    number of them, less those of an odd number. `noisy` then holds the two counts that follow.
    """

    columns: tuple[str, ...]
    groups: tuple[Groups, ...]  # the table's cell of each base cell, column by column
    noisy: Floats
    deviation: float  # of a noisy count; of the noisy difference for a parity
    parity: bool = False


@dataclass(frozen=True)
class SignProducts:
    """Noisy sums over records of products of signs, one for each pair of columns."""

    products: Mapping[tuple[str, ...], float]
    deviation: float


@dataclass(frozen=True)
class Measurements:
    """Everything that was released about a table, and what it cost."""

    schema: Schema
    rows: int
    columns: Mapping[str, Marginal]  # every column by itself, as fitted: tables were asked in its base cells
    tables: tuple[TableMeasurement, ...] = ()
    signs: SignProducts | None = None
    notes: tuple[Mechanism, ...] = ()
    linkage: str = "none"  # tables, copula, none
    known: Mapping[str, NDArray[np.uint16]] = field(default_factory=dict)  # cells of public columns in some rows
    asked: Mapping[str, ColumnMeasurement] = field(default_factory=dict)  # the protected ones, as measured

    @property
    def public(self) -> frozenset[str]:
        return frozenset(column.name for column in self.schema.columns if not column.protected)
