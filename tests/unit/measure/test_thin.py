"""Counts that are small beside their noise: totals are kept, what is clear stays, what is thin is not heaped up."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.declare import Column, Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Grid, Nominal
from rankveil.engines import open_table
from rankveil.evaluate.measures import divergence
from rankveil.measure.budget import Budget, Noise
from rankveil.measure.counts import count_columns
from rankveil.measure.marginals.choose import release_marginals
from rankveil.fit.simplex import project, project_rows
from rankveil.measure.marginals.thin import MANY, believed_labels, believed_values
from rankveil.noise import Sampler, SeededSource
from rankveil.taxonomy import flat_taxonomy

GAUSSIAN = Noise("discrete Gaussian", Fraction(35**2))
LAPLACE = Noise("discrete Laplace", Fraction(25))
BOTH = pytest.mark.parametrize("noise", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])

# Seeds are fixed, so that these tests give the same answer every time: their false-alarm rate is zero.
SEEDS = range(20)

LABELS = np.array([27_000, 600, 150, 120] + [100, 90, 80, 70, 60] * 2 + [40, 30, 20, 20, 15, 15, 10, 10] * 3)
SPIKES = np.array([(800 if code % 10 == 0 else 200 if code % 5 == 0 else 20) for code in range(96)])
SMOOTH = np.rint(900 * np.exp(-(((np.arange(96) - 30) / 25) ** 2))).astype(np.int64)
FAMILY = np.arange(96) // 12


def drawn(exact: np.ndarray, noise: Noise, seed: int) -> np.ndarray:
    return noise.added_to(exact, SeededSource(seed)).astype(np.float64)


def off(exact: np.ndarray, made: np.ndarray) -> float:
    return divergence(exact / exact.sum(), made / made.sum())


def values(noisy: np.ndarray, noise: Noise, exact: np.ndarray) -> np.ndarray:
    totals = np.bincount(FAMILY, exact).astype(np.float64)
    return believed_values(noisy, noise, np.arange(len(noisy)), totals, FAMILY)


counts = st.lists(st.integers(-10_000, 30_000), min_size=2, max_size=60)


@given(counts, st.integers(0, 100_000), st.sampled_from([GAUSSIAN, LAPLACE]))
def test_labels_are_non_negative_and_add_up(noisy: list[int], total: int, noise: Noise) -> None:
    made = believed_labels(np.array(noisy, np.float64), noise, float(total))
    assert (made >= 0).all()
    assert made.sum() == pytest.approx(total, abs=1e-6 * (1 + total))


@given(st.data(), st.sampled_from([GAUSSIAN, LAPLACE]))
def test_values_of_a_family_add_up_to_its_total(data: st.DataObject, noise: Noise) -> None:
    sizes = data.draw(st.lists(st.integers(1, 13), min_size=1, max_size=8))
    totals = np.array(data.draw(st.lists(st.integers(0, 50_000), min_size=len(sizes), max_size=len(sizes))), float)
    family = np.repeat(np.arange(len(sizes)), sizes)
    noisy = data.draw(st.lists(st.integers(-500, 9000), min_size=len(family), max_size=len(family)))
    codes = np.cumsum(data.draw(st.lists(st.integers(1, 30), min_size=len(family), max_size=len(family))))
    made = believed_values(np.array(noisy, float), noise, codes, totals, family)
    assert (made >= 0).all()
    assert np.bincount(family, made) == pytest.approx(totals, abs=1e-5 * (1 + totals.max()))


@given(counts, st.integers(0, 50_000), st.data())
def test_the_weighted_projection_is_the_nearest_point(noisy: list[int], total: int, data: st.DataObject) -> None:
    """Its conditions of optimality: whatever is above zero moved by one multiple of its variance, the rest by less."""
    variance = np.array(data.draw(st.lists(st.integers(1, 900), min_size=len(noisy), max_size=len(noisy))), float)
    start = np.array(noisy, float)
    made = project(start, float(total), variance)
    moved = (start - made) / variance
    above = made > 1e-6
    assert made.sum() == pytest.approx(total, abs=1e-6 * (1 + total))
    if above.any():
        level = moved[above].mean()
        assert moved[above] == pytest.approx(level, abs=1e-6 * (1 + abs(level)))
        assert (moved[~above] <= level + 1e-6 * (1 + abs(level))).all()


def test_equal_variances_are_the_euclidean_projection() -> None:
    rng = np.random.default_rng(1)
    noisy, totals = rng.normal(5, 30, (40, 12)), rng.uniform(0, 500, 40)
    present = rng.random((40, 12)) < 0.8
    present[:, 0] = True
    plain = project_rows(noisy, totals, present)
    assert project_rows(noisy, totals, present, np.full((40, 12), 7.0)) == pytest.approx(plain, abs=1e-9)
    assert plain.sum(axis=1) == pytest.approx(totals)


@BOTH
def test_clear_counts_stay_as_they_are(noise: Noise) -> None:
    exact = np.array([5000, 900, 1400, 2200, 700, 3100] * 5)
    noisy = drawn(exact, noise, 3)
    noisy += (exact.sum() - noisy.sum()) / len(noisy)
    assert believed_labels(noisy, noise, float(exact.sum())) == pytest.approx(noisy, abs=1e-6)


@BOTH
def test_labels_have_no_order(noise: Noise) -> None:
    noisy = drawn(LABELS, noise, 4)
    order = np.random.default_rng(5).permutation(len(noisy))
    made = believed_labels(noisy, noise, float(LABELS.sum()))
    assert believed_labels(noisy[order], noise, float(LABELS.sum())) == pytest.approx(made[order])


@BOTH
def test_thin_labels_are_not_heaped_up(noise: Noise) -> None:
    """Two thirds of the divergence that cutting at zero leaves, or less. Whoever takes the noise for a tenth of what it
    is believes the draws and cuts at zero, too: this twin must be caught.
    """
    twin = Noise(noise.name, noise.parameter / (100 if noise is GAUSSIAN else 10))
    total = float(LABELS.sum())
    draws = [drawn(LABELS, noise, seed) for seed in SEEDS]
    cut = np.mean([off(LABELS, project(noisy, total)) for noisy in draws])

    def passes(of: Noise) -> bool:
        return bool(np.mean([off(LABELS, believed_labels(noisy, of, total)) for noisy in draws]) < cut * 2 / 3)

    assert passes(noise)
    assert not passes(twin)


@BOTH
def test_a_smooth_column_becomes_smooth_and_a_spiky_one_keeps_its_spikes(noise: Noise) -> None:
    """Against cutting each family at zero: smooth, a quarter of the divergence; with spikes, half. The twin has values
    in a wrong order, where neighbours tell nothing of each other.
    """

    def ratio(exact: np.ndarray, order: np.ndarray) -> float:
        made, cut = [], []
        for seed in SEEDS:
            noisy = drawn(exact, noise, seed)
            made.append(off(exact, values(noisy[order], noise, exact[order])[np.argsort(order)]))
            families = zip(noisy.reshape(8, 12), exact.reshape(8, 12), strict=True)
            cut.append(off(exact, np.concatenate([project(each, float(whole.sum())) for each, whole in families])))
        return float(np.mean(made) / np.mean(cut))

    in_order, shuffled = np.arange(96), np.random.default_rng(6).permutation(96)
    assert ratio(SMOOTH, in_order) < 1 / 4
    assert ratio(SMOOTH, shuffled) > 1 / 4
    assert ratio(SPIKES, in_order) < 1 / 2


@BOTH
def test_spikes_are_not_taken_for_noise(noise: Noise) -> None:
    for seed in SEEDS:
        made = values(drawn(SPIKES, noise, seed), noise, SPIKES)
        assert made[::10].sum() > 0.9 * SPIKES[::10].sum()


def released(exact: np.ndarray, domain: Grid | Nominal, deviation: float) -> np.ndarray:
    """How many of 100,000 fresh values the released marginal gives to each code, with about this noise on one level."""
    labels = np.array(domain.taxonomy.labels) if isinstance(domain, Nominal) else np.arange(len(exact))
    stored = pa.array(np.repeat(labels[: len(exact)], exact))
    column = Column("x", "category", domain, "protected", False, False, (), stored.type)
    counts, _ = count_columns(Dataset(Schema((column,)), open_table(pa.table({"x": stored}))), [column])
    rows, epsilon = int(exact.sum()), Fraction(8**0.5 / deviation)
    marginals, _ = release_marginals(counts, rows, Budget(epsilon), Fraction(1), rows / 16, SeededSource(8))
    values = marginals["x"].strips().values(100_000, 0.5, Sampler(SeededSource(9)))
    return np.bincount(values, minlength=len(exact))


def test_the_rule_believes_thin_labels_where_there_are_many_and_thin_values() -> None:
    """With counts of one deviation, cutting at zero empties some of twenty labels or fewer; of more labels and of
    numbers none is lost.
    """
    few, many = (np.array([9000] + [100] * others) for others in (MANY - 1, 2 * MANY))
    assert (released(few, Nominal(flat_taxonomy([f"{n:02}" for n in range(len(few))])), 100.0) == 0).any()
    assert (released(many, Nominal(flat_taxonomy([f"{n:02}" for n in range(len(many))])), 100.0) > 0).all()
    assert (released(SPIKES, Grid(len(SPIKES) - 1, Decimal(0)), 10.0) > 0).all()
