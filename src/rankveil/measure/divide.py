"""How the budget is divided between columns by themselves and what links them: a public rule.

It reads n, the sizes of the columns and the budget. With noise at a price of rho, a table of s cells is off by about
s / sqrt(rho); divided at best, each gets a share in proportion to s^(2/3) (s^(1/2) with pure ε). A column by itself
counts as often as there are columns that it may be combined with, because its error is in every one of those tables;
of the noise on a table the fit leaves a part only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from rankveil import rules
from rankveil.declare import Schema
from rankveil.measure.budget import Budget, Price
from rankveil.measure.choose import cost_of
from rankveil.measure.counts import CountGrid
from rankveil.measure.signs import sign_noise


@dataclass(frozen=True)
class Division:
    """Parts of the budget, and how fine cells are."""

    linkage: str  # tables, copula, none
    columns: Fraction
    signs: Fraction = Fraction(0)
    choice: Fraction = Fraction(0)
    tables: Fraction = Fraction(0)
    cells: int = rules.FEWEST_BASE_CELLS  # base cells of a column of numbers
    least_mass: float = 0.0  # of a base cell
    second_round: bool = False


def divide(budget: Budget, rows: int, schema: Schema) -> Division:
    """The public rule."""
    columns, lightest = len(schema.drawn), rows / rules.FEWEST_BASE_CELLS
    if columns == 1:
        return Division("none", Fraction(1), least_mass=lightest)
    # The tables of a spanning tree, for half of the budget.
    deviation = budget.part(Fraction(1, 2)).on_counts(columns - 1).deviation
    reach = rows / deviation
    if reach >= rules.RECORDS_FOR_TABLES:
        cells = _base_cells(reach, columns)
        for_columns = _share_of_columns(schema, budget.whole, cells, reach)
        for_choice = rules.FOR_CHOICE[budget.whole.unit]
        in_triple = rules.CELLS_PER_REACH * reach * math.sqrt(rules.FOR_SECOND_ROUND)
        return Division(
            "tables",
            for_columns,
            choice=for_choice,
            tables=1 - for_columns - for_choice,
            cells=cells,
            least_mass=rules.LEAST_MASS * deviation,
            second_round=columns > 2 and in_triple >= rules.FEWEST_TRIPLE_CELLS,
        )
    for_signs = rules.FOR_SIGNS
    if sign_noise(budget.part(for_signs), columns).deviation / rows < rules.LARGEST_SIGN_NOISE:
        return Division("copula", 1 - for_signs, signs=for_signs, least_mass=lightest)
    return Division("none", Fraction(1), least_mass=lightest)


def _base_cells(reach: float, columns: int) -> int:
    """As many as the finest two-way table could use, and memory allows."""
    finest = math.sqrt(rules.CELLS_PER_REACH * rules.FINEST * reach)
    memory = math.sqrt(rules.MOST_PAIR_CELLS / math.comb(columns, 2))
    return round(min(max(finest, rules.FEWEST_BASE_CELLS), rules.MOST_BASE_CELLS, max(memory, 2.0)))


def _share_of_columns(schema: Schema, whole: Price, cells: int, reach: float) -> Fraction:
    sizes = [min(CountGrid(column).size, cells) for column in schema.drawn]
    power, _ = cost_of(whole)
    alone = sum(((len(sizes) - 1) * size) ** power for size in sizes)
    most = rules.CELLS_PER_REACH * reach
    pairs = [(min(first * second, most) * rules.LEFT_BY_FIT) ** power for first, second in combinations(sizes, 2)]
    together = sum(pairs) / len(pairs) * min(len(pairs), rules.TABLES_PER_COLUMN * len(sizes))
    return (1 - rules.FOR_CHOICE[whole.unit]) * Fraction(round(1000 * alone / (alone + together)), 1000)
