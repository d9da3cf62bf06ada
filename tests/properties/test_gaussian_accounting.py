"""Gaussian accounting (T46) against the exact privacy loss of the discrete law, and its numbers against longer ones.

Laws are integers in units of 10⁻⁴⁰ that are rounded up, and what lies beyond their ends counts as lost: an exact δ
computed here is too large by less than 2·10⁻³⁵, never too small. A broken twin has a tenth less variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rankveil.audit.laws import well_smoothed, worst_loss
from rankveil.measure.accounting import (
    SLACK,
    better,
    delta_at_most,
    negligible,
    rho_within,
    smoothing,
    with_smoothing,
)
from rankveil.measure.budget import Budget, Price

UNIT = 10**40
ALMOST = Fraction(1, 10**35)
EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3), Fraction(10), Fraction(30))
BUDGETS = [(epsilon, delta) for epsilon in ("0.1", "1", "10", "100", "1000") for delta in ("1e-5", "1e-9")]

Law = tuple[NDArray[np.object_], int]  # probabilities of consecutive integers, and the first of these


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


@cache
def drawn(variance: Fraction) -> Law:
    """The discrete Gaussian of centre 0."""
    with localcontext() as context:
        context.prec = 60
        reach = math.ceil(math.sqrt(float(variance) * 2 * 42 * math.log(10)))
        weights = [(-Decimal(z * z) / decimal(2 * variance)).exp() for z in range(-reach, reach + 1)]
        whole = sum(weights)
        return np.array([int(weight / whole * UNIT) + 1 for weight in weights], dtype=object), -reach


@cache
def summed(variance: Fraction, count: int) -> Law:
    """Of the sum of so many draws."""
    if count == 1:
        return drawn(variance)
    (one, start), (other, other_start) = summed(variance, count // 2), summed(variance, count - count // 2)
    return np.convolve(one, other) // UNIT + 1, start + other_start


def exact_delta(variance: Fraction, count: int, epsilon: Fraction) -> Fraction:
    """The least δ for `count` integers that all change by 1: their loss is (count - 2 Σ noise) / (2 variance)."""
    chances, first = summed(variance, count)
    with localcontext() as context:
        context.prec = 60
        found = Decimal(0)
        for place, chance in enumerate(chances):
            excess = Fraction(count - 2 * (first + place)) / (2 * variance) - epsilon
            if excess > 0:
                found += chance * (1 - (-decimal(excess)).exp())
        return Fraction(found) / UNIT + ALMOST


def spread_within(variance: Fraction) -> Fraction:
    """The largest s², nearly, for which s² + r² is at most the variance."""
    return variance - smoothing(variance)


# The discrete law


@pytest.mark.parametrize("count", [2, 4, 20])
@pytest.mark.parametrize("variance", [1, 4, 25])
def test_the_stated_delta_dominates_the_exact_one_of_discrete_noise(variance: int, count: int) -> None:
    rho = count / (2 * spread_within(Fraction(variance)))
    for epsilon in EPSILONS:
        stated = delta_at_most(rho, epsilon)
        assert exact_delta(Fraction(variance), count, epsilon) <= stated + 2 * ALMOST


@pytest.mark.parametrize("count", [2, 4, 20])
@pytest.mark.parametrize("variance", [4, 25])
def test_a_variance_ten_percent_too_small_is_caught(variance: int, count: int) -> None:
    rho = count / (2 * spread_within(Fraction(variance)))
    too_small = Fraction(9, 10) * variance
    assert any(exact_delta(too_small, count, epsilon) > delta_at_most(rho, epsilon) + ALMOST for epsilon in EPSILONS)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("3", "1e-9"), ("10", "1e-9"), ("10", "1e-5")])
@pytest.mark.parametrize("count", [2, 20])
def test_noise_for_a_whole_budget_keeps_epsilon_and_delta_and_a_tenth_less_does_not(
    epsilon: str, delta: str, count: int
) -> None:
    budget = Budget(Fraction(epsilon), Fraction(delta), parts=10**4)
    assert budget.whole.accounting == "gaussian"
    noise = budget.whole.laplace_or_gaussian(l1=count, l2_squared=count)
    assert exact_delta(noise.parameter, count, Fraction(epsilon)) <= Fraction(delta)
    if noise.parameter > 4:
        assert exact_delta(Fraction(9, 10) * noise.parameter, count, Fraction(epsilon)) > Fraction(delta)


def test_without_the_smoothing_term_the_discrete_law_would_lose_more_than_is_stated() -> None:
    """Why r² is there: at a variance of 1 and an ε between the steps of the loss."""
    rho = Fraction(2) / 2  # two integers that change by 1, s² = 1 and r² = 0
    losing = [epsilon for tenth in range(1, 60) if (epsilon := Fraction(tenth, 10)) and _loses(rho, epsilon)]
    assert losing


def _loses(rho: Fraction, epsilon: Fraction) -> bool:
    return exact_delta(Fraction(1), 2, epsilon) - 2 * ALMOST > delta_at_most(rho, epsilon)


@pytest.mark.parametrize("spread", [Fraction(1, 20), Fraction(1, 4), Fraction(1), Fraction(3), Fraction(20)])
@pytest.mark.parametrize("added", [Fraction(1, 5), Fraction(5, 16)])
def test_a_discrete_draw_is_within_lambda_of_a_rounded_normal_one(spread: Fraction, added: Fraction) -> None:
    """L(z) / φ(z) is the mean of 1 / (1 + x(Y)), Y normal around z s²/v: by the trapezoid rule, exact to 13 digits."""
    s2, r2 = float(spread), float(added)
    t2 = s2 * r2 / (s2 + r2)
    grid = np.linspace(-12, 12, 4001)
    weights = np.exp(-(grid**2) / 2)
    k = np.arange(1, 12)[:, None]

    def mean(centre: float) -> float:
        y = centre + math.sqrt(t2) * grid
        x = 2 * (np.exp(-2 * math.pi**2 * r2 * k**2) * np.cos(2 * math.pi * k * y)).sum(axis=0)
        return float((weights / (1 + x)).sum() / weights.sum())

    means = [mean(z * s2 / (s2 + r2)) for z in range(60)]

    def theta(w: float) -> float:
        return float(2 * np.exp(-2 * math.pi**2 * w * k**2).sum())

    eta, q = theta(r2), theta(r2 + t2)
    assert 1 - q - 1e-12 <= min(means) and max(means) <= 1 + q + eta**2 / (1 - eta) + 1e-12
    assert max(means) - min(means) > q / 4, "the bound is of the right size"
    proven = negligible(spread, added)
    assert proven == (s2 * (2 * q + eta**2 / (1 - eta)) / (1 - q) <= float(SLACK))


# Questions that follow from answers

Rest = Callable[[int], tuple[Fraction, int]]  # after the first answer: variance, and how many integers


def _delta_of_two_steps(first: Fraction, rest: Rest, epsilon: Fraction) -> Fraction:
    chances, start = drawn(first)
    whole = Fraction(0)
    for place, chance in enumerate(chances):
        z = start + place
        loss = Fraction(1 - 2 * z) / (2 * first)
        variance, count = rest(z)
        # What the first answer lost is no longer there for the rest; an ε below zero is no exception.
        whole += Fraction(int(chance), UNIT) * exact_delta(variance, count, epsilon - loss)
    return whole


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2), Fraction(4)])
def test_a_second_question_chosen_from_the_first_answer_stays_within_the_stated_delta(epsilon: Fraction) -> None:
    """Prices add up to the whole whichever way is taken; a second question that costs twice the rest is caught."""
    rho = Fraction(1, 4)
    first = Price("rho", rho / 2).laplace_or_gaussian(l1=1, l2_squared=1).parameter

    def bought(price: Fraction) -> Rest:
        few = Price("rho", price).laplace_or_gaussian(l1=1, l2_squared=1).parameter
        many = Price("rho", price).laplace_or_gaussian(l1=4, l2_squared=4).parameter
        return lambda z: (few, 1) if z < 0 else (many, 4)

    stated = delta_at_most(rho, epsilon)
    assert _delta_of_two_steps(first, bought(rho / 2), epsilon) <= stated
    assert _delta_of_two_steps(first, bought(rho), epsilon) > stated


# The numbers


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**9), st.fractions(min_value=1, max_value=3))
def test_the_smoothing_term_is_proven_small_and_never_falls(spread: Fraction, factor: Fraction) -> None:
    added = smoothing(spread)
    assert negligible(spread, added)
    assert Fraction(5, 16) <= added <= Fraction(7, 4)
    assert smoothing(spread * factor) >= added


def test_the_smoothing_term_is_below_seven_quarters_for_all_noise_that_can_be_drawn() -> None:
    assert smoothing(Fraction(2**80)) < Fraction(7, 4)
    assert smoothing(Fraction(1, 2**60)) == smoothing(Fraction(5)) == Fraction(5, 16)
    assert smoothing(Fraction(80)) == Fraction(3, 8) and smoothing(Fraction(10**4)) == Fraction(1, 2)
    for impossible in (Fraction(2**81), Fraction(0)):
        with pytest.raises(ValueError, match="cannot be drawn"):
            smoothing(impossible)


@given(st.fractions(min_value=Fraction(1, 10**4), max_value=100), st.integers(1, 10**6))
def test_noise_bought_in_gaussian_accounting_has_the_smoothing_term_on_top(amount: Fraction, squared: int) -> None:
    noise = Price("rho", amount).laplace_or_gaussian(l1=squared, l2_squared=squared)
    spread = squared / (2 * amount)
    assert noise.smoothing == smoothing(spread)
    assert noise.parameter - noise.smoothing >= spread
    concentrated = Price("rho", amount, "concentrated").laplace_or_gaussian(l1=squared, l2_squared=squared)
    assert spread <= concentrated.parameter < noise.parameter


@given(st.fractions(min_value=Fraction(1, 10**4), max_value=100), st.integers(1, 1000))
def test_the_audit_counts_noise_as_it_was_bought_and_finds_a_smoothing_term_that_is_too_small(
    amount: Fraction, count: int
) -> None:
    noise = Price("rho", amount).laplace_or_gaussian(l1=count, l2_squared=count)
    one, other = np.zeros(count + 3, np.int64), np.zeros(count + 3, np.int64)
    other[:count] = 1
    assert worst_loss(noise, one, other).amount <= amount
    without = replace(noise, parameter=noise.parameter - noise.smoothing / 10)
    assert worst_loss(without, one, other).amount > amount
    assert well_smoothed(noise)
    assert not well_smoothed(replace(noise, smoothing=Fraction(0)))


def _tail(x: Decimal, pi: Decimal) -> Decimal:
    """1 - Φ(x), by the series Φ(x) = 1/2 + φ(x) Σ x^(2n+1) / (1·3···(2n+1)), in the context's precision."""
    term = total = x
    odd = 1
    while abs(term) > Decimal(10) ** -700:
        odd += 2
        term = term * x * x / odd
        total += term
    return Decimal("0.5") - (-x * x / 2).exp() / (2 * pi).sqrt() * total


def _pi() -> Decimal:
    """Machin: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_of_inverse(n: int) -> Decimal:
        power = total = Decimal(1) / n
        for k in range(1, 1200):
            power /= -n * n
            total += power / (2 * k + 1)
        return total

    return 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_stated_delta_is_that_of_the_formula_rounded_up(epsilon: str, delta: str) -> None:
    rho = rho_within(Fraction(epsilon), Fraction(delta), "gaussian")
    stated = delta_at_most(rho, Fraction(epsilon))
    with localcontext() as context:
        context.prec = 1300
        pi, mu = _pi(), (2 * decimal(rho)).sqrt()
        kappa = mu * mu * decimal(SLACK)
        rest = Decimal(epsilon) - kappa
        formula = (kappa / 2).exp() * (_tail(rest / mu - mu / 2, pi) - rest.exp() * _tail(rest / mu + mu / 2, pi))
        assert formula <= decimal(stated) <= formula * (1 + Decimal("1e-30"))
    assert stated <= Fraction(delta) < delta_at_most(rho * Fraction(1_000_001, 1_000_000), Fraction(epsilon))


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_accounting_allows_more_rho_than_the_concentrated_one(epsilon: str, delta: str) -> None:
    ratio = rho_within(Fraction(epsilon), Fraction(delta), "gaussian") / rho_within(Fraction(epsilon), Fraction(delta))
    assert Fraction(101, 100) < ratio < Fraction(125, 100)


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 100), max_value=2000, max_denominator=100),
    st.integers(3, 15),
    st.sampled_from([1, 16, 64, 1000]),
)
def test_the_rule_never_takes_the_accounting_with_more_noise_on_even_parts(
    epsilon: Fraction, digits: int, parts: int
) -> None:
    delta = Fraction(1, 10**digits)
    chosen = Budget(epsilon, delta, parts=parts).whole
    assert chosen.accounting == better(epsilon, delta, parts)
    other = Price("rho", rho_within(epsilon, delta), "concentrated")
    for price in (other, Price("rho", rho_within(epsilon, delta, "gaussian"))):
        spread = 2 / (2 * price.amount / parts)
        variance = spread if price.accounting == "concentrated" else with_smoothing(spread)
        own = chosen.amount / parts
        mine = 1 / own if chosen.accounting == "concentrated" else with_smoothing(1 / own)
        assert mine <= variance


def test_a_rho_beyond_what_is_known_proves_nothing() -> None:
    assert delta_at_most(Fraction(10**6), Fraction(1)) == 1
    assert delta_at_most(Fraction(2048), Fraction(1)) == 1  # the slack alone is ε
    assert delta_at_most(Fraction(0), Fraction(1)) == 0
    assert 0 < float(delta_at_most(Fraction(3), Fraction(1))) < 1
    assert rho_within(Fraction(1), Fraction(1, 10**300), "gaussian") == 0
    assert better(Fraction(1), Fraction(1, 10**300)) == "concentrated"
