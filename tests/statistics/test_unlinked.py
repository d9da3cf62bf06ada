"""Methods `unlinked` and `multivariate` as released: noise of the stated size, labels of the stated law, nobody's rows.

Seeds are fixed, so a test that passes once passes always; the rates say how likely a correct implementation was to
fail when the seed was chosen. Each check is shown to catch noise too large or too small by a quarter, or by two fifths.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

from rankveil import Plan, Release, release
from rankveil.declare import declare_alone
from rankveil.declare.domain import Nominal
from rankveil.noise import SeededSource
from rankveil.perturb import shuffle
from rankveil.perturb.records import DISTANCE_UNITS, label_distances
from tests.support import category, integer, plan_text

WIDTH = 1_000_000
METHOD_NAMES = ("unlinked", "multivariate")
Floats = NDArray[np.float64]


def released(
    values: dict[str, Any], columns: dict[str, str], *, method: str, epsilon: object, k: int, seed: int = 1
) -> Release:
    plan = Plan.parse(plan_text(columns, method=method, epsilon=epsilon, k=k))
    table = pa.table({name: pa.array(column) for name, column in values.items()})
    return release(table, plan, source=SeededSource(seed))


# Numbers


def has_scale(noise: Floats, scale: float) -> bool:
    """Whether mean |noise| fits Laplace(scale). The mean of N draws of |noise| has mean and deviation scale, scale/√N.

    Five deviations: about one correct sample in 1.7 million is turned away. Rounding to whole numbers moves the mean
    by far less than a deviation for scales of 10 and more.
    """
    return bool(abs(np.abs(noise).mean() - scale) <= 5 * scale / math.sqrt(len(noise)))


CLUSTERS, K = 2_000, 5
STAIRS = np.repeat(np.arange(CLUSTERS) * (WIDTH // CLUSTERS) + WIDTH // (2 * CLUSTERS), K)


def stair_noise(epsilon: float, m: int) -> list[Floats]:
    """One draw per cluster, read off columns whose clusters lie so far apart that none is mistaken for another."""
    names = [f"c{i}" for i in range(m)]
    made = released(
        dict.fromkeys(names, STAIRS),
        {name: integer(WIDTH) for name in names},
        method="unlinked",
        epsilon=epsilon,
        k=K,
    )
    return [np.sort(made.table[name].to_numpy())[::K] - STAIRS[::K].astype(float) for name in names]


@pytest.mark.parametrize("m", [1, 3])
def test_means_of_ranked_clusters_get_noise_of_scale_m_times_width_over_k_epsilon(m: int) -> None:
    epsilon = m * 10_000
    scale = m * WIDTH / (K * epsilon)
    assert scale == 20
    for right, little, much in zip(
        stair_noise(epsilon, m), stair_noise(epsilon * 1.25, m), stair_noise(epsilon / 1.25, m), strict=True
    ):
        assert has_scale(right, scale)
        assert not has_scale(little, scale)
        assert not has_scale(much, scale)


def test_means_of_clusters_of_records_get_noise_of_scale_m_clusters_times_width_over_k_epsilon() -> None:
    columns = {name: integer(WIDTH) for name in ("a", "b")}
    table = dict.fromkeys(columns, np.full(K * CLUSTERS, WIDTH // 2))
    scale = 100.0
    epsilon = 2 * CLUSTERS * WIDTH / (K * scale)

    def noise(epsilon: float) -> list[Floats]:
        made = released(table, columns, method="multivariate", epsilon=epsilon, k=K)
        # Rows repeat their cluster's values; sorted, every K-th is one draw of each pair.
        pairs = np.array([made.table[name].to_numpy() for name in columns]).astype(float) - WIDTH // 2
        return list(pairs[:, np.lexsort(pairs)][:, ::K])

    for right, little, much in zip(noise(epsilon), noise(epsilon * 1.25), noise(epsilon / 1.25), strict=True):
        assert has_scale(right, scale)
        assert not has_scale(little, scale)
        assert not has_scale(much, scale)
    # Draws of two columns: a correlation of N independent pairs has deviation 1/√N; five of them.
    assert abs(np.corrcoef(noise(epsilon))[0, 1]) < 5 / math.sqrt(CLUSTERS)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_the_number_of_missing_values_gets_noise_of_scale_8_over_the_columns_share(method: str) -> None:
    m, rows, scale = 900, 400, 20
    names = [f"c{i}" for i in range(m)]
    columns = {name: integer(1, more="null = true") for name in names}
    table = dict.fromkeys(names, [1, None] * (rows // 2))

    made = released(table, columns, method=method, epsilon=8 / scale * m, k=rows)
    noise = np.array([made.table[name].null_count - rows / 2 for name in names])
    assert has_scale(noise, scale)
    # Noise of another scale is the same noise stretched: whether 1.4 times too little or too much is noticed.
    assert not has_scale(noise / 1.4, scale)
    assert not has_scale(noise * 1.4, scale)


# Labels


def label_law(entry: str, cluster: list[int], scale: float) -> Floats:
    """P(a) ∝ exp(-m(S, a) / scale), missing last where it is allowed."""
    (column,) = declare_alone(Plan.parse(plan_text({"a": entry}))).columns
    assert isinstance(column.domain, Nominal)
    table = label_distances(column.domain, with_missing=column.allows_null) / DISTANCE_UNITS
    weights = np.exp(-np.array(cluster) @ table / scale)
    return np.asarray(weights / weights.sum())


def follows(draws: list[object], values: list[object], law: Floats) -> bool:
    """Pearson's test; one correct sample in a million is turned away."""
    counts = [draws.count(value) for value in values]
    return bool(sum(counts) == len(draws) and stats.chisquare(counts, law * len(draws)).pvalue > 1e-6)


@pytest.mark.parametrize(
    ("method", "null", "steps"), [("unlinked", False, 2), ("unlinked", True, 3), ("multivariate", True, 4000)]
)
def test_labels_follow_algorithm_2_calibrated_to_all_clusters(method: str, null: bool, steps: int) -> None:
    """All clusters alike, so each is one draw of the same law: scale 2·L/ε, L the way through all labels (unlinked),
    or the largest distance times the number of clusters (multivariate)."""
    clusters, k = 4000, 3
    entry = category(["x", "y", "z"], more="null = true" if null else "")
    values: list[object] = ["x", "y", "z", *([None] if null else [])]
    distance = math.log2(5 / 3)  # of any two labels below one root
    epsilon = 2 * steps
    made = released({"a": ["y"] * (clusters * k)}, {"a": entry}, method=method, epsilon=epsilon, k=k)
    counts = made.table["a"].to_pylist()
    draws = [value for value in values for _ in range(counts.count(value) // k)]
    cluster = [0, k, 0, *([0] if null else [])]
    scale = 2 * steps * distance / epsilon
    assert follows(draws, values, label_law(entry, cluster, scale))
    assert not follows(draws, values, label_law(entry, cluster, scale * 1.25))
    assert not follows(draws, values, label_law(entry, cluster, scale / 1.25))


# Rows


def rank_correlation_is_chance(one: Floats, other: Floats) -> bool:
    """Spearman's; under a uniform shuffle it has deviation 1/√(n-1). Five of them: one false alarm in 1.7 million."""
    return bool(abs(stats.spearmanr(one, other).statistic) < 5 / math.sqrt(len(one) - 1))


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_the_order_of_released_rows_says_nothing_about_the_order_of_the_records(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 3000
    ascending = np.arange(n)
    columns = {name: integer(n) for name in ("a", "b")}

    def order_is_chance() -> bool:
        made = released(dict.fromkeys(columns, ascending), columns, method=method, epsilon=10**6, k=10)
        return all(rank_correlation_is_chance(made.table[name].to_numpy(), ascending) for name in columns)

    assert order_is_chance()
    monkeypatch.setattr(shuffle, "permutation", lambda source, size: np.arange(size))
    assert not order_is_chance(), "without a shuffle the check sees it"


def test_unlinked_columns_are_unlinked_and_records_are_not() -> None:
    n = 3000
    columns = {name: integer(n) for name in ("a", "b")}
    tables = {
        method: released(dict.fromkeys(columns, np.arange(n)), columns, method=method, epsilon=10**6, k=10).table
        for method in METHOD_NAMES
    }
    linked = {
        method: not rank_correlation_is_chance(table["a"].to_numpy(), table["b"].to_numpy())
        for method, table in tables.items()
    }
    assert linked == {"unlinked": False, "multivariate": True}
    assert len(set(zip(*(tables["multivariate"][name].to_pylist() for name in columns), strict=True))) <= n // 10


# A whole release


@pytest.mark.parametrize("epsilon", ["0.01", "1", "100"])
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_a_mixed_table_with_missing_values_comes_back_with_its_rows_types_and_domains(
    method: str, epsilon: str
) -> None:
    null = "null = true"
    columns = {
        "age": integer(90, lower=17, more=null),
        "income": f'kind = "number"\nlower = 0\nupper = 5000\nstep = 0.5\nscale = "log"\n{null}',
        "size": f'kind = "ordinal"\ncategories = ["s", "m", "l"]\n{null}',
        "job": category(["x", "y", "z"], more=null),
        "member": f'kind = "boolean"\n{null}',
        "born": 'kind = "date"\nlower = 2000-01-01\nupper = 2000-12-31',
    }
    generator = np.random.default_rng(3)
    n = 103

    def with_gaps(values: list[Any]) -> list[Any]:
        return [None if gap else value for value, gap in zip(values, generator.random(n) < 0.2, strict=True)]

    born = (np.datetime64("2000-01-01") + generator.integers(0, 366, n)).tolist()
    table = {
        "age": with_gaps(generator.integers(17, 91, n).tolist()),
        "income": with_gaps((generator.integers(0, 10001, n) / 2).tolist()),
        "size": with_gaps(generator.choice(["s", "m", "l"], n).tolist()),
        "job": with_gaps(generator.choice(["x", "y", "z"], n).tolist()),
        "member": with_gaps((generator.random(n) < 0.5).tolist()),
        "born": born,
    }
    made = released(table, columns, method=method, epsilon=epsilon, k=10, seed=4)
    result = made.table
    assert result.num_rows == n
    assert result.schema.types == pa.table(table).schema.types
    assert not made.certificate.row_aligned
    present = {name: [value for value in result[name].to_pylist() if value is not None] for name in columns}
    assert all(17 <= age <= 90 for age in present["age"])
    assert all(0 <= income <= 5000 and (2 * income).is_integer() for income in present["income"])
    assert set(present["size"]) <= {"s", "m", "l"}
    assert set(present["job"]) <= {"x", "y", "z"}
    assert set(present["member"]) <= {True, False}
    assert len(present["born"]) == n, "nothing goes missing where the plan allows nothing to"
    assert all(day.year == 2000 for day in present["born"])
