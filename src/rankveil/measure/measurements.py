"""Measurements: what was asked of the table, the noisy answers, and how noisy they are. Released, so whatever is made
of them is post-processing (T1). Frozen; they hold nothing of the data but noisy answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.schema import Column

Floats = NDArray[np.float64]
NoiseLaw = Literal["discrete Laplace", "discrete Gaussian"]


@dataclass(frozen=True)
class Level:
    """Noisy counts of disjoint ranges of codes [low, high), ascending."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    noisy: Floats
    deviation: float  # of each noisy count
    law: NoiseLaw


@dataclass(frozen=True)
class ColumnMeasurement:
    """All that was asked of one column by itself, coarse to fine: each level's cells are parts of those above."""

    column: Column  # public
    levels: tuple[Level, ...]
    missing: float | None = None  # noisy count; None where the plan allows none
    missing_deviation: float = 0.0
