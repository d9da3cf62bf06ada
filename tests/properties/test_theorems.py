"""Statements of docs/privacy that no other test checks, on small instances: exactly where laws are rational.

Laws with e in them are made rational by choosing scales for which exp(1 / scale) is 2: the proofs use nothing of e but
that it is larger than 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from rankveil.declare.domain import MISSING, OUTER_STEPS
from rankveil.measure.bounds import Doubling, _BoundCounting
from rankveil.microaggregate.blocks import cluster_starts
from rankveil.taxonomy.graph import Taxonomy

ONE, HALF = Fraction(1), Fraction(1, 2)


# T2: adaptive composition, with prices that depend on earlier answers


def told(bit: int, ratio: Fraction) -> dict[int, Fraction]:
    """Randomized response whose answers have this ratio of probabilities: the law of the answer."""
    return {bit: ratio / (1 + ratio), 1 - bit: 1 / (1 + ratio)}


def in_turn(
    bits: Sequence[int], first: Fraction, after: dict[int, tuple[Fraction, Fraction]]
) -> dict[object, Fraction]:
    """Three questions; the ratios of the second and third follow from the first answer."""
    law: dict[object, Fraction] = {}
    for one, chance in told(bits[0], first).items():
        second, third = after[one]
        for (two, other), (three, another) in product(told(bits[1], second).items(), told(bits[2], third).items()):
            law[one, two, three] = chance * other * another
    return law


def renyi(law: dict[object, Fraction], other: dict[object, Fraction], order: int) -> Fraction:
    """E over the other law of (P / Q)^order: e^{order (order - 1) ρ} is what zCDP allows."""
    return sum((other[y] * (law[y] / other[y]) ** order for y in law), Fraction(0))


@pytest.mark.parametrize("after", [{0: (4, 2), 1: (4, 2)}, {0: (8, 1), 1: (2, 4)}, {0: (1, 8), 1: (8, 1)}])
def test_prices_that_follow_from_earlier_answers_add_up_along_every_path(after: dict[int, tuple[int, int]]) -> None:
    ratios = {answer: (Fraction(second), Fraction(third)) for answer, (second, third) in after.items()}
    assert {second * third for second, third in ratios.values()} == {8}
    laws = [in_turn(bits, Fraction(2), ratios) for bits in product((0, 1), repeat=3)]
    worst = max(law[y] / other[y] for law in laws for other in laws for y in law)
    assert worst == 2 * 8
    spent_twice = {0: (Fraction(8), Fraction(8)), 1: (Fraction(1), Fraction(8))}  # the twin: one path costs more
    law, other = in_turn((0, 0, 0), Fraction(2), spent_twice), in_turn((1, 1, 1), Fraction(2), spent_twice)
    assert max(law[y] / other[y] for y in law) > 2 * 8


@pytest.mark.parametrize("order", [2, 3, 7])
def test_renyi_moments_multiply_also_if_the_second_question_follows_from_the_first_answer(order: int) -> None:
    """Both ways to go on have the same moment, one of two questions and one of a single question that costs as much."""
    weak, strong = Fraction(2), Fraction(3)
    moment = {ratio: renyi(dict(told(0, ratio)), dict(told(1, ratio)), order) for ratio in (weak, strong)}
    after = {0: (weak, ONE), 1: (ONE, weak)}
    law, other = in_turn((0, 0, 0), strong, after), in_turn((1, 1, 1), strong, after)
    assert renyi(law, other, order) == moment[strong] * moment[weak]


# T4: the constant of the conversion


@pytest.mark.parametrize("order", [2, 3, 5, 12])
def test_no_loss_has_more_excess_than_the_constant_of_the_conversion(order: int) -> None:
    constant = Fraction(order - 1, order) ** order / (order - 1)
    values = [(1 - u) * u ** (order - 1) for u in (Fraction(step, 1000 * order) for step in range(1000 * order + 1))]
    assert max(values) == constant
    assert constant <= 1


# T7: discrete Gaussian noise


@pytest.mark.parametrize("variance", [0.2, 1.0, 7.5])
@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 9.0])
def test_shifted_discrete_gaussians_diverge_no_more_than_continuous_ones(variance: float, order: float) -> None:
    places = range(-400, 401)
    mass = math.fsum(math.exp(-(y**2) / (2 * variance)) for y in places)
    for shift in (1, 2, 5):
        exponents = [-(order * (y - shift) ** 2 + (1 - order) * y**2) / (2 * variance) for y in places]
        top = max(exponents)
        log_moment = top + math.log(math.fsum(math.exp(each - top) for each in exponents) / mass)
        allowed = order * (order - 1) * shift**2 / (2 * variance)
        assert log_moment <= allowed + 1e-9 * max(1.0, allowed)
        if order * shift == round(order * shift):  # the centre is an integer: attained
            assert log_moment == pytest.approx(allowed, rel=1e-9)


# T9: permute-and-flip, with exp(1 / scale) = 2


def permute_and_flip_law(scores: Sequence[int]) -> list[Fraction]:
    """Exactly: sum over the sets of coins that show heads, among which the choice is uniform."""
    accepts = [Fraction(1, 2 ** (max(scores) - score)) for score in scores]
    law = [Fraction(0)] * len(scores)
    for size in range(1, len(scores) + 1):
        for heads in combinations(range(len(scores)), size):
            chance = math.prod((accepts[a] if a in heads else 1 - accepts[a]) for a in range(len(scores)))
            for a in heads:
                law[a] += chance / size
    return law


def test_permute_and_flip_loses_no_more_than_the_range_of_the_changes_exhaustively() -> None:
    worst = Fraction(0)
    for scores in product(range(4), repeat=3):
        before = permute_and_flip_law(scores)
        assert sum(before) == 1
        for changes in product((-1, 0, 1), repeat=3):
            after = permute_and_flip_law([score + change for score, change in zip(scores, changes, strict=True)])
            span = max(changes) - min(changes)
            largest = max(new / old for new, old in zip(after, before, strict=True))
            assert largest <= 2**span
            worst = max(worst, largest)
    assert 3 < worst <= 4, "the bound is nearly attained, so that half the scale would break it"


def test_raising_another_score_never_raises_the_chance_of_a_candidate() -> None:
    for scores in product(range(4), repeat=3):
        raised = permute_and_flip_law([scores[0], scores[1] + 1, scores[2]])
        law = permute_and_flip_law(scores)
        assert raised[0] <= law[0] and raised[2] <= law[2] and raised[1] >= law[1]


# T15: private bounds


def test_one_replaced_value_moves_one_count_of_the_cells_for_bounds() -> None:
    values = [MISSING, *(OUTER_STEPS + step for step in (0, 1, -1, 2, -3, 7, 1000, 1 - OUTER_STEPS, OUTER_STEPS))]
    fold = _BoundCounting({"a": Doubling(OUTER_STEPS)})
    counted = {value: fold.step(fold.zero(), {"a": np.array([value])})["a"] for value in values}
    for old, new in product(values, repeat=2):
        change = counted[new] - counted[old]
        assert np.abs(change).sum() <= 2
        assert (change**2).sum() <= 2


# T26: two values, every binary channel on a grid


@pytest.mark.parametrize("ratio", [2, 3, 10])
def test_no_private_channel_for_two_values_errs_less_than_one_in_one_plus_the_ratio(ratio: int) -> None:
    grid = [Fraction(step, 60) for step in range(61)]
    allowed = [
        (wrong_low + wrong_high) / 2
        for wrong_low, wrong_high in product(grid, repeat=2)
        if 1 - wrong_high <= ratio * wrong_low and 1 - wrong_low <= ratio * wrong_high
        if wrong_low <= ratio * (1 - wrong_high) and wrong_high <= ratio * (1 - wrong_low)
    ]
    assert min(allowed) >= Fraction(1, 1 + ratio)
    assert min(allowed) <= Fraction(1, 1 + ratio) + Fraction(1, 60)


# T45: rows in random order


@pytest.mark.parametrize("chances", [[ONE], [HALF, HALF], [Fraction(1, 6), Fraction(1, 3), HALF]])
def test_rows_thrown_into_buckets_and_permuted_there_come_in_every_order_alike(chances: list[Fraction]) -> None:
    rows = 4
    law: dict[tuple[int, ...], Fraction] = {}
    for thrown in product(range(len(chances)), repeat=rows):
        buckets = [[row for row in range(rows) if thrown[row] == bucket] for bucket in range(len(chances))]
        orders = list(product(*(list(permutations(bucket)) for bucket in buckets)))
        for order in orders:
            joined = tuple(row for part in order for row in part)
            law[joined] = law.get(joined, Fraction(0)) + math.prod(chances[bucket] for bucket in thrown) / len(orders)
    assert set(law.values()) == {Fraction(1, math.factorial(rows))}


# T37: bounds read from the data


def test_a_clamp_read_from_the_data_shows_the_largest_value() -> None:
    """Uniform noise of any spread, moved into [0, 1.5 · largest]: outputs that one neighbour cannot have."""

    def outputs(values: list[int]) -> set[Fraction]:
        top = Fraction(3, 2) * max(values)
        return {min(max(values[0] + Fraction(noise), Fraction(0)), top) for noise in range(-20, 21)}

    assert outputs([1, 1, 10]) - outputs([1, 1, 4])


# T38: an order read from the data


def in_order_of_what_is_present(labels: list[str], far: dict[tuple[str, str], float]) -> list[str]:
    """By distance from the most marginal label that is present; ties by name, as T38 says."""
    reference = min(set(labels), key=lambda label: (-round(sum(far[label, other] for other in labels), 9), label))
    return sorted(labels, key=lambda label: (round(far[reference, label], 9), label))


def test_an_order_read_from_the_data_loses_many_times_what_is_claimed() -> None:
    parents = {"all": [], "a": ["all"], "b": ["all"], "a1": ["a"], "a2": ["a"], "b1": ["b"], "b2": ["b"]}
    candidates = ["a1", "a2", "b1", "b2"]
    taxonomy = Taxonomy(parents, {label: label for label in candidates})
    place = {label: taxonomy.names.index(label) for label in candidates}
    far = {(a, b): float(taxonomy.distances[place[a], place[b]]) for a in candidates for b in candidates}
    first = in_order_of_what_is_present(["a2"] * 7 + ["b1"] + ["b2"] * 8, far)
    second = in_order_of_what_is_present(["a2"] * 8 + ["b2"] * 8, far)
    assert first == ["b1"] + ["b2"] * 8 + ["a2"] * 7
    assert second == ["a2"] * 8 + ["b2"] * 8

    def log_law(cluster: list[str]) -> list[float]:
        """Algorithm 2 with ε = 1."""
        logs = [-sum(far[label, a] for label in cluster) / (2 * max(far.values())) for a in candidates]
        return [each - math.log(sum(map(math.exp, logs))) for each in logs]

    def loss(before: list[str], after: list[str]) -> float:
        pairs = [(log_law(before[start : start + 8]), log_law(after[start : start + 8])) for start in (0, 8)]
        return sum(max(x - y for x, y in zip(*pair, strict=True)) for pair in pairs)

    assert max(loss(first, second), loss(second, first)) > 7
    public = sorted  # the twin: one public order of all labels
    assert max(loss(public(first), public(second)), loss(public(second), public(first))) < 3


# T40: cells cut at true ranks


def test_the_table_of_t40_changes_by_four() -> None:
    def table(records: list[tuple[int, int]]) -> np.ndarray:
        cells = [np.argsort(np.argsort(column)) // 2 for column in np.array(records).T]
        return np.bincount(cells[0] * 2 + cells[1], minlength=4)

    before, after = table([(1, 1), (2, 2), (3, 3), (4, 4)]), table([(5, 1), (2, 2), (3, 3), (4, 4)])
    assert before.tolist() == [2, 0, 0, 2]
    assert after.tolist() == [1, 1, 1, 1]


# T42: local sensitivity


def test_every_small_column_has_a_replacement_that_moves_the_list_by_half_the_width() -> None:
    width, starts = 4, cluster_starts(5, 2)
    for column in product(range(width + 1), repeat=5):
        sums = np.add.reduceat(np.sort(column), starts)
        farthest = max(
            int(np.abs(np.add.reduceat(np.sort([*column[:place], new, *column[place + 1 :]]), starts) - sums).sum())
            for place in range(5)
            for new in (0, width)
        )
        assert 2 * farthest >= width
        assert farthest == max(max(column), width - min(column))
