"""Random questions: the same every time, and right."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from rankveil.declare import Records
from rankveil.declare.domain import MISSING
from rankveil.evaluate import queries
from rankveil.evaluate.queries import ask
from tests.support import category, integer, records_of

COLUMNS = {"a": integer(1000, more="null = true"), "b": category(["x", "y", "z"], more="null = true"), "c": integer(50)}


def some_records(seed: int, rows: int = 300) -> Records:
    rng = np.random.default_rng(seed)
    values = {
        "a": [None if value > 900 else int(value) for value in rng.integers(0, 1000, rows)],
        "b": [[None, "x", "y", "z"][place] for place in rng.integers(0, 4, rows)],
        "c": rng.integers(0, 51, rows).tolist(),
    }
    return records_of(values, COLUMNS)


def asked(original: Records, released: Records) -> float:
    return ask(original, released, list(combinations(original.schema.columns, 2))).mean


def test_questions_are_the_same_every_time() -> None:
    original, released = some_records(1), some_records(2)
    assert asked(original, released) == asked(original, released) > 0


def test_a_perfect_copy_answers_every_question_in_any_order_of_its_rows() -> None:
    original = some_records(1)
    order = np.random.default_rng(5).permutation(original.row_count)
    shuffled = Records(original.schema, {name: codes[order] for name, codes in original.codes.items()}, len(order))
    assert asked(original, original) == 0
    assert asked(original, shuffled) == 0


def test_more_damage_makes_larger_errors() -> None:
    original = some_records(1)
    errors = []
    for share in (0.1, 0.5, 1.0):
        codes = {name: column.copy() for name, column in original.codes.items()}
        codes["c"][: int(share * original.row_count)] = 0
        errors.append(asked(original, Records(original.schema, codes, original.row_count)))
    assert errors == sorted(errors)
    assert 0 < errors[0] < errors[2] <= 1


def test_an_error_is_the_difference_of_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    original = records_of({"a": [1, 2, 3, None], "b": ["x", "x", "y", None]}, {key: COLUMNS[key] for key in "ab"})
    released = records_of({"a": [1, 3, 3, 3], "b": ["x", "x", "y", "x"]}, {key: COLUMNS[key] for key in "ab"})
    wanted = {"a": range(1, 3), "b": np.array([True, False, False, False, True])}  # 1 to 2; x or missing
    monkeypatch.setattr(queries, "_values_asked_for", lambda column, codes, sampler: wanted[column.name])
    assert asked(original, released) == pytest.approx(abs(2 / 4 - 1 / 4))


def test_a_released_concept_matches_no_question_about_labels(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\na,r\nb,r\n")
    original = records_of({"l": ["a", "b"] * 20}, {"l": 'kind = "category"\ntaxonomy = "tree.csv"'}, folder=tmp_path)
    concepts = Records(original.schema, {"l": np.full(40, 2)}, 40)
    # Half of the original matches on average; of the concepts nothing does.
    assert ask(original, concepts, [original.schema.columns]).mean == pytest.approx(0.5, abs=0.08)


def test_a_column_in_which_everything_is_missing_can_be_asked_about() -> None:
    original = some_records(1)
    empty = {**original.codes, "a": np.full(original.row_count, MISSING)}
    assert asked(Records(original.schema, empty, original.row_count), original) > 0
