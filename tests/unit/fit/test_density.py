"""The fit of a column by itself, where its arithmetic is at its limits. How good it is: tests/statistics."""

from __future__ import annotations

import numpy as np

from rankveil.fit.density import System, fit_densities


def test_cells_a_hundred_million_times_as_narrow_as_others_leave_masses_that_are_numbers() -> None:
    """Bounds that noise made wide, and a search down to single codes: their third derivatives are beyond rounding."""
    place = np.append(np.linspace(0.01, 0.9, 10), 1 - np.arange(4, 0, -1) * 1e-8)
    cells = len(place)
    system = System(
        kind="amounts",
        expected=np.full(cells, 30 / cells),
        width=np.append(np.full(10, 0.09), np.full(4, 1e-8)),
        place=place,
        free=np.zeros(cells, np.bool_),
        member=np.vstack([np.eye(cells), np.ones(cells)]),
        noisy=np.append(np.arange(cells) % 5, 30.0),
        deviation=np.append(np.full(cells, 2.0), 1e-3),
        laplace=np.append(np.ones(cells, np.bool_), False),
        total=30.0,
    )
    (mass,) = fit_densities([system])
    assert np.isfinite(mass).all()
    assert abs(mass.sum() - 30) < 1e-9
