"""Columns that follow from others: by an expression, by bands of a column, or by a table of its values.

Guarantee    A derived column is computed, row by row, from columns that are drawn: post-processing (T1). It is neither
             measured nor paid for. In the table it is read only to be checked.
No value     Where the others leave the column no value that the plan allows, its code is NONE: such a row cannot occur.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.declare.domain import DEFAULT_NULL_TOKENS, MISSING, Codes, Domain, Grid
from rankveil.declare.entries import DerivedEntry
from rankveil.declare.expression import Node, names_in, parse
from rankveil.declare.plan import Plan
from rankveil.declare.reading import day_number
from rankveil.declare.values import Series, series_of, value
from rankveil.engines.spelling import PLAIN
from rankveil.errors import PlanError

NONE = -2
_LARGEST_FILE = 16 << 20
_MOST_KEYS = 1 << 62


@dataclass(frozen=True)
class Shape:
    """What a column can hold: all that computing with it needs to know."""

    name: str
    domain: Domain
    allows_null: bool
    clamp: bool = False

    def series(self, codes: Codes) -> Series:
        return series_of(self.domain, codes, may_miss=self.allows_null)

    def encoded(self, texts: Iterable[str], where: str) -> Codes:
        """Values that a plan or a file of it names."""
        domain = replace(self.domain, marks=PLAIN) if isinstance(self.domain, Grid) else self.domain
        found = domain.encode(pa.array(list(texts), pa.string()), DEFAULT_NULL_TOKENS)
        wrong = found.outside + found.unreadable
        if wrong or (found.without_code and not self.allows_null):
            raise PlanError(
                f"{where}: {wrong or found.without_code} values are none that the plan declares for column"
                f" {self.name!r}.",
                remedy="Correct them, or the column's limits, labels or null.",
            )
        return found.codes


@dataclass(frozen=True, eq=False)
class ByExpression:
    node: Node

    def codes(self, target: Shape, sources: Mapping[str, Shape], codes: Mapping[str, Codes]) -> Codes:
        found = value(self.node, {name: shape.series(codes[name]) for name, shape in sources.items()})
        return np.broadcast_to(placed(found, target), _length(codes)).copy()


@dataclass(frozen=True, eq=False)
class ByBands:
    starts: tuple[Fraction, ...]
    values: Codes  # of each band

    def codes(self, target: Shape, sources: Mapping[str, Shape], codes: Mapping[str, Codes]) -> Codes:
        [(name, shape)] = sources.items()
        series = shape.series(codes[name])
        denominator = math.lcm(series.denominator, *(start.denominator for start in self.starts))
        starts = np.array([int(start * denominator) for start in self.starts])
        band = np.searchsorted(starts, series.over(denominator).numbers, side="right")
        found = np.append(NONE, self.values)[band]
        if series.missing is not None:
            found[series.missing] = MISSING if target.allows_null else NONE
        return found


@dataclass(frozen=True, eq=False)
class ByTable:
    keys: NDArray[np.int64]  # sorted
    values: Codes

    def codes(self, target: Shape, sources: Mapping[str, Shape], codes: Mapping[str, Codes]) -> Codes:
        wanted = _keys(sources, codes)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        absent = MISSING if target.allows_null else NONE
        return np.where(self.keys[place] == wanted, self.values[place], absent)


Way = ByExpression | ByBands | ByTable


@dataclass(frozen=True, eq=False)
class Derivation:
    """How a column follows from others."""

    sources: tuple[str, ...]  # columns that it names, which may be derived themselves
    way: Way
    said: str  # in the words of the plan


def _length(codes: Mapping[str, Codes]) -> int:
    return len(next(iter(codes.values())))


def _keys(sources: Mapping[str, Shape], codes: Mapping[str, Codes]) -> NDArray[np.int64]:
    """One number for each combination of values, missing included."""
    keys = np.zeros(_length(codes), np.int64)
    for name, shape in sources.items():
        keys = keys * (shape.domain.code_count + 1) + np.maximum(codes[name], MISSING) + 1
    return keys


def placed(series: Series, target: Shape) -> Codes:
    """Values as codes of a column; NONE where it has none for them."""
    domain = target.domain
    if isinstance(domain, Grid) and domain.labels is None:
        codes = _on_grid(series, domain, clamp=target.clamp)
    else:
        labels = domain.labels if isinstance(domain, Grid) else domain.taxonomy.labels
        place = {label: number for number, label in enumerate(labels or ())}
        codes = np.array([place.get(label, NONE) for label in series.labels], np.int64)[series.numbers]
    if series.missing is not None:
        codes = np.where(series.missing, MISSING if target.allows_null else NONE, codes)
    return codes


def _on_grid(series: Series, grid: Grid, *, clamp: bool) -> Codes:
    """The nearest step, in integers."""
    exact = [Fraction(grid.lower), Fraction(grid.step), *map(Fraction, grid.special)]
    units = math.lcm(series.denominator, *(number.denominator for number in exact))
    lower, step, *special = (int(number * units) for number in exact)
    numbers = series.over(units).numbers
    codes: Codes = (2 * (numbers - lower) + step) // (2 * step)
    if clamp:
        codes = np.clip(codes, 0, grid.width)
    codes = np.where((codes < 0) | (codes > grid.width), NONE, codes)
    for place, number in enumerate(special):
        codes[numbers == number] = grid.width + 1 + place
    return codes


# From the plan


def derivation(entry: DerivedEntry, target: Shape, shapes: Mapping[str, Shape], plan: Plan) -> Derivation:
    """What an entry says, checked as far as it can be without other derived columns."""
    where = f"Column {target.name!r}, `derived`"
    if entry.by is not None and not entry.by.endswith(".csv"):
        node = parse(entry.by, where)
        sources = tuple(sorted(names_in(node)))
        if entry.sources and set(entry.sources) != set(sources):
            raise PlanError(
                f"{where}: `from` lists other columns than the expression names.", remedy="Leave `from` out."
            )
        made = Derivation(sources, ByExpression(node), entry.by)
    else:
        known_in(entry.sources, shapes, where)
        sources = entry.sources
        if entry.bands is not None:
            way: Way = _bands(entry, target, shapes[sources[0]], where)
            said = f"bands of {sources[0]}"
        elif entry.values is not None:
            way = _table(target, [shapes[sources[0]]], [list(entry.values)], list(entry.values.values()), where)
            said = f"values of {sources[0]}"
        else:
            way = _file(entry, target, [shapes[name] for name in sources], plan, where)
            said = f"{', '.join(sources)} by {entry.by}"
        made = Derivation(sources, way, said)
    known_in(made.sources, shapes, where)
    if not made.sources:
        raise PlanError(f"{where} names no column.", remedy="A derived column follows from others.")
    return made


def known_in(names: Iterable[str], shapes: Mapping[str, Shape], where: str) -> None:
    unknown = sorted(set(names) - set(shapes))
    if unknown:
        hidden = next((name for name in shapes if unknown[0] in name.replace(" ", "-").split("-")), None)
        hint = f" Names such as {hidden!r} are put in backquotes: `{hidden}`." if hidden else ""
        raise PlanError(
            f"{where} names column {unknown[0]!r}, which the release does not have.",
            remedy=f"Name columns that the plan declares and does not drop.{hint}",
        )


def check(made: Derivation, target: Shape, shapes: Mapping[str, Shape]) -> None:
    """Find what a derivation cannot mean: by computing it for no row."""
    where = f"Column {target.name!r}, `derived`"
    nothing = {name: np.zeros(0, np.int64) for name in made.sources}
    sources = {name: shapes[name] for name in made.sources}
    try:
        if isinstance(made.way, ByExpression):
            found = value(made.way.node, {name: shape.series(nothing[name]) for name, shape in sources.items()})
            _same_kind(found, target)
        made.way.codes(target, sources, nothing)
    except PlanError as error:
        raise PlanError(f"{where}: {error.problem}", remedy=error.remedy) from None


def _same_kind(found: Series, target: Shape) -> None:
    wanted = target.series(np.zeros(0, np.int64))
    if found.kind != wanted.kind:
        raise PlanError(
            f"the expression gives a {found.kind}, and the column holds a {wanted.kind}.",
            remedy="Correct the kind of the column, or the expression.",
        )
    whole = isinstance(target.domain, Grid) and target.domain.whole
    if found.kind == "number" and whole and found.denominator != 1:
        raise PlanError(
            "the expression may give fractions, and the column holds whole numbers.",
            remedy='Use // in place of fractions, or kind = "number".',
        )


def _bands(entry: DerivedEntry, target: Shape, source: Shape, where: str) -> ByBands:
    series = source.series(np.zeros(0, np.int64))
    days = [isinstance(start, date) for start in entry.bands or ()]
    if series.kind not in ("number", "date") or (series.kind == "date") != all(days):
        raise PlanError(
            f"{where}: bands cut columns of numbers, or of dates by dates; {source.name!r} is none that these cut.",
            remedy="Use values = { label = value } for labels.",
        )
    starts = tuple(Fraction(day_number(start) if isinstance(start, date) else start) for start in entry.bands or ())
    labels = target.domain.labels if isinstance(target.domain, Grid) else target.domain.taxonomy.labels
    texts: Sequence[str]
    if entry.labels is not None:
        texts = entry.labels
    elif labels is None:
        texts = [str(start) for start in entry.bands or ()]
    elif len(labels) == len(starts):
        texts = labels
    else:
        raise PlanError(
            f"{where}: there are {len(starts)} bands and {len(labels)} labels.",
            remedy="Declare a category for each band, or say labels = [...] with one for each.",
        )
    return ByBands(starts, target.encoded(texts, where))


def _file(entry: DerivedEntry, target: Shape, sources: Sequence[Shape], plan: Plan, where: str) -> ByTable:
    path = plan.folder / str(entry.by)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise PlanError(f"{where}: {path.name} is larger than 16 MiB.", remedy="Use a smaller table.")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError):
        raise PlanError(
            f"{where}: {path.name} cannot be read as UTF-8 text.", remedy="Its path is relative to the plan's folder."
        ) from None
    first = text.splitlines()[0] if text else ""
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in first else ",", strict=True)
    except (ValueError, csv.Error):
        header, rows = [], []
    header = [name.strip() for name in header]
    rows = [row for row in rows if row]
    absent = [name for name in (*(shape.name for shape in sources), target.name) if name not in header]
    if absent or not rows or any(len(row) != len(header) for row in rows):
        problem = f"has no column {absent[0]!r}" if absent else "has no rows, or rows of several lengths"
        raise PlanError(f"{where}: {path.name} {problem}.", remedy="Its first line names the columns, others follow.")

    def column(name: str) -> list[str]:
        return [row[header.index(name)].strip() for row in rows]

    return _table(target, sources, [column(shape.name) for shape in sources], column(target.name), where)


def _table(
    target: Shape, sources: Sequence[Shape], given: Sequence[Sequence[str]], texts: Sequence[str], where: str
) -> ByTable:
    by_name = {shape.name: shape for shape in sources}
    if math.prod(shape.domain.code_count + 1 for shape in sources) >= _MOST_KEYS:
        raise PlanError(f"{where}: its columns have too many values for a table.", remedy="Use bands or an expression.")
    codes = {shape.name: shape.encoded(each, where) for shape, each in zip(sources, given, strict=True)}
    keys, values = _keys(by_name, codes), target.encoded(texts, where)
    pairs = np.unique(np.stack([keys, values]), axis=1)
    if len(np.unique(pairs[0])) < pairs.shape[1]:
        raise PlanError(f"{where}: two values stand for one and the same.", remedy="Correct the table of values.")
    return ByTable(pairs[0], pairs[1])
