"""Do released rows lie nearer to members than to others? If the release does not know who is one, half of them do.

Statistic    Members and as many others are one list. Every released row goes to its nearest record, or in equal parts
             to several that are equally near; the share that goes to members is what is looked at.
Test         If the release does not depend on who of the list is a member, every way to name half of the list members
             is equally likely. So the share is compared with those of random halves: the test is exact, whatever the
             distances are and however many rows go to the same record. (A binomial test of rows is not: rows that go to
             one record are not independent.)
Interval     By resampling records (bootstrap), members and others each: rows that go to one record stay together.
Limit        e^ε / (1 + e^ε), by T55.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.noise import Sampler
from rankveil.risk.distances import NEARLY, Places, Space, far, slices
from rankveil.risk.limits import Limits
from rankveil.risk.parts import Sides, picked
from rankveil.risk.results import Nearest

MOST_ROWS = 2000
_HALVES = 2000
_SAMPLES = 1000


def nearest_records(on: Sides, space: Space, limits: Limits | None, sampler: Sampler) -> Nearest:
    released = picked(on.released, sampler.permutation(on.released.row_count)[:MOST_ROWS])
    records = np.concatenate([space.places(on.members), space.places(on.others)], axis=1)
    rows = space.places(released)
    went, copies = _went(rows, records, on.count)
    share, chance, p_value = share_tested(went, on.count, sampler)
    low, high = _resampled(went, on.count, sampler)
    return Nearest(
        share=share,
        low=low,
        high=high,
        by_chance=chance,
        p_value=p_value,
        released_rows=released.row_count,
        records=on.count,
        copies=copies / released.row_count,
        limit=None if limits is None else limits.share(on.count),
        on_file=on.on_file,
    )


def _went(rows: Places, records: Places, members: int) -> tuple[NDArray[np.float64], int]:
    """How many released rows have each record as their nearest, and how many equal a member."""
    went, copies = np.zeros(records.shape[1]), 0
    for part in slices(rows.shape[1], records.shape[1]):
        distances = far(rows[:, part], records, range(len(records)))
        least = distances.min(axis=1, keepdims=True)
        near = distances <= least + NEARLY
        went += (near / near.sum(axis=1, keepdims=True)).sum(axis=0)
        copies += int(np.count_nonzero(distances[:, :members].min(axis=1) <= NEARLY))
    return went, copies


def share_tested(
    went: NDArray[np.float64], members: int, sampler: Sampler, halves: int = _HALVES
) -> tuple[float, tuple[float, float], float]:
    """The members' share, where 95 of 100 lie by chance, and how often chance gives so large a share."""
    total = went.sum()
    share = float(went[:members].sum() / total)
    busy = np.flatnonzero(went)  # others weigh nothing, whichever half they are in
    chance = np.empty(halves)
    for place in range(halves):
        chance[place] = went[busy][sampler.permutation(len(went))[busy] < members].sum() / total
    as_large = int(np.count_nonzero(chance >= share - 1e-12))
    low, high = np.quantile(chance, [0.025, 0.975])
    return share, (float(low), float(high)), (1 + as_large) / (1 + halves)


def _resampled(went: NDArray[np.float64], members: int, sampler: Sampler) -> tuple[float, float]:
    """An interval for the share."""
    sums = []
    for part in (went[:members], went[members:]):
        drawn = sampler.below(len(part), _SAMPLES * len(part)).reshape(_SAMPLES, len(part))
        sums.append(part[drawn].sum(axis=1))
    shares = sums[0] / np.maximum(sums[0] + sums[1], 1e-12)
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)
