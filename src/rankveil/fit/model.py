"""Measurements -> Model: one fit to all that was measured, each measurement weighted by its noise.

Post-processing (T1): reads measurements, which are released, and nothing else. The model is a set of weighted rows of
base cells with the columns' marginals, from which any number of rows can be drawn; and the parameters of the log-linear
fit, from which rows can be drawn given some of their columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from rankveil import rules
from rankveil.fit.copula import correlations_of, latent_rows
from rankveil.fit.departures import Departures
from rankveil.fit.full import FullTable, full_size
from rankveil.fit.limits import Limit, Limits, expected_table
from rankveil.fit.marginal import Marginal
from rankveil.fit.refine import refined
from rankveil.fit.rows import Mover, RowSet, fit_rows, mend, tied_blocks
from rankveil.fit.terms import NO_LIMITS, Cells, Term
from rankveil.fit.threads import on_one_thread
from rankveil.measure.measurements import Floats, Groups, Measurements
from rankveil.noise import Sampler

_STRETCH = 1 << 14  # rows that are given latent values at a time


@dataclass(frozen=True)
class Model:
    """Weighted rows of base cells with a latent value for each, and the marginals that turn cells into values."""

    marginals: Mapping[str, Marginal]
    cells: list[Cells]  # column by column
    weights: Floats  # adding up to the number of records
    latent: Floats  # rows x columns: the order of values inside a cell
    terms: Sequence[Term] = ()
    movers: Sequence[Mover] = ()  # of the protected columns
    limits: Limits = NO_LIMITS

    def table(self, columns: Sequence[str], groups: Sequence[Groups]) -> Floats:
        """What the model expects of a table over groups of base cells."""
        order = {name: place for place, name in enumerate(self.marginals)}
        index, shape = np.zeros(len(self.weights), np.int64), []
        for name, group in zip(columns, groups, strict=True):
            shape.append(int(group.max()) + 1)
            index = index * shape[-1] + group[self.cells[order[name]]]
        table: Floats = np.bincount(index, self.weights, minlength=int(np.prod(shape))).astype(np.float64)
        return table.reshape(shape)


@on_one_thread
def fit(measured: Measurements, sampler: Sampler, most_rows: int = rules.MOST_ROWS) -> Model:
    """The model that the measurements say most about, and otherwise as near to independence as can be."""
    if not measured.tables:
        return _by_copula(measured, sampler)
    marginals = refined(measured)
    limits = Limits.of(measured.schema.rules, marginals)
    total = float(measured.rows)
    masses = {name: _spread_thin(marginal.mass, total) for name, marginal in marginals.items()}
    known_by_now = {name: marginal.with_mass(masses[name]) for name, marginal in marginals.items()}
    order = {name: place for place, name in enumerate(marginals)}
    terms = [Term.of(table, order, known_by_now, measured.rows, limits) for table in measured.tables]
    _pool_parities(terms)
    terms += [Term.of_column(order[name], each.mass, each.variance) for name, each in marginals.items()]
    terms += [Term.of_limit(limit, order) for limit in limits.each]
    free = {order[name] for name in marginals if name not in measured.known}
    movers = [Mover.of(order[name], masses[name], terms) for name in marginals if order[name] in free]
    blocks = tied_blocks([tuple(order[name] for name in tie.columns) for tie in limits.ties])
    movers += [Mover.swapping(block, terms) for block in blocks if free.issuperset(block)]
    sizes = [marginal.cell_count for marginal in marginals.values()]
    if full_size(sizes) <= rules.MOST_FULL_CELLS and not measured.known:
        full = FullTable(sizes, terms, total)
        cells, weights = full.cells, full.fitted()
        for _ in range(rules.LEARNT_AGAIN):
            wider = [term.learn_prior(term.fitted(term.sums(cells), weights)) for term in terms]
            if not any(wider):
                break
            full = FullTable(sizes, terms, total)
            weights = full.fitted()
    else:
        size = min(max(measured.rows, rules.FEWEST_ROWS), most_rows)
        first = len(next(iter(measured.known.values()))) if measured.known else min(size, rules.FEWEST_ROWS)
        start = started(marginals, measured.known, first, sampler, limits)
        rows = fit_rows(start, terms, movers, total, size, sampler)
        cells, weights = rows.cells, rows.weights
    marginals = _as_in_rows(marginals, cells, weights)
    return Model(marginals, cells, weights, inner_order(marginals, cells, weights, sampler), terms, movers, limits)


def _as_in_rows(marginals: Mapping[str, Marginal], cells: Sequence[Cells], weights: Floats) -> dict[str, Marginal]:
    """Values are handed out cell by cell: as many of each as there are rows in it."""
    return {
        name: marginal.with_mass(np.bincount(here, weights, minlength=marginal.cell_count).astype(np.float64))
        for (name, marginal), here in zip(marginals.items(), cells, strict=True)
    }


def _spread_thin(mass: Floats, total: float) -> Floats:
    """The masses with a trace in every cell: where noise has left nothing, something may be."""
    spread = np.maximum(mass, rules.RAREST_PROPOSAL * total / len(mass))
    return np.asarray(spread * (total / spread.sum()), dtype=np.float64)


def _pool_parities(terms: Sequence[Term]) -> None:
    """Parities of one order share a prior: each is a single number, and says little of its own strength."""
    for order in (2, 3):
        alike = [term for term in terms if term.mask >= 0 and len(term.columns) == order]
        if alike:
            measured, expected = (np.stack([getattr(t, name) for t in alike]) for name in ("measured", "expected"))
            shared = Departures.of(measured, expected, alike[0].variance)
            for term, variance in zip(alike, shared.variance, strict=True):
                term.departures = replace(shared, variance=variance, level=term.expected)


def started(
    marginals: Mapping[str, Marginal],
    known: Mapping[str, Cells],
    count: int,
    sampler: Sampler,
    limits: Limits = NO_LIMITS,
) -> list[Cells]:
    """Rows to start from: public columns as they are, the others independent, but for what rules tie to each other."""
    cells = dict(known)
    for name, tie in in_order_of_ties([*known, *(name for name in marginals if name not in known)], limits):
        if name not in known:
            mass = marginals[name].mass
            even = ((np.arange(count) + float(sampler.uniform(1)[0])) / count)[sampler.permutation(count)]
            cells[name] = _at(even, mass) if tie is None else _given(even, tie, name, cells, marginals, limits)
    return [cells[name] for name in marginals]


def in_order_of_ties(names: Sequence[str], limits: Limits) -> list[tuple[str, Limit | None]]:
    """All columns, each right after those that it is tied to, with the tie to one that came before."""
    waiting, found = list(names), dict[str, Limit | None]()
    while waiting:
        tied = (
            (name, tie) for tie in limits.ties for name in tie.columns if name in waiting and _other(tie, name) in found
        )
        name, tie = next(tied, (waiting[0], None))
        found[name] = tie
        waiting.remove(name)
    return list(found.items())


def _other(tie: Limit, name: str) -> str:
    return tie.columns[1 - tie.columns.index(name)]


def _at(places: Floats, mass: Floats) -> Cells:
    """The cells at these places of a column, from 0 to 1."""
    cumulative = np.cumsum(mass) / mass.sum()
    return np.minimum(np.searchsorted(cumulative, places, side="right"), len(mass) - 1).astype(np.uint16)


def _given(
    places: Floats,
    tie: Limit,
    name: str,
    cells: Mapping[str, Cells],
    marginals: Mapping[str, Marginal],
    limits: Limits,
) -> Cells:
    """The cells at these places of what a tie leaves of a column, given the other one."""
    pair = (_other(tie, name), name)
    groups = [np.arange(marginals[each].cell_count) for each in pair]
    table = expected_table(pair, groups, marginals, float(marginals[name].mass.sum()), limits)
    table = np.where(table.sum(axis=1, keepdims=True) > 0, table, marginals[name].mass)
    cumulative = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
    cumulative[:, -1] = 1.0
    given = cells[pair[0]].astype(np.int64)
    steps = (cumulative + np.arange(len(cumulative))[:, None]).ravel()
    found = np.searchsorted(steps, places + given, side="right") - given * table.shape[1]
    return np.asarray(np.clip(found, 0, table.shape[1] - 1), dtype=np.uint16)


def inner_order(marginals: Mapping[str, Marginal], cells: Sequence[Cells], weights: Floats, sampler: Sampler) -> Floats:
    """Where in its cell a row's value lies: as the row's other columns suggest, by normal scores, and by chance."""
    latent = np.empty((len(weights), len(marginals)))
    for place, (marginal, own) in enumerate(zip(marginals.values(), cells, strict=True)):
        latent[:, place] = _normal_scores(marginal)[own]
    latent -= np.average(latent, axis=0, weights=weights)
    # In stretches, and in place: the rows of a wide table are large.
    stretches = [slice(start, start + _STRETCH) for start in range(0, len(weights), _STRETCH)]
    covariance = sum((latent[here].T * weights[here]) @ latent[here] for here in stretches) / weights.sum()
    precision = np.linalg.inv(covariance + rules.RIDGE * np.eye(len(covariance)))
    spread = 1 / np.sqrt(np.diag(precision))
    for here in stretches:
        rows = latent[here]
        rows -= rows @ precision * spread**2
        rows += sampler.normal(*rows.shape) * spread
    return latent


def _normal_scores(marginal: Marginal) -> Floats:
    """The normal quantile of the middle of each base cell; labels have no order, and score nothing."""
    if not marginal.ordered:
        return np.zeros(marginal.cell_count)
    mass = np.maximum(marginal.mass[: marginal.cell_count - marginal.apart], 0.0) + 1e-9
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    scores = np.array([NormalDist().inv_cdf(float(share)) for share in np.clip(middle, 1e-6, 1 - 1e-6)])
    return np.append(scores, np.zeros(marginal.apart))


def _by_copula(measured: Measurements, sampler: Sampler) -> Model:
    """Few records: cells by the rank of latent values with the correlations that sign products show, if any."""
    marginals = measured.columns
    size = min(max(measured.rows, rules.FEWEST_COPULA_ROWS), rules.MOST_ROWS)
    correlations = np.eye(len(marginals))
    if measured.signs is not None:
        correlations = correlations_of(measured.signs, marginals, measured.rows)
    latent = latent_rows(correlations, size, sampler)
    limits = Limits.of(measured.schema.rules, marginals)
    placed: dict[str, Cells] = {}
    places = {name: place for place, name in enumerate(marginals)}
    for name, tie in in_order_of_ties(list(marginals), limits):
        rank = np.empty(size)
        rank[np.argsort(latent[:, places[name]], kind="stable")] = (np.arange(size) + 0.5) / size
        order = marginals[name].cell_order()
        if tie is None:
            placed[name] = order[_at(rank, marginals[name].mass[order])].astype(np.uint16)
        else:
            placed[name] = _given(rank, tie, name, placed, marginals, limits)
    cells = [placed[name] for name in marginals]
    terms = [Term.of_column(place, each.mass, each.variance) for place, each in enumerate(marginals.values())]
    terms += [Term.of_limit(limit, places) for limit in limits.each]
    rows = RowSet(cells, terms, np.full(size, measured.rows / size))
    if not limits.each:
        return Model(marginals, cells, rows.weights, latent)
    masses = {name: _spread_thin(marginal.mass, float(measured.rows)) for name, marginal in marginals.items()}
    movers = [Mover.of(places[name], masses[name], terms) for name in marginals if name not in measured.public]
    mend(rows, movers, sampler)
    rows.rake(rules.LAST_RAKES)
    return Model(_as_in_rows(marginals, cells, rows.weights), cells, rows.weights, latent, terms, movers, limits)
