"""Rows of base cells that fit all measured tables: weights and moves in turn. Post-processing (T1).

Where the full table of cells is too large to be written down (full.py), a set of rows stands for it, and moves. Weights
are raked to the tables, which changes the parameters; rows are drawn again by their weights; and every column of every
row is proposed a new cell that is taken by the Metropolis rule under the parameters. At last rows are settled: moves
that know which cells have too many rows bring the set nearer to the fitted tables than chance would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.fit.terms import Cells, Index, Term
from rankveil.measure.measurements import Floats
from rankveil.noise import Sampler


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
        """Which rows keep to the plan's rules."""
        kept = np.ones(self.size, np.bool_)
        for term, sums in zip(self.terms, self.sums, strict=True):
            if term.fixed:
                kept &= term.parameters[sums] == 0
        return kept

    def rake(self, sweeps: int) -> None:
        """Fit the weights, term after term; parameters follow."""
        total = self.weights.sum()
        obeying = self.obeying
        self.weights *= obeying if obeying.any() else 1.0  # if none obeys, none is better than others
        for _ in range(sweeps):
            for term, sums in zip(self.terms, self.sums, strict=True):
                if term.fixed:
                    continue
                index = sums if term.mask < 0 else sums & term.mask
                change = term.step(term.fitted(index, self.weights))
                self.weights *= np.exp(change)[index]
            self.weights *= total / self.weights.sum()

    def learn_priors(self) -> None:
        """Of tables that these rows miss plainly, however long their weights are fitted; which stay as they are."""
        weights, parameters = self.weights.copy(), [term.parameters for term in self.terms]
        self.rake(rules.LAST_RAKES)
        unit = float(weights.sum()) / self.size
        for term, sums in zip(self.terms, self.sums, strict=True):
            if term.departures is not None and term.mask < 0:
                term.learn_prior(term.fitted(sums, self.weights), unit)
        self.weights = weights
        for term, before in zip(self.terms, parameters, strict=True):
            term.parameters = before

    def drawn_again(self, size: int, sampler: Sampler) -> RowSet:
        """So many rows of equal weight, each as often as its weight says, rounded up or down."""
        order = sampler.permutation(self.size)
        cumulative = np.cumsum(self.weights[order])
        total = float(cumulative[-1])
        ends = np.minimum(np.floor(cumulative * (size / total) + float(sampler.uniform(1)[0])), size).astype(np.int64)
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
    """Where new cells of a column come from: its own masses, or those it has given the cell of another column.

    Chances are whole numbers of slots, so that a draw is one look at a short list; every cell has one slot at least.
    The Metropolis rule makes up for the rounding, for it knows the rounded chances.
    """

    given: int | None  # the other column
    group: NDArray[np.int64] | None  # of the other column's base cells
    slots: Cells  # the cell in each slot: one list per group of the other column, flat
    log_chance: NDArray[np.float32]  # of each cell, up to a constant: one list per group, flat
    lists: int

    @classmethod
    def of(cls, chances: Floats, given: int | None = None, group: NDArray[np.int64] | None = None) -> Proposal:
        """`chances`: groups of the other column x cells of this one; each list adds up to 1."""
        lists, size = chances.shape
        length = 1 << min(16, max(12, (16 * size).bit_length()))
        ends = np.floor(np.cumsum(chances * (length - size) + 1, axis=1) + 0.5).astype(np.int64)
        ends[:, -1] = length
        count = np.diff(ends, axis=1, prepend=0)
        slots = np.repeat(np.tile(np.arange(size, dtype=np.uint16), lists), count.ravel())
        return cls(given, group, slots, np.log(count).astype(np.float32).ravel(), lists)

    def drawn(
        self, cells: Sequence[Cells], now: Cells, part: NDArray[np.int64] | slice, sampler: Sampler
    ) -> tuple[Cells, NDArray[np.float32]]:
        """A cell for each of some rows, and how much likelier the way back is."""
        length, size = len(self.slots) // self.lists, len(self.log_chance) // self.lists
        place = (sampler.words(len(now), 2) & np.uint16(length - 1)).astype(np.int64)
        if self.given is None or self.group is None:
            proposed = self.slots[place]
            return proposed, self.log_chance[now] - self.log_chance[proposed]
        first = self.group[cells[self.given][part]]
        proposed = self.slots[first * length + place]
        return proposed, self.log_chance[first * size + now] - self.log_chance[first * size + proposed]


@dataclass(frozen=True)
class Mover:
    """Moves of one column, or of several together: where proposals come from, and the terms that decide.

    Columns that a rule ties to each other cannot move one by one: who has no work has no industry, and no hours. Rows
    swap such columns with each other instead, which needs no proposals.
    """

    columns: tuple[int, ...]
    terms: tuple[int, ...]  # their places
    positions: tuple[tuple[tuple[int, int], ...], ...]  # for each term: columns, by their place here and in it
    proposals: tuple[Proposal, ...] = ()

    @classmethod
    def of(cls, column: int, mass: Floats, terms: Sequence[Term]) -> Mover:
        """Proposals by itself, and given the columns it depends on most."""
        chance = mass / mass.sum()
        free = [term for term in terms if column in term.columns and not term.fixed]
        pairs = [term for term in free if len(term.columns) == 2 and term.mask < 0]
        pairs.sort(key=lambda term: -term.information)
        proposals = [Proposal.of(chance[None, :])]
        proposals += [_given_another(column, chance, term) for term in pairs[: rules.CONDITIONAL_PROPOSALS]]
        return replace(cls.swapping((column,), terms), proposals=tuple(proposals))

    @classmethod
    def swapping(cls, columns: tuple[int, ...], terms: Sequence[Term]) -> Mover:
        positions = {
            place: tuple((own, term.columns.index(each)) for own, each in enumerate(columns) if each in term.columns)
            for place, term in enumerate(terms)
            if not set(columns).isdisjoint(term.columns)
        }
        return cls(columns, tuple(positions), tuple(positions.values()))

    def move(
        self,
        rows: RowSet,
        sampler: Sampler,
        part: NDArray[np.int64] | None = None,
        pull: Callable[[int], Floats] | None = None,
        moved: Callable[[int, Index, Index], None] | None = None,
    ) -> None:
        """Propose cells to rows, and take them by the Metropolis rule.

        `part`: which rows, in a random order; all by default. `pull`: parameters of a term, by default its own.
        `moved` is told for every term where rows were and where they are.
        """
        here, proposed, gain = self._proposed(rows, part, sampler)
        changes = []
        for place, positions in zip(self.terms, self.positions, strict=True):
            term, sums = rows.terms[place], rows.sums[place][here]
            steps = [
                term.places[position][proposed[own]] - term.places[position][rows.cells[self.columns[own]][here]]
                for own, position in positions
            ]
            step = sum(steps[1:], start=steps[0])
            old, new = (sums, sums + step) if term.mask < 0 else (sums & term.mask, (sums + step) & term.mask)
            parameters = (term.parameters if pull is None else pull(place)).astype(np.float32)
            gain += parameters[new] - parameters[old]
            changes.append((place, step, old, new))
        taken = self._taken(gain, sampler)
        chosen = taken if isinstance(here, slice) else here[taken]
        for place, step, old, new in changes:
            if moved is not None:
                moved(place, old[taken], new[taken])
            rows.sums[place][chosen] += step[taken]
        for column, cells in zip(self.columns, proposed, strict=True):
            rows.cells[column][chosen] = cells[taken]

    def _proposed(
        self, rows: RowSet, part: NDArray[np.int64] | None, sampler: Sampler
    ) -> tuple[NDArray[np.int64] | slice, list[Cells], NDArray[np.float32]]:
        if self.proposals:
            here = slice(None) if part is None else part
            proposal = self.proposals[int(sampler.below(len(self.proposals), 1)[0])]
            proposed, gain = proposal.drawn(rows.cells, rows.cells[self.columns[0]][here], here, sampler)
            return here, [proposed], gain
        order = sampler.permutation(rows.size) if part is None else part
        half = len(order) // 2
        pairs, others = order[: 2 * half], np.append(order[half : 2 * half], order[:half])
        return pairs, [rows.cells[column][others] for column in self.columns], np.zeros(2 * half, np.float32)

    def _taken(self, gain: NDArray[np.float32], sampler: Sampler) -> NDArray[np.int64]:
        if self.proposals:
            return np.flatnonzero(gain > _log_uniform(len(gain), sampler))
        half = len(gain) // 2
        both = np.flatnonzero(gain[:half] + gain[half:] > _log_uniform(half, sampler))
        return np.append(both, both + half)


def _log_uniform(count: int, sampler: Sampler) -> NDArray[np.float32]:
    """Logarithms of uniform numbers, on a grid of 2**-32."""
    log_uniform: NDArray[np.float32] = np.log(
        (sampler.words(count, 4).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-32)
    )
    return log_uniform


def tied_blocks(ties: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Columns to be swapped together: where a rule ties two, what hangs on either without it; and all that hangs."""
    blocks = [_hanging(column, [other for other in ties if other != tie]) for tie in ties for column in tie]
    blocks += [_hanging(column, ties) for tie in ties for column in tie]
    return [block for block in dict.fromkeys(blocks) if len(block) > 1]


def _hanging(column: int, ties: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    found, before = {column}, set[int]()
    while found != before:
        before = set(found)
        found |= {each for tie in ties if not found.isdisjoint(tie) for each in tie}
    return tuple(sorted(found))


def settle(rows: RowSet, movers: Sequence[Mover], sampler: Sampler) -> RowSet:
    """Rows of equal weight that fit better than chance: moves that know which cells have too many rows by now."""
    unit = float(rows.weights[0])
    fitted = [
        term.fitted(sums if term.mask < 0 else sums & term.mask, None) * unit
        for term, sums in zip(rows.terms, rows.sums, strict=True)
    ]
    tensions = [term.tension() for term in rows.terms]

    def pull(place: int) -> Floats:
        return rows.terms[place].parameters + rules.SETTLING_PULL * tensions[place](fitted[place])

    def moved(place: int, old: Index, new: Index) -> None:
        size = len(fitted[place])
        fitted[place] += unit * (np.bincount(new, minlength=size) - np.bincount(old, minlength=size))

    for _ in range(rules.SETTLING_SWEEPS):
        for place in sampler.permutation(len(movers)):
            order = sampler.permutation(rows.size)
            for part in np.array_split(order, rules.SETTLING_PARTS):
                movers[place].move(rows, sampler, part, pull, moved)
    return rows


def _given_another(column: int, chance: Floats, term: Term) -> Proposal:
    """Proposals in proportion to the measured table of two columns, inside its cells to the column's own masses."""
    own, other = term.columns.index(column), 1 - term.columns.index(column)
    table = np.maximum(term.measured, rules.RAREST_PROPOSAL * term.expected).reshape(term.shape)
    by_other = table if other == 0 else table.T
    group = term.group(own)
    inside = chance / np.bincount(group, chance)[group]
    chances = by_other[:, group] * inside
    return Proposal.of(chances / chances.sum(axis=1, keepdims=True), term.columns[other], term.group(other))


def mend(rows: RowSet, movers: Sequence[Mover], sampler: Sampler) -> None:
    """Moves of rows that break rules, until nearly all obey."""
    for _ in range(rules.MENDING_SWEEPS):
        for mover in movers:
            wrong = np.flatnonzero(~rows.obeying)
            if len(wrong) <= rules.FEW_BREAK * rows.size:
                return
            mover.move(rows, sampler, wrong[sampler.permutation(len(wrong))])


def fit_rows(
    cells: list[Cells], terms: Sequence[Term], movers: Sequence[Mover], total: float, size: int, sampler: Sampler
) -> RowSet:
    """`size` weighted rows, `total` together, that fit the terms. `cells`: where they start."""
    rows = RowSet(cells, terms, np.full(len(cells[0]), total / len(cells[0])))
    mend(rows, movers, sampler)
    for number in range(rules.ROUNDS):
        before = [term.parameters for term in terms]
        rows.rake(rules.RAKES)
        if number == rules.ROUNDS // 2:
            rows.learn_priors()
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
