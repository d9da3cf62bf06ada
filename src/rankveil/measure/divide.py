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
from rankveil.declare.unit import Sensitivity
from rankveil.fit.marginal import Finest
from rankveil.measure.budget import Budget, Price
from rankveil.measure.choose import cost_of
from rankveil.measure.counts import CountGrid
from rankveil.measure.signs import all_change, tree_change


@dataclass(frozen=True)
class Division:
    """Parts of the budget, and how fine cells are."""

    linkage: str  # tables, copula, none
    finest: Finest  # base cells
    columns: Fraction
    signs: Fraction = Fraction(0)
    choice: Fraction = Fraction(0)
    tables: Fraction = Fraction(0)
    second_round: bool = False


def divide(budget: Budget, rows: int, schema: Schema) -> Division:
    """The public rule."""
    columns, fewest = len(schema.drawn), rules.FEWEST_BASE_CELLS
    coarse = Finest(fewest, fewest, rows / fewest)
    if columns == 1:
        return Division("none", coarse, Fraction(1))
    # The tables of a spanning tree, for half of the budget.
    deviation = budget.part(Fraction(1, 2)).on_counts(columns - 1).deviation
    rows_per_noise = rows / deviation
    if rows_per_noise >= rules.RECORDS_FOR_TABLES:
        finest = _base_cells(rows_per_noise, columns, rules.LEAST_MASS * deviation)
        for_columns = _share_of_columns(schema, budget.whole, finest, rows_per_noise)
        for_choice = rules.FOR_CHOICE[budget.whole.unit]
        in_triple = rules.CELLS_PER_REACH * rows_per_noise * math.sqrt(rules.FOR_SECOND_ROUND)
        return Division(
            "tables",
            finest,
            for_columns,
            choice=for_choice,
            tables=1 - for_columns - for_choice,
            second_round=columns > 2 and in_triple >= rules.FEWEST_TRIPLE_CELLS,
        )
    share, protects = rules.FOR_SIGNS, budget.whole.protects

    def audible(part: Fraction, change: Sensitivity) -> bool:
        return budget.part(part).noise_for(change).deviation / rows < rules.LARGEST_SIGN_NOISE

    if audible(share, all_change(protects, columns)):
        return Division("copula", coarse, 1 - share, signs=share)
    # Without δ noise on a tree grows as the columns, that on all pairs as their square; half of the share chooses it.
    if budget.whole.unit == "epsilon" and audible(share / 2, tree_change(protects, columns)):
        return Division("copula", coarse, 1 - share, signs=share / 2, choice=share / 2)
    return Division("none", coarse, Fraction(1))


def _base_cells(rows_per_noise: float, columns: int, least_mass: float) -> Finest:
    """Of numbers, as many as the finest two-way table could use; labels are themselves; as far as memory allows."""
    memory = max(math.sqrt(rules.MOST_PAIR_CELLS / math.comb(columns, 2)), 2.0)
    most = round(min(memory, rules.MOST_BASE_CELLS))
    numbers = max(round(math.sqrt(rules.CELLS_PER_REACH * rows_per_noise)), rules.FEWEST_BASE_CELLS)
    return Finest(min(numbers, most), most, least_mass)


def _share_of_columns(schema: Schema, whole: Price, finest: Finest, rows_per_noise: float) -> Fraction:
    sizes = [min(CountGrid(column).size, finest.of(column.domain)) for column in schema.drawn]
    power, _ = cost_of(whole)
    alone = sum(((len(sizes) - 1) * size) ** power for size in sizes)
    most = rules.CELLS_PER_REACH * rows_per_noise
    pairs = [(min(first * second, most) * rules.LEFT_BY_FIT) ** power for first, second in combinations(sizes, 2)]
    together = sum(pairs) / len(pairs) * min(len(pairs), rules.TABLES_PER_COLUMN * len(sizes))
    return (1 - rules.FOR_CHOICE[whole.unit]) * Fraction(round(1000 * alone / (alone + together)), 1000)
