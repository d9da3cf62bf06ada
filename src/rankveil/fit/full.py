"""The full table of base cells, fitted to all measurements at once, where it is small. Post-processing (T1).

The optimum of terms.py in its dual form: the maximum of

    sum over measured cells (parameter · measured - penalty · parameter² / 2)  -  n log(sum over all cells exp(...)),

penalty = variance / (expected · prior variance), which is concave and smooth; where cells are tied to their neighbours
(departures.py) parameters are those of waves. It is found by a quasi-Newton method (L-BFGS).
Sums over the signs of yes/no columns are one Walsh-Hadamard transform, however many parities were measured. So are
their second derivatives, without which parities of rare answers, which are nearly alike, take thousands of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from rankveil import rules
from rankveil.fit.terms import Cells, Term
from rankveil.measure.measurements import Floats

Objective = Callable[[Floats], tuple[float, Floats]]


def full_size(sizes: Sequence[int]) -> int:
    """The number of cells of the full table."""
    return math.prod(sizes)


class FullTable:
    """All cells of the full table as rows, and how measured tables lie in it."""

    def __init__(self, sizes: Sequence[int], terms: Sequence[Term], total: float) -> None:
        self.cells: list[Cells] = list(np.indices(sizes, dtype=np.uint16).reshape(len(sizes), -1))
        self._sizes, self._total = tuple(sizes), total
        parities = [term for term in terms if term.mask >= 0]
        self._signed = sorted({column for term in parities for column in term.columns})
        # A yes/no column by itself is a parity of one column.
        self._parities = [term for term in terms if term.columns[0] in self._signed and len(term.measured) == 2]
        self._tables = [
            (term, term.sums(self.cells)) for term in terms if not term.fixed and term not in self._parities
        ]
        self._start = np.zeros(full_size(sizes))
        for term in terms:
            if term.fixed:
                self._start += term.parameters[term.sums(self.cells)]
        self._others = tuple(axis for axis in range(len(sizes)) if axis not in self._signed)
        bit = {column: 1 << place for place, column in enumerate(reversed(self._signed))}
        self._places = np.array([sum(bit[column] for column in term.columns) for term in self._parities], np.int64)
        tables = [term for term, _ in self._tables]
        self._penalty = np.concatenate(
            [_penalty(term) for term in tables] + [[_penalty(term).sum()] for term in self._parities]
        )
        self._measured = np.concatenate(
            [_in_waves(term, term.measured) for term in tables]
            + [[term.measured[0] - term.measured[1]] for term in self._parities]
        )
        self._cut = len(self._measured) - len(self._parities)  # parameters of tables, then those of parities
        expected = np.concatenate([term.expected for term in tables] or [np.empty(0)])
        self._scale = 1 / np.sqrt(expected + self._penalty[: self._cut])  # all parameters bend about equally

    def fitted(self) -> Floats:
        """The mass of every cell; the terms' parameters are set by it."""
        parameters = np.concatenate(
            [_in_waves(term, term.parameters) for term, _ in self._tables]
            + [[(term.parameters[0] - term.parameters[1]) / 2] for term in self._parities]
        )
        # With parities, every round looks again at how they bend together; without, there is nothing to look at.
        rounds, steps = (rules.FULL_ROUNDS, 1) if self._parities else (1, rules.FULL_ROUNDS)
        for _ in range(rounds):
            mixed = self._mixed(parameters)
            objective = partial(self._objective, parameters, mixed)
            change = minimised(objective, np.zeros(len(parameters)), steps * rules.FULL_STEPS)
            parameters = parameters + self._unmixed(change, mixed)
            if float(change @ change) < rules.SETTLED:  # in units in which everything bends by 1
                break
        start = 0
        for term, _ in self._tables:
            term.parameters = _in_cells(term, parameters[start : start + len(term.measured)])
            start += len(term.measured)
        for term, value in zip(self._parities, parameters[start:], strict=True):
            term.parameters = np.array([value, -value])
        return np.where(self._start == 0, self._masses(parameters)[1], 0.0)

    def _masses(self, parameters: Floats) -> tuple[float, Floats]:
        """The logarithm of the sum of all cells' weights, and the cells' masses."""
        log_weight, start = self._start.reshape(self._sizes).copy(), 0
        if self._parities:
            signs = np.zeros(1 << len(self._signed))
            signs[self._places] = parameters[self._cut :]
            shape = [2 if axis in self._signed else 1 for axis in range(len(self._sizes))]
            log_weight += walsh(signs).reshape(shape)
        flat = log_weight.ravel()
        for term, index in self._tables:
            flat += _in_cells(term, parameters[start : start + len(term.measured)])[index]
            start += len(term.measured)
        highest = float(flat.max())
        mass = np.exp(flat - highest)
        weight = float(mass.sum())
        return highest + math.log(weight), mass * (self._total / weight)

    def _signs(self, mass: Floats) -> Floats:
        """For every set of yes/no columns the sum of masses, with signs by parity."""
        return walsh(mass.reshape(self._sizes).sum(axis=self._others).ravel())

    def _mixed(self, parameters: Floats) -> Floats:
        """What turns parameters of parities into ones that bend alike and independently of each other, near here.

        Parities of columns that are nearly always the same are nearly the same. Their second derivatives are known:
        the product of two parities is a parity.
        """
        signs = self._signs(self._masses(parameters)[1]) if self._parities else np.empty(0)
        here = signs[self._places]
        bend = signs[self._places[:, None] ^ self._places] - np.outer(here, here) / self._total
        bend += np.diag(self._penalty[self._cut :] + rules.RIDGE * self._total)
        return np.asarray(np.linalg.inv(np.linalg.cholesky(bend)).T, dtype=np.float64)

    def _unmixed(self, change: Floats, mixed: Floats) -> Floats:
        return np.concatenate([change[: self._cut] * self._scale, mixed @ change[self._cut :]])

    def _objective(self, start: Floats, mixed: Floats, change: Floats) -> tuple[float, Floats]:
        parameters = start + self._unmixed(change, mixed)
        log_sum, mass = self._masses(parameters)
        sums = [_in_waves(term, term.fitted(index, mass)) for term, index in self._tables]
        if self._parities:
            sums.append(self._signs(mass)[self._places])
        pull = self._penalty * parameters
        value = self._total * log_sum - parameters @ self._measured + parameters @ pull / 2
        slope = np.concatenate(sums) - self._measured + pull
        return float(value), np.concatenate([slope[: self._cut] * self._scale, slope[self._cut :] @ mixed])


def _penalty(term: Term) -> Floats:
    """Of every parameter, or of every wave of them where neighbours are tied to each other."""
    if term.departures is None:
        return np.asarray(term.variance / (term.expected * rules.LARGEST_PRIOR_VARIANCE), dtype=np.float64)
    return (term.variance / term.departures.level * term.departures.precision).ravel()


def _in_waves(term: Term, cells: Floats) -> Floats:
    return cells if term.departures is None else term.departures.in_waves(cells)


def _in_cells(term: Term, waves: Floats) -> Floats:
    return waves if term.departures is None else term.departures.in_cells(waves)


def walsh(values: Floats) -> Floats:
    """The Walsh-Hadamard transform: for every set of bits, the sum with signs by the parity of those bits."""
    size, half = len(values), 1
    while half < size:
        pairs = values.reshape(-1, 2, half)
        values = np.concatenate([pairs[:, :1] + pairs[:, 1:], pairs[:, :1] - pairs[:, 1:]], axis=1).ravel()
        half *= 2
    return values


def minimised(objective: Objective, start: Floats, steps: int) -> Floats:
    """The minimum of a convex function, by L-BFGS with a line search that halves."""
    point = start
    value, slope = objective(point)
    changes: list[tuple[Floats, Floats, float]] = []
    for _ in range(steps):
        direction = -_by_memory(slope, changes)
        downhill = float(direction @ slope)
        length = 1.0 if changes else min(1.0, 1.0 / max(float(np.abs(slope).max()), 1e-12))
        while True:
            tried = point + length * direction
            new_value, new_slope = objective(tried)
            if new_value <= value + rules.SUFFICIENT_DECREASE * length * downhill or length < rules.SHORTEST_STEP:
                break
            length /= 2
        if length < rules.SHORTEST_STEP or value - new_value <= rules.SETTLED * abs(value):
            return tried if new_value < value else point
        moved, turned = tried - point, new_slope - slope
        bend = float(moved @ turned)
        if bend > 0:
            changes = [*changes[1 - rules.REMEMBERED_STEPS :], (moved, turned, bend)]
        point, value, slope = tried, new_value, new_slope
    return point


def _by_memory(slope: Floats, changes: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """The slope times an approximate inverse of the second derivatives, from the last steps."""
    vector, kept = slope.copy(), []
    for moved, turned, bend in reversed(changes):
        share = float(moved @ vector) / bend
        vector -= share * turned
        kept.append(share)
    if changes:
        _, turned, bend = changes[-1]
        vector *= bend / float(turned @ turned)
    for (moved, turned, bend), share in zip(changes, reversed(kept), strict=True):
        vector += (share - float(turned @ vector) / bend) * moved
    return vector
