"""Measuring columns by themselves: noisy counts over nested public cells, refined where there is something to see.

Guarantee    Every column is measured at the price it is given: differentially private for whom the price protects.
Argument     Levels that are asked whatever the answers are histograms over public cells, special values and missing
             being some of them on the last: L1 2, L2 sqrt 2 each for a replaced record (T12; for others T50). Each
             further level counts disjoint parts of cells that the noisy counts above show to be heavy, cut along a
             public axis: for every list of earlier answers it is a histogram over fixed cells, T12 again. Last digits
             are one more histogram, over public classes of codes. The parts of the price add up to no more than the
             whole, along every list of answers (T2, T13, T14).
Public rule  Labels and small domains: every value by itself, the whole price on one level. Wide domains: a first level
             of as many cells as records per unit of noise warrant, a second level, and a search down to single codes,
             among which round numbers are looked at first where last digits are not counted.
Not covered  Which rows hold which values. What is made of the counts: fit/, which is post-processing.
Arithmetic   Integer counts and exact integer noise.
Theorems     T2, T12, T13, T14.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.axis import Axis
from rankveil.declare.digits import LastDigits
from rankveil.declare.domain import Grid
from rankveil.fit.marginal import Finest, Marginal, marginal_of
from rankveil.fit.segments import Segments
from rankveil.measure.budget import Budget, Mechanism, Noise, Price
from rankveil.measure.counts import MOST_SINGLE_COUNTS, Counts
from rankveil.measure.measurements import ColumnMeasurement, DigitCounts, Level, beyond_noise
from rankveil.noise import RandomSource
from rankveil.rules import (
    CELLS_PER_ROOT_REACH,
    FEWEST_CELLS,
    FOR_CELLS,
    FOR_DIGITS,
    FOR_GROUPS,
    FOR_PIECES,
    GROUP_SIZE,
    GROUPS_FROM,
    HEAVY,
    LARGEST_HEAVY_CELL,
    LEAST_SHARE_OF_A_DIGIT,
    MOST_CELLS,
    PIECES,
    ROUND_CODES_PER_PIECE,
    SEARCH_PIECES,
    SHARE_GROWS_UNTIL,
    SINGLE_VALUES,
)

Edges = NDArray[np.int64]


def column_parts(columns: Sequence[Column], price_unit: str) -> dict[str, Fraction]:
    """How a share of the budget is divided over columns: by the number of values, the power that makes error least."""
    power = 1 / 2 if price_unit == "epsilon" else 2 / 3
    weights = {column.name: round(1000 * min(Axis.of(column).size, SHARE_GROWS_UNTIL) ** power) for column in columns}
    whole = sum(weights.values())
    return {name: Fraction(weight, whole) for name, weight in weights.items()}


@dataclass(frozen=True)
class Question:
    """What a column is asked whatever the answers, in public terms: follows from the plan, n and the price."""

    levels: tuple[tuple[Edges, Noise], ...]  # edges of cells and the noise on each count, coarse to fine
    below: Price | None  # for levels inside heavy cells; None where nothing is divided
    digits: tuple[LastDigits, Noise] | None = None

    @property
    def cells(self) -> int:
        """Of the finest level."""
        return len(self.levels[-1][0]) - 1


def first_question(column: Column, rows: int, price: Price) -> Question:
    """The public rule, by the number of records per unit of noise and the size of the domain."""
    axis = Axis.of(column)
    whole = price.on_counts()
    if not isinstance(column.domain, Grid):
        return Question(((np.arange(axis.size + 1), whole),), None)
    digits = _question_of_digits(column, rows, price)
    if digits is not None:
        price = price * (1 - FOR_DIGITS)
    rows_per_noise = rows / whole.deviation
    if axis.size <= SINGLE_VALUES:
        cells, for_cells = np.arange(axis.size + 1), Fraction(1)
    else:
        warranted = round(CELLS_PER_ROOT_REACH * math.sqrt(rows_per_noise))
        cells = axis.cut(min(max(FEWEST_CELLS, warranted), MOST_CELLS))
        if 2 * len(column.told_apart) <= len(cells):  # places at which rules of the plan cut the column
            cells = np.union1d(cells, np.array(column.told_apart, np.int64))
        pieces = (price * (1 - FOR_CELLS) * FOR_PIECES).on_counts()
        for_cells = FOR_CELLS if HEAVY * pieces.deviation <= LARGEST_HEAVY_CELL * rows else Fraction(1)
    below = None if for_cells == 1 else price * (1 - for_cells)
    if len(cells) - 1 <= GROUPS_FROM[price.unit]:
        return Question(((cells, (price * for_cells).on_counts()),), below, digits)
    groups = np.append(cells[:-1:GROUP_SIZE], axis.size)
    if len(cells) <= axis.size:
        groups = np.union1d(groups, axis.cut(1))
    for_groups = for_cells * FOR_GROUPS
    fine, coarse = price * (for_cells - for_groups), price * for_groups
    return Question(((groups, coarse.on_counts()), (cells, fine.on_counts())), below, digits)


def _question_of_digits(column: Column, rows: int, price: Price) -> tuple[LastDigits, Noise] | None:
    """Asked of wide columns whose codes are counted one by one, where a frequent digit stands out of the noise."""
    digits = LastDigits.of(column)
    if digits is None or not SINGLE_VALUES < digits.size <= MOST_SINGLE_COUNTS:
        return None
    noise = (price * FOR_DIGITS).on_counts()
    seen = beyond_noise(digits.count, noise.name) * noise.deviation < LEAST_SHARE_OF_A_DIGIT * rows
    return (digits, noise) if seen else None


def column_note(column: Column, rows: int, price: Price) -> Mechanism:
    """The line of the budget for a column: a function of public things, so it is the same in a dry run."""
    asked = first_question(column, rows, price)
    single = asked.cells == Axis.of(column).size
    groups = f" and {len(asked.levels[0][0]) - 1} groups" if len(asked.levels) > 1 else ""
    below = ", cells with large counts divided" if asked.below is not None else ""
    digits = f", {asked.digits[0].count} last digits" if asked.digits is not None else ""
    what = f"histogram{groups}" if single else f"counts of {asked.cells} cells{groups}{below}{digits}"
    theorems = ("T13", "T14") if asked.below is not None else ("T13",) if groups else ("T12",)
    name = f"{asked.levels[-1][1].name}, {what}"
    sensitivity = f"{price.protects.of_counts} per level"
    return price.note(column.name, name, sensitivity, (*theorems, price.noise_theorem))


def planned_columns(columns: Sequence[Column], rows: int, budget: Budget, share: Fraction) -> list[Mechanism]:
    """The lines for all columns of a table with so many rows."""
    parts = column_parts(columns, budget.whole.unit)
    return [column_note(column, rows, budget.part(share * parts[column.name])) for column in columns]


def paid_columns(
    counts: Mapping[str, Counts], rows: int, budget: Budget, share: Fraction, source: RandomSource
) -> tuple[dict[str, ColumnMeasurement], list[Mechanism]]:
    """Every column measured for its part of a share of the budget."""
    parts = column_parts([each.grid.column for each in counts.values()], budget.whole.unit)
    measured: dict[str, ColumnMeasurement] = {}
    notes = []
    for name, each in counts.items():
        price = budget.spend(share * parts[name], f"marginal of {name}")
        measured |= measure_columns({name: each}, rows, {name: price}, source)
        notes.append(column_note(each.grid.column, rows, price))
    return measured, notes


def measure_columns(
    counts: Mapping[str, Counts], rows: int, prices: Mapping[str, Price], source: RandomSource
) -> dict[str, ColumnMeasurement]:
    """Every column at its own price."""
    return {name: _measured(replace(each), rows, prices[name], source) for name, each in counts.items()}


def _measured(counts: Counts, rows: int, price: Price, source: RandomSource) -> ColumnMeasurement:
    column = counts.grid.column
    asked = first_question(column, rows, price)
    apart = np.zeros(0)
    levels: list[Level] = []
    for cells, noise in asked.levels:
        edges = counts.snapped(cells)
        exact = counts.between(edges)
        last = len(levels) == len(asked.levels) - 1
        if last:
            exact = np.append(exact, counts.apart)
        # PRIVACY: every record is in at most one cell of a level, special values and missing being some: T12, T50.
        noisy = noise.added_to(exact, source).astype(np.float64)
        if last:
            noisy, apart = np.split(noisy, [len(edges) - 1])
        levels.append(Level(edges[:-1], edges[1:], noisy, noise.deviation, noise.name))
    if asked.below is not None:
        rounds = LastDigits.of(column) if asked.digits is None else None  # counted digits say which numbers are round
        if not _refine(levels, counts, PIECES, asked.below * FOR_PIECES, source, rounds):
            levels.append(_again(levels[-1], counts, asked.below * FOR_PIECES, source))
        _search(levels, counts, asked.below * (1 - FOR_PIECES), source, rounds)
    digits = None
    if asked.digits is not None:
        which, noise = asked.digits
        # PRIVACY: the plan's classes of codes are disjoint, so a record is in one of them at most: T12, T50.
        noisy = noise.added_to(counts.by_class(which), source).astype(np.float64)
        digits = DigitCounts(which, noisy, noise.deviation, noise.name)
    return ColumnMeasurement(column, tuple(levels), apart, asked.levels[-1][1].deviation, digits)


def _refine(
    levels: list[Level], counts: Counts, pieces: int, price: Price, source: RandomSource, rounds: LastDigits | None
) -> bool:
    """One more level inside the heavy cells of the last one; False if there are none."""
    above, noise = levels[-1], price.on_counts()
    heavy = np.flatnonzero((above.noisy > HEAVY * noise.deviation) & (above.high - above.low > 1))
    axis, ends = Axis.of(counts.grid.column), np.stack([above.low[heavy], above.high[heavy]], axis=1).tolist()
    cells = [counts.snapped(_cut(axis, low, high, pieces, rounds)) for low, high in ends]
    cells = [edges for edges in cells if len(edges) > 2]
    if not cells:
        return False
    # PRIVACY: parts of disjoint cells that earlier answers and a public axis fix, in one histogram: T12, T50.
    exact = np.concatenate([counts.between(edges) for edges in cells])
    noisy = noise.added_to(exact, source).astype(np.float64)
    low, high = (np.concatenate([edges[part] for edges in cells]) for part in (slice(-1), slice(1, None)))
    levels.append(Level(low, high, noisy, noise.deviation, noise.name))
    return True


def _cut(axis: Axis, low: int, high: int, pieces: int, rounds: LastDigits | None) -> Edges:
    """A cell in about so many pieces along the axis, and the roundest numbers in it as single codes."""
    edges = axis.split(low, high, pieces)
    most = int(pieces * ROUND_CODES_PER_PIECE)
    if rounds is None or not most or high - low <= pieces:
        return edges
    alone = rounds.roundest(low, high, most)
    return np.union1d(edges, np.concatenate([alone, alone + 1]))


def _again(level: Level, counts: Counts, price: Price, source: RandomSource) -> Level:
    """The same cells once more: where nothing is heavy, so that nothing is lost."""
    noise = price.on_counts()
    exact = counts.between(np.append(level.low, level.high[-1]))
    # PRIVACY: the cells of a level that covers the column, in one histogram: T12, T50.
    noisy = noise.added_to(exact, source).astype(np.float64)
    return Level(level.low, level.high, noisy, noise.deviation, noise.name)


def _search(levels: list[Level], counts: Counts, price: Price, source: RandomSource, rounds: LastDigits | None) -> None:
    """Down to single codes inside heavy cells, by as many levels as the widest of them needs."""
    above = levels[-1]
    alone = price.on_counts()
    heavy = above.noisy > HEAVY * alone.deviation
    widest = int((above.high - above.low)[heavy].max(initial=1))
    depth = max(1, math.ceil(math.log(widest, SEARCH_PIECES) - 1e-9))
    for _ in range(depth):
        if not _refine(levels, counts, SEARCH_PIECES, price / depth, source, rounds):
            return


_SURE = 1e-6  # variance of a count that everyone knows


def exact_column(counts: Counts, finest: Finest) -> Marginal:
    """The marginal of a public column, which everyone knows: no noise and no price."""
    column = counts.grid.column
    if not isinstance(column.domain, Grid):
        return marginal_of(column, counts.per_cell.astype(np.float64), _SURE, finest)
    some = np.flatnonzero(counts.present)
    edges = np.arange(counts.grid.size + 1) if counts.grid.edges is None else counts.grid.edges
    mass = counts.present[some].astype(np.float64)
    special = counts.apart[: counts.grid.special].astype(np.float64)
    segments = Segments(edges[some], edges[some + 1], mass, float(counts.missing), special)
    return marginal_of(column, segments, _SURE, finest)
