"""Membership inference on many releases, with and without one person: a lower bound on ε that is certain.

What is done A part of the table is released many times by the plan, and as often with one person replaced, or left out
             where the plan protects that. Public columns stay as they are: neighbours agree on them. The person is the
             one farthest from all others, whom an attacker would look for; who is there instead is an ordinary person.
             Half of the releases (the pilot) choose a statistic and a threshold, the other half are counted.
Guarantee    The bound is larger than the ε of the method with a probability of at most 5 %; a claim that holds is
             contradicted with a probability of at most 1 in 10,000.
Argument     T43: the event is fixed before the releases that are counted are made. What ε allows: T54.
Not covered  The released file itself: these are other releases, of a part of the table. A small bound proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.audit.bounds import Event, Scores, best_event, epsilon_at_least
from rankveil.declare import Plan, Records
from rankveil.declare.persons import limited
from rankveil.evaluate.measuring import on_scale_of
from rankveil.methods import budget_of, method_named
from rankveil.noise import RandomSource, Sampler, SeededSource
from rankveil.risk.distances import Places, Space, between, far
from rankveil.risk.limits import Limits
from rankveil.risk.parts import Held, one_of_each
from rankveil.risk.rates import MISSES, Rate
from rankveil.risk.results import Membership

CONTRADICTED = 1e-4
_CANDIDATES = 500
_NEAR = np.float32(0.02)

Details = NDArray[np.float64]


@dataclass
class _World:
    """One of the two tables, and releases of it."""

    held: Held
    plan: Plan
    _prepared: Any = field(default=None, repr=False)

    def released(self, source: RandomSource) -> Records:
        method, size = method_named(self.plan.release.method), self.plan.release.k or 1
        dataset = self.held.dataset
        with limited(dataset, source) as used:
            if used is not dataset:  # rows were left out, by another key each time
                prepared = method.prepare(used, size)
            else:
                if self._prepared is None:
                    self._prepared = method.prepare(dataset, size)
                prepared = self._prepared
            rows = method.drawn(prepared, budget_of(self.plan), source)
        return on_scale_of(self.held.schema, Records(rows.schema, rows.collected(), rows.row_count))


@dataclass(frozen=True)
class _Pair:
    """A table with the target, and one without; what an attacker knows of both."""

    with_target: _World
    without: _World
    target: Records  # one row
    instead: Records | None  # who is there in its place
    row: int  # of the target
    known: Records  # the table with the target

    @classmethod
    def of(cls, held: Held, plan: Plan, rows: int, sampler: Sampler) -> _Pair | None:
        """None if there is nobody who could be there instead."""
        units = held.units()
        each = one_of_each(units, sampler)
        # Whole persons, until there are rows enough.
        sizes = np.bincount(units, minlength=int(units.max()) + 1)[units[each]]
        count = max(2, int(np.searchsorted(np.cumsum(sizes), rows)) + 1)
        inside, outside = np.isin(units, units[each[:count]]), each[count : count + _CANDIDATES]
        table = held.some(np.flatnonzero(inside))
        records, whose = table.records(), table.units()
        space = Space(held.schema, records)
        places = space.places(records)
        row = _most_exposed(places, whose)
        its_rows = np.flatnonzero(whose == whose[row])
        kept = np.setdiff1d(np.arange(records.row_count), its_rows)
        target = table.some(np.array([row])).records()
        if held.schema.unit.neighbours == "add-remove":
            return cls(_World(table, plan), _World(table.some(kept), plan), target, None, row, records)
        if len(outside) == 0:
            outside = each[:count][units[each[:count]] != units[np.flatnonzero(inside)[row]]]
        candidates = _with_public(held.some(outside), table, row).records()
        obeys = np.ones(len(outside), np.bool_)
        for rule in held.schema.checks:
            obeys &= rule.holds(candidates.codes)
        if not obeys.any():
            return None
        away = far(space.places(candidates), places, range(space.count)).mean(axis=1)
        best = int(outside[np.where(obeys, away, np.inf).argmin()])  # an ordinary person
        others = np.flatnonzero(units == units[best])[: len(its_rows)]
        without = _replaced(table, its_rows, _with_public(held.some(others), table, row))
        instead = _with_public(held.some(np.array([best])), table, row).records()
        return cls(_World(table, plan), _World(without, plan), target, instead, row, records)

    def statistics(self, released: Records, space: Space, *, aligned: bool) -> dict[str, float]:
        """What an attacker may look at, by name."""
        every = range(space.count)
        rows, target = space.places(released), space.places(self.target)
        distances = far(target, rows, every)[0]
        found = {
            "distance of the nearest row to the target": float(distances.min()),
            "mean distance of rows to the target": float(distances.mean()),
            "rows near the target": float(np.count_nonzero(distances <= 0.1 * space.count)),
            "values of the target, column by column": _shared(target, rows),
            "rows": float(released.row_count),
            "different rows": float(len(np.unique(rows.round(6), axis=1)[0])),
            "different values": float(sum(len(np.unique(column)) for column in rows)),
        }
        if self.instead is not None:
            instead = space.places(self.instead)
            away = far(instead, rows, every)[0]
            found["nearest row: to the target less to the other"] = float(distances.min() - away.min())
            found["values of the target less those of the other"] = _shared(target, rows) - _shared(instead, rows)
        if aligned:
            found["distance of the own row to the target"] = float(distances[self.row])
            found["rows equal to the own row that should be"] = self._mates(released, space, self.target)
            if self.instead is not None:
                found["own row: to the target less to the other"] = float(distances[self.row] - away[self.row])
                found["equal rows: the target's less the other's"] = found[
                    "rows equal to the own row that should be"
                ] - self._mates(released, space, self.instead)
        return found

    def details(self, released: Records, space: Space, *, aligned: bool) -> Details:
        """What a statistic is learnt from: column by column and, where rows belong to records, row by row."""
        rows = space.places(released)
        each = [self.target] if self.instead is None else [self.target, self.instead]
        found = [
            np.count_nonzero(between(space.places(one)[place], rows[place])[0] <= _NEAR)
            for one in each
            for place in range(space.count)
        ]
        if not aligned:
            return np.array(found, np.float64)
        shown = np.stack(list(released.codes.values()))
        equal = (shown == shown[:, [self.row]]).sum(axis=0)
        own = [float(between(space.places(one)[place], rows[place])[0][self.row]) for one in each for place in
               range(space.count)]  # fmt: skip
        return np.concatenate([found, own, equal]).astype(np.float64)

    def _mates(self, released: Records, space: Space, of: Records) -> float:
        """In how many columns the own row shows the same as the row of the record next to this one."""
        known, one = space.places(self.known), space.places(of)
        equal = 0
        for place, column in enumerate(space.schema.columns):
            away = between(one[place], known[place])[0]
            away[self.row] = np.inf
            shown = released.codes[column.name]
            equal += int(shown[self.row] == shown[int(away.argmin())])
        return float(equal)


def _shared(one: Places, rows: Places) -> float:
    """Over all columns, how many rows have about this record's value there."""
    return float(sum(np.count_nonzero(between(one[place], rows[place])[0] <= _NEAR) for place in range(len(rows))))


def _most_exposed(places: Places, whose: NDArray[np.int64]) -> int:
    """The row that is farthest from the rows of everybody else."""
    distances = far(places, places, range(len(places)))
    distances[whose[:, None] == whose[None, :]] = np.inf
    return int(distances.min(axis=1).argmax())


def _with_public(others: Held, table: Held, row: int) -> Held:
    """Rows of others with the public values of one row of the table."""
    rows = others.rows
    for column in table.schema.columns:
        if not column.protected:
            value = table.rows.column(column.name).combine_chunks().take(pa.array([row] * rows.num_rows, pa.int64()))
            rows = rows.set_column(rows.schema.get_field_index(column.name), rows.schema.field(column.name), value)
    return Held(rows, others.schema)


def _replaced(table: Held, rows: NDArray[np.int64], others: Held) -> Held:
    """The table with other rows in these places; rows that are too many go."""
    order = np.arange(table.rows.num_rows)
    new = others.rows
    person = table.schema.unit.person
    if person is not None:  # the newcomer is one person, too
        name = table.rows.column(person).take(pa.array(rows[:1]))
        place = new.schema.get_field_index(person)
        new = new.set_column(place, new.schema.field(place), pa.chunked_array([name.chunk(0)] * new.num_rows))
    both = pa.concat_tables([table.rows, new])
    order[rows[: new.num_rows]] = table.rows.num_rows + np.arange(new.num_rows)
    order = np.delete(order, rows[new.num_rows :])
    return Held(both.take(pa.array(order)), table.schema)


def membership(
    held: Held,
    plan: Plan,
    *,
    releases: int,
    rows: int,
    seed: int,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Membership | None:
    """`releases` in all: a quarter of each table for the pilot, a quarter of each to be counted.

    None if, beside the public values of the exposed person, nobody else's obey the rules.
    """
    method, unit = method_named(plan.release.method), held.schema.unit
    sampler = Sampler(SeededSource(seed))
    pair = _Pair.of(held, plan, max(rows, 4 * (plan.release.k or 1) if method.needs_clusters else 0), sampler)
    if pair is None:
        return None
    worlds = (pair.without, pair.with_target)
    space = Space(held.schema, pair.known)
    half, done = max(1, releases // 4), 0

    def observed(world: _World, first: int) -> _Observed:
        nonlocal done
        found, details = [], []
        for number in range(half):
            # Streams of their own: no two releases share a seed.
            drawn = world.released(SeededSource((seed << 32) + first + number))
            found.append(pair.statistics(drawn, space, aligned=method.row_aligned))
            details.append(pair.details(drawn, space, aligned=method.row_aligned))
            done += 1
            told(done, 4 * half)
        return _Observed(found, details)

    delta = float(plan.release.delta or 0)
    pilot = [observed(world, 1 + (place * half)) for place, world in enumerate(worlds)]
    chosen = _chosen(pilot[0], pilot[1], delta)
    counted = [observed(world, 1 + (2 + place) * half) for place, world in enumerate(worlds)]
    event = chosen.event
    without, with_target = (event.hits(each.scores(chosen)) for each in counted)
    more, less = (with_target, without) if event.favours_changed else (without, with_target)
    claimed = float(plan.release.epsilon) if method.uses_budget else None
    certain = epsilon_at_least(more, less, half, CONTRADICTED, delta)
    # What the attacker says is that the person is there: the event, or that it does not happen.
    said = [hits if event.favours_changed else half - hits for hits in (with_target, without)]
    at_least_so = event.above == event.favours_changed
    sign = ("≥" if event.above else ">") if at_least_so else ("<" if event.above else "≤")
    return Membership(
        rows=pair.known.row_count,
        statistic=f"{chosen.name} {sign} {event.threshold:.4g}",
        with_target=Rate(said[0], half),
        without_target=Rate(said[1], half),
        epsilon_at_least=epsilon_at_least(more, less, half, MISSES, delta),
        claimed=claimed,
        delta=delta,
        advantage_limit=None if claimed is None else Limits(claimed, delta).advantage,
        contradicts=claimed is not None and certain > claimed,
        neighbours=unit.neighbours,
    )


@dataclass(frozen=True)
class _Chosen:
    """A statistic and an event of it, fixed on the pilot."""

    name: str
    event: Event
    weights: Details | None = None  # of details; None for a statistic that has a name


@dataclass(frozen=True)
class _Observed:
    """What releases of one table showed."""

    statistics: list[dict[str, float]]
    details: list[Details]

    def named(self, name: str) -> Scores:
        return np.array([each[name] for each in self.statistics], np.float64)

    def scores(self, chosen: _Chosen) -> Scores:
        if chosen.weights is None:
            return self.named(chosen.name)
        return weighted(self.details, chosen.weights)


def weighted(details: list[Details], weights: Details) -> Scores:
    """Details added up, row numbers beyond the shorter list left out: releases may differ in length."""
    return np.array([float(each[: len(weights)] @ weights[: len(each)]) for each in details])


def _chosen(without: _Observed, with_target: _Observed, delta: float) -> _Chosen:
    """What promises most, by the pilot alone."""
    tried: list[tuple[str, Details | None, Scores, Scores]] = [
        (name, None, without.named(name), with_target.named(name)) for name in without.statistics[0]
    ]
    # Weights are learnt from one half of the pilot and judged on the other.
    half = len(without.details) // 2
    if half > 1:
        learnt = _learnt(without.details[:half], with_target.details[:half])
        one, other = (weighted(each.details[half:], learnt) for each in (without, with_target))
        tried.append(("a weighted sum of what columns and rows show", learnt, one, other))
    best: tuple[tuple[float, float], _Chosen] | None = None
    for name, weights, one, other in tried:
        for event in (best_event(one, other, MISSES), _most_telling(one, other)):
            hits = event.hits(one), event.hits(other)
            less, more = hits if event.favours_changed else hits[::-1]
            promised = epsilon_at_least(more, less, len(one), MISSES, delta), (more - less) / len(one)
            if best is None or promised > best[0]:
                best = promised, _Chosen(name, event, weights)
    if best is None:
        raise ValueError("nothing to look at")
    return best[1]


def _learnt(without: list[Details], with_target: list[Details]) -> Details:
    """Weights of details by how well each tells the two tables apart."""
    length = min(map(len, (*without, *with_target)))
    one, other = (np.stack([each[:length] for each in side]) for side in (without, with_target))
    spread = one.var(axis=0) + other.var(axis=0)
    weights: Details = (other.mean(axis=0) - one.mean(axis=0)) / (spread + 0.05 + 0.01 * spread.max())
    return weights


def _most_telling(without: Scores, with_target: Scores) -> Event:
    """The threshold with the largest difference of rates: where no bound is promised, the largest advantage."""
    thresholds = np.unique(np.concatenate([without, with_target]))
    rates = [(each[None, :] >= thresholds[:, None]).mean(axis=1) for each in (without, with_target)]
    place = int(np.abs(rates[1] - rates[0]).argmax())
    return Event(float(thresholds[place]), True, bool(rates[1][place] >= rates[0][place]))
