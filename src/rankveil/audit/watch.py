"""Production code, watched while it spends its budget: which exact numbers it asks which mechanism about.

A `Watch` is a source of randomness that stands in the door between data and noise (noise/source.py): every question is
written down with its law, exact data and protected answer. Given answers from outside, these are handed out instead of
draws. So a method, or a whole release, can be run on a table X, and then on its neighbour X' with the answers that X
got. If all that is asked is a function of the data and of earlier answers, as composition demands, both runs ask the
same questions, and the privacy loss at these answers is known exactly, adaptive steps included:
    log P(answers | X) - log P(answers | X') = Σ (|answer - s'| - |answer - s|) / scale
That is a lower bound on ε, because the answers can occur (T44). `steered` looks for bad ones: step by step it reflects
the noise of each number that differs, so that the answer lies beyond s as seen from s'.

Answers are drawn from one stream of random bytes and everything else from another. A run whose answers are given leaves
the first alone, and gets the same bytes from the second: what it makes of the answers can be compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.audit.findings import DependsOnData
from rankveil.audit.laws import Lost, worst_loss
from rankveil.measure.budget import Budget, Noise, Price
from rankveil.noise import Exponential, Law, PermuteAndFlip, RandomSource, answer_shape

Answer = NDArray[Any]


@dataclass(frozen=True)
class Draw:
    """One question and its answer; for noise, answer = exact + noise."""

    purpose: str
    law: Law
    exact: NDArray[Any]
    answer: Answer


class Watch(RandomSource):
    """The questions of one run, in order; the first ones answered as prescribed."""

    releasable = False

    def __init__(
        self,
        noise: RandomSource,
        prescribed: Sequence[Answer] = (),
        *,
        rest: RandomSource | None = None,
        shrunk: Fraction = Fraction(1),
    ) -> None:
        """`rest`: of what is no answer. `shrunk`: the noise of answers is made smaller, and deep paths are taken."""
        self._noise, self._rest = noise, noise if rest is None else rest
        self._shrunk = shrunk
        self.prescribed = prescribed
        self.draws: list[Draw] = []
        self.bytes_used = 0  # for what is no answer
        self.spent: dict[str, Fraction] = {}  # purpose -> its part of the budget
        self.purpose = "not paid for"  # of the latest purchase: what is drawn from now on

    def random_bytes(self, count: int) -> bytes:
        self.bytes_used += count
        return self._rest.random_bytes(count)

    def pay(self, purpose: str, amount: Fraction) -> None:
        self.purpose = purpose
        self.spent[purpose] = self.spent.get(purpose, Fraction(0)) + amount

    def answer(self, law: Law, exact: NDArray[Any]) -> Answer:
        place = len(self.draws)
        if place < len(self.prescribed):
            given = self.prescribed[place]
            if answer_shape(law, exact) != given.shape:
                raise DependsOnData("how many numbers are drawn depends on more than what was released before")
        else:
            given = self._drawn(law, exact)
        self.draws.append(Draw(self.purpose, law, exact.copy(), given))
        return given.copy()  # whoever asked may work on it in place

    def _drawn(self, law: Law, exact: NDArray[Any]) -> Answer:
        answer: Answer = law.drawn(exact, self._noise)
        if self._shrunk == 1:
            return answer
        if isinstance(law, Noise):
            smaller: Answer = (answer - exact) * self._shrunk.numerator // self._shrunk.denominator
            return exact + smaller
        if isinstance(law, Exponential | PermuteAndFlip):
            return np.reshape(exact.argmax(axis=-1), answer.shape)
        return exact.copy()  # every channel gives back what went in, with a chance above zero


@dataclass
class WatchedBudget(Budget):
    """A budget like any other that tells what it is spent on."""

    watch: Watch | None = None

    def spend(self, fraction: Fraction, purpose: str) -> Price:
        price = super().spend(fraction, purpose)
        if self.watch is not None:
            self.watch.pay(purpose, price.amount)
        return price

    def carve(self, fraction: Fraction, purpose: str) -> Budget:
        """Not a purchase: what is bought from the carved budget is written down as it is bought."""
        price = Budget.spend(self, fraction, purpose)
        carved = WatchedBudget(self.epsilon, self.delta, protects=self.protects, watch=self.watch)
        carved.whole = price
        return carved


@dataclass(frozen=True)
class Path:
    """The same answers under X and under X'."""

    original: Watch
    changed: Watch

    def __iter__(self) -> Iterator[tuple[Draw, Draw]]:
        if len(self.original.draws) != len(self.changed.draws) or self.original.spent != self.changed.spent:
            raise DependsOnData("what is drawn, or what it costs, depends on more than what was released before")
        for one, other in zip(self.original.draws, self.changed.draws, strict=True):
            if one.law != other.law:
                raise DependsOnData("the scale of the noise depends on more than what was released before")
            if one.exact.shape != other.exact.shape:
                raise DependsOnData("how many numbers are drawn depends on more than what was released before")
            yield one, other

    def worst(self) -> list[Lost]:
        """What each answer can lose at most."""
        return [worst_loss(one.law, one.exact, other.exact) for one, other in self]

    def losses(self) -> dict[str, float]:
        """What purchases lose at these answers, in ε, or in ρ for Gaussian noise; choices and channels at worst."""
        losses: dict[str, float] = dict.fromkeys(self.original.spent, 0.0)
        for one, other in self:
            if isinstance(one.law, Noise) and one.law.name == "discrete Laplace":
                further = np.abs(one.answer - other.exact) - np.abs(one.answer - one.exact)
                lost = float(further.sum() / float(one.law.parameter))
            else:
                lost = float(worst_loss(one.law, one.exact, other.exact).amount)
            losses[one.purpose] = losses.get(one.purpose, 0.0) + lost
        return losses


Run = Callable[[bool, Watch], object]  # run the method on X, or on X' if True


def replayed(run: Run, noise: RandomSource, answers: Sequence[Answer] = ()) -> Path:
    """Run on X, with the first answers prescribed, and on X' with all answers that X got."""
    original = Watch(noise, answers)
    run(False, original)
    changed = Watch(noise, [draw.answer for draw in original.draws])
    run(True, changed)
    return Path(original, changed)


def steered(run: Run, noise: RandomSource) -> Path:
    """A path on which every draw favours X as much as it can."""
    answers: list[Answer] = []
    while True:
        path = replayed(run, noise, answers)
        pairs = list(path)
        if len(answers) == len(pairs):
            return path
        # Draws that do not differ are left as they came, and so are choices and channels.
        for one, other in pairs[len(answers) :]:
            answers.append(one.answer)
            if isinstance(one.law, Noise) and (one.exact != other.exact).any():
                away = np.sign(one.exact - other.exact)
                answers[-1] = np.where(away == 0, one.answer, one.exact + away * np.abs(one.answer - one.exact))
                break
