"""The samplers' decisions, checked one by one against arithmetic to 100 decimals.

A sampler is a function of its source's bytes. These tests choose the bytes: every possible
first word, and words that agree with a threshold to 64 bits and part from it later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.noise import (
    RandomSource,
    gaussian,
    laplace,
    permutation,
    randomized_response,
    staircase,
    uint64s,
)
from rankveil.noise import bernoulli as coins
from rankveil.noise.enclosure import exp_bounds
from rankveil.noise.staircase import Staircase
from rankveil.noise.thresholds import ThresholdTable
from rankveil.noise.uniform import fold

DIGITS = 100
REFERENCE_BITS = 300
WORDS = np.arange(1 << 16, dtype="<u2")


class Script(RandomSource):
    """Answers successive calls with prepared bytes; an int means that byte, repeated."""

    def __init__(self, *answers: bytes | int, then: int = 0) -> None:
        self._answers: Iterator[bytes | int] = chain(answers, repeat(then))

    def random_bytes(self, count: int) -> bytes:
        answer = next(self._answers)
        if isinstance(answer, int):
            return bytes([answer]) * count
        if len(answer) != count:
            raise AssertionError(f"the script has {len(answer)} bytes where {count} were asked for")
        return answer


def little(word: int, size: int = 8) -> bytes:
    return word.to_bytes(size, "little")


def exp(exponent: Fraction) -> Fraction:
    """exp(exponent) rounded to a multiple of 2**-300, from 100 significant digits."""
    if exponent < -1000:
        return Fraction(0)
    with localcontext() as context:
        context.prec = DIGITS
        value = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        return Fraction(int(value * 2**REFERENCE_BITS), 2**REFERENCE_BITS)


exponents = st.fractions(0, 60, max_denominator=10**6)


# --- bounds -------------------------------------------------------------------------------


@given(exponents, st.integers(1, 200))
def test_integer_bounds_enclose_the_exponential_tightly(exponent: Fraction, bits: int) -> None:
    low, high = exp_bounds(exponent, bits)
    assert low <= exp(-exponent) * 2**bits <= high
    assert high - low <= 3


def test_every_table_entry_is_the_exponential_rounded_down_or_one_unit_less() -> None:
    for table, step in zip(coins._tables(), (Fraction(1, 2**8), Fraction(1, 2**20)), strict=True):
        with localcontext() as context:
            context.prec = 40
            unit = Decimal(step.numerator) / Decimal(step.denominator)
            for k, entry in enumerate(table.tolist()):
                exact = (-k * unit).exp() * 2**32
                assert exact - 1 <= entry <= exact
                assert entry < 2**32


@given(st.integers(0, 23 << 20))
def test_the_product_of_table_entries_is_low_by_less_than_its_stated_error(units: int) -> None:
    low = int(coins._exp_low(np.array([units], dtype=np.uint64))[0])
    assert low <= exp(-Fraction(units, 2**20)) * 2**32 < low + int(coins._TABLE_ERROR)


@given(
    st.fractions(Fraction(1, 2**20), Fraction(2**20)) | st.integers(1, 2**70).map(Fraction),
    st.integers(0, 2**64 - 1) | st.integers(0, 1000),
)
def test_rounded_exponents_of_gaps_are_low_by_at_most_the_slack(scale: Fraction, gap: int) -> None:
    sampler = coins.GapCoins(scale)
    for value in {gap, gap % (int(24 * scale) + 1)}:
        units = int(sampler._exponents(np.array([value], dtype=np.uint64))[0])
        exact = value / scale * 2**20
        assert units <= exact or exact >= 23 << 20
        assert exact <= units + sampler._SLACK or units >= 23 << 20
        assert (units < 23 << 20) or exact >= 23 << 20


staircases = st.one_of(
    st.fractions(16, 2**20, max_denominator=1000).map(laplace._sampler.__wrapped__),
    st.integers(16, 2**45).map(lambda scale: laplace._sampler.__wrapped__(Fraction(scale))),
    st.integers(256, 2**80).map(lambda variance: gaussian._sampler.__wrapped__(Fraction(variance))),
)


@given(staircases, st.integers(0, 255), st.data())
def test_rounded_exponents_on_the_staircase_are_low_by_at_most_the_slack(
    stairs: Staircase, step: int, data: st.DataObject
) -> None:
    width = 1 << stairs._step_bits
    position = data.draw(st.integers(0, width - 1))
    units = int(stairs._exponents(np.array([step]), np.array([position]))[0])
    share = Fraction(position, width)
    exact = (stairs._linear * share + stairs._quadratic * (2 * step + share) * share) * 2**20
    assert units <= exact <= units + staircase._SLACK


# --- thresholds ---------------------------------------------------------------------------


def laplace_thresholds(scale: Fraction) -> tuple[ThresholdTable, list[Fraction]]:
    stairs = laplace._sampler(scale)
    width = 1 << stairs._step_bits
    return stairs._steps, [1 - exp(-k * width / scale) for k in range(1, 900)]


def gaussian_thresholds(variance: Fraction) -> tuple[ThresholdTable, list[Fraction]]:
    stairs = gaussian._sampler(variance)
    width = 1 << stairs._step_bits
    weights = [exp(-Fraction((k * width) ** 2) / (2 * variance)) for k in range(400)]
    total, sums, so_far = sum(weights), [], Fraction(0)
    for weight in weights:
        so_far += weight
        sums.append(so_far / total)
    return stairs._steps, sums


def flip_thresholds(epsilon: Fraction) -> tuple[ThresholdTable, list[Fraction]]:
    return randomized_response._flip_table(epsilon), [1 / (1 + exp(epsilon))]


TABLES = {
    "laplace 1/5": laplace_thresholds(Fraction(1, 5)),
    "laplace 7/3": laplace_thresholds(Fraction(7, 3)),
    "laplace 10**6 + 1/3": laplace_thresholds(Fraction(3 * 10**6 + 1, 3)),
    "gaussian 1/5": gaussian_thresholds(Fraction(1, 5)),
    "gaussian 7/3": gaussian_thresholds(Fraction(7, 3)),
    "gaussian 10**9": gaussian_thresholds(Fraction(10**9)),
    "flip 1": flip_thresholds(Fraction(1)),
    "flip 40": flip_thresholds(Fraction(40)),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_first_word_leads_to_the_exact_index_at_both_of_its_ends(name: str) -> None:
    """All 65 536 first words, each followed by zeros only and by 48 ones and then zeros."""
    table, thresholds = TABLES[name]
    left = table.draw(WORDS.size, Script(WORDS.tobytes(), 0x00))
    right = table.draw(WORDS.size, Script(WORDS.tobytes(), 0xFF))
    # t <= u * 2**-64 for an integer u if and only if ceil(t * 2**64) <= u, so never if it is 2**64.
    rounded_up = [-int(-t * 2**64 // 1) for t in thresholds]
    reachable = np.array([t for t in rounded_up if t < 2**64], dtype=np.uint64)
    first = WORDS.astype(np.uint64) << np.uint64(48)
    last = first | np.uint64(2**48 - 1)
    assert np.array_equal(left, np.searchsorted(reachable, first, side="right"))
    assert np.array_equal(right, np.searchsorted(reachable, last, side="right"))


@pytest.mark.parametrize("extra_words", [1, 2])
@pytest.mark.parametrize("name", TABLES)
def test_a_draw_that_agrees_with_a_threshold_for_64_bits_is_decided_by_later_bits(name: str, extra_words: int) -> None:
    table, thresholds = TABLES[name]
    for index in {0, 1, 2, 7, 30} & set(range(len(thresholds))):
        bits = 64 * (1 + extra_words)
        on_the_left = int(thresholds[index] * 2**bits)
        if on_the_left + 2 >= 1 << bits:
            continue  # so close to 1 that no uniform number lies to its right at this precision
        for side in (-1, 0, 1, 2):
            uniform = on_the_left + side
            words = [little(uniform >> 64 * i & (2**64 - 1)) for i in reversed(range(extra_words + 1))]
            first = uniform >> (bits - 16)
            rest = uniform >> (bits - 64) & (2**48 - 1)
            script = Script(little(first, 2), little(rest << 16), *words[1:])
            assert table.draw(1, script)[0] == bisect_right(thresholds, Fraction(uniform, 2**bits))


# --- coins --------------------------------------------------------------------------------


@given(st.integers(1, 50), st.fractions(Fraction(1, 3), 100, max_denominator=1000), st.integers(1, 3))
def test_a_coin_that_agrees_with_its_probability_for_32_bits_is_decided_by_later_bits(
    gap: int, scale: Fraction, extra_words: int
) -> None:
    bits = 32 + 64 * extra_words
    on_the_left = int(exp(-gap / scale) * 2**bits)
    for side in (-1, 0, 1):
        uniform = max(0, on_the_left + side)
        later = [little(uniform >> 64 * i & (2**64 - 1)) for i in reversed(range(extra_words))]
        heads = coins.bernoulli_exp(
            np.array([gap]), scale, Script(little(uniform >> 64 * extra_words, 4), *later, then=0)
        )
        assert heads[0] == (Fraction(uniform, 2**bits) < exp(-gap / scale))


def test_a_coin_with_exponent_zero_lands_heads_even_for_the_largest_number() -> None:
    assert coins.bernoulli_exp(np.zeros(3, dtype=np.int64), Fraction(7), Script(0xFF)).all()


def test_a_coin_with_a_huge_exponent_is_decided_by_the_first_bit_that_is_not_zero() -> None:
    script = Script(bytes(4), bytes(8), bytes(8), little(1))
    assert not coins.bernoulli_exp(np.array([10**6]), Fraction(1), script)[0]


STAIRCASES = {
    "laplace 100": laplace._sampler(Fraction(100)),
    "laplace 2**40": laplace._sampler(Fraction(2**40)),
    "gaussian 10**6": gaussian._sampler(Fraction(10**6)),
    "gaussian 2**70": gaussian._sampler(Fraction(2**70)),
}


@pytest.mark.parametrize("name", STAIRCASES)
def test_every_first_word_decides_whether_a_proposal_is_kept_exactly(name: str) -> None:
    """All 65 536 first words, for steps near, far and beyond the tables."""
    sampler = STAIRCASES[name]
    width = 1 << sampler._step_bits
    for step, position in [
        (0, 0),
        (0, 1),
        (0, width - 1),
        (3, width - 1),
        (40, width // 2),
        (300, 1),
        (5000, 1),
    ]:
        share = Fraction(position, width)
        exponent = sampler._linear * share + sampler._quadratic * (2 * step + share) * share
        chance = exp(-exponent)
        for fill in (0x00, 0xFF):
            # The first word w with (w + tail) / 2**16 >= chance, and all from there, must say no.
            tail = Fraction(fill * 257, 2**16)
            border = max(0, -int((tail - chance * 2**16) // 1))
            # Far steps are decided one by one, slowly: there the words around the border must do.
            words = WORDS if step < 256 else WORDS[max(0, border - 500) : border + 500]
            steps, positions = np.full(words.size, step), np.full(words.size, position)
            kept = sampler._keep(steps, positions, Script(words.tobytes(), fill, then=0))
            assert np.array_equal(kept, words < border)


# --- uniform ------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", range(1, 256))
def test_each_residue_is_kept_for_equally_many_words(bound: int) -> None:
    """All words of 8 bits; the code is the same for 32 and 64 bits."""
    words = np.arange(256, dtype=np.uint8)
    residue, kept = fold(words, np.full(256, bound, dtype=np.uint8))
    assert np.bincount(residue[kept], minlength=bound).tolist() == [256 // bound] * bound


@given(st.integers(1, 2**63), st.integers(0, 2**64 - 1))
def test_words_of_64_bits_are_kept_up_to_the_last_full_block(bound: int, word: int) -> None:
    words, bounds = np.array([word], dtype=np.uint64), np.array([bound], dtype=np.uint64)
    residue, kept = fold(words, bounds)
    assert int(residue[0]) == word % bound
    assert kept[0] == (word < 2**64 // bound * bound)


def test_equal_keys_in_a_permutation_are_all_drawn_again() -> None:
    keys = np.array([5, 9, 5], dtype="<u8").tobytes()
    fresh = np.array([7, 1, 3], dtype="<u8").tobytes()
    assert permutation(Script(keys, fresh), 3).tolist() == [1, 2, 0]


def test_words_are_read_low_byte_first_on_every_machine() -> None:
    assert uint64s(Script(bytes([1, 0, 0, 0, 0, 0, 0, 2])), 1).tolist() == [1 + (2 << 56)]


def test_the_reference_arithmetic_of_these_tests_is_itself_right() -> None:
    """e to 50 decimals, as printed in tables."""
    with localcontext() as context:
        context.prec = 60
        value = Decimal(exp(Fraction(1)).numerator) / Decimal(exp(Fraction(1)).denominator)
        digits = value.quantize(Decimal(10) ** -50, rounding=ROUND_FLOOR)
    assert str(digits) == "2.71828182845904523536028747135266249775724709369995"
