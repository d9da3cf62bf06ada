"""Tiny tables and their neighbours, and releases of them: what attacks are run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

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
    parents: dict[str, list[str]] = {
        "root": [],
        "A": ["root"],
        "B": ["root"],
        "a1": ["A"],
        "a2": ["A"],
        "b1": ["B"],
        "b2": ["B"],
    }
    return _nominal(name, Taxonomy(parents, ["a1", "a2", "b1", "b2"]), null)


def _nominal(name: str, taxonomy: Taxonomy, null: bool) -> Column:
    return Column(name, "category", Nominal(taxonomy), "protected", null, False, ())


def dataset(columns: Sequence[Column], rows: Rows | NDArray[np.int64]) -> Dataset:
    """A table with these codes, read as any other table."""
    codes = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(columns))
    table = pa.table({column.name: column.domain.decode(codes[:, place]) for place, column in enumerate(columns)})
    return Dataset(Schema(tuple(columns)), open_table(table))


def replaced(rows: Rows, place: int, record: Sequence[int]) -> Rows:
    return [*rows[:place], record, *rows[place + 1 :]]


def released(method: Method, grouped: object, budget: Budget, source: RandomSource) -> Mapping[str, Codes]:
    """One release of a grouped table: protected and linked as `rankveil release` does it."""
    return method.drawn(grouped, budget, source).collected()


def whole_releases(
    method: Method,
    columns: Sequence[Column],
    original: Rows,
    changed: Rows,
    k: int,
    epsilon: Fraction,
    source: RandomSource,
    score: Callable[[Mapping[str, Codes]], float],
) -> Callable[[bool, int], Scores]:
    """Scores of whole releases of either table, for `findings.sampled`. Grouping draws nothing and is done once."""
    grouped = [method.prepare(dataset(columns, rows), k) for rows in (original, changed)]

    def observe(is_changed: bool, count: int) -> Scores:
        def scores() -> Iterator[float]:
            for _ in range(count):
                yield score(released(method, grouped[is_changed], Budget(epsilon), source))

        return np.fromiter(scores(), np.float64, count)

    return observe
