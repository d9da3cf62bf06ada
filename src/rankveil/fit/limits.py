"""What the plan's rules leave of tables: combinations of base cells in which no value obeys them are empty.

Public       Rules are in the plan, which everyone may read; cells come from released marginals: post-processing (T1).
Two steps    The fit keeps to possible combinations of cells (here). Single values are drawn inside them, and checked
             against the rules themselves (draw/pieces.py): a combination that is taken for possible costs a few draws,
             never a row that breaks a rule.
Probes       A cell of labels is tried with all of them, a cell of numbers with its ends and some values between. Cells
             are cut where a rule compares a column with a constant, so what is inside is alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.domain import Codes
from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats

Bools = NDArray[np.bool_]


class Rule(Protocol):
    """What every row obeys."""

    @property
    def columns(self) -> Sequence[str]: ...

    def holds(self, codes: Mapping[str, Codes]) -> Bools:
        """Row by row, given the codes of the columns."""
        ...


def obeys(obeyed: Sequence[Rule], codes: Mapping[str, Codes]) -> Bools:
    """Which rows keep to all rules."""
    kept = np.ones(len(next(iter(codes.values()))), np.bool_)
    for rule in obeyed:
        kept &= rule.holds(codes)
    return kept


@dataclass(frozen=True)
class Limit:
    """Which combinations of base cells of some columns have values that obey a rule."""

    columns: tuple[str, ...]
    possible: Bools

    @cached_property
    def ties(self) -> bool:
        """Whether two cells of one column leave the other nothing in common: neither can change by itself, then."""
        if len(self.columns) != 2:
            return False
        for table in (self.possible, self.possible.T):
            some = table[table.any(axis=1)].astype(np.float64)
            if (some @ some.T == 0).any():
                return True
        return False


@dataclass(frozen=True)
class Limits:
    """All that the rules say about combinations of cells."""

    each: tuple[Limit, ...] = ()

    @classmethod
    def of(cls, obeyed: Iterable[Rule], marginals: Mapping[str, Marginal]) -> Limits:
        """Of rules that are small enough to be written down; the others are kept when rows are drawn."""
        obeyed = list(obeyed)
        asked = {name for rule in obeyed for name in rule.columns}
        probes = {name: _probes(marginals[name]) for name in asked}
        order = {name: place for place, name in enumerate(marginals)}
        found: dict[tuple[str, ...], Bools] = {}
        for rule in obeyed:
            columns = tuple(sorted(set(rule.columns), key=order.__getitem__))
            if math.prod(len(probes[name][0]) for name in columns) > rules.MOST_LIMIT_CELLS:
                continue
            possible = _possible(rule, columns, marginals, probes)
            found[columns] = found[columns] & possible if columns in found else possible
        return cls(tuple(Limit(columns, possible) for columns, possible in found.items() if not possible.all()))

    @property
    def ties(self) -> tuple[Limit, ...]:
        return tuple(limit for limit in self.each if limit.ties)

    def left_of(self, columns: Sequence[str], groups: Sequence[Groups], masses: Sequence[Floats]) -> Floats | None:
        """The part of every cell of a table, were its columns independent, that rules about them leave; None: all."""
        here = [limit for limit in self.each if set(limit.columns) <= set(columns)]
        if not here:
            return None
        shape = [int(group.max()) + 1 for group in groups]
        return reduce(np.multiply, (_left(limit, columns, groups, masses) for limit in here), np.ones(shape))


def expected_table(
    columns: Sequence[str], groups: Sequence[Groups], marginals: Mapping[str, Marginal], total: float, limits: Limits
) -> Floats:
    """The table of groups of base cells that the columns by themselves suggest, and rules about them."""
    masses = [marginals[name].mass for name in columns]
    margins = [np.bincount(group, mass) / total for group, mass in zip(groups, masses, strict=True)]
    table: Floats = total * reduce(np.multiply.outer, margins)
    left = limits.left_of(columns, groups, masses)
    return table if left is None else _raked(table * left, [margin * total for margin in margins])


def _raked(table: Floats, margins: Sequence[Floats]) -> Floats:
    """The table with these margins, as far as its empty cells allow."""
    for _ in range(rules.MARGIN_SWEEPS):
        for axis, wanted in enumerate(margins):
            others = tuple(other for other in range(table.ndim) if other != axis)
            found = table.sum(axis=others)
            table = table * np.expand_dims(np.where(found > 0, wanted / np.maximum(found, 1e-300), 0.0), others)
    return table


def _left(limit: Limit, columns: Sequence[str], groups: Sequence[Groups], masses: Sequence[Floats]) -> Floats:
    """The part of every cell of the table that one limit leaves, its other columns of size 1."""
    places = [columns.index(name) for name in limit.columns]
    possible = limit.possible.astype(np.float64)
    shape = [1] * len(columns)
    for axis, place in enumerate(places):
        group, mass = groups[place], np.maximum(masses[place], 0.0)
        within = np.bincount(group, mass)
        part = np.where(within[group] > 0, mass / np.maximum(within[group], 1e-300), 1 / np.bincount(group)[group])
        summed = np.zeros((len(within), len(group)))
        summed[group, np.arange(len(group))] = part
        possible = np.moveaxis(np.tensordot(summed, possible, axes=(1, axis)), 0, axis)
        shape[place] = len(within)
    # The table's axes may come in another order than the limit's.
    return np.transpose(possible, np.argsort(places)).reshape(shape)


def _possible(
    rule: Rule,
    columns: tuple[str, ...],
    marginals: Mapping[str, Marginal],
    probes: Mapping[str, tuple[Codes, Groups]],
) -> Bools:
    lengths = [len(probes[name][0]) for name in columns]
    places = np.indices(lengths).reshape(len(columns), -1)
    obeyed = rule.holds({name: probes[name][0][place] for name, place in zip(columns, places, strict=True)})
    possible = np.zeros([marginals[name].cell_count for name in columns], np.bool_)
    kept = [probes[name][1][place[obeyed]] for name, place in zip(columns, places, strict=True)]
    possible[tuple(kept)] = True
    return possible


def _probes(marginal: Marginal) -> tuple[Codes, Groups]:
    """Codes that stand for all of a column, and their base cells."""
    codes = marginal.probes(rules.PROBES)
    return codes, marginal.cell_of(codes)
