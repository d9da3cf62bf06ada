"""Two-way counts of all pairs of columns over released cells: one pass over the data.

Guarantee    Replacing one record changes each table by at most 2 in L1 (one record leaves a cell and enters another).
Argument     The cell of a value is a function of that value and of released marginals, never of other records' ranks.
Not covered  The tables themselves are exact: nothing of them leaves relink without noise.
Arithmetic   int64; the state does not grow with the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rankveil.flow.declare.dataset import CodeBatch, Dataset
from rankveil.flow.declare.domain import MISSING, Codes
from rankveil.flow.protect.marginals.cells import Groups
from rankveil.flow.protect.marginals.shape import Marginal

Pair = tuple[str, str]
PairCounts = dict[Pair, NDArray[np.int64]]

_LONG_BATCH = 1 << 15  # rows from which counting in bundles pays
_BUNDLE_CELLS = 324  # two columns of 18 cells; the table of two bundles stays in the processor's cache
_LARGEST_LOOKUP = 1 << 17  # codes: a table of all of them stays in the processor's cache


@dataclass(frozen=True)
class _Bundle:
    """Consecutive columns whose cells are counted as one: a digit for each column."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def cell_count(self) -> int:
        return math.prod(self.sizes)

    def weights(self) -> dict[str, int]:
        """What a step from one cell of a column to its next adds to the cell of the bundle."""
        return {name: math.prod(self.sizes[place + 1 :]) for place, name in enumerate(self.names)}


def _bundles(marginals: Mapping[str, Marginal]) -> list[_Bundle]:
    found: list[_Bundle] = []
    for name, marginal in marginals.items():
        size = marginal.cell_count
        if found and found[-1].cell_count * size <= _BUNDLE_CELLS:
            found[-1] = _Bundle((*found[-1].names, name), (*found[-1].sizes, size))
        else:
            found.append(_Bundle((name,), (size,)))
    return found


@dataclass(frozen=True)
class _PairCounting:
    """The fold that counts all pairs.

    A long batch is counted in bundles: the two-way table of two bundles of two columns each holds the tables of their
    six pairs, so that eight columns take 6 counts instead of 28. The bundles' table is added up to those of the pairs
    after every batch, so that the state is the same either way.
    """

    marginals: Mapping[str, Marginal]

    @property
    def columns(self) -> list[str]:
        return list(self.marginals)

    def zero(self) -> PairCounts:
        size = {name: marginal.cell_count for name, marginal in self.marginals.items()}
        return {(a, b): np.zeros((size[a], size[b]), np.int64) for a, b in combinations(self.columns, 2)}

    def step(self, state: PairCounts, batch: CodeBatch) -> PairCounts:
        if not state:
            return state
        rows = len(next(iter(batch.values())))
        return (self._step_in_bundles if rows >= _LONG_BATCH else self._step_by_pairs)(state, batch)

    def _step_by_pairs(self, state: PairCounts, batch: CodeBatch) -> PairCounts:
        cells = {name: marginal.cell_of(batch[name]) for name, marginal in self.marginals.items()}
        for (a, b), table in state.items():
            both = cells[a] * table.shape[1] + cells[b]
            table += np.bincount(both, minlength=table.size).reshape(table.shape)
        return state

    def _step_in_bundles(self, state: PairCounts, batch: CodeBatch) -> PairCounts:
        bundles = self._layout
        cells = [self._bundle_cells(bundle, batch) for bundle in bundles]
        if len(bundles) == 1:
            counts = np.bincount(cells[0], minlength=bundles[0].cell_count)
            return _add_within(state, bundles[0], counts)
        for (i, first), (j, second) in combinations(enumerate(bundles), 2):
            both = cells[i] * second.cell_count
            both += cells[j]
            counts = np.bincount(both, minlength=first.cell_count * second.cell_count)
            table = counts.reshape(first.cell_count, second.cell_count)
            _add_between(state, first, second, table)
            if j == i + 1:  # each bundle once, the last one with the last table
                _add_within(state, first, table.sum(axis=1))
            if i == len(bundles) - 2:
                _add_within(state, second, table.sum(axis=0))
        return state

    @cached_property
    def _layout(self) -> list[_Bundle]:
        return _bundles(self.marginals)

    @cached_property
    def _lookups(self) -> dict[str, NDArray[np.uint16]]:
        """What each code adds to the cell of its bundle; filled when a column is first seen."""
        return {}

    def _bundle_cells(self, bundle: _Bundle, batch: CodeBatch) -> NDArray[np.intp]:
        total = np.zeros(0, np.uint16)
        for name, weight in bundle.weights().items():
            added = self._added(name, weight, batch[name])
            total = added if name == bundle.names[0] else np.add(total, added, out=total)
        return total.astype(np.intp)

    def _added(self, name: str, weight: int, codes: Codes) -> NDArray[np.uint16]:
        marginal = self.marginals[name]
        if marginal.code_count > _LARGEST_LOOKUP:
            return (marginal.cell_of(codes) * weight).astype(np.uint16)
        if name not in self._lookups:
            # Missing is -1, which finds the last entry.
            every = np.append(np.arange(marginal.code_count), MISSING)
            self._lookups[name] = (marginal.cell_of(every) * weight).astype(np.uint16)
        return self._lookups[name][codes]

    def merge(self, first: PairCounts, second: PairCounts) -> PairCounts:
        return {pair: first[pair] + second[pair] for pair in first}


def _add_between(state: PairCounts, first: _Bundle, second: _Bundle, table: NDArray[np.int64]) -> None:
    """Pairs of one column of the first bundle and one of the second."""
    for a, rows in _each_column(first, table):
        for b, both in _each_column(second, rows.T):
            state[a, b] += both.T


def _add_within(state: PairCounts, bundle: _Bundle, counts: NDArray[np.int64]) -> PairCounts:
    """Pairs of columns of one bundle."""
    cube = counts.reshape(bundle.sizes)
    for (i, a), (j, b) in combinations(enumerate(bundle.names), 2):
        state[a, b] += cube.sum(axis=tuple(axis for axis in range(len(bundle.sizes)) if axis not in (i, j)))
    return state


def _each_column(bundle: _Bundle, table: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A table whose rows are the cells of a bundle, added up to the cells of each of its columns."""
    for place, (name, size) in enumerate(zip(bundle.names, bundle.sizes, strict=True)):
        before, after = math.prod(bundle.sizes[:place]), math.prod(bundle.sizes[place + 1 :])
        yield name, table.reshape(before, size, after, table.shape[1]).sum(axis=(0, 2))


def count_pairs(dataset: Dataset, marginals: Mapping[str, Marginal]) -> PairCounts:
    """Exact two-way tables over base cells, for every pair of the columns."""
    return dataset.fold(_PairCounting(marginals))[0]


def grouped(table: NDArray[np.int64], rows: Groups, columns: Groups) -> NDArray[np.int64]:
    """The same counts over coarser cells."""
    by_row = np.zeros((int(rows.max()) + 1, table.shape[1]), np.int64)
    np.add.at(by_row, rows, table)
    both = np.zeros((int(columns.max()) + 1, by_row.shape[0]), np.int64)
    np.add.at(both, columns, by_row.T)
    return both.T
