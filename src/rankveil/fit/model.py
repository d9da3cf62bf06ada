"""Measurements -> Model: one fit to all that was measured, each measurement believed as far as its noise allows.

Post-processing (T1): reads measurements, which are released, and nothing else. The model is a set of weighted rows of
base cells with the columns' marginals, from which any number of rows can be drawn; and the parameters of the log-linear
fit, from which rows can be drawn given some of their columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rankveil import rules
from rankveil.fit.copula import correlations_of, latent_rows
from rankveil.fit.departures import Departures
from rankveil.fit.full import FullTable, full_size
from rankveil.fit.limits import Limits
from rankveil.fit.marginal import Marginal
from rankveil.fit.refine import refined
from rankveil.fit.rows import Mover, RowSet, fit_rows, tied_blocks
from rankveil.fit.terms import Cells, Term
from rankveil.fit.threads import on_one_thread
from rankveil.measure.measurements import Floats, Groups, Measurements
from rankveil.noise import Sampler


@dataclass(frozen=True)
class Model:
    """Weighted rows of base cells with a latent value for each, and the marginals that turn cells into values."""

    marginals: Mapping[str, Marginal]
    cells: list[Cells]  # column by column
    weights: Floats  # adding up to the number of records
    latent: Floats  # rows x columns: the order of values inside a cell
    terms: Sequence[Term] = ()
    movers: Sequence[Mover] = ()  # of the protected columns

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
    movers += [Mover.swapping(block, terms) for block in tied_blocks(terms) if free.issuperset(block)]
    sizes = [marginal.cell_count for marginal in marginals.values()]
    if full_size(sizes) <= rules.MOST_FULL_CELLS and not measured.known:
        full = FullTable(sizes, terms, total)
        cells, weights = full.cells, full.fitted()
    else:
        size = min(max(measured.rows, rules.FEWEST_ROWS), most_rows)
        first = len(next(iter(measured.known.values()))) if measured.known else min(size, rules.FEWEST_ROWS)
        rows = fit_rows(started(marginals, measured.known, first, sampler), terms, movers, total, size, sampler)
        cells, weights = rows.cells, rows.weights
    # Values are handed out cell by cell: as many of each as there are rows in it.
    marginals = {
        name: marginal.with_mass(np.bincount(here, weights, minlength=marginal.cell_count).astype(np.float64))
        for (name, marginal), here in zip(marginals.items(), cells, strict=True)
    }
    return Model(marginals, cells, weights, inner_order(marginals, cells, weights, sampler), terms, movers)


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
            shared = Departures.of(measured, expected, alike[0].variance).variance
            for term, variance in zip(alike, shared, strict=True):
                term.departures = Departures((), variance, term.expected)


def started(marginals: Mapping[str, Marginal], known: Mapping[str, Cells], count: int, sampler: Sampler) -> list[Cells]:
    """Rows to start from: public columns as they are, the others independent of each other and of them."""
    cells = []
    for name, marginal in marginals.items():
        if name in known:
            cells.append(known[name])
            continue
        mass = marginal.mass
        ends = np.floor(np.cumsum(mass) * (count / mass.sum()) + float(sampler.uniform(1)[0])).astype(np.int64)
        ends = np.minimum(ends, count)
        ends[-1] = count
        listed = np.repeat(np.arange(len(mass), dtype=np.uint16), np.diff(ends, prepend=0))
        cells.append(listed[sampler.permutation(count)])
    return cells


def inner_order(marginals: Mapping[str, Marginal], cells: Sequence[Cells], weights: Floats, sampler: Sampler) -> Floats:
    """Where in its cell a row's value lies: as the row's other columns suggest, by normal scores, and by chance."""
    scores = np.stack(
        [_normal_scores(marginal)[here] for marginal, here in zip(marginals.values(), cells, strict=True)], axis=1
    )
    mean = np.average(scores, axis=0, weights=weights)
    centred = scores - mean
    covariance = (centred * weights[:, None]).T @ centred / weights.sum()
    precision = np.linalg.inv(covariance + rules.RIDGE * np.eye(len(covariance)))
    spread = 1 / np.sqrt(np.diag(precision))
    expected = centred - centred @ precision * spread**2
    latent: Floats = expected + sampler.normal(*expected.shape) * spread
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
    cells: list[Cells] = []
    for place, marginal in enumerate(marginals.values()):
        order = marginal.cell_order()
        ends = np.rint(np.cumsum(marginal.mass[order]) * (size / marginal.mass.sum())).astype(np.int64)
        ends[-1] = size
        here = np.empty(size, np.uint16)
        here[np.argsort(latent[:, place], kind="stable")] = np.repeat(order, np.diff(np.minimum(ends, size), prepend=0))
        cells.append(here)
    terms = [Term.of_column(place, each.mass, each.variance) for place, each in enumerate(marginals.values())]
    places = {name: place for place, name in enumerate(marginals)}
    limits = [Term.of_limit(limit, places) for limit in Limits.of(measured.schema.rules, marginals).each]
    rows = RowSet(cells, [*terms, *limits], np.full(size, measured.rows / size))
    if limits:
        rows.rake(rules.LAST_RAKES)
    return Model(marginals, cells, rows.weights, latent)
