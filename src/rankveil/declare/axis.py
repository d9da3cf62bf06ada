"""The public axis of a column of numbers: where cells are cut, and along which a density is smooth.

Amounts, that is numbers whose range holds zero, are mostly small beside the bounds that their owners dare to declare.
Their axis runs outwards from zero on both sides, a part of it by equal widths and the rest by equal steps of
asinh(value / unit), which is even near zero and geometric beyond. Numbers without a zero, dates and ranks have a plain
axis. Everything here follows from the plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.domain import Grid
from rankveil.declare.schema import Column
from rankveil.rules import AXIS_EVEN, AXIS_UNITS

Edges = NDArray[np.int64]
Floats = NDArray[np.float64]

_POINTS = 4096  # at which the axis is tabulated for its inverse


@dataclass(frozen=True)
class Axis:
    """From the codes 0 .. size to places 0 .. 1, rising."""

    size: int  # codes
    zero: int  # the code of the value 0; outside 0 .. size - 1 if the range does not hold it
    is_amount: bool

    @classmethod
    def of(cls, column: Column) -> Axis:
        domain = column.domain
        if not isinstance(domain, Grid):
            return cls(domain.label_count, 0, is_amount=False)
        size = domain.width + 1
        if domain.labels is not None or domain.date_format is not None:
            return cls(size, 0, is_amount=False)
        zero = int(-domain.lower // domain.step) if domain.lower <= 0 else -1
        return cls(size, zero, is_amount=0 <= zero < size)

    def places(self, codes: Edges | Floats) -> Floats:
        """Where codes, or edges between them, lie on the axis."""
        codes = np.asarray(codes, np.float64)
        if not self.is_amount:
            return np.asarray(codes / self.size)
        return np.asarray((self._bent(codes) - self._ends[0]) / (self._ends[1] - self._ends[0]))

    def codes(self, places: Floats) -> Floats:
        """The inverse, as real numbers."""
        if not self.is_amount:
            return np.asarray(places * self.size)
        distance = np.unique(np.concatenate([np.geomspace(1, self.size, _POINTS), np.linspace(0, self.size, _POINTS)]))
        grid = np.unique(np.clip(np.concatenate([self.zero - distance, self.zero + distance]), 0, self.size))
        return np.asarray(np.interp(places, self.places(grid), grid))

    def _bent(self, codes: Floats) -> Floats:
        unit = max(self.size / AXIS_UNITS, 1.0)
        away = (codes - self.zero) / unit
        whole = math.asinh(self.zero / unit) + math.asinh((self.size - self.zero) / unit)
        return AXIS_EVEN * codes / self.size + (1 - AXIS_EVEN) * np.arcsinh(away) / whole

    @cached_property
    def _ends(self) -> tuple[float, float]:
        first, last = self._bent(np.array([0.0, self.size]))
        return float(first), float(last)

    def cut(self, cells: int) -> Edges:
        """About so many cells, equal on the axis; zero or the lower end, and the upper end, as single codes."""
        if cells >= self.size:
            return np.arange(self.size + 1)
        zero = min(max(self.zero, 0), self.size - 1)
        ends = np.array([0, zero, zero + 1, self.size - 1, self.size])
        inner = np.rint(self.codes(np.arange(1, cells) / cells)).astype(np.int64)
        return np.union1d(ends, np.clip(inner, 1, self.size - 1))

    def split(self, low: int, high: int, pieces: int) -> Edges:
        """A cell in about so many pieces, equal on the axis; single codes where there are no more than that."""
        if high - low <= pieces:
            return np.arange(low, high + 1)
        first, last = self.places(np.array([low, high]))
        inner = np.rint(self.codes(np.linspace(first, last, pieces + 1)[1:-1])).astype(np.int64)
        return np.union1d(np.array([low, high]), np.clip(inner, low + 1, high - 1))
