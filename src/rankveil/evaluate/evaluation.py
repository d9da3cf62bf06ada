"""Measure a release against its original, column by column and on average."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankveil.engines import open_table
from rankveil.errors import TableError
from rankveil.evaluate import measures
from rankveil.flow.declare import Plan, Records, declare, encode

INTERNAL = "INTERNAL: computed from the original table and not protected. Do not publish."


@dataclass(frozen=True)
class ColumnResult:
    name: str
    kind: str
    relative_error: float | None  # None if rows of the release do not belong to rows of the original
    variance_change: float | None
    jsd: float


@dataclass(frozen=True)
class Evaluation:
    rows: int
    columns: tuple[ColumnResult, ...]
    relative_error: float | None
    variance_change: float | None
    jsd: float
    note: str = INTERNAL

    def as_dict(self) -> dict[str, Any]:
        return {"note": self.note, **{key: value for key, value in asdict(self).items() if key != "note"}}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)


def evaluate(table: object, release: object, plan: Plan | str | Path, *, row_aligned: bool = True) -> Evaluation:
    """Information loss of `release`, a released version of `table` under `plan`."""
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    original = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    released = open_table(release, separator=plan.table.separator)
    schema = declare(plan, original)
    absent = [name for name in schema.names if name not in released.schema.names]
    if absent:
        raise TableError(
            f"The release lacks {len(absent)} column(s) of the plan, {absent[0]!r} among them.",
            remedy="Evaluate a release against the table and the plan it was made from.",
        )
    return measure(encode(original, schema), encode(released, schema, released=True), row_aligned=row_aligned)


def measure(original: Records, released: Records, *, row_aligned: bool = True) -> Evaluation:
    """The same on encoded tables. Averages are over the protected columns."""
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
        relative_error=_mean([result.relative_error for result in results]),
        variance_change=_mean([result.variance_change for result in results]),
        jsd=float(np.mean([result.jsd for result in results])),
    )


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None
