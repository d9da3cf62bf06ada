"""What a tree of expression.py means for columns: evaluated on codes, batch by batch, exactly.

Exact        Numbers are integers in units of one over a denominator that follows from the plan; so are their limits.
             What could leave 2^62, and a divisor that could be zero, is refused when the plan is read.
Missing      An operation on a missing value is missing. A comparison with a missing value is false (`not` of it is
             true, therefore); `is missing` asks for it. A missing truth value is not true.
By itself    What is found for a row depends on that row's codes alone (T5).
Checked      By evaluation: kinds, limits and labels do not depend on rows, so no rows are enough to find mistakes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import reduce
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.domain import MISSING, Codes, Domain, Grid
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
from rankveil.declare.reading import Mask, day_number
from rankveil.errors import PlanError

Bools = NDArray[np.bool_]
Columns = Mapping[str, "Series"]
Kind = Literal["number", "date", "label", "truth"]

_LARGEST = 1 << 62
_SIGNS: dict[str, Callable[[Codes, Codes], Bools]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_IN_WORDS = {"number": "a number", "date": "a date", "label": "a label", "truth": "a truth value"}


@dataclass(frozen=True)
class Series:
    """Values of some rows, and what they can be by the plan. Any possible value stands where one is missing."""

    kind: Kind
    numbers: Codes  # in units of 1 / denominator; days since 1970; places in `labels`; 0 and 1
    low: int  # limits of the numbers
    high: int
    missing: Mask | None = None
    denominator: int = 1
    labels: tuple[str, ...] = ()
    ordered: bool = False  # the labels
    may_miss: bool = False
    complete: bool = True  # the labels: no row has any other

    def over(self, denominator: int) -> Series:
        """The same in other units."""
        factor = denominator // self.denominator
        if factor == 1:
            return self
        return replace(
            self,
            numbers=self.numbers * _small(factor, self),
            low=self.low * factor,
            high=self.high * factor,
            denominator=denominator,
        )


def _small(factor: int, *series: Series) -> int:
    """A factor by which these can be multiplied."""
    if max(abs(end) for each in series for end in (each.low, each.high)) * factor >= _LARGEST:
        _refuse("numbers become too large to be computed exactly")
    return factor


def _refuse(problem: str, remedy: str = "docs/rules.md says what is understood.") -> NoReturn:
    raise PlanError(problem, remedy=remedy)


def series_of(domain: Domain, codes: Codes, *, may_miss: bool) -> Series:
    """A column's codes as values."""
    missing = codes == MISSING if may_miss else None
    places = np.maximum(codes, 0)
    if not isinstance(domain, Grid):
        labels, kind = domain.taxonomy.labels, "truth" if domain.boolean else "label"
        return Series(kind, places, 0, len(labels) - 1, missing, labels=labels, may_miss=may_miss)  # type: ignore[arg-type]
    if domain.labels is not None:
        return Series("label", places, 0, domain.width, missing, labels=domain.labels, ordered=True, may_miss=may_miss)
    if domain.date_format is not None:
        first = int(domain.lower)
        return Series("date", places + first, first, first + domain.width, missing, may_miss=may_miss)
    exact = [Fraction(domain.lower), Fraction(domain.step), *map(Fraction, domain.special)]
    denominator = math.lcm(*(number.denominator for number in exact))
    lower, step, *special = (int(number * denominator) for number in exact)
    numbers = lower + np.minimum(places, domain.width) * step
    if special:
        apart = places > domain.width
        numbers[apart] = np.array(special)[places[apart] - domain.width - 1]
    ends = [lower, lower + domain.width * step, *special]
    return Series("number", numbers, min(ends), max(ends), missing, denominator, may_miss=may_miss)


def condition(node: Node, columns: Columns) -> Bools:
    """Whether a condition holds, row by row; of one row for all where it names no column."""
    if isinstance(node, Not):
        return ~condition(node.inner, columns)
    if isinstance(node, All):
        return reduce(operator.and_, (condition(part, columns) for part in node.parts))
    if isinstance(node, Any):
        return reduce(operator.or_, (condition(part, columns) for part in node.parts))
    if isinstance(node, Comparison):
        return _compared(node, columns)
    if isinstance(node, Member):
        return _member(node, columns)
    if isinstance(node, IsMissing):
        found = value(node.value, columns)
        if not found.may_miss:
            _refuse("a value is asked for `is missing` that cannot be missing.", "Set null = true for the column.")
        return np.zeros(len(found.numbers), np.bool_) if found.missing is None else found.missing
    found = value(node, columns)
    if found.kind != "truth":
        _refuse(f"{_IN_WORDS[found.kind]} stands where a condition is expected.", "Compare it with something.")
    return _present(found.numbers == 1, found)


def _present(held: Bools, *series: Series) -> Bools:
    for each in series:
        if each.missing is not None:
            held = held & ~each.missing
    return held


def _compared(node: Comparison, columns: Columns) -> Bools:
    left, right = _alike(node.left, node.right, columns)
    if node.sign not in ("=", "!=") and left.kind in ("label", "truth") and not (left.ordered and right.ordered):
        _refuse(f"{_IN_WORDS[left.kind]} of a column without an order has no {node.sign}.", "Use =, != or in [...].")
    return _present(_SIGNS[node.sign](left.numbers, right.numbers), left, right)


def _member(node: Member, columns: Columns) -> Bools:
    found = value(node.value, columns)
    constants = [_constant(each, found) for each in node.among]
    denominator = math.lcm(found.denominator, *(each.denominator for each in constants))
    among = np.concatenate([each.over(denominator).numbers for each in constants])
    held = np.isin(found.over(denominator).numbers, among)
    return _present(~held if node.negated else held, found)


def _alike(first: Node, second: Node, columns: Columns) -> tuple[Series, Series]:
    """Two values in the same units, or over the same labels."""
    constants = [isinstance(node, Text | Truth) for node in (first, second)]
    if all(constants):
        _refuse("two constants are compared with each other.")
    if constants[0]:
        right = value(second, columns)
        return _constant(first, right), right
    left = value(first, columns)
    right = _constant(second, left) if constants[1] else value(second, columns)
    if left.kind != right.kind:
        _refuse(
            f"{_IN_WORDS[left.kind]} is compared with {_IN_WORDS[right.kind]}.",
            "Compare numbers with numbers, labels with 'labels', dates with '2020-01-31'.",
        )
    if left.kind == "label" and left.labels != right.labels:
        labels = (*left.labels, *(label for label in right.labels if label not in set(left.labels)))
        place = np.array([labels.index(label) for label in right.labels])
        left = replace(left, labels=labels, ordered=False)
        right = replace(right, numbers=place[right.numbers], labels=labels, ordered=False)
    denominator = math.lcm(left.denominator, right.denominator)
    return left.over(denominator), right.over(denominator)


def _constant(node: Node, like: Series) -> Series:
    """A label, a day or a truth value as one of the kind that it is compared with."""
    if isinstance(node, Number) and like.kind == "number":
        return _number(node.value)
    if isinstance(node, Truth) and like.kind == "truth":
        return replace(like, numbers=np.array([int(node.value)]), missing=None)
    if isinstance(node, Text) and like.kind == "date":
        try:
            day = day_number(date.fromisoformat(node.value))
        except ValueError:
            _refuse(f"'{node.value}' is no date.", "Write dates as '2020-01-31'.")
        return Series("date", np.array([day]), day, day)
    if isinstance(node, Text) and (like.labels or not like.complete):
        if node.value not in like.labels and not like.complete:  # a label that no row has
            return replace(like, numbers=np.array([len(like.labels)]), missing=None)
        if node.value not in like.labels:
            _refuse(f"'{node.value}' is no label of the column it is compared with.", "Use a label the plan declares.")
        return replace(like, numbers=np.array([like.labels.index(node.value)]), missing=None)
    said = "a number" if isinstance(node, Number) else "a truth value" if isinstance(node, Truth) else "a text"
    _refuse(
        f"{_IN_WORDS[like.kind]} is compared with {said}.",
        "Compare numbers with numbers, labels with 'labels', dates with '2020-01-31'.",
    )


def value(node: Node, columns: Columns) -> Series:
    """A value, row by row; of one row for all where it names no column."""
    if isinstance(node, Number):
        return _number(node.value)
    if isinstance(node, Truth):
        return Series("truth", np.array([int(node.value)]), 0, 1, labels=("false", "true"))
    if isinstance(node, Text):
        _refuse(f"'{node.value}' stands alone.", "Compare it with a column.")
    if isinstance(node, Name):
        return columns[node.column]
    if not isinstance(node, Call):
        held = condition(node, columns)
        return Series("truth", held.astype(np.int64), 0, 1, labels=("false", "true"))
    return _called(node.function, [value(each, columns) for each in node.arguments])


def _number(exact: Fraction) -> Series:
    number = exact.numerator
    if max(abs(number), exact.denominator) >= _LARGEST:
        _refuse("a number is too large, or has too many decimals.")
    return Series("number", np.array([number]), number, number, denominator=exact.denominator)


def _called(function: str, given: list[Series]) -> Series:
    first, last = given[0], given[-1]
    gaps = [each.missing for each in given if each.missing is not None]
    missing = reduce(operator.or_, gaps) if gaps else None
    may_miss = any(each.may_miss for each in given)

    def made(kind: Kind, numbers: Codes, low: int, high: int, denominator: int = 1) -> Series:
        if max(abs(low), abs(high)) >= _LARGEST:
            _refuse("numbers become too large to be computed exactly.")
        return Series(kind, numbers, low, high, missing, denominator, may_miss=may_miss)

    kinds = tuple(each.kind for each in given)
    if function in ("year", "month"):
        if kinds != ("date",):
            _refuse(f"{function} takes a date.")
        days = first.numbers.astype("datetime64[D]")
        if function == "year":
            ends = np.array([first.low, first.high]).astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)
            years = days.astype("datetime64[Y]").astype(np.int64) + 1970
            return made("number", years, int(ends[0]) + 1970, int(ends[1]) + 1970)
        return made("number", days.astype("datetime64[M]").astype(np.int64) % 12 + 1, 1, 12)
    if set(kinds) - {"number", "date"}:
        _refuse(f"{function} takes numbers and dates, not labels or truth values.")
    both_dates, a_date = kinds == ("date", "date"), "date" in kinds
    denominator = math.lcm(first.denominator, last.denominator)
    if a_date and (
        denominator != 1
        or (function == "+" and both_dates)
        or (function == "-" and kinds == ("number", "date"))
        or (function in ("min", "max") and not both_dates)
        or function in ("*", "//", "%", "abs")
    ):
        _refuse(f"{function} does not go with {' and '.join(_IN_WORDS[kind] for kind in kinds)}.")
    a, b = first.over(denominator), last.over(denominator)
    kind: Kind = "date" if a_date and not (function == "-" and both_dates) else "number"
    if function == "+":
        return made(kind, a.numbers + b.numbers, a.low + b.low, a.high + b.high, denominator)
    if function == "-":
        return made(kind, a.numbers - b.numbers, a.low - b.high, a.high - b.low, denominator)
    if function == "min":
        return made(kind, np.minimum(a.numbers, b.numbers), min(a.low, b.low), min(a.high, b.high), denominator)
    if function == "max":
        return made(kind, np.maximum(a.numbers, b.numbers), max(a.low, b.low), max(a.high, b.high), denominator)
    if function == "abs":
        nearest = 0 if first.low <= 0 <= first.high else min(abs(first.low), abs(first.high))
        farthest = max(abs(first.low), abs(first.high))
        return made(kind, np.abs(first.numbers), nearest, farthest, first.denominator)
    if function == "*":
        corners = [p * q for p in (first.low, first.high) for q in (last.low, last.high)]
        return made(
            kind, first.numbers * last.numbers, min(corners), max(corners), first.denominator * last.denominator
        )
    if b.low <= 0 <= b.high:
        _refuse("a number is divided by a value that may be zero.", "Give the divisor a range without zero.")
    if function == "//":
        corners = [p // q for p in (a.low, a.high) for q in (b.low, b.high)]
        return made(kind, a.numbers // b.numbers, min(corners), max(corners))
    low, high = (0, b.high - 1) if b.low > 0 else (b.low + 1, 0)
    return made(kind, a.numbers % b.numbers, low, high, denominator)
