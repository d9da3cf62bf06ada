"""T54 and T55: what ε allows an attack to find, in exact arithmetic on small instances, and the code's own limits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.declare.unit import A_ROW, Unit
from rankveil.risk.limits import Limits

FACTORS = st.fractions(min_value=1, max_value=6, max_denominator=7)  # e^ε


def laws(factor: Fraction, tilts: list[Fraction], delta: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Two laws over some outcomes that are (ln factor, δ)-indistinguishable, as T54 takes them."""
    first = [1 + tilt * (factor - 1) for tilt in tilts]  # between 1 and e^ε
    one = [weight / sum(first) for weight in first]
    # Weights between 1 and e^ε each, over their sum: ratios of probabilities lie within e^{2ε}; mix to within e^ε.
    other = [Fraction(1, len(tilts))] * len(tilts)
    mixed = list(one)
    while any(p > factor * q or q > factor * p for p, q in zip(mixed, other, strict=True)):
        mixed = [(p + q) / 2 for p, q in zip(mixed, other, strict=True)]
    # δ: a part of the first law that the second does not know, and the other way round.
    return [*[(1 - delta) * p for p in mixed], delta, Fraction(0)], [
        *[(1 - delta) * q for q in other],
        Fraction(0),
        delta,
    ]


def largest_delta(one: list[Fraction], other: list[Fraction], factor: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - factor * q) for p, q in zip(one, other, strict=True)), Fraction(0))


@given(
    factor=FACTORS,
    tilts=st.lists(st.fractions(0, 1, max_denominator=5), min_size=2, max_size=5),
    delta=st.sampled_from([Fraction(0), Fraction(1, 50)]),
)
def test_no_event_has_rates_beyond_the_limits(factor: Fraction, tilts: list[Fraction], delta: Fraction) -> None:
    one, other = laws(factor, tilts, delta)
    assert largest_delta(one, other, factor) <= delta and largest_delta(other, one, factor) <= delta
    limits = Limits(math.log(factor), float(delta))
    for chosen in product([0, 1], repeat=len(one)):
        b = sum((p for p, taken in zip(one, chosen, strict=True) if taken), Fraction(0))
        a = sum((q for q, taken in zip(other, chosen, strict=True) if taken), Fraction(0))
        assert b <= factor * a + delta
        assert b <= 1 - (1 - delta - a) / factor
        assert (b - a) * (factor + 1) <= factor - 1 + 2 * delta
        assert float(b) <= limits.rate(float(a)) + 1e-12
        assert float(b - a) <= limits.advantage + 1e-12
        if a < 1:
            assert float((b - a) / (1 - a)) <= limits.risk(float(a)) + 1e-9


@given(factor=FACTORS)
def test_randomized_response_attains_all_three_limits(factor: Fraction) -> None:
    a, b = 1 / (1 + factor), factor / (1 + factor)
    limits = Limits(math.log(factor))
    assert limits.rate(float(a)) == pytest.approx(float(b)) == pytest.approx(limits.share())
    assert limits.advantage == pytest.approx(float(b - a)) == pytest.approx(math.tanh(math.log(factor) / 2))


def test_a_limit_for_half_the_epsilon_is_broken_by_randomized_response() -> None:
    """The broken twin."""
    factor = Fraction(3)
    assert float(factor / (1 + factor)) > Limits(math.log(3) / 2).rate(float(1 / (1 + factor)))


@given(
    factor=FACTORS,
    scores=st.lists(st.fractions(0, 1, max_denominator=4), min_size=16, max_size=16),
)
def test_members_against_others_by_enumeration(factor: Fraction, scores: list[Fraction]) -> None:
    """Two persons with a bit each, one of them in the table with a third one: randomized response of every bit.

    The score is any function of the release and the target's bit.
    """
    keep, flip = factor / (1 + factor), 1 / (1 + factor)

    def chance(release: tuple[int, int], table: tuple[int, int]) -> Fraction:
        return math.prod((keep if r == t else flip for r, t in zip(release, table, strict=True)), start=Fraction(1))

    member = other = Fraction(0)
    for bits in product([0, 1], repeat=3):  # u, c, and who is there in any case: all equally likely
        u, c, rest = bits
        for inside, outside in ((u, c), (c, u)):
            for release in product([0, 1], repeat=2):
                weight = Fraction(1, 16) * chance(release, (inside, rest))
                member += weight * scores[release[0] * 8 + release[1] * 4 + inside * 2 + rest]
                other += weight * scores[release[0] * 8 + release[1] * 4 + outside * 2 + rest]
    assert member <= factor * other
    assert 1 - other <= factor * (1 - member)
    limits = Limits(math.log(factor))
    assert float(member) <= limits.rate(float(other)) + 1e-12
    if member + other:
        assert float(member / (member + other)) <= limits.share() + 1e-9


def test_replacing_a_unit_is_two_steps_where_neighbours_differ_in_whether_it_is_there() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 1000)
    assert Limits.of_replaced(epsilon, delta, A_ROW) == Limits(1.0, 0.001)
    two = Limits.of_replaced(epsilon, delta, Unit("add-remove"))
    assert two.epsilon == 2 and two.delta == pytest.approx(0.001 * (1 + math.e))


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1, 50, 1e6])
def test_limits_stay_between_nothing_and_one_for_every_epsilon(epsilon: float) -> None:
    limits = Limits(epsilon)
    for rate in (0.0, 1e-9, 0.5, 1.0):
        assert rate <= limits.rate(rate) + 1e-12 and limits.rate(rate) <= 1
        assert 0 <= limits.risk(rate) <= 1
    assert 0 <= limits.advantage <= 1 and 0.5 <= limits.share() <= 1


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_a_limit_of_isolation_holds_for_every_rate_up_to_the_one_that_is_given(epsilon: float, delta: float) -> None:
    limits, records = Limits(epsilon, delta), 100
    rates = [step / 200 for step in range(200)]
    risks = [(limits.isolated(rate, records) - rate) / (1 - rate) for rate in rates]
    for place, rate in enumerate(rates):
        assert max(0.0, *risks[: place + 1]) <= limits.risk_isolated(rate, records) + 1e-12
    at_the_end = max(0.0, risks[-1])
    assert at_the_end < max(risks), "the limit at the end of the interval alone would be too small"
