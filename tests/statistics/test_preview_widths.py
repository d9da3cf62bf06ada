"""Widths that a dry run states, against draws and, for `synthetic` on linear scales, against whole releases.

False alarms   A width is said to hold in 95 of 100 draws. The number of draws outside is binomial with at most 5 %; a
               check fails if that many or more occur with probability below 1e-6 (exact tail), and each check has
               twins that it must catch: a width too small and, where the width is exact, one too large.
               The draws are seeded, so a run that passes passes again.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

from rankveil.engines import open_table
from rankveil.evaluate import measure_all
from rankveil.flow.budget import Budget, Noise
from rankveil.flow.declare import Plan, Records, declare
from rankveil.flow.declare.dataset import Dataset
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.preview import Preview, preview
from rankveil.preview.reach import HALF, MOST, reach_of

FALSE_ALARM = 1e-6
DRAWS = 40_000


def too_many_outside(sizes: NDArray[np.float64], reach: float, share: float = MOST) -> bool:
    """Whether a reach that holds with probability `share` would see this many draws outside less than once in 10^6."""
    outside = int(np.count_nonzero(sizes > reach))
    return bool(stats.binom.sf(outside - 1, len(sizes), 1 - share) < FALSE_ALARM)


def too_few_outside(sizes: NDArray[np.float64], reach: float, share: float = MOST) -> bool:
    """Whether fewer lie at or beyond the reach than if it were the least that holds."""
    beyond = int(np.count_nonzero(sizes >= reach))
    return bool(stats.binom.cdf(beyond, len(sizes), 1 - share) < FALSE_ALARM)


NOISES = [Noise("discrete Laplace", Fraction(scale)) for scale in ("1/5", "1", "7/2", "100")] + [
    Noise("discrete Gaussian", Fraction(variance)) for variance in ("1/4", "10", "3000", "40000")
]


@pytest.mark.parametrize("share", [HALF, MOST])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.name} {noise.parameter}")
def test_the_stated_reach_is_the_least_that_holds_the_stated_share_of_draws(noise: Noise, share: float) -> None:
    sizes = np.abs(noise.added_to(np.zeros(DRAWS, np.int64), SeededSource(7))).astype(np.float64)
    reach = reach_of(noise, share)
    assert not too_many_outside(sizes, reach, share)
    assert reach == 0 or not too_few_outside(sizes, reach, share)
    if reach >= 50:
        assert too_many_outside(sizes, 0.9 * reach, share), "too narrow by a tenth is noticed"
        assert too_few_outside(sizes, 1.1 * reach, share), "too wide by a tenth is noticed"


# Values that get noise one by one


def by_value(
    kind: dict[str, object], epsilon: str, values: list[object], *, method: str = "laplace", k: int = 1
) -> tuple[Preview, NDArray[np.int64], NDArray[np.int64]]:
    """A dry run of a one-column plan, and codes before and after a release of it."""
    plan = Plan.from_dict({"release": {"method": method, "epsilon": epsilon, "k": k}, "columns": {"a": kind}})
    table = open_table(pa.table({"a": values}))
    dataset = Dataset(declare(plan, table), table)
    wanted, budget, source = METHODS[method], Budget(Fraction(epsilon)), SeededSource(3)
    rows = wanted.relink(wanted.protect(wanted.microaggregate(dataset, k), budget, source), budget, source)
    return preview(plan, len(values)), dataset.records().codes["a"], rows.collected()["a"]


@pytest.mark.parametrize("epsilon", ["10", "20", "60"])
def test_single_values_stay_within_the_stated_width(epsilon: str) -> None:
    looked, before, after = by_value({"kind": "integer", "lower": 0, "upper": 1000}, epsilon, [500] * DRAWS)
    (expected,) = looked.expectations
    assert expected.question == "one value"
    assert expected.reach is not None
    moved = np.abs(after - before).astype(np.float64)
    assert not too_many_outside(moved, expected.reach)
    assert not too_few_outside(moved, expected.reach)
    assert too_many_outside(moved, 0.9 * expected.reach), "too narrow by a tenth is noticed"
    assert too_few_outside(moved, 1.1 * expected.reach), "too wide by a tenth is noticed"


def test_means_of_clusters_stay_within_the_stated_width() -> None:
    k = 10
    looked, before, after = by_value(
        {"kind": "integer", "lower": 0, "upper": 1000}, "10000", [500] * DRAWS, method="multivariate", k=k
    )
    (expected,) = looked.expectations
    assert expected.question == "mean of 10 neighbours"
    assert expected.reach is not None
    assert 50 < expected.reach < 400
    moved = np.sort(np.abs(after - before))[::k].astype(np.float64)  # k rows share a draw
    assert not too_many_outside(moved, expected.reach + 0.5), "means are rounded to whole numbers"
    assert too_many_outside(moved, 0.8 * expected.reach)
    assert too_few_outside(moved, 1.3 * expected.reach)


def test_labels_are_kept_as_often_as_stated() -> None:
    labels = [f"l{place}" for place in range(5)]
    looked, before, after = by_value({"kind": "category", "categories": labels}, "3", labels * (DRAWS // 5))
    (expected,) = looked.expectations
    kept = int(np.count_nonzero(after == before))
    # 1e-6 on either side; the answer rounds to whole percents, a twin two percent off is caught.
    share = 1 - expected.relative
    assert expected.answer == f"in {100 * share:.0f} % of cases"
    assert stats.binomtest(kept, DRAWS, share).pvalue > FALSE_ALARM
    assert stats.binomtest(kept, DRAWS, share + 0.02).pvalue < FALSE_ALARM
    assert stats.binomtest(kept, DRAWS, share - 0.02).pvalue < FALSE_ALARM


# Whole releases of the method synthetic


ROWS, RUNS = 8_000, 16


@cache
def releases(epsilon: str, delta: str | None) -> tuple[Preview, Records, list[Records]]:
    columns = {
        "age": {"kind": "integer", "lower": 0, "upper": 99},
        "income": {"kind": "integer", "lower": 0, "upper": 100_000},
        "born": {"kind": "date", "lower": "1950-01-01", "upper": "2019-12-31"},
        "job": {"kind": "category", "categories": [f"j{place}" for place in range(14)]},
        "land": {"kind": "category", "categories": [f"c{place}" for place in range(40)]},
        "member": {"kind": "boolean"},
    }
    settings = {"epsilon": epsilon, "expected_rows": ROWS} | ({} if delta is None else {"delta": delta})
    plan = Plan.from_dict({"release": settings, "columns": columns})
    rng = np.random.default_rng(1)
    income = rng.integers(0, 100_001, ROWS)
    # People with 0, and born on the first day: where there are none, their cell is emptied and nothing is off.
    income[rng.random(ROWS) < 0.05] = 0
    rare = 1 / np.arange(1, 41) ** 1.5  # few common labels and many rare ones: hardest for counts that must add up
    table = open_table(
        pa.table(
            {
                "age": np.clip(income // 1050 + rng.integers(0, 5, ROWS), 0, 99),
                "income": income,
                "born": np.datetime64("1950-01-01") + np.maximum(rng.integers(-1_000, 25_567, ROWS), 0),
                "job": [f"j{place}" for place in rng.integers(0, 14, ROWS)],
                "land": [f"c{place}" for place in rng.choice(40, ROWS, p=rare / rare.sum())],
                "member": rng.random(ROWS) < 0.3,
            }
        )
    )
    dataset = Dataset(declare(plan, table), table)
    method = METHODS["synthetic"]
    counted = method.microaggregate(dataset, 1)
    made = []
    for run in range(RUNS):
        budget = Budget(Fraction(epsilon), None if delta is None else Fraction(delta))
        source = SeededSource(run)
        rows = method.relink(method.protect(counted, budget, source), budget, source)
        made.append(Records(rows.schema, rows.collected(), ROWS))
    return preview(plan), dataset.records(), made


def errors_of(question: str, column: str, original: Records, released: Records) -> NDArray[np.float64]:
    before, after = original.codes[column], released.codes[column]
    if question == "median":
        return np.array([abs(float(np.median(before)) - float(np.median(after)))])
    size = int(max(before.max(), after.max())) + 1
    errors = np.abs(np.bincount(before, minlength=size) - np.bincount(after, minlength=size)).astype(np.float64)
    return errors if question.startswith("people with one") else errors[:1]


SETTINGS = [("1", None), ("10", None), ("1", "1e-9")]


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_counts_and_medians_of_whole_releases_stay_within_the_stated_widths(epsilon: str, delta: str | None) -> None:
    looked, original, made = releases(epsilon, delta)
    asked = {(expectation.column, expectation.question) for expectation in looked.expectations}
    assert {("age", "median"), ("income", "median"), ("income", "people with 0"), ("born", "median")} <= asked
    for expected in looked.expectations:
        assert expected.reach is not None
        found = np.concatenate([errors_of(expected.question, expected.column, original, each) for each in made])
        assert not too_many_outside(found, expected.reach), (expected, np.quantile(found, MOST))
        # Not so wide that it says nothing; and a width of a fifth is caught, where there are enough figures to tell.
        assert expected.reach <= max(8 * float(np.quantile(found, MOST)), 2.0), expected
        assert len(found) < 100 or too_many_outside(found, expected.reach / 5), expected


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_the_expected_error_of_columns_is_an_upper_guide_and_not_a_wild_one(epsilon: str, delta: str | None) -> None:
    looked, original, made = releases(epsilon, delta)
    errors = [measure_all(original, each).total_variation for each in made]
    seen = float(np.mean([error for error in errors if error is not None]))
    assert looked.one_way_error is not None
    assert seen <= looked.one_way_error <= 3 * seen
