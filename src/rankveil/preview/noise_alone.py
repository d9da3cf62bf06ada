"""Pure ε or (ε, δ)? What the planned noise alone moves, both ways, and which way moves less.

The figure   For one column that is counted in so many cells: cells x E|noise on a count| / (2 rows), at most 1. It is
             the expected total variation between the column's counts and the same counts with the planned noise on
             them, before anything is made of them. The mean over the columns counts. The rule counts a column first
             in more cells where noise is small; both ways are compared in the finer cells of the two, for fewer cells
             have less noise and say less.
What it is   An expectation of planned noise, from the plan and the number of rows. Not a limit, and no forecast for a
             table: what is made of noisy counts (counts that add up, thin cells, tables of pairs) depends on it.
Checked      Whether the way with the smaller figure has the smaller measured error, on whole releases of tables of many
             shapes: benchmarks/pure_or_delta.py, with its results in docs/comparing.md.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from rankveil.declare import Plan, declare_alone
from rankveil.errors import PlanError
from rankveil.measure.budget import Mechanism, Price
from rankveil.measure.columns import first_question
from rankveil.methods import method_named
from rankveil.preview.reach import mean_size

SMALL_DELTA = Decimal("1e-9")
NO_LIMIT = "It is an expectation for planned noise, not a limit: a release can come out better or worse."
# Noise without a δ (Laplace) has longer tails than noise with one (Gauss), and thresholds make more of tails than their
# mean says: what is exceeded once in a hundred draws is ln 100 = 4.6 times its mean size, against 2.576 √(π/2) = 3.2.
# So ε alone is recommended where its figure is less than this part of the other. Removing it costs 7 % of the error of
# a release on average, where 3 % are lost with it (docs/comparing.md, measured before decision 26).
_TAILS = 2.576 * math.sqrt(math.pi / 2) / math.log(100)


@dataclass(frozen=True)
class Choice:
    """The figure both ways."""

    pure: float
    with_delta: float
    delta: str

    @property
    def better(self) -> Literal["pure", "delta"]:
        return "pure" if self.pure < _TAILS * self.with_delta else "delta"

    @property
    def figures(self) -> str:
        return (
            f"Expected share of records that the planned noise alone puts under another label or range, mean over"
            f" columns: {self.pure:.2g} with ε alone, {self.with_delta:.2g} with δ = {self.delta} as well."
        )

    @property
    def advice(self) -> str:
        if self.better == "pure":
            return "By this, ε alone is the better choice here, and it promises more."
        tails = " and because noise with ε alone is more often far from its mean" if self.pure < self.with_delta else ""
        return f"By this{tails}, δ = {self.delta} is the better choice here."

    @property
    def words(self) -> str:
        return f"{self.figures} {NO_LIMIT} {self.advice}"

    def as_dict(self) -> dict[str, Any]:
        return {"pure": self.pure, "with_delta": self.with_delta, "delta": self.delta, "better": self.better}


def advice(plan: Plan) -> list[str]:
    """In words, for a plan that says how many rows there are; nothing where there is nothing to say."""
    try:
        found = choice(plan, plan.release.expected_rows or 0)
    except PlanError:  # no column is protected
        found = None
    return [] if found is None else [found.words]


_THEN = "Computed with the guesses below: delete this with them."


def remark(plan: Plan) -> list[str]:
    """The same as lines of a draft. The figures follow from its guesses, so the lines go when they go."""
    return [
        line
        for words in advice(plan)
        for line in textwrap.wrap(f"{words} {_THEN if plan.guesses else str()}".strip(), 110)
    ]


def choice(plan: Plan, rows: int, planned: Sequence[Mechanism] | None = None) -> Choice | None:
    """None for methods that have no use for a δ, and where no column's noise is known from the plan.

    `planned`: what this very plan asks for with so many rows, if the caller knows it already.
    """
    method = method_named(plan.release.method)
    if not method.uses_delta:
        return None
    delta = plan.release.delta or SMALL_DELTA
    ways = [
        _counted(_with_delta(plan, rows, each), planned if each == plan.release.delta else None)
        for each in (None, delta)
    ]
    names = [name for name in ways[0] if name in ways[1]]
    if not names or not rows:
        return None
    finer = {name: max(way[name].cells for way in ways) for name in names}
    pure, with_delta = (sum(way[name].moved(finer[name], rows) for name in names) / len(names) for way in ways)
    return Choice(pure, with_delta, f"{delta.normalize():e}")


def _with_delta(plan: Plan, rows: int, delta: Decimal | None) -> Plan:
    return plan.model_copy(update={"release": plan.release.model_copy(update={"delta": delta, "expected_rows": rows})})


@dataclass(frozen=True)
class FirstCounts:
    """How a column is counted first: in so many cells, with noise of this mean size on each count."""

    cells: int
    noise: float

    def moved(self, cells: int, rows: int) -> float:
        """The figure, for noise of this size on so many cells."""
        return min(1.0, cells * self.noise / 2 / rows)


def _counted(plan: Plan, planned: Sequence[Mechanism] | None) -> dict[str, FirstCounts]:
    """Every column whose first counts are known from the plan; none where noise cannot be drawn."""
    columns = {column.name: column for column in declare_alone(plan).protected}
    found = {}
    try:
        for mechanism in method_named(plan.release.method).planned(plan) if planned is None else planned:
            column = columns.get(mechanism.column)
            if column is None or column.private_bounds or "for bounds" in mechanism.name:  # or cells found with noise
                continue
            asked = first_question(column, plan.release.expected_rows or 0, Price.of(mechanism))
            cells, (_, noise) = asked.cells + int(column.allows_null), asked.levels[-1]
            found[column.name] = FirstCounts(cells, mean_size(noise))
    except PlanError:  # the plan itself is refused elsewhere
        return {}
    return found
