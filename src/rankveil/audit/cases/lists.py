"""Attacks on `unlinked` and `multivariate`: lists of centroids, and tables made of them.

Every small table   all tables of a few rows with all their neighbours: exact sums, counts and scores as the method
                    groups them and asks about them, against the scales it asks with (watch.py). Exact.
Noise as drawn      many clusters of one call, each of them with one record moved: does the noise have that scale?
Whole releases      events on the released table itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np

from rankveil.audit.bounds import Scores
from rankveil.audit.findings import DependsOnData, Finding, exact, sampled, structural
from rankveil.audit.laws import log_chances
from rankveil.audit.tables import Rows, Score, Setting, labels, number, replaced, tree_labels
from rankveil.audit.watch import Path, Watch
from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.measure.budget import Budget
from rankveil.microaggregate import Clustered, Clustering, ColumnClusters

WIDTH = 20


def attacks_on_unlinked(on: Setting) -> Iterator[Finding]:
    middle = number("a", 2, null=True)
    yield _every_small_table(on, "numbers", [number("a", 2)], 4, 2)
    yield _every_small_table(on, "numbers, some missing", [middle], 3, 1)
    yield _every_small_table(on, "labels", [tree_labels("a")], 4, 2)
    yield _every_small_table(on, "numbers and labels", [number("a", 1), labels("b", 2)], 3, 1)
    star = [[place // 3] for place in range(18)]
    yield one_pair(on, "labels: a chain through all clusters", [labels("a", 6)], star, replaced(star, 0, [5]), 3)
    ladder = [[2 * (place // 2)] for place in range(20)]
    yield one_pair(on, "a ladder of ten clusters", [number("a", 20)], ladder, replaced(ladder, 0, [20]), 2)
    yield _ranked_noise_as_drawn(on)
    yield _chosen_labels_as_drawn(on, [[place // 3] for place in range(12)], [3])
    yield from whole_tables(on)


def attacks_on_multivariate(on: Setting) -> Iterator[Finding]:
    yield _every_small_table(on, "numbers", [number("a", 2)], 4, 2)
    yield _every_small_table(on, "numbers and labels", [number("a", 1), labels("b", 2)], 3, 1)
    yield _every_small_table(on, "labels, some missing", [labels("a", 2, null=True)], 3, 1)
    original, changed = alternating(columns=2, width=1000, clusters=3, k=2)
    columns = [number("a", 1000), number("b", 1000)]
    yield one_pair(on, "every cluster changes in every column", columns, original, changed, 2)
    yield _noise_of_records_as_drawn(on)
    yield from whole_tables(on)


def alternating(*, columns: int, width: int, clusters: int, k: int) -> tuple[Rows, Rows]:
    """The worst case of T36: clusters start with records that alternate between opposite faces, ever farther out."""
    corners = [
        [width - 4 * (clusters - place) if column % 2 == place % 2 else 0 for column in range(columns)]
        for place in range(clusters + 1)
    ]
    rows = [corner for corner in corners[:-1] for _ in range(k)]
    return rows, replaced(rows, 0, corners[-1])


# Exact


def watched(on: Setting, columns: Sequence[Column], rows: Rows, k: int) -> Watch:
    """What a release draws around, as the method groups the rows."""
    watch = Watch(on.source)
    on.method.protect(on.grouped(columns, rows, k), Budget(on.epsilon), watch)
    return watch


def _loss(one: Watch, other: Watch) -> float:
    return float(sum(lost.amount for lost in Path(one, other).worst()))


def _values(column: Column) -> list[int]:
    size = column.domain.width + 1 if isinstance(column.domain, Grid) else column.domain.label_count
    return [*range(size), *([MISSING] if column.allows_null else [])]


def _every_small_table(on: Setting, what: str, columns: Sequence[Column], n: int, k: int) -> Finding:
    case = f"every small table: {what}"
    records = list(product(*map(_values, columns)))
    tables = list(product(records, repeat=n))
    worst = 0.0
    try:
        lists = {rows: watched(on, columns, rows, k) for rows in tables}
        for rows, drawn in lists.items():
            for place, record in product(range(n), records):
                neighbour = (*rows[:place], record, *rows[place + 1 :])
                worst = max(worst, _loss(drawn, lists[neighbour]))
    except DependsOnData as difference:
        return structural(case, on.claimed, runs=len(tables), detail=str(difference))
    detail = f"{len(tables)} tables of {n} rows, k = {k}"
    return exact(case, on.claimed, worst, runs=len(tables), detail=detail)


def one_pair(
    on: Setting, case: str, columns: Sequence[Column], original: Rows, changed: Rows, k: int, detail: str = ""
) -> Finding:
    try:
        loss = _loss(*(watched(on, columns, rows, k) for rows in (original, changed)))
    except DependsOnData as difference:
        return structural(case, on.claimed, runs=2, detail=str(difference))
    return exact(case, on.claimed, loss, runs=2, detail=detail or f"{len(original)} rows, k = {k}")


# Noise as drawn


def tiled(clustered: Clustered, times: int) -> Clustered:
    """The same clusters many times over, as if they were clusters of one large table."""
    columns = []
    for clusters in clustered.columns:
        rows, starts = clusters.clustering.rows, clusters.clustering.starts
        offsets = np.arange(times)[:, None] * len(rows)
        clustering = Clustering((rows + offsets).ravel(), (starts + offsets).ravel())
        columns.append(ColumnClusters(clusters.column, clustering, np.tile(clusters.values, times)))
    return replace(clustered, row_count=clustered.row_count * times, columns=tuple(columns))


def _drawn(on: Setting, grouped: Clustered, budget: Budget, count: int) -> Codes:
    """The first value of each cluster; whether a cluster has more than one is for whole releases to show."""
    values: Codes = on.method.protect(grouped, budget, on.source).columns["a"].values
    return values[:count]


def _ranked_noise_as_drawn(on: Setting) -> Finding:
    """A staircase: clusters of one value each, so far apart that the noise never mixes them up.

    In each cluster the value moves up by `step`; with noise of the scale width / (ε of the table) that is to cost ε.
    """
    step = 100
    rise = 60 * ceil(step / on.epsilon)

    def observe(changed: bool, count: int) -> Scores:
        width = rise * count + step
        stairs = np.arange(count) * rise
        column = number("a", width)
        grouped = on.grouped([column], stairs + step * changed, 1)
        budget = Budget(on.epsilon * width / step)
        return (_drawn(on, grouped, budget, count) - stairs).astype(np.float64)

    # The lowest stair can be clamped, as can the top one: two of very many.
    return sampled("noise of every cluster", on.claimed, observe, on.draws, detail="a staircase of single records")


def _noise_of_records_as_drawn(on: Setting) -> Finding:
    """Of J clusters each pays a J-th of the budget; here that is ε. In each, one of two records goes to the end."""
    column = number("a", WIDTH)
    grouped = [on.grouped([column], rows, 2) for rows in ([[0]] * 2, [[0], [WIDTH]])]

    def observe(changed: bool, count: int) -> Scores:
        budget = Budget(on.epsilon * count)
        return _drawn(on, tiled(grouped[changed], count), budget, count).astype(np.float64)

    return sampled("noise of every cluster", on.claimed, observe, on.draws, detail="one share of ε per cluster")


def _chosen_labels_as_drawn(on: Setting, rows: Rows, record: Sequence[int]) -> Finding:
    """The list of labels many times over: its scale does not grow beyond the path through all labels."""
    column = labels("a", 4)
    tables = (rows, replaced(rows, 0, record))
    clustered: list[Clustered] = [on.grouped([column], table, 3) for table in tables]
    (before,), (after,) = (watched(on, [column], table, 3).draws for table in tables)
    gain = log_chances(after.law, after.exact) - log_chances(before.law, before.exact)

    def observe(changed: bool, count: int) -> Scores:
        chosen = _drawn(on, tiled(clustered[changed], count), Budget(on.epsilon), count * len(gain))
        chosen = chosen.reshape(count, len(gain))
        scores: Scores = np.round(gain[np.arange(len(gain)), chosen].sum(axis=1), 9)
        return scores

    return sampled("labels as drawn", on.claimed, observe, max(on.draws // 8, 2), detail="score: log-likelihood ratio")


# Whole releases


def whole_tables(on: Setting) -> Iterator[Finding]:
    def attack(case: str, columns: Sequence[Column], original: Rows, changed: Rows, k: int, score: Score) -> Finding:
        return sampled(case, on.claimed, on.whole_releases(columns, original, changed, k, score), on.runs)

    one, two = [number("a", WIDTH)], [number("a", WIDTH), number("b", WIDTH)]
    # One draw per record instead of one per cluster would make all rows high k times as telling.
    yield attack(
        "one of a cluster goes to the top; are all rows high?", one, [[0]] * 4, [*[[0]] * 3, [WIDTH]], 4, lowest
    )
    pair: Rows = [[0, 0]] * 2
    yield attack("the same in two columns", two, pair, replaced(pair, 1, [WIDTH, WIDTH]), 2, lowest)
    yield attack("equality pattern: do rows 1 and 2 differ?", one, *EQUALITY[0], 2, first_two_differ)
    yield attack("equality pattern: how many different rows?", two, *EQUALITY[1], 2, distinct_rows)


# The neighbours of T34: one column, and two columns.
EQUALITY: tuple[tuple[Rows, Rows], tuple[Rows, Rows]] = (
    ([[0], [1], [2], [3]], [[4], [1], [2], [3]]),
    ([[0, 0], [1, 1], [2, 2], [3, 3]], [[0, 0], [1, 4], [2, 2], [3, 3]]),
)


def lowest(codes: Mapping[str, Codes]) -> float:
    return float(min(column.min() for column in codes.values()))


def first_two_differ(codes: Mapping[str, Codes]) -> float:
    return float(any(column[0] != column[1] for column in codes.values()))


def distinct_rows(codes: Mapping[str, Codes]) -> float:
    return float(len(set(zip(*(column.tolist() for column in codes.values()), strict=True))))
