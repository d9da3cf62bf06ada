"""Attacks on `synthetic` and `aligned`: everything they buy from their budget, in the order in which they buy it.

Replayed      the method runs on X and, with the same answers, on X': the loss of the whole path and of every share is
              exact (watch.py), for columns of every kind of synopsis, scores, tables of two and of three columns,
              parities, sign products and channels alike. Records change as in worst cases of T17, T18, T19, T47, T56.
Noise drawn   many draws of the very noise that the replay met: does it have its scale, in every bit?
One by one    scores and parities by themselves, at the whole ε or ρ: what a neighbour that attains the bound can see.
Whole rows    a few releases as they come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.aligned.channel import HammingBall, Window
from rankveil.audit.bounds import Scores
from rankveil.audit.cases import accuracy
from rankveil.audit.findings import DependsOnData, Finding, exact, sampled, structural
from rankveil.audit.tables import Rows, Setting, labels, number, replaced, unbounded
from rankveil.audit.watch import Watch, WatchedBudget, replayed, steered
from rankveil.declare import Column, Schema
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.measure.budget import Budget, Price
from rankveil.measure.choose import noisy_scores
from rankveil.measure.divide import divide
from rankveil.measure.parities import changing, measure_parities
from rankveil.noise import RandomSource

_DELTA = Fraction(1, 10**6)
_MOST_ROWS = 100_000
_WIDE = 5000
_CROWD = 400  # rows per 1/ε
_CHANNEL = "channel of each record"


def attacks_on_synthetic(on: Setting) -> Iterator[Finding]:
    yield _histogram_noise(on)
    yield _count_noise(on, "noise of a count", _size)
    yield _histogram_noise(on, _DELTA)
    yield _count_noise(on, "the last bits of a noisy count", lowest_bits)
    for delta in (None, _DELTA):
        yield _scores(on, delta)
        for orders in ((2,), (2, 3)):
            yield _parities(on, orders, delta)
    for instance in _INSTANCES:
        yield from _replayed(on, instance)
    yield _whole_rows(on, 20)
    yield from accuracy.attacks(on)


def attacks_on_aligned(on: Setting) -> Iterator[Finding]:
    yield _histogram_noise(on)
    yield _count_noise(on, "noise of a count", _size)
    yield _count_noise(on, "the last bits of a noisy count", lowest_bits)
    yield _channel_as_drawn(on)
    for columns in (_BOTH, _BOTH_WITH_MISSING, _BOTH[:1], _BOTH[1:], (unbounded(),)):
        yield from _replayed(on, _Instance(" and ".join(_kind(column) for column in columns), columns))
    yield _whole_rows(on, 10)


@dataclass(frozen=True)
class _Instance:
    what: str
    columns: tuple[Column, ...]
    linkage: str = "none"
    delta: Fraction | None = None
    moving: int = 1000  # how many columns of the replaced record change: those that change most for this instance
    second_round: bool = False


def _kind(column: Column) -> str:
    name = "label" if isinstance(column.domain, Nominal) else "number"
    return f"{name}{' or missing' if column.allows_null else ''}{' without bounds' if column.private_bounds else ''}"


_BOTH = (number("a", 40), labels("b", 4))
_BOTH_WITH_MISSING = (number("a", 40, null=True), labels("b", 4, null=True))
_THREE = tuple(labels(name, 6) for name in "abc")
_YES_NO = tuple(labels(name, 2) for name in "abcde")
_INSTANCES = (
    _Instance("number and label", _BOTH, "tables"),
    _Instance("number and label, some missing", _BOTH_WITH_MISSING, "tables"),
    _Instance("four numbers", tuple(number(name, 8) for name in "abcd"), "copula", moving=2),
    _Instance("three labels, two rounds", _THREE, "tables", second_round=True),
    _Instance("twelve numbers, a tree", tuple(number(name, 8) for name in "abcdefghijkl"), "copula", moving=6),
    _Instance("five yes or no", _YES_NO, "tables", moving=2),
    _Instance("three yes or no and a number", (*_YES_NO[:3], number("n", 8)), "tables"),
    _Instance("one number without bounds", (unbounded(),)),
    _Instance("one wide number", (number("a", _WIDE),)),
    _Instance("one wide number or missing", (number("a", _WIDE, null=True),)),
    _Instance("one wide number, with δ", (number("a", _WIDE),), delta=_DELTA),
    _Instance("number and label, with δ", _BOTH, "tables", _DELTA),
    _Instance("five labels, with δ", tuple(labels(name, 3) for name in "abcde"), "tables", _DELTA),
    _Instance("three labels, two rounds, with δ", _THREE, "tables", _DELTA, second_round=True),
    _Instance("five yes or no, with δ", _YES_NO, "tables", _DELTA, moving=2),
)


# Replayed


def _tables(columns: Sequence[Column], rows: int, moving: int = 1000) -> tuple[Rows, Rows]:
    """Records at the low end, at the high end (or missing) and in between; one moves from the first to the second.

    Both ends are crowded, so that adaptive steps look into them on every level. Sign products (T19) and parities (T47)
    change most if only some columns move.
    """
    first = [_first(column) for column in columns]
    steps = [_steps(column) for column in columns]
    last = [
        low if place >= moving else MISSING if column.allows_null else low + step
        for place, (column, low, step) in enumerate(zip(columns, first, steps, strict=True))
    ]
    between = [
        [low + _spread(row, place) % (step + 1) for place, (low, step) in enumerate(zip(first, steps, strict=True))]
        for row in range(rows)
    ]
    table = [(first, between[row], last, between[row])[row % 4] for row in range(rows)]
    return table, replaced(table, 0, last)


def _spread(row: int, place: int) -> int:
    """Some number for each row and column; in every third column one that the two columns before it decide together."""
    return (7 * row, row // 5, 7 * row + row // 5)[place % 3] + place


def _first(column: Column) -> int:
    """The lowest value's code; zero's where bounds are looked for."""
    return column.domain.width // 2 if column.private_bounds and isinstance(column.domain, Grid) else 0


def _steps(column: Column) -> int:
    if isinstance(column.domain, Nominal):
        return column.domain.label_count - 1
    return _WIDE if column.private_bounds else column.domain.width


def _rows_for(on: Setting, instance: _Instance) -> int:
    """The fewest rows, about, for which the public rule links columns in this way, and enough for heavy cells."""
    if instance.linkage == "none":
        return min(ceil(_CROWD / on.epsilon), _MOST_ROWS)
    rows = 40
    budget = Budget(on.epsilon, instance.delta)
    while rows < _MOST_ROWS:
        division = divide(budget, rows, Schema(instance.columns))
        if division.linkage == instance.linkage and division.second_round >= instance.second_round:
            break
        rows = ceil(rows * 1.3)
    return rows


@dataclass
class _Runs:
    """The method on X or on X', with a budget that tells what it is spent on."""

    on: Setting
    grouped: Sequence[Any]
    delta: Fraction | None = None
    made: int = 0

    def __call__(self, changed: bool, watch: Watch) -> None:
        self.made += 1
        budget = WatchedBudget(self.on.epsilon, self.delta, watch=watch)
        rows = self.on.method.drawn(self.grouped[changed], budget, watch)
        if rows.linkage == "channel":  # records go through it when they are asked for
            rows.collected()


def _replayed(on: Setting, instance: _Instance) -> Iterator[Finding]:
    rows, case = _rows_for(on, instance), f"replayed: {instance.what}"
    pure = instance.delta is None
    tables = _tables(instance.columns, rows, instance.moving)
    run = _Runs(on, [on.grouped(instance.columns, table, 1) for table in tables], instance.delta)
    try:
        path = steered(run, on.source)
        losses = path.losses()
    except DependsOnData as difference:
        yield structural(case, on.claimed, runs=run.made, detail=str(difference))
        return
    unit: Literal["epsilon", "rho"] = "epsilon" if pure else "rho"
    claimed, parts = float(Budget(on.epsilon, instance.delta).whole.amount), path.original.spent
    yield exact(
        case,
        claimed,
        sum(losses.values()),
        runs=run.made,
        whole=pure,
        unit=unit,
        detail=f"{rows} rows; {', '.join(losses)}",
    )
    if len(losses) > 1:
        shares = {purpose: float(parts.get(purpose, 0)) for purpose in losses}  # 0: drawn and never paid for
        worst = max(losses, key=lambda purpose: losses[purpose] - shares[purpose])
        name = f"{case}: the worst share"
        yield exact(name, shares[worst], losses[worst], whole=False, unit=unit, detail=worst)


# Noise as drawn


def _histogram_noise(on: Setting, delta: Fraction | None = None) -> Finding:
    """One record of two changes its label: is its new label's count high, and its old one's low?

    With δ: the noise of a difference of counts has nearly the trade-off of a normal law.
    """
    grouped = [on.grouped([labels("a", 2)], table, 1) for table in ([[0], [0]], [[0], [1]])]

    def run(changed: bool, watch: Watch) -> None:
        on.method.protect(grouped[changed], WatchedBudget(on.epsilon, delta, watch=watch), watch)

    path = replayed(run, on.source)
    one, other = next(iter(path))
    price = path.original.spent[one.purpose]

    def observe(changed: bool, count: int) -> Scores:
        old, new = on.source.answer(one.law, np.tile((other if changed else one).exact, (count, 1))).T
        scores: Scores = (np.minimum(new, -old) if delta is None else new - old).astype(np.float64)
        return scores

    if delta is None:
        return sampled("noise of a histogram", float(price), observe, 2 * on.draws, whole=price == on.epsilon)
    return sampled("Gaussian noise of a histogram", sqrt(2 * price), observe, on.draws, whole=False, unit="mu")


def _count_noise(on: Setting, case: str, score: Callable[[NDArray[Any]], Scores]) -> Finding:
    """A single count, at the price of the whole ε."""
    noise = Price("epsilon", on.epsilon).laplace_or_gaussian(l1=1, l2_squared=1)

    def observe(changed: bool, count: int) -> Scores:
        return score(noise.added_to(np.full(count, int(changed)), on.source))

    return sampled(case, on.claimed, observe, on.draws)


def _size(values: NDArray[Any]) -> Scores:
    return values.astype(np.float64)


def lowest_bits(values: NDArray[Any]) -> Scores:
    """The exponent of the lowest bit that is set: which numbers a sum can be tells what was summed (Mironov 2012)."""
    mantissas, exponents = np.frexp(np.asarray(values, np.float64))
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    scores: Scores = np.where(whole == 0, 2000, lowest + exponents - 54).astype(np.float64)
    return scores


def _channel_as_drawn(on: Setting) -> Finding:
    """The changed record's cells, many times: which neighbourhood does the output lie in?"""
    path = replayed(_Runs(on, [on.grouped(_BOTH, table, 1) for table in _tables(_BOTH, 4000)]), on.source)
    one, other = next(pair for pair in path if isinstance(pair[0].law, HammingBall | Window))
    before, after = one.exact[:1], other.exact[:1]
    channel = one.law
    assert isinstance(channel, HammingBall | Window)  # noqa: S101 - picked so

    def observe(changed: bool, count: int) -> Scores:
        outputs = channel.drawn(np.repeat(after if changed else before, count, axis=0), on.source)
        known, where = np.unique(outputs, axis=0, return_inverse=True)
        gain = [
            log(channel.weight(after[0].tolist(), output) / channel.weight(before[0].tolist(), output))
            for output in known.tolist()
        ]
        scores: Scores = np.array(gain)[where.ravel()]
        return scores

    claimed = float(path.original.spent[_CHANNEL])
    return sampled("a record through the channel", claimed, observe, on.draws, whole=False)


# One by one


def _lost(
    on: Setting, delta: Fraction | None, ask: Callable[[bool, Price, RandomSource], object]
) -> tuple[Price, float]:
    """What the questions that `ask` puts at the whole price can lose between X and X', with the same answers."""
    price = Budget(on.epsilon, delta).whole
    path = replayed(lambda changed, watch: ask(changed, price, watch), on.source)
    return price, float(sum(lost.amount for lost in path.worst()))


def _scores(on: Setting, delta: Fraction | None) -> Finding:
    """Six tables that are expected to have everybody in their first cell: whoever leaves it changes each score by 2."""
    shapes = [(2, 2), (2, 3), (4, 4), (2, 2, 2), (3, 2, 2), (5, 3)]
    rows = 10
    expected = []
    for shape in shapes:
        expected.append(np.zeros(shape))
        expected[-1].flat[0] = rows

    def ask(changed: bool, price: Price, source: RandomSource) -> object:
        exact = [np.zeros(shape, np.int64) for shape in shapes]
        for table in exact:
            table.flat[0], table.flat[-1] = rows - changed, int(changed)
        return noisy_scores(exact, expected, rows, price, source)

    price, lost = _lost(on, delta, ask)
    return exact(_named("scores of tables", delta), float(price.amount), lost, runs=2, whole=False, unit=price.unit)


def _parities(on: Setting, orders: tuple[int, ...], delta: Fraction | None) -> Finding:
    """Six yes/no columns, and every number of them that a record can change."""
    names, worst, amount = "abcdef", 0.0, Budget(on.epsilon, delta).whole
    for flipped in range(1, len(names) + 1):

        def ask(changed: bool, price: Price, source: RandomSource, flipped: int = flipped) -> object:
            yes = set(names[:flipped]) if changed else set()
            counts = {}
            for order in orders:
                for columns in combinations(names, order):
                    counts[columns] = np.zeros((2,) * order, np.int64)
                    counts[columns][tuple(int(name in yes) for name in columns)] += 1
            return measure_parities(counts, names, orders, 1, price, source)

        worst = max(worst, _lost(on, delta, ask)[1])
    changed = [sum(changing(len(names), flipped, order) for order in orders) for flipped in range(len(names) + 1)]
    what = f"parities of {' and '.join(map(str, orders))} columns"
    return exact(
        _named(what, delta),
        float(amount.amount),
        worst,
        runs=2 * len(names),
        whole=False,
        unit=amount.unit,
        detail=f"{max(changed)} of them change at most",
    )


def _named(what: str, delta: Fraction | None) -> str:
    return what if delta is None else f"{what}, with δ"


# Whole releases


def _whole_rows(on: Setting, slower: int) -> Finding:
    """Few rows as they come out: how many lie in the upper half, one record having moved there?"""

    def high(codes: Mapping[str, Codes]) -> float:
        return float(np.count_nonzero(codes["a"] >= 2) + 0.5 * (codes["a"][0] >= 2))

    original: Rows = [[0]] * 4
    changed = replaced(original, 0, [3])
    observe = on.whole_releases([number("a", 3)], original, changed, 1, high)
    return sampled("whole releases of four rows", on.claimed, observe, max(on.runs // slower, 2))
