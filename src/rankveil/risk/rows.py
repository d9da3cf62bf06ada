"""Releases whose rows belong to records: what a row, and which rows are equal to it, tell about its record.

The attacker knows which row is the target's, and all records but two: that of the target and that of somebody else in
the table. Which of the two is the target's is what the release may tell.
    own row      The secret is guessed to be what the row shows.
    equal rows   In every column the rows that show the same as the target's row are looked up among the known records:
                 where values stand for clusters, the target's lies among theirs. The ranges of all columns together
                 are a guess; it succeeds if it fits the target's record and no other record of the table.
Others       The same row, and the record of somebody else: a success there is luck. Target and other change places
             between two tables that differ in two records: the limit is that of 2ε (T55).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid
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


def _equal_rows(
    original: Records,
    released: Records,
    chosen: NDArray[np.int64],
    others: NDArray[np.int64],
    limits: Limits | None,
    sampler: Sampler,
) -> AttackRisk:
    hits = [0, 0, 0]
    somewhere = sampler.below(original.row_count, len(chosen))
    for row, other, blind in zip(chosen.tolist(), others.tolist(), somewhere.tolist(), strict=True):
        for place, guessed in ((0, row), (2, blind)):  # 2: the row of a stranger, as if it were the target's
            fits = np.ones(original.row_count, np.bool_)
            for column in original.schema.columns:
                fits &= _alike(column, original.codes[column.name], released.codes[column.name], guessed, row, other)
            if np.count_nonzero(fits) == 1:
                hits[place] += int(fits[row])
                hits[1] += int(fits[other]) if place == 0 else 0
    members, strangers, naive = (Rate(each, len(chosen)) for each in hits)
    return AttackRisk("singling out", "equal rows", members, strangers, naive, _limit(limits, strangers))


def _alike(column: Column, codes: Codes, shown: Codes, guessed: int, row: int, other: int) -> NDArray[np.bool_]:
    """Records within what those have whose rows show the same; all records, if there is no such row."""
    equal = shown == shown[guessed]
    equal[[row, other, guessed]] = False
    known = codes[equal]
    if len(known) == 0:
        return np.ones(len(codes), np.bool_)
    present = known[known != MISSING]
    if not isinstance(column.domain, Grid):
        return np.isin(codes, np.unique(known))
    inside = (codes >= present.min()) & (codes <= present.max()) if len(present) else np.zeros(len(codes), np.bool_)
    found: NDArray[np.bool_] = inside | ((codes == MISSING) & (len(present) < len(known)))
    return found
