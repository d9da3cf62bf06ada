"""How wide intervals of estimates will be, as far as the plan and the number of rows tell.

What is said  Half the width of a 95 % interval (rankveil estimate, target `table`) for shares of all people: those with
              one value of a column; those up to a value in the middle of a column of numbers; those with one value of
              each of two columns, if their table is among the measured ones.
From          The planned noise on the counts of a column by itself; on tables, if as many are measured as the division
              of the budget expects. Tables measure columns again, which makes intervals narrower; what the fit shrinks
              away or cannot place makes them wider, and so does a table that takes more cells.
Not a limit   How wide they came out in simulations, as a multiple of what is said here, is stated with it
              (benchmarks/coverage.py, docs/estimates.md): what no table can be told beforehand, it is not told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rankveil import rules
from rankveil.declare import Column
from rankveil.declare.axis import Axis
from rankveil.declare.domain import Grid
from rankveil.measure.budget import Mechanism, Price
from rankveil.measure.columns import first_question

NORMAL = 1.959963984540
# Of intervals in simulations, as multiples of what is said here: the middle 90 of 100, four tables together
# (benchmarks/results/coverage.json, "beside expected").
SEEN = {"one value": (0.58, 3.5), "the middle": (0.42, 7.4), "two columns": (0.33, 2.9)}
ABOUT_INTERVALS = (
    "Expected, not a limit: in simulations 90 of 100 intervals were between "
    + ", ".join(f"{low:g} and {high:g} times as wide for {what}" for what, (low, high) in SEEN.items())
    + " (docs/estimates.md). The longer end is where the fit cannot place what it has measured."
)


@dataclass(frozen=True)
class ExpectedInterval:
    """Of one kind of estimate."""

    column: str | None  # None: of two columns
    question: str
    half_width: float  # as a share of all people

    @property
    def answer(self) -> str:
        points = 100 * min(self.half_width, 1.0)
        said = f"{points:.2g}"
        return f"± {said} point{'' if said == '1' else 's'}" if points < 100 else "± 100 points: nothing is known"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "answer": self.answer}


def expected_intervals(
    columns: Mapping[str, Column], mechanisms: Sequence[Mechanism], rows: int
) -> tuple[ExpectedInterval, ...]:
    """For columns that are released as counts, and for pairs of them."""
    found: list[ExpectedInterval] = []
    for mechanism in mechanisms:
        column = columns.get(mechanism.column)
        if column is not None and not column.private_bounds and "for bounds" not in mechanism.name:
            found += _of_column(column, mechanism, rows)
    count = min(math.comb(len(columns), 2), rules.TABLES_PER_COLUMN * len(columns))
    for mechanism in mechanisms:
        if "T17" in mechanism.theorems and "two-way" in mechanism.name and count:
            deviation = (Price.of(mechanism) / count).on_counts().deviation
            question = "share with one value of each of two columns, if their table is measured"
            found.append(ExpectedInterval(None, question, NORMAL * deviation / rows))
    return tuple(found)


def _of_column(column: Column, mechanism: Mechanism, rows: int) -> list[ExpectedInterval]:
    asked = first_question(column, rows, Price.of(mechanism))
    labelled = not isinstance(column.domain, Grid) or bool(column.domain.labels)
    cells = asked.cells + int(column.allows_null)
    found = []
    if asked.cells == Axis.of(column).size and asked.cells > 1:
        deviation = asked.levels[-1][1].deviation * math.sqrt(1 - 1 / cells)
        single = "label" if labelled else "value"
        found.append(ExpectedInterval(column.name, f"share with one {single}", NORMAL * deviation / rows))
    if not labelled:
        # Half of the cells, when the sum of all is known.
        deviation = min(noise.deviation * math.sqrt(len(edges) - 1) / 2 for edges, noise in asked.levels)
        found.append(ExpectedInterval(column.name, "share up to a value in the middle", NORMAL * deviation / rows))
    return found
