"""Bounds read off noisy counts: what counts as occupied, and how often noise makes them far too wide."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil import rules
from rankveil.declare.domain import OUTER_STEPS
from rankveil.measure import bounds
from rankveil.measure.bounds import Doubling, _ends, _height
from rankveil.measure.budget import Noise
from rankveil.noise import SeededSource

CELLS = Doubling(OUTER_STEPS)
LAPLACE = Noise("discrete Laplace", Fraction(20))
FEW = 60  # three scales: enough next to what is occupied, not enough elsewhere


def counted(values: object) -> np.ndarray:
    return CELLS.counts(np.asarray(values, np.int64) + OUTER_STEPS)


def ends(*groups: tuple[int, int]) -> tuple[int, int]:
    """The bounds for so many records at each of some values, under noise of scale 20 that happens to be zero."""
    return _ends(counted(np.repeat([value for value, _ in groups], [count for _, count in groups])), LAPLACE)


def test_bounds_are_the_powers_of_two_around_what_is_occupied_and_zero() -> None:
    assert ends((700, 1000)) == (0, 1024)
    assert ends((-700, 1000)) == (-1024, 0)
    assert ends((-3, 500), (700, 1000)) == (-4, 1024)
    assert ends((0, 500), (-1024, 500)) == (-2048, 0)
    assert ends((0, 1000)) == (0, 1)
    assert ends() == (0, 1)
    assert ends((OUTER_STEPS, 1000), (-OUTER_STEPS, 1000)) == (-2 * OUTER_STEPS, 2 * OUTER_STEPS)


@pytest.mark.parametrize("sign", [1, -1])
def test_few_records_widen_the_bounds_next_to_what_is_occupied_and_many_from_afar(sign: int) -> None:
    def reach(value: int, count: int) -> int:
        return max(map(abs, ends((sign * 700, 1000), (sign * value, count))))

    assert reach(1500, FEW) == 2048
    assert reach(2**30, FEW) == 1024
    assert reach(2**30, 140) == 1024, "more than noise leaves in any cell nine times out of ten"
    assert reach(2**30, 300) == 2**31


def test_amounts_beside_many_zeros_may_be_of_any_size() -> None:
    assert ends((0, 1000), (2**30, 140)) == (0, 2**31)


def test_the_other_side_of_zero_is_not_far_away() -> None:
    assert ends((700, 1000), (-700, 140)) == (-1024, 1024)
    assert ends((700, 1000), (-700, FEW)) == (0, 1024)


@given(st.sampled_from(["discrete Laplace", "discrete Gaussian"]), st.integers(1, 4000), st.floats(1e-7, 0.1))
def test_noise_exceeds_a_height_with_at_most_its_chance(name: str, tenths: int, chance: float) -> None:
    noise = Noise(name, Fraction(tenths, 10))  # type: ignore[arg-type]
    first = math.floor(_height(noise, chance)) + 1  # the smallest integer above
    with localcontext(prec=40):
        parameter = Decimal(tenths) / 10

        def weight(value: int) -> Decimal:
            power = Decimal(value) / parameter if name == "discrete Laplace" else Decimal(value) ** 2 / (2 * parameter)
            return (-power).exp()

        if name == "discrete Laplace":
            above = weight(first) / (1 + weight(1))  # both sums are geometric
        else:
            least = 1 + 2 * sum(weight(value) for value in range(1, first))
            # Beyond `first` each weight is at most the ratio of the first two times the one before.
            above = weight(first) / (1 - weight(first + 1) / weight(first)) / least
        assert above <= Decimal(chance)


def far_too_wide(draws: int) -> int:
    """How often noise makes the bounds of 3,000 amounts below 5,000 fifteen doublings too wide or more."""
    counts, source = counted(np.random.default_rng(1).integers(0, 5000, 3000)), SeededSource(18)
    found = [_ends(LAPLACE.added_to(counts, source), LAPLACE) for _ in range(draws)]
    return sum(highest - lowest >= 2**28 for lowest, highest in found)


def test_noise_seldom_makes_bounds_far_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,000, 0.5 are expected at most: 1.2 in 10,000 a side. More than 6 are as rare as 1e-6; the twin has about 20.

    The twin asks the same of every cell.
    """
    assert far_too_wide(2000) <= 6
    monkeypatch.setattr(bounds, "_height", lambda noise, _: _height(noise, rules.BOUNDS_TOO_WIDE / CELLS.size))
    assert far_too_wide(2000) > 6


def test_cells_are_numbered_by_doublings() -> None:
    assert counted([0, 1, -1, 2, 3]).nonzero()[0].tolist() == [0, 1, 2, CELLS.doublings + 1]
