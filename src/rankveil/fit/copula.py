"""Columns linked by one noisy number per pair: a Gaussian copula from sign products. Post-processing (T1).

The sign products of two columns that are halves of a bivariate normal give its correlation (Blomqvist's beta). Where
all pairs were measured, directions of the correlation matrix no stronger than noise are left out. Where the pairs of a
tree were, noise is taken off each correlation, and other pairs depend on each other along the tree alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rankveil.fit.marginal import Marginal
from rankveil.measure.measurements import Floats, SignProducts
from rankveil.noise import Sampler

_MOST_SHARED = 0.98  # of a column's variance: no column is wholly what it shares with others
_MOST_ROUNDS, _SETTLED = 100, 1e-4


def correlations_of(measured: SignProducts, marginals: Mapping[str, Marginal], rows: int) -> Floats:
    """The correlation matrix of a Gaussian copula that gives the noisy sign products."""
    size = len(marginals)
    place = {name: number for number, name in enumerate(marginals)}
    means, seen = np.empty(size), np.empty(size)
    for name, marginal in marginals.items():
        signs, mass = marginal.signs(), marginal.mass
        means[place[name]] = (signs * mass).sum() / mass.sum()
        seen[place[name]] = (np.abs(signs) * mass).sum() / mass.sum()
    spread = np.sqrt(np.maximum(seen - means**2, 0.05))
    correlations = np.zeros((size, size))
    tree = len(measured.products) < size
    for (a, b), product in measured.products.items():
        first, second = place[a], place[b]
        scale = spread[first] * spread[second]
        beta = (product / rows - means[first] * means[second]) / scale
        if tree:  # the positive part of what James and Stein leave
            beta *= max(1 - (measured.deviation / rows / (scale * beta)) ** 2, 0.0) if beta else 0.0
        correlations[first, second] = correlations[second, first] = math.sin(
            math.pi / 2 * float(np.clip(beta, -_MOST_SHARED, _MOST_SHARED))
        )
    return _along_paths(correlations) if tree else _without_noise(correlations, measured.deviation / rows)


def _along_paths(correlations: Floats) -> Floats:
    """Of all pairs, from those of a tree: the product of the correlations on the way from one column to the other."""
    whole, joined = np.eye(len(correlations)), np.zeros(len(correlations), dtype=bool)
    for root in range(len(correlations)):
        waiting = [] if joined[root] else [root]
        joined[root] = True
        while waiting:
            near = waiting.pop()
            for far in np.flatnonzero((correlations[near] != 0) & ~joined):
                whole[far, joined] = whole[joined, far] = whole[near, joined] * correlations[near, far]
                joined[far] = True
                waiting.append(int(far))
    return whole


def _without_noise(correlations: Floats, deviation: float) -> Floats:
    """Positive semidefinite with ones on the diagonal; directions no stronger than noise are left out.

    The diagonal was not measured. It begins with zeros, with which all correlations come out too weak, and becomes in
    each further round what the directions that are kept say of it (principal axes of a factor model).
    """
    size = len(correlations)
    limit = math.pi * deviation * math.sqrt(size)
    kept = int((np.linalg.eigvalsh(correlations) > limit).sum())
    if not kept:
        return np.eye(size)
    shared = np.zeros(size)
    for _ in range(_MOST_ROUNDS):
        strengths, directions = np.linalg.eigh(correlations + np.diag(shared))
        axes = directions[:, -kept:] * np.sqrt(strengths[-kept:])
        before, shared = shared, np.minimum((axes**2).sum(axis=1), _MOST_SHARED)
        if np.abs(shared - before).max() < _SETTLED:
            break
    cleaned: Floats = axes @ axes.T
    scale = np.sqrt(np.maximum(np.diag(cleaned), 1.0))
    cleaned = cleaned / np.outer(scale, scale)
    np.fill_diagonal(cleaned, 1.0)
    return cleaned


def latent_rows(correlations: Floats, count: int, sampler: Sampler) -> Floats:
    """Normal vectors with these correlations, one per row."""
    strengths, directions = np.linalg.eigh(correlations)
    factor = directions * np.sqrt(np.maximum(strengths, 0.0))
    rows: Floats = sampler.normal(count, len(correlations)) @ factor.T
    return rows
