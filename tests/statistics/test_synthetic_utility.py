"""How good `synthetic` is on the bundled example, with room for the noise of a run. Seeded, hence repeatable."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankveil as rv
from rankveil.declare import Records, declare, encode
from rankveil.engines import open_table
from rankveil.evaluate import measure_all
from rankveil.evaluate.learning import learning_scores
from rankveil.noise import SeededSource

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def original() -> Records:
    table = open_table(EXAMPLES / "adult.csv.gz")
    return encode(table, declare(rv.Plan.load(EXAMPLES / "adult.toml"), table))


def released(original: Records, seed: int, **settings: object) -> Records:
    plan = rv.Plan.load(EXAMPLES / "adult.toml").with_(method="synthetic", **settings)
    made = rv.release(EXAMPLES / "adult.csv.gz", plan, source=SeededSource(seed)).table
    return encode(open_table(made), original.schema, released=True)


def test_adult_at_epsilon_1_and_a_delta_meets_its_targets(original: Records) -> None:
    made = released(original, 1, epsilon="1", delta="1e-9")
    result = measure_all(original, made)
    assert result.total_variation <= 0.012
    assert (result.pair_total_variation or 1) <= 0.050
    assert (result.wasserstein or 1) <= 0.03
    pytest.importorskip("sklearn", reason="the learner needs rankveil[evaluate]")
    test = encode(open_table(EXAMPLES / "adult_test.csv.gz"), original.schema)
    score = learning_scores(original, made, test, "income")
    assert (score.taught_by_release or 0) >= 0.85


def test_more_budget_gives_a_better_table(original: Records) -> None:
    worse, better = (measure_all(original, released(original, 2, epsilon=epsilon)) for epsilon in ("0.1", "10"))
    assert better.total_variation < worse.total_variation / 5
    assert (better.pair_total_variation or 1) < (worse.pair_total_variation or 0) / 2
    assert (better.wasserstein or 1) < (worse.wasserstein or 0) / 5
