"""Tiny tables and their neighbours, and releases of them: what attacks are run on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.audit.bounds import Scores
from rankveil.declare import Column, Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import OUTER_STEPS, Codes, Grid, Nominal
from rankveil.engines import open_table
from rankveil.measure.budget import Budget
from rankveil.methods import Method
from rankveil.noise import RandomSource
from rankveil.taxonomy import Taxonomy, flat_taxonomy

_DRAWS_PER_RUN = 200

Rows = Sequence[Sequence[int]]  # codes, row by row


def number(name: str = "a", width: int = 10, *, null: bool = False) -> Column:
    return Column(name, "integer", Grid(width), "protected", null, False, ())


def unbounded(name: str = "a") -> Column:
    """A number whose bounds are found with a part of the budget."""
    grid = Grid(2 * OUTER_STEPS, Decimal(-OUTER_STEPS))
    return replace(number(name), domain=grid, clamp=True, private_bounds=True)


def labels(name: str = "a", count: int = 4, *, null: bool = False) -> Column:
    taxonomy = flat_taxonomy([f"label {place}" for place in range(count)])
    return _nominal(name, taxonomy, null)


def tree_labels(name: str = "a", *, null: bool = False) -> Column:
    """Four labels below two concepts: distances differ."""
    above = {"root": [], "A": ["root"], "B": ["root"], "a1": ["A"], "a2": ["A"], "b1": ["B"], "b2": ["B"]}
    return _nominal(name, Taxonomy(above, ["a1", "a2", "b1", "b2"]), null)


def _nominal(name: str, taxonomy: Taxonomy, null: bool) -> Column:
    return Column(name, "category", Nominal(taxonomy), "protected", null, False, ())


def dataset(columns: Sequence[Column], rows: Rows | NDArray[np.int64]) -> Dataset:
    """A table with these codes, read as any other table."""
    codes = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(columns))
    table = pa.table({column.name: column.domain.decode(codes[:, place]) for place, column in enumerate(columns)})
    return Dataset(Schema(tuple(columns)), open_table(table))


def replaced(rows: Rows, place: int, record: Sequence[int]) -> Rows:
    return [*rows[:place], record, *rows[place + 1 :]]


Score = Callable[[Mapping[str, Codes]], float]


@dataclass(frozen=True)
class Setting:
    """What an audit is given: a method, the ε it claims, how much work to do, and randomness."""

    method: Method
    epsilon: Fraction
    runs: int  # whole releases of each table, where a release is quick
    source: RandomSource

    @property
    def claimed(self) -> float:
        return float(self.epsilon)

    @property
    def draws(self) -> int:
        """Draws for each table, where many can be made in one call."""
        return _DRAWS_PER_RUN * self.runs

    def grouped(self, columns: Sequence[Column], rows: Rows | NDArray[np.int64], k: int) -> Any:
        """A table as the method reads it."""
        return self.method.prepare(dataset(columns, rows), k)

    def released(self, grouped: object) -> Mapping[str, Codes]:
        """One release of a grouped table: protected and linked as `rankveil release` does it."""
        return self.method.drawn(grouped, Budget(self.epsilon), self.source).collected()

    def whole_releases(
        self, columns: Sequence[Column], original: Rows, changed: Rows, k: int, score: Score
    ) -> Callable[[bool, int], Scores]:
        """Scores of whole releases of either table, for `findings.sampled`. Grouping draws nothing and is done once."""
        grouped = [self.grouped(columns, rows, k) for rows in (original, changed)]

        def observe(is_changed: bool, count: int) -> Scores:
            return np.fromiter((score(self.released(grouped[is_changed])) for _ in range(count)), np.float64, count)

        return observe
