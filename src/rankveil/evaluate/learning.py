"""What a learner makes of a release: gradient-boosted trees on histograms, from scikit-learn (rankveil[evaluate]).

    propensity AUC     how well released rows are told from original ones: 0.5 not at all, 1 always. Learnt on one half
                       of (up to 10,000) rows of each table and measured on the other half.
    learning score     learnt on the release, measured on real records that had no part in it, beside the same learner
                       taught by the original: AUC for a target of two values, accuracy for more labels, R² for numbers.

A feature is a column's code (labels by their number in the plan), missing as NaN. The learner's own generator is fixed,
so results are repeatable.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Grid
from rankveil.errors import MissingExtraError, PlanError, TableError
from rankveil.noise import Sampler, SeededSource

_MOST_ROWS = 10_000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Learning:
    """A learner's score on real test records. None: nothing to learn from."""

    target: str
    score: Literal["AUC", "accuracy", "R²"]
    taught_by_release: float | None
    taught_by_original: float | None
    test_rows: int
    guessing: float = 0.0  # the score of the best single answer, given without looking


def check_target(target: str | None, test: object) -> None:
    if (target is None) != (test is None):
        raise PlanError(
            "A target without a test table, or a test table without a target.",
            remedy="Give both: --target COLUMN --test TABLE (Python: target and test), or neither.",
        )


def propensity_auc(original: Records, released: Records) -> float:
    """How well a classifier tells the two tables apart."""
    rows = min(original.row_count, released.row_count, _MOST_ROWS)
    learnt, asked = [], []
    for records in (original, released):
        # The same order for both, so that rows that belong together are in the same half.
        order = Sampler(SeededSource(0)).permutation(records.row_count)[:rows]
        features = _features(records)[order]
        learnt.append(features[: rows // 2])
        asked.append(features[rows // 2 :])
    with _one_thread():
        model = _classifier().fit(np.concatenate(learnt), np.repeat([0, 1], rows // 2))
        probabilities = model.predict_proba(np.concatenate(asked))[:, 1]
    return float(_part("metrics").roc_auc_score(np.repeat([0, 1], rows - rows // 2), probabilities))


def learning_scores(original: Records, released: Records, test: Records, target: str) -> Learning:
    """Teach by either table, examine on `test`."""
    column = _column(original, target)
    answers = _answers(test, column)
    if len(np.unique(answers[answers != MISSING])) < 2:
        raise TableError(
            f"The test table has fewer than two different values of {target!r}: nothing can be tested.",
            remedy="Choose another target, or a test table in which it varies.",
        )
    with _one_thread():
        by_release, by_original = (_score(taught_by, test, column) for taught_by in (released, original))
    known = answers[answers != MISSING]
    name = _score_name(column)
    guessing = 0.5 if name == "AUC" else 0.0 if name == "R²" else float(np.bincount(known).max() / len(known))
    return Learning(target, name, by_release, by_original, len(known), guessing)


def _score(taught_by: Records, test: Records, column: Column) -> float | None:
    (features, answers), (questions, truth) = _lessons(taught_by, column), _lessons(test, column)
    if len(answers) == 0:
        return None
    name, metrics = _score_name(column), _part("metrics")
    if name == "R²":
        model = _part("ensemble").HistGradientBoostingRegressor(random_state=0).fit(features, answers)
        return float(metrics.r2_score(truth, model.predict(questions)))
    if len(np.unique(answers)) == 1:  # no classifier is needed to learn one answer
        return 0.5 if name == "AUC" else float(np.mean(truth == answers[0]))
    model = _classifier().fit(features, answers)
    if name == "AUC":
        return float(metrics.roc_auc_score(truth, model.predict_proba(questions)[:, 1]))
    return float(np.mean(truth == model.predict(questions)))


def _score_name(column: Column) -> Literal["AUC", "accuracy", "R²"]:
    domain = column.domain
    values = domain.width + 1 if isinstance(domain, Grid) else domain.label_count
    if values == 2:
        return "AUC"
    return "R²" if isinstance(domain, Grid) and domain.labels is None else "accuracy"


def _lessons(records: Records, column: Column) -> tuple[Floats, NDArray[np.int64]]:
    answers = _answers(records, column)
    known = answers != MISSING
    return _features(records, without=column.name)[known], answers[known]


def _answers(records: Records, column: Column) -> NDArray[np.int64]:
    """Codes of the target; a concept above the labels is no answer, nor is a special value."""
    codes = records.codes[column.name]
    if isinstance(column.domain, Grid):
        return column.domain.without_special(codes)
    return np.where(codes < column.domain.label_count, codes, MISSING)


def _features(records: Records, without: str | None = None) -> Floats:
    columns = [records.codes[name].astype(np.float64) for name in records.schema.names if name != without]
    features = np.column_stack(columns)
    features[features == MISSING] = np.nan
    return features


def _column(records: Records, name: str) -> Column:
    for column in records.schema.columns:
        if column.name == name and len(records.schema.columns) > 1:
            return column
    raise TableError(
        f"There is no column {name!r} in the release, or no other to learn it from.",
        remedy="Name a released column as the target.",
    )


def _classifier() -> Any:
    return _part("ensemble").HistGradientBoostingClassifier(random_state=0)


def _one_thread() -> Any:
    """Tables are small for a learner: its threads would gain little, and on a busy machine wait for each other."""
    _part("ensemble")  # only libraries that are loaded can be held back
    return import_module("threadpoolctl").threadpool_limits(1)


def _part(name: str) -> Any:
    try:
        return import_module(f"sklearn.{name}")
    except ImportError:
        raise MissingExtraError("A measure that learns", "evaluate") from None
