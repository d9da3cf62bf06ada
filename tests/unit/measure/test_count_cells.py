"""The public cells in which a wide column is counted."""

from __future__ import annotations

import numpy as np
import pytest

from rankveil.declare import Plan, declare_alone
from rankveil.measure.counts import CellCounter, CountGrid


@pytest.mark.parametrize("lower", [-1000, -20, -3, 0, 7])
@pytest.mark.parametrize("width", [20_000, 31_337, 50_000])
def test_cells_of_a_wide_range_ascend_and_end_with_the_last_code_alone(lower: int, width: int) -> None:
    entry = {"kind": "number", "lower": lower, "upper": lower + width, "step": "0.01"}
    plan = Plan.from_dict({"release": {"epsilon": "1"}, "columns": {"a": entry}})
    grid = CountGrid(declare_alone(plan).columns[0])
    edges = grid.edges
    assert edges is not None
    assert (np.diff(edges) > 0).all()
    assert edges[-2:].tolist() == [grid.size - 1, grid.size]
    counter = CellCounter(grid)
    counter.add(np.full(grid.size // 64 + 1, grid.size - 1))  # enough rows for codes to be counted one by one
    assert counter.settle()[-1] == grid.size // 64 + 1
