"""Measure a release against its original: column by column, pair by pair, and on average.

What is measured depends on the release. Relative errors compare row with row, so they need a release whose rows belong
to the rows of the original; its certificate says so. All other measures compare the two tables as wholes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from rankveil.certificate import Certificate
from rankveil.engines import Table, open_table
from rankveil.errors import MissingExtraError, PlanError, TableError
from rankveil.evaluate import measures
from rankveil.evaluate.distances import (
    cells_of,
    pair_total_variation,
    rank_correlations,
    total_variation,
    wasserstein,
)
from rankveil.evaluate.learning import Learning, learning_scores, propensity_auc
from rankveil.evaluate.queries import query_error
from rankveil.flow.declare import Column, Plan, Records, Schema, declare, encode
from rankveil.flow.declare.domain import MISSING, Grid
from rankveil.flow.write import CERTIFICATE_NAME

_ROW_BY_ROW = ("laplace", "aligned", "published:")  # methods, or beginnings of their names, that keep rows in place
INTERNAL = "INTERNAL: computed from the original table and not protected. Do not publish."


@dataclass(frozen=True)
class ColumnResult:
    name: str
    kind: str
    relative_error: float | None  # None if rows of the release do not belong to rows of the original
    variance_change: float | None
    jsd: float
    wasserstein: float | None = None  # W1/σ
    total_variation: float | None = None


@dataclass(frozen=True)
class PairResult:
    columns: tuple[str, str]
    total_variation: float
    correlation_error: float | None  # None if one of the two has no order


@dataclass(frozen=True)
class Evaluation:
    """Averages over columns and pairs, and what they are averages of. None: not measured."""

    rows: int
    columns: tuple[ColumnResult, ...]
    relative_error: float | None
    variance_change: float | None
    jsd: float
    wasserstein: float | None = None
    total_variation: float | None = None
    pair_total_variation: float | None = None
    correlation_error: float | None = None
    query_error: float | None = None
    propensity_auc: float | None = None
    learning: Learning | None = None
    pairs: tuple[PairResult, ...] = ()
    not_measured: dict[str, str] = field(default_factory=dict)  # measure -> why not
    note: str = INTERNAL

    def as_dict(self) -> dict[str, Any]:
        return {"note": self.note, **{key: value for key, value in asdict(self).items() if key != "note"}}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)


def evaluate(
    table: object,
    release: object,
    plan: Plan | str | Path,
    *,
    row_aligned: bool | None = None,
    target: str | None = None,
    test: object = None,
) -> Evaluation:
    """Information loss of `release`, a released version of `table` under `plan`.

    `release` is a table, or the folder of a release. Without `row_aligned`, the certificate beside the release says
    whether rows belong together, and without a certificate the plan's method does. `target` and `test` go together:
    a learner is taught to predict the column `target` by the release and examined on `test`, real records that were
    not released.
    """
    if (target is None) != (test is None):
        raise PlanError(
            "A target without a test table, or a test table without a target.",
            remedy="Give both: --target COLUMN --test TABLE (Python: target and test), or neither.",
        )
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    release = release_file(Path(release)) if isinstance(release, str | Path) else release
    if row_aligned is None:
        certificate = _certificate_beside(release)
        by_plan = plan.release.method.startswith(_ROW_BY_ROW)
        row_aligned = by_plan if certificate is None else certificate.row_aligned
    opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    schema = declare(plan, opened)
    original = encode(opened, schema)
    opened_release = open_table(release, separator=plan.table.separator).unescaped(schema.names)
    released = encode(_with_columns(opened_release, schema), schema, released=True)
    result = measure_all(*_with_ranges(original, released), row_aligned=row_aligned)
    learnt: list[tuple[str, Callable[[], Any]]] = [("propensity_auc", lambda: propensity_auc(original, released))]
    if target is not None:
        opened_test = open_table(test, separator=plan.table.separator, encoding=plan.table.encoding)
        real = encode(_with_columns(opened_test, schema), schema)
        learnt.append(("learning", lambda: learning_scores(original, released, real, target)))
    for name, measured in learnt:
        try:
            result = replace(result, **{name: measured()})
        except MissingExtraError as error:
            result = replace(result, not_measured={**result.not_measured, name: error.remedy})
    return result


def release_file(path: Path) -> Path:
    """The release itself, where the folder of a release is named."""
    if not path.is_dir() or any(path.glob("part-*")):  # a file, or a release in parts
        return path
    for name in ("release.csv", "release.parquet"):
        if (path / name).exists():
            return path / name
    raise TableError(f"The folder {path} holds no release.", remedy="Name the file, or a folder that release wrote.")


def _certificate_beside(release: object) -> Certificate | None:
    """The certificate of this very file, if it lies in the same folder."""
    if not isinstance(release, Path) or not (release.parent / CERTIFICATE_NAME).exists():
        return None
    try:
        certificate = Certificate.model_validate_json((release.parent / CERTIFICATE_NAME).read_bytes())
    except (ValidationError, OSError):
        raise TableError(
            f"The certificate beside {release} cannot be read, so it does not say whether rows belong together.",
            remedy="Say it yourself: --aligned or --not-aligned (Python: row_aligned).",
        ) from None
    return certificate if certificate.release is not None and certificate.release.file == release.name else None


def _with_columns(table: Table, schema: Schema) -> Table:
    absent = [name for name in schema.names if name not in table.schema.names]
    if absent:
        raise TableError(
            f"The table {table.name} lacks {len(absent)} column(s) of the plan, {absent[0]!r} among them.",
            remedy="Evaluate a release against the table and the plan it was made from.",
        )
    return table


def _with_ranges(original: Records, released: Records) -> tuple[Records, Records]:
    """Where the plan leaves a column's bounds to be found, the range of both tables stands in for public ones."""
    columns, tables = list(original.schema.columns), (dict(original.codes), dict(released.codes))
    for place, column in enumerate(columns):
        present = np.concatenate([codes[column.name][codes[column.name] != MISSING] for codes in tables])
        if column.private_bounds and isinstance(column.domain, Grid) and len(present):
            low, high = int(present.min()), int(present.max())
            grid = replace(
                column.domain, lower=column.domain.lower + low * column.domain.step, width=max(1, high - low)
            )
            columns[place] = replace(column, domain=grid)
            for codes in tables:
                codes[column.name] = np.where(codes[column.name] == MISSING, MISSING, codes[column.name] - low)
    schema = replace(original.schema, columns=tuple(columns))
    return Records(schema, tables[0], original.row_count), Records(schema, tables[1], released.row_count)


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
    cells = {
        column.name: cells_of(column, original.codes[column.name], released.codes[column.name])
        for column in schema.columns
    }
    columns = tuple(
        replace(
            result,
            wasserstein=wasserstein(column, original.codes[column.name], released.codes[column.name]),
            total_variation=total_variation(cells[column.name]),
        )
        for column, result in zip(schema.protected, first.columns, strict=True)
    )
    couples = [(a, b) for a, b in combinations(schema.columns, 2) if a.protected or b.protected]
    errors = _correlation_errors(original, released, schema.columns)
    pairs = tuple(
        PairResult((a.name, b.name), pair_total_variation(cells[a.name], cells[b.name]), errors.get((a.name, b.name)))
        for a, b in couples
    )
    return replace(
        first,
        columns=columns,
        wasserstein=_mean(result.wasserstein for result in columns),
        total_variation=_mean(result.total_variation for result in columns),
        pair_total_variation=_mean(pair.total_variation for pair in pairs),
        correlation_error=_mean(pair.correlation_error for pair in pairs),
        query_error=query_error(original, released, couples or [schema.columns]),
        pairs=pairs,
    )


def _correlation_errors(
    original: Records, released: Records, columns: Sequence[Column]
) -> dict[tuple[str, str], float]:
    """Of every pair of columns with an order."""
    names = [column.name for column in columns if isinstance(column.domain, Grid)]
    if len(names) < 2:
        return {}
    before, after = (rank_correlations([records.codes[name] for name in names]) for records in (original, released))
    errors = np.abs(before - after)
    return {(names[a], names[b]): float(errors[a, b]) for a, b in combinations(range(len(names)), 2)}


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None
