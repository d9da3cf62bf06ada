"""Conditions and values of an expression over released rows, in the language of the plan's rules.

They are evaluated by declare/values.py, exactly, as rules are. What is special here: of a release only the labels that
were released are known, so one that was not is a label of no row; and a special value is no amount.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.expression import All, Any, Comparison, IsMissing, Member, Name, Node, Not, Truth, names_in
from rankveil.declare.values import Series, condition, value
from rankveil.errors import EstimateError, PlanError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Ends:
    """How far a column of numbers may reach by the plan, and how many records the noise on one count may hide."""

    lower: float
    upper: float
    deviation: float


@dataclass(frozen=True)
class Values:
    """One column, or what was computed from columns."""

    series: Series
    special: tuple[Fraction, ...] = ()  # values with a meaning of their own, which are no amounts

    @classmethod
    def of_numbers(cls, numbers: Floats, denominator: int, special: tuple[Fraction, ...] = ()) -> Values:
        """Multiples of one over the denominator; nan: missing."""
        return cls(_series("number", numbers * denominator, denominator=denominator), special)

    @classmethod
    def of_days(cls, days: Floats) -> Values:
        return cls(_series("date", days))

    @classmethod
    def of_labels(cls, places: Floats, labels: tuple[str, ...]) -> Values:
        truth = labels == ("false", "true")
        return cls(replace(_series("truth" if truth else "label", places), labels=labels, complete=truth))

    @property
    def labels(self) -> tuple[str, ...] | None:
        return self.series.labels if self.series.kind in ("label", "truth") else None

    @property
    def is_date(self) -> bool:
        return self.series.kind == "date"

    @cached_property
    def numbers(self) -> Floats:
        """Numbers, days since 1970, places of labels; nan: missing."""
        return _floats(self.series)

    @property
    def amounts(self) -> Floats:
        """The numbers, without special values."""
        return _floats(self.ordinary) if self.special else self.numbers

    @cached_property
    def ordinary(self) -> Series:
        """The same with special values missing."""
        if not self.special:
            return self.series
        apart = np.isin(self.series.numbers, [int(each * self.series.denominator) for each in self.special])
        return replace(self.series, missing=apart if self.series.missing is None else apart | self.series.missing)

    def at(self, number: float) -> Values:
        """A column of numbers, or of days, with this one in every row."""
        code = round(number * self.series.denominator)
        there = np.full(len(self.series.numbers), code, np.int64)
        return Values(replace(self.series, numbers=there, low=code, high=code, missing=None))


def _series(kind: str, numbers: Floats, denominator: int = 1) -> Series:
    missing = np.isnan(numbers)
    whole = np.rint(np.where(missing, np.nanmin(numbers) if not missing.all() else 0.0, numbers)).astype(np.int64)
    low, high = int(whole.min(initial=0)), int(whole.max(initial=0))
    return Series(kind, whole, low, high, missing, denominator, may_miss=True)  # type: ignore[arg-type]


def _floats(series: Series) -> Floats:
    numbers = series.numbers / series.denominator
    return numbers if series.missing is None else np.where(series.missing, np.nan, numbers)


def column(columns: Mapping[str, Values], name: str) -> Values:
    if name not in columns:
        raise EstimateError(f"The release has no column {name!r}.", remedy=f"Its columns are: {', '.join(columns)}.")
    return columns[name]


def is_condition(node: Node) -> bool:
    return isinstance(node, Comparison | Member | IsMissing | Not | All | Any | Truth)


def values_of(node: Node, columns: Mapping[str, Values]) -> Values:
    """What a value is in each row."""
    if isinstance(node, Name):
        return column(columns, node.column)
    found = _evaluated(value, node, {name: column(columns, name).ordinary for name in names_in(node)})
    size = len(next(iter(columns.values())).series.numbers)
    return Values(replace(found, numbers=np.broadcast_to(found.numbers, size)))


def holds(node: Node, columns: Mapping[str, Values]) -> Bools:
    """Where a condition holds."""
    found = _evaluated(condition, node, {name: column(columns, name).series for name in names_in(node)})
    return np.broadcast_to(found, len(next(iter(columns.values())).series.numbers))


def _evaluated(
    how: Callable[[Node, Mapping[str, Series]], _Found], node: Node, columns: Mapping[str, Series]
) -> _Found:
    try:
        return how(node, columns)
    except PlanError as error:
        raise EstimateError(f"The estimate cannot be computed: {error.problem}", remedy=error.remedy) from None
