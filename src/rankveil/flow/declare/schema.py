"""Plan + table -> Schema (what is public) and Records (every row as integer codes).

Guarantee    Rows are never dropped and never reordered, and each code depends on its own value only (see domain.py).
             A table that does not fit the plan is refused as a whole, before anything is drawn or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankveil.engines import Table
from rankveil.engines.arrays import text_array, value_array
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
    unescaped,
)
from rankveil.flow.declare.plan import DropColumn, Plan, Role, SynopsisChoice

FEWEST_ROWS = 2
_LARGEST_SUM = 1 << 62  # sums of a column stay inside int64


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
    synopsis: SynopsisChoice = "auto"
    private_bounds: bool = False  # the domain is a wide public range until bounds have been released

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
            return self._as_dictionary(codes, wanted)
        if not self._holds_domain(wanted, codes):
            return array
        if pa.types.is_decimal(wanted):
            array = array.cast(pa.float64())  # Arrow refuses short decimals for integers whatever their values
        if pa.types.is_timestamp(wanted) and wanted.tz is not None:
            # A day begins when its own zone says so; a cast would take midnight of UTC, in the west the day before.
            midnight = array.cast(pa.timestamp(wanted.unit))
            return pc.assume_timezone(midnight, wanted.tz, ambiguous="earliest", nonexistent="latest")
        return array.cast(wanted, safe=False)

    def _holds_domain(self, wanted: pa.DataType, codes: Codes) -> bool:
        """Whether the table's own type can hold all that a release may say: int8 holds neither 0 to 1000 nor 'cook'."""
        if isinstance(self.domain, Nominal):
            extremes = np.arange(len(self.domain.labels_for(codes)))
        elif self.domain.labels is not None:
            extremes = np.arange(len(self.domain.labels))
        else:
            extremes = np.array([0, self.domain.width])
        values = self.domain.decode(extremes)
        try:
            (values.cast(pa.float64()) if pa.types.is_decimal(wanted) else values).cast(wanted)
        except pa.ArrowException:
            return False
        return not pa.types.is_null(wanted)

    def _as_dictionary(self, codes: Codes, wanted: pa.DictionaryType) -> pa.Array:
        """Labels keep all labels of the plan as their dictionary, drawn or not."""
        labels = self.domain.labels_for(codes) if isinstance(self.domain, Nominal) else self.domain.labels
        if labels is None:
            values = replace(self, input_type=wanted.value_type).decode(codes)
            return values.dictionary_encode()
        dictionary = text_array(labels)
        return pa.DictionaryArray.from_arrays(
            value_array(codes.astype(np.int32), codes == MISSING),
            dictionary.cast(wanted.value_type) if self._holds_domain(wanted.value_type, codes) else dictionary,
            ordered=wanted.ordered,
        )


# Codes per column; rows that match all of them cannot occur.
Combination = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Schema:
    columns: tuple[Column, ...]
    impossible: tuple[Combination, ...] = ()

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
    types = {name: _public_type(table, name, may_be_missing=plan.columns[name].null) for name in in_table}
    return _schema(plan, types, _null_tokens(plan, text=table.format == "csv"))


def _public_type(table: Table, name: str, *, may_be_missing: bool) -> pa.DataType:
    """The type a column is released in, where it belongs to the table's schema and not to its values.

    PRIVACY: pandas makes float64 of whole numbers as soon as one of them is missing. Where values may be missing, such
    numbers are therefore released in the type of their kind, as those of a text file are.
    """
    found = table.schema.field(name).type
    shows_missing = pa.types.is_integer(found) or pa.types.is_float64(found)
    return pa.string() if table.format == "pandas" and may_be_missing and shows_missing else found


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
                clamp=getattr(entry, "clamp", False) or getattr(entry, "bounds", "public") == "private",
                null_tokens=null_tokens,
                input_type=input_type,
                synopsis=getattr(entry, "synopsis", "auto"),
                private_bounds=getattr(entry, "bounds", "public") == "private",
            )
        )
    if not any(column.protected for column in columns):
        raise PlanError(
            "The plan protects no column: all are dropped or public.",
            remedy="Declare at least one column to protect.",
        )
    return Schema(tuple(columns), tuple(_combination(entry, columns) for entry in plan.impossible))


def _combination(entry: Mapping[str, tuple[str, ...]], columns: list[Column]) -> Combination:
    """Labels of an `impossible` entry as codes."""
    by_name = {column.name: column for column in columns}
    combination = {}
    for name, labels in entry.items():
        domain = by_name[name].domain if name in by_name else None
        known = None if domain is None else domain.labels if isinstance(domain, Grid) else domain.taxonomy.labels
        if known is None or any(label not in known for label in labels):
            raise PlanError(
                f"An entry of `impossible` names {name!r} with a label that the plan does not declare for it.",
                remedy="Use released columns with labels (category, ordinal, boolean), and labels they declare.",
            )
        combination[name] = tuple(known.index(label) for label in labels)
    if not combination:
        raise PlanError("An entry of `impossible` is empty.", remedy="Name at least one column and label.")
    return combination


def _null_tokens(plan: Plan, *, text: bool) -> tuple[str, ...]:
    if plan.table.null_values is not None:
        return plan.table.null_values
    return DEFAULT_NULL_TOKENS if text else ()


def encode(table: Table, schema: Schema, *, released: bool = False) -> Records:
    """Read all rows as codes; refuse the table if a value is outside what the plan declares.

    `released` reads a released table, in which a category may be an inner concept of its taxonomy.
    """
    pieces: dict[str, list[Encoded]] = {column.name: [] for column in schema.columns}
    row_count = 0
    for batch in table.batches(schema.names):
        row_count += batch.num_rows
        for column in schema.columns:
            pieces[column.name].append(encode_batch(column, batch.column(column.name), released=released))
    codes = {
        name: np.concatenate([piece.codes for piece in encoded] or [np.empty(0, np.int64)])
        for name, encoded in pieces.items()
    }
    misfits = {name: sum(map(Misfits.of, encoded), Misfits()) for name, encoded in pieces.items()}
    refuse_misfits(table.name, schema, Tally(row_count, misfits))
    return Records(schema, codes, row_count)


@dataclass(frozen=True)
class Misfits:
    """How many values of a column the plan does not explain."""

    outside: int = 0
    unreadable: int = 0
    without_code: int = 0  # missing, or one of the above

    @classmethod
    def of(cls, encoded: Encoded) -> Misfits:
        return cls(encoded.outside, encoded.unreadable, encoded.without_code)

    def __add__(self, other: Misfits) -> Misfits:
        return Misfits(
            self.outside + other.outside,
            self.unreadable + other.unreadable,
            self.without_code + other.without_code,
        )


@dataclass(frozen=True)
class Tally:
    """What a pass over the rows has seen."""

    rows: int
    misfits: dict[str, Misfits]

    def __add__(self, other: Tally) -> Tally:
        names = {**self.misfits, **other.misfits}
        return Tally(
            self.rows + other.rows,
            {name: self.misfits.get(name, Misfits()) + other.misfits.get(name, Misfits()) for name in names},
        )


def refuse_misfits(table_name: str, schema: Schema, tally: Tally) -> None:
    """Refuse a table with too few rows, or with values that the plan does not allow."""
    if tally.rows < FEWEST_ROWS:
        raise TableError(
            f"Table {table_name} has {'no rows' if tally.rows == 0 else 'one row'}; a release needs at least"
            f" {FEWEST_ROWS}.",
            remedy="Check that this is the right file and that its first line is the header.",
        )
    columns = [column for column in schema.columns if column.name in tally.misfits]
    for column in columns:
        if isinstance(column.domain, Grid) and tally.rows * column.domain.axis_width >= _LARGEST_SUM:
            raise TableError(
                f"column {column.name!r}: {tally.rows} rows with so many steps cannot be summed exactly.",
                remedy="Make the step of the column larger.",
            )
    complaints = [text for column in columns for text in _complaints(column, tally)]
    if complaints:
        raise DomainError("\n".join(complaints[:20]), remedy=_remedy(columns, tally))


def encode_batch(column: Column, array: pa.Array, *, released: bool = False) -> Encoded:
    """Codes of a piece of a column."""
    # A release writes missing as an empty field, whatever the original's token was.
    null_tokens = (*column.null_tokens, "") if released else column.null_tokens
    try:
        if released and isinstance(column.domain, Nominal):
            return column.domain.encode_released(unescaped(array, column.domain.taxonomy.names), null_tokens)
        if released and isinstance(column.domain, Grid) and column.domain.labels is not None:
            array = unescaped(array, column.domain.labels)
        return column.domain.encode(array, null_tokens)
    except (pa.ArrowException, UnicodeError):
        # Arrow's own message may quote a value.
        raise TableError(
            f"column {column.name!r}: values of the type {array.type} cannot be read as {column.kind}.",
            remedy='Correct the kind of the column, say kind = "drop", or convert the column to numbers or text.',
        ) from None


def _missing_count(column: Column, misfits: Misfits) -> int:
    """Values that are missing, as against those that got no code for another reason."""
    labelled = isinstance(column.domain, Nominal) or column.domain.labels is not None
    return misfits.without_code - misfits.unreadable - (misfits.outside if labelled else 0)


def _complaints(column: Column, tally: Tally) -> list[str]:
    misfits, total = tally.misfits[column.name], tally.rows
    found = []
    if misfits.unreadable:
        what = {
            "date": "are not dates in the declared format",
            "integer": "are not whole numbers",
        }.get(column.kind, "are not numbers")
        found.append(f"column {column.name!r}: {misfits.unreadable} of {total} values {what}.")
    if misfits.outside and isinstance(column.domain, Grid) and column.domain.labels is None:
        if not column.clamp:
            found.append(
                f"column {column.name!r}: {misfits.outside} of {total} values lie outside the declared range"
                f" {_range_text(column.domain)}."
            )
    elif misfits.outside:
        found.append(f"column {column.name!r}: {misfits.outside} of {total} values are not among its categories.")
    missing = _missing_count(column, misfits)
    if missing > 0 and not column.allows_null:
        found.append(f"column {column.name!r}: {missing} of {total} values are missing.")
    return found


def _range_text(grid: Grid) -> str:
    if grid.date_format is None:
        return f"{grid.lower} to {grid.lower + grid.width * grid.step + grid.beyond}"
    ends = grid.decode(np.array([0, grid.width]))
    return f"{ends[0].as_py()} to {ends[1].as_py()}"


def _remedy(columns: list[Column], tally: Tally) -> str:
    advice = []
    found = tally.misfits
    grids = [column for column in columns if isinstance(column.domain, Grid) and column.domain.labels is None]
    if any(found[column.name].outside and not column.clamp for column in grids):
        advice.append("Widen the range in the plan, or set clamp = true for the column.")
    if any(found[column.name].outside for column in columns if column not in grids):
        advice.append("Add the labels to the column's categories, taxonomy or label file.")
    if any(found[column.name].unreadable for column in columns):
        advice.append("Correct the kind of the column (or its format, step or decimal mark), or the table.")
    if any(_missing_count(column, found[column.name]) > 0 and not column.allows_null for column in columns):
        advice.append("Set null = true for columns in which values may be missing.")
    return " ".join(advice)


def _listed(names: list[str]) -> str:
    # PRIVACY: a quote in the header that is never closed makes a name of all rows; that name is not shown.
    shown = ", ".join(repr(name) if len(name.splitlines()) < 2 else "(a name of several lines)" for name in names[:5])
    return f"column {shown}" if len(names) == 1 else f"columns {shown}" + (" ..." if len(names) > 5 else "")


def _is_text_type(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type)
    )
