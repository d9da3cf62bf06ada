"""Watched budgets, answers given again, exact laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rankveil.aligned.channel import HammingBall, Window, ratio_within
from rankveil.audit.findings import DependsOnData
from rankveil.audit.laws import exponential_law, permute_and_flip_law, worst_loss
from rankveil.audit.watch import Watch, WatchedBudget, replayed, steered
from rankveil.noise import Exponential, SeededSource, exponential_mechanism, permute_and_flip
from tests.support import exact_matrix

SOURCE = SeededSource(1)
Step = Callable[[WatchedBudget, np.ndarray, Watch], None]


def run_of(step: Step, original: list[int], changed: list[int]) -> Callable[[bool, Watch], None]:
    def run(is_changed: bool, watch: Watch) -> None:
        step(WatchedBudget(Fraction(1), watch=watch), np.array(changed if is_changed else original), watch)

    return run


def adaptive(budget: WatchedBudget, counts: np.ndarray, source: Watch) -> None:
    """A first look at the sum; where it seems large, a second look at the counts themselves."""
    first = budget.spend(Fraction(1, 2), "sum").laplace_or_gaussian(1, 1).added_to(counts[:1], source)
    second = budget.spend(Fraction(1, 2), "counts").laplace_or_gaussian(2, 2)
    second.added_to(counts if first[0] > 3 else counts[:1], source)


def test_a_steered_path_of_an_adaptive_mechanism_loses_all_of_epsilon() -> None:
    path = steered(run_of(adaptive, [9, 4], [8, 5]), SOURCE)
    assert path.losses() == pytest.approx({"sum": 0.5, "counts": 0.5})
    assert path.original.spent == {"sum": Fraction(1, 2), "counts": Fraction(1, 2)}


def test_no_replayed_path_loses_more_than_a_steered_one() -> None:
    for _ in range(200):
        losses = replayed(run_of(adaptive, [9, 4], [8, 5]), SOURCE).losses()
        assert -1 - 1e-9 <= sum(losses.values()) <= 1 + 1e-9


def test_a_second_look_that_depends_on_the_data_and_not_on_the_first_answer_is_found_out() -> None:
    def peeking(budget: WatchedBudget, counts: np.ndarray, source: Watch) -> None:
        budget.spend(Fraction(1), "all").laplace_or_gaussian(2, 2).added_to(counts[counts > 4], source)

    with pytest.raises(DependsOnData, match="how many numbers"):
        steered(run_of(peeking, [9, 4], [8, 5]), SOURCE)


def test_a_scale_that_depends_on_the_data_is_found_out() -> None:
    def peeking(budget: WatchedBudget, counts: np.ndarray, source: Watch) -> None:
        budget.spend(Fraction(1), "all").laplace_or_gaussian(int(counts.max()), 2).added_to(counts, source)

    with pytest.raises(DependsOnData, match="scale"):
        steered(run_of(peeking, [9, 4], [8, 5]), SOURCE)


def test_noise_that_nobody_paid_for_is_put_down_as_such() -> None:
    def thief(budget: WatchedBudget, counts: np.ndarray, source: Watch) -> None:
        budget.part(Fraction(1)).laplace_or_gaussian(2, 2).added_to(counts, source)

    path = steered(run_of(thief, [9, 4], [8, 5]), SOURCE)
    assert path.losses() == pytest.approx({"not paid for": 1.0})


# Laws


def frequencies(draws: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(draws, minlength=size) / len(draws)


@pytest.mark.parametrize(
    ("law", "draw"),
    [
        (permute_and_flip_law, permute_and_flip),
        (exponential_law, exponential_mechanism),
    ],
)
def test_exact_laws_are_those_of_the_samplers(law: Callable[..., np.ndarray], draw: Callable[..., np.ndarray]) -> None:
    """100,000 draws: a frequency deviates by 5.5 standard deviations once in 25 million."""
    scores, scale = np.array([3, 0, 2, 3], dtype=np.int64), Fraction(3, 2)
    chances = np.exp(law(scores[None, :], scale)[0])
    assert chances.sum() == pytest.approx(1)
    seen = frequencies(draw(np.tile(scores, (100_000, 1)), scale, SeededSource(1)), 4)
    assert np.abs(seen - chances).max() < 5.5 * math.sqrt(0.25 / 100_000)


def test_the_loss_of_a_list_of_choices_is_the_larger_of_its_two_directions() -> None:
    one, other = (np.array([[0, 0, 0], scores]) for scores in ([0, 0, 0], [0, 0, -3]))
    one, other = np.concatenate([one, other[1:]]), np.concatenate([other, one[1:]])
    logs = [exponential_law(scores, Fraction(1)) for scores in (one, other)]
    forward, backward = ((logs[a] - logs[b]).max(axis=1).sum() for a, b in ((0, 1), (1, 0)))
    assert float(worst_loss(Exponential(Fraction(1)), one, other).amount) == pytest.approx(max(forward, backward))
    single = [worst_loss(Exponential(Fraction(1)), one[[row]], other[[row]]).amount for row in range(3)]
    assert max(forward, backward) < float(sum(single)), "rows that favour different tables do not add up"


@pytest.mark.parametrize("channel", [HammingBall((2, 3), 1, *ratio_within(Fraction(1))), Window((5,), 3, 7, 2)])
def test_the_largest_loss_of_a_channel_is_that_of_its_exact_matrix(channel: HammingBall | Window) -> None:
    inputs = [np.array([cells]) for cells in product(*(range(size) for size in channel.sizes))]
    by_pairs = max(float(worst_loss(channel, x, y).amount) for x in inputs for y in inputs)
    matrix = exact_matrix(channel)
    by_matrix = max(math.log(max(column) / min(column)) for column in zip(*matrix, strict=True))
    assert by_pairs == pytest.approx(by_matrix)
