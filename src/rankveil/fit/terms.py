"""One measured table as a term of the fitted model, over rows of base cells. Post-processing (T1).

The model is log-linear: a row's log-weight is the sum, over all measured tables, of a parameter for the cell of the
table that the row lies in. `Term.step` moves a table's parameters towards the maximum of

    - sum over cells (measured - fitted)² / 2 variance  -  sum over cells parameter² / 2 prior variance

so each measurement is believed as far as its noise allows. The prior variance of a table is how strongly its columns
depend on each other, estimated from the table itself (empirical Bayes): a table of mere noise gets parameters near
zero, which is independence given what the other tables say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.measure.measurements import Floats, TableMeasurement

Cells = NDArray[np.uint16]  # the base cells of one column, row by row
Index = NDArray[np.int32]


@dataclass
class Term:
    """Parameters of one table while they are fitted."""

    columns: tuple[int, ...]
    places: tuple[Index, ...]  # per column: what a base cell adds to the index of a row
    mask: int  # the index is taken modulo mask + 1: 1 for a parity, all bits for a table
    measured: Floats  # flat
    variance: Floats | float
    expected: Floats  # under independence, flat
    prior_variance: float
    parameters: Floats
    shape: tuple[int, ...]  # cells per column; (2,) for a parity

    @property
    def beats_chance(self) -> bool:
        """Whether the table is known better than a sample of as many records would show it."""
        return float(np.mean(self.variance)) < float(self.expected.mean())

    def group(self, position: int) -> NDArray[np.int64]:
        """The table's cell of each base cell of one of its columns."""
        stride = math.prod(self.shape[position + 1 :])
        return (self.places[position] // stride).astype(np.int64)

    @property
    def information(self) -> float:
        """How much the measured table says beyond independence, in nats."""
        share = np.maximum(self.measured, 0.0)
        some = share > 0
        return float((share[some] * np.log(share[some] / self.expected[some])).sum() / share.sum()) if some.any() else 0

    @classmethod
    def of(cls, table: TableMeasurement, order: Mapping[str, int], masses: Mapping[str, Floats], rows: int) -> Term:
        """A table as a term. `masses`: of the base cells of each column, adding up to `rows`."""
        if table.parity:
            places = [group.astype(np.int32) for group in table.groups]
            mask, expected = 1, _expected_parity(table, masses, rows)
            # The sum of signs has the deviation that is stated; each of the two counts moves by half of it.
            variance = table.deviation**2 / 2
        else:
            places, mask, stride = [], -1, 1
            for group, size in zip(reversed(table.groups), reversed(table.noisy.shape), strict=True):
                places.insert(0, (group * stride).astype(np.int32))
                stride *= size
            expected = _expected(table, masses, rows)
            variance = table.deviation**2
        measured = table.noisy if table.parity else _consistent(table, masses)
        prior_variance = _prior_variance(measured.ravel(), expected, variance)
        if not table.parity:
            kept = _sparse(measured, expected.reshape(measured.shape), variance, prior_variance)
            if kept is not measured:
                measured, prior_variance = kept, rules.LARGEST_PRIOR_VARIANCE
        measured = measured.ravel().astype(np.float64)
        return cls(
            tuple(order[name] for name in table.columns),
            tuple(places),
            mask,
            measured,
            variance + rules.SAMPLING * np.maximum(measured, expected),
            expected,
            prior_variance,
            np.zeros(len(measured)),
            table.noisy.shape,
        )

    @classmethod
    def of_column(cls, column: int, mass: Floats, variance: Floats) -> Term:
        """A column by itself, fitted as closely as it is known. It starts at its masses, the model at independence."""
        size = len(mass)
        return cls(
            (column,),
            (np.arange(size, dtype=np.int32),),
            -1,
            mass.copy(),
            max(float(variance.mean()), rules.SMALLEST_VARIANCE),
            np.maximum(mass, rules.FEWEST_EXPECTED),
            rules.LARGEST_PRIOR_VARIANCE,
            np.log(np.maximum(mass, rules.RAREST_PROPOSAL * mass.sum() / size) / mass.sum()),
            (size,),
        )

    def sums(self, cells: Sequence[Cells]) -> Index:
        """For each row what its base cells add up to: its index before the mask."""
        found = self.places[0][cells[self.columns[0]]]
        for column, places in zip(self.columns[1:], self.places[1:], strict=True):
            found = found + places[cells[column]]
        return found

    def fitted(self, index: Index, weights: Floats | None) -> Floats:
        """The mass of each cell."""
        return np.bincount(index, weights, minlength=len(self.measured)).astype(np.float64)

    def change(self, fitted: Floats) -> Floats:
        """One Newton step of the parameters, given the masses that they lead to by now."""
        present = np.maximum(fitted, rules.FEWEST_EXPECTED)
        slope = (self.measured - fitted) * present / self.variance - self.parameters / self.prior_variance
        bend = present * np.maximum(present, 2 * present - self.measured)
        bend = np.maximum(bend, present * self.expected * rules.LEAST_BEND) / self.variance + 1 / self.prior_variance
        change: Floats = np.clip(slope / bend, -rules.LARGEST_STEP, rules.LARGEST_STEP)
        return change

    def step(self, fitted: Floats) -> Floats:
        """Change the parameters where there are rows to go by; the change."""
        wanted = self.parameters + np.where(fitted > 0, self.change(fitted), 0.0)
        moved: Floats = np.clip(wanted, -rules.LARGEST_PARAMETER, rules.LARGEST_PARAMETER)
        change: Floats = moved - self.parameters
        self.parameters = moved
        return change


def _expected(table: TableMeasurement, masses: Mapping[str, Floats], rows: int) -> Floats:
    """The table that independence would give."""
    product = np.full(1, float(rows))
    for name, group, size in zip(table.columns, table.groups, table.noisy.shape, strict=True):
        share = np.bincount(group, masses[name], minlength=size) / rows
        product = np.multiply.outer(product, share).ravel()
    return np.asarray(np.maximum(product, rules.FEWEST_EXPECTED), dtype=np.float64)


def _expected_parity(table: TableMeasurement, masses: Mapping[str, Floats], rows: int) -> Floats:
    balance = 1.0
    for name, group in zip(table.columns, table.groups, strict=True):
        balance *= 1 - 2 * float(masses[name][group == 1].sum()) / rows
    return np.maximum(np.array([1 + balance, 1 - balance]) * rows / 2, rules.FEWEST_EXPECTED)


def _consistent(table: TableMeasurement, masses: Mapping[str, Floats]) -> Floats:
    """The noisy table with the margins that all measurements together suggest, by least squares."""
    counts: Floats = table.noisy
    for axis, (name, group) in enumerate(zip(table.columns, table.groups, strict=True)):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        size = counts.shape[axis]
        lacking = np.bincount(group, masses[name], minlength=size) - counts.sum(axis=others)
        counts = counts + np.expand_dims(lacking * (size / counts.size), others)
    return counts


def _sparse(counts: Floats, expected: Floats, variance: float, prior_variance: float) -> Floats:
    """The table with cells of mere noise emptied, where its records are in few of its cells.

    That is where emptying all cells below a limit has less risk (Stein's unbiased estimate) than shrinking all towards
    independence. What is left keeps the table's margins.
    """
    shrinking = variance / (1 + variance / (expected**2 * prior_variance))
    best, limit = float(shrinking.sum()), 0.0
    for deviations in rules.EMPTY_BELOW:
        cut = deviations**2 * variance
        kept = counts > math.sqrt(cut)
        risk = float(np.where(kept, cut + variance, counts**2 - variance).sum())
        if risk < best:
            best, limit = risk, math.sqrt(cut)
    if not limit:
        return counts
    kept_counts = np.maximum(counts - limit, 0.0) + rules.FEWEST_EXPECTED * expected
    for _ in range(rules.MARGIN_SWEEPS):
        for axis in range(counts.ndim):
            others = tuple(other for other in range(counts.ndim) if other != axis)
            wanted, found = expected.sum(axis=others), kept_counts.sum(axis=others)
            kept_counts = kept_counts * np.expand_dims(wanted / found, others)
    return kept_counts


def _prior_variance(measured: Floats, expected: Floats, variance: float) -> float:
    """How far cells depart from independence, as a variance of relative departures, noise subtracted.

    The moment estimate of tau² in measured = expected (1 + tau z) + noise, weighted by how much each cell tells of it.
    """
    weight = expected**2 / (variance + rules.DEPARTURE**2 * expected**2) ** 2
    excess = (measured - expected) ** 2 - variance - expected  # records are a sample, too
    return max(float((weight * excess).sum() / (weight * expected**2).sum()), rules.LEAST_PRIOR_VARIANCE)
