"""Published accuracy: its intervals hold the figure without noise as often as they say, and a narrower one would not.

False alarms  Draws are from fixed seeds. When these were chosen, each test was to fail by chance at most once in 10^6:
              limits are 4.9 standard deviations of a binomial with 20,000 trials.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from rankveil.declare.unit import A_ROW, Unit
from rankveil.measure.accuracy import Exact, noisy_answers
from rankveil.measure.budget import Budget
from rankveil.noise import SeededSource, discrete_laplace
from rankveil.published_accuracy import figure_of, half_width

TRIALS = 20_000
SLACK = 4.9 * sqrt(0.05 * 0.95 / TRIALS)


def misses(scale: Fraction, drawn_with: Fraction, seed: int) -> float:
    return float(np.mean(np.abs(discrete_laplace(drawn_with, TRIALS, SeededSource(seed))) > half_width(scale)))


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(45), Fraction(3600)])
def test_an_interval_misses_in_at_most_five_of_a_hundred_cases(scale: Fraction) -> None:
    assert misses(scale, scale, 1) <= 0.05 + SLACK


@pytest.mark.parametrize("scale", [Fraction(45), Fraction(3600)])
def test_an_interval_for_a_tenth_less_noise_than_was_drawn_is_caught(scale: Fraction) -> None:
    assert misses(scale * 9 / 10, scale, 2) > 0.05 + SLACK


@pytest.mark.parametrize("unit", [A_ROW, Unit("add-remove", "who", 4)], ids=["rows", "persons"])
def test_figures_as_published_hold_the_exact_ones_as_often_as_they_say(unit: Unit) -> None:
    exact = Exact(40, 3, 220, 3, np.array([-7, 11]))
    truths = [40 / (2 * 500 * 3), 220 / (2 * 500 * 3), -7 / 500, 11 / 500]
    source, runs = SeededSource(3), 2000
    held = np.zeros(4)
    for _ in range(runs):
        for place, answer in enumerate(noisy_answers(exact, Budget(Fraction(1, 2), protects=unit), source)):
            figure = figure_of(
                answer.kind, noisy=answer.noisy, rows=500, tables=answer.tables, epsilon="1",
                scale=str(answer.noise.parameter), rows_public=unit.rows_public, condition=None,
            )  # fmt: skip
            assert figure.lower <= figure.value <= figure.upper
            assert answer.kind == "query" or figure.lower >= 0
            held[place] += figure.lower <= truths[place] <= figure.upper
    assert np.all(held / runs >= 0.95 - 4.9 * sqrt(0.05 * 0.95 / runs))
