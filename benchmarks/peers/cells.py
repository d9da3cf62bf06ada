"""The public cells that peers get for numbers (recoding.py): as they were when the peers ran, whatever ours become.

Amounts, that is numbers whose range holds zero, get cells that start at zero on both sides: a part of them, `_EVEN`,
would by itself divide the range into equal widths, the others into equal steps of asinh(value / unit), which is even up
to a thousandth of the range and geometric beyond. Numbers without a zero get equal widths. All of it follows from the
bounds and the number of cells.
"""

from __future__ import annotations

import math

import numpy as np

_EVEN = 0.3
_UNITS = 1000  # in the range of an amount
_ENOUGH = 1024  # points at which the scale between even and geometric is tabulated, for its inverse


def cell_edges(lower: int, upper: int, cells: int) -> np.ndarray:
    """First values of about so many cells (fewer than there are values), and one past the last value."""
    size = upper - lower + 1
    if lower <= 0 <= upper:
        return lower + _from_zero(-lower, size, cells)
    # The lower end is where heaps are: it is a cell of its own.
    return lower + np.union1d(np.arange(cells + 1) * size // cells, [0, 1])


def _from_zero(zero: int, size: int, cells: int) -> np.ndarray:
    below, above = zero, size - 1 - zero
    unit = size / _UNITS
    bent = math.asinh(below / unit) + math.asinh(above / unit)
    edges = [np.array([zero, zero + 1])]
    for reach, sign, first in ((below, -1, zero), (above, 1, zero + 1)):
        if reach:
            share = _EVEN * reach / (below + above) + (1 - _EVEN) * math.asinh(reach / unit) / bent
            edges.append(first + sign * _outwards(reach, unit, max(1, round(cells * share))))
    return np.unique(np.concatenate(edges))


def _outwards(reach: int, unit: float, count: int) -> np.ndarray:
    """Distances from 0 to `reach`, in so many steps of the scale between even and geometric."""
    end = math.asinh(reach / unit)
    bent = np.linspace(0.0, end, _ENOUGH)
    distance = np.unique(np.concatenate([unit * np.sinh(bent), np.linspace(0.0, reach, _ENOUGH)]))
    scale = _EVEN * distance / reach + (1 - _EVEN) * np.arcsinh(distance / unit) / end
    steps = np.interp(np.arange(count + 1) / count, scale, distance)
    steps[-1] = reach
    return np.rint(steps).astype(np.int64)
