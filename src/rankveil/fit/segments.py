"""A fitted column as masses on consecutive ranges of codes. Post-processing (T1)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.simplex import Floats


@dataclass(frozen=True)
class Segments:
    """Masses on ranges of codes [low, high)."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    mass: Floats
    missing: float = 0.0
    special: Floats = field(default_factory=lambda: np.zeros(0))  # of each special value
