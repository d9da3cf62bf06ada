"""Replicate weights have the spread of the true error, and a check that would notice if they had not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil import rules
from rankveil.noise import SeededSource
from tests.support import category, plan_text

ROWS, RELEASES, REPLICATES = 4000, 40, 20
LABELS = ["a", "b", "c", "d"]
COLUMNS = {"x": category(LABELS), "y": category(LABELS)}


def table() -> pa.Table:
    rng = np.random.default_rng(5)
    x = rng.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1])
    y = np.where(rng.random(ROWS) < 0.6, x, rng.integers(0, 4, ROWS))
    return pa.table({"x": np.array(LABELS)[x], "y": np.array(LABELS)[y]})


@pytest.fixture(scope="module")
def errors() -> tuple[np.ndarray, np.ndarray]:
    """True and stated errors of 16 cells of a measured table, in 40 releases."""
    original = table()
    plan = rv.Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon="0.5"))
    pairs = [f"count(x = '{x}' and y = '{y}')" for x in LABELS for y in LABELS]
    both = list(zip(original["x"].to_pylist(), original["y"].to_pylist(), strict=True))
    truth = np.array([both.count((x, y)) for x in LABELS for y in LABELS])
    off, stated = [], []
    for seed in range(RELEASES):
        made = rv.release(original, plan, source=SeededSource(seed), replicates=REPLICATES)
        found = [rv.estimate(made, pair).each[0] for pair in pairs]
        off.append([one.estimate for one in found] - truth)
        stated.append([one.standard_error for one in found])
    return np.array(off), np.array(stated)


def ratio(off: np.ndarray, stated: np.ndarray) -> float:
    """Root mean square of the stated errors over that of the true ones: 640 of each, so to within some 10 %."""
    return float(np.sqrt((stated**2).mean() / (off**2).mean()))


def test_stated_errors_are_neither_too_small_nor_half_as_large_again(errors: tuple[np.ndarray, np.ndarray]) -> None:
    # The ratio was 1.1 to 1.3 with other seeds: errors are meant to be a little too large.
    assert 0.9 < ratio(*errors) < 1.5


def test_the_check_notices_the_scale_of_plain_bootstrap_and_a_scale_twice_too_large(
    errors: tuple[np.ndarray, np.ndarray],
) -> None:
    off, stated = errors
    assert not 0.9 < ratio(off, stated / np.sqrt(rules.REPLICATE_SCALE)) < 1.5
    assert not 0.9 < ratio(off, stated * 2) < 1.5


def test_intervals_cover_the_table_in_most_of_the_releases(errors: tuple[np.ndarray, np.ndarray]) -> None:
    off, stated = errors
    assert 0.92 < float(np.mean(np.abs(off) <= 1.96 * stated)) <= 1.0


def test_weights_add_up_to_the_rows_and_none_is_negative() -> None:
    plan = rv.Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon="0.5"))
    weights = rv.release(table(), plan, source=SeededSource(1), replicates=REPLICATES).weights
    assert weights is not None
    matrix = np.stack([column.to_numpy() for column in weights.columns])
    assert weights.column_names[:2] == ["rv_w", "rv_w1"]
    assert len(matrix) == 1 + 2 * REPLICATES + rules.SUPPORT_REPLICATES
    assert (matrix >= 0).all()
    assert np.abs(matrix.mean(axis=1) - 1).max() < 1e-3
