"""Correlations of all pairs from noisy sign products: linkage for few records, and a guide for many.

Guarantee    Differentially private at the price it is given.
Argument     T19: every value counts as +1 or -1 by a released split of its column, 0 if missing.
             G_ab = sum over records of s_a·s_b. Replacing one record changes the vector of all G_ab by at most
             2·floor(m²/4) in L1 and m (m even) or sqrt(m² - 1) (m odd) in L2. The rest is post-processing.
Arithmetic   Integer sums from the two-way counts; exact noise; floating point after.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats
from rankveil.measure.budget import Noise, Price
from rankveil.measure.link.pairs import PairCounts
from rankveil.noise import RandomSource, Sampler

_MOST_SHARED = 0.98  # of a column's variance: no column is wholly what it shares with others
_MOST_ROUNDS, _SETTLED = 100, 1e-4


def sign_noise(price: Price, columns: int) -> Noise:
    """The noise that sign products of so many columns need at this price."""
    return price.laplace_or_gaussian(l1=2 * (columns**2 // 4), l2_squared=columns**2 - columns % 2)


def latent_correlations(
    counts: PairCounts,
    marginals: Mapping[str, Marginal],
    rows: int,
    price: Price,
    source: RandomSource,
    *,
    alone: bool,
) -> Floats:
    """The correlation matrix of a Gaussian copula that gives the noisy sign products.

    `alone`: nothing else links the columns. Beside tables it only guides, and there too weak is better than too strong.
    """
    names = list(marginals)
    size = len(names)
    place = {name: number for number, name in enumerate(names)}
    signs = {name: marginals[name].signs() for name in names}
    noise = sign_noise(price, size)
    exact = np.array([int(signs[a] @ table @ signs[b]) for (a, b), table in counts.items()], dtype=np.int64)
    # PRIVACY: all pairs in one vector; the sensitivity above is that of the whole vector.
    products = noise.added_to(exact, source) / rows

    means, seen = np.empty(size), np.empty(size)
    for name in names:
        mass = marginals[name].mass
        means[place[name]] = (signs[name] * mass).sum() / mass.sum()
        seen[place[name]] = (np.abs(signs[name]) * mass).sum() / mass.sum()
    spread = np.sqrt(np.maximum(seen - means**2, 0.05))
    correlations = np.zeros((size, size))
    for (a, b), product in zip(counts, products, strict=True):
        first, second = place[a], place[b]
        beta = (product - means[first] * means[second]) / (spread[first] * spread[second])
        correlations[first, second] = correlations[second, first] = math.sin(
            math.pi / 2 * float(np.clip(beta, -0.98, 0.98))
        )
    return _without_noise(correlations, noise.deviation / rows, _MOST_ROUNDS if alone else 1)


def _without_noise(correlations: Floats, deviation: float, rounds: int) -> Floats:
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
    for _ in range(rounds):
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
