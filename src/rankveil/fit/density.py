"""The one estimator of a column: noisy counts of nested cells, fitted by a density that is as smooth as they say.

Model        Cell j of the finest ones has the mass m_j = c_j exp(b_j), c_j being what the prior expects. Each noisy
             count is the sum of the masses in its cell plus noise of known law; so is n, with nearly none. That is
             a composite link model (Eilers 2007).
Prior        b = smooth + rough. The smooth part has small third derivatives along the axis, with weight λ; the rough part
             is independent from cell to cell, with deviation τ. Labels have no axis: there the smooth part is one common
             level. Free cells (spikes, zero, the upper end, missing) are tied to no others.
λ, τ         by evidence (Laplace's approximation), under a prior that all columns of a kind learn together.
Reads        Released counts and the plan: T1.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.simplex import Floats

Bools = NDArray[np.bool_]

SMOOTHNESS = 10.0 ** np.arange(-9.0, 3.0, 1.5)
ROUGHNESS = np.array([0.02, 0.1, 0.5, 2.0])
_LEVEL = 10.0  # prior deviation of anything along the axis, in logarithms
_FREE = float(os.environ.get("FREE", "0.1"))  # precision of a free cell's logarithm
_LARGEST_STEP = 1.5
_LOWEST = -40.0
SPARSE = float(os.environ.get("KAPPA", "0.0"))
THIN = 0.1
ROBUST = int(os.environ.get("ROBUST", "1"))
ISLAND = float(os.environ.get("ISLAND", "0"))
NULLS = float(os.environ.get("NULLS", "16"))


@dataclass(frozen=True)
class System:
    """What was observed of the finest cells."""

    kind: str  # columns of a kind learn together
    expected: Floats  # mass of each finest cell by the prior's curve
    width: Floats
    place: Floats | None  # middle of each on the axis; None for labels
    free: Bools
    member: Floats  # observations x finest cells: 0 or 1
    noisy: Floats
    deviation: Floats
    laplace: Bools  # observations with Laplace noise
    total: float

    def basis(self) -> tuple[Floats, Floats]:
        """Precision of the smooth part over the cells that are not free: eigenvalues and eigenvectors."""
        tied = np.flatnonzero(~self.free)
        count = len(tied)
        if self.place is None or count < 5:
            flat = np.full((count, 1), 1 / math.sqrt(max(count, 1)))
            values, vectors = np.linalg.eigh(np.eye(count) - flat @ flat.T)
            return np.where(values > 0.5, np.inf, 0.0), vectors
        third = third_derivatives(self.place[tied])
        values, vectors = np.linalg.eigh(third.T @ third)
        # Height, slope and curvature are in the prior's curve already.
        values[:3] = values[3] / NULLS
        return values, vectors


def third_derivatives(place: Floats) -> Floats:
    """A matrix that takes values at these places to third derivatives, weighted so that squares add up to an integral."""
    rows = np.eye(len(place))
    for order in (1, 2, 3):
        rows = np.diff(rows, axis=0) / (place[order:] - place[:-order])[:, None] * order
    weight = (place[3:] - place[:-3]) / 3
    weighted: Floats = rows * np.sqrt(weight)[:, None]
    return weighted


class Fit:
    """One column while it is fitted."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.tied = np.flatnonzero(~system.free)
        self.values, self.vectors = system.basis()
        self.robust = False
        self._centre = np.log(system.expected)
        self.log_mass = self._centre.copy()
        # In the prior's own coordinates tied cells come first, free ones last.
        self._frame = np.zeros((len(system.expected), len(system.expected)))
        self._frame[np.ix_(self.tied, np.arange(len(self.tied)))] = self.vectors
        loose = np.flatnonzero(system.free)
        self._frame[loose, len(self.tied) + np.arange(len(loose))] = 1.0
        own = _own(system)
        self.log_mass[loose] = np.log(np.maximum(own[loose], system.expected[loose]))
        if system.place is None:  # labels: what was counted, but never nothing
            start = np.maximum(own, system.deviation[0] / 2)
            self.log_mass = np.log(start * system.total / start.sum())

    def precision(self, smooth: Floats | float, rough: Floats | float) -> Floats:
        """Of every coordinate, for one or more values of λ and τ."""
        smooth, rough = np.asarray(smooth)[..., None], np.asarray(rough)[..., None]
        count = max(len(self.tied), 1)
        with np.errstate(divide="ignore"):
            variance = 1 / (smooth * self.values) + rough**2
        variance = np.minimum(variance, _LEVEL**2 * count)
        loose = np.full((*variance.shape[:-1], int(self.system.free.sum())), _FREE)
        return np.concatenate([1 / variance, loose], axis=-1)

    def _linear(self) -> tuple[Floats, Floats]:
        """Information and score of the prior's coordinates, at the present masses."""
        system = self.system
        mass = np.exp(self.log_mass)
        off = (system.noisy - system.member @ mass) / system.deviation
        # Laplace noise by its own law, rounded at the tip: information 2 there, slope √2 beyond.
        weight = np.where(system.laplace & self.robust, math.sqrt(2) / np.sqrt(off**2 + 0.5), 1.0)
        turned = (system.member * (mass / system.deviation[:, None])) @ self._frame
        information, score = turned.T @ (turned * weight[:, None]), turned.T @ (weight * off)
        if SPARSE and system.kind not in ("labels", "values"):
            thin = THIN * float(system.deviation[0])
            some = mass / (mass + thin)
            score -= self._frame.T @ (SPARSE * some)
            information += self._frame.T @ (self._frame * (SPARSE * some * (1 - some))[:, None])
        return information, score

    def _coordinates(self) -> Floats:
        return self._frame.T @ (self.log_mass - self._centre)

    def improve(self, smooth: float, rough: float, steps: int) -> None:
        """Newton's method at fixed λ and τ."""
        precision = self.precision(smooth, rough)
        for _ in range(steps):
            information, score = self._linear()
            here = self._coordinates()
            step = np.linalg.solve(information + np.diag(precision), score - precision * here)
            move = np.clip(self._frame @ step, -_LARGEST_STEP, _LARGEST_STEP)
            self.log_mass = np.maximum(self.log_mass + move, _LOWEST)
            if np.abs(move).max() < 1e-3:
                break

    def evidence(self) -> Floats:
        """Logarithm of the evidence for every λ and τ, but for a constant."""
        information, score = self._linear()
        here = self._coordinates()
        pull = score + information @ here
        smooth, rough = (each.ravel() for each in np.meshgrid(SMOOTHNESS, ROUGHNESS, indexing="ij"))
        precision = self.precision(smooth, rough)
        whole = information + precision[:, :, None] * np.eye(len(here))
        solved = np.linalg.solve(whole, np.broadcast_to(pull[:, None], (len(whole), len(pull), 1)))[..., 0]
        log_det = np.linalg.slogdet(whole)[1]
        found: Floats = (solved @ pull - log_det + np.log(precision).sum(axis=1)) / 2
        return found

    def variances(self, smooth: float, rough: float) -> Floats:
        """Of the logarithms of all masses, given what was observed."""
        information, _ = self._linear()
        inverse = np.linalg.inv(information + np.diag(self.precision(smooth, rough)))
        found: Floats = np.einsum("ij,jk,ik->i", self._frame, inverse, self._frame)
        return found


def _own(system: System) -> Floats:
    """The noisy count of each finest cell that was counted by itself; else nothing."""
    alone = system.member.sum(axis=1) == 1
    found = np.zeros(len(system.expected))
    found[system.member[alone].argmax(axis=1)] = system.noisy[alone]
    return found


def fit_densities(systems: list[System]) -> list[tuple[Floats, Floats]]:
    """Masses of the finest cells of every column, and the variances of their logarithms."""
    fits = [Fit(system) for system in systems]
    chosen = [(1e-3, 0.3)] * len(fits)
    for _ in range(2):
        evidence = []
        for fit, (smooth, rough) in zip(fits, chosen, strict=True):
            fit.improve(smooth, rough, 12)
            evidence.append(fit.evidence())
        chosen = _pooled([system.kind for system in systems], evidence)
    if os.environ.get("SHOW"):
        for s, c in zip(systems, chosen): print(s.kind, len(s.expected), int(s.free.sum()), ["%.2g" % x for x in c])
    if os.environ.get('STIFF'):
        chosen = [(1e6, 1e-4)] * len(fits)
        for f in fits: f.log_mass = f._centre.copy()
    found = []
    for fit, (smooth, rough) in zip(fits, chosen, strict=True):
        fit.improve(smooth, rough, 30)
        if ROBUST:
            fit.robust = True
            fit.improve(smooth, rough, 10)
        mass = _without_islands(fit.system, np.exp(fit.log_mass))
        found.append((mass * (fit.system.total / mass.sum()), fit.variances(smooth, rough)))
    return found


def _without_islands(system: System, mass: Floats) -> Floats:
    """Bumps away from the bulk levelled, unless the counts are much more likely with them.

    Outwards from the heaviest cell the density falls; where it rises again by noise alone, it stays where it was. A
    bump may be anywhere, so it must make the counts as many times more likely as there are cells.
    """
    if system.place is None or ISLAND < 0:
        return mass
    tied = np.flatnonzero(~system.free)
    if len(tied) < 3:
        return mass
    limit = math.log(len(tied)) + ISLAND
    density = mass / system.width
    bulk = int(np.argmax(mass[tied]))
    mass = mass.copy()
    for path in (tied[bulk::-1], tied[bulk:]):
        level, island = math.inf, []
        for cell in [*path.tolist(), -1]:
            if cell >= 0 and density[cell] > max(level, system.expected[cell] / system.width[cell]):
                island.append(cell)
                continue
            if island:
                flat = mass.copy()
                flat[island] = np.maximum(level * system.width[island], system.expected[island])
                if _log_likelihood(system, mass) - _log_likelihood(system, flat) < limit:
                    mass = flat
                island = []
            level = min(level, density[cell])
    return mass


def _log_likelihood(system: System, mass: Floats) -> float:
    """Of the counts, the sum apart."""
    off = ((system.noisy - system.member @ mass) / system.deviation)[:-1]
    return float(np.where(system.laplace[:-1], -math.sqrt(2) * np.abs(off), -(off**2) / 2).sum())


def _pooled(kinds: list[str], evidence: list[Floats]) -> list[tuple[float, float]]:
    """λ and τ of every column, most likely under a prior over both that the columns of its kind share."""
    smooth, rough = (each.ravel() for each in np.meshgrid(SMOOTHNESS, ROUGHNESS, indexing="ij"))
    chosen = [(0.0, 0.0)] * len(kinds)
    for kind in set(kinds):
        members = [place for place, each in enumerate(kinds) if each == kind]
        likelihood = np.array([np.exp(evidence[place] - evidence[place].max()) for place in members])
        prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
        for _ in range(20):
            posterior = likelihood * prior
            posterior /= posterior.sum(axis=1, keepdims=True)
            prior = posterior.sum(axis=0) + 1 / len(prior)
            prior /= prior.sum()
        for place, each in zip(members, posterior, strict=True):
            chosen[place] = float(np.exp(each @ np.log(smooth))), float(np.exp(each @ np.log(rough)))
    return chosen
