"""The budget never hands out more than there is, and noise is never less than its price demands."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.measure.accounting import implies, rho_within
from rankveil.measure.budget import Budget, Price, equal_shares

EPSILONS = st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=1000)


@given(EPSILONS, st.integers(1, 40))
def test_equal_shares_add_up_to_epsilon_exactly(epsilon: Fraction, columns: int) -> None:
    shares = equal_shares(epsilon, [f"c{number}" for number in range(columns)])
    assert sum(shares.values()) == epsilon


@given(EPSILONS, st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=1), min_size=1, max_size=20))
def test_a_budget_never_hands_out_more_than_the_whole(epsilon: Fraction, wishes: list[Fraction]) -> None:
    budget = Budget(epsilon)
    granted = Fraction(0)
    for wish in wishes:
        if wish <= budget.left:
            granted += budget.spend(wish, "something").amount
        else:
            with pytest.raises(ValueError, match="does not hold"):
                budget.spend(wish, "too much")
    assert granted <= epsilon
    assert budget.left >= 0


def test_a_carved_budget_is_spent_in_the_one_it_comes_from() -> None:
    budget = Budget(Fraction(1))
    budget.spend(Fraction(1, 4), "first")
    rest = budget.carve(budget.left, "rest")
    assert rest.whole.amount == Fraction(3, 4)
    assert budget.left == 0
    with pytest.raises(ValueError, match="does not hold"):
        budget.spend(Fraction(1, 100), "more")


@given(EPSILONS, st.integers(1, 10**9), st.integers(1, 10**9))
def test_noise_is_never_less_than_sensitivity_over_price(amount: Fraction, l1: int, l2_squared: int) -> None:
    laplace = Price("epsilon", amount).laplace_or_gaussian(l1, l2_squared)
    assert laplace.name == "discrete Laplace"
    assert laplace.parameter >= l1 / amount
    gaussian = Price("rho", amount).laplace_or_gaussian(l1, l2_squared)
    assert gaussian.name == "discrete Gaussian"
    assert gaussian.parameter >= l2_squared / (2 * amount)


@settings(max_examples=25, deadline=None)
@given(EPSILONS, st.integers(3, 15))
def test_the_rho_of_epsilon_and_delta_is_proven_and_nearly_the_largest(epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    rho = rho_within(epsilon, delta)
    assert rho > 0
    orders = [1 + Fraction(step, 20) * scale for scale in (1, 10, 100, 1000) for step in range(1, 40)]
    assert not any(implies(rho * Fraction(11, 10), order, epsilon, delta) for order in orders)


def test_the_conversion_agrees_with_opendp() -> None:
    dp = pytest.importorskip("opendp.prelude", reason="opendp is the reference for the conversion")
    dp.enable_features("contrib")
    for epsilon, delta in ((1, "1e-9"), ("0.1", "1e-9"), (10, "1e-6"), (3, "1e-12")):
        rho = rho_within(Fraction(Decimal(epsilon)), Fraction(Decimal(delta)))
        scale = float(1 / (2 * rho)) ** 0.5
        space = dp.atom_domain(T=int), dp.absolute_distance(T=float)
        theirs = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1.0).epsilon(float(delta))
        assert theirs == pytest.approx(float(Decimal(epsilon)), rel=1e-6)
        assert theirs <= float(Decimal(epsilon)) * (1 + 1e-9)


def test_a_bound_in_doubt_is_not_taken_for_proven() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**9)
    rho = rho_within(epsilon, delta)
    assert not implies(2 * rho, Fraction(30), epsilon, delta)
    with pytest.raises(ValueError, match="delta"):
        rho_within(epsilon, Fraction(2))
