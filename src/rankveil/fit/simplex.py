"""Non-negative counts with a given total, nearest to noisy ones. Post-processing (T1): reads released numbers only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def project_rows(noisy: Floats, totals: Floats, present: NDArray[np.bool_], variances: Floats | None = None) -> Floats:
    """Row by row, the projection onto {x >= 0, sum x = total}. Entries not `present` stay 0.

    It is Euclidean, or weighted by variances: then entries move in proportion to their variance.
    """
    moving: Floats = np.ones(noisy.shape) if variances is None else variances
    order = np.argsort(np.where(present, -noisy / moving, np.inf), axis=1, kind="stable")
    descending, steps = (np.take_along_axis(each, order, axis=1) for each in (noisy, moving))
    there = np.take_along_axis(present, order, axis=1)
    sums = np.cumsum(np.where(there, descending, 0.0), axis=1)
    levels = (sums - totals[:, None]) / np.cumsum(steps, axis=1)
    # The cut is at the last place where an entry exceeds the level that all larger ones imply.
    used = np.maximum(((descending > levels * steps) & there).sum(axis=1), 1)
    level = levels[np.arange(len(noisy)), used - 1]
    lowered = np.maximum(np.where(present, noisy - level[:, None] * moving, 0.0), 0.0)
    kept: Floats = np.where(present, lowered, 0.0)
    return kept


def project(noisy: Floats, total: float, variances: Floats | None = None) -> Floats:
    """The same for one list of counts."""
    every = np.ones((1, len(noisy)), np.bool_)
    moving = None if variances is None else variances[None, :]
    projected: Floats = project_rows(noisy[None, :], np.array([total]), every, moving)[0]
    return projected
