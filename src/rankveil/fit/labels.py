"""Labels, and ordered columns of few values: masses by themselves, thin ones drawn towards a common level.

Model        Label j has the mass exp(b_j), b_j normal around a level that the column's labels share, with deviation τ.
             One noisy count for each. τ by evidence, under frequencies that all such columns learn together.
Sum          n: what is over or short goes to labels in proportion to how unsure they are; none becomes negative.
Reads        Released counts and the plan: T1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankveil import rules
from rankveil.fit.density import pooled
from rankveil.fit.simplex import Floats, project

_ROUGHNESS = np.array(rules.ROUGHNESS_OF_LABELS)[:, None]
_STEPS = 25


@dataclass(frozen=True)
class Labels:
    """Noisy counts, missing last where it may occur, and the deviation of their noise."""

    noisy: Floats
    deviation: float
    laplace: bool
    total: float


def fit_labels(columns: Sequence[Labels]) -> list[Floats]:
    """Masses of all labels of every column."""
    fitted = [_fitted(column) for column in columns]
    found = []
    weights = pooled(["labels"] * len(columns), [evidence for _, _, evidence in fitted])
    for column, (mass, variance, _), weight in zip(columns, fitted, weights, strict=True):
        found.append(project(weight @ mass, column.total, weight @ variance))
    return found


def _fitted(column: Labels) -> tuple[Floats, Floats, Floats]:
    """For every τ: masses, their variances, and the logarithm of the evidence."""
    unit = column.deviation
    logs = np.log(np.maximum(column.noisy, unit / 2)) + np.zeros_like(_ROUGHNESS)
    prior = 1 / _ROUGHNESS**2
    for _ in range(_STEPS):
        level = logs.mean(axis=1, keepdims=True)
        mass = np.exp(logs)
        off = (column.noisy - mass) / unit
        weight = math.sqrt(2) / np.sqrt(off**2 + 0.5) if column.laplace else 1.0
        precision = weight * (mass / unit) ** 2 + prior
        move = np.clip(
            (weight * off * mass / unit - prior * (logs - level)) / precision, -rules.LARGEST_STEP, rules.LARGEST_STEP
        )
        logs += move
        if np.abs(move).max() < 1e-3:
            break
    mass, off = np.exp(logs), (column.noisy - np.exp(logs)) / unit
    fit = -math.sqrt(2) * np.abs(off) if column.laplace else -(off**2) / 2
    away = prior * (logs - logs.mean(axis=1, keepdims=True)) ** 2
    evidence = (fit - (away + np.log(precision / prior)) / 2).sum(axis=1)
    return mass, np.maximum(mass**2 / precision, 1e-9 * unit**2), evidence
