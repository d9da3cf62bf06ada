"""What released rows lack of what was measured, beyond noise: found where it is, and not where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from rankveil.draw.misfit import TableError, inside_cells
from rankveil.fit.marginal import OrderedMarginal
from rankveil.fit.segments import Segments
from rankveil.measure.measurements import TableMeasurement

CELLS, ROWS, DEVIATION = 20, 20_000.0, 30.0


def marginal(cells: int = CELLS) -> OrderedMarginal:
    """`cells` base cells of ten codes each."""
    edges = 10 * np.arange(cells + 1)
    segments = Segments(edges[:-1], edges[1:], np.full(cells, ROWS / cells))
    return OrderedMarginal(
        10 * cells, segments, most_cells=cells, least_mass=0.0, cell_variance=1.0, null=False, edges=edges[1:-1]
    )


def measured(counts: np.ndarray, noise: np.ndarray) -> TableMeasurement:
    every = np.arange(CELLS)
    return TableMeasurement(("a", "b"), (every, every), counts + noise, DEVIATION)


def dependent(strength: float) -> np.ndarray:
    place = np.linspace(-1, 1, CELLS)
    return ROWS / CELLS**2 * (1 + strength * np.outer(place, place))


@pytest.fixture
def noise() -> np.ndarray:
    return DEVIATION * np.random.default_rng(3).normal(size=(CELLS, CELLS))


def quadrant(table: np.ndarray) -> float:
    return float(table.reshape(CELLS, CELLS)[: CELLS // 2, : CELLS // 2].sum())


def test_a_dependence_that_every_single_cell_hides_in_its_noise_is_found_as_a_coarse_wave(noise: np.ndarray) -> None:
    truth, rows = dependent(0.5), dependent(0.0)  # the fit has taken all of it for noise
    assert np.abs(truth - rows).max() < DEVIATION
    error = TableError.of(measured(truth, noise), [marginal()] * 2, rows.ravel())
    lost = quadrant(truth) - quadrant(rows)
    assert quadrant(error.off) == pytest.approx(lost, rel=0.4)
    assert abs(error.off.reshape(CELLS, CELLS).sum(axis=0)).max() < 1e-6  # margins are for columns to tell


def test_noise_alone_is_hardly_taken_for_something_lost(noise: np.ndarray) -> None:
    rows = dependent(0.5)
    error = TableError.of(measured(rows, noise), [marginal()] * 2, rows.ravel())
    assert (error.off**2).sum() < 0.2 * (noise**2).sum()


def test_the_known_part_has_one_sign_in_a_draw_and_the_other_in_the_next(noise: np.ndarray) -> None:
    error = TableError.of(measured(dependent(0.9), noise), [marginal()] * 2, dependent(0.0).ravel())
    chance = np.random.default_rng(1).normal(size=CELLS * CELLS)
    assert error.drawn(1.0, chance) + error.drawn(-1.0, -chance) == pytest.approx(np.zeros(CELLS * CELLS), abs=1e-9)


def test_places_in_cells_run_from_minus_one_to_one_and_single_values_have_none() -> None:
    cells, places, count = inside_cells(marginal(), np.arange(10 * CELLS))
    assert count == CELLS
    assert cells.tolist() == np.repeat(np.arange(CELLS), 10).tolist()
    assert places[:10] == pytest.approx(np.linspace(-1, 1, 10))
    edges = np.arange(1, 30)
    segments = Segments(np.arange(30), np.arange(30) + 1, np.ones(30))
    single = OrderedMarginal(30, segments, most_cells=30, least_mass=0.0, cell_variance=1.0, null=False, edges=edges)
    assert not inside_cells(single, np.arange(30))[1].any()
