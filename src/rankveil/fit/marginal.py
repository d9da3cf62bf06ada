"""A released marginal: a quantile function to draw values from, and base cells to link columns by. Post-processing: T1.

Both kinds of column answer the same questions: `cell_of` (code -> base cell), `mass` (of each base cell), `strips`
(of equally likely codes, cell by cell). Special values and missing are base cells of their own, missing the last one.
Values that rules of the plan tell apart are never in one base cell.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.axis import Axis
from rankveil.declare.domain import MISSING, Codes, Domain, Grid, Nominal
from rankveil.fit.cells import Groups, group_nominal, group_ordered
from rankveil.fit.segments import Segments, disjoint, tilts
from rankveil.fit.simplex import Floats
from rankveil.fit.strips import Strips
from rankveil.noise import Sampler
from rankveil.taxonomy import Taxonomy

SmallCells = NDArray[np.unsignedinteger[Any]]

_STEPS_OF_A_SLOPE = 16
_FEW_EDGES = 32


@dataclass(frozen=True)
class Finest:
    """How fine base cells may be: at most so many of a column of numbers and of one of labels, none lighter."""

    numbers: int
    labels: int
    least_mass: float = 0.0

    def of(self, domain: Domain) -> int:
        return self.numbers if isinstance(domain, Grid) and domain.labels is None else self.labels


class _Replaceable:
    """A marginal whose base cells' masses a better estimate may replace."""

    mass: Floats

    def with_mass(self, mass: Floats) -> Self:
        """The same column with other masses of its base cells."""
        if mass.shape != self.mass.shape:
            raise ValueError("a mass for every base cell")
        other = copy.copy(self)
        other.mass = mass
        return other

    @property
    def cell_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest integers that hold every base cell."""
        return np.dtype(np.uint8 if len(self.mass) <= 1 << 8 else np.uint16)


def _kin(taxonomy: Taxonomy | None) -> Groups | None:
    """For each label the concept right above it; None where the taxonomy says nothing."""
    if taxonomy is None:
        return None
    above = np.full(taxonomy.label_count, -1, np.int64)
    for concept, children in enumerate(taxonomy.children):
        for child in children:
            if child < taxonomy.label_count and concept != taxonomy.root:
                above[child] = concept
    return above if (above >= 0).any() else None


class OrderedMarginal(_Replaceable):
    """A numeric column: piecewise linear density on segments."""

    ordered = True

    def __init__(
        self,
        size: int,
        segments: Segments,
        *,
        most_cells: int,
        least_mass: float,
        cell_variance: float,
        null: bool,
        cuts: Sequence[int] = (),
        holes: Sequence[int] = (),
        edges: NDArray[np.int64] | None = None,
    ) -> None:
        """`cuts`: codes at which a base cell begins in any case. `holes`: codes that are those of special values.
        `edges`: where base cells begin, of a marginal that was made before."""
        self.size, self.null = size, null
        self.special = len(segments.special)
        self._cuts, self._holes = np.array(cuts, np.int64), np.array(holes, np.int64)
        kept = segments.mass > 1e-9
        if not kept.any():  # all records are missing, as far as the noise tells
            segments = Segments(np.array([0]), np.array([size]), np.array([1e-6]), segments.missing, segments.special)
            kept = np.ones(1, np.bool_)
        self._low, self._high, self._mass = disjoint(segments.low[kept], segments.high[kept], segments.mass[kept])
        self._width = (self._high - self._low).astype(np.float64)
        self._tilt = tilts(self._low, self._high, self._mass)
        self._below = np.concatenate([[0.0], np.cumsum(self._mass)])
        self.edges = self._base_edges(most_cells, least_mass) if edges is None else edges
        bounds = self._cumulative(np.concatenate([[0], self.edges, [size]]))
        self._bounds = bounds
        present = np.maximum(np.diff(bounds), 0.0)
        apart = np.append(segments.special, segments.missing) if null else segments.special
        self.mass: Floats = np.append(present, apart)
        self.variance: Floats = np.full(len(self.mass), cell_variance)

    def parts(self) -> dict[str, NDArray[Any]]:
        """What it is made of, masses of base cells apart: segments, and where base cells begin."""
        return {"low": self._low, "high": self._high, "segment_mass": self._mass, "edges": self.edges}

    @property
    def cell_count(self) -> int:
        return len(self.mass)

    @property
    def apart(self) -> int:
        """Base cells at the end that have no neighbours: special values, and missing."""
        return self.special + int(self.null)

    def _base_edges(self, most_cells: int, least_mass: float) -> NDArray[np.int64]:
        total = self._below[-1]
        places = np.arange(1, 4 * most_cells) / (4 * most_cells) * total
        edges = np.unique(np.concatenate([self._low, self._high, self.quantile(places)]))
        edges = np.concatenate([[0], edges[(edges > 0) & (edges < self.size)], [self.size]])
        group = group_ordered(np.diff(self._cumulative(edges)), most_cells, least_mass)
        return np.union1d(edges[np.flatnonzero(np.diff(group)) + 1], self._cuts)

    def _cumulative(self, codes: NDArray[np.int64]) -> Floats:
        place = np.clip(np.searchsorted(self._low, codes, side="right") - 1, 0, len(self._low) - 1)
        inside = np.clip((codes - self._low[place]) / self._width[place], 0, 1)
        share = inside + self._tilt[place] * (inside * inside - inside)
        return np.where(codes <= self._low[0], 0.0, self._below[place] + self._mass[place] * share)

    def quantile(self, ranks: Floats) -> Codes:
        """Codes at these cumulative masses."""
        place = np.clip(np.searchsorted(self._below, ranks, side="right") - 1, 0, len(self._mass) - 1)
        share = np.clip((ranks - self._below[place]) / self._mass[place], 0, 1)
        tilt = self._tilt[place]
        flat = np.abs(tilt) < 1e-9
        root = np.sqrt(np.maximum((1 - tilt) ** 2 + 4 * tilt * share, 0))
        inside = np.where(flat, share, (tilt - 1 + root) / np.where(flat, 1.0, 2 * tilt))
        steps = np.minimum(np.floor(np.clip(inside, 0, 1) * self._width[place]), self._width[place] - 1)
        codes: Codes = (self._low[place] + steps).astype(np.int64)
        return codes

    def cell_of(self, codes: Codes) -> NDArray[np.int64]:
        return self.small_cell_of(codes).astype(np.int64)

    def small_cell_of(self, codes: Codes) -> SmallCells:
        """The same in one byte, or in two where there are many base cells."""
        if len(self.edges) > _FEW_EDGES:
            cells: SmallCells = np.searchsorted(self.edges, codes, side="right").astype(self.cell_type)
        else:  # comparing with each is quicker than a search
            short = codes.astype(np.int32) if self.size < 1 << 31 else codes
            cells, above = np.zeros(len(codes), np.uint8), np.empty(len(codes), np.bool_)
            for edge in self.edges.astype(short.dtype):
                cells += np.greater_equal(short, edge, out=above).view(np.uint8)
        if self.special:
            apart = codes >= self.size
            cells = cells.astype(self.cell_type)
            cells[apart] = codes[apart] - self.size + len(self.edges) + 1
        if self.null:
            cells[codes == MISSING] = self.cell_count - 1
        return cells

    def cell_table(self) -> SmallCells:
        """The base cell of every code, and of MISSING last."""
        widths = np.append(np.diff(self.edges, prepend=0, append=self.size), np.ones(self.special + 1, np.int64))
        cells = np.minimum(np.arange(len(widths)), self.cell_count - 1).astype(self.cell_type)
        return np.repeat(cells, widths)

    @property
    def code_count(self) -> int:
        return self.size + self.special

    def group(self, most: int, least: float) -> Groups:
        """Base cells in fewer groups; special values and missing stay by themselves."""
        ordinary = self.cell_count - self.apart
        groups = group_ordered(self.mass[:ordinary], max(most - self.apart, 1), least)
        return np.append(groups, groups.max() + 1 + np.arange(self.apart))

    def strips(self) -> Strips:
        """The density of the segments, with the mass that each base cell has by now."""
        tilted = np.flatnonzero(self._tilt != 0)
        width = self._high[tilted] - self._low[tilted]
        inner = self._low[tilted] + np.arange(1, _STEPS_OF_A_SLOPE)[:, None] * width // _STEPS_OF_A_SLOPE
        holes = np.append(self._holes, self._holes + 1)
        ends = np.unique(np.concatenate([[0], self._low, self._high, self.edges, inner.ravel(), holes, [self.size]]))
        low, width = ends[:-1], np.diff(ends)
        mass = np.maximum(np.diff(self._cumulative(ends)), 0.0)
        cell = np.searchsorted(self.edges, low, side="right")
        in_cell = np.bincount(cell, mass, minlength=len(self.edges) + 1)
        mass = np.where(in_cell[cell] > 0, mass, width)  # a cell without a shape is flat
        mass[np.isin(low, self._holes)] = 0.0
        mass *= (self.mass[: len(in_cell)] / np.maximum(np.bincount(cell, mass, minlength=len(in_cell)), 1e-300))[cell]
        apart = np.append(self.size + np.arange(self.special), np.full(int(self.null), MISSING))
        ones = np.ones(len(apart), np.int64)
        return Strips.of(np.append(low, apart), np.append(width, ones), np.append(mass, self.mass[len(in_cell) :]))

    def values_in(self, cells: NDArray[np.int64], sampler: Sampler) -> Codes:
        """One code in each of these base cells, independent of each other."""
        missing = cells == (self.cell_count - 1 if self.null else -1)
        codes = self._inside(np.where(missing, 0, cells), sampler.uniform(len(cells)))
        return np.where(missing, MISSING, codes)

    def _inside(self, cell: NDArray[np.int64], share: Floats) -> Codes:
        """The code at a share of a base cell's mass."""
        codes = self.quantile(self._bounds[cell] + share * (self._bounds[cell + 1] - self._bounds[cell]))
        lowest = np.concatenate([[0], self.edges])
        highest = np.concatenate([self.edges, [self.size]]) - 1
        return np.clip(codes, lowest[cell], highest[cell])

    def signs(self) -> Floats:
        """-1 for base cells below the released median, +1 above; 0 for special values and missing."""
        present = self.mass[: self.cell_count - self.apart]
        middle = np.cumsum(present) - present / 2
        above = middle > present.sum() / 2
        if not above.any():
            above[-1] = True
        return np.append(np.where(above, 1.0, -1.0), np.zeros(self.apart))

    def cell_order(self) -> NDArray[np.int64]:
        return np.arange(self.cell_count)

    def probes(self, count: int) -> Codes:
        """Codes that stand for all: the ends of every base cell and some between; and missing."""
        low, high = np.append(0, self.edges), np.append(self.edges, self.size) - 1
        between = low + (high - low) * np.arange(count)[:, None] // (count - 1)
        codes = np.append(np.unique(between), self.size + np.arange(self.special))
        return np.append(codes, MISSING) if self.null else codes


class NominalMarginal(_Replaceable):
    """A column of labels: the heavy ones are base cells, the light ones share one."""

    ordered = False

    def __init__(
        self,
        label_mass: Floats,
        *,
        most_cells: int,
        least_mass: float,
        label_variance: float,
        null: bool,
        taxonomy: Taxonomy | None = None,
        classes: Sequence[int] = (),
        cells: Groups | None = None,
    ) -> None:
        """`label_mass`: of each label, and of missing last where `null`. Light labels share cells, by `taxonomy`, if
        they are of one of the `classes`. `cells`: of each label, in a marginal that was made before."""
        self.null = null
        self._label_mass = label_mass
        if cells is None:
            present = label_mass[:-1] if null else label_mass
            cell = group_nominal(present, most_cells, least_mass, _kin(taxonomy))
            if classes:
                cell = np.unique(np.stack([cell, np.array(classes)]), axis=1, return_inverse=True)[1].ravel()
            cells = np.append(cell, cell.max() + 1) if null else cell
        self._cell = cells
        self.mass: Floats = np.bincount(self._cell, label_mass).astype(np.float64)
        self.variance: Floats = (np.bincount(self._cell) * label_variance).astype(np.float64)

    def parts(self) -> dict[str, NDArray[Any]]:
        """What it is made of, masses of base cells apart: of each label its mass and its cell, missing last."""
        return {"label_mass": self._label_mass, "label_cells": self._cell}

    @property
    def cell_count(self) -> int:
        return len(self.mass)

    @property
    def apart(self) -> int:
        return int(self.null)

    def cell_of(self, codes: Codes) -> NDArray[np.int64]:
        # MISSING is -1, which is the last entry.
        return self._cell[codes]

    def small_cell_of(self, codes: Codes) -> SmallCells:
        return self.cell_of(codes).astype(self.cell_type)

    def cell_table(self) -> SmallCells:
        """The base cell of every code, and of MISSING last."""
        every = np.append(np.arange(self.code_count), MISSING)
        return self.small_cell_of(every)

    @property
    def code_count(self) -> int:
        return len(self._cell) - int(self.null)

    def group(self, most: int, least: float) -> Groups:
        if not self.null:
            return group_nominal(self.mass, most, least)
        groups = group_nominal(self.mass[:-1], max(most - 1, 1), least)
        return np.append(groups, groups.max() + 1)

    def strips(self) -> Strips:
        """Labels by their base cell, each with its part of the mass that the cell has by now."""
        labels = np.argsort(self._cell, kind="stable")
        cell = self._cell[labels]
        mass = self._label_mass[labels]
        in_cell = np.bincount(self._cell, self._label_mass)
        mass = np.where(in_cell[cell] > 0, mass, 1.0)
        mass = mass * (self.mass / np.bincount(cell, mass))[cell]
        codes = np.where(labels == len(self._label_mass) - 1, MISSING, labels) if self.null else labels
        return Strips.of(codes.astype(np.int64), np.ones(len(codes), np.int64), mass)

    def values_in(self, cells: NDArray[np.int64], sampler: Sampler) -> Codes:
        """One label in each of these base cells, independent of each other."""
        places = sampler.uniform(len(cells))
        codes = np.empty(len(cells), np.int64)
        for cell in range(self.cell_count):
            labels = np.flatnonzero(self._cell == cell)
            here = cells == cell
            cumulative = np.cumsum(self._label_mass[labels] + 1e-9)  # a cell without mass gives all its labels a chance
            codes[here] = labels[np.searchsorted(cumulative / cumulative[-1], places[here], side="right")]
        return np.where(codes == len(self._label_mass) - 1, MISSING, codes) if self.null else codes

    def signs(self) -> Floats:
        """A split of the base cells into two halves, as even as can be; 0 for missing."""
        signs = np.full(self.cell_count, -1.0)
        low = high = 0.0
        last = self.cell_count - 1
        for cell in np.argsort(-self.mass, kind="stable"):
            if self.null and cell == last:
                signs[cell] = 0.0
            elif high < low:
                signs[cell] = 1.0
                high += self.mass[cell]
            else:
                low += self.mass[cell]
        return signs

    def cell_order(self) -> NDArray[np.int64]:
        return np.argsort(self.signs(), kind="stable")

    def probes(self, count: int) -> Codes:
        """Every label, and missing."""
        codes = np.arange(self.code_count)
        return np.append(codes, MISSING) if self.null else codes


Marginal = OrderedMarginal | NominalMarginal


def marginal_of(column: Column, shape: Segments | Floats, variance: float, finest: Finest) -> Marginal:
    """A column's marginal from masses of ranges of codes, or of its labels."""
    null = column.allows_null
    if isinstance(shape, Segments):
        return OrderedMarginal(
            Axis.of(column).size,
            shape,
            most_cells=finest.of(column.domain),
            least_mass=finest.least_mass,
            cell_variance=variance,
            null=null,
            cuts=column.told_apart,
            holes=_holes(column.domain) if isinstance(column.domain, Grid) else (),
        )
    taxonomy = column.domain.taxonomy if isinstance(column.domain, Nominal) else None
    return NominalMarginal(
        shape.astype(np.float64),
        most_cells=finest.of(column.domain),
        least_mass=finest.least_mass,
        label_variance=variance,
        null=null,
        taxonomy=taxonomy,
        classes=column.told_apart,
    )


def marginal_again(column: Column, parts: Mapping[str, NDArray[Any]], mass: Floats, variance: Floats) -> Marginal:
    """The marginal with these `parts`, and with masses of its base cells and their variances."""
    made: Marginal
    if "edges" in parts:
        special = np.zeros(len(column.domain.special) if isinstance(column.domain, Grid) else 0)
        made = OrderedMarginal(
            Axis.of(column).size,
            Segments(parts["low"], parts["high"], parts["segment_mass"], 0.0, special),
            most_cells=1,
            least_mass=0.0,
            cell_variance=0.0,
            null=column.allows_null,
            cuts=column.told_apart,
            holes=_holes(column.domain) if isinstance(column.domain, Grid) else (),
            edges=parts["edges"],
        )
    else:
        null, masses, cells = column.allows_null, parts["label_mass"], parts["label_cells"]
        made = NominalMarginal(masses, most_cells=1, least_mass=0.0, label_variance=0.0, null=null, cells=cells)
    made = made.with_mass(mass)
    made.variance = variance
    return made


def _holes(grid: Grid) -> list[int]:
    steps = [(Fraction(value) - Fraction(grid.lower)) / Fraction(grid.step) for value in grid.special]
    return [int(step) for step in steps if step.denominator == 1 and 0 <= step <= grid.width]
