"""A table read once and kept in memory: every cell of a comparison works on the same one.

Guarantee    None beyond what the cells' methods give. The table is raw data; nothing here is written.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rankveil.declare import Plan, Records, Schema, declare
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Nominal
from rankveil.engines import open_table


def read(table: object, plan: Plan) -> Dataset:
    """Open a table, check it against the plan, and keep it in memory for all cells."""
    opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    schema = declare(plan, opened)
    dataset = Dataset(schema, opened.in_memory())
    dataset.records()
    return dataset


def of_records(records: Records, plan: Plan, name: str) -> Dataset:
    """A table that nobody has given."""
    values = {column.name: column.domain.decode(records.codes[column.name]) for column in records.schema.columns}
    dropped = {entry: pa.nulls(records.row_count) for entry in plan.columns if entry not in values}
    table = replace(open_table(pa.table({**values, **dropped})), name=name)
    return Dataset(declare(plan, table), table)


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
