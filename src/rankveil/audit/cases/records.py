"""Attacks on `laplace`: a record through its channel, and the rows of everybody else.

Many rows with the same value are as many runs of one record's channel; that rows do not depend on each other is what
the bystander's row is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from rankveil.audit.bounds import Scores
from rankveil.audit.cases.setting import Setting
from rankveil.audit.findings import Finding, exact, sampled
from rankveil.audit.laws import exponential_law
from rankveil.audit.tables import Rows, dataset, labels, number, released, tree_labels, whole_releases
from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.measure.budget import Budget, Mechanism
from rankveil.perturb.records import DISTANCE_UNITS, label_distances

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
    """Over all pairs of records: what the stated scales let them lose."""
    columns = [number("a", 3), number("b", 5), labels("c", 3), tree_labels("d", null=True)]
    grouped = on.method.prepare(dataset(columns, [[0, 0, 0, 0], [3, 5, 2, MISSING]]), 1)
    notes: Sequence[Mechanism] = on.method.protect(grouped, Budget(on.epsilon), on.source).notes
    loss = 0.0
    for column, note in zip(columns, notes, strict=True):
        scale = note.scale or Fraction(1, 10**9)
        if isinstance(column.domain, Grid):
            loss += float(column.domain.axis_width / scale)
            continue
        scores = -label_distances(column.domain, with_missing=column.allows_null)
        law = exponential_law(scores, scale * DISTANCE_UNITS).log_chances
        loss += max(float((law[x] - law[y]).max()) for x, y in permutations(range(len(law)), 2))
    return loss


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
        grouped = on.method.prepare(dataset(columns, [after if changed else before] * count), 1)
        return score(released(on.method, grouped, Budget(on.epsilon), on.source))

    return sampled(case, on.claimed, observe, on.draws)


def _bystander(on: Setting) -> Finding:
    """Row 0 stays the same while row 1 moves to the end of the range: bounds read from the data would show."""
    columns, original, changed = [number(width=100)], [[1], [1]], [[1], [100]]
    rows: tuple[Rows, Rows] = (original, changed)
    observe = whole_releases(on.method, columns, *rows, 1, on.epsilon, on.source, lambda codes: float(codes["a"][0]))
    return sampled("the row of a bystander", on.claimed, observe, on.runs)
