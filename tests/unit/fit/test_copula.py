"""Correlations from noisy sign products: mere noise is left out, what is left is neither too weak nor impossible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.fit import copula

# Seeds are fixed, so that these tests give the same answer every time: their false-alarm rate is zero.
SEEDS = range(20)


def cleaned(correlations: np.ndarray, deviation: float, rounds: int = 100) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copula, "_MOST_ROUNDS", rounds)
        return copula._without_noise(correlations, deviation)


def factor_model(loadings: np.ndarray) -> np.ndarray:
    """Correlations of columns that share what the loadings say, with zeros where nothing was measured."""
    correlations = loadings @ loadings.T
    np.fill_diagonal(correlations, 0.0)
    return correlations


def noisy(correlations: np.ndarray, deviation: float, seed: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).normal(0, deviation * np.pi / 2, correlations.shape), 1)
    return np.clip(correlations + upper + upper.T, -0.999, 0.999) * (1 - np.eye(len(correlations)))


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix[np.triu_indices(len(matrix), 1)]


@pytest.mark.parametrize("columns", [4, 8, 13])
def test_what_columns_share_is_found_whole(columns: int) -> None:
    """One thing that all columns share: exact correlations come back. The twin leaves zeros on the diagonal."""
    exact = factor_model(np.linspace(0.6, 0.9, columns)[:, None])
    assert off_diagonal(cleaned(exact, 0.01)) == pytest.approx(off_diagonal(exact), abs=2e-3)
    twin = cleaned(exact, 0.01, rounds=1)
    assert off_diagonal(twin).mean() < 0.95 * off_diagonal(exact).mean()


def test_two_groups_of_columns_stay_two() -> None:
    loadings = np.zeros((8, 2))
    loadings[:4, 0], loadings[4:, 1] = 0.9, (0.8, 0.8, -0.8, 0.8)
    exact = factor_model(loadings)
    assert off_diagonal(cleaned(exact, 0.02)) == pytest.approx(off_diagonal(exact), abs=2e-3)


def test_with_noise_correlations_are_nearer_than_as_drawn_and_not_biased_towards_zero() -> None:
    exact = factor_model(np.linspace(0.5, 0.9, 13)[:, None])
    found = [cleaned(noisy(exact, 0.12, seed), 0.12) for seed in SEEDS]
    drawn = [noisy(exact, 0.12, seed) for seed in SEEDS]
    wrong, as_drawn = (
        np.mean([np.abs(off_diagonal(each) - off_diagonal(exact)).mean() for each in of]) for of in (found, drawn)
    )
    assert wrong < as_drawn * 2 / 3
    assert np.mean([off_diagonal(each).mean() for each in found]) == pytest.approx(off_diagonal(exact).mean(), rel=0.05)


def test_mere_noise_links_no_columns() -> None:
    """Noise on 13 independent columns reaches past the limit in none of 20 draws; half the limit is passed by all."""
    nothing = np.zeros((13, 13))
    drawn = [noisy(nothing, 0.1, seed) for seed in SEEDS]
    assert all((cleaned(each, 0.1) == np.eye(13)).all() for each in drawn)
    assert not any((cleaned(each, 0.05) == np.eye(13)).all() for each in drawn)


@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(1e-4, 0.4), st.sampled_from([1, 100]))
def test_whatever_was_drawn_becomes_a_correlation_matrix(
    columns: int, seed: int, deviation: float, rounds: int
) -> None:
    wild = np.random.default_rng(seed).uniform(-1, 1, (columns, columns))
    drawn = np.triu(wild, 1) + np.triu(wild, 1).T
    found = cleaned(drawn, deviation, rounds)
    assert (np.diag(found) == 1).all()
    assert found == pytest.approx(found.T)
    assert np.abs(found).max() <= 1 + 1e-9
    assert np.linalg.eigvalsh(found).min() > -1e-9


# Trees


def tree_of(count: int, seed: int) -> np.ndarray:
    """Correlations of the pairs of a random tree; the others are zero."""
    rng, correlations = np.random.default_rng(seed), np.zeros((count, count))
    for column in range(1, count):
        other = rng.integers(column)
        correlations[column, other] = correlations[other, column] = rng.uniform(-0.98, 0.98)
    order = rng.permutation(count)
    return correlations[np.ix_(order, order)]


@pytest.mark.parametrize("count", [2, 3, 8, 30])
@pytest.mark.parametrize("seed", SEEDS[:5])
def test_along_a_tree_pairs_have_the_product_of_the_correlations_between_them(count: int, seed: int) -> None:
    """Given its neighbours a column depends on no other: the inverse has entries for the pairs of the tree alone."""
    measured = tree_of(count, seed)
    whole = copula._along_paths(measured)
    assert whole[measured != 0] == pytest.approx(measured[measured != 0])
    assert np.linalg.eigvalsh(whole).min() > 0
    inverse = np.linalg.inv(whole)
    assert np.abs(inverse[(measured == 0) & ~np.eye(count, dtype=bool)]).max(initial=0) < 1e-6 * np.abs(inverse).max()


def test_columns_that_nothing_joins_stay_independent() -> None:
    measured = np.zeros((4, 4))
    measured[0, 2] = measured[2, 0] = 0.5
    assert (copula._along_paths(measured) == np.eye(4) + measured).all()
