"""What one replaced record can change in the statistics behind released marginals, by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.declare import Column, Schema
from rankveil.declare.axis import Axis
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import MISSING, Grid
from rankveil.engines import open_table
from rankveil.fit.cells import group_nominal, group_ordered
from rankveil.fit.simplex import project
from rankveil.measure.budget import Noise, Price
from rankveil.measure.columns import measure_columns
from rankveil.measure.counts import CountGrid, Counts, count_columns
from rankveil.noise import Law, SeededSource
from rankveil.perturb.isotonic import isotonic


def number_column(name: str, width: int, *, null: bool = False, lower: int = 0) -> Column:
    return Column(name, "integer", Grid(width, Decimal(lower)), "protected", null, False, ())


def dataset_of(values: dict[str, list[int | None]], columns: list[Column]) -> Dataset:
    return Dataset(
        Schema(tuple(columns)), open_table(pa.table({name: pa.array(v, pa.int64()) for name, v in values.items()}))
    )


def neighbours(values: list[int], width: int) -> Iterator[list[int]]:
    for place in range(len(values)):
        for other in range(width + 1):
            if other != values[place]:
                yield [*values[:place], other, *values[place + 1 :]]


class Noted(SeededSource):
    """Notes every exact answer before noise is added; `fixed`: noisy answers that are given instead of drawn ones."""

    def __init__(self, fixed: list[np.ndarray] | None = None) -> None:
        super().__init__(1)
        self.exact: list[np.ndarray] = []
        self.noisy: list[np.ndarray] = []
        self.fixed = fixed

    def answer(self, law: Law, exact: np.ndarray) -> np.ndarray:
        noisy = super().answer(law, exact) if self.fixed is None else self.fixed[len(self.noisy)]
        self.exact.append(exact)
        self.noisy.append(noisy)
        return noisy


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 5000)), min_size=2, max_size=30),
    st.sampled_from([40, 5000]),
    st.sampled_from([Price("epsilon", Fraction(400)), Price("rho", Fraction(4000)), Price("rho", Fraction(1, 10))]),
    st.data(),
)
def test_replacing_one_record_moves_one_count_on_every_level_whatever_the_answers(
    values: list[int | None], width: int, price: Price, data: st.DataObject
) -> None:
    """Along the same noisy answers both tables are asked the same cells, and each level changes by L1 2, L2 sqrt 2."""
    values = [None if value is None else value % (width + 1) for value in values]
    column = number_column("x", width, null=True)
    place = data.draw(st.integers(0, len(values) - 1))
    other = data.draw(st.one_of(st.none(), st.integers(0, width)))
    before, rows = count_columns(dataset_of({"x": values}, [column]), [column])
    changed = [*values[:place], other, *values[place + 1 :]]
    after, _ = count_columns(dataset_of({"x": changed}, [column]), [column])
    first = Noted()
    measured = measure_columns(before, rows, {"x": price}, first)["x"]
    second = Noted(first.noisy)
    again = measure_columns(after, rows, {"x": price}, second)["x"]
    assert len(first.exact) == len(second.exact)
    for one, two in zip(first.exact, second.exact, strict=True):
        assert np.abs(one - two).sum() <= 2
        assert ((one - two) ** 2).sum() <= 2
    for level, same in zip(measured.levels, again.levels, strict=True):
        assert (level.low == same.low).all() and (level.high == same.high).all()
        assert (level.low[1:] >= level.high[:-1]).all(), "cells of a level are disjoint"


@pytest.mark.parametrize("price", [Price("epsilon", Fraction(1)), Price("rho", Fraction(1, 50))])
@pytest.mark.parametrize("width", [1, 40, 120, 5000, 10**7])
def test_the_levels_of_a_column_cost_no_more_than_its_price(width: int, price: Price) -> None:
    spent = []

    class Priced(SeededSource):
        def answer(self, law: Law, exact: np.ndarray) -> np.ndarray:
            assert isinstance(law, Noise)
            pure = law.name == "discrete Laplace"
            spent.append(2 / law.parameter if pure else 1 / law.parameter)
            return super().answer(law, exact)

    column = number_column("x", width)
    grid = CountGrid(column)
    exact = np.zeros(grid.cell_count, np.int64)
    exact[min(7, grid.cell_count - 1)] = 10**6
    measure_columns({"x": Counts(grid, exact)}, 10**6, {"x": price}, Priced(1))
    assert 0 < sum(spent) <= price.amount


@pytest.mark.parametrize("size, zero", [(1000, 0), (1000, 300), (1000, 999), (1000, -1), (10**7, 5 * 10**5), (130, 3)])
@pytest.mark.parametrize("cells", [6, 24, 120])
def test_cells_cover_a_column_and_hold_zero_and_the_upper_end_by_themselves(size: int, zero: int, cells: int) -> None:
    edges = Axis.of(number_column("x", size - 1, lower=-zero)).cut(cells)
    assert edges[0] == 0
    assert edges[-1] == size
    assert (np.diff(edges) > 0).all()
    assert {max(zero, 0), max(zero, 0) + 1, size - 1} <= set(edges.tolist())
    assert cells / 2 <= len(edges) - 1 <= cells + 4


@pytest.mark.parametrize("zero", [0, 50_000, 999_999])
def test_cells_of_amounts_are_finer_towards_zero_on_both_sides(zero: int) -> None:
    edges = Axis.of(number_column("x", 999_999, lower=-zero)).cut(24)
    inner = edges[1:-2] if zero < 999_999 else edges[1:]  # the upper end is cut off by itself
    width, start = np.diff(inner), inner[:-1]
    above, below = width[start > zero][1:-1], width[inner[1:] <= zero][::-1][1:-1]
    for side in (above, below):
        assert (np.diff(side) >= -1).all()
        assert side.max(initial=0) <= 10**6 / (0.3 * 24) + 1


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
