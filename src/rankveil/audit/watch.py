"""Production code, watched while it spends its budget: which exact numbers it adds which noise to.

While a method is `watched`, every integer noise it adds is written down: purpose, noise, exact statistic and noisy
answer. Given answers from outside, these are handed out instead of draws. So a method can be run on a table X, and then
on its neighbour X' with the answers that X got. If all it draws is a function of the data and of earlier answers, as
composition demands, both runs ask the same questions, and the privacy loss at these answers is known exactly, adaptive
steps included:
    log P(answers | X) - log P(answers | X') = Σ (|answer - s'| - |answer - s|) / scale
That is a lower bound on ε, because the answers can occur (T44). `steered` looks for bad ones: step by step it reflects
the noise of each number that differs, so that the answer lies beyond s as seen from s'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.audit.findings import DependsOnData
from rankveil.flow.budget import Budget, Noise, Price
from rankveil.noise import RandomSource

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Draw:
    """One purchase of noise: answer = exact + noise."""

    purpose: str
    noise: Noise
    exact: Integers
    answer: Integers


@dataclass
class Watch:
    """The draws of one run, in order; the first ones answered as prescribed."""

    prescribed: Sequence[Integers] = ()
    draws: list[Draw] = field(default_factory=list)
    spent: dict[str, Fraction] = field(default_factory=dict)  # purpose -> its part of the budget
    purpose: str = "not paid for"  # of the latest purchase: what is drawn from now on

    def pay(self, purpose: str, amount: Fraction) -> None:
        self.purpose = purpose
        self.spent[purpose] = self.spent.get(purpose, Fraction(0)) + amount

    def answer(self, noise: Noise, exact: Integers, draw: Callable[[], Integers]) -> Integers:
        place = len(self.draws)
        given = self.prescribed[place] if place < len(self.prescribed) else draw()
        if given.shape != exact.shape:
            raise DependsOnData("how many numbers are drawn depends on more than what was released before")
        self.draws.append(Draw(self.purpose, noise, exact.copy(), given))
        return given


@dataclass
class WatchedBudget(Budget):
    """A budget like any other that tells what it is spent on."""

    watch: Watch = field(default_factory=Watch)

    def spend(self, fraction: Fraction, purpose: str) -> Price:
        price = super().spend(fraction, purpose)
        self.watch.pay(purpose, price.amount)
        return price

    def carve(self, fraction: Fraction, purpose: str) -> Budget:
        """Not a purchase: what is bought from the carved budget is written down as it is bought."""
        price = Budget.spend(self, fraction, purpose)
        carved = WatchedBudget(self.epsilon, self.delta, watch=self.watch)
        carved.whole = price
        return carved


@contextmanager
def instead(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """owner.name is `function` in the meantime."""
    plain = getattr(owner, name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, plain)


def watched(watch: Watch) -> AbstractContextManager[None]:
    """Everything drawn by `Noise.added_to` in the meantime goes through `watch`."""
    plain = Noise.added_to

    def added_to(noise: Noise, values: Integers, source: RandomSource) -> Integers:
        return watch.answer(noise, values, lambda: plain(noise, values, source))

    return instead(Noise, "added_to", added_to)


@dataclass(frozen=True)
class Path:
    """The same answers under X and under X'."""

    original: Watch
    changed: Watch

    def __iter__(self) -> Iterator[tuple[Draw, Draw]]:
        if len(self.original.draws) != len(self.changed.draws) or self.original.spent != self.changed.spent:
            raise DependsOnData("what is drawn, or what it costs, depends on more than what was released before")
        for one, other in zip(self.original.draws, self.changed.draws, strict=True):
            if one.noise != other.noise:
                raise DependsOnData("the scale of the noise depends on more than what was released before")
            yield one, other

    def losses(self) -> dict[str, float]:
        """What each purchase loses at these answers: in ε for Laplace noise, in ρ for Gaussian noise."""
        losses: dict[str, float] = dict.fromkeys(self.original.spent, 0.0)
        for one, other in self:
            if one.noise.name == "discrete Laplace":
                further = np.abs(one.answer - other.exact) - np.abs(one.answer - one.exact)
                lost = float(further.sum() / float(one.noise.parameter))
            else:
                change = one.exact - other.exact
                lost = float((change * change).sum() / (2 * float(one.noise.parameter)))
            losses[one.purpose] = losses.get(one.purpose, 0.0) + lost
        return losses


Run = Callable[[bool, Watch], object]  # run the method on X, or on X' if True


def replayed(run: Run, answers: Sequence[Integers] = ()) -> Path:
    """Run on X, with the first answers prescribed, and on X' with all answers that X got."""
    original = Watch(answers)
    with watched(original):
        run(False, original)
    changed = Watch([draw.answer for draw in original.draws])
    with watched(changed):
        run(True, changed)
    return Path(original, changed)


def steered(run: Run) -> Path:
    """A path on which every draw favours X as much as it can."""
    answers: list[Integers] = []
    while True:
        path = replayed(run, answers)
        pairs = list(path)
        if len(answers) == len(pairs):
            return path
        # Draws that do not differ are left as they came.
        for one, other in pairs[len(answers) :]:
            away = np.sign(one.exact - other.exact)
            noise = one.answer - one.exact
            answers.append(np.where(away == 0, one.answer, one.exact + away * np.abs(noise)))
            if away.any():
                break


def tapped(owner: Any, name: str, hear: Callable[..., None]) -> AbstractContextManager[None]:
    """Tell `hear` the arguments of every call of owner.name, which works on as before."""
    plain = getattr(owner, name)

    def listening(*arguments: Any) -> Any:
        hear(*arguments)
        return plain(*arguments)

    return instead(owner, name, listening)
