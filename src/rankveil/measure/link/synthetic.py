"""The method `synthetic`: fresh rows from released marginals and a released model of dependence.

Guarantee    The rows are differentially private with the whole budget: pure ε, or (ε, δ).
Argument     Columns (columns.py), sign products (signs.py), the choice of pairs (select.py) and the tables (tables.py)
             each cost the part of the budget noted for them; the parts add up to the whole, and `Budget` refuses to
             hand out more: T29. Cells come from released marginals. Rows are drawn from released numbers:
             post-processing, given public columns where there are any (T28).
             No row of the release belongs to a row of the table.
Public rule  With few records per unit of noise the copula alone links the columns, and with fewer still none does. The
             rule reads n, the number of columns and the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rankveil.declare import Plan, declare_alone
from rankveil.declare.dataset import Dataset
from rankveil.draw.rows import Rows, cut
from rankveil.fit.column import exact_column, fit_columns
from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats
from rankveil.measure.bounds import planned_bounds, with_bounds
from rankveil.measure.budget import Budget, Mechanism, Noise
from rankveil.measure.columns import paid_columns, planned_columns
from rankveil.measure.counts import Counts, count_columns
from rankveil.measure.link.conditional import ConditionalModel
from rankveil.measure.link.draw import RowMaker
from rankveil.measure.link.model import denoised, model_from_copula, model_from_tables
from rankveil.measure.link.pairs import count_pairs
from rankveil.measure.link.select import Selection, select_pairs
from rankveil.measure.link.signs import latent_correlations, sign_noise
from rankveil.measure.link.tables import NoisyTable, refined_marginals, release_tables
from rankveil.noise import RandomSource, Sampler

BASE_CELLS = 16
_TABLES_NEED = 60.0  # records per deviation of a spanning tree's tables
ASSUMED_ROWS = 10_000
_COPULA_NEEDS = 0.4  # a noisy sign product's deviation beyond which it says nothing


@dataclass(frozen=True)
class Division:
    """How the budget is divided: a public function of n, the schema and the budget."""

    linkage: str  # tables, copula, none
    marginals: Fraction
    signs: Fraction = Fraction(0)
    selection: Fraction = Fraction(0)
    tables: Fraction = Fraction(0)
    table_count: int = 0


def divide(budget: Budget, rows: int, columns: int) -> Division:
    """The public rule."""
    pure = budget.whole.unit == "epsilon"
    for_marginals, for_selection = (
        (Fraction(55, 100), Fraction(10, 100)) if pure else (Fraction(50, 100), Fraction(6, 100))
    )
    if columns == 1:
        return Division("none", Fraction(1))
    pair_count = columns * (columns - 1) // 2
    for_signs = _sign_share(budget, rows, columns, 0.01, 0.02, 0.08)
    for_tables = 1 - for_marginals - for_selection - for_signs
    wanted = min(_table_count(budget, rows, columns, for_tables), pair_count)
    if wanted == pair_count:  # every pair is measured: nothing to choose
        for_tables, for_selection = for_tables + for_selection, Fraction(0)
    tree = budget.part(for_tables).laplace_or_gaussian(l1=2 * (columns - 1), l2_squared=2 * (columns - 1))
    if rows / tree.deviation >= _TABLES_NEED:
        return Division("tables", for_marginals, for_signs, for_selection, for_tables, wanted)
    alone = _sign_share(budget, rows, columns, 0.05, 0.15, 0.3)
    if sign_noise(budget.part(alone), columns).deviation / rows < _COPULA_NEEDS:
        return Division("copula", 1 - alone, alone)
    return Division("none", Fraction(1))


def _sign_share(budget: Budget, rows: int, columns: int, goal: float, least: float, most: float) -> Fraction:
    """The share at which sign products have the deviation `goal`, within limits; in thousandths."""
    ratio = sign_noise(budget.part(Fraction(1)), columns).deviation / rows / goal
    wanted = ratio if budget.whole.unit == "epsilon" else ratio * ratio
    return Fraction(math.ceil(1000 * min(max(wanted, least), most)), 1000)


def _table_count(budget: Budget, rows: int, columns: int, share: Fraction) -> int:
    reach = rows / budget.part(share).laplace_or_gaussian(l1=2, l2_squared=2).deviation
    factor = 0.16 if budget.whole.unit == "epsilon" else 0.255
    return max(columns - 1, round(float(columns * factor * reach**0.29)))


@dataclass(frozen=True)
class Counted:
    """Exact one-way counts of all columns: raw data. Columns that need bounds first are not counted yet."""

    dataset: Dataset
    counts: dict[str, Counts]
    rows: int


@dataclass(frozen=True)
class ReleasedMarginals:
    """Every column by itself, protected; the dataset goes along, for linkage reads it once more."""

    dataset: Dataset
    rows: int
    division: Division
    marginals: dict[str, Marginal]  # public columns first, exact; then the protected ones
    notes: tuple[Mechanism, ...]
    budget: Budget  # what is left for linkage


def counted(dataset: Dataset, cluster_size: int) -> Counted:
    """Step 2: one pass over the table."""
    bounded = [column for column in dataset.schema.columns if not column.private_bounds]
    unbounded = [column.name for column in dataset.schema.columns if column.private_bounds]
    counts, rows = count_columns(dataset, bounded, only_checked=unbounded)
    return Counted(dataset, counts, rows)


def protected_marginals(given: Counted, budget: Budget, source: RandomSource) -> ReleasedMarginals:
    """Step 3: every column's marginal, for the share that the public rule sets aside."""
    found = with_bounds(given.dataset, given.counts, budget, source)
    dataset, counts, rows, budget = found.dataset, found.counts, given.rows, found.budget
    columns = dataset.schema.columns
    division = divide(budget, rows, len(columns))
    least_mass = rows / BASE_CELLS
    if division.linkage == "tables":
        least_mass = _table_noise(budget, division).deviation
    marginals: dict[str, Marginal] = {
        column.name: exact_column(counts[column.name], rows, most_cells=BASE_CELLS, least_mass=least_mass)
        for column in columns
        if not column.protected
    }
    to_release = {column.name: counts[column.name] for column in dataset.schema.protected}
    measured, paid = paid_columns(to_release, rows, budget, division.marginals, source)
    released = fit_columns(measured, rows, most_cells=BASE_CELLS, least_mass=least_mass)
    return ReleasedMarginals(dataset, rows, division, marginals | released, (*found.notes, *paid), budget)


def fresh_rows(given: ReleasedMarginals, budget: Budget, source: RandomSource) -> Rows:
    """Step 4: a second pass for dependence, paid with the rest of the budget, and rows from what was released."""
    schema = given.dataset.schema
    notes = list(given.notes)
    linked = _link(given, source, notes)
    sampler = Sampler(source)
    if len(schema.protected) < len(schema.columns):
        model = ConditionalModel(
            given.dataset,
            linked.marginals,
            denoised(linked.tables, linked.marginals, given.rows),
            linked.correlations,
            given.rows,
        )
        return Rows(
            schema,
            given.rows,
            tuple(notes),
            row_aligned=False,
            stream=model.draw(sampler),
            linkage=given.division.linkage,
        )
    if linked.tables:
        fitted = model_from_tables(linked.marginals, linked.tables, linked.correlations, given.rows, sampler)
    else:
        fitted = model_from_copula(linked.marginals, linked.correlations, given.rows, sampler)
    pieces = cut(given.rows, source)
    maker = RowMaker.of(fitted, len(pieces), schema.impossible, sampler)
    return Rows(
        schema,
        given.rows,
        tuple(notes),
        row_aligned=False,
        pieces=pieces,
        make=maker.make,
        linkage=given.division.linkage,
    )


@dataclass(frozen=True)
class _Linked:
    correlations: Floats
    tables: list[NoisyTable]
    marginals: dict[str, Marginal]  # by now


def _table_noise(budget: Budget, division: Division) -> Noise:
    both = 2 * division.table_count
    return budget.part(division.tables).laplace_or_gaussian(l1=both, l2_squared=both)


def _link(given: ReleasedMarginals, source: RandomSource, notes: list[Mechanism]) -> _Linked:
    """Everything that is measured about more than one column."""
    division, marginals, rows, budget = given.division, given.marginals, given.rows, given.budget
    size = len(marginals)
    if division.linkage == "none":
        return _Linked(np.eye(size), [], marginals)
    public = frozenset(column.name for column in given.dataset.schema.columns if not column.protected)
    # PRIVACY: pairs of public columns are left out of everything that is measured; nobody is protected in them.
    pair_counts = {
        pair: table for pair, table in count_pairs(given.dataset, marginals).items() if not public.issuperset(pair)
    }
    price = budget.spend(division.signs, "sign products")
    alone = division.linkage == "copula"
    correlations = latent_correlations(pair_counts, marginals, rows, price, source, alone=alone)
    noise = sign_noise(price, size)
    sensitivity = f"L1 {2 * (size**2 // 4)}, L2 √{size**2 - size % 2}"
    notes.append(price.note("all pairs", f"{noise.name}, sign products", sensitivity, ("T19", price.noise_theorem)))
    if alone:
        return _Linked(correlations, [], marginals)

    count = min(division.table_count, len(pair_counts))
    selection = Selection(list(pair_counts), {})
    if division.selection:
        price = budget.spend(division.selection, "choice of pairs")
        selection = select_pairs(pair_counts, marginals, rows, count, price, source, public)
        name = "permute-and-flip" if price.unit == "epsilon" else "discrete Gaussian"
        theorems = ("T18", "T9" if price.unit == "epsilon" else "T7")
        notes.append(price.note("all pairs", f"{name}, choice of {count} pairs", "a score changes by 2", theorems))
    price = budget.spend(division.tables, "two-way tables")
    noise = _table_noise(budget, division)
    tables = release_tables(pair_counts, marginals, selection, rows, noise, source)
    notes.append(
        price.note(
            "chosen pairs",
            f"{noise.name}, {count} two-way tables",
            f"L1 {2 * count}, L2 √{2 * count}",
            ("T17", price.noise_theorem),
        )
    )
    protected = {name: marginal for name, marginal in marginals.items() if name not in public}
    return _Linked(correlations, tables, marginals | refined_marginals(protected, tables, rows))


def planned_for_synthetic(plan: Plan) -> list[Mechanism]:
    """How the budget will be divided, for the number of rows the plan expects (or 10,000 if it says nothing)."""
    schema = declare_alone(plan)
    columns = schema.protected
    rows = plan.release.expected_rows or ASSUMED_ROWS
    delta = plan.release.delta
    budget = Budget(Fraction(plan.release.epsilon), None if delta is None else Fraction(delta))
    budget, notes = planned_bounds(columns, budget)
    division = divide(budget, rows, len(schema.columns))
    notes += planned_columns(columns, rows, budget, division.marginals)
    for part, column, name, theorem in (
        (division.signs, "all pairs", "sign products", "T19"),
        (division.selection, "all pairs", f"choice of {division.table_count} pairs", "T18"),
        (division.tables, "chosen pairs", f"{division.table_count} two-way tables", "T17"),
    ):
        if part:
            notes.append(budget.part(part).note(column, name, "", (theorem,)))
    return notes
