"""The measures of `rankveil.evaluate` on a released table of any system.

Error measures, smaller is better: 1-way and 2-way total variation, W1/σ, error of rank correlations, of range queries,
JSD and change of variance (the paper's), and the shortfall of a learner: AUC when taught by the original minus AUC when
taught by the release, at least 0. An AUC below chance counts as chance: taught by noise, a learner lands anywhere, and
the table is no worse for it.

The learner (histogram gradient boosting) predicts on Adult whether income is above 50K, for the 15,060 complete records
of the test file. On the other sets it predicts whether the last column lies above its median, for a fixed 30 % of the
table's own rows. Systems release all rows, so those 30 % are kept from no system; "taught by the original" is taught by
the other 70 %. A system that copies rows would gain by this. Those that claim differential privacy cannot by much.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.peers.data import ROOT, Data
from benchmarks.peers.systems import meaning
from rankveil.declare import Records, Schema, declare, encode
from rankveil.declare.domain import Grid
from rankveil.engines import open_table
from rankveil.evaluate import learning_scores, measure_all

HELD_OUT = 0.3
Measures = dict[str, float]


def code_fingerprint() -> str:
    """Of the code that measures: results of different code must not be compared."""
    folder = ROOT / "src" / "rankveil" / "evaluate"
    return meaning(*sorted(folder.glob("*.py")), Path(__file__))


class Yardstick:
    """Measures releases of one table."""

    def __init__(self, data: Data, table: Path, test: Path | None) -> None:
        self.data = data
        opened = open_table(table)
        self.schema = declare(data.plan, opened)
        self.original = encode(opened, self.schema)
        self._test_file = test

    @cached_property
    def _test(self) -> Records:
        return (
            _rows(self.original, self._held_out)
            if self._test_file is None
            else encode(open_table(self._test_file), self.schema)
        )

    @cached_property
    def _held_out(self) -> np.ndarray:
        rows = self.original.row_count
        return np.random.default_rng(0).permutation(rows) < HELD_OUT * rows

    @cached_property
    def _teacher(self) -> Records:
        return self.original if self._test_file is not None else _rows(self.original, ~self._held_out)

    def measure(self, released_file: Path) -> Measures:
        released = encode(open_table(released_file), self.schema, released=True)
        result = measure_all(self.original, released)
        kinds = {column.name: column.domain for column in self.schema.columns}
        numeric = [column.jsd for column in result.columns if isinstance(kinds[column.name], Grid)]
        found = {
            "total_variation": result.total_variation,
            "pair_total_variation": result.pair_total_variation,
            "wasserstein": result.wasserstein,
            "correlation_error": result.correlation_error,
            "query_error": result.query_error,
            "jsd": result.jsd,
            "jsd_numeric": mean(numeric),
            "variance_change": result.variance_change,
            **self._learnt(released),
        }
        return {name: float(value) for name, value in found.items() if value is not None}

    def _learnt(self, released: Records) -> Measures:
        tables = [self._teacher, released, self._test]
        if isinstance(self._target_domain, Grid):
            median = int(np.median(self.original.codes[self.data.target]))
            tables = [_above(records, self.data.target, median) for records in tables]
        score = learning_scores(*tables, self.data.target)
        assert score.taught_by_original is not None and score.taught_by_release is not None
        return {
            "auc": score.taught_by_release,
            "auc_original": score.taught_by_original,
            "auc_shortfall": max(0.0, score.taught_by_original - max(0.5, score.taught_by_release)),
        }

    @property
    def _target_domain(self) -> object:
        return next(column.domain for column in self.schema.columns if column.name == self.data.target)


def _rows(records: Records, chosen: np.ndarray) -> Records:
    codes = {name: values[chosen] for name, values in records.codes.items()}
    return Records(records.schema, codes, int(np.count_nonzero(chosen)))


def _above(records: Records, target: str, median: int) -> Records:
    """The same table with the target turned into two values."""
    columns = tuple(
        replace(column, domain=Grid(width=1)) if column.name == target else column for column in records.schema.columns
    )
    schema: Schema = replace(records.schema, columns=columns)
    codes = {**records.codes, target: (records.codes[target] > median).astype(np.int64)}
    return Records(schema, codes, records.row_count)
