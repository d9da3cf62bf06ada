"""Limits of probabilities and of ε, against scipy and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankveil.audit.bounds import (
    at_least,
    at_most,
    best_event,
    beta_distribution,
    epsilon_at_least,
    mu_at_least,
)
from rankveil.audit.findings import ALPHA_PER_TEST, sampled


@given(st.floats(0.5, 1e6), st.floats(0.5, 1e6), st.floats(1e-9, 1 - 1e-9))
def test_the_beta_distribution_is_scipys(a: float, b: float, x: float) -> None:
    expected = stats.beta.cdf(x, a, b)
    assert beta_distribution(a, b, x) == pytest.approx(expected, rel=1e-6, abs=1e-11)


@settings(max_examples=60)
@given(st.integers(1, 10**6), st.floats(0, 1), st.sampled_from([0.05, 1e-6, ALPHA_PER_TEST]))
def test_limits_are_those_of_clopper_and_pearson(trials: int, share: float, alpha: float) -> None:
    hits = round(share * trials)
    low = 0.0 if hits == 0 else stats.beta.ppf(alpha, hits, trials - hits + 1)
    high = 1.0 if hits == trials else stats.beta.isf(alpha, hits + 1, trials - hits)
    assert at_least(hits, trials, alpha) == pytest.approx(low, rel=1e-6, abs=1e-15)
    assert at_most(hits, trials, alpha) == pytest.approx(high, rel=1e-6, abs=1e-15)


def test_no_hit_and_only_hits_give_the_trivial_limits() -> None:
    assert at_least(0, 100, 0.01) == 0.0
    assert at_most(100, 100, 0.01) == 1.0
    assert at_most(0, 1000, 0.01) == pytest.approx(-math.log(0.01) / 1000, rel=0.01)


def test_an_event_seen_on_one_side_only_proves_about_the_logarithm_of_the_number_of_runs() -> None:
    """About ln(N p' / ln(2 / alpha))."""
    bound = epsilon_at_least(20_000, 0, 20_000, 1e-6)
    assert bound == pytest.approx(math.log(20_000 / math.log(2e6)), abs=0.02)


def test_delta_lowers_the_bound_and_can_explain_everything() -> None:
    plain, with_delta = (epsilon_at_least(500, 10, 1000, 1e-3, delta) for delta in (0.0, 0.2))
    assert plain > with_delta > 0
    assert epsilon_at_least(500, 10, 1000, 1e-3, 0.6) == 0


def test_mu_is_found_at_any_threshold_of_a_gaussian_shift() -> None:
    draws, mu = np.random.default_rng(1).normal(size=(2, 200_000)), 0.5
    for threshold in (-0.5, 0.25, 1.0):
        hits = [int((draws[side] + side * mu >= threshold).sum()) for side in (0, 1)]
        assert mu - 0.05 < mu_at_least(hits[1], hits[0], 200_000, 1e-6) < mu


def test_the_limits_fail_no_more_often_than_promised() -> None:
    """Of 4000 samples at alpha = 0.05 fewer than 250 may fail: 200 are expected at most, with a deviation of 14."""
    rng = np.random.default_rng(2)
    for p in (0.003, 0.1, 0.5):
        hits = rng.binomial(500, p, 4000)
        known = {int(hit): (at_least(int(hit), 500, 0.05), at_most(int(hit), 500, 0.05)) for hit in set(hits)}
        assert sum(known[int(hit)][0] > p for hit in hits) < 250
        assert sum(known[int(hit)][1] < p for hit in hits) < 250


def test_the_event_is_the_tail_that_tells_the_tables_apart_in_either_direction() -> None:
    rng = np.random.default_rng(3)
    low, high = rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000)
    upper = best_event(low, high, 1e-6)
    assert (upper.above, upper.favours_changed) in {(True, True), (False, False)}
    swapped = best_event(high, low, 1e-6)
    assert (swapped.above, swapped.favours_changed) in {(True, False), (False, True)}


def observed(scale: float, seed: int):
    rng = np.random.default_rng(seed)
    return lambda changed, count: rng.laplace(float(changed), scale, count)


def test_true_claims_pass_and_claims_that_are_a_quarter_too_good_are_refuted() -> None:
    """100 true claims of ε = 1 at a false-alarm rate of 1e-8 each; and their broken twins."""
    verdicts = [sampled("", 1.0, observed(1.0, seed), 20_000).refuted for seed in range(100)]
    assert not any(verdicts)
    assert all(sampled("", 1.0, observed(0.7, seed), 20_000).refuted for seed in range(20))


def test_the_observations_that_choose_an_event_do_not_judge_it() -> None:
    """Pure noise judged by its own pilot would look telling; on fresh draws it is not."""
    rng = np.random.default_rng(4)
    asked: list[tuple[bool, int]] = []

    def observe(changed: bool, count: int) -> np.ndarray:
        asked.append((changed, count))
        return rng.normal(size=count)

    assert sampled("", 0.5, observe, 1000).lower_bound == 0
    assert asked == [(False, 500), (True, 500)] * 2
