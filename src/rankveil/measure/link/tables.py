"""Noisy two-way tables, denoised and made consistent with the marginals.

Guarantee    Differentially private at the price it is given.
Argument     T tables over cells that follow from released numbers: one replacement takes a record from one cell and
             adds it to another in each of them, L1 2T and L2 sqrt(2T) for all together (T17). The rest is
             post-processing.
Arithmetic   Integer counts, exact integer noise; floating point after.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats, project
from rankveil.measure.budget import Noise
from rankveil.measure.link.pairs import Pair, PairCounts, grouped
from rankveil.measure.link.select import Selection
from rankveil.noise import RandomSource

_CELLS_PER_REACH = 0.12  # cells of a table, per record per deviation of noise
_FINER_IF_STRONG = 4.0  # strongly dependent pairs are worth more cells
_LEAST_MASS = 3.0  # of a row or column of a table, in deviations
_SOFT = (0.4, 0.7, 1.0, 1.4)
_EMPTY = (1.0, 1.5, 2.0, 2.5)


@dataclass
class NoisyTable:
    """One pair's released table over groups of base cells, and the current estimate of the truth behind it."""

    pair: Pair
    row_group: Groups
    column_group: Groups
    noisy: Floats
    deviation: float
    estimate: Floats

    def margins(self, marginals: Mapping[str, Marginal]) -> tuple[Floats, Floats]:
        first, second = (marginals[name] for name in self.pair)
        return (
            np.bincount(self.row_group, first.mass).astype(np.float64),
            np.bincount(self.column_group, second.mass).astype(np.float64),
        )


def release_tables(
    counts: PairCounts,
    marginals: Mapping[str, Marginal],
    selection: Selection,
    rows: int,
    noise: Noise,
    source: RandomSource,
) -> list[NoisyTable]:
    """The selected tables with noise; `noise` is priced for all of them together."""
    tables = []
    deviation = noise.deviation
    for pair in selection.pairs:
        first, second = (marginals[name] for name in pair)
        most = _CELLS_PER_REACH * rows / deviation * (1 + _FINER_IF_STRONG * selection.strength.get(pair, 0.0) ** 2)
        row_cells, column_cells = first.cell_count, second.cell_count
        while row_cells * column_cells > most and max(row_cells, column_cells) > 2:
            if row_cells >= column_cells:
                row_cells -= 1
            else:
                column_cells -= 1
        row_group = first.group(row_cells, _LEAST_MASS * deviation)
        column_group = second.group(column_cells, _LEAST_MASS * deviation)
        exact = grouped(counts[pair], row_group, column_group)
        noisy = noise.added_to(exact, source).astype(np.float64)
        tables.append(NoisyTable(pair, row_group, column_group, noisy, deviation, noisy))
    return tables


def refined_marginals(marginals: Mapping[str, Marginal], tables: list[NoisyTable], rows: int) -> dict[str, Marginal]:
    """Least squares between each marginal and the margins of the tables that contain its column."""
    found = dict(marginals)
    for name, marginal in marginals.items():
        precision = np.diag(1 / marginal.variance)
        weighted = marginal.mass / marginal.variance
        used = False
        for table in tables:
            if name not in table.pair:
                continue
            by_row = table.pair[0] == name
            group = table.row_group if by_row else table.column_group
            margin = table.noisy.sum(axis=1 if by_row else 0)
            summed = np.zeros((len(margin), marginal.cell_count))
            summed[group, np.arange(marginal.cell_count)] = 1.0
            variance = table.noisy.size / len(margin) * table.deviation**2
            precision = precision + summed.T @ summed / variance
            weighted = weighted + summed.T @ margin / variance
            used = True
        if used:
            mass = np.linalg.solve(precision, weighted)
            direction = np.linalg.solve(precision, np.ones(marginal.cell_count))
            mass = mass + direction * (rows - mass.sum()) / direction.sum()
            positive = marginal.mass > 0
            refined = np.zeros(marginal.cell_count)
            refined[positive] = project(mass[positive], float(rows))
            found[name] = marginal.with_mass(refined)
    return found


def fit_margins(table: Floats, row_mass: Floats, column_mass: Floats, sweeps: int = 20) -> Floats:
    """Iterative proportional fitting."""
    for _ in range(sweeps):
        sums = table.sum(axis=1)
        table = table * (row_mass / np.where(sums > 0, sums, 1.0))[:, None]
        sums = table.sum(axis=0)
        table = table * (column_mass / np.where(sums > 0, sums, 1.0))
    return table


def denoise(table: NoisyTable, prior: Floats, row_mass: Floats, column_mass: Floats) -> Floats:
    """An estimate between the noisy table and a prior with the same margins.

    Candidates shrink the difference from the prior, or the table itself towards emptiness, by several amounts; the one
    with the least unbiased estimate of risk (Stein) is taken, made positive and fitted to the margins.
    """
    noisy, deviation = table.noisy, table.deviation
    away = noisy - prior
    away = away - away.mean(axis=0) - away.mean(axis=1, keepdims=True) + away.mean()
    rows, columns = noisy.shape
    spread = deviation * math.sqrt((1 - 1 / rows) * (1 - 1 / columns))
    best_risk, best = math.inf, prior
    for amount in _SOFT:
        cut = amount * spread
        risk = float((np.minimum(away**2, cut**2) + spread**2 * (1 - 2 * (np.abs(away) < cut))).sum())
        if risk < best_risk:
            best_risk, best = risk, prior + np.sign(away) * np.maximum(np.abs(away) - cut, 0.0)
    for amount in _EMPTY:
        cut = amount * deviation
        kept = noisy > cut
        risk = float(np.where(kept, cut**2 + deviation**2, noisy**2 - deviation**2).sum())
        if risk < best_risk:
            best_risk, best = risk, np.where(kept, noisy - cut, 0.0)
    floor = 1e-4 * np.outer(row_mass, column_mass) / max(float(row_mass.sum()), 1e-9)
    return fit_margins(np.maximum(best, floor), row_mass, column_mass)
