"""Do the samplers follow their laws? Every check must also reject noise that is 10 % off.

One check serves all: a chi-square test of the number of draws in cells whose exact
probabilities are known, each cell expected to hold at least 100 draws. It rejects a
correct sampler with probability at most about 1e-6. Sources are seeded, so a
run repeats exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, permutations
from math import isqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from rankveil.noise import (
    SeededSource,
    below,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    flip_bits,
    laplace_floats,
    permutation,
    permute_and_flip,
    uniform_floats,
)

FALSE_ALARM = 1e-6
SMALLEST_EXPECTED = 100
TEN_PERCENT_OFF = [Fraction(9, 10), Fraction(11, 10)]
DRAWS = 400_000

Counts = NDArray[np.int64]


def fits(counts: Counts, probabilities: Sequence[float]) -> bool:
    """Whether counts of independent draws agree with the probabilities of their cells."""
    expected = np.array(probabilities) * counts.sum()
    merged_counts, merged_expected = [], []
    waiting_count, waiting = 0, 0.0
    for count, size in zip(counts.tolist(), expected.tolist(), strict=True):
        waiting_count, waiting = waiting_count + count, waiting + size
        if waiting >= SMALLEST_EXPECTED:
            merged_counts.append(waiting_count)
            merged_expected.append(waiting)
            waiting_count, waiting = 0, 0.0
    if not merged_counts:
        raise AssertionError("too few draws for this check")
    merged_counts[-1] += waiting_count
    merged_expected[-1] += waiting
    if len(merged_counts) == 1:
        raise AssertionError("one cell tests nothing")
    difference = np.array(merged_counts) - np.array(merged_expected)
    statistic = float((difference**2 / np.array(merged_expected)).sum())
    return bool(stats.chi2.sf(statistic, len(merged_counts) - 1) >= FALSE_ALARM)


def fits_integer_law(draws: Counts, cuts: Sequence[int], cumulative: Callable[[int], float]) -> bool:
    """The check for integers: cells are the ranges between cuts, `cumulative(c)` is P(z <= c)."""
    counts = np.bincount(np.searchsorted(cuts, draws, side="left"), minlength=len(cuts) + 1)
    steps = [0.0, *(cumulative(cut) for cut in cuts), 1.0]
    return fits(counts, [high - low for low, high in pairwise(steps)])


def exp(exponent: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 40
        return (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


# --- discrete Laplace ---------------------------------------------------------------------

LAPLACE_SCALES = [
    Fraction(1, 5),
    Fraction(1),
    Fraction(7, 3),
    Fraction(31, 2),
    Fraction(100),
    Fraction(3_000_001, 3),
    Fraction(2**44),
]


def fits_laplace(draws: Counts, scale: Fraction) -> bool:
    ratio = exp(-1 / scale)

    def cumulative(z: int) -> float:
        if z < 0:
            return float(exp(z / scale) / (1 + ratio))
        return float(1 - exp(-(z + 1) / scale) / (1 + ratio))

    quantiles = stats.laplace.ppf(np.linspace(0, 1, 130)[1:-1], scale=float(scale))
    cuts = sorted({-3, -2, -1, 0, 1, 2, *(int(q) for q in quantiles)})
    return fits_integer_law(draws, cuts, cumulative)


@pytest.mark.parametrize("scale", LAPLACE_SCALES, ids=str)
def test_laplace_draws_follow_the_discrete_laplace_law(scale: Fraction) -> None:
    assert fits_laplace(discrete_laplace(scale, DRAWS, SeededSource(1)), scale)


@pytest.mark.parametrize("factor", TEN_PERCENT_OFF, ids=str)
@pytest.mark.parametrize("scale", LAPLACE_SCALES, ids=str)
def test_laplace_check_rejects_a_scale_ten_percent_off(scale: Fraction, factor: Fraction) -> None:
    assert not fits_laplace(discrete_laplace(scale * factor, DRAWS, SeededSource(2)), scale)


def test_laplace_draws_at_large_scale_have_fair_low_bits_and_signs() -> None:
    draws = discrete_laplace(Fraction(2**40), DRAWS, SeededSource(3))
    assert fits(np.bincount(np.abs(draws) % 64, minlength=64), [1 / 64] * 64)
    assert fits(np.bincount((draws > 0).astype(np.int64)), [1 / 2] * 2)


def test_consecutive_laplace_draws_are_independent() -> None:
    draws = np.clip(discrete_laplace(Fraction(1), DRAWS, SeededSource(4)), -2, 2) + 2
    pairs = np.bincount(draws[::2] * 5 + draws[1::2], minlength=25).reshape(5, 5)
    assert stats.chi2_contingency(pairs).pvalue >= FALSE_ALARM


# --- discrete Gaussian --------------------------------------------------------------------

GAUSSIAN_VARIANCES = [
    Fraction(1, 5),
    Fraction(1),
    Fraction(7, 3),
    Fraction(255),
    Fraction(257),
    Fraction(10_001, 3),
    Fraction(10**12 + 1, 7),
    Fraction(2**79),
]
EXACT_SUMS_UP_TO = 10_000


def gaussian_cumulative(variance: Fraction) -> Callable[[int], float]:
    if variance > EXACT_SUMS_UP_TO:
        # The midpoint rule: the error is below 1 / (24 variance), far below what draws resolve.
        return lambda z: float(stats.norm.cdf((z + 0.5) / float(variance) ** 0.5))
    reach = 14 * (isqrt(int(variance)) + 1)
    weights = [exp(-Fraction(z * z) / (2 * variance)) for z in range(-reach, reach + 1)]
    total = sum(weights)
    sums = np.cumsum([float(weight / total) for weight in weights])
    return lambda z: float(sums[z + reach])


def fits_gaussian(draws: Counts, variance: Fraction) -> bool:
    quantiles = stats.norm.ppf(np.linspace(0, 1, 130)[1:-1], scale=float(variance) ** 0.5)
    cuts = sorted({-2, -1, 0, 1, *(int(q) for q in quantiles)})
    return fits_integer_law(draws, cuts, gaussian_cumulative(variance))


@pytest.mark.parametrize("variance", GAUSSIAN_VARIANCES, ids=str)
def test_gaussian_draws_follow_the_discrete_gaussian_law(variance: Fraction) -> None:
    assert fits_gaussian(discrete_gaussian(variance, DRAWS, SeededSource(5)), variance)


@pytest.mark.parametrize("factor", TEN_PERCENT_OFF, ids=str)
@pytest.mark.parametrize("variance", GAUSSIAN_VARIANCES, ids=str)
def test_gaussian_check_rejects_a_variance_ten_percent_off(variance: Fraction, factor: Fraction) -> None:
    assert not fits_gaussian(discrete_gaussian(variance * factor, DRAWS, SeededSource(6)), variance)


# --- coins --------------------------------------------------------------------------------

COIN_SCALES = [Fraction(7, 3), Fraction(1, 5), Fraction(40)]


def fits_coins(heads: NDArray[np.bool_], numerators: Counts, scale: Fraction) -> bool:
    counts, probabilities = [], []
    values = np.unique(numerators).tolist()
    for value in values:
        chance = float(exp(-value / scale)) / len(values)
        hits = int(heads[numerators == value].sum())
        counts += [hits, int((numerators == value).sum()) - hits]
        probabilities += [chance, 1 / len(values) - chance]
    return fits(np.array(counts), probabilities)


@pytest.mark.parametrize("scale", COIN_SCALES, ids=str)
def test_coins_land_heads_with_probability_exp_of_minus_the_exponent(scale: Fraction) -> None:
    numerators = np.arange(2 * DRAWS) % 8
    heads = bernoulli_exp(numerators, scale, SeededSource(7))
    assert heads[numerators == 0].all()
    assert fits_coins(heads, numerators, scale)


@pytest.mark.parametrize("factor", TEN_PERCENT_OFF, ids=str)
@pytest.mark.parametrize("scale", COIN_SCALES, ids=str)
def test_coin_check_rejects_a_scale_ten_percent_off(scale: Fraction, factor: Fraction) -> None:
    numerators = np.arange(2 * DRAWS) % 8
    assert not fits_coins(bernoulli_exp(numerators, scale * factor, SeededSource(8)), numerators, scale)


# --- selection ----------------------------------------------------------------------------

SCORES = np.array([0, 3, 5, 5, -4, 1], dtype=np.int64)
SELECTION_SCALES = [Fraction(7, 3), Fraction(9)]


def exponential_law(scale: Fraction) -> list[float]:
    weights = [exp(Fraction(score) / scale) for score in SCORES.tolist()]
    return [float(weight / sum(weights)) for weight in weights]


def permute_and_flip_law(scale: Fraction) -> list[float]:
    """By its definition: walk through every order of the candidates."""
    coins = [float(exp((score - int(SCORES.max())) / scale)) for score in SCORES.tolist()]
    law = [0.0] * len(coins)
    orders = list(permutations(range(len(coins))))
    for order in orders:
        still_walking = 1.0 / len(orders)
        for candidate in order:
            law[candidate] += still_walking * coins[candidate]
            still_walking *= 1 - coins[candidate]
    return law


MECHANISMS = {
    "exponential": (exponential_mechanism, exponential_law),
    "permute_and_flip": (permute_and_flip, permute_and_flip_law),
}


def selection_counts(name: str, scale: Fraction, seed: int) -> Counts:
    rows = np.tile(SCORES, (DRAWS, 1))
    return np.bincount(MECHANISMS[name][0](rows, scale, SeededSource(seed)), minlength=SCORES.size)


@pytest.mark.parametrize("scale", SELECTION_SCALES, ids=str)
@pytest.mark.parametrize("name", MECHANISMS)
def test_selection_follows_its_law(name: str, scale: Fraction) -> None:
    assert fits(selection_counts(name, scale, 9), MECHANISMS[name][1](scale))


@pytest.mark.parametrize("factor", TEN_PERCENT_OFF, ids=str)
@pytest.mark.parametrize("scale", SELECTION_SCALES, ids=str)
@pytest.mark.parametrize("name", MECHANISMS)
def test_selection_check_rejects_a_scale_ten_percent_off(name: str, scale: Fraction, factor: Fraction) -> None:
    assert not fits(selection_counts(name, scale * factor, 10), MECHANISMS[name][1](scale))


def test_selection_check_tells_the_two_mechanisms_apart() -> None:
    assert not fits(selection_counts("exponential", Fraction(9), 11), permute_and_flip_law(Fraction(9)))
    assert not fits(selection_counts("permute_and_flip", Fraction(9), 11), exponential_law(Fraction(9)))


def test_rows_with_different_scores_each_follow_their_own_law() -> None:
    """The same scores, cyclically shifted from row to row, must give cyclically shifted laws."""
    shifts = np.arange(DRAWS) % SCORES.size
    rows = SCORES[(np.arange(SCORES.size) + shifts[:, np.newaxis]) % SCORES.size]
    for draw, law in MECHANISMS.values():
        original = (draw(rows, Fraction(7, 3), SeededSource(12)) + shifts) % SCORES.size
        cells = np.bincount(shifts * SCORES.size + original, minlength=SCORES.size**2)
        assert fits(cells, [share / SCORES.size for _ in range(SCORES.size) for share in law(Fraction(7, 3))])


# --- randomized response ------------------------------------------------------------------

EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(5)]


def fits_randomized_response(epsilon_used: Fraction, epsilon_claimed: Fraction, seed: int) -> bool:
    bits = np.arange(2 * DRAWS) % 2 == 0
    flipped = flip_bits(bits, epsilon_used, SeededSource(seed)) != bits
    flip = float(1 / (1 + exp(epsilon_claimed)))
    counts = np.bincount(bits * 2 + flipped, minlength=4)
    return fits(counts, [(1 - flip) / 2, flip / 2] * 2)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_randomized_response_flips_with_its_stated_probability(epsilon: Fraction) -> None:
    assert fits_randomized_response(epsilon, epsilon, 13)


@pytest.mark.parametrize("factor", TEN_PERCENT_OFF, ids=str)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_randomized_response_check_rejects_ten_percent_off(epsilon: Fraction, factor: Fraction) -> None:
    assert not fits_randomized_response(epsilon * factor, epsilon, 14)


# --- uniform ------------------------------------------------------------------------------


def test_integers_below_a_bound_are_uniform() -> None:
    bounds = np.tile(np.array([6, 10], dtype=np.int64), DRAWS // 2)
    draws = below(SeededSource(15), bounds)
    assert fits(np.bincount(draws[::2], minlength=6), [1 / 6] * 6)
    assert fits(np.bincount(draws[1::2], minlength=10), [1 / 10] * 10)
    large = below(SeededSource(16), 3 * 2**61, DRAWS)
    assert fits(np.bincount(large >> 59, minlength=12), [1 / 12] * 12)


def test_uniform_check_rejects_a_residue_without_rejection() -> None:
    biased = below(SeededSource(17), 32, DRAWS) % 6
    assert not fits(np.bincount(biased, minlength=6), [1 / 6] * 6)


def test_permutations_of_four_are_equally_likely() -> None:
    source = SeededSource(18)
    orders = {order: i for i, order in enumerate(permutations(range(4)))}
    seen = [orders[tuple(permutation(source, 4).tolist())] for _ in range(24_000)]
    assert fits(np.bincount(seen, minlength=24), [1 / 24] * 24)
    lazy = [order if order else 1 for order in seen]  # a shuffle that never leaves things in place
    assert not fits(np.bincount(lazy, minlength=24), [1 / 24] * 24)


def test_uniform_floats_are_uniform_inside_the_unit_interval() -> None:
    draws = uniform_floats(SeededSource(20), DRAWS)
    assert draws.min() > 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue >= FALSE_ALARM


@pytest.mark.parametrize(("scale", "accepted"), [(2.5, True), (2.25, False), (2.75, False)])
def test_floating_laplace_has_its_scale_and_a_wrong_scale_is_noticed(scale: float, accepted: bool) -> None:
    draws = laplace_floats(scale, DRAWS, SeededSource(21))
    p_value = float(stats.kstest(draws, stats.laplace(scale=2.5).cdf).pvalue)
    assert (p_value >= FALSE_ALARM) is accepted
