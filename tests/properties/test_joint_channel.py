"""Method `aligned`: the channel of one record, enumerated in exact arithmetic, is ε-DP for all columns together."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.aligned.channel import (
    Channel,
    HammingBall,
    Window,
    least_bit_error,
    ratio_within,
    stay_chances,
    window_chances,
)
from rankveil.noise import RandomSource
from rankveil.noise.coins import RationalCoins
from tests.support import exact_matrix

PRODUCTS = [(2, 3, 2), (2, 2), (4, 3), (2, 1, 3), (1, 1), (5,)]
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(12)]


def at_most_exp(ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether ratio <= e^ε, to 100 digits; False if those leave a doubt."""
    with localcontext() as context:
        context.prec = 120
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return log + Decimal("1e-100") <= Decimal(epsilon.numerator) / Decimal(epsilon.denominator)


def largest_ratio(channel: Channel) -> Fraction:
    """max over outputs and pairs of inputs of P(y|x) / P(y|x')."""
    return max(max(column) / min(column) for column in zip(*exact_matrix(channel), strict=True))


def balls(epsilon: Fraction) -> list[HammingBall]:
    weights = ratio_within(epsilon)
    return [HammingBall(sizes, radius, *weights) for sizes in PRODUCTS for radius in range(len(sizes) + 1)]


def windows(epsilon: Fraction) -> list[Window]:
    weights = ratio_within(epsilon)
    return [Window((size,), width, *weights) for size in range(1, 9) for width in range(1, size + 1, 2)]


@given(st.fractions(Fraction(1, 10**9), 50))
def test_the_ratio_of_weights_is_at_most_e_to_epsilon_and_less_by_one_part_in_2_to_60(epsilon: Fraction) -> None:
    ratio = Fraction(*ratio_within(epsilon))
    assert at_most_exp(ratio, epsilon)
    assert not at_most_exp(ratio * (1 + Fraction(1, 1 << 60)), epsilon)


def test_an_enormous_epsilon_gets_a_ratio_that_still_fits_into_memory() -> None:
    inside, outside = ratio_within(Fraction(10**9))
    assert inside.bit_length() < 10_000
    assert at_most_exp(Fraction(inside, outside), Fraction(4096))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_no_output_of_the_channel_tells_two_records_apart_by_more_than_epsilon(epsilon: Fraction) -> None:
    for channel in [*balls(epsilon), *windows(epsilon)]:
        assert at_most_exp(largest_ratio(channel), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_enumeration_catches_weights_a_tenth_too_far_apart(epsilon: Fraction) -> None:
    inside, outside = ratio_within(epsilon)
    for sizes, radius in [((2, 3, 2), 0), ((2, 3, 2), 1), ((2, 3, 2), 2), ((4, 3), 1)]:
        twin = HammingBall(sizes, radius, inside * 11, outside * 10)
        assert not at_most_exp(largest_ratio(twin), epsilon)
    assert not at_most_exp(largest_ratio(Window((7,), 3, inside * 11, outside * 10)), epsilon)


def test_every_input_has_outputs_whose_probabilities_add_up_to_one() -> None:
    for channel in [*balls(Fraction(1)), *windows(Fraction(1))]:
        assert all(sum(row) == 1 for row in exact_matrix(channel))


def test_the_number_of_outputs_within_the_radius_is_what_counting_them_gives() -> None:
    for sizes in [*PRODUCTS, (2, 3, 4, 2), (3, 3, 3)]:
        everything = list(itertools.product(*map(range, sizes)))
        for x in everything[:: max(1, len(everything) // 5)]:
            distances = [sum(a != b for a, b in zip(x, y, strict=True)) for y in everything]
            for radius in range(len(sizes) + 1):
                assert HammingBall(sizes, radius, 1, 0).total == sum(d <= radius for d in distances)


@pytest.mark.parametrize("sizes", PRODUCTS, ids=str)
def test_going_through_the_columns_draws_exactly_from_the_matrix(sizes: tuple[int, ...]) -> None:
    for radius in range(len(sizes) + 1):
        channel = HammingBall(sizes, radius, *ratio_within(Fraction(3, 2)))
        everything = list(itertools.product(*map(range, sizes)))
        for x, row in zip(everything, exact_matrix(channel), strict=True):
            for y, expected in zip(everything, row, strict=True):
                chance, changes = Fraction(1), 0
                for column, (a, b) in enumerate(zip(x, y, strict=True)):
                    change = Fraction(*channel.change(column, changes))
                    chance *= 1 - change if a == b else change / (sizes[column] - 1)
                    changes += a != b
                assert chance == expected


def test_windows_have_the_same_width_everywhere_and_hold_the_input() -> None:
    for channel in windows(Fraction(1)):
        for x in range(channel.sizes[0]):
            inside = [y for y in range(channel.sizes[0]) if channel.weight((x,), (y,)) == channel.inside]
            assert len(inside) == channel.width
            assert x in inside
            assert inside == list(range(inside[0], inside[0] + channel.width))


def test_the_floating_point_chances_agree_with_the_exact_matrices() -> None:
    epsilon = Fraction(7, 3)
    for sizes in [(2, 3, 2), (4, 3), (2, 1, 3)]:
        chances = stay_chances(sizes, float(epsilon))
        everything = list(itertools.product(*map(range, sizes)))
        for radius in range(len(sizes)):
            row = exact_matrix(HammingBall(sizes, radius, *ratio_within(epsilon)))[0]
            for column in range(len(sizes)):
                stays = sum(p for y, p in zip(everything, row, strict=True) if y[column] == 0)
                assert math.isclose(chances[radius, column], stays, rel_tol=1e-9)
    for channel in windows(epsilon):
        exact = np.array(exact_matrix(channel)).astype(np.float64)
        np.testing.assert_allclose(window_chances(channel.sizes[0], channel.width, float(epsilon)), exact, rtol=1e-9)


# T27: how good the best can be


@pytest.mark.parametrize(
    ("columns", "epsilon", "printed"),
    [(13, 1, 0.445), (13, 2, 0.392), (13, 5, 0.246), (13, 10, 0.083), (4, 1, 0.395), (4, 5, 0.049), (4, 10, 0.0004)],
)
def test_the_ball_has_the_least_bit_error_that_t27_allows_and_a_split_by_attribute_is_worse(
    columns: int, epsilon: int, printed: float
) -> None:
    error = least_bit_error(columns, epsilon)
    assert round(error, 4 if printed < 0.001 else 3) == printed
    split = 1 / (1 + math.exp(epsilon / columns))
    assert split > error + 0.03


def test_for_one_bit_the_least_error_is_that_of_randomized_response() -> None:
    for epsilon in (0.1, 1.0, 5.0):
        assert math.isclose(least_bit_error(1, epsilon), 1 / (1 + math.exp(epsilon)))


@pytest.mark.parametrize("epsilon", [1, 3, 6])
def test_no_other_weighting_by_distance_beats_the_ball_on_four_fair_bits(epsilon: int) -> None:
    """All non-increasing weights by distance with steps in a coarse grid between 1 and e^ε."""
    levels = np.exp(np.linspace(0, epsilon, 7))
    ways = np.array([1, 4, 6, 4, 1])
    best = least_bit_error(4, epsilon)
    for weights in itertools.combinations_with_replacement(levels[::-1], 5):
        law = ways * np.array(weights)
        assert (law * np.arange(5)).sum() / law.sum() / 4 >= best - 1e-12


@pytest.mark.parametrize(("epsilon", "printed"), [(1, 0.243), (2, 0.168), (4, 0.068), (8, 0.0022)])
def test_the_best_window_over_twenty_cells_has_the_printed_rank_error(epsilon: int, printed: float) -> None:
    away = np.abs(np.arange(20)[:, None] - np.arange(20)) / 20
    errors = [(window_chances(20, width, epsilon) * away).sum() / 20 for width in range(1, 21, 2)]
    assert round(min(errors), 4 if printed < 0.01 else 3) == printed


# Coins


class Words(RandomSource):
    """A source that hands out chosen 64-bit words."""

    def __init__(self, *words: int) -> None:
        self._left = b"".join(word.to_bytes(8, "little") for word in words)

    def random_bytes(self, count: int) -> bytes:
        given, self._left = self._left[:count], self._left[count:]
        return given


TOP = (1 << 64) - 1


@pytest.mark.parametrize(
    ("heads", "out_of", "words", "expected"),
    [
        (1, 3, [TOP // 3 - 1], True),
        (1, 3, [TOP // 3 + 1], False),
        (1, 3, [TOP // 3, TOP // 3 - 1], True),  # a third of the rest: the same question again
        (1, 3, [TOP // 3, TOP // 3 + 1], False),
        (1, 3, [TOP // 3, TOP // 3, 0], True),
        (1, 2, [(1 << 63) - 1], True),
        (1, 2, [1 << 63], False),
        (0, 7, [0], False),
        (7, 7, [TOP], True),
        (10**30 - 1, 10**30, [TOP, 0], True),
        (10**30 - 1, 10**30, [TOP, TOP], False),
    ],
)
def test_a_coin_compares_all_bits_of_a_uniform_number_with_its_probability(
    heads: int, out_of: int, words: list[int], expected: bool
) -> None:
    number = sum(Fraction(word, 1 << (64 * (place + 1))) for place, word in enumerate(words))
    assert (number < Fraction(heads, out_of)) is expected
    assert bool(RationalCoins([heads], [out_of]).flip(np.zeros(1, np.int64), Words(*words))[0]) is expected


@pytest.mark.parametrize(("heads", "out_of"), [(-1, 2), (3, 2), (0, 0)])
def test_a_probability_outside_0_to_1_is_refused(heads: int, out_of: int) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        RationalCoins([heads], [out_of])
