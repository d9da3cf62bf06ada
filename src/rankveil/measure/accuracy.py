"""How far a release is from its table, measured with noise: sums of distances of counts, and errors of named counts.

Guarantee    Differentially private at the price it is given, for whom the price protects. The release, the cells and
             the conditions are taken as public: they must not follow from the table in any other way than by noise.
Argument     T53: the release is the same for both neighbours, so a distance between its counts and the table's changes
             by no more than the table's counts do. Noise by T6; the parts of the price add up (T2).
Memory       Counts of cells; does not grow with the number of rows.
Arithmetic   Integers until the noise is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Records, Schema
from rankveil.declare.dataset import Codings, Dataset
from rankveil.declare.domain import Codes
from rankveil.declare.expression import Node
from rankveil.declare.unit import Sensitivity
from rankveil.measure.budget import Budget, Noise, Price
from rankveil.measure.cutting import Cutting, cut
from rankveil.noise import RandomSource

Kind = Literal["1-way TV", "2-way TV", "query"]
Columns = tuple[str, ...]
Count = NDArray[np.int64]

_MOST_CELLS = 50  # of a column: labels beyond are counted together
_MOST_COUNTS = 1 << 24  # of all pairs: 128 MiB


@dataclass(frozen=True)
class Conditions:
    """Named questions: how many rows fulfil them?"""

    schema: Schema
    nodes: tuple[Node, ...] = ()

    def counts(self, codes: Mapping[str, Codes]) -> Count:
        return np.array([np.count_nonzero(self.schema.scope.holds(node, codes)) for node in self.nodes], np.int64)


@dataclass(frozen=True)
class Counting:
    """The fold that counts tables of one and of two columns over given cells, and rows that fulfil conditions."""

    cuttings: Mapping[str, Cutting]
    tables: tuple[Columns, ...]
    conditions: Conditions

    @property
    def columns(self) -> Sequence[str]:
        return self.conditions.schema.names

    def zero(self) -> list[Count]:
        sizes = [int(np.prod([self.cuttings[name].count for name in columns])) for columns in self.tables]
        return [*(np.zeros(size, np.int64) for size in sizes), np.zeros(len(self.conditions.nodes), np.int64)]

    def step(self, state: list[Count], batch: Codings) -> list[Count]:
        codes = {name: batch[name] for name in self.columns}
        places = {name: cutting.places(codes[name]) for name, cutting in self.cuttings.items()}
        for table, columns in zip(state, self.tables, strict=False):
            where = places[columns[0]]
            for name in columns[1:]:
                where = where * self.cuttings[name].count + places[name]
            table += np.bincount(where, minlength=len(table))
        state[-1] += self.conditions.counts(codes)
        return state

    def merge(self, first: list[Count], second: list[Count]) -> list[Count]:
        return [one + other for one, other in zip(first, second, strict=True)]


@dataclass(frozen=True)
class Question:
    """What is asked about a table: everything in it is public, the release included."""

    counting: Counting
    released: tuple[Count, ...]  # the same counts of the release
    rows: int  # of the release

    @classmethod
    def about(cls, released: Records, conditions: Conditions) -> Question:
        """Tables of all protected columns and of all pairs with one, over cells that follow from the release."""
        schema = conditions.schema
        singles = [(column.name,) for column in schema.protected]
        pairs = [(a.name, b.name) for a, b in combinations(schema.columns, 2) if a.protected or b.protected]
        most = min(_MOST_CELLS, max(8, isqrt(_MOST_COUNTS // max(1, len(pairs)))))
        cuttings = {
            column.name: cut(column, released.codes[column.name]).with_at_most(most, released.codes[column.name])
            for column in schema.columns
        }
        counting = Counting(cuttings, (*singles, *pairs), conditions)
        return cls(counting, tuple(counting.step(counting.zero(), released.codes)), released.row_count)

    def exact(self, dataset: Dataset) -> tuple[Exact, int]:
        """The answers without noise, and the number of rows. INTERNAL."""
        counts, rows = dataset.fold(self.counting, dataset.schema.checks)
        return self.compared(counts), rows

    def compared(self, counts: Sequence[Count]) -> Exact:
        """Distances between a table's counts and those of the release."""
        pairs = zip(counts, self.released, strict=True)
        off = [one - other for one, other in pairs]
        far = [int(np.abs(each).sum()) for each in off[:-1]]
        ways = [len(columns) for columns in self.counting.tables]
        sums = {
            way: (sum(each for each, of in zip(far, ways, strict=True) if of == way), ways.count(way)) for way in (1, 2)
        }
        return Exact(*sums[1], *sums[2], off[-1])


@dataclass(frozen=True)
class Exact:
    """Sums of |difference of counts| over all cells of so many tables; differences of named counts. Not protected."""

    one_way: int
    one_way_tables: int
    two_way: int
    two_way_tables: int
    named: Count


@dataclass(frozen=True)
class Answer:
    """A protected figure: an exact integer and noise."""

    kind: Kind
    place: int | None  # of a query, among the conditions
    tables: int  # of which it is a sum
    noisy: int
    noise: Noise
    epsilon: Fraction


def noisy_answers(exact: Exact, budget: Budget, source: RandomSource) -> list[Answer]:
    """All figures, each with noise. The budget is divided evenly between tables of one column, of two, and queries."""
    named = len(exact.named)
    asked: list[tuple[Kind, int]] = [("1-way TV", exact.one_way_tables), ("2-way TV", exact.two_way_tables)]
    asked = [each for each in [*asked, ("query", named)] if each[1]]
    answers: list[Answer] = []
    for kind, tables in asked:
        price = budget.spend(Fraction(1, len(asked)), kind)
        noise = noise_of(kind, tables, price)
        values = exact.named if kind == "query" else np.array([exact.one_way if kind == "1-way TV" else exact.two_way])
        drawn = noise.added_to(values.astype(np.int64), source).tolist()
        if kind == "query":
            answers += [Answer(kind, place, 1, each, noise, price.amount / tables) for place, each in enumerate(drawn)]
        else:
            answers.append(Answer(kind, None, tables, drawn[0], noise, price.amount))
    return answers


def noise_of(kind: Kind, tables: int, price: Price) -> Noise:
    """Enough for a sum of distances over so many tables, or for so many named counts."""
    if kind == "query":
        rows = price.protects.rows
        # PRIVACY: whoever is replaced or removed changes a count of rows by as many rows as they have, in every query.
        return price.noise_for(Sensitivity(rows * tables, rows**2 * tables))
    # PRIVACY: each of the tables changes by what counts over disjoint cells change, and the sum by as often that.
    change = price.protects.of_counts.l1 * tables
    return price.noise_for(Sensitivity(change, change**2))
