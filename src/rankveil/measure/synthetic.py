"""Everything that the method `synthetic` measures: the only code of it that sees counts and draws noise.

Guarantee    The measurements are differentially private with the whole budget: pure ε, or (ε, δ).
Argument     The number of rows (size.py) and bounds (bounds.py) where they are not public, columns by themselves
             (columns.py), parities (parities.py), scores (choose.py), tables and sign products (signs.py) each cost the
             part of the budget noted for them; the parts add up to at most the whole, and `Budget` refuses to hand out
             more: T29. Cells come from released numbers. What is asked next may depend on every answer so far (adaptive
             composition, T2); fitted models in between are post-processing.
             Public columns are read in a random order (T28, T45).
Public rule  With few records per unit of noise only the signs of columns are compared, and with fewer still nothing
             (divide.py).
Dry run      `planned` runs the same code on a table without records, whose every answer is given without noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare import Plan, declare_alone
from rankveil.declare.again import read_again
from rankveil.declare.dataset import Dataset, without_records
from rankveil.fit.column import even_columns, fit_columns
from rankveil.fit.limits import Limits, expected_table
from rankveil.fit.marginal import Marginal, SmallCells
from rankveil.fit.model import fit
from rankveil.measure.bounds import with_bounds
from rankveil.measure.budget import Budget, Mechanism, Price
from rankveil.measure.choose import against_others, choose, cost_of, noisy_scores, score_change
from rankveil.measure.columns import exact_column, paid_columns
from rankveil.measure.counts import Counts, NoCounts, count_columns
from rankveil.measure.disorder import out_of_order
from rankveil.measure.divide import Division, divide
from rankveil.measure.measurements import (
    ColumnMeasurement,
    Floats,
    Groups,
    Measurements,
    SignProducts,
    TableMeasurement,
)
from rankveil.measure.parities import measure_parities, orders_worth, parity_change, parity_part
from rankveil.measure.signs import all_change, best_tree, exact_products, measured_products, tree_change
from rankveil.measure.size import released_size
from rankveil.measure.tables import Columns, Counted, count_tables, grouped
from rankveil.noise import Law, RandomSource, Sampler, SeededSource, answer_shape


@dataclass(frozen=True)
class CountedColumns:
    """Exact one-way counts of all columns: raw data. Columns that need bounds first are not counted yet."""

    dataset: Dataset
    counts: dict[str, Counts]
    rows: int


def counted(dataset: Dataset, cluster_size: int) -> CountedColumns:
    """One pass over the table, before anything is paid."""
    bounded = [column for column in dataset.schema.drawn if not column.private_bounds]
    others = [column.name for column in dataset.schema.columns if column not in bounded]
    counts, rows = count_columns(dataset, bounded, only_checked=others, rules=dataset.schema.checks)
    return CountedColumns(dataset, counts, rows)


def measure(given: CountedColumns, budget: Budget, source: RandomSource) -> Measurements:
    """The number of rows; columns by themselves; then what the public rule can afford of what links them."""
    if budget.whole.protects != given.dataset.schema.unit:
        raise ValueError("the budget is for other people than the table was read for")
    size = released_size(given.rows, budget, source, answered=not isinstance(source, Unanswered))
    found = with_bounds(given.dataset, given.counts, size.budget, source)
    division = divide(found.budget, size.rows, found.dataset.schema)
    asking = _Asking(found.dataset, size.rows, found.budget, source, division, [*size.notes, *found.notes])
    asking.ask_columns(found.counts)
    if division.linkage == "tables":
        asking.ask_tables()
    elif division.linkage == "copula":
        asking.ask_signs()
    return asking.answered()


def planned(plan: Plan) -> list[Mechanism]:
    """What would be asked, and at what price, for the number of rows that the plan expects: `measure` without data."""
    rows = plan.release.expected_rows or rules.ASSUMED_ROWS
    delta = plan.release.delta
    budget = Budget(Fraction(plan.release.epsilon), None if delta is None else Fraction(delta), protects=plan.unit)
    nobody = without_records(declare_alone(plan), rows)
    public = [column for column in nobody.schema.columns if not column.protected]
    counts = {column.name: NoCounts.of(column) for column in nobody.schema.asked if not column.private_bounds}
    given = CountedColumns(nobody, count_columns(nobody, public)[0] | counts, rows)
    return list(measure(given, budget, Unanswered(0)).notes)


class Unanswered(SeededSource):
    """Answers nothing but zeros, and draws no noise: for dry runs, in which there are no data."""

    def answer(self, law: Law, exact: NDArray[Any]) -> NDArray[Any]:
        return np.zeros(answer_shape(law, exact), exact.dtype)


@dataclass
class _Asking:
    """The measurements while they are taken."""

    dataset: Dataset
    rows: int
    budget: Budget
    source: RandomSource
    division: Division
    notes: list[Mechanism]
    marginals: dict[str, Marginal] = field(default_factory=dict)
    asked: dict[str, ColumnMeasurement] = field(default_factory=dict)
    tables: list[TableMeasurement] = field(default_factory=list)
    signs: SignProducts | None = None
    grouped: dict[tuple[str, int, int], Groups] = field(default_factory=dict)  # groups that were made before

    def answered(self) -> Measurements:
        return Measurements(
            self.dataset.schema,
            self.rows,
            self.marginals,
            tuple(self.tables),
            self.signs,
            tuple(self.notes),
            self.division.linkage,
            self._known_rows() if self.division.linkage == "tables" else {},
            self.asked,
        )

    def ask_columns(self, counts: Mapping[str, Counts]) -> None:
        """Every column by itself; public ones as everyone knows them."""
        for column in self.dataset.schema.drawn:
            if not column.protected:
                self.marginals[column.name] = exact_column(counts[column.name], self.division.finest)
        exact = {column.name: counts[column.name] for column in self.dataset.schema.asked}
        self.asked, paid = paid_columns(exact, self.rows, self.budget, self.division.columns, self.source)
        fitted = even_columns if isinstance(self.source, Unanswered) else fit_columns
        self.marginals |= fitted(self.asked, self.rows, self.division.finest)
        self.notes += paid

    def ask_signs(self) -> None:
        """One noisy number for each pair, or for the pairs of a tree."""
        exact, size = exact_products(self._count_pairs(), self.marginals), len(self.marginals)
        pairs, change, what = list(exact), all_change(self.budget.whole.protects, size), "all pairs"
        if self.division.choice:
            price = self.budget.spend(self.division.choice, "choice of pairs")
            pairs = best_tree(exact, self.marginals, self.rows, self._weights(pairs), price, self.source)
            sensitivity = f"a score changes by {tree_change(price.protects, 2).l1}"
            name = f"permute-and-flip, {len(pairs)} choices"
            self.notes.append(price.note("all pairs", name, sensitivity, ("T56", "T9")))
            change, what = tree_change(price.protects, size), "pairs of a tree"
        price = self.budget.spend(self.division.signs, "sign products")
        self.signs = measured_products(exact, pairs, change, price, self.source)
        theorems = ("T56" if self.division.choice else "T19", price.noise_theorem)
        name = f"{price.noise_for(change).name}, sign products"
        self.notes.append(price.note(what, name, str(change), theorems))

    def ask_tables(self) -> None:
        """Parities of yes/no columns; the pairs that are worth most; then what the fit to these lacks."""
        exact = self._count_pairs()
        yes_no = self._yes_no()
        pairs = [pair for pair in exact if not set(pair) <= set(yes_no)]
        left = self.division.tables
        if yes_no:
            share = self._share_of_parities(yes_no, pairs)
            left -= share
            self._ask_parities(exact, yes_no, share)
        if not pairs:
            return
        later = rules.FOR_SECOND_ROUND if self.division.second_round else Fraction(0)
        self._ask_pairs(exact, pairs, self.division.choice * (1 - later), left * (1 - later))
        if later:
            self._ask_triples(self.division.choice * later, left * later)

    # Rounds

    def _ask_pairs(self, exact: Counted, pairs: Sequence[Columns], for_choice: Fraction, for_tables: Fraction) -> None:
        """Two-way tables, chosen by how far they are from independence."""
        price = self.budget.spend(for_choice, "choice of pairs")
        scores = noisy_scores(
            [exact[pair] for pair in pairs],
            [self._independent(pair) for pair in pairs],
            self.rows,
            price,
            self.source,
        )
        self._note_choice(price, f"choice among {len(pairs)} pairs")
        deviation = self._deviation(for_tables / len(self.marginals))
        cells = [
            math.prod(_sizes(self._groups(pair, self._most_cells(deviation, strength), deviation)))
            for pair, strength in zip(pairs, scores.strength, strict=True)
        ]
        chosen = choose(pairs, scores, cells, self._weights(pairs), self.budget.part(for_tables))
        scores = against_others(pairs, scores, [each.columns for each in chosen], self.rows)
        chosen = choose(pairs, scores, cells, self._weights(pairs), self.budget.part(for_tables))
        for each in chosen:
            self._ask_table(each.columns, exact[each.columns], each.part * for_tables, each.strength)
        self._note_tables(len(chosen), "two-way", for_tables)

    def _ask_triples(self, for_choice: Fraction, for_tables: Fraction) -> None:
        """Three-way tables, chosen by how far they are from what the fit to all measurements so far says."""
        triples = self._likely_triples()
        if not triples:  # nothing is spent, and what was set aside is noted all the same
            self._note_choice(self.budget.part(for_choice), "choice among 0 triples")
            self._note_tables(0, "three-way", for_tables)
            return
        model = fit(self.answered(), Sampler(self.source), rules.ROWS_BETWEEN_ROUNDS)
        deviation = self._deviation(for_tables / len(self.marginals))
        groups = {triple: self._groups(triple, self._most_cells(deviation, 0.0), deviation) for triple in triples}
        exact = count_tables(self.dataset, self.marginals, groups)
        price = self.budget.spend(for_choice, "choice of triples")
        scores = noisy_scores(
            [exact[triple] for triple in triples],
            [model.table(triple, groups[triple]) for triple in triples],
            self.rows,
            price,
            self.source,
        )
        self._note_choice(price, f"choice among {len(triples)} triples")
        cells = [exact[triple].size for triple in triples]
        chosen = choose(triples, scores, cells, self._weights(triples), self.budget.part(for_tables))
        for each in chosen:
            self._add_table(each.columns, groups[each.columns], exact[each.columns], each.part * for_tables)
        self._note_tables(len(chosen), "three-way", for_tables)

    def _ask_table(self, columns: Columns, exact: NDArray[np.int64], share: Fraction, strength: float) -> None:
        deviation = self._deviation(share)
        groups = self._groups(columns, self._most_cells(deviation, strength), deviation)
        self._add_table(columns, groups, grouped(exact, groups), share)

    def _add_table(
        self, columns: Columns, groups: tuple[Groups, ...], exact: NDArray[np.int64], share: Fraction
    ) -> None:
        price = self.budget.spend(share, f"table of {', '.join(columns)}")
        # PRIVACY: one replaced record leaves one cell of the table and enters another (T17; for other units T50).
        noise = price.on_counts()
        noisy = noise.added_to(exact, self.source).astype(np.float64)
        self.tables.append(TableMeasurement(columns, groups, noisy, noise.deviation))

    def _ask_parities(self, exact: Counted, names: Sequence[str], share: Fraction) -> None:
        price = self.budget.spend(share, "parities")
        orders = orders_worth(price, len(names), self.rows)
        counts = dict(exact)
        if 3 in orders:
            counts |= count_tables(self.dataset, self.marginals, dict.fromkeys(combinations(names, 3)))
        self.tables += measure_parities(counts, names, orders, self.rows, price, self.source)
        what = f"parities of pairs{' and triples' if 3 in orders else ''}"
        change = parity_change(price.protects, len(names), {2: Fraction(1)})
        name, theorems = f"{price.on_counts().name}, {what}", ("T47", price.noise_theorem)
        self.notes.append(price.note(f"{len(names)} yes/no columns", name, f"{change} of pairs", theorems))

    # What is asked about

    def _count_pairs(self) -> Counted:
        """Exact two-way tables. PRIVACY: none of two public columns, in which nobody is protected."""
        public = frozenset(column.name for column in self.dataset.schema.columns if not column.protected)
        wanted = [pair for pair in combinations(self.marginals, 2) if not public.issuperset(pair)]
        return count_tables(self.dataset, self.marginals, dict.fromkeys(wanted))

    def _known_rows(self) -> dict[str, SmallCells]:
        """Base cells of the public columns in some rows, any of them."""
        names = [column.name for column in self.dataset.schema.columns if not column.protected]
        if not names or isinstance(self.source, Unanswered):
            return {}
        # PRIVACY: the first rows of a table that came sorted would tell ranks; these are picked at random (T45).
        mixed = out_of_order(
            read_again(self.dataset, names, self.rows), self.rows, rules.FEWEST_COPULA_ROWS, Sampler(self.source)
        )
        return {name: self.marginals[name].small_cell_of(codes) for name, codes in next(mixed).items()}

    def _yes_no(self) -> list[str]:
        protected = {column.name for column in self.dataset.schema.asked}
        names = [
            name
            for name, marginal in self.marginals.items()
            if name in protected and marginal.cell_count == marginal.code_count == 2
        ]
        return names if len(names) >= rules.FEWEST_YES_NO else []

    def _share_of_parities(self, yes_no: Sequence[str], pairs: Sequence[Columns]) -> Fraction:
        """By sizes, as between tables."""
        if not pairs:  # nor anything to choose among
            return self.division.tables + self.division.choice
        power, factor = cost_of(self.budget.whole)
        own = (parity_part(len(yes_no), self.budget.whole) * factor) ** power
        most = self._most_cells(self._deviation(self.division.tables / len(self.marginals)), 0.0)
        sizes = [min(math.prod(self.marginals[name].cell_count for name in pair), most) for pair in pairs]
        mean = float(np.mean([(size * factor) ** power for size in sizes]))
        others = mean * min(len(pairs), rules.TABLES_PER_COLUMN * len(self.marginals))
        return self.division.tables * Fraction(max(1, round(1000 * own / (own + others))), 1000)

    def _likely_triples(self) -> list[Columns]:
        """Columns of which two pairs were worth a table, those first whose tables say most."""
        order = {name: place for place, name in enumerate(self.marginals)}
        strength = {
            table.columns: float(np.abs(table.noisy - self._independent(table.columns, table.groups)).sum())
            for table in self.tables
            if not table.parity
        }
        beside: dict[str, list[str]] = {name: [] for name in order}
        for first, second in strength:
            beside[first].append(second)
            beside[second].append(first)
        triples = {
            tuple(sorted((name, *pair), key=order.__getitem__))
            for name, others in beside.items()
            for pair in combinations(others, 2)
        }
        weights = self._weights(sorted(triples))
        ranked = []
        for triple in sorted(triples):
            weakest, middle, _ = sorted(strength.get(pair, 0.0) for pair in combinations(triple, 2))
            ranked.append((-(weakest + middle) * weights[triple], triple))
        most = min(rules.TRIPLES_PER_COLUMN * len(order), max(2 * len(order), rules.MOST_COUNTED // self.rows))
        return [triple for _, triple in sorted(ranked)[:most]]

    def _weights(self, candidates: Sequence[Columns]) -> dict[Columns, float]:
        interests = self.dataset.schema.interest
        return {
            columns: rules.INTEREST if any(interest.covers(columns) for interest in interests) else 1.0
            for columns in candidates
        }

    # Sizes

    def _deviation(self, share: Fraction) -> float:
        """Of the noise on a count of a table that gets this share."""
        return self.budget.part(share).on_counts().deviation

    def _most_cells(self, deviation: float, strength: float) -> float:
        """Of a table. Where columns depend on each other, records leave so many of its cells empty."""
        occupied = max(1 - strength, 1 / rules.MOST_BASE_CELLS)
        return min(rules.CELLS_PER_REACH * self.rows / deviation, self.rows / rules.RECORDS_PER_CELL) / occupied

    def _groups(self, columns: Columns, most: float, deviation: float) -> tuple[Groups, ...]:
        """Groups of base cells so that the table has at most so many cells, the longest columns cut first."""
        sizes = [self.marginals[name].cell_count for name in columns]
        limit, left = float(max(sizes)), most
        for place, size in enumerate(sorted(sizes)):
            even = left ** (1 / (len(sizes) - place))
            if size > even:
                limit = max(2.0, even)
                break
            left /= size
        least = rules.LEAST_MASS * deviation
        return tuple(self._group(name, min(size, int(limit)), least) for name, size in zip(columns, sizes, strict=True))

    def _group(self, name: str, size: int, least: float) -> Groups:
        key = (name, size, round(least))
        if key not in self.grouped:
            self.grouped[key] = self.marginals[name].group(size, float(key[2]))
        return self.grouped[key]

    def _independent(self, columns: Columns, groups: tuple[Groups, ...] | None = None) -> Floats:
        """The table that independence would give, but for the plan's rules, over base cells or groups of them."""
        if groups is None:
            groups = tuple(np.arange(self.marginals[name].cell_count) for name in columns)
        return expected_table(columns, groups, self.marginals, self.rows, self.limits)

    @cached_property
    def limits(self) -> Limits:
        return Limits.of(self.dataset.schema.rules, self.marginals)

    # The account

    def _note_choice(self, price: Price, what: str) -> None:
        theorems = ("T18", price.noise_theorem)
        sensitivity = f"a score changes by {score_change(price.protects).l1}"
        self.notes.append(price.note(f"all {what.split()[-1]}", what, sensitivity, theorems))

    def _note_tables(self, count: int, order: str, share: Fraction) -> None:
        price = self.budget.part(share)
        name = f"{price.on_counts().name}, {count or 'the best'} {order} tables"
        theorems = ("T17", price.noise_theorem)
        self.notes.append(price.note("chosen columns", name, f"{price.protects.of_counts} per table", theorems))


def _sizes(groups: Sequence[Groups]) -> list[int]:
    return [int(group.max()) + 1 for group in groups]
