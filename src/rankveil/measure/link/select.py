"""Which pairs of columns are worth a table: chosen with a part of the budget.

Guarantee    Differentially private at the price it is given.
Argument     The score of a pair is the L1 distance of its exact table, over few released cells, from the table that
             independence would give, a constant rounded to integers. One replacement changes a table by 2 in L1, hence
             a score by at most 2: T18.
             pure ε   T draws of permute-and-flip (T9), each at a part ε' of the price and with scale 2·2/ε'; the first
                      ones among pairs that join unconnected columns, for 65 % of the price, the others for the rest.
                      Candidates depend on earlier draws only: adaptive composition.
             zCDP     Gaussian noise on all scores at once: L2 = 2·sqrt(number of pairs). What is chosen from noisy
                      scores is post-processing.
Arithmetic   Integer scores, exact mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats
from rankveil.measure.budget import Price
from rankveil.measure.link.pairs import Pair, PairCounts, grouped
from rankveil.noise import PermuteAndFlip, RandomSource

_SCORE_CELLS = 8
_SCORE_CHANGE = 2
_LARGEST_WEIGHT = 3.0
_FOR_THE_TREE = Fraction(65, 100)


@dataclass(frozen=True)
class Selection:
    pairs: list[Pair]
    strength: dict[Pair, float]  # released strength of dependence as a share of n; empty where it is not known


def spanning_order(pairs: list[Pair], strength: Floats, connected: frozenset[str] = frozenset()) -> list[int]:
    """Pairs of a maximum spanning forest, strongest first; columns in `connected` count as joined already."""
    leader: dict[str, str] = dict.fromkeys(connected, "")

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    chosen = []
    for place in np.argsort(-strength, kind="stable"):
        first, second = (find(name) for name in pairs[place])
        if first != second:
            leader[first] = second
            chosen.append(int(place))
    return chosen


def select_pairs(
    counts: PairCounts,
    marginals: Mapping[str, Marginal],
    rows: int,
    wanted: int,
    price: Price,
    source: RandomSource,
    connected: frozenset[str] = frozenset(),
) -> Selection:
    """`wanted` pairs, a spanning tree of the columns among them. `connected`: public columns, joined beforehand."""
    pairs = list(counts)
    scores, expected_by_chance, weights = _scores(counts, marginals, rows)
    if price.unit == "rho":
        squared = _SCORE_CHANGE**2 * len(pairs)
        # PRIVACY: the vector of all scores has L2 sensitivity 2·sqrt(#pairs).
        noisy = price.laplace_or_gaussian(l1=_SCORE_CHANGE * len(pairs), l2_squared=squared).added_to(scores, source)
        excess = noisy - expected_by_chance
        value = excess * weights
        order = [*spanning_order(pairs, value, connected), *(int(place) for place in np.argsort(-value, kind="stable"))]
        chosen = list(dict.fromkeys(order))[:wanted]
        return Selection(
            [pairs[place] for place in chosen],
            {pairs[place]: max(0.0, float(excess[place]) / rows) for place in chosen},
        )
    return Selection(_drawn(pairs, scores - expected_by_chance, wanted, price, source, connected), {})


def _drawn(
    pairs: list[Pair],
    utility: NDArray[np.int64],
    wanted: int,
    price: Price,
    source: RandomSource,
    connected: frozenset[str],
) -> list[Pair]:
    columns = {name for pair in pairs for name in pair}
    leader = {name: "" if name in connected else name for name in columns}
    joins = len(set(leader.values())) - 1
    for_joins = price * _FOR_THE_TREE if wanted > joins else price
    open_places = list(range(len(pairs)))
    chosen: list[Pair] = []
    for draw in range(wanted):
        joining = [place for place in open_places if leader[pairs[place][0]] != leader[pairs[place][1]]]
        candidates = joining if draw < joins else open_places
        part = for_joins / joins if draw < joins else price * (1 - _FOR_THE_TREE) / (wanted - joins)
        # PRIVACY: permute-and-flip at this part of the price; a score changes by at most 2.
        scale = 2 * _SCORE_CHANGE / part.amount
        place = candidates[int(source.answer(PermuteAndFlip(scale), utility[candidates][None, :])[0])]
        open_places.remove(place)
        chosen.append(pairs[place])
        old, new = (leader[name] for name in pairs[place])
        leader = {name: new if group == old else group for name, group in leader.items()}
    return chosen


def _scores(
    counts: PairCounts, marginals: Mapping[str, Marginal], rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Integer scores, what chance alone would give them, and weights that let narrow columns compete."""
    groups = {name: marginal.group(_SCORE_CELLS, 0.0) for name, marginal in marginals.items()}
    mass = {name: np.bincount(groups[name], marginal.mass) for name, marginal in marginals.items()}
    variety = {name: max(1 - float(((marginal.mass / rows) ** 2).sum()), 1e-3) for name, marginal in marginals.items()}
    scores = np.empty(len(counts), np.int64)
    by_chance = np.empty(len(counts), np.int64)
    weights = np.empty(len(counts))
    for place, ((a, b), table) in enumerate(counts.items()):
        independent = np.outer(mass[a], mass[b]) / rows
        constant = np.rint(independent).astype(np.int64)
        scores[place] = np.abs(grouped(table, groups[a], groups[b]) - constant).sum()
        by_chance[place] = round(float(np.sqrt(independent * 2 / math.pi).sum()))
        weights[place] = min((variety[a] * variety[b]) ** -0.25, _LARGEST_WEIGHT)
    return scores, by_chance, weights
