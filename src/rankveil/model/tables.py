"""Published tables: counts of cells of one to three columns, as they were measured, or else as the model has them.

Measured       The noisy counts themselves, added up over what is not asked for. Noise on cells is independent, so that
               a sum of m cells has the deviation of one times the root of m: it is known, not estimated.
From the model No deviation is claimed: how far a model is from the table that it was fitted to is not known from noise.
Post-processing (T1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.declare.schema import Column
from rankveil.errors import PlanError
from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal
from rankveil.fit.model import Model as Fitted
from rankveil.fragments import fragment
from rankveil.measure.measurements import Floats, Level, Measurements
from rankveil.model.stored import last_covering
from rankveil.model.words import Cell, apart, base_cells, ranges, together

MOST_COLUMNS = 3
_SHOWN = 60  # cells in a notebook
_MOST_CODES = 1 << 22  # of a column, which are all tried
Numbers = NDArray[Any]
Source = Literal["measured", "public", "from the model"]
_SAID: dict[Source, str] = {
    "measured": "measured: noisy counts, with the deviation of their noise; they may be negative",
    "public": "public: known to everyone, and exact",
    "from the model": "from the model: no deviation is claimed",
}


@dataclass(frozen=True)
class TableEstimate:
    """Estimated counts of the cells of a table."""

    columns: tuple[str, ...]
    source: Source
    of: str  # what was measured, where something was
    cells: tuple[tuple[Cell, ...], ...]  # column by column
    counts: Floats  # an axis for each column
    deviations: Floats | None  # of each count; None: none is claimed

    @property
    def note(self) -> str:
        return _SAID[self.source] + (f" ({self.of})" if self.of else "")

    def lines(self) -> Iterator[tuple[tuple[Cell, ...], float, float | None]]:
        """Cell by cell: what it is, its count, its deviation."""
        spread = [None] * self.counts.size if self.deviations is None else self.deviations.ravel().tolist()
        yield from zip(product(*self.cells), self.counts.ravel().tolist(), spread, strict=True)

    def to_arrow(self) -> pa.Table:
        lines = list(self.lines())
        named = {name: [str(cells[place]) for cells, _, _ in lines] for place, name in enumerate(self.columns)}
        counts = pa.array([count for _, count, _ in lines], pa.float64())
        spread = pa.array([deviation for _, _, deviation in lines], pa.float64())
        names = [*named, "count", "deviation"]
        return pa.Table.from_arrays([*(pa.array(each, pa.string()) for each in named.values()), counts, spread], names)

    def texts(self) -> list[list[str]]:
        """Its lines for people."""
        return [
            [*map(str, cells), f"{count:,.1f}", "–" if deviation is None else f"{deviation:,.1f}"]
            for cells, count, deviation in self.lines()
        ]

    def __str__(self) -> str:
        shown = [", ".join(cells) + f": {count} (deviation {spread})" for *cells, count, spread in self.texts()]
        return "\n".join([f"{' × '.join(self.columns)}, {self.note}", *shown])

    def _repr_html_(self) -> str:
        headers, shown = [*self.columns, "count", "deviation"], self.texts()[:_SHOWN]
        more = self.counts.size - len(shown)
        footer = f"and {more} more cells" if more else None
        return fragment(" × ".join(self.columns), facts=[("counts", self.note)], table=(headers, shown), footer=footer)

    def as_dict(self) -> dict[str, Any]:
        rows = [
            {"cells": [cell.as_dict() for cell in cells], "count": count, "deviation": deviation}
            for cells, count, deviation in self.lines()
        ]
        return {"columns": list(self.columns), "source": self.source, "note": self.note, "rows": rows}


@dataclass(frozen=True)
class _Side:
    """One column of the table: the measured one that it is, or follows from."""

    column: Column
    base: Column
    marginal: Marginal
    measured: Measurements

    @property
    def derived(self) -> bool:
        return self.column is not self.base

    def every_code(self) -> Codes:
        """All codes of the measured column, special values and missing last."""
        codes = np.arange(self.marginal.code_count)
        return np.append(codes, MISSING) if self.base.allows_null else codes

    def in_cells(self, within: Callable[[Codes], Groups]) -> tuple[Groups, list[Cell]] | None:
        """Given which of some cells each code of the measured column is in: for each of these the cell of a derived
        column, and what these cells are. None where one of them is in two, or if there are too many codes to tell."""
        if self.marginal.code_count > _MOST_CODES:
            return None
        codes = self.every_code()
        found = self.measured.schema.scope.completed({self.base.name: codes}, [self.column.name])[self.column.name]
        return _constant(found, within(codes), self.column)

    def of_base_cells(self) -> tuple[Groups, list[Cell]] | None:
        """The cell of each base cell, and what these cells are."""
        if self.derived:
            return self.in_cells(self.marginal.cell_of)
        cells = base_cells(self.base, self.marginal)
        return np.arange(len(cells)), cells

    def of_groups(self, groups: Groups) -> tuple[Groups, list[Cell]] | None:
        """The same for groups of base cells, of which a measured table is."""
        if self.derived:
            return self.in_cells(lambda codes: groups[self.marginal.cell_of(codes)])
        cells = together(base_cells(self.base, self.marginal), groups)
        return np.arange(len(cells)), cells

    def of_level(self, level: Level) -> tuple[Groups, list[Cell]] | None:
        """The same for what a column was asked by itself, special values and missing at the end; numbers added up to
        base cells."""
        beside = apart(self.base)
        last = len(level.low) + len(beside) - 1

        def within(codes: Codes) -> Groups:
            ordinary = np.searchsorted(level.low, np.minimum(codes, level.high[-1] - 1), side="right") - 1
            special = ordinary + np.maximum(codes - level.high[-1] + 1, 0)
            return np.where(codes == MISSING, last, special)

        if self.derived:
            return self.in_cells(within)
        group = np.arange(len(level.low))
        if self.marginal.ordered:
            group = np.unique(self.marginal.cell_of(level.low), return_inverse=True)[1]
        cells = together(ranges(self.base, level.low, level.high), group) + beside
        return np.append(group, int(group.max()) + 1 + np.arange(len(beside))), cells


def _constant(codes: Codes, within: Groups, column: Column) -> tuple[Groups, list[Cell]] | None:
    """The one code that every cell has, as a number, and the cells that these are."""
    last = np.iinfo(np.int64).max  # of missing, which comes last
    codes = np.where(codes == MISSING, last, codes)
    allowed = codes >= 0  # values that leave the derived column none do not occur
    least = np.full(int(within.max()) + 1, last)
    most = np.full(len(least), -1)
    np.minimum.at(least, within[allowed], codes[allowed])
    np.maximum.at(most, within[allowed], codes[allowed])
    empty = most < 0
    if (least != most)[~empty].any():
        return None
    least[empty] = least.min()
    present, group = np.unique(least, return_inverse=True)
    cells = [Cell(missing=True) if code == last else _single(column, int(code)) for code in present]
    return group.astype(np.int64), cells


def _single(column: Column, code: int) -> Cell:
    domain = column.domain
    if isinstance(domain, Grid) and code > domain.width:
        return apart(column)[code - domain.width - 1]
    return ranges(column, np.array([code]), np.array([code + 1]))[0]


def estimated(measured: Measurements, fitted: Fitted, names: Sequence[str]) -> TableEstimate:
    """The table of these columns."""
    sides = _sides(measured, names)
    found = _of_one(measured, sides[0]) if len(sides) == 1 else _of_tables(measured, sides)
    if found is not None:
        return found
    groups = [side.of_base_cells() for side in sides]
    for side, group in zip(sides, groups, strict=True):
        if group is None:
            raise _not_in_cells(side.column)
    known = [group for group in groups if group is not None]
    table = fitted.table([side.base.name for side in sides], [group for group, _ in known])
    cells = tuple(tuple(each) for _, each in known)
    return TableEstimate(tuple(names), "from the model", "", cells, table, None)


def _sides(measured: Measurements, names: Sequence[str]) -> list[_Side]:
    schema = measured.schema
    columns = {column.name: column for column in schema.columns}
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise PlanError(
            f"The model has no column {unknown[0]!r}.", cost="", remedy=f"Its columns: {', '.join(columns)}."
        )
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise PlanError(f"A table has 1 to {MOST_COLUMNS} columns.", cost="", remedy="Name as many.")
    sides = []
    for name in names:
        base = schema.scope.base([name])
        if len(base) != 1:
            raise _not_in_cells(columns[name])
        sides.append(_Side(columns[name], columns[base[0]], measured.columns[base[0]], measured))
    if len({side.base.name for side in sides}) < len(sides):
        raise PlanError(
            "Two columns of the table are the same, or follow from the same one.",
            cost="",
            remedy="Name each column once.",
        )
    return sides


def _not_in_cells(column: Column) -> PlanError:
    said = "" if column.derived is None else f" ({column.derived.said})"
    return PlanError(
        f"Column {column.name!r} is computed from others{said}, and cells of the model do not tell its values apart.",
        cost="",
        remedy="Ask for the columns that it follows from, or count it in rows that `rankveil sample` draws.",
    )


def _of_one(measured: Measurements, side: _Side) -> TableEstimate | None:
    """A column by itself: the finest level that covers it, its cells added up to base cells."""
    name = side.base.name
    if name not in measured.asked:
        found = side.of_base_cells()
        if found is None:
            return None
        group, cells = found
        counts = np.bincount(group, side.marginal.mass).astype(np.float64)
        return TableEstimate((side.column.name,), "public", "", (tuple(cells),), counts, np.zeros(len(counts)))
    each = measured.asked[name]
    level = each.levels[last_covering(each)]
    found = side.of_level(level)
    if found is None:
        return None
    group, cells = found
    counts = np.bincount(group, np.append(level.noisy, each.apart)).astype(np.float64)
    spread = level.deviation * np.sqrt(np.bincount(group))
    return TableEstimate((side.column.name,), "measured", "", (tuple(cells),), counts, spread)


def _of_tables(measured: Measurements, sides: Sequence[_Side]) -> TableEstimate | None:
    """A noisy table of these columns, or of these and others; the one with the least noise, of the fewest columns."""
    wanted = [side.base.name for side in sides]
    best: tuple[tuple[float, float], TableEstimate] | None = None
    for table in measured.tables:
        if table.parity or not set(wanted) <= set(table.columns):
            continue
        axes = [table.columns.index(name) for name in wanted]
        others = tuple(axis for axis in range(table.noisy.ndim) if axis not in axes)
        counts = np.transpose(table.noisy.sum(axis=others), np.argsort(np.argsort(axes)))
        many = np.full(counts.shape, math.prod(table.noisy.shape[axis] for axis in others))
        cells: list[tuple[Cell, ...]] = []
        for place, (side, axis) in enumerate(zip(sides, axes, strict=True)):
            found = side.of_groups(table.groups[axis])
            if found is None:
                break
            group, here = found
            counts, many = (_added(each, group, place) for each in (counts, many))
            cells.append(tuple(here))
        else:
            names = tuple(side.column.name for side in sides)
            of = "" if len(table.columns) == len(wanted) else f"the table of {', '.join(table.columns)}"
            spread = table.deviation * np.sqrt(many)
            made = TableEstimate(names, "measured", of, tuple(cells), counts.astype(np.float64), spread)
            rank = (float(len(table.columns)), float(np.median(spread)))
            best = (rank, made) if best is None or rank < best[0] else best
    return None if best is None else best[1]


def _added(table: Numbers, group: Groups, axis: int) -> Numbers:
    """The table with cells of one axis added up."""
    moved = np.moveaxis(table, axis, 0)
    found = np.zeros((int(group.max()) + 1, *moved.shape[1:]), table.dtype)
    np.add.at(found, group, moved)
    return np.moveaxis(found, 0, axis)
