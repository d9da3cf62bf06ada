"""What ε and δ come to: no attack beats the figures, the best one reaches them, and smaller figures would be wrong."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

import pytest

from rankveil.certificate.odds import FALSE_POSITIVES, best_guess, meaning_of, true_positives
from rankveil.measure.accounting import Accounting, rho_within, with_smoothing

ALPHAS = [Fraction(percent, 100) for percent in FALSE_POSITIVES]


def best_test(one: list[float], other: list[float], alpha: float) -> float:
    """Neyman and Pearson: the largest share of true positives at a share of false ones, with a coin at the border."""
    order = sorted(range(len(one)), key=lambda place: -(other[place] / one[place] if one[place] else math.inf))
    reached, left = 0.0, alpha
    for place in order:
        taken = 1.0 if one[place] <= left else left / one[place]
        reached += taken * other[place]
        left -= taken * one[place]
        if taken < 1:
            break
    return reached


def stated(epsilon: str, delta: str | None = None, accounting: Accounting | None = None) -> tuple[list[float], float]:
    found = meaning_of(Decimal(epsilon), None if delta is None else Decimal(delta), accounting)
    assert [attack.false_positive_percent for attack in found.attacks] == list(FALSE_POSITIVES)
    attacks = [float(attack.true_positive_percent) / 100 for attack in found.attacks]
    return attacks, float(found.best_guess_percent) / 100


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4", "8"])
def test_randomized_response_reaches_the_figures_of_pure_epsilon_and_does_not_exceed_them(epsilon: str) -> None:
    truth = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
    attacks, guess = stated(epsilon)
    for alpha, limit in zip(ALPHAS, attacks, strict=True):
        reached = best_test([truth, 1 - truth], [1 - truth, truth], float(alpha))
        assert reached <= limit <= reached + 0.000101, "rounded upwards to hundredths of a percent"
    assert truth <= guess <= truth + 0.000101


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.01"), ("1", "0.001"), ("3", "0.05")])
def test_the_worst_law_with_a_delta_reaches_the_figures_and_does_not_exceed_them(epsilon: str, delta: str) -> None:
    grown, extra = math.exp(float(epsilon)), float(delta)
    kept = (1 - extra) / (1 + grown)  # Kairouz, Oh and Viswanath: four answers, two of them tell everything
    one, other = [extra, grown * kept, kept, 0.0], [0.0, kept, grown * kept, extra]
    attacks, guess = stated(epsilon, delta, "concentrated")
    for alpha, limit in zip(ALPHAS, attacks, strict=True):
        reached = best_test(one, other, float(alpha))
        assert reached <= limit + 1e-12
        assert limit <= reached + 0.000101
    assert (1 + sum(abs(a - b) for a, b in zip(one, other, strict=True)) / 2) / 2 <= guess


def gaussian_pair(rho: Fraction) -> tuple[list[float], list[float]]:
    """Discrete Gaussian noise on a count, as T46 asks for a price ρ and a change of one; and the same moved by one."""
    variance = float(with_smoothing(1 / (2 * rho)))
    reach = math.ceil(12 * math.sqrt(variance)) + 2
    weights = [math.exp(-(place * place) / (2 * variance)) for place in range(-reach, reach + 1)]
    whole = math.fsum(weights)
    one = [weight / whole for weight in weights]
    return [*one, 0.0], [0.0, *one]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0.1", "1e-9"), ("1", "1e-9"), ("1", "1e-6"), ("4", "1e-6"), ("10", "1e-6"), ("20", "1e-5")]
)
def test_a_test_of_discrete_gaussian_noise_comes_near_the_figures_and_does_not_exceed_them(
    epsilon: str, delta: str
) -> None:
    rho = rho_within(Fraction(epsilon), Fraction(Decimal(delta)), "gaussian")
    one, other = gaussian_pair(rho)
    attacks, guess = stated(epsilon, delta, "gaussian")
    weaker, _ = stated(epsilon, delta, "concentrated")
    for alpha, limit, loose in zip(ALPHAS, attacks, weaker, strict=True):
        reached = best_test(one, other, float(alpha))
        normal = NormalDist().cdf(NormalDist().inv_cdf(float(alpha)) + math.sqrt(2 * rho))
        assert reached <= limit, "no attack is better than stated"
        assert normal <= limit <= min(1.0, normal * 1.03 + 0.0002), "and it is not stated much worse than it is"
        assert limit <= loose
    assert (1 + sum(abs(a - b) for a, b in zip(one, other, strict=True)) / 2) / 2 <= guess


def test_the_check_finds_figures_that_are_too_small() -> None:
    """The twin: figures for half the ε are exceeded by the mechanism of the whole."""
    truth = math.exp(1) / (1 + math.exp(1))
    attacks, _ = stated("0.5")
    reached = [best_test([truth, 1 - truth], [1 - truth, truth], float(alpha)) for alpha in ALPHAS]
    assert all(value > limit + 0.001 for value, limit in zip(reached, attacks, strict=True))
    rho = rho_within(Fraction(1), Fraction(1, 10**9), "gaussian")
    one, other = gaussian_pair(4 * rho)  # noise half as wide
    attacks, _ = stated("1", "1e-9", "gaussian")
    assert best_test(one, other, 0.05) > attacks[1] + 0.005


@pytest.mark.parametrize(("epsilon", "factor"), [("1", "2.72"), ("0.1", "1.11"), ("10", "22100"), ("1000", "10^435")])
def test_factors_are_rounded_upwards(epsilon: str, factor: str) -> None:
    assert meaning_of(Decimal(epsilon), None, None).odds_factor == factor
    if "^" not in factor:
        assert math.exp(float(epsilon)) <= float(factor) <= 1.01 * math.exp(float(epsilon))
    else:
        assert float(epsilon) / math.log(10) <= float(factor[3:])


def test_a_huge_epsilon_limits_nothing_and_says_so() -> None:
    found = meaning_of(Decimal("1e9"), None, None)
    assert {attack.true_positive_percent for attack in found.attacks} == {"100"}
    assert found.best_guess_percent == "100"
    assert true_positives(Fraction(1, 100), (Fraction(10**9), Fraction(0))) == 1
    assert best_guess((Fraction(10**9), Fraction(0))) == 1


@pytest.mark.parametrize("more", ["0.1", "0.5", "2"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "accounting"), [("1", "0", None), ("1", "0.001", "concentrated"), ("1", "1e-6", "gaussian")]
)
def test_a_test_that_sees_what_was_published_beside_the_release_does_not_exceed_the_figures(
    epsilon: str, delta: str, accounting: Accounting | None, more: str
) -> None:
    """Worst laws of both, seen together, and the figures of the release alone, which such a test does exceed."""
    if accounting == "gaussian":
        one, other = gaussian_pair(rho_within(Fraction(epsilon), Fraction(Decimal(delta)), "gaussian"))
    else:
        grown, extra = math.exp(float(epsilon)), float(delta)
        kept = (1 - extra) / (1 + grown)
        one, other = [extra, grown * kept, kept, 0.0], [0.0, kept, grown * kept, extra]
    truth = math.exp(float(more)) / (1 + math.exp(float(more)))
    seen = [
        [a * b for a in law for b in answers]
        for law, answers in ((one, (truth, 1 - truth)), (other, (1 - truth, truth)))
    ]
    alone = meaning_of(Decimal(epsilon), Decimal(delta), accounting)
    both = meaning_of(Decimal(epsilon), Decimal(delta), accounting, Fraction(more))
    for alpha, limit, lower in zip(ALPHAS, both.attacks, alone.attacks, strict=True):
        reached = 100 * best_test(*seen, float(alpha))
        assert float(lower.true_positive_percent) < reached <= float(limit.true_positive_percent)
    distance = sum(abs(a - b) for a, b in zip(*seen, strict=True)) / 2
    assert 50 * (1 + distance) <= float(both.best_guess_percent)
    assert float(both.odds_factor) >= math.exp(float(epsilon) + float(more))
