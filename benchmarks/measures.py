"""How far a release is from its table. Definitions are those of `rankveil.evaluate`, which `benchmarks.utility` uses.

1-way, 2-way, k-way TV   mean total variation over columns, pairs, or fixed random subsets of k columns; cells as in
                         evaluate/distances.py (values of small domains, labels, else 20 quantiles of the original)
W1/σ                     mean over columns of numbers
learner                  gradient boosting taught by the release, asked about rows no release has seen: R², AUC or
                         accuracy (evaluate/learning.py); its loss is what it has less than when taught by the table
propensity AUC           gradient boosting tells released rows from original ones, 5-fold cross-validated over up to
                         20,000 rows of each; 0.5 is best. (evaluate's own takes two halves of up to 10,000.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from itertools import combinations
from math import comb
from statistics import mean

import numpy as np
import pyarrow as pa

import rankveil as rv
from benchmarks.tables import Source, Split
from rankveil.engines import open_table
from rankveil.evaluate import Learning, learning_scores
from rankveil.evaluate.distances import Cells, cells_of, pair_of, total_variation, wasserstein

try:
    from rankveil.declare import Records, declare, encode
except ModuleNotFoundError:  # before commit 76b9590: figures of "before" are measured by this very file
    from rankveil.flow.declare import Records, declare, encode

SUBSETS = 300
MOST_LESSONS = 50_000  # rows a learner is taught by
MOST_OF_EACH = 20_000  # rows of either table in the propensity
FOLDS = 5

Figures = dict[str, float]


def fixed_subsets(columns: int, k: int, most: int = SUBSETS) -> list[tuple[int, ...]]:
    """The same in every run: all subsets of k columns if they are few, else so many by chance, no two the same."""
    if comb(columns, k) <= most:
        return list(combinations(range(columns), k))
    rng, found = np.random.default_rng(k), {}
    while len(found) < most:
        found[tuple(sorted(map(int, rng.choice(columns, k, replace=False))))] = None
    return list(found)


class Ruler:
    """Measures releases of one table."""

    def __init__(self, source: Source, parts: Split | None = None) -> None:
        self.source = source
        self.parts = source.split() if parts is None else parts
        opened = open_table(self.parts.released)
        self.schema = declare(source.plan("1"), opened)
        self.original = encode(opened, self.schema)

    def read(self, released: pa.Table) -> Reading:
        return Reading(self, encode(open_table(released), self.schema, released=True))

    @cached_property
    def unseen(self) -> Records:
        return encode(open_table(self.parts.unseen), self.schema)


class Reading:
    """One release beside its table."""

    def __init__(self, ruler: Ruler, released: Records) -> None:
        self.ruler, self.released = ruler, released

    @cached_property
    def cells(self) -> list[Cells]:
        before, after = self.ruler.original.codes, self.released.codes
        return [cells_of(column, before[column.name], after[column.name]) for column in self.ruler.schema.columns]

    def variation(self, subsets: Iterable[Sequence[int]]) -> float:
        """Mean total variation over these sets of columns."""
        return mean(total_variation(reduce(pair_of, (self.cells[place] for place in subset))) for subset in subsets)

    def k_way(self, k: int) -> float:
        return self.variation(fixed_subsets(len(self.cells), k, SUBSETS if k > 2 else comb(len(self.cells), 2)))

    def pair(self, first: str, second: str) -> float:
        names = [column.name for column in self.ruler.schema.columns]
        return self.variation([(names.index(first), names.index(second))])

    def wasserstein(self) -> float | None:
        before, after = self.ruler.original.codes, self.released.codes
        columns = self.ruler.schema.columns
        found = [wasserstein(column, before[column.name], after[column.name]) for column in columns]
        known = [each for each in found if each is not None]
        return mean(known) if known else None

    def learnt(self) -> Learning:
        taught = (some(records, MOST_LESSONS) for records in (self.ruler.original, self.released))
        return learning_scores(*taught, self.ruler.unseen, self.ruler.source.target)

    def propensity(self) -> float:
        return propensity(self.ruler.original, self.released)

    def errors(self, *, learner: bool = True) -> Figures:
        """What drivers compare: smaller is better. The learner's loss is never below 0, nor above that of guessing."""
        found = {"1-way TV": self.k_way(1), "2-way TV": self.k_way(2)}
        if len(self.cells) > 2:
            found["3-way TV"] = self.k_way(3)
        distance = self.wasserstein()
        if distance is not None:
            found["W1/σ"] = distance
        if learner:
            found["learner's loss"] = loss(self.learnt())
        return found


def loss(learnt: Learning) -> float:
    by_table = learnt.guessing if learnt.taught_by_original is None else learnt.taught_by_original
    by_release = learnt.guessing if learnt.taught_by_release is None else learnt.taught_by_release
    return max(0.0, by_table - max(learnt.guessing, by_release))


def propensity(original: Records, released: Records) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    rows = min(original.row_count, released.row_count, MOST_OF_EACH)
    features = np.concatenate([_features(some(records, rows)) for records in (original, released)])
    truth = np.repeat([0, 1], rows)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    with threadpool_limits(1):
        told = cross_val_predict(
            HistGradientBoostingClassifier(random_state=0), features, truth, cv=folds, method="predict_proba"
        )
    return float(roc_auc_score(truth, told[:, 1]))


def _features(records: Records) -> np.ndarray:
    columns = np.column_stack([records.codes[name] for name in records.schema.names]).astype(np.float64)
    columns[columns < 0] = np.nan  # missing
    return columns


def some(records: Records, most: int) -> Records:
    """At most so many rows, by chance, the same ones each time."""
    if records.row_count <= most:
        return records
    chosen = np.sort(np.random.default_rng(0).choice(records.row_count, most, replace=False))
    return Records(records.schema, {name: codes[chosen] for name, codes in records.codes.items()}, most)


def release(source: Source, table: pa.Table, seed: int, epsilon: str, delta: str | None, **more: object) -> pa.Table:
    """By the public interface alone, seeded, so not for release."""
    from rankveil.noise import SeededSource

    return rv.release(table, source.plan(epsilon, delta, **more), source=SeededSource(seed)).table
