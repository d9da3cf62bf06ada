"""What ε and δ come to: by how much odds change, and what a test for one person can reach.

Guarantee    Let a test look at the release and say whether the table was this one or that neighbour of it. If it says
             yes in at most a share α of cases where it should not, it says yes in at most the stated share of cases
             where it should. The better of two guesses that are equally likely before is right in at most the stated
             share of cases.
Argument     (ε', δ')-DP bounds the share of true positives by e^ε' α + δ' and, seen from the other table, by
             1 - e^-ε' (1 - δ' - α) (Kairouz, Oh and Viswanath 2015). The right guesses of a coin-flip game are
             (1 + TV) / 2, at most (e^ε' + δ') / (e^ε' + 1). All pairs (ε', δ') that are proven hold together, so the
             smallest bound does. Proven are: (ε, 0) for pure ε; (ε, δ) as stated; with Gaussian accounting also
             (ε', δ(ε')) for every ε' > κ, by T46 for the ρ that ε and δ stand for. What was published beside the
             release and is ε₂-DP for every fixed release adds ε₂ to the first number of every pair (T2).
Choice       For a normal law the best ε' at α is the log-likelihood ratio at the test's threshold, μ z(1-α) - μ²/2, or
             its negative seen from the other side. It is found in floating point: any ε' gives a bound that holds.
Arithmetic   Rational, from enclosures of exp; results are rounded upwards.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

from rankveil.certificate.content import AttackNote, MeaningNote
from rankveil.measure.accounting import SLACK, Accounting, delta_at_most, rho_within
from rankveil.noise.enclosure import exp_bounds

FALSE_POSITIVES = (1, 5, 10)  # percent
_BITS = 256
_LARGE = 100  # beyond: a factor is written as a power of ten
_LOG10_E = Fraction(434295, 10**6)  # a little more than log10 of e
_DIGITS = 3  # of a factor

Pair = tuple[Fraction, Fraction]  # ε', δ'


def meaning_of(
    epsilon: Decimal | Fraction,
    delta: Decimal | Fraction | None,
    accounting: Accounting | None,
    beside: Fraction = Fraction(0),
) -> MeaningNote:
    """All figures for a release that is ε-DP, or (ε, δ)-DP by an accounting, and for what was published `beside` it."""
    release = (Fraction(epsilon), Fraction(delta or 0))
    gaussian = release[1] > 0 and accounting == "gaussian"
    rho = rho_within(*release, "gaussian") if gaussian else Fraction(0)
    stated = (release[0] + beside, release[1])
    attacks = []
    for percent in FALSE_POSITIVES:
        alpha = Fraction(percent, 100)
        pairs = [stated, *_by_t46(rho, alpha, beside)]
        attacks.append(
            AttackNote(
                false_positive_percent=percent,
                true_positive_percent=_percent(min(true_positives(alpha, pair) for pair in pairs)),
            )
        )
    return MeaningNote(
        odds_factor=_factor(stated[0]),
        best_guess_percent=_percent(min(best_guess(pair) for pair in [stated, *_by_t46(rho, None, beside)])),
        attacks=tuple(attacks),
        by="gaussian" if gaussian else "epsilon and delta" if stated[1] else "epsilon",
    )


def true_positives(alpha: Fraction, pair: Pair) -> Fraction:
    """At most so often yes where it should be, if at most `alpha` where it should not."""
    epsilon, delta = pair
    low, _ = _shrink(epsilon)
    bounds = [Fraction(1), 1 - low * max(Fraction(0), 1 - delta - alpha)]
    if low:
        bounds.append(alpha / low + delta)
    return min(bounds)


def best_guess(pair: Pair) -> Fraction:
    """How often the better of two guesses is right at most, both equally likely before."""
    epsilon, delta = pair
    low, _ = _shrink(epsilon)
    return (1 + delta * low) / (1 + low) if low else Fraction(1)


def _by_t46(rho: Fraction, alpha: Fraction | None, beside: Fraction) -> list[Pair]:
    """Pairs that T46 proves for shares of ρ, near the best one at `alpha`; without an α, near ε' = 0."""
    if not rho:
        return []
    mu = math.sqrt(2 * float(rho))
    least = 2 * SLACK * 2 * rho  # twice κ
    guesses = [0.0]
    if alpha is not None:
        # What was published beside it makes α larger by as much as it can, before the release is looked at.
        start = min(0.5, float(alpha) * math.exp(min(float(beside), 1.0)))
        guesses = [abs(mu * NormalDist().inv_cdf(1 - one) - mu * mu / 2) for one in sorted({float(alpha), start})]
    found = [max(least, Fraction(guess).limit_denominator(10**6)) for guess in guesses]
    return [(epsilon + beside, delta_at_most(rho, epsilon)) for epsilon in found]


def _shrink(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on e^-ε."""
    low, high = exp_bounds(epsilon, _BITS)
    return Fraction(low, 1 << _BITS), Fraction(high, 1 << _BITS)


def _percent(share: Fraction) -> str:
    """With two decimals, rounded upwards."""
    hundredths = min(10_000, math.ceil(share * 10_000))
    return f"{Decimal(hundredths) / 100:f}"


def _factor(epsilon: Fraction) -> str:
    """e^ε rounded upwards, to three digits."""
    if epsilon > _LARGE:
        return f"10^{math.ceil(epsilon * _LOG10_E)}"
    factor = 1 / _shrink(epsilon)[0]
    places = _DIGITS - len(str(math.floor(factor)))
    rounded = Decimal(math.ceil(factor * Fraction(10) ** places)).scaleb(-places)
    return f"{rounded:f}"
