"""Departures of a table along ordered columns: what is smooth is kept, what is noise is not.

Seeds are fixed: a test that passes once passes always.
"""

from __future__ import annotations

import numpy as np
import pytest

from rankveil.fit.departures import Axis, Departures
from rankveil.fit.full import FullTable
from rankveil.fit.marginal import NominalMarginal, OrderedMarginal
from rankveil.fit.segments import Segments
from rankveil.fit.terms import Term
from rankveil.measure.measurements import TableMeasurement

TOTAL = 20_000.0
CELLS = 20


def numbers(*mass: float, null: bool = False) -> OrderedMarginal:
    """A column of numbers with these masses; the last is of missing where `null`."""
    count = len(mass) - null
    ends = np.arange(count + 1) * 10
    segments = Segments(ends[:-1], ends[1:], np.ones(count), 1.0 if null else 0.0)
    made = OrderedMarginal(10 * count, segments, most_cells=count, least_mass=0, cell_variance=1.0, null=null)
    return made.with_mass(np.array(mass, dtype=np.float64))


def even() -> OrderedMarginal:
    return numbers(*[TOTAL / CELLS] * CELLS)


def smooth_table() -> np.ndarray:
    """Two columns of numbers that rise together."""
    place = np.linspace(-1, 1, CELLS)
    table = np.exp(1.5 * np.multiply.outer(place, place))
    for _ in range(200):
        table *= TOTAL / CELLS / table.sum(axis=0)
        table *= (TOTAL / CELLS / table.sum(axis=1))[:, None]
    return table


def shrunk(noisy: np.ndarray, deviation: float, axes: tuple[Axis, ...]) -> np.ndarray:
    """The table as its prior would have it, with nothing else to go by."""
    expected = np.full(noisy.shape, TOTAL / noisy.size)
    prior = Departures.of(noisy, expected, deviation**2, axes)
    bend = np.full(noisy.shape, expected**2 / deviation**2)
    return expected * (1 + prior.solved(bend, (noisy - expected) * expected / deviation**2))


@pytest.mark.parametrize("null", [False, True])
def test_single_heavy_values_and_missing_have_no_neighbours(null: bool) -> None:
    mass = [10.0, 11.0, 300.0, 9.0, 10.0, 12.0, *([10.0] if null else [])]
    marginal = numbers(*mass, null=null)
    axis = Axis.of(marginal, np.arange(len(mass)))
    assert axis.near.tolist() == [0, 1, 3, 4, 5]
    assert np.allclose(axis.waves.T @ axis.waves, np.eye(len(mass)))
    assert axis.frequency.tolist() == [0, 1, 0, 4, 9, 16, *([0] if null else [])]


def test_labels_and_few_cells_have_no_neighbours() -> None:
    labels = NominalMarginal(np.full(9, 5.0), most_cells=9, least_mass=0, label_variance=1, null=False)
    assert not len(Axis.of(labels, np.arange(9)).near)
    assert not len(Axis.of(numbers(5, 5, 5), np.arange(3)).near)


@pytest.mark.parametrize("deviation", [20.0, 60.0])
def test_smooth_dependence_loses_its_noise(deviation: float) -> None:
    """To seven tenths, at most, of what is left when cells are shrunk one by one (the twin): 20 tables."""
    exact, axis = smooth_table(), Axis.of(even(), np.arange(CELLS))
    alone = Axis(CELLS, np.arange(0))
    for seed in range(20):
        noisy = exact + np.random.default_rng(seed).normal(0, deviation, exact.shape)
        together = np.abs(shrunk(noisy, deviation, (axis, axis)) - exact).sum()
        one_by_one = np.abs(shrunk(noisy, deviation, (alone, alone)) - exact).sum()
        assert together < one_by_one * 0.7


def test_dependence_that_is_not_smooth_is_kept() -> None:
    """A checkerboard: evidence finds that there is nothing to smooth."""
    exact = TOTAL / CELLS**2 * (1 + 0.5 * (-1.0) ** np.add.outer(np.arange(CELLS), np.arange(CELLS)))
    axis = Axis.of(even(), np.arange(CELLS))
    noisy = exact + np.random.default_rng(1).normal(0, 5, exact.shape)
    assert np.abs(shrunk(noisy, 5, (axis, axis)) - exact).mean() < 5


def test_mere_noise_leaves_no_departures() -> None:
    axis = Axis.of(even(), np.arange(CELLS))
    flat = np.full((CELLS, CELLS), TOTAL / CELLS**2)
    noisy = flat + np.random.default_rng(2).normal(0, 50, flat.shape)
    assert np.abs(shrunk(noisy, 50, (axis, axis)) - flat).mean() < 5


def test_newton_steps_for_all_cells_together_come_to_where_nothing_pulls() -> None:
    """Each step is exact where neighbours bend alike, and leaves less of the pull where they do not."""
    rng = np.random.default_rng(3)
    axis = Axis.of(even(), np.arange(CELLS))
    prior = Departures.of(smooth_table(), np.full((CELLS, CELLS), 50.0), 400.0, (axis, axis))
    slope = rng.normal(size=(CELLS, CELLS))

    def left(bend: np.ndarray, steps: int) -> float:
        found = np.zeros((CELLS, CELLS))
        for _ in range(steps):
            found = found + prior.solved(bend, slope - bend * found - prior.tied(found))
        return float(np.abs(bend * found + prior.tied(found) - slope).max())

    assert left(np.full((CELLS, CELLS), 7.0), 1) < 1e-9
    uneven = rng.uniform(0.1, 20, (CELLS, CELLS))
    assert left(uneven, 20) < 1e-6 < 1e-3 < left(uneven, 1)


def test_the_full_table_is_at_the_optimum_with_numbers_in_it() -> None:
    """Measured less fitted is the prior's pull, cell by cell; waves tie neighbours to each other."""
    exact = smooth_table()
    noisy = exact + np.random.default_rng(4).normal(0, 30, exact.shape)
    table = TableMeasurement(("a", "b"), (np.arange(CELLS), np.arange(CELLS)), noisy, 30.0)
    term = Term.of(table, {"a": 0, "b": 1}, {"a": even(), "b": even()}, int(TOTAL))
    mass = FullTable([CELLS, CELLS], [term], TOTAL).fitted()
    assert term.departures is not None
    assert len(term.departures.axes) == 2
    pull = term.variance / term.departures.level * term.departures.tied(term.parameters.reshape(CELLS, CELLS))
    assert np.abs(term.measured - mass - pull.ravel()).max() < 0.05
    assert np.abs(mass - exact.ravel()).sum() < np.abs(noisy - exact).sum() / 3
