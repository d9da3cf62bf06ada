"""The privacy budget: how much there is, what a part of it buys, and what was spent.

Guarantee    The parts handed out never add up to more than the whole, and the whole is at most the declared (ε, δ).
Argument     Without δ the whole is ε and parts compose by addition (pure differential privacy). With δ it is a ρ that
             provably implies (ε, δ) in one of two accountings (accounting.py), and parts of ρ compose by addition as
             well. Noise for a sensitivity at a price: discrete Laplace; discrete Gaussian, whose variance for Gaussian
             accounting is r² larger than for a continuous law.
Public rule  Which accounting: the one with less noise on counts if the budget is divided into `parts` even parts. With
             64 parts that is the Gaussian one up to an ε of about 40, with 1000 parts up to 190. Where noise is of the
             size of a few counts, r² (5/16, and at most 3/8 below a variance of 80) costs more than is gained.
Theorems     T2 (composition), T4 and T46 (from ρ to ε and δ), T6, T7 and T46 (noise).
Arithmetic   Parts, ε and ρ are rational; whatever is rounded is rounded towards less spending and more noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.unit import A_ROW, Sensitivity, Unit
from rankveil.errors import PlanError
from rankveil.measure.accounting import USUAL_PARTS, Accounting, better, rho_within, smoothing
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
    sensitivity: str = ""  # what one record, or person, can change, in words
    clusters: int | None = None
    rho: Fraction | None = None  # where a δ is allowed
    theorems: tuple[str, ...] = ()  # that carry it, by id
    accounting: Accounting | None = None  # in which ρ is counted
    protects: Unit = A_ROW  # who is


@dataclass(frozen=True)
class Price:
    """A part of the budget, ready to buy noise: an ε of pure differential privacy, or a ρ."""

    unit: Literal["epsilon", "rho"]
    amount: Fraction
    accounting: Accounting = "gaussian"  # of ρ; noise bought for Gaussian accounting is enough for the other one, too
    protects: Unit = A_ROW

    @classmethod
    def of(cls, mechanism: Mechanism) -> Price:
        """What a line of the budget paid."""
        if mechanism.epsilon is not None:
            return cls("epsilon", mechanism.epsilon, protects=mechanism.protects)
        if mechanism.rho is None:
            raise ValueError(f"{mechanism.name} has no price")
        return cls("rho", mechanism.rho, mechanism.accounting or "gaussian", mechanism.protects)

    def on_counts(self, tables: int = 1) -> Noise:
        """Noise for counts over disjoint cells, or for so many lists of them at once, for whom the price protects."""
        return self.noise_for(self.protects.of_counts * tables)

    def noise_for(self, change: Sensitivity) -> Noise:
        return self.laplace_or_gaussian(change.l1, change.l2_squared)

    def laplace_or_gaussian(self, l1: int | Fraction, l2_squared: int | Fraction) -> Noise:
        """Noise that makes integers with these sensitivities cost this price: discrete Laplace, or Gaussian with δ."""
        try:
            if self.unit == "epsilon":
                return Noise("discrete Laplace", representable_scale(l1 / self.amount))
            spread = l2_squared / (2 * self.amount)
            if self.accounting == "concentrated":
                return Noise("discrete Gaussian", representable_variance(spread))
            # PRIVACY: without r² the discrete law can lose more than the normal law that ρ is counted by (T46).
            added = smoothing(spread)
            return Noise("discrete Gaussian", representable_variance(spread + added), added)
        except ValueError:
            raise PlanError(
                "The budget asks for noise so small or so large that it cannot be drawn exactly.",
                remedy="Choose an ε nearer to 1, or a larger step for the widest column.",
            ) from None

    @property
    def noise_theorem(self) -> str:
        """What says that the noise is enough."""
        if self.unit == "epsilon":
            return "T6"
        return "T7" if self.accounting == "concentrated" else "T46"

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
            accounting=None if pure else self.accounting,
            protects=self.protects,
        )

    def __truediv__(self, parts: int) -> Price:
        return replace(self, amount=self.amount / parts)

    def __mul__(self, fraction: Fraction) -> Price:
        return replace(self, amount=self.amount * fraction)


@dataclass(frozen=True)
class Noise:
    """A law of integer noise: discrete Laplace with a scale, or discrete Gaussian with a variance."""

    name: Literal["discrete Laplace", "discrete Gaussian"]
    parameter: Fraction  # scale, or variance
    smoothing: Fraction = Fraction(0)  # r²: the part of a variance that Gaussian accounting does not count

    @property
    def deviation(self) -> float:
        """Standard deviation, for choosing what is worth measuring; not used where privacy is decided."""
        if self.name == "discrete Gaussian":
            return math.sqrt(self.parameter)
        return math.sqrt(2) * float(self.parameter)

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
    parts: int = USUAL_PARTS  # into which it will about be divided: chooses the accounting, and nothing else
    protects: Unit = A_ROW

    def __post_init__(self) -> None:
        if self.delta is None:
            self.whole = Price("epsilon", self.epsilon, protects=self.protects)
        else:
            accounting = better(self.epsilon, self.delta, self.parts)
            rho = rho_within(self.epsilon, self.delta, accounting)
            self.whole = Price("rho", rho, accounting, self.protects)

    def part(self, fraction: Fraction) -> Price:
        """What a fraction of the whole would be, without spending it: for public rules."""
        return self.whole * fraction

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
        carved.parts, carved.protects = self.parts, self.protects
        return carved

    @property
    def left(self) -> Fraction:
        return 1 - sum((fraction for _, fraction in self.spent), Fraction(0))
