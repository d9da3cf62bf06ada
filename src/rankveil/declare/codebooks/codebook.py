"""What a codebook says of the variables of a table, whatever format it is written in.

Guarantee    A codebook is read without looking at any table: what it says is as public as the document is. Statistics
             that a document gives of its data (frequencies, smallest and largest values found) are not taken for
             public limits, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Literal

from rankveil.errors import CodebookError

Kind = Literal["integer", "number", "quantity", "date", "boolean", "label", "drop"]
# A quantity is a number of which the document does not say whether it is whole.
Limit = Decimal | date
_MOST_OF_A_RANGE = 50  # values that a range of missing codes may stand for


@dataclass(frozen=True, slots=True)
class Code:
    """A value that a codebook lists, and the text that stands for it."""

    value: str
    label: str | None = None
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """What one codebook says of one variable; None is where it says nothing."""

    name: str
    place: str  # the document, and where in it
    label: str | None = None
    kind: Kind | None = None
    lower: Limit | None = None
    upper: Limit | None = None
    step: Decimal | None = None
    format: str | None = None  # of dates
    codes: tuple[Code, ...] = ()
    ordered: bool | None = None
    complete: bool = True  # whether `codes` claims to be all that can occur
    missing: tuple[str, ...] = ()  # values that mean missing
    required: bool | None = None
    weight: bool = False
    person: bool = False  # the variable says whose row a row is
    why: str | None = None  # it is dropped


@dataclass(frozen=True)
class Codebook:
    """Variables by the names of the table's columns, and what else the document names."""

    name: str
    variables: Mapping[str, Variable]
    absent: tuple[str, ...] = ()  # variables that the table does not have
    null_values: tuple[str, ...] | None = None  # texts that mean missing, in every column


class Gathered:
    """Variables of one document, as they are read: only those of the table are kept whole."""

    def __init__(self, name: str, columns: Collection[str]) -> None:
        self.name = name
        self._exact = set(columns)
        lowered: dict[str, list[str]] = {}
        for column in columns:
            lowered.setdefault(column.lower(), []).append(column)
        self._lowered = {key: found[0] for key, found in lowered.items() if len(found) == 1}
        self._kept: dict[str, Variable] = {}
        self._absent: dict[str, None] = {}
        self._twice: dict[str, None] = {}

    def column(self, *names: str) -> str | None:
        """The column that is meant: of exactly this name, or else of the only one that differs in capitals alone."""
        exact = next((name for name in names if name in self._exact), None)
        return exact or next((self._lowered[name.lower()] for name in names if name.lower() in self._lowered), None)

    def add(self, variable: Variable, *others: str) -> None:
        """`others` are further names by which the table may know it."""
        column = self.column(variable.name, *others)
        if column is None:
            self._absent[variable.name] = None
            return
        before = self._kept.setdefault(column, variable)
        if replace(before, place="") != replace(variable, place=""):
            self._twice[column] = None

    def codebook(self, null_values: tuple[str, ...] | None = None) -> Codebook:
        if self._twice:
            raise CodebookError(
                f"The codebook {self.name} describes {', '.join(map(repr, self._twice))} more than once, differently.",
                remedy="Give the part that is about this table alone.",
            )
        if not self._kept and not self._absent:
            raise CodebookError(f"The codebook {self.name} describes no variable.", remedy="Check the file.")
        return Codebook(self.name, self._kept, tuple(self._absent), null_values)


def together(books: Iterable[Codebook], columns: Iterable[str]) -> dict[str, Variable]:
    """What several codebooks say; where two contradict each other, they are refused."""
    books = list(books)
    found: dict[str, Variable] = {}
    against: list[str] = []
    for column in columns:
        for book in books:
            variable = book.variables.get(column)
            if variable is None:
                continue
            before = found.get(column)
            if before is None:
                found[column] = variable
                continue
            keys = [key for key in ("kind", "lower", "upper", "format") if _differ(before, variable, key)]
            if before.codes and variable.codes and _values(before) != _values(variable):
                keys.append("values")
            if keys:
                against.append(f"  {column}: {', '.join(keys)} ({before.place}; {variable.place})")
            found[column] = _filled(before, variable)
    if against:
        raise CodebookError(
            "The codebooks contradict each other:\n" + "\n".join(against), remedy="Leave out the one that is wrong."
        )
    return found


def _differ(first: Variable, second: Variable, key: str) -> bool:
    one, other = getattr(first, key), getattr(second, key)
    numbers = {"integer", "number", "quantity"}
    if key == "kind" and {one, other} <= numbers:
        return False  # a range of numbers, said with more or less detail
    return one is not None and other is not None and one != other


def _values(variable: Variable) -> frozenset[str]:
    return frozenset(code.value for code in variable.codes)


def _filled(first: Variable, second: Variable) -> Variable:
    """The first, with what only the second says."""
    more = {
        each.name: getattr(second, each.name)
        for each in fields(Variable)
        if each.name not in ("complete", "name")
        and _unsaid(getattr(first, each.name))
        and not _unsaid(getattr(second, each.name))
    }
    if first.kind == "quantity" and second.kind in ("integer", "number"):
        more["kind"] = second.kind
    added = more.keys() & {"kind", "lower", "upper", "codes", "format", "missing", "label"}
    return replace(first, **more, place=f"{first.place}; {second.place}" if added else first.place)


def _unsaid(value: object) -> bool:
    return value is None or value is False or value == ()


def number(text: object) -> Decimal | None:
    """A number as documents write it; None for anything else."""
    try:
        found = Decimal(str(text).strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) <= 40 else None


def day(text: object) -> date | None:
    try:
        return date.fromisoformat(str(text).strip()[:10])
    except ValueError:
        return None


def code_text(value: object) -> str:
    """A code as the table spells it: 1 for 1.0."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def whole_range(first: str | None, last: str | None) -> list[str]:
    """Every value of a range of codes, if they are few whole numbers."""
    if first is not None and first == last:
        return [first]
    low, high = number(first), number(last)
    if low is None or high is None or low % 1 or high % 1 or not 0 <= high - low < _MOST_OF_A_RANGE:
        return []
    return [str(value) for value in range(int(low), int(high) + 1)]
