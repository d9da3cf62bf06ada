"""Replicate weights: what else the release might have been, as weights of its rows. Post-processing (T1).

Guarantee    Reads measurements, the fitted model and released rows; sees no data.
What for     The squared differences between an estimate with each replicate's weights and the estimate without, summed
             and multiplied by 4 / replicates, are the variance of its error: as with the 80 weights of the American
             Community Survey. Differences are halved, and their squares quadrupled (Fay): so no weight is negative.
The error    of a fitted table has four parts, and a replicate draws each of them again:
             1. noise of the measurement, by its law and deviation;
             2. what the fit took for noise and was not: departures, by the prior that the fit has estimated;
             3. the chance of which rows were drawn from the model;
             4. the chance of which people were in the table. An estimate for the people has it where something was
                measured, for it was measured in the table; one for the table where nothing was: the model knows people
                in general, not those.
How          The released rows are raked to their own tables plus 1, with a prior around 2 instead of zero, from weights
             that hold 3 (and 4). For a linear fit with normal noise that is an exact draw of the error: the minimum of
             a perturbed sum of squares is a draw from the posterior (Papandreou and Yuille 2010).
Support      Rows drawn again that keep what was measured: what still varies was not measured (support.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.domain import Codes
from rankveil.draw.misfit import ColumnError, PlacesError, TableError
from rankveil.draw.support import Fixed, Projection
from rankveil.fit.marginal import OrderedMarginal
from rankveil.fit.model import Model
from rankveil.fit.rows import RowSet
from rankveil.fit.terms import Cells, Index, Term
from rankveil.fit.threads import on_one_thread
from rankveil.measure.measurements import Floats, Measurements, TableMeasurement
from rankveil.measure.size import COLUMN as SIZE
from rankveil.noise import Sampler

FAY = 0.5  # part of an error that a replicate has
UNIT = 1000  # weights are multiples of 1 / UNIT ...
_LARGEST = (1 << 16) - 1  # ... and below 66

Weights = NDArray[np.uint16]  # replicates x rows, in units of 1 / UNIT


@dataclass(frozen=True)
class Replicates:
    """Weights of released rows, in the rows' order."""

    table: Weights  # for the table that was protected
    population: Weights  # for the people it was drawn from
    support: Weights  # rows drawn again that agree with all that was measured


@on_one_thread
def replicates(
    model: Model, measured: Measurements, released: Mapping[str, Codes], count: int, sampler: Sampler
) -> Replicates:
    """So many replicates of the released rows."""
    draws = _Draws(model, measured, released, sampler)
    table, population = np.empty((2, count, draws.size), np.uint16)
    support = np.empty((rules.SUPPORT_REPLICATES, draws.size), np.uint16)
    for number in range(count):
        table[number], population[number] = draws.errors()
    for number in range(len(support)):
        support[number] = draws.drawn_again()
    return Replicates(table, population, support)


class _Draws:
    """All that replicates share: the released rows in the measured tables, and how sure each of these is."""

    def __init__(self, model: Model, measured: Measurements, released: Mapping[str, Codes], sampler: Sampler) -> None:
        self._sampler, self._measured = sampler, measured
        marginals = model.marginals
        cells = np.stack([each.cell_of(released[name]).astype(np.uint16) for name, each in marginals.items()], axis=1)
        self.size = len(cells)
        # Rows of the same cells are raked alike: each kind of row once.
        kinds, self._kind = np.unique(cells, axis=0, return_inverse=True)
        self._cells: list[Cells] = list(np.ascontiguousarray(kinds.T))
        self._terms = _terms(model, measured)
        self._sums: list[Index] = [_masked(term, term.sums(self._cells)) for term in self._terms]
        self._fitted = self._tables(np.ones(self.size))
        self._laplace = any(
            level.law == "discrete Laplace" for each in measured.asked.values() for level in each.levels
        )
        places = {name: place for place, name in enumerate(marginals)}
        of_columns = {term.columns[0]: fitted for term, fitted in self._together() if len(term.columns) == 1}
        self._columns = {
            place: ColumnError.of(name, marginals[name], of_columns[place], measured)
            for name, place in places.items()
            if name not in measured.public
        }
        self._lost = {
            place: TableError.of(table, [marginals[name] for name in table.columns], self._fitted[place])
            for place, table in enumerate(measured.tables)
            if not table.parity
        }
        self._excess = [_excess(term, fitted) for term, fitted in self._together()]
        self._inside = [
            PlacesError.of(marginals[name], released[name], measured.asked[name])
            for name in marginals
            if name not in measured.public
        ]
        self._finest = [
            (measured.asked[name].levels[-1], released[name])
            for name, each in marginals.items()
            if name not in measured.public and isinstance(each, OrderedMarginal)
        ]
        self._parities = sum(term.mask >= 0 for term in self._terms)
        self._sign = 1.0
        self._of_size = _deviation_of_size(measured) / measured.rows

    def _together(self) -> Iterator[tuple[Term, Floats]]:
        return zip(self._terms, self._fitted, strict=True)

    def errors(self) -> tuple[Weights, Weights]:
        """One draw of the error, for the table and for the population."""
        self._sign = -self._sign
        columns = {
            place: error.root @ self._normal(len(error.root)) + self._sign * error.off
            for place, error in self._columns.items()
        }
        lost = {place: error.drawn(self._sign, self._normal(error.off.size)) for place, error in self._lost.items()}
        noise = [self._noise(place, columns, lost) for place in range(len(self._terms))]
        prior = [self._prior(place, lost) for place in range(len(self._terms))]
        total = 1 + FAY * self._of_size * float(self._normal(1)[0])
        tilt = self._tilt()
        rows, people = self._again(), self._again()
        both = (rows + people - 1) * tilt  # above zero: each is at least one half
        rows = rows * tilt
        there = self._tables(people * (self.size / people.sum()))
        sampled = [
            each + (table - fitted) / FAY for each, table, fitted in zip(noise, there, self._fitted, strict=True)
        ]
        return self._raked(both, noise, prior, total), self._raked(rows, sampled, prior, total)

    def drawn_again(self) -> Weights:
        """Rows as they might have been drawn from the same model, with all that was measured as it is (support.py)."""
        projection, kind = self._support
        thrown = np.where(self._sampler.uniform(self.size) < 0.5, -FAY, FAY)
        of_kinds = np.bincount(kind, thrown, minlength=len(projection.rows)) / projection.rows
        return _in_units(1 + thrown + (projection.of(of_kinds) - of_kinds)[kind], self.size)

    @cached_property
    def _support(self) -> tuple[Projection, NDArray[np.int64]]:
        """Columns were counted finer than in base cells: rows are told apart by these counts, too."""
        finer = [(level, codes) for level, codes in self._finest if level.low.size > 1]
        parts = [np.searchsorted(level.low[1:], codes, side="right").astype(np.int64) for level, codes in finer]
        whole, kind = np.unique(np.stack([self._kind.ravel(), *parts], axis=1), axis=0, return_inverse=True)
        tables = [
            Fixed(sums[whole[:, 0]].astype(np.int64), len(fitted), math.sqrt(term.variance))
            for (term, fitted), sums in zip(self._together(), self._sums, strict=True)
        ]
        tables += [
            Fixed(whole[:, 1 + place], level.low.size, level.deviation) for place, (level, _) in enumerate(finer)
        ]
        kind = kind.ravel()
        return Projection(tables, np.bincount(kind).astype(np.float64)), kind

    def _of_kinds(self, weights: Floats) -> Floats:
        """Of rows: the weight of each kind."""
        return np.bincount(self._kind, weights, minlength=len(self._cells[0])).astype(np.float64)

    def _in_rows(self, start: Floats, kinds: Floats, total: float = 1.0) -> Weights:
        """Rows that started with these weights, each kind now with another one."""
        weights = start * (kinds / np.maximum(self._of_kinds(start), 1e-300))[self._kind]
        return _in_units(weights, self.size * total)

    def _tables(self, weights: Floats) -> list[Floats]:
        """Measured tables of weighted rows."""
        return self._of_tables(self._of_kinds(weights))

    def _of_tables(self, kinds: Floats) -> list[Floats]:
        return [term.fitted(sums, kinds) for term, sums in zip(self._terms, self._sums, strict=True)]

    def _again(self) -> Floats:
        """Weights of rows drawn again: exponential, as in the Bayesian bootstrap, and halfway to 1."""
        return 1 - FAY * (1 + np.log(np.maximum(self._sampler.uniform(self.size), 1e-300)))

    def _raked(self, start: Floats, change: Sequence[Floats], prior: Sequence[Floats], total: float) -> Weights:
        terms = [
            replace(
                term,
                measured=fitted + FAY * each,
                parameters=-FAY * prior[place],
            )
            for place, (term, fitted, each) in enumerate(zip(self._terms, self._fitted, change, strict=True))
        ]
        rows = RowSet(self._cells, terms, self._of_kinds(start * (self.size / start.sum())), self._sums)
        rows.rake(rules.REPLICATE_RAKES if self._parities < rules.MANY_PARITIES else rules.PARITY_RAKES)
        return self._in_rows(start, rows.weights, total)

    def _tilt(self) -> Floats:
        """Weights of rows whose values lie elsewhere in their cells."""
        weights = np.ones(self.size)
        for error in self._inside:
            weights *= 1 + FAY * error.drawn(self._sign, self._normal(len(error.off)))
        return weights

    def _noise(self, place: int, columns: Mapping[int, Floats], lost: Mapping[int, Floats]) -> Floats:
        """Of a measured table, with the margins that its columns have in this replicate."""
        term, fitted = self._terms[place], self._fitted[place]
        if len(term.columns) == 1:
            return columns.get(term.columns[0], np.zeros(len(fitted)))
        deviation = math.sqrt(term.variance)
        if term.mask >= 0:
            half = deviation / math.sqrt(2) * self._of_law(1)[0]
            return np.array([half, -half])
        drawn = deviation * self._of_law(len(fitted))
        if term.departures is None:  # a table of few cells that matter: what is thin has been emptied
            drawn *= np.sqrt((fitted + 1) / (fitted + 1 + deviation))
        drawn += lost[place]
        some = (fitted > 0).reshape(term.shape)
        table = drawn.reshape(term.shape) * some
        for axis, column in enumerate(term.columns):
            others = tuple(other for other in range(table.ndim) if other != axis)
            margin = columns.get(column, np.zeros(len(term.places[axis])))
            lacking = np.bincount(term.group(axis), margin, minlength=table.shape[axis]) - table.sum(axis=others)
            table = table + np.expand_dims(lacking / np.maximum(some.sum(axis=others), 1), others) * some
        return table.ravel()

    def _prior(self, place: int, lost: Mapping[int, Floats]) -> Floats:
        """Departures that the fit may have taken for noise, as parameters."""
        term = self._terms[place]
        if term.departures is None:
            return np.zeros(len(term.measured))
        spread = rules.PRIOR_SPREAD * np.sqrt(term.departures.variance.ravel()) * self._normal(len(term.measured))
        spread += float(self._normal(1)[0]) * self._excess[place]
        in_cells = term.departures.in_cells(spread) + lost.get(place, 0.0)
        parameters = in_cells / term.departures.level.ravel()
        return np.asarray(np.clip(parameters, -rules.LARGEST_STEP, rules.LARGEST_STEP), dtype=np.float64)

    def _normal(self, count: int) -> Floats:
        return self._sampler.normal(count, 1)[:, 0]

    def _of_law(self, count: int) -> Floats:
        """Noise of variance 1."""
        if not self._laplace:
            return self._normal(count)
        places = 2 * self._sampler.uniform(count) - 1
        return np.asarray(-np.sign(places) * np.log1p(-np.minimum(np.abs(places), 1 - 1e-15)) / math.sqrt(2))


def _in_units(weights: Floats, total: float) -> Weights:
    """Whole units that add up to this many rows: where the number of rows is public, no replicate differs in it.

    Raking leaves it a little off, as where noise fell on cells of which there is no row. Rounding does not: the largest
    fractions are rounded up.
    """
    exact = np.maximum(weights, 0.0)
    exact = np.clip(exact * (UNIT * total / exact.sum()), 0, _LARGEST)
    units = np.floor(exact)
    up = round(float(exact.sum() - units.sum()))
    if up:
        units[np.argpartition(units - exact, up - 1)[:up]] += 1
    return np.asarray(units, np.uint16)


def _masked(term: Term, sums: Index) -> Index:
    return sums if term.mask < 0 else sums & term.mask


def _excess(term: Term, fitted: Floats) -> Floats:
    """How much more a measured table departs from the released rows than its prior and its noise explain.

    A prior is one for all cells of a table. Where single cells depart more than others, the fit has shrunk them too
    far; what is beyond some deviations is taken for that.
    """
    off = term.measured - fitted
    if term.departures is None:
        return np.zeros(len(off))
    prior = term.departures.variance.ravel()
    whole = prior + term.variance
    departed = term.departures.in_waves(off) * (whole / term.variance)
    return np.asarray(np.sign(departed) * np.maximum(np.abs(departed) - rules.EXCESS_FROM * np.sqrt(whole), 0.0))


def _terms(model: Model, measured: Measurements) -> list[Term]:
    """Of all measured tables, and of every column by itself."""
    places = {name: place for place, name in enumerate(model.marginals)}
    terms = [term for term in model.terms if not term.fixed and len(term.columns) > 1]
    if measured.signs is not None:  # of few records: a sign product is a parity of two halves
        for columns, product in measured.signs.products.items():
            halves = tuple((model.marginals[name].signs() > 0).astype(np.int64) for name in columns)
            counts = np.array([measured.rows + product, measured.rows - product]) / 2
            sign = TableMeasurement(columns, halves, counts, measured.signs.deviation, parity=True)
            terms.append(Term.of(sign, places, model.marginals, measured.rows))
    known = [term for term in model.terms if len(term.columns) == 1]
    return terms + (
        known or [Term.of_column(places[name], each.mass, each.variance) for name, each in model.marginals.items()]
    )


def _deviation_of_size(measured: Measurements) -> float:
    """Of the number of rows, where that was measured with noise."""
    for note in measured.notes:
        if note.column == SIZE:
            change = float(Fraction(note.sensitivity))
            per_change = math.sqrt(2) / float(note.epsilon or 1) if note.rho is None else (2 * float(note.rho)) ** -0.5
            return change * per_change
    return 0.0
