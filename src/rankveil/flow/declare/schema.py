"""Plan + table -> Schema (what is public) and Records (every row as integer codes).

Guarantee    Rows are never dropped and never reordered, and each code depends on its own value only (see domain.py).
             A table that does not fit the plan is refused as a whole, before anything is drawn or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankveil.engines import Table
from rankveil.errors import DomainError, PlanError, TableError
from rankveil.flow.declare.domain import (
    DEFAULT_NULL_TOKENS,
    MISSING,
    Codes,
    Domain,
    Encoded,
    Grid,
    Nominal,
    domain_of,
)
from rankveil.flow.declare.plan import DropColumn, Plan, Role

FEWEST_ROWS = 2


@dataclass(frozen=True)
class Column:
    """One released column: its public domain and its part in the release."""

    name: str
    kind: str
    domain: Domain
    role: Role
    allows_null: bool
    clamp: bool
    null_tokens: tuple[str, ...]
    input_type: pa.DataType

    @property
    def protected(self) -> bool:
        return self.role == "protected"

    def decode(self, codes: Codes) -> pa.Array:
        """Values of the type that went in."""
        array = self.domain.decode(codes)
        wanted = self.input_type
        if isinstance(self.domain, Grid) and self.domain.date_format and _is_text_type(wanted):
            return pc.strftime(array, format=self.domain.date_format)
        if wanted == array.type or (_is_text_type(wanted) and not pa.types.is_string(array.type)):
            return array  # from a text file: the natural type; the writer turns it into text
        if pa.types.is_dictionary(wanted):
            return array.cast(wanted.value_type).dictionary_encode()
        return array.cast(wanted, safe=False)


@dataclass(frozen=True)
class Schema:
    columns: tuple[Column, ...]

    @property
    def protected(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.protected)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


@dataclass(frozen=True)
class Records:
    """A whole table as codes, one array per column of the schema. Raw data: not protected in any way."""

    schema: Schema
    codes: dict[str, Codes]
    row_count: int

    @property
    def public_codes(self) -> dict[str, Codes]:
        """The columns that everyone knows, which a release keeps row by row."""
        return {column.name: self.codes[column.name] for column in self.schema.columns if not column.protected}


def declare(plan: Plan, table: Table) -> Schema:
    """Match the plan with the table's column names; the table's rows are not read."""
    in_table, in_plan = list(table.schema.names), list(plan.columns)
    absent = [name for name in in_plan if name not in set(in_table)]
    if absent:
        raise TableError(
            f"The plan declares {_listed(absent)}, which the table {table.name} does not have.",
            remedy="Correct the name in the plan, or remove the entry.",
        )
    undeclared = [name for name in in_table if name not in plan.columns]
    if undeclared:
        raise TableError(
            f"The table {table.name} has {_listed(undeclared)}, which the plan does not mention.",
            remedy='Declare the column, or say kind = "drop" to leave it out of the release.',
        )
    types = {name: table.schema.field(name).type for name in in_table}
    return _schema(plan, types, _null_tokens(plan, text=table.format == "csv"))


def declare_alone(plan: Plan) -> Schema:
    """What the plan declares, with no table at hand: for looking at noise before looking at data."""
    return _schema(plan, dict.fromkeys(plan.columns, pa.string()), _null_tokens(plan, text=True))


def _schema(plan: Plan, types: Mapping[str, pa.DataType], null_tokens: tuple[str, ...]) -> Schema:
    columns = []
    for name, input_type in types.items():
        entry = plan.columns[name]
        if isinstance(entry, DropColumn):
            continue
        columns.append(
            Column(
                name=name,
                kind=entry.kind,
                domain=domain_of(entry, name, plan),
                role=entry.role,
                allows_null=entry.null,
                clamp=getattr(entry, "clamp", False),
                null_tokens=null_tokens,
                input_type=input_type,
            )
        )
    if not any(column.protected for column in columns):
        raise PlanError(
            "The plan protects no column: all are dropped or public.",
            remedy="Declare at least one column to protect.",
        )
    return Schema(tuple(columns))


def _null_tokens(plan: Plan, *, text: bool) -> tuple[str, ...]:
    if plan.table.null_values is not None:
        return plan.table.null_values
    return DEFAULT_NULL_TOKENS if text else ()


def encode(table: Table, schema: Schema, *, released: bool = False) -> Records:
    """Read all rows as codes; refuse the table if a value is outside what the plan declares.

    `released` reads a released table, in which a category may be an inner concept of its taxonomy.
    """
    pieces: dict[str, list[Encoded]] = {column.name: [] for column in schema.columns}
    for batch in table.batches(schema.names):
        for column in schema.columns:
            array = batch.column(column.name)
            if released and isinstance(column.domain, Nominal):
                pieces[column.name].append(column.domain.encode_released(array, column.null_tokens))
            else:
                pieces[column.name].append(column.domain.encode(array, column.null_tokens))
    joined = {name: _joined(encoded) for name, encoded in pieces.items()}
    row_count = len(next(iter(joined.values())).codes)
    if row_count < FEWEST_ROWS:
        raise TableError(
            f"Table {table.name} has {'no rows' if row_count == 0 else 'one row'}; a release needs at least"
            f" {FEWEST_ROWS}.",
            remedy="Check that this is the right file and that its first line is the header.",
        )
    complaints = [text for column in schema.columns for text in _complaints(column, joined[column.name])]
    if complaints:
        raise DomainError("\n".join(complaints[:20]), remedy=_remedy(schema.columns, joined))
    return Records(schema, {name: encoded.codes for name, encoded in joined.items()}, row_count)


def _joined(pieces: Iterable[Encoded]) -> Encoded:
    total = Encoded(np.empty(0, np.int64))
    pieces = list(pieces)
    if not pieces:
        return total
    return replace(
        total,
        codes=np.concatenate([piece.codes for piece in pieces]),
        outside=sum(piece.outside for piece in pieces),
        unreadable=sum(piece.unreadable for piece in pieces),
    )


def _missing_count(encoded: Encoded) -> int:
    return int(np.count_nonzero(encoded.codes == MISSING))


def _complaints(column: Column, encoded: Encoded) -> list[str]:
    total = len(encoded.codes)
    found = []
    if encoded.unreadable:
        what = {
            "date": "are not dates in the declared format",
            "integer": "are not whole numbers",
        }.get(column.kind, "are not numbers")
        found.append(f"column {column.name!r}: {encoded.unreadable} of {total} values {what}.")
    if encoded.outside and isinstance(column.domain, Grid) and column.domain.labels is None:
        if not column.clamp:
            found.append(
                f"column {column.name!r}: {encoded.outside} of {total} values lie outside the declared range"
                f" {_range_text(column.domain)}."
            )
    elif encoded.outside:
        found.append(f"column {column.name!r}: {encoded.outside} of {total} values are not among its categories.")
    unexplained = _missing_count(encoded) - encoded.unreadable
    if isinstance(column.domain, Nominal) or (isinstance(column.domain, Grid) and column.domain.labels is not None):
        unexplained -= encoded.outside
    if unexplained > 0 and not column.allows_null:
        found.append(f"column {column.name!r}: {unexplained} of {total} values are missing.")
    return found


def _range_text(grid: Grid) -> str:
    ends = grid.decode(np.array([0, grid.width]))
    return f"{ends[0].as_py()} to {ends[1].as_py()}"


def _remedy(columns: Iterable[Column], joined: dict[str, Encoded]) -> str:
    advice = []
    columns = list(columns)
    grids = [column for column in columns if isinstance(column.domain, Grid) and column.domain.labels is None]
    if any(joined[column.name].outside and not column.clamp for column in grids):
        advice.append("Widen the range in the plan, or set clamp = true for the column.")
    if any(joined[column.name].outside for column in columns if column not in grids):
        advice.append("Add the labels to the column's categories, taxonomy or label file.")
    if any(joined[column.name].unreadable for column in columns):
        advice.append("Correct the kind of the column (or its format, step or decimal mark), or the table.")
    if any(_missing_count(joined[column.name]) and not column.allows_null for column in columns):
        advice.append("Set null = true for columns in which values may be missing.")
    return " ".join(advice)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return f"column {shown}" if len(names) == 1 else f"columns {shown}" + (" ..." if len(names) > 5 else "")


def _is_text_type(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type)
    )
