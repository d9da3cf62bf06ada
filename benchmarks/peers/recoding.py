"""Public cells for the numbers of a peer that leaves them to its user, so that mechanisms are compared and not bins.

Before the peer sees the table, every number becomes a label: its value where a column has at most 32 values, or at
most two for each cell it would have, else the cell it lies in. There are about 2·sqrt(records per unit of noise) cells,
at least 6 and at most 200, finer towards zero where the range holds it, as ours are. A released label becomes a value
drawn uniformly from its cell. All of it follows from the public description of the columns, n, ε and δ, so the peer's
guarantee stands. (A peer whose neighbours differ in n would have to spend a little on n; it is lent that, too.)

A peer with its own way to bin numbers gets labels for columns of at most 32 values only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.peers.data import Data, labels
from benchmarks.peers.systems import Scope
from rankveil.declare import declare_alone
from rankveil.declare.axis import Axis
from rankveil.measure.budget import rho_within

FEW_VALUES = 32
FEWEST_CELLS, MOST_CELLS = 6, 200


def cell_count(rows: int, columns: int, epsilon: str, delta: str) -> int:
    """For mechanisms that spend about half of their budget on single columns."""
    per_column = float(rho_within(Fraction(epsilon), Fraction(delta))) / 2 / columns
    deviation = 1 / math.sqrt(2 * per_column)
    return min(MOST_CELLS, max(FEWEST_CELLS, round(2 * math.sqrt(rows / deviation))))


@dataclass(frozen=True)
class Recoding:
    data: Data
    scope: Scope
    rows: int
    epsilon: str
    delta: str

    # user: begin
    @cached_property
    def starts(self) -> dict[str, np.ndarray]:
        """First values of the cells of each number that is recoded, and one past its last value."""
        cells = cell_count(self.rows, len(self.data.columns), self.epsilon, self.delta)
        declared = {column.name: column for column in declare_alone(self.data.plan).columns}
        found = {}
        for column in self.data.columns:
            if column["kind"] == "integer":
                name, lower, values = column["name"], column["lower"], column["upper"] - column["lower"] + 1
                if values <= (max(FEW_VALUES, 2 * cells) if self.scope == "all" else FEW_VALUES):
                    found[name] = lower + np.arange(values + 1)
                elif self.scope == "all":
                    edges = Axis.of(declared[name]).cut(cells)
                    found[name] = lower + edges
        return found

    def recode(self, table: Path, target: Path) -> None:
        frame = pd.read_csv(table, keep_default_na=False)
        for name, edges in self.starts.items():
            frame[name] = np.array(_names(edges))[np.searchsorted(edges, frame[name].to_numpy(), side="right") - 1]
        frame.to_csv(target, index=False)

    def restore(self, released: Path, seed: int) -> None:
        """The released table, in place, with values instead of cells."""
        frame, rng = pd.read_csv(released, keep_default_na=False), np.random.default_rng(seed)
        for name, edges in self.starts.items():
            places = frame[name].map({label: place for place, label in enumerate(_names(edges))}).to_numpy()
            frame[name] = rng.integers(edges[places], edges[places + 1])
        frame.to_csv(released, index=False)

    # user: end

    def told(self) -> Data:
        """What the peer is told."""
        columns = (
            labels(name, *_names(self.starts[name])) if (name := column["name"]) in self.starts else column
            for column in self.data.columns
        )
        return replace(self.data, columns=tuple(columns))


def _names(edges: np.ndarray) -> list[str]:
    return [f"cell {place}" for place in range(len(edges) - 1)]
