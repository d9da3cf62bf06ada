"""Public cells of a numeric column, coarse to fine: where the counts of a tree are taken.

Amounts, that is numbers whose range holds zero, are mostly small beside the bounds that their owners dare to declare.
Cells for them start at zero on both sides. A part of them, `_EVEN`, would by itself divide the range into equal widths;
the others into equal steps of asinh(value / unit), which is even up to a thousandth of the range and geometric beyond.
Numbers without a zero, dates and ranks get cells of equal widths.
Everything here follows from the plan, n and the budget, so counts over these cells are those of T12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.measure.counts import CountGrid

_EVEN = 0.3
_UNITS = 1000  # in the range of an amount
_ENOUGH = 1024  # points at which the scale between even and geometric is tabulated, for its inverse

Edges = NDArray[np.int64]


@dataclass(frozen=True)
class TreeShape:
    """Public: how many leaves, how many children a node has, and what is made of weak counts."""

    leaves: int
    branching: int
    outlined: bool = False  # cells finer towards zero, and counts shrunk towards a smooth outline
    keep: float = 2.0  # deviations above which a cell is taken for real by itself
    keep_beside: float = 0.5  # the same for a cell beside one that is
    most_levels: int | None = None  # None: as many as the branching asks for
    for_top: Fraction | None = None  # the first level's part of the price; None: all levels get the same

    def depth(self, size: int) -> int:
        """Levels of the tree over a domain of this size."""
        levels, nodes = 1, min(size, self.leaves)
        while nodes > self.branching * 1.5 and levels != self.most_levels:
            levels, nodes = levels + 1, math.ceil(nodes / self.branching)
        return levels


def level_parts(levels: int, for_top: Fraction | None) -> list[Fraction]:
    """How the price is divided over the levels; the parts add up to 1."""
    if levels == 1 or for_top is None:
        return [Fraction(1, levels)] * levels
    return [for_top] + [(1 - for_top) / (levels - 1)] * (levels - 1)


def nested_edges(grid: CountGrid, shape: TreeShape) -> list[Edges]:
    """Public edges of all levels, coarse to fine; each level's edges contain those of the level above."""
    size = grid.size
    leaves, depth = min(size, shape.leaves), shape.depth(size)
    per_cell = [shape.branching ** (depth - 1 - level) for level in range(depth)]  # leaves
    if leaves < size and shape.outlined and grid.is_amount:
        return [_from_zero(grid, leaves / per_cell[0], per_cell[0] // each) for each in per_cell]
    places = [np.append(np.arange(0, leaves, each), leaves) for each in per_cell]
    if leaves == size:
        return places
    # Zero, or the lower end, is where heaps are: it is a cell of its own on every level.
    zero = min(max(grid.zero, 0), size - 1)
    return [np.union1d(place * size // leaves, [zero, zero + 1]) for place in places]


def _from_zero(grid: CountGrid, cells: float, pieces: int) -> Edges:
    """About so many cells of a column of amounts, each in so many pieces, and zero by itself."""
    below, above = grid.zero, grid.size - 1 - grid.zero
    unit = grid.size / _UNITS
    bent = math.asinh(below / unit) + math.asinh(above / unit)
    edges = [np.array([grid.zero, grid.zero + 1])]
    for reach, sign, first in ((below, -1, grid.zero), (above, 1, grid.zero + 1)):
        if reach:
            share = _EVEN * reach / (below + above) + (1 - _EVEN) * math.asinh(reach / unit) / bent
            edges.append(first + sign * _outwards(reach, unit, max(1, round(cells * share)) * pieces))
    return np.unique(np.concatenate(edges))


def _outwards(reach: int, unit: float, count: int) -> Edges:
    """Distances from 0 to `reach`, in so many steps of the scale between even and geometric."""
    end = math.asinh(reach / unit)
    bent = np.linspace(0.0, end, _ENOUGH)
    distance = np.unique(np.concatenate([unit * np.sinh(bent), np.linspace(0.0, reach, _ENOUGH)]))
    scale = _EVEN * distance / reach + (1 - _EVEN) * np.arcsinh(distance / unit) / end
    steps = np.interp(np.arange(count + 1) / count, scale, distance)
    steps[-1] = reach
    edges: Edges = np.rint(steps).astype(np.int64)
    return edges
