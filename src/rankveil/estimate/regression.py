"""Weighted least squares and logistic regression, in plain NumPy."""

from __future__ import annotations

import numpy as np

from rankveil.estimate.values import Floats

_STEPS = 50
_SETTLED = 1e-7  # of a step: the next one would be its square
_RIDGE = 1e-9  # of the diagonal: so that a replicate without a label of some kind has an answer, too


def linear(x: Floats, y: Floats, weights: Floats, start: Floats | None = None) -> Floats:
    return _solved((x * weights[:, None]).T @ x, x.T @ (weights * y))


def logistic(x: Floats, y: Floats, weights: Floats, start: Floats | None = None) -> Floats:
    """By Newton's steps, that is iteratively reweighted least squares."""
    found = np.zeros(x.shape[1]) if start is None else start
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        bend = weights * np.maximum(chance * (1 - chance), 1e-9)
        step = _solved((x * bend[:, None]).T @ x, x.T @ (weights * (y - chance)))
        step *= min(1.0, 5.0 / max(float(np.abs(x @ step).max()), 1e-300))
        found = found + step
        if float(np.abs(step).max()) < _SETTLED:
            break
    return found


def _solved(matrix: Floats, right: Floats) -> Floats:
    size = np.diag(matrix)
    ridge = _RIDGE * np.maximum(size, _RIDGE * size.max())
    return np.asarray(np.linalg.solve(matrix + np.diag(ridge), right), dtype=np.float64)
