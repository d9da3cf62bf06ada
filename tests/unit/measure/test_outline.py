"""The smooth outline of a column: what it reads, what it chooses, and what it does for bounds that are far off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from rankveil.declare import Column, Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Grid
from rankveil.engines import open_table
from rankveil.evaluate.distances import wasserstein
from rankveil.measure.budget import Noise, Price
from rankveil.measure.counts import CountGrid, Counts, count_columns
from rankveil.measure.marginals.choose import synopsis_rule
from rankveil.measure.marginals.outline import Evidence, _candidates, _medians
from rankveil.measure.marginals.partition import TreeShape, nested_edges
from rankveil.measure.marginals.pooling import outlines
from rankveil.fit.marginal import OrderedMarginal
from rankveil.measure.marginals.tree import divided, drawn_tree
from rankveil.noise import Sampler, SeededSource

ROWS = 2_000
NOISES = [Noise("discrete Laplace", Fraction(10)), Noise("discrete Gaussian", Fraction(200))]


def column(lower: int, upper: int) -> Column:
    return Column("x", "integer", Grid(upper - lower, Decimal(lower)), "protected", False, False, (), pa.int64())


COLUMNS = [column(0, 1_000_000), column(-50_000, 1_000_000), column(-(10**7), 10**7), column(1_000, 2_500)]


def counted(codes: NDArray[np.int64], of: Column) -> Counts:
    assert isinstance(of.domain, Grid)
    values = codes + int(of.domain.lower)
    counts, _ = count_columns(Dataset(Schema((of,)), open_table(pa.table({"x": values}))), [of])
    return counts["x"]


def empty(of: Column) -> Counts:
    grid = CountGrid(of)
    return Counts(grid, np.zeros(grid.cell_count, np.int64))


@pytest.mark.parametrize("of", COLUMNS)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_an_outline_follows_from_released_counts_and_the_plan_alone(of: Column, noise: Noise) -> None:
    """Two tables that differ in every record, and the same noisy counts: the same outline."""
    rng = np.random.default_rng(1)
    size = CountGrid(of).size
    first, second = (counted(rng.integers(0, size, ROWS), of), counted(np.zeros(ROWS, np.int64), of))
    edges = first.snapped(nested_edges(first.grid, TreeShape(8, 8, outlined=True))[0])
    noisy = rng.normal(ROWS / 8, 100, len(edges) - 1)
    made = [Evidence.of(counts, edges, noisy, noise, ROWS).outline() for counts in (first, second)]
    assert (made[0].points == made[1].points).all()
    assert (made[0].below == made[1].below).all()
    assert made[0].below[0] == 0
    assert made[0].below[-1] == pytest.approx(1)
    assert (np.diff(made[0].below) >= 0).all()
    assert made[0].between(edges).sum() == pytest.approx(1)


@pytest.mark.parametrize("of", COLUMNS)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_counts_of_a_candidate_with_hardly_any_noise_give_that_candidate(of: Column, noise: Noise) -> None:
    counts = empty(of)
    edges = counts.snapped(nested_edges(counts.grid, TreeShape(12, 12, outlined=True))[0])
    points = Evidence.of(counts, edges, np.zeros(len(edges) - 1), noise, ROWS).points
    candidates = _candidates(counts.grid, points)
    for candidate in candidates[:: len(candidates) // 7]:
        exact = np.diff(candidate[np.searchsorted(points, edges)]) * 1e6
        found = Evidence.of(counts, edges, exact, noise, 1e6).outline()
        assert np.abs(found.below - candidate).max() < 0.01


def test_the_middle_of_curves_is_their_weighted_median() -> None:
    curves = np.array([[0.0, 0.2, 1.0], [0.0, 0.5, 1.0], [0.0, 0.9, 1.0]])
    assert _medians(curves, np.array([1.0, 1.0, 1.0]))[1] == 0.5
    assert _medians(curves, np.array([3.0, 1.0, 1.0]))[1] == 0.2
    assert _medians(curves, np.array([1.0, 1.0, 3.0]))[1] == 0.9


def released(counts: Counts, reach: float, change: Callable[[TreeShape], TreeShape], seed: int) -> NDArray[np.int64]:
    """Values of a column released by the rule's tree, or by a changed one, with so many records per unit of noise."""
    price = Price("rho", Fraction((reach / ROWS) ** 2))
    shape = synopsis_rule(counts.grid.column, ROWS, price).tree
    assert shape is not None
    source = SeededSource(seed)
    tree = drawn_tree(counts, ROWS, price, change(shape), source)
    outline = None if tree.evidence is None else tree.evidence.outline()
    segments = tree.settled(outline)
    if outline is not None:
        segments = divided(segments, outline)
    marginal = OrderedMarginal(counts.grid.size, segments, most_cells=16, least_mass=0.0, cell_variance=1.0, null=False)
    return marginal.strips().values(ROWS, 0.5, Sampler(source))


@pytest.mark.parametrize("reach", [4, 12, 40, 150])
def test_bounds_far_beyond_the_bulk_do_not_spread_a_column(reach: float) -> None:
    """Incomes around 3,000 in a range of ten million. Even cells without an outline, the twin, are caught."""
    wide = column(0, 10_000_000)
    codes = np.random.default_rng(5).lognormal(8, 1.5, ROWS).astype(np.int64)
    counts = counted(codes, wide)

    def distances(change: Callable[[TreeShape], TreeShape]) -> float:
        found = [wasserstein(wide, codes, released(counts, reach, change, seed)) for seed in range(12)]
        return float(np.median([distance for distance in found if distance is not None]))

    assert distances(lambda shape: shape) < 0.5
    assert distances(lambda shape: replace(shape, outlined=False)) > 0.6


@pytest.mark.parametrize("reach", [8, 40, 150])
def test_a_column_that_fills_its_range_still_does(reach: float) -> None:
    """The outline prefers small amounts only as far as the counts leave it open."""
    wide = column(0, 50_000)
    codes = np.random.default_rng(6).integers(0, 50_001, ROWS)
    counts = counted(codes, wide)
    found = [np.quantile(released(counts, reach, lambda shape: shape, seed), 0.5) for seed in range(12)]
    assert 15_000 < float(np.median(found)) < 35_000


def evidence_of(counts: Counts, reach: float, seed: int) -> Evidence:
    price = Price("rho", Fraction((reach / ROWS) ** 2))
    shape = synopsis_rule(counts.grid.column, ROWS, price).tree
    assert shape is not None
    found = drawn_tree(counts, ROWS, price, shape, SeededSource(seed)).evidence
    assert found is not None
    return found


def narrow(rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.lognormal(rng.uniform(7, 10), 1.0, ROWS).clip(0, 10_000_000).astype(np.int64)


def wide_with_heap(rng: np.random.Generator) -> NDArray[np.int64]:
    values = rng.integers(0, 10_000_001, ROWS)
    values[: ROWS // 3] = 0
    return values


@pytest.mark.parametrize("of", COLUMNS)
def test_pooled_outlines_follow_from_released_counts_and_the_plan_alone(of: Column) -> None:
    rng = np.random.default_rng(2)
    tables = [[counted(rng.integers(0, CountGrid(of).size, ROWS), of) for _ in range(3)] for _ in range(2)]
    edges = tables[0][0].snapped(nested_edges(tables[0][0].grid, TreeShape(8, 8, outlined=True))[0])
    noisy = rng.normal(ROWS / 8, 100, (3, len(edges) - 1))
    made = [
        outlines([Evidence.of(counts, edges, own, NOISES[0], ROWS) for counts, own in zip(table, noisy, strict=True)])
        for table in tables
    ]
    for first, second in zip(*made, strict=True):
        assert (first.below == second.below).all()
        assert (np.diff(first.below) >= 0).all()


@pytest.mark.parametrize("values", [narrow, wide_with_heap])
def test_columns_that_are_alike_are_found_sooner_together(
    values: Callable[[np.random.Generator], NDArray[np.int64]],
) -> None:
    """Ten columns, three records per unit of noise: together their outlines are nearer the truth than one by one."""
    of, rng = column(0, 10_000_000), np.random.default_rng(3)
    together, alone = [], []
    for table in range(6):
        truth = [values(rng) for _ in range(10)]
        evidence = [evidence_of(counted(codes, of), 3.0, 100 * table + place) for place, codes in enumerate(truth)]
        for codes, each, pooled in zip(truth, evidence, outlines(evidence), strict=True):
            exact = np.searchsorted(np.sort(codes), each.points) / ROWS
            together.append(np.abs(pooled.below - exact).mean())
            alone.append(np.abs(each.outline().below - exact).mean())
    assert np.mean(together) < 0.9 * np.mean(alone)


def test_a_table_of_unlike_columns_does_not_make_them_alike() -> None:
    """With forty records per unit of noise a column's own counts decide, whatever the nine others are."""
    of, rng = column(0, 10_000_000), np.random.default_rng(4)
    truth = [*(narrow(rng) for _ in range(9)), rng.integers(0, 10_000_001, ROWS)]
    evidence = [evidence_of(counted(codes, of), 40.0, place) for place, codes in enumerate(truth)]
    odd = outlines(evidence)[-1]
    assert 0.35 < float(np.interp(5_000_000, odd.points, odd.below)) < 0.65


def test_the_order_of_columns_does_not_matter() -> None:
    of, rng = column(0, 10_000_000), np.random.default_rng(5)
    evidence = [evidence_of(counted(narrow(rng), of), 4.0, place) for place in range(5)]
    forwards, backwards = outlines(evidence), outlines(evidence[::-1])[::-1]
    for first, second in zip(forwards, backwards, strict=True):
        assert np.allclose(first.below, second.below)


def test_hundreds_of_columns_cannot_make_a_clear_one_impossible() -> None:
    """Weights learnt from others are small for an odd column, never zero: between cells its own counts decide."""
    of, rng = column(0, 10_000_000), np.random.default_rng(6)
    near_zero = evidence_of(counted(np.full(ROWS, 3, np.int64), of), 2_000.0, 1)
    odd = evidence_of(counted(rng.integers(9_000_000, 10_000_001, ROWS), of), 2_000.0, 2)
    found = outlines([*[near_zero] * 800, odd])[-1]
    assert np.isfinite(found.below).all()
    assert float(np.interp(5_000_000, found.points, found.below)) < 0.01
