"""Two encoded tables -> what the release has lost: column by column, pair by pair, and on average."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from rankveil.declare import Column, Records, Schema
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.errors import TableError
from rankveil.evaluate import measures
from rankveil.evaluate.distances import (
    Cells,
    cells_of,
    expected_by_chance,
    pair_of,
    rank_correlations,
    total_variation,
    wasserstein,
)
from rankveil.evaluate.distributions import distribution
from rankveil.evaluate.queries import ask
from rankveil.evaluate.results import ColumnResult, Evaluation, PairResult
from rankveil.evaluate.subgroups import subgroups
from rankveil.evaluate.weighted import estimates


def measure(original: Records, released: Records, *, row_aligned: bool = True) -> Evaluation:
    """The paper's three measures on encoded tables. Averages are over the protected columns."""
    if row_aligned and original.row_count != released.row_count:
        raise TableError(
            f"The release has {released.row_count} rows and the table {original.row_count}: rows cannot be compared.",
            remedy="Say that rows do not belong together: --not-aligned (Python: row_aligned=False).",
        )
    results = []
    for column in original.schema.protected:
        before, after = original.codes[column.name], released.codes[column.name]
        error = float(measures.relative_errors(column, before, after).mean()) if row_aligned else None
        results.append(
            ColumnResult(
                column.name,
                column.kind,
                error,
                measures.variance_change(column, before, after),
                measures.jensen_shannon(column, before, after),
            )
        )
    return Evaluation(
        rows=released.row_count,
        original_rows=original.row_count,
        columns=tuple(results),
        relative_error=_mean(result.relative_error for result in results),
        variance_change=_mean(result.variance_change for result in results),
        jsd=float(np.mean([result.jsd for result in results])),
        not_measured={} if row_aligned else {"relative_error": "rows of the release belong to no rows of the table"},
    )


def measure_all(original: Records, released: Records, *, row_aligned: bool = False) -> Evaluation:
    """Everything that needs no learner. Pairs are those in which at least one column is protected."""
    first = measure(original, released, row_aligned=row_aligned)
    schema = original.schema
    cells = all_cells(original, released)
    columns = tuple(
        replace(
            result,
            wasserstein=wasserstein(column, original.codes[column.name], released.codes[column.name]),
            total_variation=total_variation(cells[column.name]),
            chance=expected_by_chance(cells[column.name]),
        )
        for column, result in zip(schema.protected, first.columns, strict=True)
    )
    couples = [(a, b) for a, b in combinations(schema.columns, 2) if a.protected or b.protected]
    correlations = _correlations(original, released, schema.columns)
    pairs = tuple(_pair(a, b, cells, correlations) for a, b in couples)
    queries = ask(original, released, couples or [schema.columns])
    return replace(
        first,
        columns=columns,
        wasserstein=_mean(result.wasserstein for result in columns),
        total_variation=_mean(result.total_variation for result in columns),
        chance=_mean(result.chance for result in columns),
        pair_total_variation=_mean(pair.total_variation for pair in pairs),
        pair_chance=_mean(pair.chance for pair in pairs),
        correlation_error=_mean(pair.correlation_error for pair in pairs),
        query_error=queries.mean,
        queries=queries,
        pairs=pairs,
        estimates=estimates(original, released),
    )


def measure_details(found: Evaluation, original: Records, released: Records) -> Evaluation:
    """What only a report asks for: distributions of single columns, and groups of people."""
    codes = [(column, original.codes[column.name], released.codes[column.name]) for column in original.schema.protected]
    return replace(
        found,
        distributions=tuple(distribution(column, before, after) for column, before, after in codes),
        subgroups=subgroups(original, released, all_cells(original, released)),
    )


def all_cells(original: Records, released: Records) -> dict[str, Cells]:
    return {
        column.name: cells_of(column, original.codes[column.name], released.codes[column.name])
        for column in original.schema.columns
    }


def _pair(
    a: Column, b: Column, cells: dict[str, Cells], correlations: dict[tuple[str, str], tuple[float, float]]
) -> PairResult:
    both = pair_of(cells[a.name], cells[b.name])
    before, after = correlations.get((a.name, b.name), (None, None))
    error = None if before is None or after is None else abs(before - after)
    return PairResult((a.name, b.name), total_variation(both), error, expected_by_chance(both), before, after)


def _correlations(
    original: Records, released: Records, columns: Sequence[Column]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Of every pair of columns with an order, in both tables."""
    names = [column.name for column in columns if isinstance(column.domain, Grid)]
    if len(names) < 2:
        return {}
    grids = {column.name: column.domain for column in columns if isinstance(column.domain, Grid)}
    before, after = (
        rank_correlations([grids[name].without_special(records.codes[name]) for name in names])
        for records in (original, released)
    )
    return {
        (names[a], names[b]): (float(before[a, b]), float(after[a, b])) for a, b in combinations(range(len(names)), 2)
    }


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None


def on_common_ranges(original: Records, released: Records) -> tuple[Records, Records]:
    """Where the plan leaves a column's bounds to be found, the range of both tables stands in for public ones."""
    columns, tables = list(original.schema.columns), (dict(original.codes), dict(released.codes))
    for place, column in enumerate(columns):
        present = np.concatenate([codes[column.name][codes[column.name] != MISSING] for codes in tables])
        if column.private_bounds and isinstance(column.domain, Grid) and len(present):
            low, high = int(present.min()), int(present.max())
            lower = column.domain.lower + low * column.domain.step
            columns[place] = replace(column, domain=replace(column.domain, lower=lower, width=max(1, high - low)))
            for codes in tables:
                codes[column.name] = moved(codes[column.name], -low)
    schema = replace(original.schema, columns=tuple(columns))
    return Records(schema, tables[0], original.row_count), Records(schema, tables[1], released.row_count)


def on_scale_of(schema: Schema, released: Records) -> Records:
    """The release over the original's domains: where it has found bounds of its own, codes are counted anew."""
    codes = dict(released.codes)
    found = {column.name: column.domain for column in released.schema.columns}
    for column in schema.columns:
        grid, bounded = column.domain, found[column.name]
        if column.private_bounds and isinstance(grid, Grid) and isinstance(bounded, Grid):
            shift = int(Fraction(bounded.lower - grid.lower) / Fraction(grid.step))
            codes[column.name] = moved(codes[column.name], shift)
    return Records(schema, codes, released.row_count)


def moved(codes: Codes, by: int) -> Codes:
    return np.where(codes == MISSING, MISSING, codes + by)
