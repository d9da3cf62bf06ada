"""Two-way counts of all pairs of columns over released cells: one pass over the data.

Guarantee    Replacing one record changes each table by at most 2 in L1 (one record leaves a cell and enters another).
Argument     The cell of a value is a function of that value and of released marginals, never of other records' ranks.
Not covered  The tables themselves are exact: nothing of them leaves relink without noise.
Arithmetic   int64; the state does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rankveil.flow.declare.dataset import CodeBatch, Dataset
from rankveil.flow.protect.marginals.cells import Groups
from rankveil.flow.protect.marginals.shape import Marginal

Pair = tuple[str, str]
PairCounts = dict[Pair, NDArray[np.int64]]


@dataclass(frozen=True)
class _PairCounting:
    """The fold that counts all pairs."""

    marginals: Mapping[str, Marginal]

    @property
    def columns(self) -> list[str]:
        return list(self.marginals)

    @property
    def _sizes(self) -> dict[str, int]:
        return {name: marginal.cell_count for name, marginal in self.marginals.items()}

    def zero(self) -> PairCounts:
        sizes = self._sizes
        return {(a, b): np.zeros(sizes[a] * sizes[b], np.int64) for a, b in combinations(self.columns, 2)}

    def step(self, state: PairCounts, batch: CodeBatch) -> PairCounts:
        cells = {name: marginal.cell_of(batch[name]) for name, marginal in self.marginals.items()}
        sizes = self._sizes
        for a, b in state:
            state[a, b] += np.bincount(cells[a] * sizes[b] + cells[b], minlength=sizes[a] * sizes[b])
        return state

    def merge(self, first: PairCounts, second: PairCounts) -> PairCounts:
        return {pair: first[pair] + second[pair] for pair in first}


def count_pairs(dataset: Dataset, marginals: Mapping[str, Marginal]) -> PairCounts:
    """Exact two-way tables over base cells, for every pair of the columns."""
    flat, _ = dataset.fold(_PairCounting(marginals))
    return {(a, b): table.reshape(marginals[a].cell_count, marginals[b].cell_count) for (a, b), table in flat.items()}


def grouped(table: NDArray[np.int64], rows: Groups, columns: Groups) -> NDArray[np.int64]:
    """The same counts over coarser cells."""
    by_row = np.zeros((int(rows.max()) + 1, table.shape[1]), np.int64)
    np.add.at(by_row, rows, table)
    both = np.zeros((int(columns.max()) + 1, by_row.shape[0]), np.int64)
    np.add.at(both, columns, by_row.T)
    return both.T
