"""Releases whose rows belong to records: what a row, and which rows are equal to it, tell about its record.

The attacker knows which row is the target's, and all records but two: that of the target and that of somebody else in
the table. Which of the two is the target's is what the release may tell.
    own row      The secret is guessed to be what the row shows.
    equal rows   In every protected column the rows that show the same as the target's row are looked up among the known
                 records: where values stand for clusters, the target's is one of theirs, or lies next to one. All
                 columns together are a guess; it succeeds if it fits the target's record and no other of the table.
Others       The same row, and the record of somebody else: a success there is luck. What is protected of target and
             other changes places between two tables that differ in two records: the limit is that of 2ε (T55).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import Codes, Grid
from rankveil.noise import Sampler
from rankveil.risk.criteria import right
from rankveil.risk.limits import Limits
from rankveil.risk.rates import Rate
from rankveil.risk.results import AttackRisk

_MOST_COMPARISONS = 20_000_000  # rows looked at for all targets together, for each column


def of_rows(
    original: Records, released: Records, targets: int, limits: Limits | None, sampler: Sampler
) -> Iterator[AttackRisk]:
    """Attacks on random rows of the released file itself."""
    rows = original.row_count
    count = max(2, min(targets, rows, _MOST_COMPARISONS // rows))
    chosen = sampler.permutation(rows)[:count]
    others = (chosen + 1 + sampler.below(rows - 1, count)) % rows  # somebody else
    yield _equal_rows(original, released, chosen, others, limits, sampler)
    for column in original.schema.protected:
        codes, shown = original.codes[column.name], released.codes[column.name]
        members, strangers = (
            Rate(int(np.count_nonzero(right(column, shown[chosen], codes[who]))), count) for who in (chosen, others)
        )
        blind = shown[sampler.below(rows, count)]
        naive = Rate(int(np.count_nonzero(right(column, blind, codes[chosen]))), count)
        yield AttackRisk("inference", "own row", members, strangers, naive, _limit(limits, strangers), column.name)


def _limit(limits: Limits | None, others: Rate) -> float | None:
    return None if limits is None else limits.twice.risk(others.between()[1])


@dataclass(frozen=True)
class _Column:
    """A column of table and release, its values in order."""

    values: int  # different ones
    place: NDArray[np.int64]  # of each record's value among them
    alone: NDArray[np.bool_]  # which values one record has
    shown: Codes
    ordered: bool

    @classmethod
    def of(cls, column: Column, codes: Codes, shown: Codes) -> _Column:
        values, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
        return cls(len(values), place, counts == 1, shown, isinstance(column.domain, Grid))

    def alike(self, guessed: int, unknown: tuple[int, int]) -> NDArray[np.bool_] | None:
        """Records with a value of those whose rows show the same; None if there is no such row.

        Where nobody known has a value, its neighbours in order stand for it: clusters are made of neighbours.
        """
        equal = self.shown == self.shown[guessed]
        equal[[guessed, *unknown]] = False
        if not equal.any():
            return None
        held = np.zeros(self.values + 2, np.bool_)  # one more at either end
        held[self.place[equal] + 1] = True
        fits: NDArray[np.bool_] = held[self.place + 1]
        for row in unknown if self.ordered else ():
            value = self.place[row]
            if self.alone[value]:
                fits[row] = held[value] or held[value + 2]
        return fits


def _equal_rows(
    original: Records,
    released: Records,
    chosen: NDArray[np.int64],
    others: NDArray[np.int64],
    limits: Limits | None,
    sampler: Sampler,
) -> AttackRisk:
    columns = [
        _Column.of(column, original.codes[column.name], released.codes[column.name])
        for column in original.schema.protected
    ]
    hits = [0, 0, 0]
    somewhere = sampler.below(original.row_count, len(chosen))
    for row, other, blind in zip(chosen.tolist(), others.tolist(), somewhere.tolist(), strict=True):
        for place, guessed in ((0, row), (2, blind)):  # 2: the row of a stranger, as if it were the target's
            fits = np.ones(original.row_count, np.bool_)
            for column in columns:
                alike = column.alike(guessed, (row, other))
                if alike is not None:
                    fits &= alike
            if np.count_nonzero(fits) == 1:
                hits[place] += int(fits[row])
                hits[1] += int(fits[other]) if place == 0 else 0
    members, strangers, naive = (Rate(each, len(chosen)) for each in hits)
    return AttackRisk("singling out", "equal rows", members, strangers, naive, _limit(limits, strangers))
