"""Rows of base cells that fit all measured tables: weights and moves in turn. Post-processing (T1).

Where the full table of cells is too large to be written down (full.py), a set of rows stands for it, and moves. Weights
are raked to the tables, which changes the parameters; rows are drawn again by their weights; and every column of every
row is proposed a new cell that is taken by the Metropolis rule under the parameters. At last rows are settled: moves
that know which cells have too many rows bring the set nearer to the fitted tables than chance would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.fit.terms import Cells, Index, Term
from rankveil.measure.measurements import Floats
from rankveil.noise import Sampler

Tension = Callable[[Floats], Floats]  # see Term.tension


@dataclass
class RowSet:
    """Weighted rows, and for every term the sum that each row's cells add up to in it."""

    cells: list[Cells]
    terms: Sequence[Term]
    weights: Floats
    sums: list[Index] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.sums:
            self.sums = [term.sums(self.cells) for term in self.terms]

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def obeying(self) -> NDArray[np.bool_]:
        """Which rows keep to the plan's rules; all of them where none does, for then there is no better one."""
        kept = np.ones(self.size, np.bool_)
        for term, sums in zip(self.terms, self.sums, strict=True):
            if term.fixed:
                kept &= term.parameters[sums] == 0
        return kept if kept.any() else ~kept

    def rake(self, sweeps: int) -> None:
        """Fit the weights, term after term; parameters follow."""
        total = self.weights.sum()
        self.weights *= self.obeying
        for _ in range(sweeps):
            for term, sums in zip(self.terms, self.sums, strict=True):
                if term.fixed:
                    continue
                index = sums if term.mask < 0 else sums & term.mask
                change = term.step(term.fitted(index, self.weights))
                self.weights *= np.exp(change)[index]
            self.weights *= total / self.weights.sum()

    def drawn_again(self, size: int, sampler: Sampler) -> RowSet:
        """So many rows of equal weight, each as often as its weight says, rounded up or down."""
        order = sampler.permutation(self.size)
        reach = np.cumsum(self.weights[order])
        total = float(reach[-1])
        ends = np.minimum(np.floor(reach * (size / total) + float(sampler.uniform(1)[0])), size).astype(np.int64)
        ends[-1] = size
        kept = np.repeat(order, np.diff(ends, prepend=0))
        return RowSet(
            [cells[kept] for cells in self.cells],
            self.terms,
            np.full(size, total / size),
            [sums[kept] for sums in self.sums],
        )


@dataclass(frozen=True)
class Proposal:
    """Where new cells of a column come from: its own masses, or those it has given the cell of another column."""

    given: int | None  # the other column
    group: NDArray[np.int64] | None  # of the other column's base cells
    reach: Floats  # cumulative chances: one list per group, each a step of 1 above the one before
    log_chance: NDArray[np.float32]  # the same lists, flat
    size: int  # cells of the column

    @classmethod
    def of(cls, chances: Floats, given: int | None = None, group: NDArray[np.int64] | None = None) -> Proposal:
        """`chances`: groups of the other column x cells of this one; each list adds up to 1."""
        size = chances.shape[1]
        reach = np.cumsum(chances, axis=1)
        reach[:, -1] = 1.0
        steps = (reach + np.arange(len(chances))[:, None]).ravel()
        return cls(given, group, steps, np.log(chances).astype(np.float32).ravel(), size)

    def drawn(
        self, cells: Sequence[Cells], now: Cells, part: NDArray[np.int64] | slice, sampler: Sampler
    ) -> tuple[Cells, NDArray[np.float32]]:
        """A cell for each of some rows, and how much likelier the way back is."""
        places = sampler.uniform(len(now))
        if self.given is None or self.group is None:
            proposed = np.searchsorted(self.reach[:-1], places, side="right").astype(now.dtype)
            return proposed, self.log_chance[now] - self.log_chance[proposed]
        first = self.group[cells[self.given][part]]
        found = np.minimum(np.searchsorted(self.reach, places + first, side="right"), first * self.size + self.size - 1)
        proposed = (found - first * self.size).astype(now.dtype)
        return proposed, self.log_chance[first * self.size + now] - self.log_chance[found]


@dataclass(frozen=True)
class Mover:
    """Moves of one column: where proposals come from, and the terms that decide."""

    column: int
    terms: tuple[int, ...]  # their places
    positions: tuple[int, ...]  # the column's place in each
    proposals: tuple[Proposal, ...]

    @classmethod
    def of(cls, column: int, mass: Floats, terms: Sequence[Term]) -> Mover:
        """Proposals by itself, and given the columns it depends on most."""
        chance = mass / mass.sum()
        here = [place for place, term in enumerate(terms) if column in term.columns]
        free = [terms[place] for place in here if not terms[place].fixed]
        pairs = [term for term in free if len(term.columns) == 2 and term.mask < 0]
        pairs.sort(key=lambda term: -term.information)
        proposals = [Proposal.of(chance[None, :])]
        proposals += [_given_another(column, chance, term) for term in pairs[: rules.CONDITIONAL_PROPOSALS]]
        return cls(
            column,
            tuple(here),
            tuple(terms[place].columns.index(column) for place in here),
            tuple(proposals),
        )

    def move(self, rows: RowSet, sampler: Sampler) -> None:
        """Propose a cell to every row, and take it by the Metropolis rule."""
        now = rows.cells[self.column]
        proposal = self.proposals[int(sampler.below(len(self.proposals), 1)[0])]
        proposed, gain = proposal.drawn(rows.cells, now, slice(None), sampler)
        steps = []
        for place, position in zip(self.terms, self.positions, strict=True):
            term, sums = rows.terms[place], rows.sums[place]
            step = term.places[position][proposed] - term.places[position][now]
            parameters = term.parameters.astype(np.float32)
            if term.mask < 0:
                gain += parameters[sums + step] - parameters[sums]
            else:
                gain += parameters[(sums + step) & term.mask] - parameters[sums & term.mask]
            steps.append(step)
        taken = np.flatnonzero(gain > np.log(np.maximum(sampler.uniform(rows.size), 1e-300)))
        now[taken] = proposed[taken]
        for place, step in zip(self.terms, steps, strict=True):
            rows.sums[place][taken] += step[taken]


def settle(rows: RowSet, movers: Sequence[Mover], sampler: Sampler) -> RowSet:
    """Rows of equal weight that fit better than chance: moves that know which cells have too many rows by now."""
    unit = float(rows.weights[0])
    fitted = [
        term.fitted(sums if term.mask < 0 else sums & term.mask, None) * unit
        for term, sums in zip(rows.terms, rows.sums, strict=True)
    ]
    tensions = [term.tension() for term in rows.terms]
    for _ in range(rules.SETTLING_SWEEPS):
        for place in sampler.permutation(len(movers)):
            order = sampler.permutation(rows.size)
            for part in np.array_split(order, rules.SETTLING_PARTS):
                _settle_part(rows, movers[place], part, fitted, tensions, unit, sampler)
    return rows


def _settle_part(
    rows: RowSet,
    mover: Mover,
    part: NDArray[np.int64],
    fitted: list[Floats],
    tensions: Sequence[Tension],
    unit: float,
    sampler: Sampler,
) -> None:
    now = rows.cells[mover.column][part]
    proposal = mover.proposals[int(sampler.below(len(mover.proposals), 1)[0])]
    proposed, gain = proposal.drawn(rows.cells, now, part, sampler)
    steps, olds, news = [], [], []
    for place, position in zip(mover.terms, mover.positions, strict=True):
        term, sums = rows.terms[place], rows.sums[place][part]
        step = term.places[position][proposed] - term.places[position][now]
        old, new = (sums, sums + step) if term.mask < 0 else (sums & term.mask, (sums + step) & term.mask)
        pull = (term.parameters + rules.SETTLING_PULL * tensions[place](fitted[place])).astype(np.float32)
        gain += pull[new] - pull[old]
        steps.append(step)
        olds.append(old)
        news.append(new)
    taken = np.flatnonzero(gain > np.log(np.maximum(sampler.uniform(len(part)), 1e-300)))
    rows.cells[mover.column][part[taken]] = proposed[taken]
    for place, step, old, new in zip(mover.terms, steps, olds, news, strict=True):
        rows.sums[place][part[taken]] += step[taken]
        size = len(fitted[place])
        fitted[place] += unit * (np.bincount(new[taken], minlength=size) - np.bincount(old[taken], minlength=size))


def _given_another(column: int, chance: Floats, term: Term) -> Proposal:
    """Proposals in proportion to the measured table of two columns, inside its cells to the column's own masses."""
    own, other = term.columns.index(column), 1 - term.columns.index(column)
    table = np.maximum(term.measured, rules.RAREST_PROPOSAL * term.expected).reshape(term.shape)
    by_other = table if other == 0 else table.T
    group = term.group(own)
    inside = chance / np.bincount(group, chance)[group]
    chances = by_other[:, group] * inside
    return Proposal.of(chances / chances.sum(axis=1, keepdims=True), term.columns[other], term.group(other))


def fit_rows(
    cells: list[Cells], terms: Sequence[Term], movers: Sequence[Mover], total: float, size: int, sampler: Sampler
) -> RowSet:
    """`size` weighted rows, `total` together, that fit the terms. `cells`: where they start."""
    rows = RowSet(cells, terms, np.full(len(cells[0]), total / len(cells[0])))
    for _ in range(rules.CONDITIONAL_SWEEPS):  # until most rows obey
        if rows.obeying.mean() > rules.ENOUGH_OBEY:
            break
        for mover in movers:
            mover.move(rows, sampler)
    for number in range(rules.ROUNDS):
        before = [term.parameters for term in terms]
        rows.rake(rules.RAKES)
        # Weights follow the chance of which rows the set holds; parameters average it out.
        part = 1 / max(1, number + 2 - rules.ROUNDS // 2)
        for term, old in zip(terms, before, strict=True):
            term.parameters = old + part * (term.parameters - old)
        # The first rounds find the parameters roughly, for which few rows do.
        left = max(rules.ROUNDS - 3 - number, 0)
        rows = rows.drawn_again(max(size >> left, min(size, rules.FEWEST_ROWS)), sampler)
        for _ in range(rules.MOVES):
            for place in sampler.permutation(len(movers)):
                movers[place].move(rows, sampler)
    # Parameters are those under which rows move freely; what follows is about these rows alone.
    free = [term.parameters for term in terms]
    settle(rows, movers, sampler)
    rows.rake(rules.LAST_RAKES)
    for term, parameters in zip(terms, free, strict=True):
        term.parameters = parameters
    return rows
