"""Attacks on `laplace`: a record through its channel, and the rows of everybody else.

Many rows with the same value are as many runs of one record's channel; that rows do not depend on each other is what
the bystander's row is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from rankveil.audit.bounds import Scores
from rankveil.audit.findings import Finding, exact, sampled
from rankveil.audit.laws import worst_loss
from rankveil.audit.tables import Setting, labels, number, tree_labels
from rankveil.audit.watch import Watch
from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes
from rankveil.measure.budget import Budget

WIDTH = 10


def attacks(on: Setting) -> Iterator[Finding]:
    one, two = [number(width=WIDTH)], [number("a", WIDTH), number("b", WIDTH)]
    yield exact("two numbers and two labels, by their scales", on.claimed, _by_scales(on))
    yield _through_the_channel(on, "a number from one end to the other", one, [0], [WIDTH], _lowest)
    yield _through_the_channel(on, "two numbers at once", two, [0, 0], [WIDTH, WIDTH], _lowest)
    yield _through_the_channel(
        on, "a missing number becomes the largest", [number(width=WIDTH, null=True)], [MISSING], [WIDTH], _lowest
    )
    yield _through_the_channel(on, "a label becomes another", [labels(count=3)], [0], [1], _label_one)
    yield _bystander(on)


def _by_scales(on: Setting) -> float:
    """Over all pairs of records: what the laws of their draws let them lose."""
    columns = [number("a", 3), number("b", 5), labels("c", 3), tree_labels("d", null=True)]
    rows = [[min(row, 3), row, min(row, 2), row if row < 4 else MISSING] for row in range(6)]
    watch = Watch(on.source)
    on.method.drawn(on.grouped(columns, rows, 1), Budget(on.epsilon), watch).collected()
    pairs = list(combinations(range(len(rows)), 2))
    return float(
        sum(
            max(worst_loss(draw.law, draw.exact[[x]], draw.exact[[y]]).amount for x, y in pairs) for draw in watch.draws
        )
    )


def _lowest(codes: Mapping[str, Codes]) -> Scores:
    """Row by row the smallest of its numbers."""
    scores: Scores = np.min(list(codes.values()), axis=0).astype(np.float64)
    return scores


def _label_one(codes: Mapping[str, Codes]) -> Scores:
    (column,) = codes.values()
    return np.where(column == 1, 1.0, np.where(column == 0, -1.0, 0.0))


def _through_the_channel(
    on: Setting,
    case: str,
    columns: Sequence[Column],
    before: Sequence[int],
    after: Sequence[int],
    score: Callable[[Mapping[str, Codes]], Scores],
) -> Finding:
    def observe(changed: bool, count: int) -> Scores:
        grouped = on.grouped(columns, [after if changed else before] * count, 1)
        return score(on.released(grouped))

    return sampled(case, on.claimed, observe, on.draws)


def _bystander(on: Setting) -> Finding:
    """Row 0 stays the same while row 1 moves to the end of the range: bounds read from the data would show."""
    observe = on.whole_releases([number(width=100)], [[1], [1]], [[1], [100]], 1, lambda codes: float(codes["a"][0]))
    return sampled("the row of a bystander", on.claimed, observe, on.runs)
