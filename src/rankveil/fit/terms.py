"""One measured table as a term of the fitted model, over rows of base cells. Post-processing (T1).

The model is log-linear: a row's log-weight is the sum, over all measured tables, of a parameter for the cell of the
table that the row lies in. `Term.step` moves a table's parameters towards the maximum of

    - sum over cells (measured - fitted)² / 2 variance  -  the prior's distance of the parameters from zero

so each measurement counts by its variance. The prior (departures.py) is estimated from the table
itself: a table of mere noise gets parameters near zero, which is independence given what the other tables say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.fit.cells import Groups
from rankveil.fit.departures import Axis, Departures
from rankveil.fit.limits import Limit, Limits, expected_table
from rankveil.fit.marginal import Marginal
from rankveil.measure.measurements import Floats, TableMeasurement

Cells = NDArray[np.uint16]  # the base cells of one column, row by row
Index = NDArray[np.int32]
NO_LIMITS = Limits()


@dataclass
class Term:
    """Parameters of one table while they are fitted."""

    columns: tuple[int, ...]
    places: tuple[Index, ...]  # per column: what a base cell adds to the index of a row
    mask: int  # the index is taken modulo mask + 1: 1 for a parity, all bits for a table
    measured: Floats  # flat
    variance: float  # of a measured count
    expected: Floats  # under independence, flat
    departures: Departures | None  # None: the measured masses are to be met
    parameters: Floats
    shape: tuple[int, ...]  # cells per column; (2,) for a parity
    fixed: bool = False  # a rule of the plan: its parameters stay as they are
    axes: tuple[Axis, ...] = ()  # of a table: which of its cells are neighbours

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
    def of(
        cls,
        table: TableMeasurement,
        order: Mapping[str, int],
        marginals: Mapping[str, Marginal],
        rows: int,
        limits: Limits = NO_LIMITS,
    ) -> Term:
        """A table as a term."""
        masses = {name: marginals[name].mass for name in table.columns}
        axes: tuple[Axis, ...] = ()
        if table.parity:
            places = tuple(group.astype(np.int32) for group in table.groups)
            mask, expected = 1, _expected_parity(table, masses, rows)
            # The sum of signs has the deviation that is stated; each of the two counts moves by half of it.
            measured, variance, departures = table.noisy, table.deviation**2 / 2, None
        else:
            places, mask = _places(table.groups, table.noisy.shape), -1
            expected = expected_table(table.columns, table.groups, marginals, rows, limits)
            measured = _consistent(table, masses, expected > 0)
            expected = np.maximum(expected, rules.FEWEST_EXPECTED)
            variance = table.deviation**2
            axes = tuple(
                Axis.of(marginals[name], group) for name, group in zip(table.columns, table.groups, strict=True)
            )
            departures = Departures.of(measured, expected, variance, axes)
            kept = _sparse(measured, expected, variance, departures)
            if kept is not measured:
                measured, departures = kept, None
        return cls(
            tuple(order[name] for name in table.columns),
            places,
            mask,
            measured.ravel().astype(np.float64),
            variance,
            expected.ravel(),
            departures,
            np.zeros(measured.size),
            table.noisy.shape,
            axes=axes,
        )

    @classmethod
    def of_column(cls, column: int, mass: Floats, variance: Floats) -> Term:
        """A column by itself, which is met as it is known. It starts at its masses, the model at independence."""
        size = len(mass)
        return cls(
            (column,),
            (np.arange(size, dtype=np.int32),),
            -1,
            mass.copy(),
            max(float(variance.mean()), rules.SMALLEST_VARIANCE),
            np.maximum(mass, rules.FEWEST_EXPECTED),
            None,
            np.log(np.maximum(mass, rules.RAREST_PROPOSAL * mass.sum() / size) / mass.sum()),
            (size,),
        )

    @classmethod
    def of_limit(cls, limit: Limit, order: Mapping[str, int]) -> Term:
        """What a rule of the plan leaves, for good."""
        size = limit.possible.size
        groups = [np.arange(length) for length in limit.possible.shape]
        return cls(
            tuple(order[name] for name in limit.columns),
            _places(groups, limit.possible.shape),
            -1,
            np.zeros(size),
            math.inf,
            np.zeros(size),
            None,
            np.where(limit.possible, 0.0, -rules.NEVER).ravel(),
            limit.possible.shape,
            fixed=True,
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
        slope, bend = self._curve(fitted)
        if self.departures is None:
            return _short(slope / bend)
        shape = self.departures.variance.shape
        tied = self.departures.tied(self.parameters.reshape(shape))
        return _short(self.departures.solved(bend.reshape(shape), slope.reshape(shape) - tied).ravel())

    def learn_prior(self, fitted: Floats, unit: float = 0.0) -> bool:
        """A wider prior, where the prior alone keeps the fit from the table, and a wider one makes it plainly likelier.

        Two columns may depend on each other through a third one, and a table that says they do not is near to
        independence, from which its prior takes its strength. So it is asked again around what all other terms lead to,
        if the prior pulls the fit further from the table than noise and the chance of records put it. `unit`: the
        weight of a row, where `fitted` is counted in rows, which lie in their cells by chance.
        """
        if self.departures is None or self.mask >= 0:
            return False
        shape = self.departures.variance.shape
        held = self.departures.tied(self.parameters.reshape(shape)).ravel() * self.variance
        missed = np.minimum(np.abs(self.measured - fitted) * fitted, np.abs(held)) / np.maximum(fitted, 1e-9)
        if (missed**2).mean() <= max(rules.PLAINLY_MISSED**2 * self.variance, fitted.mean()):
            return False
        own = np.clip(self.parameters, -rules.LARGEST_PARAMETER, rules.LARGEST_PARAMETER)
        others = np.maximum(fitted * np.exp(-own), rules.FEWEST_EXPECTED).reshape(shape)
        expected, measured = self.expected.reshape(shape), self.measured.reshape(shape)
        others = _raked(others, expected)
        law = self.departures.law
        wider = [(strength, decay) for decay in rules.DECAYS for strength in rules.STRENGTHS if strength > law[0]]
        if not wider:
            return False
        known = Departures.of(measured, others, self.variance, self.axes, unit, [law])
        found = Departures.of(measured, others, self.variance, self.axes, unit, wider)
        if found.evidence < known.evidence + rules.PLAINLY_LIKELIER or found.variance.sum() <= known.variance.sum():
            return False
        # Of that strength, in proportion to what the table is near to: independence.
        self.departures = Departures.of(measured, expected, self.variance, self.axes, laws=[found.law])
        return True

    def tension(self) -> Callable[[Floats], Floats]:
        """Given masses, in which direction each cell by itself pulls; the parameters stay as they are now."""
        if self.fixed:
            return np.zeros_like
        if self.departures is None:
            return self.change
        tied = self.departures.tied(self.parameters.reshape(self.departures.variance.shape)).ravel()
        alone = self.departures.precision_of_cells.ravel()

        def pull(fitted: Floats) -> Floats:
            slope, bend = self._curve(fitted)
            return _short((slope - tied) / (bend + alone))

        return pull

    def _curve(self, fitted: Floats) -> tuple[Floats, Floats]:
        """Slope and bend of how well the masses fit, by each parameter."""
        present = np.maximum(fitted, rules.FEWEST_EXPECTED)
        bend = present * np.maximum(present, 2 * present - self.measured)
        bend = np.maximum(bend, present * self.expected * rules.LEAST_BEND)
        return (self.measured - fitted) * present / self.variance, bend / self.variance

    def step(self, fitted: Floats) -> Floats:
        """Change the parameters where there are rows to go by; the change."""
        wanted = self.parameters + np.where(fitted > 0, self.change(fitted), 0.0)
        moved: Floats = np.clip(wanted, -rules.LARGEST_PARAMETER, rules.LARGEST_PARAMETER)
        change: Floats = moved - self.parameters
        self.parameters = moved
        return change


def _places(groups: Sequence[Groups], shape: Sequence[int]) -> tuple[Index, ...]:
    """Per column: what a base cell adds to the index of a cell of the table."""
    return tuple((group * math.prod(shape[place + 1 :])).astype(np.int32) for place, group in enumerate(groups))


def _short(change: Floats) -> Floats:
    return np.asarray(np.clip(change, -rules.LARGEST_STEP, rules.LARGEST_STEP), dtype=np.float64)


def _expected_parity(table: TableMeasurement, masses: Mapping[str, Floats], rows: int) -> Floats:
    balance = 1.0
    for name, group in zip(table.columns, table.groups, strict=True):
        balance *= 1 - 2 * float(masses[name][group == 1].sum()) / rows
    return np.maximum(np.array([1 + balance, 1 - balance]) * rows / 2, rules.FEWEST_EXPECTED)


def _consistent(table: TableMeasurement, masses: Mapping[str, Floats], possible: NDArray[np.bool_]) -> Floats:
    """The noisy table with the margins that all measurements together suggest, by least squares."""
    counts: Floats = table.noisy * possible
    for axis, (name, group) in enumerate(zip(table.columns, table.groups, strict=True)):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        lacking = np.bincount(group, masses[name], minlength=counts.shape[axis]) - counts.sum(axis=others)
        lacking /= np.maximum(possible.sum(axis=others), 1)
        counts = counts + np.expand_dims(lacking, others) * possible
    return counts


def _sparse(counts: Floats, expected: Floats, variance: float, departures: Departures) -> Floats:
    """The table with cells of mere noise emptied, where its records are in few of its cells.

    That is where emptying all cells below a limit has less risk (Stein's unbiased estimate) than shrinking all towards
    independence. What is left keeps the table's margins.
    """
    best, limit = float((variance / (1 + variance / np.maximum(departures.variance, 1e-9))).sum()), 0.0
    for deviations in rules.EMPTY_BELOW:
        cut = deviations**2 * variance
        kept = counts > math.sqrt(cut)
        risk = float(np.where(kept, cut + variance, counts**2 - variance).sum())
        if risk < best:
            best, limit = risk, math.sqrt(cut)
    if not limit:
        return counts
    return _raked(np.maximum(counts - limit, 0.0) + rules.FEWEST_EXPECTED * expected, expected)


def _raked(counts: Floats, expected: Floats) -> Floats:
    """The table with the margins of another one."""
    for _ in range(rules.MARGIN_SWEEPS):
        for axis in range(counts.ndim):
            others = tuple(other for other in range(counts.ndim) if other != axis)
            wanted, found = expected.sum(axis=others), counts.sum(axis=others)
            counts = counts * np.expand_dims(wanted / found, others)
    return counts
