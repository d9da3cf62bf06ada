"""What one replaced record can change in the statistics behind released marginals, by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.declare import Column, Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import MISSING, Grid
from rankveil.engines import open_table
from rankveil.measure.counts import CountGrid, count_columns
from rankveil.measure.marginals.cells import group_nominal, group_ordered
from rankveil.measure.marginals.partition import TreeShape, nested_edges
from rankveil.measure.marginals.projection import project
from rankveil.measure.marginals.ranked import _block_sums, isotonic
from rankveil.microaggregate.blocks import cluster_starts


def number_column(name: str, width: int, *, null: bool = False, lower: int = 0) -> Column:
    return Column(name, "integer", Grid(width, Decimal(lower)), "protected", null, False, (), pa.int64())


def dataset_of(values: dict[str, list[int | None]], columns: list[Column]) -> Dataset:
    return Dataset(
        Schema(tuple(columns)), open_table(pa.table({name: pa.array(v, pa.int64()) for name, v in values.items()}))
    )


def neighbours(values: list[int], width: int) -> Iterator[list[int]]:
    for place in range(len(values)):
        for other in range(width + 1):
            if other != values[place]:
                yield [*values[:place], other, *values[place + 1 :]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 40)), min_size=2, max_size=30), st.data())
def test_replacing_one_record_moves_one_count_on_every_level_of_a_tree(
    values: list[int | None], data: st.DataObject
) -> None:
    column = number_column("x", 40, null=True)
    place = data.draw(st.integers(0, len(values) - 1))
    other = data.draw(st.one_of(st.none(), st.integers(0, 40)))
    changed = [*values[:place], other, *values[place + 1 :]]
    before, _ = count_columns(dataset_of({"x": values}, [column]), [column])
    after, _ = count_columns(dataset_of({"x": changed}, [column]), [column])
    even, outlined = (
        nested_edges(CountGrid(column), TreeShape(16, 4, outlined=outlined)) for outlined in (False, True)
    )
    for edges in [*even, *outlined]:
        difference = np.append(
            after["x"].between(edges) - before["x"].between(edges), after["x"].missing - before["x"].missing
        )
        assert np.abs(difference).sum() <= 2
        assert (difference**2).sum() <= 2


@pytest.mark.parametrize(
    "size, zero", [(1000, 0), (1000, 300), (1000, 999), (1000, -1), (100_000, 0), (10**7, 5 * 10**5), (7, 3)]
)
@pytest.mark.parametrize("outlined", [False, True])
@pytest.mark.parametrize("leaves, branching", [(64, 8), (6, 6), (216, 6), (48, 8)])
def test_levels_of_a_tree_are_nested_and_public(
    size: int, zero: int, outlined: bool, leaves: int, branching: int
) -> None:
    grid = CountGrid(number_column("x", size - 1, lower=-zero))
    levels = nested_edges(grid, TreeShape(leaves, branching, outlined=outlined))
    for coarse, fine in pairwise(levels):
        assert set(coarse) <= set(fine)
    for edges in levels:
        assert edges[0] == 0
        assert edges[-1] == size
        assert (np.diff(edges) > 0).all()
    if size > leaves:
        alone = max(zero, 0)
        assert {alone, alone + 1} <= set(levels[0].tolist())
        assert leaves / 2 <= len(levels[-1]) - 1 <= 1.5 * leaves + 4


@pytest.mark.parametrize("zero", [0, 50_000, 999_999])
def test_cells_of_amounts_are_finer_towards_zero_on_both_sides(zero: int) -> None:
    """And none is wider than it would be if only the even part of the cells were there."""
    grid = CountGrid(number_column("x", 999_999, lower=-zero))
    edges = nested_edges(grid, TreeShape(24, 24, outlined=True))[0]
    width = np.diff(edges)
    above, below = width[edges[:-1] > zero], width[edges[1:] <= zero][::-1]
    assert len(above) + len(below) == 24
    for side in (above, below):
        assert (np.diff(side) >= 0).all()
        assert side.max(initial=0) <= 1 + side.sum() / (0.3 * max(len(side), 1))
    assert width.min() == 1  # zero itself


@pytest.mark.parametrize("rows, clusters", [(4, 2), (5, 2), (6, 3)])
def test_ranked_sums_from_counts_change_by_at_most_the_width_exhaustively(rows: int, clusters: int) -> None:
    width = 3
    column = number_column("x", width)
    starts = cluster_starts(rows, rows // clusters)

    def sums(values: tuple[int, ...] | list[int]) -> np.ndarray:
        counts, _ = count_columns(dataset_of({"x": list(values)}, [column]), [column])
        return _block_sums(counts["x"], starts, rows)

    seen: dict[tuple[int, ...], np.ndarray] = {}
    for values in product(range(width + 1), repeat=rows):
        ordered = tuple(sorted(values))
        if ordered not in seen:
            seen[ordered] = sums(ordered)
            expected = [sum(ordered[a:b]) for a, b in zip(starts, [*starts[1:], rows], strict=True)]
            assert seen[ordered].tolist() == expected
    worst = max(
        int(np.abs(seen[values] - seen[tuple(sorted(other))]).sum())
        for values in seen
        for other in neighbours(list(values), width)
    )
    assert worst == width


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_isotonic_regression_is_monotone_keeps_the_mean_and_leaves_monotone_lists_alone(values: list[float]) -> None:
    weights = np.ones(len(values))
    fitted = isotonic(np.array(values), weights)
    assert (np.diff(fitted) >= -1e-9).all()
    assert fitted.mean() == pytest.approx(np.mean(values), abs=1e-9)
    ascending = np.sort(values)
    assert isotonic(ascending, weights) == pytest.approx(ascending)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(0.1, 1000))
def test_projection_gives_non_negative_counts_with_the_right_total(noisy: list[float], total: float) -> None:
    projected = project(np.array(noisy), total)
    assert (projected >= 0).all()
    assert projected.sum() == pytest.approx(total)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 16), st.floats(0, 20))
def test_cells_are_few_and_ordered_cells_are_consecutive(mass: list[float], most: int, least: float) -> None:
    ordered = group_ordered(np.array(mass), most, least)
    assert ordered[0] == 0
    assert set(np.diff(ordered).tolist()) <= {0, 1}
    assert ordered.max() < most
    nominal = group_nominal(np.array(mass), most, least)
    assert nominal.max() < max(most, 1)
    assert set(nominal.tolist()) == set(range(int(nominal.max()) + 1))


def test_the_count_grid_reads_no_data() -> None:
    column = number_column("x", 3_000_000, lower=-1_000_000)
    grid = CountGrid(column)
    assert grid.edges is not None
    assert grid.edges[0] == 0
    assert grid.edges[-1] == grid.size
    assert grid.edges[-2] == grid.size - 1  # the upper end by itself
    assert {grid.zero, grid.zero + 1} <= set(grid.edges[np.abs(grid.edges - grid.zero) <= 2].tolist())
    codes = np.array([0, 1, grid.zero, grid.size - 1, MISSING])
    assert (np.diff(grid.cells(codes[:-1])) >= 0).all()
