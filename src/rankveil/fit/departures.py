"""The prior of a table: departures that are smooth along columns with an order.

Model        A table is what the rest of the model expects of it, plus departures, plus noise. Departures are normal
             around zero, in proportion to the expected counts. Along a column of numbers they change slowly: written
             as waves (a cosine transform over its cells), a wave of squared frequency f has the variance
             strength / (1 + f)^decay. Labels, single heavy values and missing have no neighbours.
Empirical    Strength and decay are those that make the measured table most likely, so a table of mere noise has no
Bayes        departures, and one whose dependence is plain and smooth keeps it and loses its noise.
Reads        Released counts: post-processing (T1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal
from rankveil.measure.measurements import Floats


@dataclass(frozen=True)
class Axis:
    """Of a table: how its cells are turned into waves. Cells without neighbours are waves of their own."""

    size: int
    near: NDArray[np.int64]  # cells that are neighbours, in order; none, or at least rules.FEWEST_NEIGHBOURS

    @classmethod
    def of(cls, marginal: Marginal, group: Groups) -> Axis:
        """Cells of an ordered column that are about equally heavy are neighbours, whatever lies between them."""
        mass = np.bincount(group, marginal.mass)
        present = mass[: len(mass) - marginal.apart]  # special values and missing have groups of their own
        usual = float(np.median(present))
        alike = (present >= usual / rules.ALIKE) & (present <= usual * rules.ALIKE)
        near = np.flatnonzero(alike & marginal.ordered)
        return cls(len(mass), near if len(near) >= rules.FEWEST_NEIGHBOURS else near[:0])

    @cached_property
    def waves(self) -> Floats:
        """Cells x waves, orthonormal."""
        waves = np.eye(self.size)
        waves[np.ix_(self.near, self.near)] = _cosines(len(self.near))
        return waves

    @cached_property
    def frequency(self) -> Floats:
        """Squared, of every wave."""
        frequency = np.zeros(self.size)
        frequency[self.near] = np.arange(len(self.near)) ** 2
        return frequency

    def applied(self, matrix: Floats, table: Floats, place: int) -> Floats:
        """The matrix, for this axis of a table."""
        if place == table.ndim - 1:
            return np.asarray(table @ matrix.T)
        flat = table.reshape(*table.shape[: place + 1], -1)
        return np.asarray((matrix @ flat).reshape(table.shape))

    def levelled(self, table: Floats, place: int) -> Floats:
        """Neighbours given their mean."""
        level = np.eye(self.size)
        level[np.ix_(self.near, self.near)] = 1 / len(self.near)
        return self.applied(level, table, place)


def _cosines(size: int) -> Floats:
    place, wave = np.arange(size)[:, None], np.arange(size)[None, :]
    cosines = np.cos(math.pi * (place + 0.5) * wave / size) * math.sqrt(2 / size)
    cosines[:, 0] = math.sqrt(1 / size)
    return cosines


@dataclass(frozen=True)
class Departures:
    """The prior of one table."""

    axes: tuple[tuple[int, Axis], ...]  # those with neighbours, and their places
    variance: Floats  # of every wave, in records squared
    level: Floats  # records in a cell, the same for neighbours
    law: tuple[float, float]  # strength and decay
    evidence: float  # twice the logarithm of how likely they make the table, up to a constant

    @classmethod
    def of(
        cls,
        measured: Floats,
        expected: Floats,
        noise: float,
        axes: Sequence[Axis] = (),
        unit: float = 0.0,
        laws: Sequence[tuple[float, float]] = (),
    ) -> Departures:
        """The one that makes the table most likely, of these laws or of all.

        `noise`: the variance of its counts. `unit`: the weight of one of the rows in which `expected` was counted.
        """
        turning = tuple((place, axis) for place, axis in enumerate(axes) if len(axis.near))
        level, frequency = expected, np.zeros(measured.shape)
        for place, axis in turning:
            level = axis.levelled(level, place)
            others = tuple(other for other in range(measured.ndim) if other != place)
            frequency = frequency + np.expand_dims(axis.frequency, others)
        squares = _turned(measured - expected, turning) ** 2
        known = noise + (1 + unit) * level  # records are a sample, and so are rows
        decays = rules.DECAYS if turning else rules.DECAYS[:1]
        laws = laws or [(strength, decay) for decay in decays for strength in rules.STRENGTHS]

        def by(strength: float, decay: float) -> Departures:
            variance = strength * level**2 / (1 + frequency) ** decay
            whole = known + variance
            evidence = -float((np.log(whole) + squares / whole).sum())
            # Waves that are all alike are as good as cells.
            return cls(turning if decay else (), variance, level, (strength, decay), evidence)

        return max((by(*each) for each in laws), key=lambda found: found.evidence)

    @cached_property
    def precision(self) -> Floats:
        """Of every wave of the parameters, which are relative departures."""
        return self.level**2 / self.variance

    @cached_property
    def precision_of_cells(self) -> Floats:
        """Of every parameter by itself."""
        return self._as_variance(self.precision)

    def tied(self, parameters: Floats) -> Floats:
        """The slope of the prior at these parameters."""
        return self._back(_turned(parameters, self.axes) * self.precision)

    def solved(self, bend: Floats, slope: Floats) -> Floats:
        """The Newton step, (bend + prior's precision)⁻¹ slope, as if the bend of neighbours were alike, at its best
        length."""
        if not self.axes:
            return slope / (bend + self.precision)
        level = bend
        for place, axis in self.axes:
            level = axis.levelled(level, place)
        step = self._back(_turned(slope, self.axes) / (level + self.precision))
        length = float((slope * step).sum()) / max(float((step * (bend * step + self.tied(step))).sum()), 1e-300)
        return length * step

    def in_waves(self, cells: Floats) -> Floats:
        """A flat table as flat waves."""
        return _turned(cells.reshape(self.variance.shape), self.axes).ravel() if self.axes else cells

    def in_cells(self, waves: Floats) -> Floats:
        return self._back(waves.reshape(self.variance.shape)).ravel() if self.axes else waves

    def _back(self, waves: Floats) -> Floats:
        for place, axis in self.axes:
            waves = axis.applied(axis.waves, waves, place)
        return waves

    def _as_variance(self, waves: Floats) -> Floats:
        for place, axis in self.axes:
            waves = axis.applied(axis.waves**2, waves, place)
        return waves


def _turned(table: Floats, axes: Sequence[tuple[int, Axis]]) -> Floats:
    for place, axis in axes:
        table = axis.applied(axis.waves.T, table, place)
    return table
