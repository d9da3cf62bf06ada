"""Do draws of the joint channel follow its exact matrix, and does no aligned release beat T26 and T27?

Chi-square tests turn a correct sampler away with probability 1e-6; each must reject weights 10 % off in either
direction. Sources are seeded, so a run repeats exactly.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from rankveil import Plan, release
from rankveil.aligned.channel import Channel, HammingBall, Window, least_bit_error, ratio_within
from rankveil.noise import SeededSource
from rankveil.noise.coins import RationalCoins
from tests.support import exact_matrix, integer, plan_text

FALSE_ALARM = 1e-6
DRAWS = 200_000
WEIGHTS = ratio_within(Fraction(2))
CHANNELS: dict[str, Channel] = {
    **{f"ball of radius {radius}": HammingBall((2, 3, 2), radius, *WEIGHTS) for radius in range(3)},
    "ball with a column of one group": HammingBall((3, 1, 2), 1, *WEIGHTS),
    "ball over equal columns": HammingBall((2, 2, 2, 2), 2, *WEIGHTS),
    "window of 1": Window((6,), 1, *WEIGHTS),
    "window of 3": Window((6,), 3, *WEIGHTS),
}


def follows(channel: Channel, claimed: Channel, seed: int) -> bool:
    """Whether draws from `channel` for a few inputs agree with the matrix of `claimed`; false alarm at most 1e-6."""
    everything = list(itertools.product(*map(range, claimed.sizes)))
    inputs = sorted({0, len(everything) // 2, len(everything) - 1})
    matrix = exact_matrix(claimed)
    for place in inputs:
        drawn = channel.drawn(np.tile(np.array(everything[place]), (DRAWS, 1)), SeededSource(seed + place))
        index = np.ravel_multi_index(tuple(drawn.T), claimed.sizes)
        observed = np.bincount(index, minlength=len(everything))
        expected = np.array([float(p) for p in matrix[place]]) * DRAWS
        if stats.chisquare(observed, expected).pvalue < FALSE_ALARM / len(inputs):
            return False
    return True


@pytest.mark.parametrize("name", CHANNELS)
def test_draws_follow_the_exact_matrix(name: str) -> None:
    assert follows(CHANNELS[name], CHANNELS[name], seed=1)


@pytest.mark.parametrize("factor", [(11, 10), (9, 10)], ids=["too far apart", "too close"])
@pytest.mark.parametrize("name", CHANNELS)
def test_the_check_rejects_weights_ten_percent_off(name: str, factor: tuple[int, int]) -> None:
    right = CHANNELS[name]
    inside, outside = WEIGHTS[0] * factor[0], WEIGHTS[1] * factor[1]
    twin: Channel
    if isinstance(right, HammingBall):
        twin = HammingBall(right.sizes, right.radius, inside, outside)
    else:
        twin = Window(right.sizes, right.width, inside, outside)
    assert not follows(twin, right, seed=2)


def test_rows_are_drawn_independently() -> None:
    """Two rows with the same input agree as often as independent draws do (within 5 deviations)."""
    channel = HammingBall((2, 3, 2), 1, *WEIGHTS)
    drawn = channel.drawn(np.zeros((DRAWS, 3), np.int64), SeededSource(5))
    first, second = drawn[::2], drawn[1::2]
    chance = float(sum(p * p for p in exact_matrix(channel)[0]))
    deviation = math.sqrt(chance * (1 - chance) / len(first))
    assert abs((first == second).all(axis=1).mean() - chance) < 5 * deviation


@pytest.mark.parametrize("off", [Fraction(0), Fraction(1, 10), Fraction(-1, 10)], ids=["right", "more", "less"])
def test_coins_show_heads_as_often_as_they_should_and_the_check_sees_ten_percent(off: Fraction) -> None:
    chances = [Fraction(1, 3), Fraction(2, 7), Fraction(10**30, 3 * 10**30 + 1), Fraction(1, 50)]
    drawn_with = [chance * (1 + off) for chance in chances]
    coins = RationalCoins([p.numerator for p in drawn_with], [p.denominator for p in drawn_with])
    kinds = np.tile(np.arange(4), DRAWS)
    heads = coins.flip(kinds, SeededSource(7))
    for kind, chance in enumerate(chances):
        seen = int(heads[kinds == kind].sum())
        fine = stats.binomtest(seen, DRAWS, float(chance)).pvalue > FALSE_ALARM / len(chances)
        assert fine == (off == 0)


# T26 and T27, on whole releases


@pytest.mark.parametrize("epsilon", [1, 3])
def test_an_aligned_release_of_two_far_values_errs_at_least_as_t26_says(epsilon: int) -> None:
    """Within 5 deviations of D / (1 + e^ε) or above it; and not far above, the channel being near the optimum."""
    values = (np.arange(20_000) % 2) * 100
    plan = Plan.parse(plan_text({"a": integer(100)}, method="aligned", epsilon=epsilon))
    made = release(pa.table({"a": values}), plan, source=SeededSource(3))
    error = np.abs(made.table["a"].to_numpy() - values).mean() / 100
    least = 1 / (1 + math.exp(epsilon))
    deviation = math.sqrt(least * (1 - least) / len(values))
    assert least - 5 * deviation < error < 1.3 * least + 0.02


@pytest.mark.parametrize("epsilon", [2, 5])
def test_an_aligned_release_of_fair_bits_errs_at_least_as_t27_says(epsilon: int) -> None:
    rng = np.random.default_rng(1)
    bits = {f"b{place}": rng.integers(0, 2, 20_000).astype(bool) for place in range(4)}
    plan = Plan.parse(plan_text(dict.fromkeys(bits, 'kind = "boolean"'), method="aligned", epsilon=epsilon))
    made = release(pa.table(bits), plan, source=SeededSource(4))
    error = float(np.mean([made.table[name].to_numpy() != values for name, values in bits.items()]))
    least = least_bit_error(4, epsilon)
    assert least - 0.01 < error < least_bit_error(4, 0.9 * epsilon) + 0.01
