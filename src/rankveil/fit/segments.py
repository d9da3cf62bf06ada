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


def disjoint(
    low: NDArray[np.int64], high: NDArray[np.int64], mass: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Segments without overlaps; of two that overlap the later one starts later, or hands its mass on."""
    kept: list[list[float]] = []
    for start, end, amount in zip(low.tolist(), high.tolist(), mass.tolist(), strict=True):
        start = max(start, int(kept[-1][1])) if kept else start
        if start < end:
            kept.append([start, end, amount])
        else:
            kept[-1][2] += amount
    columns = np.array(kept).T if kept else np.zeros((3, 0))
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2]


def tilts(low: NDArray[np.int64], high: NDArray[np.int64], mass: Floats) -> Floats:
    """A slope for the density inside each segment that keeps its mass: the lesser of the slopes to its neighbours."""
    width = (high - low).astype(np.float64)
    density = mass / width
    found = np.zeros(len(mass))
    if len(mass) > 2:
        slope = np.diff(density) / np.diff((low + high) / 2)
        left, right = slope[:-1], slope[1:]
        lesser = np.where(left * right > 0, np.sign(left) * np.minimum(np.abs(left), np.abs(right)), 0.0)
        found[1:-1] = lesser * width[1:-1] / density[1:-1] / 2
    return np.where(width > 1, np.clip(found, -1, 1), 0.0)
