"""A table read once and kept as codes: every cell of a comparison works on the same ones.

Guarantee    None beyond what the cells' methods give. The codes are raw data; nothing here is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from rankveil.engines import Table, open_table
from rankveil.flow.declare import Plan, Records, Schema, declare
from rankveil.flow.declare.dataset import CodeBatch, Dataset, State
from rankveil.flow.declare.domain import MISSING, Codes, Grid, Nominal


@dataclass(frozen=True)
class EncodedDataset(Dataset):
    """A dataset whose passes go over codes in memory: the whole table is one batch."""

    def fold(
        self,
        columns: Sequence[str],
        zero: Callable[[], State],
        step: Callable[[State, CodeBatch], State],
        merge: Callable[[State, State], State],
    ) -> tuple[State, int]:
        records = self.records()
        return step(zero(), {name: records.codes[name] for name in columns}), records.row_count


def read(table: object, plan: Plan) -> EncodedDataset:
    """Open a table, check it against the plan, and keep its codes."""
    opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    dataset = EncodedDataset(declare(plan, opened), opened)
    dataset.records()
    return dataset


def of_records(records: Records, name: str) -> EncodedDataset:
    """Codes that come from no table."""
    nowhere = pa.schema([(column.name, pa.string()) for column in records.schema.columns])
    return EncodedDataset(records.schema, Table(name, "arrow", nowhere), [records])


def digest_of_table(records: Records) -> str:
    """The same for two tables exactly if all released columns hold the same codes in the same order."""
    digest = hashlib.sha256()
    for name in records.schema.names:
        digest.update(f"{name}\0{records.row_count}\0".encode())
        digest.update(np.ascontiguousarray(records.codes[name], dtype="<i8").tobytes())
    return digest.hexdigest()


def digest_of_plan(plan: Plan, schema: Schema) -> str:
    """What the plan says about columns, taxonomies included; its release settings are each cell's own."""
    content = {key: value for key, value in plan.model_dump().items() if key != "release"}
    digest = hashlib.sha256(json.dumps(content, default=str, ensure_ascii=False).encode())
    for column in schema.columns:
        if isinstance(column.domain, Nominal):
            taxonomy = column.domain.taxonomy
            digest.update("\0".join([column.name, *taxonomy.names]).encode())
            digest.update(np.ascontiguousarray(taxonomy.distances, dtype="<f8").tobytes())
    return digest.hexdigest()


def on_scale_of(original: Records, released: Records) -> Records:
    """The release over the original's domains: where it has found bounds of its own, codes are counted anew."""
    codes = dict(released.codes)
    found = {column.name: column.domain for column in released.schema.columns}
    for column in original.schema.columns:
        grid, bounded = column.domain, found[column.name]
        if column.private_bounds and isinstance(grid, Grid) and isinstance(bounded, Grid):
            shift = int(Fraction(bounded.lower - grid.lower) / Fraction(grid.step))
            codes[column.name] = _moved(codes[column.name], shift)
    return Records(original.schema, codes, released.row_count)


def on_common_ranges(original: Records, released: Records) -> tuple[Records, Records]:
    """Where the plan leaves a column's bounds to be found, the range of both tables stands in for public ones."""
    columns, before, after = list(original.schema.columns), dict(original.codes), dict(released.codes)
    for place, column in enumerate(columns):
        if column.private_bounds and isinstance(column.domain, Grid):
            both = np.concatenate([before[column.name], after[column.name]])
            present = both[both != MISSING]
            low, high = (int(present.min()), int(present.max())) if len(present) else (0, 1)
            lower = column.domain.lower + low * column.domain.step
            columns[place] = replace(column, domain=replace(column.domain, lower=lower, width=max(1, high - low)))
            before[column.name], after[column.name] = (_moved(codes[column.name], -low) for codes in (before, after))
    schema = replace(original.schema, columns=tuple(columns))
    return Records(schema, before, original.row_count), Records(schema, after, released.row_count)


def _moved(codes: Codes, by: int) -> Codes:
    return np.where(codes == MISSING, MISSING, codes + by)
