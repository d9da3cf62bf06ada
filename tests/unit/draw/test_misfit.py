"""What released rows lack of what was measured, beyond noise: found where it is, and not where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rankveil as rv
from rankveil.declare.schema import declare_alone
from rankveil.draw.misfit import PlacesError, TableError
from rankveil.fit.marginal import OrderedMarginal
from rankveil.fit.segments import Segments
from rankveil.measure.measurements import ColumnMeasurement, Level, TableMeasurement
from tests.support import integer, plan_text

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


def asked(*levels: Level) -> ColumnMeasurement:
    schema = declare_alone(rv.Plan.parse(plan_text({"a": integer(10 * CELLS - 1)}, method="synthetic")))
    return ColumnMeasurement(schema.columns[0], levels)


def places_error(codes: np.ndarray, *levels: Level) -> PlacesError:
    return PlacesError.of(marginal(), codes, asked(*levels))


def test_places_in_cells_run_from_minus_one_to_one_and_single_values_have_none() -> None:
    error = places_error(np.arange(10 * CELLS))
    assert len(error.off) == CELLS
    assert error.cells.tolist() == np.repeat(np.arange(CELLS), 10).tolist()
    assert error.places[:10] == pytest.approx(np.linspace(-1, 1, 10))
    edges = np.arange(1, 30)
    segments = Segments(np.arange(30), np.arange(30) + 1, np.ones(30))
    single = OrderedMarginal(30, segments, most_cells=30, least_mass=0.0, cell_variance=1.0, null=False, edges=edges)
    assert not PlacesError.of(single, np.arange(30), asked()).places.any()


def test_neighbours_that_agree_leave_little_open_inside_a_cell_and_those_that_do_not_leave_all() -> None:
    smooth = np.repeat(np.arange(10 * CELLS), 20)
    heaped = np.concatenate([smooth, np.repeat(np.arange(100, 110), 200)])  # one cell of eleven times its neighbours
    assert places_error(smooth).spread[2:-2].max() < 0.1
    assert places_error(heaped).spread[9:12].min() > 0.5
    assert places_error(smooth).spread[[0, -1]].min() > 0.5  # no neighbour on one side


def test_counts_of_parts_of_a_cell_say_how_steep_it_is() -> None:
    low = 5 * np.arange(2 * CELLS)
    rows = np.repeat(np.arange(10 * CELLS), 20)
    noisy = np.tile([50.0, 150.0], CELLS)  # each cell rises by the double where the rows are level
    level = Level(low, low + 5, noisy, 5.0, "discrete Gaussian")
    steep, level_of_rows = (
        places_error(rows, level),
        places_error(rows, replace(level, noisy=np.full(2 * CELLS, 100.0))),
    )
    assert steep.spread[[0, -1]].max() < 0.2
    assert level_of_rows.off == pytest.approx(np.zeros(CELLS))
    moved = steep.drawn(1.0, np.zeros(CELLS))
    assert np.bincount(np.arange(len(rows)) // 100, rows * 0 + 1 + moved)[:2] == pytest.approx([50, 150], abs=10)
