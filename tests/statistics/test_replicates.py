"""Replicate weights have the spread of the true error, and a check that would notice if they had not.

False alarms   Releases have fixed seeds, so a run that passes passes again. Measured with eight other sets of 40 seeds:
               1.96 stated errors covered 91.3 to 94.1 % of the cells, 92.6 % in the mean, with a standard deviation of
               1 % between sets (estimates of a release share one draw of noise). So with other seeds the limit of 91 %
               would be missed about once in 20 runs. Intervals that are printed are Student's: 93.9 % there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil import rules
from rankveil.noise import SeededSource
from tests.support import category, integer, plan_text

ROWS, RELEASES, REPLICATES = 4000, 40, 20
LABELS = ["a", "b", "c", "d"]
LEAST = 0.91  # of intervals of 95 %
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
    # The ratio was 0.95 to 1.05 with eight other sets of seeds.
    assert 0.9 < ratio(*errors) < 1.5


def test_the_check_notices_the_scale_of_plain_bootstrap_and_a_scale_twice_too_large(
    errors: tuple[np.ndarray, np.ndarray],
) -> None:
    off, stated = errors
    assert not 0.9 < ratio(off, stated / np.sqrt(rules.REPLICATE_SCALE)) < 1.5
    assert not 0.9 < ratio(off, stated * 2) < 1.5


def test_intervals_cover_the_table_in_most_of_the_releases(errors: tuple[np.ndarray, np.ndarray]) -> None:
    assert covers(*errors) > LEAST


def test_the_check_of_coverage_notices_intervals_of_half_the_width(errors: tuple[np.ndarray, np.ndarray]) -> None:
    off, stated = errors
    assert covers(off, stated / 2) < LEAST


@pytest.fixture(scope="module")
def of_numbers() -> tuple[np.ndarray, np.ndarray]:
    """The same for questions about numbers whose range is declared too wide, at a small ε: shares, means, a slope."""
    rng = np.random.default_rng(11)
    x = np.clip(rng.normal(60, 12, ROWS), 0, 300).astype(int)
    y = np.clip(2 * x + rng.normal(0, 30, ROWS), 0, 900).astype(int)
    original = pa.table({"x": x, "y": y})
    plan = rv.Plan.parse(plan_text({"x": integer(300), "y": integer(900)}, method="synthetic", epsilon="2"))
    truth = {
        "share(x <= 55)": (x <= 55).mean(),
        "share(y <= 120)": (y <= 120).mean(),
        "share(x <= 60 and y <= 120)": ((x <= 60) & (y <= 120)).mean(),
        "mean(x)": x.mean(),
        "mean(y) where x <= 60 minus mean(y) where x > 60": y[x <= 60].mean() - y[x > 60].mean(),
    }
    off, stated = [], []
    for seed in range(RELEASES // 2):
        made = rv.release(original, plan, source=SeededSource(seed), replicates=REPLICATES)
        found = [rv.estimate(made, ask).each[0] for ask in truth]
        off.append([one.estimate - value for one, value in zip(found, truth.values(), strict=True)])
        stated.append([one.standard_error for one in found])
    return np.array(off), np.array(stated)


def test_intervals_of_numbers_cover_the_table_too_and_not_at_half_the_width(
    of_numbers: tuple[np.ndarray, np.ndarray],
) -> None:
    off, stated = of_numbers
    assert covers(off, stated) > LEAST - 0.02  # half as many releases
    # Still somewhat wide: 100 % of 60 are covered with seeds 0 to 11, 78 % at half the width (92 % before slopes inside
    # cells were drawn as far as neighbours leave them open).
    assert covers(off, stated / 2) < LEAST - 0.02


def covers(off: np.ndarray, stated: np.ndarray) -> float:
    return float(np.mean(np.abs(off) <= 1.96 * stated))


def test_weights_add_up_to_the_rows_and_none_is_negative() -> None:
    plan = rv.Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon="0.5"))
    weights = rv.release(table(), plan, source=SeededSource(1), replicates=REPLICATES).weights
    assert weights is not None
    matrix = np.stack([column.to_numpy() for column in weights.columns])
    assert weights.column_names[:2] == ["rv_w", "rv_w1"]
    assert len(matrix) == 1 + 2 * REPLICATES + rules.SUPPORT_REPLICATES
    assert (matrix >= 0).all()
    assert np.abs(matrix.sum(axis=1) - matrix.shape[1]).max() < 1e-3
