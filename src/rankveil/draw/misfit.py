"""How far released rows are from what was measured, beyond its noise: what the fit has lost. Post-processing (T1).

Columns      All noisy counts about a column (its own levels, the margins of its tables) and a wide normal prior around
             the released masses: their posterior mean tells where the rows are off, its covariance how sure that is.
Tables       What rows lack of a measured table, as waves along its columns, in groups from coarse to fine. Noise gives
             every wave the same known variance. What a group varies beyond that is taken for departures that the fit
             has shrunk away (James and Stein): its posterior mean and variance follow. Many small cells that are each
             lost in noise show here together: a dependence between two columns is a coarse wave.
Why          An error of the released rows is then known in part. Its known part is no chance: it has one sign for all
             columns and tables of a replicate, and the other sign in the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.domain import Codes
from rankveil.fit.marginal import Marginal, OrderedMarginal
from rankveil.measure.measurements import ColumnMeasurement, Floats, Level, Measurements, TableMeasurement

Basis = tuple[Floats, NDArray[np.int64]]  # cells x waves, orthonormal; how fine each wave is, 0 being the mean


@dataclass(frozen=True)
class ColumnError:
    """Of the released masses of a column's base cells."""

    off: Floats  # what they lack, as far as that is known
    root: Floats  # of the covariance of what is not

    @classmethod
    def of(cls, name: str, marginal: Marginal, released: Floats, measured: Measurements) -> ColumnError:
        asked, size = measured.asked[name], marginal.cell_count
        # A thin cell has been estimated from its neighbours, too: it is surer than its own noise says. A heavy one may
        # be wrong by a part of itself, if it was not counted by itself.
        prior = asked.levels[0].deviation * (np.maximum(released, 0.0) + 1) + (rules.CELL_PRIOR * released) ** 2
        precision, score = np.diag(1 / prior), np.zeros(size)
        for member, noisy, variance in _observations(asked, marginal):
            precision += np.outer(member, member) / variance
            score += member * ((noisy - member @ released) / variance)
        for table in measured.tables:
            if name in table.columns and not table.parity:
                axis = table.columns.index(name)
                margin = table.noisy.sum(axis=tuple(other for other in range(table.noisy.ndim) if other != axis))
                summed = np.zeros((len(margin), size))
                summed[table.groups[axis], np.arange(size)] = 1.0
                variance = table.noisy.size / len(margin) * table.deviation**2
                precision += summed.T @ summed / variance
                score += summed.T @ (margin - summed @ released) / variance
        found = np.linalg.inv(precision)
        sums = found.sum(axis=1)
        found = found - np.outer(sums, sums) / sums.sum()  # all together are as many as there are
        values, vectors = np.linalg.eigh(found)
        return cls(found @ score, np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))))


def _observations(asked: ColumnMeasurement, marginal: Marginal) -> Iterator[tuple[Floats, float, float]]:
    """Which base cells each noisy count, or sum of them, is about; the count, and its variance."""
    every = np.eye(marginal.cell_count)
    for place, noisy in enumerate(asked.apart.tolist()):
        yield every[marginal.cell_count - len(asked.apart) + place], noisy, asked.apart_deviation**2
    for level in asked.levels:
        if isinstance(marginal, OrderedMarginal):
            yield from _of_ranges(level, marginal)
        else:
            cells = marginal.cell_of(level.low)
            counted, noisy = np.bincount(cells), np.bincount(cells, level.noisy)
            for cell in np.flatnonzero(counted):
                yield every[cell], float(noisy[cell]), float(counted[cell]) * level.deviation**2


def _of_ranges(level: Level, marginal: OrderedMarginal) -> Iterator[tuple[Floats, float, float]]:
    """Between two edges that cells of a level and base cells share, both count the same records."""
    edges = np.concatenate([[0], marginal.edges, [marginal.code_count - marginal.special]])
    shared = np.intersect1d(edges, np.union1d(level.low, level.high))
    for low, high in pairwise(shared):
        first, last = np.searchsorted(level.low, [low, high])
        if last > first and (level.high[first:last] - level.low[first:last]).sum() == high - low:
            member = np.zeros(marginal.cell_count)
            member[np.searchsorted(edges, low) : np.searchsorted(edges, high)] = 1.0
            yield member, float(level.noisy[first:last].sum()), float(last - first) * level.deviation**2


@dataclass(frozen=True)
class TableError:
    """Of what released rows have of a measured table, its margins apart."""

    off: Floats  # what they lack, as far as that is known; flat
    spread: Floats  # deviation of every wave of what is not
    bases: tuple[Basis, ...]

    @classmethod
    def of(cls, table: TableMeasurement, marginals: Sequence[Marginal], fitted: Floats) -> TableError:
        shape = table.noisy.shape
        bases = tuple(map(_basis, marginals, shape))
        lacking = _turned(_without_margins(table.noisy - fitted.reshape(shape)), bases, back=False)
        off, spread = np.zeros(shape), np.zeros(shape)
        for fineness in product(*(np.unique(levels) for _, levels in bases)):
            if sum(level > 0 for level in fineness) < 2:
                continue
            group = np.ix_(*(levels == level for (_, levels), level in zip(bases, fineness, strict=True)))
            waves = lacking[group]
            beyond = max(0.0, 1 - table.deviation**2 / max(float((waves**2).mean()), 1e-300))
            off[group], spread[group] = beyond * waves, math.sqrt(beyond) * table.deviation
        return cls(_turned(off, bases, back=True).ravel(), spread, bases)

    def drawn(self, sign: float, normal: Floats) -> Floats:
        """One draw of the error, flat; `normal`: as many numbers as there are cells."""
        return sign * self.off + _turned(self.spread * normal.reshape(self.spread.shape), self.bases, back=True).ravel()


def _without_margins(table: Floats) -> Floats:
    for axis in range(table.ndim):
        others = tuple(other for other in range(table.ndim) if other != axis)
        table = table - table.mean(axis=others, keepdims=True)
    return table


def _turned(table: Floats, bases: Sequence[Basis], *, back: bool) -> Floats:
    for axis, (waves, _) in enumerate(bases):
        table = np.moveaxis(np.tensordot(waves if back else waves.T, table, axes=(1, axis)), 0, axis)
    return np.asarray(table)


def _basis(marginal: Marginal, size: int) -> Basis:
    """Cosines along what has an order: those of a frequency of 1, 2 to 3, 4 to 7 and so on are alike."""
    apart = marginal.apart if marginal.ordered else 0
    inner = size - apart
    place, wave = np.arange(inner)[:, None], np.arange(inner)[None, :]
    waves = np.eye(size)
    waves[:inner, :inner] = np.cos(math.pi * (place + 0.5) * wave / inner) * math.sqrt(2 / inner)
    waves[:inner, 0] = math.sqrt(1 / inner)
    levels = np.ones(size, np.int64)
    if marginal.ordered:
        levels[1:inner] = 1 + np.floor(np.log2(np.arange(1, inner))).astype(np.int64)
    levels[0] = int(apart > 0)
    return waves, levels


# Inside base cells

_LARGEST_SLOPE = 2 - 1e-9
_SMALLEST_SLOPE = 0.05  # relative, from the middle of a cell to its end: densities that agree by chance say no more


@dataclass(frozen=True)
class PlacesError:
    """Of where released values lie in their base cells: how much too steep or too flat the released density is there.

    Two things say how steep the density is inside a cell. Counts of its parts, where the column was counted finer. And
    cells around it: the fit takes slopes from neighbours, and a cell whose own density is what its two neighbours would
    have it be has neighbours that tell (see `_unlike`). Single values and labels lie nowhere else.
    """

    cells: NDArray[np.int64]  # of each row its base cell
    places: Floats  # and the place in it, from -1 to 1: the middle is 0
    off: Floats  # of each cell the slope that rows lack, as far as that is known
    spread: Floats  # deviation of what is not

    @classmethod
    def of(cls, marginal: Marginal, codes: Codes, asked: ColumnMeasurement) -> PlacesError:
        cells, count = marginal.cell_of(codes).astype(np.int64), marginal.cell_count
        score = np.zeros(count)
        if not isinstance(marginal, OrderedMarginal):
            return cls(cells, np.zeros(len(cells)), score, score)
        apart = np.zeros(marginal.apart, np.int64)
        low = np.concatenate([[0], marginal.edges, apart])
        high = np.concatenate([marginal.edges, [marginal.size], apart])
        width = np.maximum(high - low - 1, 1)[cells]
        places = np.where(high[cells] - low[cells] > 1, (2 * codes - low[cells] - high[cells] + 1) / width, 0.0)
        precision = 1 / _unlike(low, high, np.bincount(cells, minlength=count).astype(np.float64)) ** 2
        inner = (codes >= 0) & (codes < marginal.size)  # neither missing nor a special value
        for level in asked.levels:
            within = np.searchsorted(marginal.edges, level.low, side="right")
            whole = (level.low >= low[within]) & (level.high <= high[within])  # in one base cell, with others
            whole &= (level.high - level.low < (high - low)[within]) & (level.low < marginal.size)
            part = np.maximum(np.searchsorted(level.low, codes[inner], side="right") - 1, 0)
            size = len(level.low)
            rows = np.bincount(part, minlength=size)
            moved = np.bincount(part, places[inner], minlength=size)  # records that a slope of one would bring
            lacking = np.where(whole, (level.noisy - rows) * moved, 0.0)
            squares = np.bincount(within, np.where(whole, moved**2, 0.0), minlength=count)
            precision += squares / level.deviation**2
            score += np.bincount(within, lacking, minlength=count) / level.deviation**2
        return cls(cells, places, score / precision, 1 / np.sqrt(precision))

    def drawn(self, sign: float, normal: Floats) -> Floats:
        """One draw of the error, as a part of each row's weight; `normal`: a number for each cell.

        Below 2 in size: rows that lose half of an error keep some weight, were it all rows of a small release.
        """
        slope = np.clip(sign * self.off + self.spread * normal, -_LARGEST_SLOPE, _LARGEST_SLOPE)
        return np.asarray(slope[self.cells] * self.places)


def _unlike(low: NDArray[np.int64], high: NDArray[np.int64], mass: Floats) -> Floats:
    """Of each base cell: how far densities are from what neighbours say, as a part of them; 1 where none say anything.

    The root mean square of a cell and its neighbours. Single values may be spikes: they say nothing of what is around.
    """
    found = np.ones(len(mass))
    wide = np.flatnonzero(high - low > 1)
    if len(wide) > 2:
        centre = (low + high)[wide] / 2
        density = mass[wide] / (high - low)[wide]
        near = (centre[1:-1] - centre[:-2]) / (centre[2:] - centre[:-2])
        expected = density[:-2] + near * (density[2:] - density[:-2])
        off = np.abs(density[1:-1] - expected) / np.maximum(density[1:-1], 1e-300)
        squares = np.pad(np.minimum(off, 1.0) ** 2, 1, constant_values=1.0)
        around = np.pad(squares, 1, mode="edge")
        found[wide] = np.sqrt((around[:-2] + around[1:-1] + around[2:]) / 3)
    return np.asarray(np.clip(found, _SMALLEST_SLOPE, 1.0))
