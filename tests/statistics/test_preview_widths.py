"""Widths that a dry run states, against draws and, for `synthetic`, against the noise and the tables of whole releases.

False alarms   A width is said to hold in 95 of 100 draws. The number of draws outside is binomial with at most 5 %; a
               check fails if that many or more occur with probability below 1e-6 (exact tail), and each check has
               twins that it must catch: a width too small and, where the width is exact, one too large.
               The draws are seeded, so a run that passes passes again.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmarks.pure_or_delta import outcomes, plan_for, shapes
from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.measure import columns
from rankveil.measure.budget import Budget, Noise
from rankveil.measure.synthetic import Unanswered
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.preview import Preview, preview
from rankveil.preview.reach import HALF, MOST, mean_size, reach_of

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


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.name} {noise.parameter}")
def test_the_mean_size_of_noise_is_that_of_its_draws(noise: Noise) -> None:
    """Off by more than five standard errors once in 10^6 times; a tenth too much or too little is noticed."""
    sizes = np.abs(noise.added_to(np.zeros(DRAWS, np.int64), SeededSource(8))).astype(np.float64)
    error = 5 * float(sizes.std()) / np.sqrt(DRAWS)
    assert abs(mean_size(noise) - sizes.mean()) <= error
    assert noise.parameter < 1 or 0.1 * sizes.mean() > error


# Values that get noise one by one


def by_value(
    kind: dict[str, object], epsilon: str, values: list[object], *, method: str = "laplace", k: int = 1
) -> tuple[Preview, NDArray[np.int64], NDArray[np.int64]]:
    """A dry run of a one-column plan, and codes before and after a release of it."""
    plan = Plan.from_dict({"release": {"method": method, "epsilon": epsilon, "k": k}, "columns": {"a": kind}})
    table = open_table(pa.table({"a": values}))
    dataset = Dataset(declare(plan, table), table)
    wanted, budget, source = METHODS[method], Budget(Fraction(epsilon)), SeededSource(3)
    rows = wanted.drawn(wanted.prepare(dataset, k), budget, source)
    return preview(plan, len(values)), dataset.records().codes["a"], rows.collected()["a"]


@pytest.mark.parametrize("epsilon", ["10", "20", "60"])
def test_single_values_stay_within_the_stated_width(epsilon: str) -> None:
    looked, before, after = by_value({"kind": "integer", "lower": 0, "upper": 1000}, epsilon, [500] * DRAWS)
    (expected,) = looked.expectations
    assert expected.question == "noise on one value"
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
    assert expected.question == "noise on the mean of 10 neighbours"
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


# Whole releases of the method synthetic, of tables of many shapes


ENOUGH = 600  # draws of noise, for a width that is half as large to be noticed


@pytest.fixture
def first_draws(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[NDArray[np.float64]]]:
    """The noise on every column's finest counts that are taken whatever the answers, in the order of releases."""
    found: dict[str, list[NDArray[np.float64]]] = {}
    waiting: list[str] = []
    drawn, added = columns._measured, Noise.added_to

    def noting(counts: Any, rows: int, price: Any, source: Any) -> Any:
        if isinstance(source, Unanswered):  # a dry run asks as well, and draws nothing
            return drawn(counts, rows, price, source)
        column = counts.grid.column
        levels = len(columns.first_question(column, rows, price).levels)
        waiting.extend([column.name, *[""] * (levels - 1)])  # the finest level's is the one that is announced
        return drawn(counts, rows, price, source)

    def adding(self: Noise, values: NDArray[np.int64], source: Any) -> NDArray[np.int64]:
        noisy = added(self, values, source)
        if waiting:
            name = waiting.pop()
            if name:
                found.setdefault(name, []).append(np.abs(noisy - values).astype(np.float64).ravel())
        return noisy

    monkeypatch.setattr(columns, "_measured", noting)
    monkeypatch.setattr(Noise, "added_to", adding)
    return found


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", None), ("1", "1e-9")])
@pytest.mark.parametrize("shape", [name for name, _ in shapes(2)])
def test_whole_releases_draw_the_noise_and_measure_the_pairs_that_were_announced(
    first_draws: dict[str, list[NDArray[np.float64]]], shape: str, epsilon: str, delta: str | None
) -> None:
    """Spikes at the upper end, heavy tails, constants, missing values, 50 columns: what is printed holds for all."""
    rows = 1_500
    columns = dict(shapes(rows))[shape]
    plan = plan_for(columns, epsilon, rows).with_(delta=delta)
    content = pa.table({name: pa.array(values) for name, (_, values) in columns.items()})
    looked, table = preview(plan, table=content), open_table(content)
    assert (looked.rows, looked.rows_assumed) == (rows, False)
    dataset, method = Dataset(declare(plan, table), table), METHODS["synthetic"]
    counted = method.prepare(dataset, 1)
    for run in count():
        if sum(len(each) for found in first_draws.values() for each in found) > ENOUGH:
            break
        budget = Budget(Fraction(epsilon), None if delta is None else Fraction(delta))
        source = SeededSource(run)
        released = method.protect(counted, budget, source)
        if run == 0:
            made = method.rows(method.linked(released, source), budget, source)
            _check_linkage(looked.linkage, made.linkage, [note.name for note in made.notes])
    share_of_reach = []
    for expected in looked.expectations:
        assert expected.reach is not None
        drawn = first_draws[expected.column]
        stated = re.search(r"one of (\d+) ranges", expected.question)
        assert stated is None or {len(each) for each in drawn} == {int(stated[1])}, "as many counts as were announced"
        share_of_reach.append(np.concatenate(drawn) / expected.reach)
    assert len(share_of_reach) == len(columns)
    pooled = np.concatenate(share_of_reach)
    assert not too_many_outside(pooled, 1.0)
    assert too_many_outside(pooled, 0.5), "half as wide is noticed"


def _check_linkage(said: str, kind: str, names: list[str]) -> None:
    tables = [name for name in names if name.endswith("two-way tables")]
    if kind == "tables":
        assert "as many as are worth their noise" in said
        if "parities" not in said:  # otherwise noisy counts decide, as is said
            pairs = re.search(r"noisy scores of all (\d+) pairs decide", said)
            assert pairs is not None
            assert f"choice among {pairs[1]} pairs" in names, "as many pairs as were announced"
            assert len(tables) == 1
            assert ("of three columns" in said) == any(name.endswith("three-way tables") for name in names)
            assert not any("parities" in name for name in names)
    else:
        assert not tables
        assert {"copula": "one noisy correlation per pair", "none": "Nothing is measured about pairs"}[
            kind
        ] in said or (kind == "none" and said == "")


def test_the_advice_on_delta_agrees_with_whole_releases() -> None:
    """Tables of thirteen shapes at three ε: the way that is advised has the smaller measured error in 26 of 39 cases or
    more (28 were measured with the model of decision 47), and costs 8 % of the error at most on average (6 % there).
    Errors are means of two releases: after one the average was 1 to 9 %, by seed. Seeded, so that it passes again; a
    coin would pass with probability 0.027, and advice turned round costs 36 %. The table of 50 columns is left to the
    benchmark: it takes as long as all others together."""
    found = list(outcomes(2_000, runs=2, most_columns=16))
    right = sum(each.right for each in found)
    assert len(found) == 39
    assert right >= 26, [(each.table, each.epsilon) for each in found if not each.right]
    lost = [np.log(each.advised / min(each.pure, each.with_delta)) for each in found]
    assert np.exp(np.mean(lost)) < 1.08
    assert {each.expected.better for each in found} == {"pure", "delta"}
