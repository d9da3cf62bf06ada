"""The privacy budget: how much there is, what a part of it buys, and what was spent.

Guarantee    The parts handed out never add up to more than the whole, and the whole is at most the declared (ε, δ).
Argument     Without δ the whole is ε and parts compose by addition (pure differential privacy). With δ it is a ρ of
             zero-concentrated differential privacy chosen so that ρ-zCDP implies (ε, δ): for any α > 1,
                 δ(ρ) <= exp((α-1)(αρ-ε)) / (α-1) · (1-1/α)^α,
             checked for the chosen rational ρ and α in 60 digits, with more slack than rounding can use. ρ composes by
             addition as well. Noise for a sensitivity at a price: discrete Laplace, discrete Gaussian.
Theorems     T2 (composition), T4 (from ρ to ε and δ), T6 and T7 (noise).
Arithmetic   Parts, ε and ρ are rational; whatever is rounded is rounded towards less spending and more noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.errors import PlanError
from rankveil.noise import (
    RandomSource,
    discrete_gaussian,
    discrete_laplace,
    representable_scale,
    representable_variance,
)


def equal_shares(epsilon: Decimal | Fraction, names: Sequence[str]) -> dict[str, Fraction]:
    """ε divided evenly over the protected columns: ε/m each."""
    return {name: Fraction(epsilon) / len(names) for name in names}


@dataclass(frozen=True)
class Mechanism:
    """One line of the budget: which mechanism protects which column, at what price."""

    column: str
    name: str
    epsilon: Fraction | None  # None: paid in rho, or not differentially private
    scale: Fraction | None = None  # of the noise, in units of the column's axis or of semantic distance
    scale_in_units: float | None = None  # the same in the column's own units, where the axis is linear
    sensitivity: str = ""  # what one record can change, in words
    clusters: int | None = None
    rho: Fraction | None = None  # zero-concentrated differential privacy, where a δ is allowed
    theorems: tuple[str, ...] = ()  # that carry it, by id


@dataclass(frozen=True)
class Price:
    """A part of the budget, ready to buy noise: an ε of pure differential privacy, or a ρ of zCDP."""

    unit: Literal["epsilon", "rho"]
    amount: Fraction

    @classmethod
    def of(cls, mechanism: Mechanism) -> Price:
        """What a line of the budget paid."""
        if mechanism.epsilon is not None:
            return cls("epsilon", mechanism.epsilon)
        if mechanism.rho is None:
            raise ValueError(f"{mechanism.name} has no price")
        return cls("rho", mechanism.rho)

    def laplace_or_gaussian(self, l1: int, l2_squared: int) -> Noise:
        """Noise that makes integers with these sensitivities cost this price: discrete Laplace, or Gaussian with δ."""
        try:
            if self.unit == "epsilon":
                return Noise("discrete Laplace", representable_scale(l1 / self.amount))
            return Noise("discrete Gaussian", representable_variance(l2_squared / (2 * self.amount)))
        except ValueError:
            raise PlanError(
                "The budget asks for noise so small or so large that it cannot be drawn exactly.",
                remedy="Choose an ε nearer to 1, or a larger step for the widest column.",
            ) from None

    @property
    def noise_theorem(self) -> str:
        """What says that the noise is enough."""
        return "T6" if self.unit == "epsilon" else "T7"

    def note(self, column: str, name: str, sensitivity: str, theorems: tuple[str, ...]) -> Mechanism:
        """The line of the budget for something bought at this price."""
        pure = self.unit == "epsilon"
        return Mechanism(
            column,
            name,
            self.amount if pure else None,
            rho=None if pure else self.amount,
            sensitivity=sensitivity,
            theorems=theorems,
        )

    def __truediv__(self, parts: int) -> Price:
        return Price(self.unit, self.amount / parts)

    def __mul__(self, fraction: Fraction) -> Price:
        return Price(self.unit, self.amount * fraction)


@dataclass(frozen=True)
class Noise:
    """A law of integer noise: discrete Laplace with a scale, or discrete Gaussian with a variance."""

    name: Literal["discrete Laplace", "discrete Gaussian"]
    parameter: Fraction  # scale, or variance

    @property
    def deviation(self) -> float:
        """Standard deviation, for choosing what is worth measuring; not used where privacy is decided."""
        if self.name == "discrete Gaussian":
            return math.sqrt(self.parameter)
        return math.sqrt(2) * float(self.parameter)

    def log_density(self, off: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of draws so many deviations from zero, but for a constant: for what is made of released counts."""
        return -(off**2) / 2 if self.name == "discrete Gaussian" else -math.sqrt(2) * np.abs(off)

    def added_to(self, values: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
        """Exact values with this noise, asked for like every other protected answer."""
        return source.answer(self, values)

    def drawn(self, exact: NDArray[np.int64], source: RandomSource) -> NDArray[np.int64]:
        draw = discrete_laplace if self.name == "discrete Laplace" else discrete_gaussian
        return exact + draw(self.parameter, exact.size, source).reshape(exact.shape)


@dataclass
class Budget:
    """The whole, and an account of its parts."""

    epsilon: Fraction
    delta: Fraction | None = None
    whole: Price = field(init=False)
    spent: list[tuple[str, Fraction]] = field(default_factory=list)  # what for, which fraction of the whole

    def __post_init__(self) -> None:
        if self.delta is None:
            self.whole = Price("epsilon", self.epsilon)
        else:
            self.whole = Price("rho", rho_within(self.epsilon, self.delta))

    def part(self, fraction: Fraction) -> Price:
        """What a fraction of the whole would be, without spending it: for public rules."""
        return Price(self.whole.unit, self.whole.amount * fraction)

    def spend(self, fraction: Fraction, purpose: str) -> Price:
        """Take a fraction of the whole. Refuses to hand out more than there is."""
        if fraction <= 0 or self.left < fraction:
            raise ValueError(f"the budget does not hold the part asked for: {purpose}")
        self.spent.append((purpose, fraction))
        return self.part(fraction)

    def carve(self, fraction: Fraction, purpose: str) -> Budget:
        """A budget of its own from a fraction of this one."""
        price = self.spend(fraction, purpose)
        carved = Budget.__new__(Budget)
        carved.epsilon, carved.delta, carved.whole, carved.spent = self.epsilon, self.delta, price, []
        return carved

    @property
    def left(self) -> Fraction:
        return 1 - sum((fraction for _, fraction in self.spent), Fraction(0))


def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A ρ, nearly the largest, such that ρ-zCDP implies (ε, δ)-differential privacy."""
    if not 0 < delta < 1:
        raise ValueError("delta lies strictly between 0 and 1")
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
