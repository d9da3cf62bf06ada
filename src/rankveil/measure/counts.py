"""Counts of every column over a public grid: all that sound synopses need of single columns.

Guarantee    Replacing one record moves one count of each column from one cell to another: L1 2, L2 sqrt 2 per column
             (T12).
Argument     The cell of a value is a fixed function of that value and of the plan (T5). The sorted column, its ranked
             sums and every histogram over coarser public cells follow from the counts.
Arithmetic   int64; the state of the fold does not grow with the number of rows.

A column with more than 2^20 steps is counted in coarser cells: one step wide at zero and wider in proportion to the
distance from it, where zero lies inside the range; equally wide otherwise; the upper end by itself, since bounds are
often top codes. The rule reads the plan only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.axis import Axis
from rankveil.declare.dataset import Codings, Dataset
from rankveil.declare.digits import LastDigits
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.declare.rule import RowRule

MOST_SINGLE_COUNTS = 1 << 20  # codes that are cells of their own
_MOST_CODES = 1 << 24  # that are counted one by one: 64 MiB
_CODES_PER_ROW = 64
_SPREAD_CODES = 1 << 23  # from which sorting a batch first is quicker than adding to places far apart
_MOST_RECENT = (1 << 31) - 1
_ONE = np.int32(1)


@dataclass(frozen=True)
class CountGrid:
    """Public cells of one column: consecutive codes, then a cell for each special value, and one for missing."""

    column: Column

    def __getstate__(self) -> dict[str, Column]:
        return {"column": self.column}  # edges follow from it, and are long: states that travel leave them behind

    @property
    def size(self) -> int:
        """Number of codes, special values and missing apart."""
        domain = self.column.domain
        return domain.width + 1 if isinstance(domain, Grid) else domain.label_count

    @property
    def special(self) -> int:
        return len(self.column.domain.special) if isinstance(self.column.domain, Grid) else 0

    @property
    def apart(self) -> int:
        """Cells at the end: special values, and missing last."""
        return self.special + int(self.column.allows_null)

    @cached_property
    def edges(self) -> NDArray[np.int64] | None:
        """First code of every cell and the end of the last; None where every code is a cell of its own."""
        if self.size <= MOST_SINGLE_COUNTS:
            return None
        zero, size = self.zero, self.size
        if not 0 <= zero < size:
            return _with_upper_end(np.linspace(0, size, MOST_SINGLE_COUNTS + 1).astype(np.int64))
        # sinh with a slope of one step per cell at zero; solved for the number of cells by bisection.
        low, high = 1e-6, 1.0
        for _ in range(80):
            bend = math.sqrt(low * high)
            cells = (math.asinh((size - zero) * bend) + math.asinh(zero * bend)) / bend
            low, high = (bend, high) if cells > MOST_SINGLE_COUNTS else (low, bend)
        first, last = -math.asinh(zero * high) / high, math.asinh((size - zero) * high) / high
        inner = np.arange(math.floor(first), math.ceil(last) + 1, dtype=np.float64)
        inner *= high  # in place, for there are a million
        np.sinh(inner, out=inner)
        inner /= high
        inner += zero
        np.clip(np.rint(inner, out=inner), 0, size, out=inner)
        inner[0], inner[-1] = 0, size
        return _with_upper_end(inner.astype(np.int64))

    @property
    def zero(self) -> int:
        """The code of the value 0; outside 0..size-1 if the range does not hold it."""
        return Axis.of(self.column).zero

    @property
    def cell_count(self) -> int:
        """Cells, those for special values and missing included."""
        return (self.size if self.edges is None else len(self.edges) - 1) + self.apart

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """The cell of each code; missing last."""
        places = codes if self.edges is None else np.searchsorted(self.edges, codes, side="right") - 1
        if self.special and self.edges is not None:
            places = np.where(codes >= self.size, codes - self.size + len(self.edges) - 1, places)
        return np.where(codes == MISSING, self.cell_count - 1, places) if self.column.allows_null else places


@dataclass(frozen=True)
class Counts:
    """Exact counts of one column: raw data, not protected."""

    grid: CountGrid
    per_cell: NDArray[np.int64]

    @property
    def missing(self) -> int:
        return int(self.per_cell[-1]) if self.grid.column.allows_null else 0

    @property
    def present(self) -> NDArray[np.int64]:
        return self.per_cell[: len(self.per_cell) - self.grid.apart]

    @property
    def apart(self) -> NDArray[np.int64]:
        """Of special values, and of missing last."""
        return self.per_cell[len(self.per_cell) - self.grid.apart :]

    @cached_property
    def _below(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.present)])

    def between(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Records in each of the cells [edges[i], edges[i+1]) of codes; edges must be edges of the grid."""
        places = edges if self.grid.edges is None else np.searchsorted(self.grid.edges, edges)
        return np.diff(self._below[places])

    def by_class(self, digits: LastDigits) -> NDArray[np.int64]:
        """Records by the last digit of their number; every code must be a cell of its own."""
        some = np.flatnonzero(self.present)
        found = np.zeros(digits.count, np.int64)
        np.add.at(found, digits.classes(some), self.present[some])
        return found

    def snapped(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nearest edges of the grid, each once."""
        if self.grid.edges is None:
            return _each_once(edges)
        places = np.searchsorted(self.grid.edges, edges)
        return _each_once(self.grid.edges[np.minimum(places, len(self.grid.edges) - 1)])


class NoCounts(Counts):
    """Of a column without records, for dry runs: zero wherever it is asked, without a number for every cell."""

    @classmethod
    def of(cls, column: Column) -> NoCounts:
        return cls(CountGrid(column), np.zeros(CountGrid(column).apart, np.int64))

    def between(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.zeros(len(edges) - 1, np.int64)

    def snapped(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        return _each_once(edges)


def _with_upper_end(edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Edges, each once, and the last code as a cell of its own."""
    last = edges[-1]  # rounding may have put the edge before it in the same place
    return _each_once(np.append(np.minimum(edges[:-1], last - 1), [last - 1, last]))


def _each_once(ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    """An ascending sequence without its repetitions."""
    first = np.empty(len(ascending), np.bool_)
    first[:1] = True
    np.greater(ascending[1:], ascending[:-1], out=first[1:])
    distinct: NDArray[np.int64] = ascending[first]
    return distinct


_Array = TypeVar("_Array", NDArray[np.int32], NDArray[np.int64])


def _sum(first: _Array | None, second: _Array | None) -> _Array | None:
    """Both, in place of the first; None counts nothing."""
    if first is None or second is None:
        return second if first is None else first
    first += second
    return first


class CellCounter:
    """Counts of one column while they grow.

    Codes are counted one by one in 32 bits, which keeps the array short: adding to random places of a long one is what
    a pass spends its time on. They are added up to cells in 64 bits before they could overflow, and when states are
    merged or sent away.
    """

    def __init__(self, grid: CountGrid) -> None:
        self.grid = grid
        self._settled: NDArray[np.int64] | None = None  # of every cell; made late, since making it takes time too
        self._recent: NDArray[np.int32] | None = None  # of every code; the last place takes values without one
        self._recent_rows = 0
        self._rows = 0

    def add(self, codes: Codes) -> None:
        self._rows += len(codes)
        if self.grid.size > _MOST_CODES or (self._recent is None and self.grid.size > _CODES_PER_ROW * self._rows):
            # Too many codes, or too few rows for an array of all codes to pay.
            # In ascending order the search stays where the processor's cache is: four times as quick.
            self._add_cells(self.grid.cells(np.sort(codes)))
            return
        if self._recent_rows + len(codes) > _MOST_RECENT:
            self.settle()
        if self._recent is None:
            # Filled, not np.zeros: such memory gets large pages where the system has them, which random places need.
            self._recent = np.empty(self.grid.size + self.grid.special + 1, np.int32)
            self._recent.fill(0)
        if self.grid.size > _SPREAD_CODES:
            codes = np.sort(codes.astype(np.int32)).astype(np.intp)
        np.add.at(self._recent, codes, _ONE)  # missing is -1, which is the last place
        self._recent_rows += len(codes)

    def _add_cells(self, cells: NDArray[np.int64]) -> None:
        # Values that do not fit the plan have no cell: the pass refuses the table at its end.
        if self._settled is None:
            self._settled = np.zeros(self.grid.cell_count, np.int64)
        np.add.at(self._settled, cells[cells >= 0], 1)

    def settle(self) -> NDArray[np.int64]:
        """Everything added up to cells."""
        if self._recent is not None:
            self._settled = _sum(self._settled, self._recent_cells(self._recent))
            self._recent, self._recent_rows = None, 0
        return np.zeros(self.grid.cell_count, np.int64) if self._settled is None else self._settled

    def _recent_cells(self, recent: NDArray[np.int32]) -> NDArray[np.int64]:
        allows_null, edges = self.grid.column.allows_null, self.grid.edges
        if edges is None:
            return recent[: len(recent) - int(not allows_null)].astype(np.int64)
        cells = np.add.reduceat(recent[: self.grid.size], edges[:-1], dtype=np.int64)
        return np.append(cells, recent[self.grid.size : self.grid.size + self.grid.apart])

    def __add__(self, other: CellCounter) -> CellCounter:
        if self._recent_rows + other._recent_rows > _MOST_RECENT:
            self.settle()
            other.settle()
        self._recent = _sum(self._recent, other._recent)
        self._recent_rows += other._recent_rows
        self._settled = _sum(self._settled, other._settled)
        self._rows += other._rows
        return self

    def __getstate__(self) -> dict[str, object]:
        self.settle()
        return self.__dict__


@dataclass(frozen=True)
class _Counting:
    """The fold that counts."""

    grids: dict[str, CountGrid]
    only_checked: tuple[str, ...]

    @property
    def columns(self) -> Sequence[str]:
        return [*self.grids, *self.only_checked]

    def zero(self) -> dict[str, CellCounter]:
        return {name: CellCounter(grid) for name, grid in self.grids.items()}

    def step(self, state: dict[str, CellCounter], batch: Codings) -> dict[str, CellCounter]:
        for name, counter in state.items():
            counter.add(batch[name])
        return state

    def merge(self, first: dict[str, CellCounter], second: dict[str, CellCounter]) -> dict[str, CellCounter]:
        return {name: counter + second[name] for name, counter in first.items()}


def count_columns(
    dataset: Dataset, columns: Sequence[Column], *, only_checked: Sequence[str] = (), rules: tuple[RowRule, ...] = ()
) -> tuple[dict[str, Counts], int]:
    """One pass over the rows: counts of every column, and the number of rows.

    `only_checked`: columns that are read and checked against the plan, but not counted. `rules`: what rows obey.
    """
    grids = {column.name: CountGrid(column) for column in columns}
    state, rows = dataset.fold(_Counting(grids, tuple(only_checked)), rules)
    return {name: Counts(grids[name], counter.settle()) for name, counter in state.items()}, rows
