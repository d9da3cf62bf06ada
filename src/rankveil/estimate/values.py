"""Conditions and values of an expression, row by row, over released values. The language is that of the plan's rules.

As there: computing with a missing value gives a missing one, and a comparison with one is false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.expression import (
    All,
    Any,
    Call,
    Comparison,
    IsMissing,
    Member,
    Name,
    Node,
    Not,
    Number,
    Text,
    Truth,
)
from rankveil.errors import EstimateError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """One column, or what was computed from columns: numbers, or the places of labels in a list."""

    numbers: Floats  # nan: missing. Days since 1970 of dates, places of labels
    labels: tuple[str, ...] | None = None
    special: tuple[float, ...] = ()  # values with a meaning of their own, which are no amounts
    date: bool = False

    @property
    def amounts(self) -> Floats:
        """The numbers, without special values."""
        return np.where(np.isin(self.numbers, self.special), np.nan, self.numbers) if self.special else self.numbers


@dataclass(frozen=True)
class Ends:
    """How far a column of numbers may reach by the plan, and how many records the noise on one count may hide."""

    lower: float
    upper: float
    deviation: float


_SIGNS: dict[str, Callable[[Floats, Floats], Bools]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_CALLS: dict[str, Callable[..., NDArray[np.generic]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
}


def column(columns: Mapping[str, Values], name: str) -> Values:
    if name not in columns:
        raise EstimateError(f"The release has no column {name!r}.", remedy=f"Its columns are: {', '.join(columns)}.")
    return columns[name]


def is_condition(node: Node) -> bool:
    return isinstance(node, Comparison | Member | IsMissing | Not | All | Any | Truth)


def values_of(node: Node, columns: Mapping[str, Values]) -> Values:
    """What a value is in each row."""
    size = len(next(iter(columns.values())).numbers)
    if isinstance(node, Name):
        return column(columns, node.column)
    if isinstance(node, Number):
        return Values(np.full(size, float(node.value)))
    if is_condition(node):
        return Values(holds(node, columns).astype(np.float64))
    if isinstance(node, Call):
        given = [_numeric(values_of(each, columns), node.function) for each in node.arguments]
        if node.function in ("year", "month"):
            return Values(_calendar(given[0], node.function))
        if any(each.date for each in given) and node.function not in ("-", "min", "max"):
            raise EstimateError(f"{node.function!r} cannot be computed with dates.", remedy="Use year() or month().")
        with np.errstate(all="ignore"):
            found = _CALLS[node.function](*(each.amounts for each in given)).astype(np.float64)
        return Values(np.where(np.isfinite(found), found, np.nan), date=node.function != "-" and given[0].date)
    raise EstimateError("A label stands where a number is expected.", remedy="Compare it with a column.")


def holds(node: Node, columns: Mapping[str, Values]) -> Bools:
    """Where a condition holds."""
    if isinstance(node, Not):
        return ~holds(node.inner, columns)
    if isinstance(node, All | Any):
        parts = [holds(part, columns) for part in node.parts]
        whole = np.logical_and if isinstance(node, All) else np.logical_or
        return np.asarray(whole.reduce(parts), dtype=np.bool_)
    if isinstance(node, IsMissing):
        return np.isnan(values_of(node.value, columns).numbers)
    if isinstance(node, Member):
        left = values_of(node.value, columns)
        among: Bools = np.logical_or.reduce([_compared("=", left, _constant(each, left)) for each in node.among])
        return ~among & ~np.isnan(left.numbers) if node.negated else among
    if isinstance(node, Comparison):
        if isinstance(node.left, Text | Truth):
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(node.sign, node.sign)
            return holds(Comparison(turned, node.right, node.left), columns)
        left = values_of(node.left, columns)
        if isinstance(node.right, Text | Truth):
            return _compared(node.sign, left, _constant(node.right, left))
        right = values_of(node.right, columns)
        if left.labels != right.labels:
            raise EstimateError("Labels are compared with something else.", remedy="Write labels as 'texts'.")
        return _compared(node.sign, left, right.numbers)
    if isinstance(node, Truth):
        return np.full(len(next(iter(columns.values())).numbers), node.value)
    if isinstance(node, Name) and column(columns, node.column).labels == ("false", "true"):
        return np.asarray(column(columns, node.column).numbers == 1, dtype=np.bool_)
    raise EstimateError("A value stands where a condition is expected.", remedy="Compare it with something.")


def _compared(sign: str, left: Values, right: Floats | float) -> Bools:
    if left.labels is not None and sign not in ("=", "!="):
        raise EstimateError(f"Labels have no order: {sign!r} cannot be said of them.", remedy="Use =, != or in [...].")
    with np.errstate(invalid="ignore"):
        known = ~np.isnan(left.numbers) & ~np.isnan(right)
        return np.asarray(_SIGNS[sign](left.numbers, np.asarray(right)) & known, dtype=np.bool_)


def _constant(node: Node, beside: Values) -> float:
    """A constant in the units of what it is compared with."""
    text = (
        ("true" if node.value else "false") if isinstance(node, Truth) else node.value if isinstance(node, Text) else ""
    )
    if isinstance(node, Number) and beside.labels is None:
        return float(node.value)
    if isinstance(node, Number):
        text = str(node.value)
    if beside.date:
        try:
            return float((date.fromisoformat(text) - date(1970, 1, 1)).days)
        except ValueError:
            raise EstimateError(f"{text!r} is not a day.", remedy="Write days as '2031-12-24'.") from None
    if beside.labels is None:
        raise EstimateError(f"{text!r} is compared with a number.", remedy="Write numbers without quotes.")
    return float(beside.labels.index(text)) if text in beside.labels else -1.0


def _numeric(values: Values, function: str) -> Values:
    if values.labels is not None:
        raise EstimateError(f"{function!r} needs numbers, not labels.", remedy="Compare labels: share(sex = 'F').")
    return values


def _calendar(values: Values, part: str) -> Floats:
    known = ~np.isnan(values.numbers)
    days = np.where(known, values.numbers, 0).astype("datetime64[D]")
    found = days.astype(f"datetime64[{part[0].upper()}]").astype(np.int64)
    return np.where(known, found + 1970 if part == "year" else found % 12 + 1, np.nan).astype(np.float64)
