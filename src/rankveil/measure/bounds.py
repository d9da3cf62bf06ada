"""Bounds of a numeric column that nobody knows publicly, found with a part of the budget.

Guarantee    Differentially private at the price it is given.
Argument     Values are counted over public cells that double in width on both sides of zero. One replacement moves one
             count: L1 2, L2 sqrt 2 (for other units T50). Bounds are read off the noisy counts alone; then inputs are
             clamped to the released bounds, which are public from here on: T15. Bounds read off the data would not do:
             T37.
Reading      A cell counts as occupied if its noisy count exceeds a threshold. A bound a few doublings too wide costs
             next to nothing and one fifteen too wide costs the column, so the threshold grows with the number of
             doublings beyond the widest cell that is occupied: noise alone passes the j-th with a probability of at
             most 1 in 10 j^3, and any cell that is not beyond with 1 in 10 in all (docs/decisions/0018).
Not covered  Values beyond the bounds are moved to them: a group of records below its threshold is clamped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare import Column
from rankveil.declare.dataset import Codings, Dataset
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.measure.budget import Budget, Mechanism, Noise, Price
from rankveil.measure.counts import Counts, count_columns
from rankveil.noise import RandomSource


@dataclass(frozen=True)
class Doubling:
    """Cells that double in width on both sides of zero, which is the middle of the outer range: [2^(i-1), 2^i)."""

    half_width: int  # of the outer range on one side, in steps

    @classmethod
    def of(cls, column: Column) -> Doubling:
        if not isinstance(column.domain, Grid):
            raise TypeError("only numbers have bounds")
        return cls(column.domain.width // 2)

    @property
    def doublings(self) -> int:
        """The number of cells on one side of zero."""
        return self.half_width.bit_length()

    @property
    def size(self) -> int:
        return 2 * self.doublings + 1

    def counts(self, codes: Codes) -> NDArray[np.int64]:
        """Records in each cell: by the bit length of the distance from zero, the negative side after the positive."""
        steps = codes[codes != MISSING] - self.half_width
        _, lengths = np.frexp(np.abs(steps).astype(np.float64))  # exact: distances are below 2^53
        cells = np.where(steps < 0, self.doublings + lengths, lengths).astype(np.int64)
        return np.bincount(cells, minlength=self.size)


@dataclass(frozen=True)
class Bounded:
    """A dataset whose columns all have bounds, counts of all of them, and the budget that is left."""

    dataset: Dataset
    counts: dict[str, Counts]
    budget: Budget
    notes: list[Mechanism]


def with_bounds(dataset: Dataset, counts: Mapping[str, Counts], budget: Budget, source: RandomSource) -> Bounded:
    """Find bounds for the columns that ask for them, and count those columns; nothing happens if none does."""
    if not any(column.private_bounds for column in dataset.schema.protected):
        return Bounded(dataset, dict(counts), budget, [])
    price, left, note = _paid(dataset.schema.protected, budget)
    bounded = release_bounds(dataset, price, source)
    columns = [column for column in bounded.schema.protected if column.private_bounds]
    return Bounded(bounded, {**counts, **count_columns(bounded, columns)[0]}, left, [note])


def planned_bounds(columns: Sequence[Column], budget: Budget) -> tuple[Budget, list[Mechanism]]:
    """What bounds will cost, and the budget that is left after them."""
    if not any(column.private_bounds for column in columns):
        return budget, []
    _, left, note = _paid(columns, budget)
    return left, [note]


def _paid(columns: Sequence[Column], budget: Budget) -> tuple[Price, Budget, Mechanism]:
    """The price of all bounds, taken from the budget; what is left; and the line for the certificate."""
    names = [column.name for column in columns if column.private_bounds]
    price = budget.spend(rules.FOR_BOUNDS, "bounds")
    sensitivity = str(price.protects.of_counts)
    note = price.note(", ".join(names), "noisy histogram for bounds", sensitivity, ("T15", price.noise_theorem))
    return price, budget.carve(budget.left, "after bounds"), note


@dataclass(frozen=True)
class _BoundCounting:
    """The fold that counts records in cells that double in width."""

    cells: Mapping[str, Doubling]

    @property
    def columns(self) -> Sequence[str]:
        return tuple(self.cells)

    def zero(self) -> dict[str, NDArray[np.int64]]:
        return {name: np.zeros(cells.size, np.int64) for name, cells in self.cells.items()}

    def step(self, state: dict[str, NDArray[np.int64]], batch: Codings) -> dict[str, NDArray[np.int64]]:
        return {name: counts + self.cells[name].counts(batch[name]) for name, counts in state.items()}

    def merge(
        self, first: dict[str, NDArray[np.int64]], second: dict[str, NDArray[np.int64]]
    ) -> dict[str, NDArray[np.int64]]:
        return {name: first[name] + second[name] for name in first}


def release_bounds(dataset: Dataset, price: Price, source: RandomSource) -> Dataset:
    """The dataset with released bounds for the columns that asked for them."""
    wanted = [column for column in dataset.schema.protected if column.private_bounds]
    counts, _ = dataset.fold(_BoundCounting({column.name: Doubling.of(column) for column in wanted}))
    noise = (price / len(wanted)).on_counts()
    bounded = {}
    for column in wanted:
        # PRIVACY: one histogram per column, at an even part of the price.
        noisy = noise.added_to(counts[column.name], source)
        bounded[column.name] = _bounded(column, *_ends(noisy, noise))
    columns = tuple(bounded.get(column.name, column) for column in dataset.schema.columns)
    return dataset.with_schema(dataset.schema.with_columns(columns))


def _ends(noisy: NDArray[np.int64], noise: Noise) -> tuple[int, int]:
    """Lowest and highest bound, in steps, that noisy counts of all cells speak for; zero is between or at them."""
    doublings_in_all = len(noisy) // 2
    within = _height(noise, rules.BOUNDS_TOO_WIDE / len(noisy))
    fullest = int(noisy.argmax())
    if noisy[fullest] <= within:
        return 0, 1  # nothing but noise is seen
    widest = fullest if fullest <= doublings_in_all else fullest - doublings_in_all
    below = above = 0
    for doublings in range(1, doublings_in_all + 1):
        # Amounts beside many zeros may be of any size: only from the first of them on is far away unlikely.
        beyond = doublings - widest if widest else 0
        height = _height(noise, rules.BOUNDS_TOO_WIDE / beyond**3) if beyond > 0 else within
        above = doublings if noisy[doublings] > height else above
        below = doublings if noisy[doublings_in_all + doublings] > height else below
        widest = max(widest, above, below)
    return -(2**below) if below else 0, 2**above if above else int(not below)


def _height(noise: Noise, chance: float) -> float:
    """What noise exceeds with at most this probability."""
    nats = math.log(1 / chance)
    scaled = nats / math.sqrt(2) if noise.name == "discrete Laplace" else math.sqrt(2 * nats)
    return noise.deviation * scaled


def _bounded(column: Column, lowest: int, highest: int) -> Column:
    grid = column.domain
    if not isinstance(grid, Grid):
        raise TypeError("only numbers have bounds")
    domain = replace(grid, width=highest - lowest, lower=Decimal(lowest) * grid.step, beyond=Decimal(0))
    return replace(column, domain=domain)
