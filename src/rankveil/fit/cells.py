"""Cells for linkage: a column cut into few groups of about equal released mass. Post-processing.

The cells come from released marginals, never from true ranks: with true ranks one record would move a record across
every boundary (T40). Tables over such cells: T17.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.simplex import Floats

Groups = NDArray[np.int64]


def group_ordered(mass: Floats, most: int, least: float = 0.0) -> Groups:
    """Consecutive pieces in at most `most` groups of about equal mass.

    A piece that is heavier than its share is a group of its own, and no group is lighter than `least`.
    """
    alone = _heavy_pieces(mass, most, least)
    spare = max(most - int(alone.sum()), 1)
    target = max((mass.sum() - mass[alone].sum()) / spare, least, 1e-9)
    group = np.zeros(len(mass), np.int64)
    current, filled, fresh = -1, 0.0, True
    for place, amount in enumerate(mass.tolist()):
        if alone[place]:
            current, fresh = current + 1, True
        else:
            if fresh or filled + amount / 2 > target:
                current, filled, fresh = current + 1, 0.0, False
            filled += amount
        group[place] = current
    return _without_light_groups(group, mass, most, least)


def _heavy_pieces(mass: Floats, most: int, least: float) -> NDArray[np.bool_]:
    alone = np.zeros(len(mass), np.bool_)
    spare, rest = most, float(mass.sum())
    while spare > 1:
        heavier = (mass >= max(rest / spare, least)) & ~alone
        if not heavier.any():
            break
        alone |= heavier
        spare, rest = max(most - int(alone.sum()), 1), float(mass.sum() - mass[alone].sum())
    return alone


def _without_light_groups(group: Groups, mass: Floats, most: int, least: float) -> Groups:
    """Merge the lightest group with its lighter neighbour until none is too light and there are few enough."""
    amounts = np.bincount(group, mass).tolist()
    members = [[place] for place in range(len(amounts))]
    while len(amounts) > 1:
        lightest = int(np.argmin(amounts))
        if amounts[lightest] >= least and len(amounts) <= most:
            break
        last = lightest == len(amounts) - 1
        left = last or (lightest > 0 and amounts[lightest - 1] < amounts[lightest + 1])
        first = lightest - 1 if left else lightest
        amounts[first] += amounts.pop(first + 1)
        members[first] += members.pop(first + 1)
    renamed = np.empty(int(group.max()) + 1, np.int64)
    for name, places in enumerate(members):
        renamed[places] = name
    return renamed[group]


def group_nominal(mass: Floats, most: int, least: float = 0.0, kin: Groups | None = None) -> Groups:
    """The heaviest labels in groups of their own; all others together, or by kind where `kin` names one for each.

    A label keeps a group of its own if it is not lighter than `least` and there is room. Kinds whose light labels
    together are heavy enough have a group of their own too.
    """
    heavy = [int(place) for place in np.argsort(-mass, kind="stable") if mass[place] >= least]
    if len(heavy) < len(mass) or len(mass) > most:
        heavy = heavy[: most - 1]
    group = np.full(len(mass), len(heavy), np.int64)
    group[heavy] = np.arange(len(heavy))
    if kin is not None:
        spare, fresh = most - 1 - len(heavy), len(heavy) + 1
        light = group == len(heavy)
        kinds, member = np.unique(kin[light], return_inverse=True)
        together = np.bincount(member, mass[light], minlength=len(kinds)) if len(kinds) else np.zeros(0)
        for kind in np.argsort(-together, kind="stable")[: max(spare, 0)]:
            if together[kind] >= least and kinds[kind] >= 0:
                group[light & (kin == kinds[kind])] = fresh
                fresh += 1
    return np.unique(group, return_inverse=True)[1].astype(np.int64)
