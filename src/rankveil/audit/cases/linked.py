"""Attacks on `synthetic` and `aligned`: everything they buy from their budget, in the order in which they buy it.

Replayed      the method runs on X and, with the same answers, on X': the loss of the whole path and of every share is
              exact (watch.py), for columns of every kind, sign products, tables and channels alike.
Noise drawn   many draws of the very noise that the replay met: does it have its scale, in every bit?
Selection     exact chances of every sequence of pairs.
Whole rows    a few releases as they come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import ceil, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.aligned.channel import HammingBall, Window
from rankveil.audit.bounds import Scores
from rankveil.audit.cases.setting import Setting
from rankveil.audit.findings import DependsOnData, Finding, exact, sampled, structural
from rankveil.audit.laws import permute_and_flip_law
from rankveil.audit.tables import Rows, dataset, labels, number, replaced, unbounded, whole_releases
from rankveil.audit.watch import Draw, Watch, WatchedBudget, replayed, steered
from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.fit.marginal import Marginal
from rankveil.measure.budget import Budget, Price
from rankveil.measure.link import select
from rankveil.measure.link.pairs import PairCounts, count_pairs
from rankveil.measure.link.synthetic import divide
from rankveil.noise import PermuteAndFlip

_DELTA = Fraction(1, 10**6)
_MOST_ROWS = 100_000
_WIDE = 5000
_CROWD = 400  # rows per 1/ε
_CHANNEL = "channel of each record"


def attacks_on_synthetic(on: Setting) -> Iterator[Finding]:
    yield _histogram_noise(on)
    yield _count_noise(on)
    yield _gaussian_noise(on)
    yield _low_bits(on)
    yield _selection(on)
    for instance in _INSTANCES:
        yield from _replayed(on, instance)
    yield _whole_rows(on, 20)


def attacks_on_aligned(on: Setting) -> Iterator[Finding]:
    yield _histogram_noise(on)
    yield _count_noise(on)
    yield _low_bits(on)
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


def _kind(column: Column) -> str:
    name = "label" if isinstance(column.domain, Nominal) else "number"
    return f"{name}{' or missing' if column.allows_null else ''}{' without bounds' if column.private_bounds else ''}"


_BOTH = (number("a", 40), labels("b", 4))
_BOTH_WITH_MISSING = (number("a", 40, null=True), labels("b", 4, null=True))
_INSTANCES = (
    _Instance("number and label", _BOTH, "tables"),
    _Instance("number and label, some missing", _BOTH_WITH_MISSING, "tables"),
    _Instance("four numbers", tuple(number(name, 8) for name in "abcd"), "copula"),
    _Instance("one number without bounds", (unbounded(),)),
    _Instance("one wide number", (number("a", _WIDE),)),
    _Instance("one wide number or missing", (number("a", _WIDE, null=True),)),
    _Instance("one wide number, with δ", (number("a", _WIDE),), delta=_DELTA),
    _Instance("number and label, with δ", _BOTH, "tables", _DELTA),
    _Instance("five labels, with δ", tuple(labels(name, 3) for name in "abcde"), "tables", _DELTA),
)


# Replayed


def _tables(columns: Sequence[Column], rows: int) -> tuple[Rows, Rows]:
    """Records at the low end, at the high end (or missing) and in between; one moves from the first to the second.

    Both ends are crowded, so that adaptive steps look into them on every level. Of four columns only two move: there
    sign products change most (T19).
    """
    first = [_first(column) for column in columns]
    steps = [_steps(column) for column in columns]
    last = [
        MISSING if column.allows_null else low if len(columns) == 4 and place > 1 else low + step
        for place, (column, low, step) in enumerate(zip(columns, first, steps, strict=True))
    ]
    between = [
        [low + (7 * row + place) % (step + 1) for place, (low, step) in enumerate(zip(first, steps, strict=True))]
        for row in range(rows)
    ]
    table = [(first, between[row], last, between[row])[row % 4] for row in range(rows)]
    return table, replaced(table, 0, last)


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
        if divide(budget, rows, len(instance.columns)).linkage == instance.linkage:
            break
        rows = ceil(rows * 1.3)
    return rows


def _replayed(on: Setting, instance: _Instance) -> Iterator[Finding]:
    rows, case = _rows_for(on, instance), f"replayed: {instance.what}"
    pure = instance.delta is None
    runs: list[bool] = []
    tables = _tables(instance.columns, rows)
    grouped = [on.method.prepare(dataset(instance.columns, table), 1) for table in tables]

    def run(changed: bool, watch: Watch) -> None:
        runs.append(changed)
        budget = WatchedBudget(on.epsilon, instance.delta, watch=watch)
        made = on.method.drawn(grouped[changed], budget, watch)
        if made.linkage == "channel":  # records go through it when they are asked for
            made.collected()

    try:
        path = steered(run, on.source)
        losses = path.losses()
    except DependsOnData as difference:
        yield structural(case, on.claimed, runs=len(runs), detail=str(difference))
        return
    unit: Literal["epsilon", "rho"] = "epsilon" if pure else "rho"
    claimed, parts = float(Budget(on.epsilon, instance.delta).whole.amount), path.original.spent
    yield exact(
        case,
        claimed,
        sum(losses.values()),
        runs=len(runs),
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


def _first_draws(
    on: Setting, column: Column, record: int, delta: Fraction | None = None
) -> tuple[Draw, Draw, Fraction]:
    """The first draw for two records of code 0, and for one of them replaced; and the price paid for it."""
    grouped = [on.method.prepare(dataset([column], rows), 1) for rows in ([[0], [0]], [[0], [record]])]

    def run(changed: bool, watch: Watch) -> None:
        on.method.protect(grouped[changed], WatchedBudget(on.epsilon, delta, watch=watch), watch)

    path = replayed(run, on.source)
    one, other = next(iter(path))
    return one, other, path.original.spent[one.purpose]


def _histogram_noise(on: Setting) -> Finding:
    """One record changes its label: is its new label's count high, and its old one's low?"""
    one, other, price = _first_draws(on, labels("a", 2), 1)

    def observe(changed: bool, count: int) -> Scores:
        noisy = on.source.answer(one.law, np.tile((other if changed else one).exact, (count, 1)))
        scores: Scores = np.minimum(noisy[:, 1], -noisy[:, 0]).astype(np.float64)
        return scores

    return sampled("noise of a histogram", float(price), observe, 2 * on.draws, whole=price == on.epsilon)


def _count_noise(on: Setting) -> Finding:
    """A single count, at the price of the whole ε."""
    noise = Price("epsilon", on.epsilon).laplace_or_gaussian(l1=1, l2_squared=1)

    def observe(changed: bool, count: int) -> Scores:
        return noise.added_to(np.full(count, int(changed)), on.source).astype(np.float64)

    return sampled("noise of a count", on.claimed, observe, on.draws)


def _gaussian_noise(on: Setting) -> Finding:
    """One record changes its label: the noise of a difference of counts has nearly the trade-off of a normal law."""
    one, other, price = _first_draws(on, labels("a", 2), 1, _DELTA)

    def observe(changed: bool, count: int) -> Scores:
        noisy = on.source.answer(one.law, np.tile((other if changed else one).exact, (count, 1)))
        scores: Scores = (noisy[:, 1] - noisy[:, 0]).astype(np.float64)
        return scores

    return sampled("Gaussian noise of a histogram", sqrt(2 * price), observe, on.draws, whole=False, unit="mu")


def lowest_bits(values: NDArray[Any]) -> Scores:
    """The exponent of the lowest bit that is set: which numbers a sum can be tells what was summed (Mironov 2012)."""
    mantissas, exponents = np.frexp(np.asarray(values, np.float64))
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    scores: Scores = np.where(whole == 0, 2000, lowest + exponents - 54).astype(np.float64)
    return scores


def _low_bits(on: Setting) -> Finding:
    noise = Price("epsilon", on.epsilon).laplace_or_gaussian(l1=1, l2_squared=1)

    def observe(changed: bool, count: int) -> Scores:
        return lowest_bits(noise.added_to(np.full(count, int(changed)), on.source))

    return sampled("the last bits of a noisy count", on.claimed, observe, on.draws)


def _channel_as_drawn(on: Setting) -> Finding:
    """The changed record's cells, many times: which neighbourhood does the output lie in?"""
    grouped = [on.method.prepare(dataset(_BOTH, table), 1) for table in _tables(_BOTH, 4000)]

    def run(changed: bool, watch: Watch) -> None:
        budget = WatchedBudget(on.epsilon, watch=watch)
        on.method.drawn(grouped[changed], budget, watch).collected()

    path = replayed(run, on.source)
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


# Selection


def _selection(on: Setting) -> Finding:
    """Two of three pairs are chosen, one after the other: the exact chances of all six sequences."""
    columns = [labels(name, 2) for name in "abc"]
    worst, pairs = 0.0, list(_label_tables())
    for original, changed in pairs:
        grouped = on.method.prepare(dataset(columns, original), 1)
        marginals = on.method.protect(grouped, Budget(Fraction(1000)), on.source).marginals
        counts = [count_pairs(dataset(columns, rows), marginals) for rows in (original, changed)]
        one, other = (_log_chances(on, each, marginals) for each in counts)
        worst = max(worst, float(np.abs(one - other).max()))
    return exact("choice of pairs", on.claimed, worst, runs=2 * len(pairs), whole=False, detail="all sequences")


def _log_chances(on: Setting, counts: PairCounts, marginals: Mapping[str, Marginal]) -> Scores:
    """Production code, in which each sequence is chosen in turn instead of drawn."""
    logs: list[float] = []
    for sequence in product(range(3), range(2)):
        watch = Watch(on.source, [np.array([choice]) for choice in sequence])
        select.select_pairs(counts, marginals, 8, 2, Price("epsilon", on.epsilon), watch)
        logs.append(sum(_log_chance(draw) for draw in watch.draws))
    return np.array(logs)


def _log_chance(draw: Draw) -> float:
    assert isinstance(draw.law, PermuteAndFlip)  # noqa: S101 - how pairs are chosen without δ
    return float(permute_and_flip_law(draw.exact, draw.law.scale).log_chances[0, draw.answer[0]])


def _label_tables() -> Iterator[tuple[Rows, Rows]]:
    """Three truth values in which some pairs of columns agree, and one record that changes which."""
    for first, second in combinations(list(product((0, 1), repeat=3))[:4], 2):
        rows = [[place % 2, place % 2, (place // 2) % 2] for place in range(8)]
        yield replaced(rows, 0, list(first)), replaced(rows, 0, [1 - value for value in second])


# Whole releases


def _whole_rows(on: Setting, slower: int) -> Finding:
    """Few rows as they come out: how many lie in the upper half, one record having moved there?"""

    def high(codes: Mapping[str, Codes]) -> float:
        return float(np.count_nonzero(codes["a"] >= 2) + 0.5 * (codes["a"][0] >= 2))

    original: Rows = [[0]] * 4
    changed = replaced(original, 0, [3])
    observe = whole_releases(on.method, [number("a", 3)], original, changed, 1, on.epsilon, on.source, high)
    return sampled("whole releases of four rows", on.claimed, observe, max(on.runs // slower, 2))
