"""Plan + table -> Schema (what is public) and Records (every row as integer codes).

Guarantee    Rows are never dropped and never reordered, and each code depends on its own value only (see domain.py).
             A table that does not fit the plan is refused as a whole, before anything is drawn or written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from rankveil.declare.derive import Derivation, Shape, check, derivation
from rankveil.declare.domain import (
    DEFAULT_NULL_TOKENS,
    Codes,
    Domain,
    Encoded,
    Grid,
    Nominal,
    domain_of,
    unescaped,
)
from rankveil.declare.entries import DropColumn, InterestEntry, Role
from rankveil.declare.places import Fits, first_places
from rankveil.declare.plan import Plan
from rankveil.declare.rule import (
    Clause,
    HasValue,
    RowRule,
    Scope,
    Stated,
    all_clauses,
    checks,
    impossible,
    refuse_contradictions,
    stated,
    told_apart,
)
from rankveil.declare.unit import A_ROW, Unit
from rankveil.engines import Table
from rankveil.engines.dialect import GUESSED_ENCODING
from rankveil.engines.spelling import Marks
from rankveil.errors import DomainError, PlanError, TableError

FEWEST_ROWS = 2
_MOST_SHOWN = 20
_LARGEST_SUM = 1 << 62  # sums of a column stay inside int64
_ADVICE = (
    "Widen the range in the plan, or set clamp = true for the column.",
    "Add the labels to the column's categories, taxonomy or label file.",
    'Say in [table] of the plan what the point means: decimal = "." or thousands = "." (with decimal = ",").',
    "Correct the kind of the column, its format or step, `decimal` or `thousands` in [table], or the table.",
    "Set null = true for columns in which values may be missing.",
)
_WIDEN, _ADD_LABELS, _SAY_MARKS, _CORRECT, _ALLOW_NULL = _ADVICE


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
    private_bounds: bool = False  # the domain is a wide public range until bounds have been released
    derived: Derivation | None = None  # computed from others: neither measured nor drawn
    told_apart: tuple[int, ...] = ()  # by rules: codes at which to cut numbers, or a class for each label
    source: str | None = None  # the public document that the plan's entry is taken from

    @property
    def shape(self) -> Shape:
        return Shape(self.name, self.domain, self.allows_null, self.clamp)

    @property
    def protected(self) -> bool:
        return self.role != "public"

    @property
    def field(self) -> pa.Field:
        """The column as it is released: a function of the plan alone."""
        return pa.field(self.name, self.domain.arrow_type, nullable=self.allows_null)


@dataclass(frozen=True)
class Interest:
    """What the plan wants more of: a target, whose dependence on all others matters, or columns that go together."""

    target: str | None = None
    columns: frozenset[str] = frozenset()

    def covers(self, columns: Sequence[str]) -> bool:
        """Whether a table of these columns is wanted."""
        return self.target in columns or (len(self.columns) > 1 and self.columns.issuperset(columns))


@dataclass(frozen=True)
class Schema:
    columns: tuple[Column, ...]
    stated: tuple[Stated, ...] = ()  # rules of the plan
    interest: tuple[Interest, ...] = ()
    unit: Unit = A_ROW  # who is protected

    @cached_property
    def scope(self) -> Scope:
        derived = {column.name: column.derived for column in self.columns if column.derived is not None}
        return Scope({column.name: column.shape for column in self.columns}, derived)

    @cached_property
    def rules(self) -> tuple[Clause | HasValue, ...]:
        """What every row that is drawn obeys."""
        return all_clauses(self.stated, self.scope)

    @property
    def checks(self) -> tuple[RowRule, ...]:
        """What every row of the table obeys."""
        return checks(self.stated, self.scope)

    @property
    def drawn(self) -> tuple[Column, ...]:
        """Columns that no others decide."""
        return tuple(column for column in self.columns if column.derived is None)

    @property
    def asked(self) -> tuple[Column, ...]:
        """Columns that are measured at a price."""
        return tuple(column for column in self.drawn if column.protected)

    def with_columns(self, columns: Sequence[Column]) -> Schema:
        """With other domains: rules say other codes, then."""
        bare = replace(self, columns=tuple(columns))
        if not bare.rules and not bare.scope.derived:
            return bare
        apart = {each.name: told_apart(bare.rules, bare.scope, each.name) for each in bare.drawn}
        return replace(bare, columns=tuple(replace(each, told_apart=apart.get(each.name, ())) for each in columns))

    def completed(self, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """Codes of all columns, from those that are drawn."""
        return self.scope.completed(codes, self.names)

    @property
    def protected(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.protected)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        """The released table's own schema."""
        return pa.schema([column.field for column in self.columns])


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
    plan = plan.over(table.schema.names)
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
    if plan.table.encoding is None and any(part.encoding == GUESSED_ENCODING for part in table.parts):
        # PRIVACY: one byte of one record would decide how the labels of all others are read.
        raise TableError(
            f"The table {table.name} is not UTF-8 text, and the plan does not say which encoding it is in.",
            remedy=f'Add it to [table]; Western office programs write encoding = "{GUESSED_ENCODING}".',
        )
    # PRIVACY: where no header lists the columns, one record would decide their order.
    names = in_table if table.in_order else in_plan
    return _schema(plan, names, _null_tokens(plan, table), _marks(plan, table))


def _marks(plan: Plan, table: Table) -> Marks:
    """How texts of the table spell numbers.

    In a text file whose fields commas separate the point is the decimal mark. In others the plan has to say so before a
    text such as 9.734, which may mean nine thousand, is read. A single column has no separator that could tell.
    """
    separator = table.dialect.separator if table.dialect else plan.table.separator or ","
    marks, by_commas = plan.table.marks, separator == "," and len(table.schema.names) > 1
    return replace(marks, stated=marks.stated or not table.of_texts or by_commas)


def declare_alone(plan: Plan) -> Schema:
    """What the plan declares, with no table at hand: for looking at noise before looking at data."""
    if plan.has_patterns:
        raise PlanError(
            "The plan speaks of columns by patterns, and without the table nobody knows which columns fit them.",
            remedy="Give the table as well, or in Python plan.over(names) with the names of its columns.",
        )
    return _schema(plan, list(plan.columns), _null_tokens(plan), replace(plan.table.marks, stated=True))


def _schema(plan: Plan, names: list[str], null_tokens: tuple[str, ...], marks: Marks) -> Schema:
    columns = []
    for name in names:
        entry = plan.columns[name]
        if isinstance(entry, DropColumn):
            continue
        private = getattr(entry, "bounds", "public") == "private"
        clamp = private or getattr(entry, "clamp", False)
        domain = domain_of(entry, name, plan, marks)
        column = Column(name, entry.kind, domain, entry.role, entry.null, clamp, null_tokens, private)
        columns.append(replace(column, source=entry.source))
    if not any(column.protected for column in columns):
        raise PlanError(
            "The plan protects no column: all are dropped or public.",
            remedy="Declare at least one column to protect.",
        )
    stated_rules = [impossible(number + 1, entry) for number, entry in enumerate(plan.impossible)]
    stated_rules += [stated(number + 1, entry) for number, entry in enumerate(plan.rule)]
    bare = Schema(tuple(_derived(plan, columns)), tuple(stated_rules), unit=plan.unit)
    bare = replace(bare, interest=tuple(each for entry in plan.interest for each in _interest(entry, bare)))
    for rule in bare.stated:
        bare.scope.check(rule)
    refuse_contradictions(bare.rules, bare.scope)
    return bare.with_columns(bare.columns)


def _derived(plan: Plan, columns: list[Column]) -> list[Column]:
    """The columns, each with what the plan says it follows from; in no circle."""
    shapes = {column.name: column.shape for column in columns}
    found = {}
    for column in columns:
        entry = plan.columns[column.name].derived
        if entry is not None:
            found[column.name] = derivation(entry, column.shape, shapes, plan)
    settled = {name for name in shapes if name not in found}
    while len(settled) < len(shapes):
        ready = [name for name, made in found.items() if name not in settled and settled.issuperset(made.sources)]
        if not ready:
            circle = sorted(name for name in found if name not in settled)
            raise PlanError(
                f"The derived {_listed(circle)} follow from each other in a circle, or from themselves.",
                remedy="Derive each column from columns that are not derived from it.",
            )
        settled |= set(ready)
    for name, made in found.items():
        check(made, shapes[name], shapes)
    return [replace(column, derived=found.get(column.name)) for column in columns]


def _interest(entry: InterestEntry, schema: Schema) -> list[Interest]:
    """In columns that are measured: a derived one stands for those that it follows from."""
    wanted = frozenset(entry.columns or ())
    named = wanted if entry.target is None else {entry.target}
    unknown = sorted(named - set(schema.names))
    if unknown:
        raise PlanError(
            f"An entry of `interest` names {_listed(unknown)}, which the release does not have.",
            remedy="Name columns that the plan declares and does not drop.",
        )
    if entry.target is None:
        return [Interest(columns=frozenset(schema.scope.base(wanted)))]
    return [Interest(target) for target in schema.scope.base([entry.target])]


def _null_tokens(plan: Plan, table: Table | None = None) -> tuple[str, ...]:
    if plan.table.null_values is not None:
        return plan.table.null_values
    return DEFAULT_NULL_TOKENS if table is None or table.of_texts else table.missing_texts


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
    broken = {} if released or not row_count else broken_rules(schema.checks, codes)
    refuse_misfits(table, schema, Tally(row_count, misfits, broken), released=released)
    return Records(schema, codes, row_count)


@dataclass(frozen=True)
class Misfits:
    """How many values of a column the plan does not explain."""

    outside: int = 0
    unreadable: int = 0
    without_code: int = 0  # missing, or one of the above
    ambiguous: int = 0

    @classmethod
    def of(cls, encoded: Encoded) -> Misfits:
        return cls(encoded.outside, encoded.unreadable, encoded.without_code, encoded.ambiguous)

    def __add__(self, other: Misfits) -> Misfits:
        return Misfits(
            self.outside + other.outside,
            self.unreadable + other.unreadable,
            self.without_code + other.without_code,
            self.ambiguous + other.ambiguous,
        )


@dataclass(frozen=True)
class Tally:
    """What a pass over the rows has seen."""

    rows: int
    misfits: dict[str, Misfits]
    broken: dict[str, int] = field(default_factory=dict)  # rows that break each rule

    def __add__(self, other: Tally) -> Tally:
        names, rules = {**self.misfits, **other.misfits}, {**self.broken, **other.broken}
        return Tally(
            self.rows + other.rows,
            {name: self.misfits.get(name, Misfits()) + other.misfits.get(name, Misfits()) for name in names},
            {text: self.broken.get(text, 0) + other.broken.get(text, 0) for text in rules},
        )


def refuse_misfits(table: Table, schema: Schema, tally: Tally, *, released: bool = False) -> None:
    """Refuse a table with too few rows, or with values that the plan does not allow."""
    refuse_few(f"Table {table.name}", tally.rows)
    columns = [column for column in schema.columns if column.name in tally.misfits]
    for column in columns:
        if isinstance(column.domain, Grid) and tally.rows * column.domain.axis_width >= _LARGEST_SUM:
            raise TableError(
                f"column {column.name!r}: {tally.rows} rows with so many steps cannot be summed exactly.",
                remedy="Make the step of the column larger.",
            )
    complaints = {column: complaints_of(column, tally) for column in columns}
    refused = [column for column in columns if complaints[column]][:_MOST_SHOWN]
    if refused:
        places = first_places(table, {column.name: _fits(column, released) for column in refused})
        lines = [
            text + (f" The first is in {places[column.name]}." if column.name in places and not more else "")
            for column in refused
            for more, text in enumerate(complaints[column].values())
        ]
        advice = set().union(*complaints.values())
        advice -= {_CORRECT} if _SAY_MARKS in advice else set()
        raise DomainError("\n".join(lines[:_MOST_SHOWN]), remedy=" ".join(each for each in _ADVICE if each in advice))
    broken = [f"{count} of {tally.rows} rows break {text}." for text, count in tally.broken.items() if count]
    if broken:
        raise DomainError(
            "\n".join(broken[:_MOST_SHOWN]),
            remedy="Correct the table, or what the plan says: a rule holds for every row, and so does `derived`.",
        )


def refuse_few(table: str, rows: int) -> None:
    """Refuse what is too short for a release."""
    if rows < FEWEST_ROWS:
        raise TableError(
            f"{table} has {'no rows' if rows == 0 else 'one row'}; a release needs at least {FEWEST_ROWS}.",
            remedy="Check that this is the right file and that its first line is the header.",
        )


def broken_rules(rules: Sequence[RowRule], codes: Mapping[str, Codes]) -> dict[str, int]:
    """How many rows break each of these rules."""
    return {rule.text: int(np.count_nonzero(~rule.holds(codes))) for rule in rules}


def _fits(column: Column, released: bool) -> Fits:
    """Whether all values of an array fit the column."""

    def fits(array: pa.Array) -> bool:
        misfits = Misfits.of(encode_batch(column, array, released=released))
        return not complaints_of(column, Tally(len(array), {column.name: misfits}))

    return fits


def encode_batch(column: Column, array: pa.Array, *, released: bool = False) -> Encoded:
    """Codes of a piece of a column."""
    # A release writes missing as an empty field, whatever the original's token was, and no marks of thousands.
    null_tokens = (*column.null_tokens, "") if released else column.null_tokens
    try:
        if released and isinstance(column.domain, Nominal):
            return column.domain.encode_released(unescaped(array, column.domain.taxonomy.names), null_tokens)
        if released and isinstance(column.domain, Grid):
            if column.domain.labels is not None:
                array = unescaped(array, column.domain.labels)
            return replace(column.domain, marks=Marks(column.domain.marks.decimal)).encode(array, null_tokens)
        return column.domain.encode(array, null_tokens)
    except (pa.ArrowException, UnicodeError):
        # Arrow's own message may quote a value.
        raise TableError(
            f"column {column.name!r}: values of the type {array.type} cannot be read as {column.kind}.",
            remedy='Correct the kind of the column, say kind = "drop", or convert the column to numbers or text.',
        ) from None


def complaints_of(column: Column, tally: Tally) -> dict[str, str]:
    """What is to be said of a column, by the advice that goes with it."""
    misfits, domain, found = tally.misfits[column.name], column.domain, {}

    def said(count: int, what: str) -> str:
        return f"column {column.name!r}: {count} of {tally.rows} {what}."

    missing = misfits.without_code - misfits.unreadable  # as against what got no code for another reason
    if misfits.ambiguous:
        what = "numbers have three digits after their only point, which may be decimals or thousands"
        found[_SAY_MARKS] = said(misfits.ambiguous, what)
    elif misfits.unreadable:
        kinds = {"date": "are not dates in the declared format", "integer": "are not whole numbers"}
        found[_CORRECT] = said(misfits.unreadable, f"values {kinds.get(column.kind, 'are not numbers')}")
    if isinstance(domain, Nominal) or domain.labels is not None:
        missing -= misfits.outside
        if misfits.outside:
            found[_ADD_LABELS] = said(misfits.outside, "values are not among its categories")
    elif misfits.outside and not column.clamp:
        found[_WIDEN] = said(misfits.outside, f"values lie outside the declared range {_range_text(domain)}")
    if missing > 0 and not column.allows_null:
        found[_ALLOW_NULL] = said(missing, "values are missing")
    return found


def _range_text(grid: Grid) -> str:
    if grid.date_format is None:
        return f"{grid.lower} to {grid.lower + grid.width * grid.step + grid.beyond}"
    ends = grid.decode(np.array([0, grid.width]))
    return f"{ends[0].as_py()} to {ends[1].as_py()}"


def _listed(names: list[str]) -> str:
    # PRIVACY: a quote in the header that is never closed makes a name of all rows; that name is not shown.
    shown = ", ".join(repr(name) if len(name.splitlines()) < 2 else "(a name of several lines)" for name in names[:5])
    return f"column {shown}" if len(names) == 1 else f"columns {shown}" + (" ..." if len(names) > 5 else "")
