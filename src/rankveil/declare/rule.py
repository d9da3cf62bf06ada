"""Rules of a plan over the codes of columns: what every row obeys, and which values they tell apart.

Guarantee    Whether a row obeys depends on that row's codes alone (T5). Rules are in the plan, so public.
Clauses      A rule is kept as conditions on few columns each that hold together exactly where it does: `when A then B
             and C` is `A then B` and `A then C`. Derived columns in it stand for the columns that they follow from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from rankveil.declare.derive import NONE, ByBands, Derivation, Shape, known_in
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.declare.entries import RuleEntry
from rankveil.declare.expression import (
    All,
    Any,
    Call,
    Member,
    Name,
    Node,
    Not,
    Number,
    Text,
    atoms,
    clauses,
    names_in,
    parse,
    parts_of,
)
from rankveil.declare.values import Bools, condition
from rankveil.errors import PlanError

_ALL_CODES = 1 << 17  # values of a column up to which all are tried
_MOST_TRIED = 1 << 18  # combinations of values that are tried
_MOST_CUTS, _MOST_BANDS = 64, 16  # places at which rules, and derived columns, cut a column of numbers
_IMPOSSIBLE = "Use released columns with labels (category, ordinal, boolean), and labels they declare."


@dataclass(frozen=True)
class Stated:
    """A rule of the plan."""

    text: str
    node: Node


def stated(number: int, entry: RuleEntry) -> Stated:
    where = f"Rule {number}"
    then = parse(entry.then, f"{where}, `then`")
    if entry.when is None:
        return Stated(f"rule {number} ({entry.then})", then)
    text = f"rule {number} (when {entry.when} then {entry.then})"
    return Stated(text, Any((Not(parse(entry.when, f"{where}, `when`")), then)))


def impossible(number: int, entry: Mapping[str, tuple[str, ...]]) -> Stated:
    """The short form: no row has one of these labels in each of these columns."""
    if not entry or not all(entry.values()):
        raise PlanError("An entry of `impossible` is empty.", remedy="Name at least one column and label.")
    matches = tuple(Member(Name(name), tuple(map(Text, labels))) for name, labels in entry.items())
    return Stated(f"entry {number} of `impossible`", Not(All(matches)))


@dataclass(frozen=True, eq=False)
class Scope:
    """The columns of a release, and how some of them follow from others."""

    shapes: Mapping[str, Shape]
    derived: Mapping[str, Derivation]

    def base(self, names: Iterable[str]) -> tuple[str, ...]:
        """Columns that are drawn and decide these."""
        found: set[str] = set()
        for name in names:
            found |= set(self.base(self.derived[name].sources)) if name in self.derived else {name}
        return tuple(name for name in self.shapes if name in found)

    def completed(self, codes: Mapping[str, Codes], names: Iterable[str]) -> dict[str, Codes]:
        """Codes of these columns, derived ones computed."""
        found: dict[str, Codes] = {}
        for name in names:
            if name in self.derived:
                way = self.derived[name]
                sources = self.completed(codes, way.sources)
                shapes = {source: self.shapes[source] for source in way.sources}
                found[name] = way.way.codes(self.shapes[name], shapes, sources)
            else:
                found[name] = codes[name]
        return found

    def holds(self, node: Node, codes: Mapping[str, Codes]) -> Bools:
        names = names_in(node)
        given = self.completed(codes, names)
        held = condition(node, {name: self.shapes[name].series(given[name]) for name in names})
        return np.broadcast_to(held, len(next(iter(given.values()))))

    def check(self, rule: Stated) -> None:
        """Refuse what a rule cannot mean: by asking it about no row."""
        names = names_in(rule.node)
        known_in(names, self.shapes, rule.text[0].upper() + rule.text[1:])
        if not names:
            raise PlanError(f"{rule.text.capitalize()} names no column.", remedy="A rule is about columns.")
        short = rule.text.endswith("`impossible`")
        try:
            if short and any(self.shapes[name].series(np.zeros(0, np.int64)).kind == "number" for name in names):
                raise PlanError("it names numbers.", remedy=_IMPOSSIBLE)
            self.holds(rule.node, {name: np.zeros(0, np.int64) for name in self.base(names)})
        except PlanError as error:
            raise PlanError(
                f"{rule.text[0].upper()}{rule.text[1:]}: {error.problem}", remedy=_IMPOSSIBLE if short else error.remedy
            ) from None


@dataclass(frozen=True, eq=False)
class Clause:
    """A condition on the columns that are drawn."""

    text: str
    node: Node
    scope: Scope

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.scope.base(names_in(self.node))

    def holds(self, codes: Mapping[str, Codes]) -> Bools:
        return self.scope.holds(self.node, codes)


@dataclass(frozen=True, eq=False)
class HasValue:
    """A derived column has a value that the plan allows."""

    text: str
    name: str
    scope: Scope

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.scope.base([self.name])

    def holds(self, codes: Mapping[str, Codes]) -> Bools:
        return np.not_equal(self.scope.completed(codes, [self.name])[self.name], NONE)


@dataclass(frozen=True, eq=False)
class Agrees:
    """A derived column in the table is what the others say it is; numbers with decimals up to one step."""

    text: str
    name: str
    scope: Scope

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.scope.base([self.name]), self.name)

    def holds(self, codes: Mapping[str, Codes]) -> Bools:
        computed, read = self.scope.completed(codes, [self.name])[self.name], codes[self.name]
        domain = self.scope.shapes[self.name].domain
        if isinstance(domain, Grid) and not domain.whole:
            near = domain.ordinary(computed) & domain.ordinary(read) & (computed >= 0) & (np.abs(computed - read) <= 1)
            return np.asarray(near | (computed == read), dtype=np.bool_)
        return np.asarray(computed == read, dtype=np.bool_)


RowRule = Clause | HasValue | Agrees


def all_clauses(rules: Sequence[Stated], scope: Scope) -> tuple[Clause | HasValue, ...]:
    """What every row that is drawn obeys."""
    found: list[Clause | HasValue] = [Clause(rule.text, node, scope) for rule in rules for node in clauses(rule.node)]
    for name, way in scope.derived.items():
        fits = HasValue(f"column {name!r} (derived: {way.said})", name, scope)
        tried = _every_combination(fits.columns, scope)
        if tried is None or not fits.holds(tried).all():
            found.append(fits)
    return tuple(found)


def checks(rules: Sequence[Stated], scope: Scope) -> tuple[RowRule, ...]:
    """What every row of the table is asked: each rule as a whole, and each derived column."""
    agree = [Agrees(f"column {name!r} (derived: {way.said})", name, scope) for name, way in scope.derived.items()]
    return (*(Clause(rule.text, rule.node, scope) for rule in rules), *agree)


def _every_code(shape: Shape) -> Codes:
    codes = np.arange(label_count(shape))
    return np.append(codes, MISSING) if shape.allows_null else codes


def label_count(shape: Shape) -> int:
    """Codes that a table can hold."""
    return shape.domain.code_count if isinstance(shape.domain, Grid) else shape.domain.label_count


def _every_combination(names: Sequence[str], scope: Scope) -> dict[str, Codes] | None:
    """All values of some columns together; None where they are too many."""
    if math.prod(label_count(scope.shapes[name]) + 1 for name in names) > _MOST_TRIED:
        return None
    return _combined({name: _every_code(scope.shapes[name]) for name in names})


def _combined(values: Mapping[str, Codes]) -> dict[str, Codes]:
    places = np.indices([len(each) for each in values.values()]).reshape(len(values), -1)
    return {name: each[place] for (name, each), place in zip(values.items(), places, strict=True)}


# Values that rules tell apart


def told_apart(obeyed: Sequence[Clause | HasValue], scope: Scope, name: str) -> tuple[int, ...]:
    """Of a column of numbers: codes at which what rules say of it changes. Of labels: a class for each.

    Columns of more than 2^17 codes are looked at around the constants that are compared with them.
    """
    codes, domain = _candidates(obeyed, scope, name), scope.shapes[name].domain
    said = [held.astype(np.int64) for held in _said_alone(obeyed, scope, name, codes)[0]]
    for derived in scope.derived:
        if scope.base([derived]) == (name,):
            found = scope.completed({name: codes}, [derived])[derived]
            if np.count_nonzero(np.diff(found)) <= _MOST_BANDS or not isinstance(domain, Grid):
                said.append(found)
    classes = _classes(said, len(codes))
    if not isinstance(domain, Grid):
        return tuple(classes.tolist()) if classes.any() else ()
    cuts = codes[1:][(np.diff(classes) != 0) & (np.diff(codes) == 1)]
    return tuple(cuts.tolist()) if len(cuts) <= _MOST_CUTS else ()


def _classes(said: Sequence[Codes], count: int) -> Codes:
    """A number for every combination of what is said."""
    if not said:
        return np.zeros(count, np.int64)
    found: Codes = np.unique(np.stack(said), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    return found


def _said_alone(obeyed: Sequence[Clause | HasValue], scope: Scope, name: str, codes: Codes) -> tuple[list[Bools], bool]:
    """What is said of each of these codes by itself; and whether that is all that is said of them."""
    found, alone = [], True
    for clause in obeyed:
        if name not in clause.columns:
            continue
        parts = [Clause("", atom, scope) for atom in atoms(clause.node)] if isinstance(clause, Clause) else [clause]
        for part in parts:
            if part.columns == (name,):
                found.append(part.holds({name: codes}))
            alone &= part.columns == (name,) or name not in part.columns
    return found, alone


def _candidates(obeyed: Sequence[Clause | HasValue], scope: Scope, name: str) -> Codes:
    """All ordinary codes of a column, or those near constants."""
    domain = scope.shapes[name].domain
    if not isinstance(domain, Grid) or domain.width < _ALL_CODES:
        return np.arange(domain.width + 1 if isinstance(domain, Grid) else domain.label_count)
    constants = {number for clause in obeyed if isinstance(clause, Clause) for number in _numbers(clause.node)}
    for way in scope.derived.values():
        constants |= set(way.way.starts) if isinstance(way.way, ByBands) else set()
    lower, step = Fraction(domain.lower), Fraction(domain.step)
    near = [math.floor((number - lower) / step) + more for number in constants for more in (-1, 0, 1, 2)]
    return np.unique([min(max(code, 0), domain.width) for code in (0, *near, domain.width)])


def _numbers(node: Node) -> Iterator[Fraction]:
    if isinstance(node, Number):
        yield node.value
    for part in parts_of(node):
        yield from _numbers(part)


# Rules that leave nothing


def refuse_contradictions(obeyed: Sequence[Clause | HasValue], scope: Scope) -> None:
    """Refuse rules of which it can be seen that no row obeys them.

    Values of columns that no combination with others can have are left out, clause by clause, until nothing changes;
    then columns that clauses connect are tried together. Clauses over too many combinations are not decided.
    """
    left = {name: _representatives(obeyed, scope, name) for clause in obeyed for name in clause.columns}
    decided = [
        (clause, clause.columns)
        for clause in obeyed
        if all(left[name] is not None for name in clause.columns) and clause.columns
    ]
    values = {name: codes for name, codes in left.items() if codes is not None}
    blamed: list[str] = []
    changed = True
    while changed:
        changed = False
        for clause, columns in decided:
            if math.prod(len(values[name]) for name in columns) > _MOST_TRIED:
                continue
            tried = _combined({name: values[name] for name in columns})
            held = clause.holds(tried)
            for name in columns:
                kept = np.unique(tried[name][held])
                if len(kept) < len(values[name]):
                    values[name], changed = kept, True
                    blamed = [*(text for text in blamed if text != clause.text), clause.text]
            if not held.any():
                raise _contradiction(blamed)
    for group in _connected(decided):
        columns = tuple(dict.fromkeys(name for _, names in group for name in names))
        if len(group) > 1 and math.prod(len(values[name]) for name in columns) <= _MOST_TRIED:
            tried = _combined({name: values[name] for name in columns})
            if not np.logical_and.reduce([clause.holds(tried) for clause, _ in group]).any():
                raise _contradiction([clause.text for clause, _ in group])


def _contradiction(texts: Sequence[str]) -> PlanError:
    named = list(dict.fromkeys(texts))
    problem = (
        f"No row that the plan allows can obey {named[0]}."
        if len(named) == 1
        else f"No row that the plan allows can obey these together: {'; '.join(named[-5:])}."
    )
    return PlanError(problem, remedy="Correct the rules, or the limits and labels of their columns.")


def _representatives(obeyed: Sequence[Clause | HasValue], scope: Scope, name: str) -> Codes | None:
    """Values that stand for all of a column; None where no few do."""
    shape = scope.shapes[name]
    codes = _candidates(obeyed, scope, name)
    said, alone = _said_alone(obeyed, scope, name, codes)
    every = not isinstance(shape.domain, Grid) or len(codes) == shape.domain.width + 1
    if alone and (every or _plainly_compared(obeyed, name)):
        codes = codes[np.unique(_classes([held.astype(np.int64) for held in said], len(codes)), return_index=True)[1]]
    elif not every:
        return None
    codes = np.append(
        codes, np.arange(label_count(shape) - len(getattr(shape.domain, "special", ())), label_count(shape))
    )
    return np.append(codes, MISSING) if shape.allows_null else codes


def _plainly_compared(obeyed: Sequence[Clause | HasValue], name: str) -> bool:
    """Whether a column is compared with constants as it is, and nothing is computed with it."""
    return all(
        isinstance(clause, Clause)
        and all(
            not isinstance(part, Call)
            for atom in atoms(clause.node)
            if name in clause.scope.base(names_in(atom))
            for part in parts_of(atom)
        )
        and all(
            isinstance(clause.scope.derived[used].way, ByBands)
            for used in names_in(clause.node)
            if used in clause.scope.derived and name in clause.scope.base([used])
        )
        for clause in obeyed
        if name in clause.columns
    )


def _connected(
    decided: Sequence[tuple[Clause | HasValue, tuple[str, ...]]],
) -> list[list[tuple[Clause | HasValue, tuple[str, ...]]]]:
    """Clauses in groups that share no column."""
    groups: list[list[tuple[Clause | HasValue, tuple[str, ...]]]] = []
    for each in decided:
        touching = [group for group in groups if any(set(each[1]) & set(names) for _, names in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([each, *(member for group in touching for member in group)])
    return groups
