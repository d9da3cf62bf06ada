"""The one estimator of a column: noisy counts of nested cells, fitted by a density that is as smooth as they say.

Model        Cell j of the finest ones has the mass m_j = c_j exp(b_j), c_j being what the prior's curve expects
             (prior.py). Each noisy count is the sum of the masses in its cell plus noise of known law; so is n, with
             nearly none. That is a composite link model (Eilers 2007).
Prior        b = smooth + rough. The smooth part has small third derivatives along the axis, with weight λ; the rough
             part is independent from cell to cell, with deviation τ. Free cells (spikes, zero, the upper end, missing)
             are tied to no others: they keep what was measured, but for what the sum demands.
λ, τ         by evidence (Laplace's approximation), under a prior that all columns of a kind learn together.
Tails        Away from the bulk the density falls; a bump far out must make the counts as many times more likely as
             there are places for it.
Labels       (labels.py) have no axis: there the smooth part is one common level.
Reads        Released counts and the plan: T1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.fit.simplex import Floats

Bools = NDArray[np.bool_]

_SMOOTHNESS, _ROUGHNESS = (
    each.ravel() for each in np.meshgrid(rules.SMOOTHNESS, rules.ROUGHNESS, indexing="ij")
)  # λ for an axis from 0 to 1; τ in logarithms
_FIRST_GUESS = (1e-3, 0.3)
_LEVEL = 10.0  # prior deviation of anything at most, in logarithms: a factor of 20,000
_FREE = 0.1  # precision of a free cell's logarithm: nearly none
_LOWEST = -40.0
_ROUNDS = 20


@dataclass(frozen=True)
class System:
    """What was observed of the finest cells of an ordered column."""

    kind: str  # columns of a kind learn together
    expected: Floats  # mass of each finest cell by the prior's curve
    width: Floats  # of each on the axis
    place: Floats  # middle of each
    free: Bools
    member: Floats  # observations x finest cells: 0 or 1; the sum of all is the last
    noisy: Floats
    deviation: Floats
    laplace: Bools  # observations with Laplace noise
    total: float


def fit_densities(systems: Sequence[System]) -> list[Floats]:
    """Masses of the finest cells of every column."""
    fits = [_Fit(system) for system in systems]
    chosen = [_FIRST_GUESS] * len(fits)
    for _ in range(2):
        evidence = []
        for fit, (smooth, rough) in zip(fits, chosen, strict=True):
            fit.improve(smooth, rough, 12)
            evidence.append(fit.evidence())
        weights = pooled([system.kind for system in systems], evidence)
        chosen = [(math.exp(weight @ np.log(_SMOOTHNESS)), math.exp(weight @ np.log(_ROUGHNESS))) for weight in weights]
    found = []
    for fit, (smooth, rough) in zip(fits, chosen, strict=True):
        fit.improve(smooth, rough, 30)
        if fit.system.laplace.any():
            fit.improve(smooth, rough, 10, own_law=True)
        mass = _without_islands(fit.system, np.exp(fit.log_mass))
        found.append(mass * (fit.system.total / mass.sum()))
    return found


def pooled(kinds: Sequence[str], evidence: Sequence[Floats]) -> list[Floats]:
    """Posterior weights of every column's candidates, under frequencies that the columns of its kind share."""
    found: dict[int, Floats] = {}
    for kind in set(kinds):
        members = [place for place, each in enumerate(kinds) if each == kind]
        likelihood = np.array([np.exp(evidence[place] - evidence[place].max()) for place in members])
        frequency = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
        posterior = likelihood
        for _ in range(_ROUNDS):
            posterior = likelihood * frequency
            posterior /= posterior.sum(axis=1, keepdims=True)
            frequency = posterior.sum(axis=0) + 1 / len(frequency)  # one imagined column
            frequency /= frequency.sum()
        found |= dict(zip(members, posterior, strict=True))
    return [found[place] for place in range(len(kinds))]


def third_derivatives(place: Floats) -> Floats:
    """Takes values at these places to third derivatives, weighted so that squares add up to an integral."""
    rows = np.eye(len(place))
    for order in (1, 2, 3):
        rows = np.diff(rows, axis=0) / (place[order:] - place[:-order])[:, None] * order
    weighted: Floats = rows * np.sqrt((place[3:] - place[:-3]) / 3)[:, None]
    return weighted


class _Fit:
    """One column while it is fitted, in the coordinates of its prior: tied cells' first, then free ones."""

    def __init__(self, system: System) -> None:
        self.system = system
        tied, loose = np.flatnonzero(~system.free), np.flatnonzero(system.free)
        self._tied, self._loose = len(tied), len(loose)
        self._frame = np.zeros((len(system.free), len(system.free)))
        self._frame[loose, len(tied) + np.arange(len(loose))] = 1.0
        if len(tied) > 4:
            third = third_derivatives(system.place[tied])
            self._values, vectors = np.linalg.eigh(third.T @ third)
            # Cells a hundred million times as narrow as others are beyond rounding, which leaves some below zero.
            self._values = np.abs(self._values)
            self._values[:3] = self._values[3] / rules.ALREADY_IN_CURVE
        else:  # too few for a smooth part
            self._values, vectors = np.full(len(tied), 1e-12), np.eye(len(tied))
        self._frame[np.ix_(tied, np.arange(len(tied)))] = vectors
        self._centre = np.log(system.expected)
        self.log_mass = self._centre.copy()
        counted = _counted_alone(system)
        self.log_mass[loose] = np.log(np.maximum(counted, system.expected)[loose])

    def precision(self, smooth: Floats | float, rough: Floats | float) -> Floats:
        """Of every coordinate, for one or more values of λ and τ."""
        smooth, rough = np.asarray(smooth)[..., None], np.asarray(rough)[..., None]
        variance = np.minimum(1 / (smooth * self._values) + rough**2, _LEVEL**2 * max(self._tied, 1))
        return np.concatenate([1 / variance, np.full((*variance.shape[:-1], self._loose), _FREE)], axis=-1)

    def _linear(self, own_law: bool = False) -> tuple[Floats, Floats]:
        """Information and score of the coordinates at the present masses, by the variance of the noise; or by its own
        law, for Laplace noise rounded at the tip: information 2 there, slope √2 beyond."""
        system = self.system
        mass = np.exp(self.log_mass)
        off = (system.noisy - system.member @ mass) / system.deviation
        weight = np.ones(len(off))
        if own_law:
            weight = np.where(system.laplace, math.sqrt(2) / np.sqrt(off**2 + 0.5), 1.0)
        turned = (system.member * (mass / system.deviation[:, None])) @ self._frame
        return turned.T @ (turned * weight[:, None]), turned.T @ (weight * off)

    def improve(self, smooth: float, rough: float, steps: int, *, own_law: bool = False) -> None:
        """Newton's method at fixed λ and τ."""
        precision = self.precision(smooth, rough)
        for _ in range(steps):
            information, score = self._linear(own_law)
            here = self._frame.T @ (self.log_mass - self._centre)
            step = np.linalg.solve(information + np.diag(precision), score - precision * here)
            move = np.clip(self._frame @ step, -rules.LARGEST_STEP, rules.LARGEST_STEP)
            self.log_mass = np.maximum(self.log_mass + move, _LOWEST)
            if np.abs(move).max() < 1e-3:
                break

    def evidence(self) -> Floats:
        """Logarithm of the evidence for every λ and τ, but for a constant."""
        information, score = self._linear()
        pull = score + information @ (self._frame.T @ (self.log_mass - self._centre))
        precision = self.precision(_SMOOTHNESS, _ROUGHNESS)
        whole = information + precision[:, :, None] * np.eye(len(pull))
        solved = np.linalg.solve(whole, np.broadcast_to(pull[:, None], (len(whole), len(pull), 1)))[..., 0]
        found: Floats = (solved @ pull - np.linalg.slogdet(whole)[1] + np.log(precision).sum(axis=1)) / 2
        return found


def _counted_alone(system: System) -> Floats:
    """The noisy count of each finest cell that was counted by itself; else nothing."""
    alone = system.member.sum(axis=1) == 1
    found = np.zeros(len(system.expected))
    found[system.member[alone].argmax(axis=1)] = system.noisy[alone]
    return found


def _without_islands(system: System, mass: Floats) -> Floats:
    """Bumps away from the bulk levelled, unless the counts are much more likely with them.

    Outwards from the heaviest cell the density falls; where it rises again it stays where it was, or where the prior's
    curve is. A bump may be anywhere, so it must make the counts as many times more likely as there are cells.
    """
    tied = np.flatnonzero(~system.free)
    if len(tied) < 3:
        return mass
    density, usual = mass / system.width, system.expected / system.width
    bulk = int(np.argmax(mass[tied]))
    for path in (tied[bulk::-1], tied[bulk:]):
        level, island = math.inf, []
        for cell in [*path.tolist(), None]:
            if cell is not None and density[cell] > max(level, usual[cell]):
                island.append(cell)
                continue
            if island:
                flat = mass.copy()
                flat[island] = np.maximum(level * system.width[island], system.expected[island])
                if _log_likelihood(system, mass) - _log_likelihood(system, flat) < math.log(len(tied)):
                    mass = flat
                island = []
            if cell is not None:
                level = min(level, density[cell])
    return mass


def _log_likelihood(system: System, mass: Floats) -> float:
    """Of the counts, the sum of all apart."""
    off = ((system.noisy - system.member @ mass) / system.deviation)[:-1]
    return float(np.where(system.laplace[:-1], -math.sqrt(2) * np.abs(off), -(off**2) / 2).sum())
