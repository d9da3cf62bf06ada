"""Noisy counts shrunk towards what was expected of them. Post-processing (T1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.simplex import Floats
from rankveil.measure.measurements import NoiseLaw, beyond_noise


def shrunk(
    expected: Floats, noisy: Floats, deviation: Floats | float, law: NoiseLaw
) -> tuple[Floats, NDArray[np.bool_]]:
    """Posterior means, and which counts stand out: those keep what was counted.

    The others are shrunk, the less the more all of them together differ from what was expected by more than noise.
    """
    off, variance = noisy - expected, np.broadcast_to(np.asarray(deviation) ** 2, noisy.shape)
    out = off > beyond_noise(len(off), law) * np.sqrt(variance)
    usual = ~out
    spread = max(0.0, float((off[usual] ** 2 - variance[usual]).sum() / max((expected[usual] ** 2).sum(), 1e-9)))
    trust = spread * expected**2 / (spread * expected**2 + variance)
    return np.where(out, noisy, np.maximum(expected + trust * off, 0.0)), out
