"""Attacks on the published methods: rows that are equal give away who shares a cluster.

Rows in order    n = 4, k = 2, X = (0, 1, 2, 3), X' = (4, 1, 2, 3): under X records 1 and 2 share a cluster, so their
                 rows are equal whatever the noise; under X' they do not, and differ. The loss is infinite.
Rows shuffled    individual ranking, two columns, X = ((0,0), (1,1), (2,2), (3,3)), X' changes (1,1) to (1,4): under X
                 both columns have the same clusters, so there are at most two different rows; under X' there are four.
                 Whole records in clusters (the predecessor) always give two; but its noise leaves out the factor m, so
                 one cluster in two columns already loses 2ε.
Labels           Algorithm 2 is calibrated to one cluster. A record that moves through the order changes all of them.
Theorems         T34, T35 and T36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rankveil.audit.bounds import Scores
from rankveil.audit.cases.lists import EQUALITY, distinct_rows, first_two_differ, one_pair, tiled
from rankveil.audit.findings import Finding, sampled, structural
from rankveil.audit.tables import Rows, Score, Setting, labels, number, replaced
from rankveil.declare import Column
from rankveil.declare.domain import Codes
from rankveil.measure.budget import Budget
from rankveil.microaggregate import Clustered
from rankveil.noise import permutation

WIDTH = 1000
_MORE_RUNS = 4  # what counting proves grows with the logarithm of the number of runs


def attacks(on: Setting) -> Iterator[Finding]:
    step = WIDTH // 4  # values far enough apart that noise, not rounding, decides
    in_order, in_pairs = ((_spread(x, step), _spread(changed, step)) for x, changed in EQUALITY)
    one, two = [number("a", WIDTH)], [number("a", WIDTH), number("b", WIDTH)]
    yield from _equality_pattern(on, "rows in order: do rows 1 and 2 differ?", one, *in_order, first_two_differ, 0)
    if on.method.name in ("published:individual-ranking", "published:ranking"):
        shuffled_rows = "rows shuffled: more than two different rows?"
        yield from _equality_pattern(on, shuffled_rows, two, *in_pairs, _distinct_after_shuffling(on), 2)
    if on.method.name == "published:individual-ranking":
        yield _list_of_labels(on)
    if on.method.name == "published:multivariate":
        yield _one_cluster_in_two_columns(on, two)


def _spread(rows: Rows, step: int) -> Rows:
    return [[step * value for value in row] for row in rows]


def _equality_pattern(
    on: Setting,
    case: str,
    columns: Sequence[Column],
    original: Rows,
    changed: Rows,
    pattern: Score,
    never_beyond: int,
) -> Iterator[Finding]:
    """`pattern` is at most `never_beyond` under X, by the way the method groups X: one larger value proves it all."""
    observe = on.whole_releases(columns, original, changed, 2, pattern)
    seen, never = (observe(is_changed, on.runs // 2) > never_beyond for is_changed in (True, False))
    beyond = int(np.count_nonzero(seen))
    if beyond and not never.any() and _same_cluster_everywhere(on.grouped(columns, original, 2)):
        reason = "cannot happen under X, whose clusters are {1,2} and {3,4} whatever the noise"
        detail = f"{reason}; seen {beyond} times in {len(seen)} releases of X'"
        yield structural(case, on.claimed, runs=2 * len(seen), detail=detail)
    yield sampled(f"{case} (by counting)", on.claimed, observe, _MORE_RUNS * on.runs)


def _same_cluster_everywhere(clustered: Clustered) -> bool:
    """Whether records 1 and 2 share a cluster, and records 3 and 4, in every column."""
    return all(
        sorted(map(sorted, np.split(clusters.clustering.rows, clusters.clustering.starts[1:]))) == [[0, 1], [2, 3]]
        for clusters in clustered.columns
    )


def _distinct_after_shuffling(on: Setting) -> Score:
    def pattern(codes: Mapping[str, Codes]) -> float:
        order = permutation(on.source, 4)
        return distinct_rows({name: column[order] for name, column in codes.items()})

    return pattern


def _one_cluster_in_two_columns(on: Setting, columns: Sequence[Column]) -> Finding:
    """A table of one cluster, whose rows are equal and say nothing more when shuffled. Each of J clusters of one call
    gets the noise of a J-th of the budget, which is ε here."""
    pair: Rows = [[0, 0]] * 2
    tables = (pair, replaced(pair, 1, [WIDTH, WIDTH]))
    grouped = [on.grouped(columns, rows, 2) for rows in tables]

    def observe(changed: bool, count: int) -> Scores:
        noisy = on.method.protect(tiled(grouped[changed], count), Budget(on.epsilon * count), on.source)
        scores: Scores = np.min([values for _, values in noisy.centroids.values()], axis=0).astype(np.float64)
        return scores

    return sampled("rows shuffled: one cluster, high in both columns?", on.claimed, observe, on.draws)


def _list_of_labels(on: Setting) -> Finding:
    """Six labels, twenty records each; one record goes from the first to the last in the order."""
    rows: Rows = [[label] for label in range(6) for _ in range(20)]
    detail = "six clusters change, and each may spend its own ε"
    changed = replaced(rows, 0, [5])
    return one_pair(on, "the list of labels (Algorithm 2)", [labels("a", 6)], rows, changed, 20, detail)
