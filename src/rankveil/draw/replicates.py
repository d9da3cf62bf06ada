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
Support      Rows drawn again and raked to what was measured, without noise: what still varies was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.domain import Codes
from rankveil.draw.misfit import ColumnError, TableError, inside_cells
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
_SETTLED = 0.05  # deviations of noise: what may be left of measured tables

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
        self._sums = [_masked(term, term.sums(self._cells)) for term in self._terms]
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
            inside_cells(marginals[name], released[name]) for name in marginals if name not in measured.public
        ]
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
        """Rows as they might have been drawn from the same model, with all that was measured as it is.

        Raked, and then brought to the nearest weights that change no measured table, by conjugate gradients: raking is
        quick at first and slow at last. What still varies of an estimate is what measured tables do not say of it.
        """
        start = self._again()
        terms = [
            replace(term, measured=fitted, parameters=np.zeros(len(fitted)), departures=None)
            for term, fitted in self._together()
        ]
        rows = RowSet(self._cells, terms, self._of_kinds(start * (self.size / start.sum())), self._sums)
        rows.rake(rules.SUPPORT_RAKES)
        weights = rows.weights
        tables = self._of_tables(weights)
        scale = [1 / np.maximum(each, 1e-9) for each in tables]
        left = [fitted - each for fitted, each in zip(self._fitted, tables, strict=True)]
        parameters = [np.zeros(len(each)) for each in left]
        along = [a * b for a, b in zip(scale, left, strict=True)]
        now = _dot(left, along)
        for _ in range(rules.SUPPORT_STEPS):
            if all(
                float(np.mean(each**2)) <= _SETTLED**2 * term.variance
                for term, each in zip(self._terms, left, strict=True)
            ):
                break
            turned = self._of_tables(weights * self._summed(along))
            length = now / max(_dot(along, turned), 1e-300)
            parameters = [a + length * b for a, b in zip(parameters, along, strict=True)]
            left = [a - length * b for a, b in zip(left, turned, strict=True)]
            scaled = [a * b for a, b in zip(scale, left, strict=True)]
            last, now = now, _dot(left, scaled)
            along = [a + now / last * b for a, b in zip(scaled, along, strict=True)]
        return self._in_rows(start, weights * (1 + self._summed(parameters)))

    def _of_kinds(self, weights: Floats) -> Floats:
        """Of rows: the weight of each kind."""
        return np.bincount(self._kind, weights, minlength=len(self._cells[0])).astype(np.float64)

    def _in_rows(self, start: Floats, kinds: Floats, total: float = 1.0) -> Weights:
        """Rows that started with these weights, each kind now with another one."""
        weights = start * (kinds / np.maximum(self._of_kinds(start), 1e-300))[self._kind] * total
        return np.clip(np.rint(weights * UNIT), 0, _LARGEST).astype(np.uint16)

    def _tables(self, weights: Floats) -> list[Floats]:
        """Measured tables of weighted rows."""
        return self._of_tables(self._of_kinds(weights))

    def _of_tables(self, kinds: Floats) -> list[Floats]:
        return [term.fitted(sums, kinds) for term, sums in zip(self._terms, self._sums, strict=True)]

    def _summed(self, parameters: Sequence[Floats]) -> Floats:
        """For each kind of row the sum of its cells' parameters."""
        found = np.zeros(len(self._cells[0]))
        for each, sums in zip(parameters, self._sums, strict=True):
            found += each[sums]
        return found

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
        rows.rake(rules.REPLICATE_RAKES)
        return self._in_rows(start, rows.weights, total)

    def _tilt(self) -> Floats:
        """Weights of rows whose values lie elsewhere in their cells."""
        weights = np.ones(self.size)
        for cells, places, count in self._inside:
            weights *= 1 + FAY * np.clip(self._normal(count), -2.0, 2.0)[cells] * places
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


def _dot(first: Sequence[Floats], second: Sequence[Floats]) -> float:
    return float(sum(a @ b for a, b in zip(first, second, strict=True)))


def _masked(term: Term, sums: Index | Cells) -> Index | Cells:
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
