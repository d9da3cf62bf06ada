"""Replicate weights of releases of a few rows. What they are worth is in tests/statistics/test_replicates.py."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import rankveil as rv
from rankveil import rules
from rankveil.noise import SeededSource


def test_weights_of_a_few_rows_are_numbers_that_add_up_whatever_the_noise_says() -> None:
    """Where noise was many times as large as the table, an error could take all weight from all rows."""
    columns = {"a": {"kind": "integer", "lower": 0, "upper": 1}, "b": {"kind": "boolean"}}
    plan = rv.Plan(release={"epsilon": "0.1"}, columns=columns)
    table = pa.table({"a": [0, 1, 1], "b": [True, False, True]})
    for seed in range(20):  # with four of them it did
        made = rv.release(table, plan, source=SeededSource(seed), replicates=rules.FEWEST_REPLICATES)
        assert made.weights is not None
        weights = np.array([column.to_numpy() for column in made.weights.columns])
        assert (weights.sum(axis=1) > 0).all()
