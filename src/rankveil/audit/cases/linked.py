"""Attacks on `synthetic` and `aligned`: everything they buy from their budget, in the order in which they buy it.

Replayed      the method runs on X and, with the same answers, on X': the loss of the whole path and of every share is
              exact (watch.py), for columns of every kind of synopsis, sign products, tables and channels alike.
Noise drawn   many draws of the very noise that the replay met: does it have its scale, in every bit?
Selection     exact chances of every sequence of pairs.
Whole rows    a few releases as they come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.audit.bounds import Scores
from rankveil.audit.cases.setting import Setting
from rankveil.audit.findings import DependsOnData, Finding, exact, sampled, structural
from rankveil.audit.laws import channel_loss, permute_and_flip_law
from rankveil.audit.tables import Rows, dataset, labels, number, replaced, whole_releases
from rankveil.audit.watch import Path, Watch, WatchedBudget, steered, tapped
from rankveil.flow.budget import Budget, Noise, Price
from rankveil.flow.declare import Column
from rankveil.flow.declare.domain import Codes
from rankveil.flow.relink import select
from rankveil.flow.relink.channel import Channel, HammingBall, Window
from rankveil.flow.relink.pairs import count_pairs
from rankveil.flow.relink.synthetic import divide

_DELTA = Fraction(1, 10**6)
_MOST_ROWS = 100_000
_WIDE = 5000


def attacks_on_synthetic(on: Setting) -> Iterator[Finding]:
    for case, columns, linkage in _instances():
        yield from _replayed(on, case, columns, linkage, None)
    yield from _replayed(on, "number and label, with δ", [number("a", 40), labels("b", 4)], "tables", _DELTA)
    yield _histogram_noise(on)
    yield _gaussian_noise(on)
    yield _low_bits(on)
    yield _selection(on)
    yield _whole_rows(on, 20)


def attacks_on_aligned(on: Setting) -> Iterator[Finding]:
    yield from _replayed(on, "number and label", [number("a", 40), labels("b", 4)], "", None)
    yield from _replayed(on, "one number", [number("a", 40)], "", None)
    yield _histogram_noise(on)
    yield _low_bits(on)
    yield _channel_as_drawn(on)
    yield _whole_rows(on, 10)


def _instances() -> Iterator[tuple[str, list[Column], str]]:
    yield "number and label", [number("a", 40), labels("b", 4)], "tables"
    yield "four numbers", [number(name, 8) for name in "abcd"], "copula"
    for synopsis in ("tree", "ranked", "mean", "histogram"):
        column = replace(number("a", _WIDE, null=synopsis != "mean"), synopsis=synopsis)  # type: ignore[arg-type]
        yield f"one number, {synopsis}", [column], "none"


# Replayed


@dataclass(frozen=True)
class _Passed:
    """Cells that went through a channel."""

    channel: Channel
    cells: NDArray[np.int64]


def _tables(columns: Sequence[Column], rows: int) -> tuple[Rows, Rows]:
    """Values spread over the domain; the first record moves from the low end to the high end, in half of the columns
    at least, where sign products change most."""
    tops = [column.domain.width if not column.kind == "category" else 3 for column in columns]  # type: ignore[union-attr]
    table = [[(7 * row + place) % (top + 1) for place, top in enumerate(tops)] for row in range(rows)]
    low = [0 for _ in tops]
    high = [top if 2 * place < max(len(tops), 2) or len(tops) < 4 else 0 for place, top in enumerate(tops)]
    return replaced(table, 0, low), replaced(table, 0, high)


def _rows_for(on: Setting, columns: int, linkage: str, delta: Fraction | None) -> int:
    """The fewest rows, about, for which the public rule links columns in this way."""
    rows = 40
    while rows < _MOST_ROWS:
        if linkage in ("", "none") or divide(Budget(on.epsilon, delta), rows, columns, labels=False).linkage == linkage:
            return rows
        rows = ceil(rows * 1.3)
    return rows


def _replayed(
    on: Setting, what: str, columns: Sequence[Column], linkage: str, delta: Fraction | None
) -> Iterator[Finding]:
    rows = _rows_for(on, len(columns), linkage, delta)
    case = f"replayed: {what}"
    pure = delta is None
    passed: list[_Passed] = []
    grouped = [on.method.microaggregate(dataset(columns, table), 1) for table in _tables(columns, rows)]

    def run(changed: bool, watch: Watch) -> None:
        budget = WatchedBudget(on.epsilon, delta, watch=watch)
        made = on.method.relink(on.method.protect(grouped[changed], budget, on.source), budget, on.source)
        if made.linkage == "channel":
            passed.append(_through_channel(made))

    def finding(name: str, claimed: Fraction, loss: float, *, whole: bool, detail: str = "") -> Finding:
        unit = "epsilon" if pure else "rho"
        return exact(name, float(claimed), loss, runs=rows, whole=whole, unit=unit, detail=detail)  # type: ignore[arg-type]

    try:
        path = steered(run)
        losses = path.losses()
        if passed:
            losses["channel of each record"] = _channel_losses(*passed[-2:])
    except DependsOnData as difference:
        yield structural(case, on.claimed, runs=rows, detail=str(difference))
        return
    claimed = Budget(on.epsilon, delta).whole.amount
    yield finding(case, claimed, sum(losses.values()), whole=pure, detail=f"{rows} rows; {', '.join(losses)}")
    parts = path.original.spent
    worst = max(losses, key=lambda purpose: losses[purpose] / float(parts.get(purpose, Fraction(1, 10**9))))
    yield finding(f"{case}: the worst share", parts.get(worst, Fraction(0)), losses[worst], whole=False, detail=worst)


def _through_channel(made: Any) -> _Passed:
    heard: list[_Passed] = []

    def hear(result: object, channel: Channel, cells: NDArray[np.int64], source: object) -> None:
        heard.append(_Passed(channel, cells.copy()))

    with tapped(HammingBall, "draw", hear), tapped(Window, "draw", hear):
        made.collected()
    if any(one.channel != heard[0].channel for one in heard):
        raise DependsOnData("not all rows go through the same channel")
    return _Passed(heard[0].channel, np.concatenate([one.cells for one in heard]))


def _channel_losses(original: _Passed, changed: _Passed) -> float:
    """All rows together: only the replaced record's row may change its cells."""
    if original.channel != changed.channel:
        raise DependsOnData("the channel depends on more than what was released before")
    different = np.flatnonzero((original.cells != changed.cells).any(axis=1))
    return sum(
        channel_loss(original.channel, tuple(original.cells[row].tolist()), tuple(changed.cells[row].tolist()))
        for row in different
    )


# Noise as drawn


def _first_histogram(on: Setting, delta: Fraction | None) -> tuple[Path, Price]:
    """The draws for a column of two labels: two records of the first, or one of each."""
    grouped = [on.method.microaggregate(dataset([labels("a", 2)], rows), 1) for rows in ([[0], [0]], [[0], [1]])]

    def run(changed: bool, watch: Watch) -> None:
        on.method.protect(grouped[changed], WatchedBudget(on.epsilon, delta, watch=watch), on.source)

    path = steered(run)
    return path, Budget(on.epsilon, delta).whole


def _histogram_noise(on: Setting) -> Finding:
    """One record changes its label: is its new label's count high, and its old one's low?"""
    path, whole = _first_histogram(on, None)
    (one, other), *_ = list(path)
    claimed = float(path.original.spent[one.purpose])

    def observe(changed: bool, count: int) -> Scores:
        exact_counts = (other if changed else one).exact
        noisy = one.noise.added_to(np.tile(exact_counts, (count, 1)), on.source)
        scores: Scores = np.minimum(noisy[:, 1], -noisy[:, 0]).astype(np.float64)
        return scores

    return sampled("noise of a histogram", claimed, observe, 2 * on.draws, whole=whole.amount == claimed)


def _gaussian_noise(on: Setting) -> Finding:
    path, whole = _first_histogram(on, _DELTA)
    (one, other), *_ = list(path)

    def observe(changed: bool, count: int) -> Scores:
        noisy = one.noise.added_to(np.tile((other if changed else one).exact, (count, 1)), on.source)
        scores: Scores = (noisy[:, 1] - noisy[:, 0]).astype(np.float64)
        return scores

    claimed = sqrt(2 * float(path.original.spent[one.purpose]))
    return sampled("Gaussian noise of a histogram", claimed, observe, on.draws, whole=False, unit="mu")


def lowest_bits(values: NDArray[Any]) -> Scores:
    """The exponent of the lowest bit that is set: which numbers a sum can be tells what was summed (Mironov 2012)."""
    mantissas, exponents = np.frexp(np.asarray(values, np.float64))
    whole = np.abs(np.ldexp(mantissas, 53)).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    scores: Scores = np.where(whole == 0, 2000, lowest + exponents - 54).astype(np.float64)
    return scores


def _low_bits(on: Setting) -> Finding:
    noise: Noise = Price("epsilon", on.epsilon).laplace_or_gaussian(l1=1, l2_squared=1)

    def observe(changed: bool, count: int) -> Scores:
        return lowest_bits(noise.added_to(np.full(count, int(changed)), on.source))

    return sampled("the last bits of a noisy count", on.claimed, observe, on.draws)


def _channel_as_drawn(on: Setting) -> Finding:
    """The changed record's cells, many times: which neighbourhood does the output lie in?"""
    columns = [number("a", 40), labels("b", 4)]
    passed: list[_Passed] = []
    spent: list[dict[str, Fraction]] = []
    rows = 4000
    tables = _tables(columns, rows)
    watch = Watch()
    for table in tables:
        grouped = on.method.microaggregate(dataset(columns, table), 1)
        again = Watch([draw.answer for draw in watch.draws])
        budget = WatchedBudget(on.epsilon, None, watch=again)
        made = on.method.relink(on.method.protect(grouped, budget, on.source), budget, on.source)
        passed.append(_through_channel(made))
        spent.append(again.spent)
        watch = again
    channel, (before, after) = passed[0].channel, (each.cells[:1] for each in passed)

    def observe(changed: bool, count: int) -> Scores:
        outputs = channel.draw(np.repeat(after if changed else before, count, axis=0), on.source)
        known, where = np.unique(outputs, axis=0, return_inverse=True)
        gain = [
            log(channel.weight(after[0].tolist(), output.tolist()) / channel.weight(before[0].tolist(), output.tolist()))
            for output in known
        ]
        scores: Scores = np.array(gain)[where.ravel()]
        return scores

    claimed = float(spent[0]["channel of each record"])
    return sampled("a record through the channel", claimed, observe, on.draws, whole=False)


# Selection


def _selection(on: Setting) -> Finding:
    """Every sequence of pairs that comes up for both tables: the product of its exact chances."""
    columns = [labels(name, 2) for name in "abc"]
    price = Price("epsilon", on.epsilon)
    worst = 0.0
    heard: list[tuple[int, NDArray[np.int64], Fraction]] = []

    def hear(result: NDArray[np.int64], scores: NDArray[np.int64], scale: Fraction, source: object) -> None:
        heard.append((int(result[0]), scores[0], scale))

    def sequences(rows: Rows, marginals: Any) -> dict[tuple[int, ...], float]:
        counts = count_pairs(dataset(columns, rows), marginals)
        found: dict[tuple[int, ...], float] = {}
        for _ in range(40):
            heard.clear()
            select.select_pairs(counts, marginals, len(rows), 2, price, on.source)
            chances = [log(permute_and_flip_law(scores, scale)[chosen]) for chosen, scores, scale in heard]
            found[tuple(chosen for chosen, _, _ in heard)] = sum(chances)
        return found

    pairs = 0
    with tapped(select, "permute_and_flip", hear):
        for original, changed in _label_tables():
            grouped = on.method.microaggregate(dataset(columns, original), 1)
            marginals = on.method.protect(grouped, Budget(Fraction(1000)), on.source).marginals
            one, other = (sequences(rows, marginals) for rows in (original, changed))
            pairs += 1
            for sequence in one.keys() & other.keys():
                worst = max(worst, abs(one[sequence] - other[sequence]))
    return exact("choice of pairs", on.claimed, worst, runs=80 * pairs, whole=False, detail=f"{pairs} pairs of tables")


def _label_tables() -> Iterator[tuple[Rows, Rows]]:
    """Three truth values in which some pairs of columns agree, and one record that changes which."""
    for first, second in combinations(list(product((0, 1), repeat=3))[:4], 2):
        rows = [[place % 2, place % 2, (place // 2) % 2] for place in range(8)]
        yield replaced(rows, 0, list(first)), replaced(rows, 0, [1 - value for value in second])


# Whole releases


def _whole_rows(on: Setting, slower: int) -> Finding:
    """Few rows as they come out: how many lie in the upper half, one record having moved there?"""

    def high(codes: dict[str, Codes]) -> float:
        return float(np.count_nonzero(codes["a"] >= 2) + 0.5 * (codes["a"][0] >= 2))

    observe = whole_releases(
        on.method, [number("a", 3)], [[0]] * 4, [[3], *[[0]] * 3], 1, on.epsilon, on.source, high  # type: ignore[arg-type]
    )
    return sampled("whole releases of four rows", on.claimed, observe, max(on.runs // slower, 2))
