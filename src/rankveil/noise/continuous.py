"""Floating-point Laplace noise, for reproducing published experiments only.

Guarantee    None. The least significant bits of a floating-point Laplace draw depend on
             the value it is added to and can reveal it (Mironov, CCS 2012).
Argument     -
Not covered  Privacy. Only `published/` may call this, on data that are public anyway.
Arithmetic   float64, by inverting the distribution function on a grid of 2**53 points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.source import RandomSource
from rankveil.noise.uniform import uniform_floats


def laplace_floats(scale: float, count: int, source: RandomSource) -> NDArray[np.float64]:
    """`count` draws of Laplace(0, scale) as floats. NOT private; see the module's docstring."""
    if not 0 < scale < float("inf"):
        raise ValueError("scale must be positive and finite")
    centred = uniform_floats(source, count) - 0.5
    # |centred| is at most 1/2 - 2**-53, so the logarithm is finite.
    return -scale * np.sign(centred) * np.log1p(-2.0 * np.abs(centred))
