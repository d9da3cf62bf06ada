"""Cells of a column that follow from the values of one table, to count other tables in.

Cells: one per value of a domain of at most 20 values and per label (or concept); otherwise 20 quantile bins, each
beginning at a quantile. A value so common that two quantiles fall on it (a spike at zero) is a cell of its own, and
so are special values and missing.

Guarantee    The cell of a value is a function of that value and of the table that the cells were cut by. Where that is
             a release, cells are released things (T53).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid

QUANTILE_BINS = 20


@dataclass(frozen=True)
class Cutting:
    """Where the cells of a column begin, or that every code is one; and which of them are counted as one."""

    column: Column
    starts: Codes | None  # of cells of numbers; None: every code is a cell
    whole: NDArray[np.int64] | None = None  # the cell of each of the finer ones; None: each by itself

    @property
    def _finer(self) -> int:
        """Cells before any are put together; missing comes after them."""
        domain = self.column.domain
        if not isinstance(domain, Grid):
            return domain.taxonomy.node_count
        return domain.code_count if self.starts is None else len(self.starts) + 1 + len(domain.special)

    @property
    def count(self) -> int:
        """Cells, that of missing included."""
        return (self._finer if self.whole is None else int(self.whole.max()) + 1) + 1

    def places(self, codes: Codes) -> NDArray[np.int64]:
        """The cell of each value; missing last."""
        found, domain = codes, self.column.domain
        if self.starts is not None and isinstance(domain, Grid):
            special = len(self.starts) + codes - domain.width
            found = np.where(codes > domain.width, special, np.searchsorted(self.starts, codes, side="right"))
        if self.whole is not None:
            found = self.whole[np.where(codes == MISSING, 0, found)]
        return np.where(codes == MISSING, self.count - 1, found)

    def with_at_most(self, most: int, codes: Codes) -> Cutting:
        """Of labels those that these values have most often, and all others as one cell."""
        counts = np.bincount(self.places(codes), minlength=self.count)[:-1]
        if len(counts) + 1 <= most:
            return self
        whole = np.full(len(counts), most - 2, np.int64)
        kept = np.sort(np.argsort(-counts, kind="stable")[: most - 2])
        whole[kept] = np.arange(most - 2)
        return Cutting(self.column, self.starts, whole)


def cut(column: Column, codes: Codes) -> Cutting:
    """Cells by the values of one table."""
    if isinstance(column.domain, Grid) and column.domain.width >= QUANTILE_BINS:
        return Cutting(column, quantile_starts(column.domain.without_special(codes), QUANTILE_BINS))
    return Cutting(column, None)


def quantile_starts(codes: Codes, parts: int, *, first: int = 1) -> Codes:
    """Where parts of about as many present values each begin; a spike, on which two quantiles fall, is one itself."""
    present: Codes = codes[codes != MISSING]
    if len(present) == 0:
        return present
    quantiles = np.quantile(present, np.arange(first, parts) / parts, method="higher")
    spikes = quantiles[1:][np.diff(quantiles) == 0]
    starts: Codes = np.unique(np.concatenate([quantiles, spikes + 1])).astype(np.int64)
    return starts
