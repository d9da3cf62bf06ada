"""Each column by itself once more, after tables that contain it have been measured. Post-processing (T1).

Least squares between the column's own measurement and the margins of its tables, by their deviations.
"""

from __future__ import annotations

import copy

import numpy as np

from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import project
from rankveil.measure.measurements import Measurements


def refined(measured: Measurements) -> dict[str, Marginal]:
    """The marginals with masses of base cells that all measurements together suggest."""
    return {
        name: marginal if name in measured.public else _refined(name, marginal, measured)
        for name, marginal in measured.columns.items()
    }


def _refined(name: str, marginal: Marginal, measured: Measurements) -> Marginal:
    # A thin cell has been estimated from its neighbours, too: it is surer than its own noise says.
    deviation = np.sqrt(marginal.variance)
    variance_of_mass = marginal.variance * (marginal.mass + 1) / (marginal.mass + 1 + deviation)
    precision = np.diag(1 / variance_of_mass)
    weighted = marginal.mass / variance_of_mass
    for table in measured.tables:
        if name not in table.columns or table.parity:
            continue
        axis = table.columns.index(name)
        margin = table.noisy.sum(axis=tuple(other for other in range(table.noisy.ndim) if other != axis))
        summed = np.zeros((len(margin), marginal.cell_count))
        summed[table.groups[axis], np.arange(marginal.cell_count)] = 1.0
        variance = table.noisy.size / len(margin) * table.deviation**2
        precision = precision + summed.T @ summed / variance
        weighted = weighted + summed.T @ margin / variance
    covariance = np.linalg.inv(precision)
    mass = covariance @ weighted
    direction = covariance.sum(axis=1)
    mass = mass + direction * (measured.rows - mass.sum()) / direction.sum()
    better = copy.copy(marginal)
    positive = marginal.mass > 0
    better.mass = np.zeros(marginal.cell_count)
    better.mass[positive] = project(mass[positive], float(measured.rows))
    better.variance = np.diag(covariance).copy()
    return better
