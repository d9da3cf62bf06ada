"""What a learner makes of a release, and what happens where scikit-learn is not installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score

from rankveil.declare import Records
from rankveil.declare.domain import MISSING
from rankveil.errors import MissingExtraError, TableError
from rankveil.evaluate import learning_scores, propensity_auc
from tests.support import category, integer, records_of

COLUMNS = {
    "x": integer(1000, more="null = true"),
    "z": integer(1000),
    "yes": category(["no", "yes"]),
    "colour": category(["red", "green", "blue"], more="null = true"),
}


def records(seed: int, rows: int = 600) -> Records:
    """x decides everything; z is noise."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1001, rows)
    values = {
        "x": [None if place % 50 == 0 else int(value) for place, value in enumerate(x)],
        "z": rng.integers(0, 1001, rows).tolist(),
        "yes": [["no", "yes"][int(value > 500)] for value in x],
        "colour": [[None, "red", "green", "blue"][int(value // 251)] for value in x],
    }
    return records_of(values, COLUMNS)


def features(table: Records, without: str) -> np.ndarray:
    columns = [codes.astype(float) for name, codes in table.codes.items() if name != without]
    return np.where(np.column_stack(columns) == MISSING, np.nan, np.column_stack(columns))


def changed(table: Records, **codes: np.ndarray) -> Records:
    return Records(table.schema, {**table.codes, **codes}, table.row_count)


# Telling tables apart


def test_a_copy_cannot_be_told_from_the_original() -> None:
    assert propensity_auc(records(1), records(1)) == 0.5


def test_fresh_rows_of_the_same_law_can_hardly_be_told_apart() -> None:
    assert propensity_auc(records(1, 3000), records(2, 2500)) == pytest.approx(0.5, abs=0.05)


def test_a_column_that_never_looks_like_that_gives_a_release_away() -> None:
    original = records(1)
    assert propensity_auc(original, changed(original, z=np.full(original.row_count, 7))) > 0.95


def test_broken_dependence_gives_a_release_away() -> None:
    original = records(1)
    shuffled = np.random.default_rng(3).permutation(original.codes["yes"])
    assert propensity_auc(original, changed(original, yes=shuffled)) > 0.6


# Learning from a release


def test_two_values_are_scored_by_auc_like_scikit_learns_own() -> None:
    original, released, test = records(1), records(2), records(3)
    found = learning_scores(original, released, test, "yes")
    assert (found.target, found.score, found.test_rows) == ("yes", "AUC", 600)
    for table, score in ((released, found.taught_by_release), (original, found.taught_by_original)):
        model = HistGradientBoostingClassifier(random_state=0).fit(features(table, "yes"), table.codes["yes"])
        chances = model.predict_proba(features(test, "yes"))[:, 1]
        assert score == pytest.approx(roc_auc_score(test.codes["yes"], chances))


def test_numbers_are_scored_by_r_squared_without_rows_in_which_the_target_is_missing() -> None:
    original, test = records(1), records(3)
    found = learning_scores(original, original, test, "x")
    taught, asked = (table.codes["x"] != MISSING for table in (original, test))
    model = HistGradientBoostingRegressor(random_state=0).fit(
        features(original, "x")[taught], original.codes["x"][taught]
    )
    answers = model.predict(features(test, "x")[asked])
    assert found.score == "R²"
    assert found.taught_by_release == found.taught_by_original
    assert found.taught_by_original == pytest.approx(r2_score(test.codes["x"][asked], answers))
    assert found.test_rows == int(asked.sum())


def test_more_labels_are_scored_by_accuracy() -> None:
    found = learning_scores(records(1), records(2), records(3), "colour")
    assert found.score == "accuracy"
    assert found.taught_by_release is not None and 0.9 < found.taught_by_release <= 1


def test_a_release_that_knows_one_answer_only_teaches_nothing() -> None:
    original, test = records(1), records(3)
    one = changed(original, yes=np.zeros(600, np.int64), colour=np.full(600, 1))
    assert learning_scores(original, one, test, "yes").taught_by_release == 0.5
    known = test.codes["colour"][test.codes["colour"] != MISSING]
    assert learning_scores(original, one, test, "colour").taught_by_release == pytest.approx(np.mean(known == 1))


def test_concepts_and_missing_values_of_a_target_are_no_answers() -> None:
    original = records(1)
    released = changed(original, colour=np.where(np.arange(600) % 2 == 0, 3, MISSING))  # 3: the root concept
    assert learning_scores(original, released, records(3), "colour").taught_by_release is None


def test_a_target_that_is_not_there_or_does_not_vary_is_refused() -> None:
    original, test = records(1), records(3)
    with pytest.raises(TableError, match="no column 'wages'"):
        learning_scores(original, original, test, "wages")
    with pytest.raises(TableError, match="fewer than two different values of 'yes'"):
        learning_scores(original, original, changed(test, yes=np.ones(600, np.int64)), "yes")


@pytest.mark.parametrize("part", ["sklearn.ensemble", "sklearn.metrics"])
def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setitem(sys.modules, part, None)
    with pytest.raises(MissingExtraError, match=r"rankveil\[evaluate\]"):
        propensity_auc(records(1), records(2))
