"""What samplers accept, how they round it, and what they do at the edges."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.noise import (
    RandomSource,
    SeededSource,
    SystemSource,
    below,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    flip_bits,
    laplace_floats,
    permutation,
    permute_and_flip,
    representable_scale,
    representable_variance,
    uint64s,
    uniform_floats,
)

INT64 = np.iinfo(np.int64)
ROUNDING_STEP = Fraction(1, 2**63)

# Fractions of any length, including ones too long to be used as they are.
long_fractions = st.builds(
    lambda numerator, denominator, exponent: Fraction(numerator, denominator) * Fraction(2) ** exponent,
    st.integers(2**200, 2**201),
    st.integers(2**200, 2**201),
    st.integers(-18, 43),
)
short_fractions = st.fractions(Fraction(1, 1000), Fraction(10**9), max_denominator=10**9)


@given(long_fractions | short_fractions)
def test_a_used_scale_is_never_smaller_and_at_most_a_hair_larger(scale: Fraction) -> None:
    used = representable_scale(scale)
    assert scale <= used <= scale * (1 + ROUNDING_STEP)
    assert representable_scale(used) == used


@given(long_fractions | short_fractions)
def test_a_used_variance_is_never_smaller_and_at_most_a_hair_larger(variance: Fraction) -> None:
    for asked in (variance, variance * 2**35):
        used = representable_variance(asked)
        assert asked <= used <= asked * (1 + ROUNDING_STEP)
        assert representable_variance(used) == used


@given(short_fractions)
def test_a_scale_of_ordinary_length_is_used_unchanged(scale: Fraction) -> None:
    assert representable_scale(scale) == scale


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(1, 2**21), Fraction(2**45) + 1])
def test_scales_outside_the_supported_range_are_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="scale must lie between"):
        discrete_laplace(scale, 1, SeededSource(0))


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(1, 2**21), Fraction(2**80) + 1])
def test_variances_outside_the_supported_range_are_refused(variance: Fraction) -> None:
    with pytest.raises(ValueError, match="variance must lie between"):
        discrete_gaussian(variance, 1, SeededSource(0))


def test_floats_are_refused_wherever_a_privacy_parameter_is_expected() -> None:
    source, scores, inexact = SeededSource(0), np.zeros(2, dtype=np.int64), 0.1
    calls: list[Callable[[Any], object]] = [
        lambda value: discrete_laplace(value, 1, source),
        lambda value: discrete_gaussian(value, 1, source),
        lambda value: exponential_mechanism(scores, value, source),
        lambda value: permute_and_flip(scores, value, source),
        lambda value: flip_bits(np.zeros(1, dtype=np.bool_), value, source),
        lambda value: bernoulli_exp(scores, value, source),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="must be a Fraction"):
            call(inexact)


def test_a_numpy_integer_as_scale_means_the_same_as_a_python_integer() -> None:
    numpy_scale: Any = np.int64(2**40)
    draws = discrete_laplace(numpy_scale, 100, SeededSource(0))
    assert np.array_equal(draws, discrete_laplace(Fraction(2**40), 100, SeededSource(0)))


@given(
    st.lists(st.integers(1, 2**63) | st.integers(1, 5), min_size=1, max_size=50),
    st.integers(0, 2**32),
)
def test_integers_below_a_bound_never_reach_it(bounds: list[int], seed: int) -> None:
    draws = below(SeededSource(seed), np.array(bounds, dtype=np.uint64))
    assert draws.dtype == np.int64
    assert all(0 <= draw < bound for draw, bound in zip(draws.tolist(), bounds, strict=True))


@pytest.mark.parametrize("bound", [0, -3, 2**63 + 1])
def test_impossible_bounds_are_refused(bound: int) -> None:
    with pytest.raises(ValueError, match="bound"):
        below(SeededSource(0), bound, 3)


def test_negative_bounds_in_an_array_are_refused() -> None:
    with pytest.raises(ValueError, match="bound"):
        below(SeededSource(0), np.array([3, -1], dtype=np.int64))


@given(st.integers(0, 300), st.integers(0, 2**32))
def test_a_permutation_contains_every_index_once(size: int, seed: int) -> None:
    assert sorted(permutation(SeededSource(seed), size).tolist()) == list(range(size))


def every_sampler(source: RandomSource, count: int) -> list[Any]:
    scores = np.arange(5 * count, dtype=np.int64).reshape(count, 5) % 7
    return [
        uint64s(source, count),
        below(source, 10, count),
        uniform_floats(source, count),
        permutation(source, count),
        bernoulli_exp(np.arange(count), Fraction(9, 2), source),
        discrete_laplace(Fraction(1, 3), count, source),
        discrete_laplace(Fraction(10**5, 3), count, source),
        discrete_gaussian(Fraction(10**5, 3), count, source),
        exponential_mechanism(scores, Fraction(3), source),
        permute_and_flip(scores, Fraction(3), source),
        flip_bits(np.zeros(count, dtype=np.bool_), Fraction(1), source),
        laplace_floats(1.0, count, source),
    ]


def test_the_same_seed_gives_the_same_draws_and_another_seed_others() -> None:
    first, again, other = (every_sampler(SeededSource(seed), 200) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_asking_for_no_draws_gives_empty_arrays() -> None:
    assert [draws.shape for draws in every_sampler(SeededSource(1), 0)] == [(0,)] * 12


@pytest.mark.parametrize("count", [1, 2, 65_535, 65_536, 65_537, 200_001])
def test_every_sampler_returns_as_many_draws_as_asked_for(count: int) -> None:
    assert [draws.shape for draws in every_sampler(SeededSource(1), count)] == [(count,)] * 12


def test_asking_for_a_negative_number_of_draws_is_refused() -> None:
    for sampler in (uint64s, uniform_floats, permutation):
        with pytest.raises(ValueError, match="cannot draw"):
            sampler(SeededSource(1), -1)
    for exact_sampler in (discrete_laplace, discrete_gaussian):
        with pytest.raises(ValueError, match="cannot draw"):
            exact_sampler(Fraction(1), -1, SeededSource(1))


@given(st.lists(st.integers(0, 200_000), max_size=5), st.integers())
@settings(max_examples=20)
def test_a_seeded_stream_does_not_depend_on_how_it_is_cut(pieces: list[int], seed: int) -> None:
    cut, whole = SeededSource(seed), SeededSource(seed)
    assert b"".join(cut.random_bytes(size) for size in pieces) == whole.random_bytes(sum(pieces))


def test_only_the_system_source_may_protect_a_release() -> None:
    assert SystemSource().releasable
    assert not SeededSource(1).releasable
    assert not RandomSource.releasable


def test_the_system_source_keeps_nothing_that_a_fork_could_copy() -> None:
    source = SystemSource()
    assert len(source.random_bytes(1000)) == 1000
    assert vars(source) == {}
    assert source.random_bytes(32) != source.random_bytes(32)


def test_a_source_that_returns_too_few_bytes_is_noticed() -> None:
    class Short(RandomSource):
        def random_bytes(self, count: int) -> bytes:
            return bytes(max(0, count - 1))

    with pytest.raises(ValueError, match="returned 7 bytes, not 8"):
        uint64s(Short(), 1)


@pytest.mark.parametrize("mechanism", [exponential_mechanism, permute_and_flip])
class TestSelection:
    def test_a_single_candidate_is_always_chosen(self, mechanism: Any) -> None:
        rows = np.full((50, 1), INT64.min, dtype=np.int64)
        assert not mechanism(rows, Fraction(1, 10), SeededSource(1)).any()

    def test_one_row_may_be_given_without_its_second_dimension(self, mechanism: Any) -> None:
        scores = np.array([0, 10**9, 0], dtype=np.int64)
        assert mechanism(scores, Fraction(1), SeededSource(1)).tolist() == [1]

    def test_gaps_as_wide_as_int64_allows_do_not_overflow(self, mechanism: Any) -> None:
        rows = np.tile(np.array([INT64.min, INT64.max, 0], dtype=np.int64), (1000, 1))
        for scale in (Fraction(1, 2**20), Fraction(1), Fraction(2**50)):
            assert (mechanism(rows, scale, SeededSource(1)) == 1).all()

    def test_a_scale_far_above_all_scores_chooses_evenly(self, mechanism: Any) -> None:
        rows = np.tile(np.array([INT64.min, INT64.max], dtype=np.int64), (10_000, 1))
        share = mechanism(rows, Fraction(2**90), SeededSource(1)).mean()
        assert abs(share - 1 / 2) < 0.03  # six standard deviations

    def test_rows_without_candidates_and_scores_that_are_not_int64_are_refused(self, mechanism: Any) -> None:
        with pytest.raises(ValueError, match="at least one candidate"):
            mechanism(np.zeros((3, 0), dtype=np.int64), Fraction(1), SeededSource(1))
        with pytest.raises(TypeError, match="int64"):
            mechanism(np.zeros((3, 2)), Fraction(1), SeededSource(1))
        with pytest.raises(ValueError, match="scale must be greater than 0"):
            mechanism(np.zeros((3, 2), dtype=np.int64), Fraction(0), SeededSource(1))


def test_randomized_response_without_budget_is_a_fair_coin_and_with_plenty_tells_the_truth() -> None:
    truth = np.ones((100, 100), dtype=np.bool_)
    assert flip_bits(truth, Fraction(10**6), SeededSource(1)).all()
    assert abs(flip_bits(truth, Fraction(0), SeededSource(1)).mean() - 1 / 2) < 0.03
    with pytest.raises(ValueError, match="epsilon"):
        flip_bits(truth, Fraction(-1), SeededSource(1))


def test_noise_at_the_largest_and_smallest_parameters_is_drawn() -> None:
    source = SeededSource(1)
    assert np.abs(discrete_laplace(Fraction(2**45), 1000, source)).max() > 2**45
    assert np.abs(discrete_gaussian(Fraction(2**80), 1000, source)).max() > 2**40
    assert not discrete_laplace(Fraction(1, 2**20), 1000, source).any()
    assert not discrete_gaussian(Fraction(1, 2**20), 1000, source).any()
