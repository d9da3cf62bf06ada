"""Singling out, linkability, inference: attacks with the release alone, on members and on others alike.

Definitions  The three criteria are those of the Article 29 Working Party (Opinion 05/2014); the attacks those of Giomi
             et al. (2023), written anew.
    singling out  Guesses are conditions made from released rows: a value that only one row has, or the extremes of a
                  column (one column); the values of a random row in three columns (several). A guess succeeds on
                  members if it fits one record of all that are attacked, members and others together, and that is a
                  member.
    linkability   Half of a target's columns are known in one place and half in another: the nearest released row to
                  each half is looked for. It succeeds if one row is nearest to both.
    inference     All columns of a target but one are known. The secret is guessed to be that of the nearest released
                  row. It succeeds on the same label, a number within 5 % of the true one, a day within 30 days.
Baseline     Random conditions, halves of two different people, random values: what needs no release, or no thought.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.noise import Sampler
from rankveil.risk.distances import NEARLY, Places, Space, between, far, slices
from rankveil.risk.limits import Limits
from rankveil.risk.parts import Sides
from rankveil.risk.rates import Rate
from rankveil.risk.results import AttackRisk

TOLERANCE = 0.05
DAYS = 30
_IN_A_GUESS = 3

Bools = NDArray[np.bool_]
Guess = list[tuple[str, str, int]]  # column, one of = <= >=, code


# Singling out


def singling_out(on: Sides, guesses: int, limits: Limits | None, sampler: Sampler) -> Iterator[AttackRisk]:
    made = {
        "a value of one column": _rare_values(on.released, guesses, sampler),
        "values of several columns": _combinations(on.released, guesses, sampler),
    }
    blind = Rate(_isolated(on, _blind(on.released, guesses, sampler))[0], guesses)
    for attack, conditions in made.items():
        if conditions:
            members, others = (Rate(hits, len(conditions)) for hits in _isolated(on, conditions))
            limit = None if limits is None else limits.risk_isolated(others.between()[1], on.count)
            yield AttackRisk("singling out", attack, members, others, blind, limit, on_file=on.on_file)


def _isolated(on: Sides, conditions: list[Guess]) -> tuple[int, int]:
    """How many conditions fit exactly one record of both lists, and that is a member; and the same for others."""
    both = {name: np.concatenate([on.members.codes[name], on.others.codes[name]]) for name in on.members.codes}
    hits = [0, 0]
    for condition in conditions:
        fits = np.ones(2 * on.count, np.bool_)
        for name, sign, code in condition:
            fits &= _fits(both[name], sign, code)
        found = np.flatnonzero(fits)
        if len(found) == 1:
            hits[int(found[0] >= on.count)] += 1
    return hits[0], hits[1]


def _fits(codes: Codes, sign: str, code: int) -> Bools:
    compared: Bools = codes == code if sign == "=" else codes <= code if sign == "<=" else codes >= code
    return compared if sign == "=" else compared & (codes != MISSING)


def _rare_values(released: Records, most: int, sampler: Sampler) -> list[Guess]:
    """Values that one released row has, and the ends of columns with an order."""
    found: list[Guess] = []
    for column in released.schema.columns:
        codes = released.codes[column.name]
        values, counts = np.unique(codes, return_counts=True)
        found += [[(column.name, "=", code)] for code in values[counts == 1].tolist()]
        present = values[values != MISSING]
        if isinstance(column.domain, Grid) and len(present):
            found += [[(column.name, "<=", int(present[0]))], [(column.name, ">=", int(present[-1]))]]
    return [found[place] for place in sampler.permutation(len(found))[:most]]


def _combinations(released: Records, most: int, sampler: Sampler) -> list[Guess]:
    columns = released.schema.columns
    rows = sampler.below(released.row_count, most)
    middle = {column.name: float(np.median(released.codes[column.name])) for column in columns}
    found = []
    for row in rows.tolist():
        chosen = sampler.permutation(len(columns))[:_IN_A_GUESS]
        found.append([_as_condition(columns[place], released, row, middle) for place in chosen])
    return found


def _as_condition(column: Column, released: Records, row: int, middle: dict[str, float]) -> tuple[str, str, int]:
    """The row's value, or that the value lies as far out as this one."""
    code = int(released.codes[column.name][row])
    if not isinstance(column.domain, Grid) or code == MISSING or code > column.domain.width:
        return column.name, "=", code
    return column.name, ">=" if code > middle[column.name] else "<=", code


def _blind(released: Records, count: int, sampler: Sampler) -> list[Guess]:
    """Conditions of random columns and values of the public domain."""
    columns = released.schema.columns
    found: list[Guess] = []
    for _ in range(count):
        guess: Guess = []
        for place in sampler.permutation(len(columns))[:_IN_A_GUESS]:
            domain = columns[place].domain
            size = domain.width + 1 if isinstance(domain, Grid) else domain.label_count
            sign = ("<=", ">=")[int(sampler.below(2, 1)[0])] if isinstance(domain, Grid) else "="
            guess.append((columns[place].name, sign, int(sampler.below(size, 1)[0])))
        found.append(guess)
    return found


# Linkability


def linkability(on: Sides, space: Space, limits: Limits | None, sampler: Sampler) -> AttackRisk:
    base, members = space.places(on.released), space.places(on.members)
    mixed = members.copy()
    mixed[1::2] = members[1::2][:, np.roll(np.arange(on.count), 1)]  # halves of two different people
    ours, theirs, naive = (
        Rate(_linked(targets, base), on.count) for targets in (members, space.places(on.others), mixed)
    )
    limit = None if limits is None else limits.risk(theirs.between()[1])
    return AttackRisk("linkability", "two halves of a record", ours, theirs, naive, limit, on_file=on.on_file)


def _linked(targets: Places, base: Places) -> int:
    """Of how many targets a released row is nearest to both halves; of several equally near ones, any will do."""
    halves = [range(start, len(base), 2) for start in (0, 1)]
    linked = 0
    for part in slices(targets.shape[1], base.shape[1]):
        near = np.ones((1, 1), np.bool_)
        for half in halves:
            distances = far(targets[:, part], base, half)
            near = near & (distances <= distances.min(axis=1, keepdims=True) + NEARLY)
        linked += int(np.count_nonzero(near.any(axis=1)))
    return linked


# Inference


def inference(on: Sides, space: Space, limits: Limits | None, sampler: Sampler) -> Iterator[AttackRisk]:
    base = space.places(on.released)
    found = [_nearest_without_each(space.places(side), base) for side in (on.members, on.others)]
    for place, column in enumerate(on.released.schema.columns):
        if not column.protected:
            continue
        released = on.released.codes[column.name]
        rates = [
            Rate(int(np.count_nonzero(right(column, released[rows[place]], side.codes[column.name]))), on.count)
            for rows, side in zip(found, (on.members, on.others), strict=True)
        ]
        blind = released[sampler.below(len(released), on.count)]
        naive = Rate(int(np.count_nonzero(right(column, blind, on.members.codes[column.name]))), on.count)
        limit = None if limits is None else limits.risk(rates[1].between()[1])
        yield AttackRisk(
            "inference", "all other columns known", rates[0], rates[1], naive, limit, column.name, on.on_file
        )


def _nearest_without_each(targets: Places, base: Places) -> list[NDArray[np.int64]]:
    """For every column the nearest released row to each target in all others."""
    columns = range(len(base))
    found: list[list[NDArray[np.int64]]] = [[] for _ in columns]
    for part in slices(targets.shape[1], base.shape[1]):
        some = targets[:, part]
        total = far(some, base, columns)
        for column in columns:
            found[column].append((total - between(some[column], base[column])).argmin(axis=1))
    return [np.concatenate(each) for each in found]


def right(column: Column, guesses: Codes, truths: Codes) -> Bools:
    """Which guesses are near enough to the truth."""
    same: Bools = guesses == truths
    domain = column.domain
    if not isinstance(domain, Grid) or domain.labels is not None:
        return same
    both = domain.ordinary(guesses) & domain.ordinary(truths)
    if domain.date_format is not None:
        days: Bools = both & (np.abs(guesses - truths) <= DAYS)
        return same | days
    guessed, true = (domain.numbers(np.where(both, codes, 0)) for codes in (guesses, truths))
    near: Bools = both & (np.abs(guessed - true) <= TOLERANCE * np.abs(true))
    return same | near
