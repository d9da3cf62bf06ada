"""One number per aspect, from 0 to 1, by rules that anybody can apply again.

Most scores are 1 minus an average distance, so that 1 is a perfect copy. A total variation is the share of rows that
would have to change for the two tables to agree; hence the words, the same for every aspect:

    good   at least 0.95: at most five rows in a hundred would have to change
    fair   at least 0.85: at most fifteen
    poor   below

The words judge the size of an error, not whether the release serves a purpose: that is for its users to say.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rankveil.evaluate.learning import Learning
from rankveil.evaluate.results import Evaluation, Score, Word
from rankveil.evaluate.subgroups import FEWEST_JUDGED

GOOD, FAIR = 0.95, 0.85


def word_for(value: float) -> Word:
    return "good" if value >= GOOD else "fair" if value >= FAIR else "poor"


def score_text(value: float) -> str:
    """Rounded down, so that no score looks better than its word."""
    return f"{math.floor(100 * value + 1e-9) / 100:.2f}"


def with_scores(found: Evaluation) -> Evaluation:
    judged = [group.beyond_chance for group in found.subgroups if group.rows >= FEWEST_JUDGED]
    queries = found.queries
    rules: list[tuple[str, float | None, str]] = [
        ("Single columns", _left(found.total_variation), "1 − mean total variation of the protected columns"),
        ("Pairs of columns", _left(found.pair_total_variation), "1 − mean total variation of all pairs"),
        ("Correlations", _left(found.correlation_error), "1 − mean absolute difference of rank correlations"),
        (
            "Counts",
            _left(queries.mean / queries.mean_answer) if queries is not None and queries.mean_answer else None,
            "1 − mean error of the random questions ÷ their mean true answer",
        ),
        (
            "Groups of people",
            _left(float(np.mean(judged))) if judged else None,
            f"1 − mean error beyond chance inside groups of at least {FEWEST_JUDGED} rows",
        ),
        (
            "Models",
            _skill(found.learning),
            "the learner's score above guessing when the release taught it ÷ when the original did",
        ),
        (
            "Whole rows",
            None if found.propensity_auc is None else 2 * (1 - max(0.5, found.propensity_auc)),
            "2 × (1 − propensity AUC): 1 if no learner tells released rows from original ones, 0 if one always does",
        ),
        ("Row by row", _left(found.relative_error), "1 − mean relative error"),
    ]
    by_chance = {"Single columns": _left(found.chance), "Pairs of columns": _left(found.pair_chance)}
    scores = tuple(
        Score(aspect, value, word_for(value), rule, by_chance.get(aspect))
        for aspect, value, rule in rules
        if value is not None
    )
    return replace(found, scores=scores)


def _left(error: float | None) -> float | None:
    return None if error is None else max(0.0, 1 - error)


def _skill(learning: Learning | None) -> float | None:
    """None where the original itself teaches nothing."""
    if learning is None or learning.taught_by_release is None or learning.taught_by_original is None:
        return None
    possible = learning.taught_by_original - learning.guessing
    if possible <= 0:
        return None
    return float(np.clip((learning.taught_by_release - learning.guessing) / possible, 0, 1))
