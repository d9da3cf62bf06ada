"""From ρ to ε and δ, in two ways: what a whole budget with a δ is worth, and how much noise that takes.

concentrated  ρ of zero-concentrated differential privacy. A question of L2 sensitivity S at a price ρᵢ needs discrete
              Gaussian noise of variance S²/(2ρᵢ) (T7), and any order α > 1 gives a δ (T4).
gaussian      ρ = μ²/2 of Gaussian differential privacy, which is exact for a normal law: 4 to 22 % more ρ for the same
              ε and δ (ε up to 100). The discrete law needs a variance of S²/(2ρᵢ) + r², r² from 5/16 to 7/4 (T46).

Guarantee     `rho_within` returns a ρ for which questions bought so, with prices that add up to at most ρ, are
              (ε, δ)-DP.
Argument      T4 and T46. What is looked for in floating point or by halving is then checked: `implies` in 60 digits
              with more slack than rounding can use, `delta_at_most` in integers rounded outwards. In doubt it is not
              taken.
Which         The one with less noise on a table of counts that gets an even part of the budget: a public rule. Where
              noise is of the size of a count, r² costs more than the better conversion gains.
Arithmetic    Rational. Tails of the normal law are enclosed by a continued fraction whose remainder is known to lie
              between two positive numbers: M(x) = (1 - Φ(x)) / φ(x) is 1/(x + R₁) with Rₖ = k/(x + Rₖ₊₁) >= 0, because
              Iₖ = ∫ₓ (t-x)ᵏ exp(-t²/2) dt / k! gives (k+1) Iₖ₊₁ + x Iₖ = Iₖ₋₁ by parts (I₋₁ = exp(-x²/2)), and Rₖ = k
              Iₖ/Iₖ₋₁. Below 2 by the series M(x) = √(π/2) exp(x²/2) - Σ x^(2n+1) / (1·3···(2n+1)).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from rankveil.noise.enclosure import Bounds, exp_bounds

Accounting = Literal["concentrated", "gaussian"]

USUAL_PARTS = 64  # into which a budget is divided, for choosing an accounting if nobody says how many
SLACK = Fraction(1, 4096)  # of ε for each unit of μ²: what the discrete law may differ from the continuous one
_LEAST_SMOOTHING, _SMOOTHING_STEP = Fraction(5, 16), Fraction(1, 32)
_MOST_SPREAD = Fraction(1 << 80)  # no variance beyond it can be drawn
_DIGITS = 12  # of μ

# The first hundred decimals of π.
_PI_DIGITS = 31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679
_PI = Fraction(_PI_DIGITS, 10**100), Fraction(_PI_DIGITS + 1, 10**100)
_BITS = 320
_ONE = 1 << _BITS


def rho_within(epsilon: Fraction, delta: Fraction, accounting: Accounting = "concentrated") -> Fraction:
    """A ρ, nearly the largest, that implies (ε, δ)-differential privacy; 0 if Gaussian accounting finds none."""
    if not 0 < delta < 1:
        raise ValueError("delta lies strictly between 0 and 1")
    return _gaussian_rho(epsilon, delta) if accounting == "gaussian" else _concentrated_rho(epsilon, delta)


@lru_cache(maxsize=256)
def better(epsilon: Fraction, delta: Fraction, parts: int = USUAL_PARTS) -> Accounting:
    """The accounting with less noise on counts (L2 √2) for one of so many even parts. Everything it reads is public."""
    concentrated, gaussian = rho_within(epsilon, delta), rho_within(epsilon, delta, "gaussian")
    if not gaussian or parts / gaussian > _MOST_SPREAD:
        return "concentrated"
    return "gaussian" if with_smoothing(parts / gaussian) <= parts / concentrated else "concentrated"


# Zero-concentrated differential privacy


def _concentrated_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    guess = _largest_rho(float(epsilon), float(delta))
    # The guess is from floating point; what is used is a rational that the bound provably allows.
    for loss in (2**40, 2**30, 2**20, 2**10, 4, 2):
        rho = Fraction(guess).limit_denominator(10**15) * (1 - Fraction(1, loss))
        alpha = Fraction(_best_order(float(rho), float(epsilon))).limit_denominator(10**6)
        if rho > 0 and alpha > 1 and implies(rho, alpha, epsilon, delta):
            return rho
    return epsilon * epsilon / (4 * Fraction(math.ceil(-math.log(delta))) + 4 * epsilon) / 2  # crude and safe


def implies(rho: Fraction, alpha: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the bound at this order proves that ρ-zCDP implies (ε, δ); False whenever rounding leaves a doubt."""
    with localcontext() as context:
        context.prec = 60

        def decimal(number: Fraction) -> Decimal:
            return Decimal(number.numerator) / Decimal(number.denominator)

        exponent = decimal((alpha - 1) * (alpha * rho - epsilon))
        log_bound = exponent - decimal(alpha - 1).ln() + decimal(alpha) * (1 - 1 / decimal(alpha)).ln()
        return log_bound + Decimal("1e-40") * (1 + abs(log_bound)) <= decimal(delta).ln()


def _largest_rho(epsilon: float, delta: float) -> float:
    low, high = 0.0, epsilon + 1.0
    for _ in range(64):
        middle = (low + high) / 2
        order = _best_order(middle, epsilon)
        fits = _log_delta(order, middle, epsilon) <= math.log(delta)
        low, high = (middle, high) if fits else (low, middle)
    return low


def _log_delta(order: float, rho: float, epsilon: float) -> float:
    return (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)


def _best_order(rho: float, epsilon: float) -> float:
    """The order with the smallest bound: golden section on its logarithm, the bound being convex in the order."""
    ratio = (math.sqrt(5) - 1) / 2
    low, high = math.log(1e-6), math.log(1e7)
    for _ in range(48):
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        if _log_delta(1 + math.exp(first), rho, epsilon) < _log_delta(1 + math.exp(second), rho, epsilon):
            high = second
        else:
            low = first
    return 1 + math.exp((low + high) / 2)


# Gaussian differential privacy: the noise


def with_smoothing(spread: Fraction) -> Fraction:
    """The variance of discrete noise that stands for continuous noise of variance `spread`."""
    return spread + smoothing(spread)


@lru_cache(maxsize=4096)
def smoothing(spread: Fraction) -> Fraction:
    """r²: what a variance S²/(2ρ) has to be raised by so that T46 covers the discrete law. From 5/16 to 7/4."""
    if not 0 < spread <= _MOST_SPREAD:
        raise ValueError("noise of this variance cannot be drawn")
    added = _LEAST_SMOOTHING
    while not negligible(spread, added):
        added += _SMOOTHING_STEP
    return added


def negligible(spread: Fraction, added: Fraction) -> bool:
    """Whether s²·λ(r², s²) of T46 is proven to be at most the slack, for s² = `spread` and r² = `added`."""
    if added <= 0:
        return False
    posterior = spread * added / (spread + added)  # t² of T46
    eta, ripple = _theta(added), _theta(added + posterior)
    if eta >= 1 or ripple >= 1:
        return False
    return spread * (2 * ripple + eta * eta / (1 - eta)) <= SLACK * (1 - ripple)


def _theta(variance: Fraction) -> Fraction:
    """At least 2 Σ exp(-2π²k² variance) over k = 1, 2, ...: as k² >= 1 + 3(k-1), a geometric series in u³."""
    _, high = exp_bounds(2 * _PI[0] ** 2 * variance, _BITS)
    u = Fraction(high, _ONE)
    return 2 * u / (1 - u**3)


# Gaussian differential privacy: from μ²/2 to ε and δ


@lru_cache(maxsize=256)
def _gaussian_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """μ of some twelve digits, by halving. Every μ that is kept has passed the check."""

    def proven(mu: Fraction) -> bool:
        return delta_at_most(mu * mu / 2, epsilon) <= delta

    guess = math.sqrt(2 * float(_concentrated_rho(epsilon, delta)))
    unit = Fraction(10) ** (math.floor(math.log10(guess)) - _DIGITS + 1)
    low, high = 0, math.ceil(Fraction(guess) * Fraction(3, 2) / unit)
    while proven(high * unit):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if proven(middle * unit) else (low, middle)
    return (low * unit) ** 2 / 2


def delta_at_most(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A δ, rounded up, for which questions with prices that add up to ρ = μ²/2 are (ε, δ)-DP by T46; 1 if unknown.

    δ = exp(κ/2) φ(a) (M(a) - M(b)) with κ = μ²/4096, a = (ε-κ)/μ - μ/2, b = a + μ. As exp(ε-κ) φ(b) is φ(a), this is
    the difference of the two tails in the theorem, without large numbers that cancel.
    """
    if rho <= 0:
        return Fraction(0)
    mu = _root_at_least(2 * rho)
    kappa = SLACK * mu * mu
    if kappa >= epsilon:
        return Fraction(1)
    near = (epsilon - kappa) / mu - mu / 2
    far = near + mu
    if near < -12:  # more than Φ(11)
        return Fraction(1)
    difference = _mills(near)[1] - _mills(far)[0]
    density = exp_bounds(near * near / 2, _BITS)[1] * _ONE // _root_of_two_pi()[0] + 1
    growth = _ONE * _ONE // max(exp_bounds(kappa / 2, _BITS)[0], 1) + 1
    return min(Fraction(difference * density * growth, _ONE**3), Fraction(1))


def _root_at_least(number: Fraction) -> Fraction:
    """A root of it, exact if that is a short fraction, otherwise less than 2⁻²⁵⁶ too large."""
    top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return Fraction(top, bottom)
    return Fraction(math.isqrt(math.floor(number * 4**256)) + 1, 2**256)


@lru_cache(maxsize=1)
def _root_of_two_pi() -> Bounds:
    low, high = (math.floor(2 * pi * _ONE * _ONE) for pi in _PI)
    return math.isqrt(low), math.isqrt(high + 1) + 1


def _mills(x: Fraction) -> Bounds:
    """Integers around (1 - Φ(x)) / φ(x) in units of 2⁻³²⁰."""
    return _mills_by_fraction(x) if x >= 2 else _mills_by_series(x)


def _mills_by_fraction(x: Fraction) -> Bounds:
    low_x = math.floor(x * _ONE)
    high_x, square = low_x + 1, _ONE * _ONE
    for depth in (32, 128, 512, 2048):
        low, high = 0, (depth + 1) * square // low_x + 1  # of what is left out
        for k in range(depth, 0, -1):
            low, high = k * square // (high_x + high), k * square // (low_x + low) + 1
        low, high = square // (high_x + high), square // (low_x + low) + 1
        if (high - low) << 140 < high:
            break
    return low, high


def _mills_by_series(x: Fraction) -> Bounds:
    """For x < 2. The sum of the series is S(|x|), with the sign of x."""
    size = abs(x)
    low_y = math.floor(size * _ONE)
    low_square, high_square = low_y * low_y >> _BITS, ((low_y + 1) * (low_y + 1) >> _BITS) + 1
    low_term, high_term = low_y, low_y + 1
    low_sum, high_sum, odd = low_term, high_term, 1
    while high_term > 1 or 2 * high_square >= (odd + 2) * _ONE:
        odd += 2
        low_term = (low_term * low_square >> _BITS) // odd
        high_term = ((high_term * high_square >> _BITS) + 1) // odd + 1
        low_sum, high_sum = low_sum + low_term, high_sum + high_term
    high_sum += high_term  # what is left falls by half at least from term to term
    low_e, high_e = exp_bounds(x * x / 2, _BITS)
    low_root, high_root = _root_of_two_pi()
    low_half, high_half = low_root * _ONE // (2 * high_e), high_root * _ONE // (2 * low_e) + 1
    if x < 0:
        return low_half + low_sum, high_half + high_sum
    return low_half - high_sum, high_half - low_sum
