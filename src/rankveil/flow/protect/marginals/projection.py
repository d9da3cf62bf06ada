"""Non-negative counts with a given total, nearest to noisy ones. Post-processing: reads released numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def project_rows(noisy: Floats, totals: Floats, present: NDArray[np.bool_]) -> Floats:
    """Row by row, the Euclidean projection onto {x >= 0, sum x = total}. Entries not `present` stay 0."""
    masked = np.where(present, noisy, -np.inf)
    descending = -np.sort(-masked, axis=1)
    there = np.isfinite(descending)
    sums = np.cumsum(np.where(there, descending, 0.0), axis=1)
    levels = (sums - totals[:, None]) / np.arange(1, noisy.shape[1] + 1)
    # The cut is at the last place where an entry exceeds the level that all larger ones imply.
    used = np.maximum(((descending > levels) & there).sum(axis=1), 1)
    level = levels[np.arange(len(noisy)), used - 1]
    lowered = np.maximum(np.where(present, noisy, 0.0) - level[:, None], 0.0)
    kept: Floats = np.where(present, lowered, 0.0)
    return kept


def project(noisy: Floats, total: float) -> Floats:
    """The same for one list of counts."""
    projected: Floats = project_rows(noisy[None, :], np.array([total]), np.ones((1, len(noisy)), np.bool_))[0]
    return projected
