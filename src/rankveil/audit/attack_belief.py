"""What is left to guess about one cell of a table: belief before a release, and after it.

Attacker     Knows the whole table but one cell: all other records, the other columns of this one, the method and its
             settings. Before the release every value of the column's public domain is equally likely to them, missing
             counting as one more value where the plan allows it.
Measures     Numbers, days and ordered labels: `range`, the smallest set of values that holds 95 % of the belief, as a
             share of what that set is before the release. 1: nothing was learnt. 0.01: a hundredth is left.
             A belief that is even on a bracket has the bracket's share of the domain.
             Labels: `chance`, the belief in the true label.
Bounds       An ε-DP release multiplies odds by at most e^ε. A set A with prior mass p then has at most the posterior
             p e^ε / (p e^ε + 1 - p). For 0.95 it needs p >= 0.95 / (0.95 + 0.05 e^ε), so `range` is at least
             1 / (0.95 + 0.05 e^ε); the same holds for what a further ε adds to any belief.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid

LEVEL = 0.95
_MOST_CANDIDATES = 1 << 12  # values of a wide domain that are looked at
_LARGEST_EXPONENT = 700.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Belief:
    """What an attacker holds of one cell: `value` is its range or chance; the rest is for looking at a single row."""

    value: float
    low: int = 0  # numbers: nothing is left below this code
    high: int = 0
    may_be_missing: bool = False
    labels: tuple[tuple[int, float], ...] = ()  # labels: code and chance, the most likely first


Attacker = Callable[[int, Column], Belief]  # about a row's cell in a column


def is_number(column: Column) -> bool:
    return isinstance(column.domain, Grid)


def before(column: Column) -> float:
    """`value` when nothing has been released."""
    return 1.0 if is_number(column) else 1 / candidate_count(column)


def candidate_count(column: Column) -> int:
    domain = column.domain
    values = domain.width + 1 if isinstance(domain, Grid) else domain.label_count
    return values + column.allows_null


def candidates(column: Column) -> Codes:
    """The values that a cell may have, evenly thinned where they are many; MISSING last, where it is allowed."""
    domain = column.domain
    if isinstance(domain, Grid):
        count = min(domain.width + 1, _MOST_CANDIDATES)
        codes = np.unique(np.rint(np.linspace(0, domain.width, count)).astype(np.int64))
    else:
        codes = np.arange(domain.label_count)
    return np.append(codes, MISSING) if column.allows_null else codes


def from_likelihood(column: Column, codes: Codes, log_likelihood: Floats, true: int, *, spare: float = 0.0) -> Belief:
    """Bayes' rule on the candidates. `spare`: an ε of which only the price is known; it counts in the worst way."""
    # Thinned codes stand for equally many values each, missing for one.
    present = codes != MISSING
    each = (candidate_count(column) - column.allows_null) / np.count_nonzero(present)
    prior = np.where(present, each, 1.0) / candidate_count(column)
    belief = prior * np.exp(log_likelihood - log_likelihood.max())
    belief /= belief.sum()
    if not is_number(column):
        ranked = np.argsort(-belief, kind="stable")
        labels = tuple((int(codes[place]), float(belief[place])) for place in ranked)
        return Belief(raised(float(belief[codes == true][0]), spare), labels=labels)
    level = lowered(LEVEL, spare)
    ranked = np.argsort(-belief / prior, kind="stable")
    mass = np.cumsum(belief[ranked])
    last = min(int(np.searchsorted(mass, level)), len(mass) - 1)
    # The last value counts in part, so that no step of the grid shows.
    part = 1 - (mass[last] - level) / belief[ranked[last]]
    share = float(prior[ranked[:last]].sum() + part * prior[ranked[last]])
    kept = codes[ranked[: last + 1]]
    numbers = kept[kept != MISSING]
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (MISSING, MISSING)
    value = min(max(share / LEVEL, 1 / candidate_count(column)), 1.0)
    return Belief(value, low, high, bool((kept == MISSING).any()))


def by_likelihood(
    records: Records, log_likelihood: Callable[[int, Column, Codes], Floats], *, spare: float = 0.0
) -> Attacker:
    """Bayes' rule in every cell. `log_likelihood`: of a row's candidates in a column."""

    def belief(row: int, column: Column) -> Belief:
        codes, true = candidates(column), int(records.codes[column.name][row])
        return from_likelihood(column, codes, log_likelihood(row, column, codes), true, spare=spare)

    return belief


def from_bracket(column: Column, low: int, high: int) -> Belief:
    """Values outside low..high are impossible."""
    return Belief((high - low + 1) / candidate_count(column), low, high)


def from_labels(codes: Codes) -> Belief:
    """Labels that are not listed are impossible."""
    return Belief(1 / len(codes), labels=tuple((int(code), 1 / len(codes)) for code in codes))


def known_missing(column: Column) -> Belief:
    """The release shows that the value is missing."""
    if is_number(column):
        return Belief(1 / candidate_count(column), MISSING, MISSING, may_be_missing=True)
    return Belief(1.0, labels=((MISSING, 1.0),))


def bounded(column: Column, epsilon: float) -> Belief:
    """What no attacker can exceed, whatever an ε-DP release looks like."""
    if isinstance(column.domain, Grid):
        value = max(lowered(LEVEL, epsilon) / LEVEL, 1 / candidate_count(column))  # one value is always left
        return Belief(value, 0, column.domain.width, column.allows_null)
    return Belief(raised(before(column), epsilon))


def raised(chance: float, epsilon: float) -> float:
    """The largest chance that odds multiplied by e^ε make of a chance."""
    return chance / (chance + (1 - chance) * math.exp(-min(epsilon, _LARGEST_EXPONENT)))


def lowered(chance: float, epsilon: float) -> float:
    """The chance that odds multiplied by e^ε turn into this one."""
    return chance / (chance + (1 - chance) * math.exp(min(epsilon, _LARGEST_EXPONENT)))


def first_reaching(value_at: Callable[[Codes], NDArray[np.int64]], last: int, wanted: float) -> int:
    """The first of 0..last whose value is at least `wanted`, for values that never fall; last + 1 if there is none."""
    low, high = -1, last + 1  # below `wanted`, and at least `wanted`
    while high - low > 1:
        count = min(high - low - 1, _MOST_CANDIDATES)
        places = low + 1 + np.arange(count) * ((high - low - 1) // count)
        first = int(np.searchsorted(value_at(places), wanted))
        low, high = int(places[first - 1]) if first else low, int(places[first]) if first < count else high
    return high
