"""Round numbers: what noisy counts of last digits do to a fitted column."""

from __future__ import annotations

import numpy as np
import pytest

from rankveil.declare.digits import LastDigits
from rankveil.fit.digits import with_round_numbers
from rankveil.fit.segments import Segments
from rankveil.measure.measurements import DigitCounts

SIZE = 5000
DIGITS = LastDigits(SIZE, 0, 2)
EVERY = np.arange(SIZE)
EVEN = Segments(
    np.array([0, 1, 1000, 3000]), np.array([1, 1000, 3000, SIZE]), np.array([500.0, 2000.0, 6000.0, 1500.0])
)


def counted(values: np.ndarray, deviation: float = 1.0, seed: int = 0) -> DigitCounts:
    exact = np.bincount(DIGITS.classes(values), minlength=DIGITS.count)
    noise = np.random.default_rng(seed).normal(0, deviation, DIGITS.count)
    return DigitCounts(DIGITS, np.rint(exact + noise), deviation, "discrete Gaussian")


def masses(segments: Segments) -> np.ndarray:
    """Of every code."""
    width = segments.high - segments.low
    assert (np.diff(segments.low) > 0).all() and (segments.high[:-1] <= segments.low[1:]).all()
    return np.repeat(segments.mass / width, width)


def drawn(step: int, part: float, seed: int = 1) -> np.ndarray:
    """10,000 values as `EVEN` has them, of which a part is rounded."""
    rng = np.random.default_rng(seed)
    values = rng.choice(SIZE, 10_000, p=masses(EVEN) / 10_000)
    rounded = np.minimum(np.rint(values / step).astype(np.int64) * step, SIZE - 1)
    return np.where(rng.random(10_000) < part, rounded, values)


@pytest.mark.parametrize("deviation", [1.0, 60.0])
@pytest.mark.parametrize("step", [10, 50, 100])
def test_rounded_values_get_their_share_and_segments_keep_their_mass(step: int, deviation: float) -> None:
    values = drawn(step, 0.8)
    found = with_round_numbers(EVEN, counted(values, deviation))
    mass = masses(found)
    assert mass.sum() == pytest.approx(10_000)
    for low, high, whole in zip(EVEN.low, EVEN.high, EVEN.mass, strict=True):
        assert mass[low:high].sum() == pytest.approx(whole)
    round_ones = EVERY % step == 0
    before = masses(EVEN)[round_ones].sum() / 10_000
    share, wanted = mass[round_ones].sum() / 10_000, np.mean(values % step == 0)
    assert abs(share - wanted) < 0.15 * wanted
    assert before < 0.25 * wanted  # what would be released without last digits


def test_values_that_end_alike_are_hardly_ever_taken_for_round_ones() -> None:
    """Chance of a false alarm: 2 in 100, of more than 7 in 50 runs: 1 in 100,000. Its twin is the test above."""
    values = drawn(1, 0.0)
    changed = sum(with_round_numbers(EVEN, counted(values, 60.0, seed)) is not EVEN for seed in range(50))
    assert changed <= 7


def test_a_code_that_stands_out_already_keeps_its_mass() -> None:
    found = with_round_numbers(EVEN, counted(drawn(100, 0.9)))
    assert masses(found)[0] == 500.0
