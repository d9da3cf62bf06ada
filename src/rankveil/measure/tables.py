"""Exact tables of several columns over released cells: one pass over the data for as many tables as are wanted.

Guarantee    Replacing one record changes each table by at most 2 in L1 (one record leaves a cell and enters another).
Argument     T17. The cell of a value is a function of that value and of released marginals, never of other records'
             ranks (T40).
Not covered  The tables themselves are exact: nothing of them leaves measure without noise.
Arithmetic   int64; the state does not grow with the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.dataset import Codings, Dataset
from rankveil.declare.domain import Codes
from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal, SmallCells

Columns = tuple[str, ...]
Counted = dict[Columns, NDArray[np.int64]]
Grouping = tuple[Groups, ...] | None  # the groups of base cells, column by column; None: every cell by itself

_STRETCH = 1 << 14  # rows that are counted table after table, while they are near the processor
_LONG_BATCH = 1 << 15  # rows from which counting in bundles pays
_BUNDLE_CELLS = 324  # two columns of 18 cells; the table of two bundles stays in the processor's cache
_MOST_BUNDLES = 16  # with tables of 50 MiB together
_LARGEST_LOOKUP = 1 << 20  # codes: a table of all of them, a byte each, stays near the processor
_MOST_RECENT = (1 << 31) - 1
_ONE = np.int32(1)


@dataclass(frozen=True)
class _Bundle:
    """Consecutive columns whose cells are counted as one: a digit for each column."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def cell_count(self) -> int:
        return math.prod(self.sizes)


def _bundles(sizes: Mapping[str, int]) -> list[_Bundle]:
    found: list[_Bundle] = []
    for name, size in sizes.items():
        if found and found[-1].cell_count * size <= _BUNDLE_CELLS:
            found[-1] = _Bundle((*found[-1].names, name), (*found[-1].sizes, size))
        else:
            found.append(_Bundle((name,), (size,)))
    return found


@dataclass(frozen=True)
class TableCounting:
    """The fold that counts tables over base cells, or over groups of them."""

    marginals: Mapping[str, Marginal]
    wanted: Mapping[Columns, Grouping]

    @property
    def columns(self) -> list[str]:
        asked = {name for columns in self.wanted for name in columns}
        return [name for name in self.marginals if name in asked]

    def zero(self) -> TableCounter:
        return TableCounter(self)

    def step(self, state: TableCounter, batch: Codings) -> TableCounter:
        state.add(batch)
        return state

    def merge(self, first: TableCounter, second: TableCounter) -> TableCounter:
        return first + second


class TableCounter:
    """Tables while they grow.

    Long batches of which all pairs of columns are wanted are counted in bundles: the two-way table of two bundles of
    two columns each holds the tables of their six pairs, so that eight columns take 6 counts instead of 28. The
    bundles' tables are added up to those of the pairs before they could overflow, and when states are merged.
    """

    def __init__(self, work: TableCounting) -> None:
        self._work = work
        sizes = {name: work.marginals[name].cell_count for name in work.columns}
        self._tables: Counted = {
            columns: np.zeros(
                [sizes[name] for name in columns] if groups is None else [int(group.max()) + 1 for group in groups],
                np.int64,
            )
            for columns, groups in work.wanted.items()
        }
        all_pairs = len(sizes) > 1 and set(work.wanted) == set(combinations(sizes, 2))
        plain = all(groups is None for groups in work.wanted.values())
        small = plain and all_pairs and max(sizes.values()) ** 2 <= _BUNDLE_CELLS
        self._bundles = _bundles(sizes) if small else []
        self._clear()

    def _clear(self) -> None:
        self._recent: dict[tuple[int, int], NDArray[np.int32]] = {}  # tables of bundles, by their places
        self._recent_rows = 0
        self._lookups: dict[str, SmallCells] = {}  # the cell of each code; missing last

    def add(self, batch: Codings) -> None:
        cells = {name: self._cells(name, batch[name]) for name in self._work.columns}
        rows = len(next(iter(cells.values())))
        count = len(self._bundles)
        if rows < _LONG_BATCH or not 1 < count <= _MOST_BUNDLES:
            self._add_one_by_one(cells, rows)
            return
        if self._recent_rows + rows > _MOST_RECENT:
            self.settle()
        self._recent_rows += rows
        places = [_bundle_cells(bundle, cells) for bundle in self._bundles]
        stride = max(bundle.cell_count for bundle in self._bundles)
        both = np.empty(rows, np.intp)
        for i, j in combinations(range(count), 2):
            if j == i + 1:
                row = places[i].astype(np.intp)
                row *= stride
            if (i, j) not in self._recent:
                self._recent[i, j] = np.zeros(self._bundles[i].cell_count * stride, np.int32)
            np.add.at(self._recent[i, j], np.add(row, places[j], out=both), _ONE)

    def _add_one_by_one(self, cells: Mapping[str, SmallCells], rows: int) -> None:
        # Longer where tables are large: each is added up after every stretch.
        length = max(_STRETCH, 16 * max((table.size for table in self._tables.values()), default=0))
        for start in range(0, rows, length):
            self._add_stretch({name: here[start : start + length] for name, here in cells.items()})

    def _add_stretch(self, cells: Mapping[str, SmallCells]) -> None:
        plain = {name: here.astype(np.intp) for name, here in cells.items()}
        many: dict[tuple[str, int], NDArray[np.intp]] = {}  # of a column by groups that several tables share
        led: tuple[int, ...] = ()  # the columns, and sizes, that `leading` is made of: all of a table but the last
        leading, place = np.empty(0, np.intp), np.empty(len(next(iter(plain.values()))), np.intp)
        for columns, table in self._tables.items():
            groups = self._work.wanted[columns]
            here = [plain[name] for name in columns]
            if groups is not None:
                for axis, (name, group) in enumerate(zip(columns, groups, strict=True)):
                    if (name, id(group)) not in many:
                        many[name, id(group)] = group.astype(np.intp, copy=False)[plain[name]]
                    here[axis] = many[name, id(group)]
            leads = (*map(id, here[:-1]), *table.shape)
            if leads != led:
                led, leading = leads, here[0] * table.shape[1]
                for size, each in zip(table.shape[2:], here[1:-1], strict=True):
                    leading += each
                    leading *= size
            np.add(leading, here[-1], out=place)
            if table.size > len(place):
                np.add.at(table.reshape(-1), place, 1)
            else:
                table += np.bincount(place, minlength=table.size).reshape(table.shape)

    def _cells(self, name: str, codes: Codes) -> SmallCells:
        marginal = self._work.marginals[name]
        if marginal.code_count > _LARGEST_LOOKUP or len(codes) < _LONG_BATCH:
            return marginal.small_cell_of(codes)
        if name not in self._lookups:
            self._lookups[name] = marginal.cell_table()
        return self._lookups[name].take(codes)  # missing is -1, which finds the last entry

    def settle(self) -> Counted:
        """Everything added up to the tables of pairs."""
        whole = {}
        for (i, j), flat in self._recent.items():
            first, second = self._bundles[i], self._bundles[j]
            table = flat.reshape(first.cell_count, -1)[:, : second.cell_count].astype(np.int64)
            whole[i], whole[j] = table.sum(axis=1), table.sum(axis=0)
            for a, rows in _each_column(first, table):
                for b, both in _each_column(second, rows.T):
                    self._tables[a, b] += both.T
        for place, counts in whole.items():
            self._add_within(self._bundles[place], counts)
        self._clear()
        return self._tables

    def _add_within(self, bundle: _Bundle, counts: NDArray[np.int64]) -> None:
        cube = counts.reshape(bundle.sizes)
        for (i, a), (j, b) in combinations(enumerate(bundle.names), 2):
            self._tables[a, b] += cube.sum(axis=tuple(axis for axis in range(cube.ndim) if axis not in (i, j)))

    def __add__(self, other: TableCounter) -> TableCounter:
        others = other.settle()
        for pair, table in self.settle().items():
            table += others[pair]
        return self

    def __getstate__(self) -> dict[str, object]:
        self.settle()
        return self.__dict__


def _bundle_cells(bundle: _Bundle, cells: Mapping[str, SmallCells]) -> NDArray[np.uint16]:
    first, *others = bundle.names
    places = cells[first].astype(np.uint16)
    for name, size in zip(others, bundle.sizes[1:], strict=True):
        places *= np.uint16(size)
        places += cells[name]
    return places


def _each_column(bundle: _Bundle, table: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A table whose rows are the cells of a bundle, added up to the cells of each of its columns."""
    for place, (name, size) in enumerate(zip(bundle.names, bundle.sizes, strict=True)):
        before, after = math.prod(bundle.sizes[:place]), math.prod(bundle.sizes[place + 1 :])
        yield name, table.reshape(before, size, after, table.shape[1]).sum(axis=(0, 2))


def count_tables(dataset: Dataset, marginals: Mapping[str, Marginal], wanted: Mapping[Columns, Grouping]) -> Counted:
    """Exact tables of these columns, over base cells or groups of them."""
    return dataset.fold(TableCounting(marginals, wanted))[0].settle() if wanted else {}


def grouped(table: NDArray[np.int64], groups: Sequence[Groups]) -> NDArray[np.int64]:
    """The same counts over coarser cells; no group is empty."""
    for axis, group in enumerate(groups):
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
        table = np.add.reduceat(table.take(order, axis), starts, axis)
    return table
