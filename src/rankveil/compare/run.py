"""One cell: rows are drawn in memory, measured and forgotten.

PRIVACY: the rows are drawn with the system's generator, as for a release, but they are never published nor written, and
no ledger knows of them. The measures read the table without noise: they are internal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rankveil.compare.grid import RESAMPLED, Cell, plan_for
from rankveil.declare import Plan, Records
from rankveil.declare.dataset import Dataset
from rankveil.declare.persons import limited
from rankveil.errors import RankveilError
from rankveil.evaluate import Evaluation, learning_scores, measure_all
from rankveil.evaluate.measuring import on_common_ranges, on_scale_of
from rankveil.methods import budget_of, method_named
from rankveil.noise import RandomSource, Sampler

MEASURES = {
    "total_variation": "1-way TV",
    "pair_total_variation": "2-way TV",
    "wasserstein": "W1/σ",
    "correlation_error": "correlation error",
    "query_error": "query error",
    "jsd": "JSD",
    "variance_change": "variance change",
    "relative_error": "relative error",
    "learning": "model score",
}
LARGER_IS_BETTER = frozenset({"learning"})


@dataclass(frozen=True)
class Measured:
    """What one cell gave. A measure that does not fit the method is None."""

    measures: dict[str, float | None]
    seconds: float
    linkage: str = ""
    failed: str = ""  # why nothing was measured


@dataclass
class Bench:
    """The table, ready for cells; what a method groups is kept as long as the same grouping is asked for."""

    dataset: Dataset
    plan: Plan
    source: RandomSource
    test: Records | None = None
    target: str | None = None
    clock: Callable[[], float] = time.perf_counter
    _grouped: tuple[tuple[str, int | None], Any] | None = field(default=None, repr=False)

    def run(self, cell: Cell) -> Measured:
        started = self.clock()
        try:
            measured, linkage = self._measured(cell)
        except RankveilError as error:
            return Measured(dict.fromkeys(MEASURES), self.clock() - started, failed=error.problem)
        return Measured(measured, self.clock() - started, linkage)

    def _measured(self, cell: Cell) -> tuple[dict[str, float | None], str]:
        original = self.dataset.records()
        if cell.method == RESAMPLED:
            again = self._resampled(original)
            return self._figures(measure_all(original, again), self._learnt(again)), ""
        method, budget = method_named(cell.method), budget_of(plan_for(self.plan, cell))
        with limited(self.dataset, self.source) as used:
            rows = method.drawn(self._group(cell, used), budget, self.source)
        released = on_scale_of(original.schema, Records(rows.schema, rows.collected(), rows.row_count))
        found = measure_all(*on_common_ranges(original, released), row_aligned=rows.row_aligned)
        return self._figures(found, self._learnt(released)), rows.linkage

    def _group(self, cell: Cell, used: Dataset) -> Any:
        if used is not self.dataset:  # rows were left out, by another key each time
            return method_named(cell.method).prepare(used, cell.k or 1)
        wanted = (cell.method, cell.k)
        if self._grouped is None or self._grouped[0] != wanted:
            self._grouped = None  # one grouping at a time in memory
            self._grouped = (wanted, method_named(cell.method).prepare(self.dataset, cell.k or 1))
        return self._grouped[1]

    def _learnt(self, released: Records) -> float | None:
        if self.test is None or self.target is None:
            return None
        return learning_scores(self.dataset.records(), released, self.test, self.target).taught_by_release

    def _resampled(self, original: Records) -> Records:
        """As many rows, drawn from the original with replacement."""
        count = original.row_count
        chosen = (Sampler(self.source).uniform(count) * count).astype("int64").clip(0, count - 1)
        return Records(original.schema, {name: codes[chosen] for name, codes in original.codes.items()}, count)

    @staticmethod
    def _figures(found: Evaluation, learnt: float | None) -> dict[str, float | None]:
        figures = {name: getattr(found, name) for name in MEASURES if name != "learning"}
        return {**figures, "learning": learnt}
