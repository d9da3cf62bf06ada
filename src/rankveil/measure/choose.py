"""Which tables are worth measuring, and what each may cost.

Guarantee    Differentially private at the price it is given.
Argument     The score of a table is the L1 distance of its exact counts from what is expected without measuring it, a
             constant rounded to integers. A score changes by no more than its table does in L1, c, which is 2 for a
             replaced record: T18 (for other units T50). All scores get noise at once: L1 c·C and L2 c·sqrt(C) for C
             candidates. What is chosen from noisy scores,
             and how the budget is divided among the chosen, is post-processing of them.
Rule         With Gaussian noise at a price of rho_i a table of s_i cells is off by s_i·sqrt(2/pi)/sqrt(rho_i) in L1,
             of which the fit leaves a part (rules.LEFT_BY_FIT). Divided at best, rho_i is in proportion to s_i^(2/3),
             and all tables together are off by (sum of s_i^(2/3))^(3/2): chosen is the set whose scores exceed that
             by most. With Laplace noise the powers are 1/2 and 2. Tables that the plan is interested in count for more.
             Pairs count by what they would be wrong by without a table, too, where others lead away from them
             (`against_others`).
Arithmetic   Integer scores, exact noise.
Reference    The rule follows the division by sizes of google/dpsynth's SWIFT.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare.unit import Sensitivity, Unit
from rankveil.measure.budget import Price
from rankveil.measure.measurements import Floats
from rankveil.measure.tables import Columns
from rankveil.noise import RandomSource


@dataclass(frozen=True)
class Chosen:
    """A table to be measured, its part of the price, and how much it says, as a share of the records."""

    columns: Columns
    part: Fraction
    strength: float


@dataclass(frozen=True)
class Scores:
    """Noisy scores of candidate tables."""

    gain: Floats  # records that a table would put right, beyond what chance alone puts wrong
    strength: Floats  # from 0, as near to what is expected as chance allows, to 1, as far from it as can be


def score_change(protects: Unit) -> Sensitivity:
    """Of one score: a distance in L1 changes by no more than what it is measured from."""
    change = protects.of_counts.l1
    return Sensitivity(change, change**2)


def noisy_scores(
    exact: Sequence[NDArray[np.int64]], expected: Sequence[Floats], rows: int, price: Price, source: RandomSource
) -> Scores:
    """How far each table is from what is expected of it, with noise."""
    scores = np.array(
        [
            int(np.abs(counts - np.rint(model).astype(np.int64)).sum())
            for counts, model in zip(exact, expected, strict=True)
        ],
        dtype=np.int64,
    )
    # PRIVACY: all scores in one vector; each changes by no more than its table does.
    noise = price.noise_for(score_change(price.protects) * len(scores))
    noisy = noise.added_to(scores, source).astype(np.float64)
    # The mean distance of a Poisson number from its mean: sqrt(2 mean / pi), and 2 mean where that is less.
    means = [np.maximum(model, 0.0) for model in expected]
    chance = np.array([np.minimum(np.sqrt(2 / math.pi * mean), 2 * mean).sum() for mean in means])
    strength = np.clip((noisy - chance) / np.maximum(2 * rows - chance, 1), 0, 1)
    return Scores(noisy - chance, strength)


def choose(
    candidates: Sequence[Columns],
    scores: Scores,
    cells: Sequence[int],
    weights: Mapping[Columns, float],
    price: Price,
) -> list[Chosen]:
    """The best set of candidates, the most worthwhile first, and the parts of the price they get."""
    power, factor = cost_of(price)
    weight = np.array([weights.get(columns, 1.0) for columns in candidates])
    part = (weight * np.asarray(cells, np.float64) * factor * rules.LEFT_BY_FIT) ** power
    value = weight * scores.gain
    order = np.argsort(-value / part, kind="stable")
    cost = np.cumsum(part[order]) ** (1 / power) / float(price.amount) ** (1 / power - 1)
    balance = np.cumsum(value[order]) - cost
    if not len(balance) or balance.max() <= 0:
        return []
    kept = order[: int(np.argmax(balance)) + 1]
    return [
        Chosen(candidates[place], share, float(scores.strength[place]))
        for place, share in zip(kept, in_parts(part[kept]), strict=True)
    ]


def against_others(candidates: Sequence[Columns], scores: Scores, chosen: Sequence[Columns], rows: int) -> Scores:
    """Scores of pairs, were the chosen ones measured: columns may come out too dependent on each other through a third.

    How strongly they would depend on each other is at least the product of the strengths along the way (between yes/no
    columns twice that, between normal ones three times). What they would be wrong by is at least the difference.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(name for pair in candidates for name in pair))}
    first, second = np.array([[places[name] for name in pair] for pair in candidates]).T
    wanted = set(chosen)
    kept = np.array([pair in wanted for pair in candidates])
    links = np.zeros((len(places), len(places)))
    links[first[kept], second[kept]] = links[second[kept], first[kept]] = scores.strength[kept]
    through = np.zeros(len(candidates))
    for link in links:
        through = np.maximum(through, link[first] * link[second])
    alone = np.maximum(scores.gain, 0.0)
    return Scores(np.maximum(scores.gain, 2 * rows * through - alone), scores.strength)


def cost_of(price: Price) -> tuple[float, float]:
    """The power of the rule, and the mean size of noise on a count at the price 1."""
    change = price.protects.of_counts
    if price.unit == "epsilon":
        return 1 / 2, float(change.l1)
    return 2 / 3, math.sqrt(float(change.l2_squared) / math.pi)


def in_parts(amounts: Floats) -> list[Fraction]:
    """Parts in proportion to the amounts, rational and adding up to at most 1."""
    whole = rules.SMALLEST_PARTS
    shares = np.maximum(np.floor(amounts / amounts.sum() * whole), 1).astype(np.int64)
    total = max(whole, int(shares.sum()))
    return [Fraction(int(share), total) for share in shares]
