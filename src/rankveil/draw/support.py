"""Rows drawn again that agree with everything that was measured. Post-processing (T1).

What for     An estimate that measured tables fix does not move under such weights; what still varies of it was not
             measured. So the weights must keep the tables far better than their noise.
How          Changes of weights are thrown by chance, and then brought to the nearest that change no measured table:
             their projection. Of few cells altogether it is computed at once; of many by conjugate gradients over
             sweeps through all tables, to and fro, each of which mends one table exactly (Björck and Elfving 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.measure.measurements import Floats

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Fixed:
    """One measured table: the cell of each kind of row, and the deviation of its noise."""

    cells: Places
    size: int
    deviation: float


@dataclass(frozen=True)
class Projection:
    """Onto changes of weights under which no table changes. Kinds of rows, each with so many rows."""

    tables: Sequence[Fixed]
    rows: Floats

    def of(self, change: Floats) -> Floats:
        """The change that is left, of each kind."""
        if sum(table.size for table in self.tables) <= rules.MOST_DIRECT_CELLS:
            return self._at_once(change)
        found, left = np.zeros(len(change)), change - self._swept(change)
        along, now = left.copy(), self._square(left)
        for _ in range(rules.SUPPORT_STEPS):
            if self.off(change - found) <= rules.SUPPORT_SETTLED:
                break
            turned = along - self._swept(along)
            length = now / max(float((self.rows * along) @ turned), 1e-300)
            found += length * along
            left -= length * turned
            last, now = now, self._square(left)
            along = left + now / max(last, 1e-300) * along
        return change - found

    def off(self, change: Floats) -> float:
        """How far the change moves the table that it moves most, in deviations of its noise."""
        weighed = self.rows * change
        moved = (np.bincount(each.cells, weighed, minlength=each.size) / each.deviation for each in self.tables)
        return max((float(np.sqrt(np.mean(table**2))) for table in moved), default=0.0)

    def _square(self, change: Floats) -> float:
        return float((self.rows * change) @ change)

    def _swept(self, change: Floats) -> Floats:
        change = change.copy()
        both = list(zip(self.tables, self._masses, strict=True))
        for table, mass in (*both, *reversed(both)):
            change -= (np.bincount(table.cells, self.rows * change, minlength=table.size) / mass)[table.cells]
        return change

    @cached_property
    def _masses(self) -> list[Floats]:
        counts = (np.bincount(each.cells, self.rows, minlength=each.size) for each in self.tables)
        return [np.maximum(each, 1e-300) for each in counts]

    def _at_once(self, change: Floats) -> Floats:
        members, inverse = self._solver
        return np.asarray(change - members @ (inverse @ (members.T @ (self.rows * change))))

    @cached_property
    def _solver(self) -> tuple[Floats, Floats]:
        """Which cells each kind is in, one of each table left out; and how cells share what they lack."""
        members = np.zeros((len(self.rows), 1 + sum(table.size - 1 for table in self.tables)))
        members[:, 0], first = 1.0, 1
        for table in self.tables:
            inside = np.flatnonzero(table.cells < table.size - 1)
            members[inside, first + table.cells[inside]] = 1.0
            first += table.size - 1
        shared = members.T @ (members * self.rows[:, None])
        return members, np.asarray(np.linalg.pinv(shared, rcond=1e-9, hermitian=True), dtype=np.float64)
