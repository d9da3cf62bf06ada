"""Counts that are small beside their noise: what to believe of single values and labels. Post-processing.

Cutting noisy counts off at zero takes half of what is thin away and heaps it up on the other half. Here each count is
replaced by its mean given what was drawn, the frequencies of small counts being learnt from all counts of the column
(empirical Bayes; the maximum-likelihood mixture of Kiefer and Wolfowitz, on a public list of counts).

Labels       All are alike before their counts are seen.
Numbers      Values near each other are alike: frequencies are learnt nearby. And as far as the whole column follows a
             smooth curve, counts are drawn towards the curve (James-Stein, one factor for the column).
Totals       Are kept, family by family: what is over or missing goes to the counts that are least sure.
Reads        Released counts and the plan, nothing else: T1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.measure.budget import Noise
from rankveil.measure.marginals.projection import Floats, project, project_rows

MANY = 20  # counts: from fewer there is little to learn, and cutting at zero does as well
_THIN = 8.0  # deviations: counts above speak for themselves
_MOST, _STEP = 12.0, 0.5  # deviations: the list of counts that thin ones may be
_ROUNDS = 30
_NEARBY = 6.0  # values: within which frequencies are alike
_SMOOTH = 3.0  # values: within which a smooth column hardly bends
_SURE = 1e-3  # of the noise's variance: no count is surer


def believed_labels(noisy: Floats, noise: Noise, total: float) -> Floats:
    """Non-negative counts of labels with this total."""
    every = np.zeros(len(noisy), np.int64)
    means, variances = _given_draws(_moved(noisy, np.array([total]), every), noise, nearby=None)
    return project(means, total, variances)


def believed_values(
    noisy: Floats, noise: Noise, codes: NDArray[np.int64], totals: Floats, family: NDArray[np.int64]
) -> Floats:
    """Non-negative counts of single values; those of a family add up to its total."""
    moved = _moved(noisy, totals, family)
    apart = codes[:, None] - codes[None, :]
    smoothed = _moved(_drawn_to_curve(moved, noise, _bells(apart, _SMOOTH)), totals, family)
    means, variances = _given_draws(smoothed, noise, _bells(apart, _NEARBY))
    shape = (len(totals), len(noisy))
    there = np.zeros(shape, np.bool_)
    there[family, np.arange(len(noisy))] = True
    rows = project_rows(np.broadcast_to(means, shape), totals, there, np.broadcast_to(variances, shape))
    believed: Floats = rows.sum(axis=0)
    return believed


def _moved(counts: Floats, totals: Floats, family: NDArray[np.int64]) -> Floats:
    """All counts of a family by the same amount, so that they add up to its total."""
    over = totals - np.bincount(family, counts, minlength=len(totals))
    moved: Floats = counts + (over / np.maximum(np.bincount(family, minlength=len(totals)), 1))[family]
    return moved


def _bells(apart: NDArray[np.int64], width: float) -> Floats:
    """Weights of values by their distance; each row adds up to 1."""
    weights = np.exp(-((apart / width) ** 2) / 2)
    bells: Floats = weights / weights.sum(axis=1, keepdims=True)
    return bells


def _drawn_to_curve(counts: Floats, noise: Noise, weights: Floats) -> Floats:
    """Towards the average of their neighbours: wholly if they differ from it by no more than noise does."""
    curve = weights @ counts
    away = counts - curve
    by_noise = ((np.eye(len(counts)) - weights) ** 2).sum(axis=1) * noise.deviation**2
    excess = (away**2 / np.maximum(by_noise, 1e-9)).mean()
    drawn: Floats = curve + max(0.0, 1 - 1 / max(excess, 1e-9)) * away
    return drawn


def _given_draws(counts: Floats, noise: Noise, nearby: Floats | None) -> tuple[Floats, Floats]:
    """Mean and variance of each count, given what was drawn."""
    possible = np.arange(0.0, _MOST + _STEP, _STEP)
    off = np.minimum(counts / noise.deviation, _MOST)[:, None] - possible
    fit = noise.log_density(off)
    likelihood = np.exp(fit - fit.max(axis=1, keepdims=True))
    frequency = np.full((1, len(possible)), 1 / len(possible))
    for _ in range(_ROUNDS):
        share = likelihood * frequency
        share /= share.sum(axis=1, keepdims=True)
        frequency = share.mean(axis=0, keepdims=True) if nearby is None else nearby @ share
    share = likelihood * frequency
    share /= share.sum(axis=1, keepdims=True)
    mean = share @ possible
    variance = np.maximum(share @ possible**2 - mean**2, _SURE)
    thin = counts < _THIN * noise.deviation
    return (
        np.where(thin, mean * noise.deviation, counts),
        np.where(thin, variance, 1.0) * noise.deviation**2,
    )
