"""Cells of columns in the words of the plan: labels, lower and upper ends, special values, missing. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.digits import LastDigits
from rankveil.declare.domain import Codes, Grid
from rankveil.declare.schema import Column
from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal, OrderedMarginal

MISSING_WORD = "missing"
_MOST_NAMED = 4  # labels of one cell that its short form names


@dataclass(frozen=True)
class Cell:
    """Some values of a column, none of them in another cell of the same table."""

    lower: str | None = None  # of numbers, days and ordered labels
    upper: str | None = None
    labels: tuple[str, ...] = ()  # of labels without an order
    special: tuple[str, ...] = ()  # values with a meaning of their own
    missing: bool = False

    def __str__(self) -> str:
        """Short: of many labels the first ones."""
        parts = (
            [] if self.lower is None else [self.lower if self.lower == self.upper else f"{self.lower} to {self.upper}"]
        )
        more = len(self.labels) - _MOST_NAMED
        parts += self.labels if more <= 1 else (*self.labels[:_MOST_NAMED], f"{more} others")
        parts += [f"{value} (special)" for value in self.special]
        return ", ".join([*parts, *([MISSING_WORD] if self.missing else [])])

    def as_dict(self) -> dict[str, Any]:
        """What it is, and nothing that it is not."""
        said = {"lower": self.lower, "upper": self.upper, "labels": list(self.labels), "special": list(self.special)}
        return {key: value for key, value in {**said, "missing": self.missing}.items() if value}

    def __add__(self, other: Cell) -> Cell:
        """Both together; of ranges the hull, which is the same where one follows the other."""
        return Cell(
            self.lower if self.lower is not None else other.lower,
            other.upper if other.upper is not None else self.upper,
            (*self.labels, *other.labels),
            (*self.special, *other.special),
            self.missing or other.missing,
        )


def value_texts(column: Column, codes: Codes) -> list[str]:
    """Codes of values as the plan writes them; days in ISO form."""
    values = column.domain.decode(codes).to_pylist()
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]


def ranges(column: Column, low: Codes, high: Codes) -> list[Cell]:
    """Cells of the codes low .. high - 1."""
    first, last = value_texts(column, low), value_texts(column, high - 1)
    if isinstance(column.domain, Grid):
        return [Cell(lower, upper) for lower, upper in zip(first, last, strict=True)]
    return [Cell(labels=(label,)) for label in first]


def apart(column: Column) -> list[Cell]:
    """Cells that every measurement of a column has at its end: special values, and missing last."""
    grid = column.domain
    special = value_texts(column, grid.width + 1 + np.arange(len(grid.special))) if isinstance(grid, Grid) else []
    return [Cell(special=(value,)) for value in special] + ([Cell(missing=True)] if column.allows_null else [])


def last_digits(digits: LastDigits, column: Column) -> list[str]:
    """What numbers of each class end in."""
    return digits.words(column.domain.step) if isinstance(column.domain, Grid) else []


def base_cells(column: Column, marginal: Marginal) -> list[Cell]:
    """The base cells of a column, in order."""
    if isinstance(marginal, OrderedMarginal):
        low, high = np.append(0, marginal.edges), np.append(marginal.edges, marginal.size)
        return ranges(column, low, high) + apart(column)
    every = np.arange(marginal.code_count)
    found = together(ranges(column, every, every + 1), marginal.cell_of(every))
    return found + ([Cell(missing=True)] if marginal.null else [])


def together(cells: Sequence[Cell], group: Groups | NDArray[np.int64]) -> list[Cell]:
    """Cells in groups: those of each group as one."""
    found: dict[int, Cell] = {}
    for cell, place in zip(cells, group.tolist(), strict=True):
        found[place] = found[place] + cell if place in found else cell
    return [found[place] for place in range(len(found))]
