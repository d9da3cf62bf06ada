"""Releases that protect persons, or the number of rows, replayed; and broken twins that the replay has to catch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rankveil.audit.replay import replay
from rankveil.audit.replay.campaign import SIZES
from rankveil.audit.replay.pair import Outcome, run_pair
from rankveil.audit.replay.plans import Case, made_case
from rankveil.audit.replay.ways import LOCAL_WAYS
from rankveil.declare import Plan, persons
from rankveil.declare.unit import A_ROW, Sensitivity, Unit
from rankveil.measure import parities, size, synthetic
from rankveil.measure.budget import Price
from rankveil.measure.size import Size, released_size

PAIRS = 300


def cases(folder: Path, wanted: Callable[[Unit], bool], most: int = PAIRS) -> Any:
    """Pairs of a campaign whose plans have such a unit, each with a folder of its own."""
    for number in range(most):
        below = folder / str(number)
        below.mkdir(parents=True)
        case = made_case(f"77-{number}", LOCAL_WAYS, SIZES, below)
        if wanted(case.plan.unit):
            yield case, below


def first_problem(
    folder: Path, wanted: Callable[[Unit], bool], likely: Callable[[Case], bool] = lambda case: True, most: int = PAIRS
) -> Outcome:
    for case, below in cases(folder, wanted, most):
        if likely(case):
            outcome = run_pair(case, below)
            if outcome.problems:
                return outcome
    pytest.fail("the twin was not caught")


def of_persons(unit: Unit) -> bool:
    return unit.person is not None


def several(unit: Unit) -> bool:
    return unit.person is not None and unit.rows > 1


# The original


def test_a_release_depends_on_a_whole_person_through_protected_answers_alone(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    largest: dict[tuple[str, bool], float] = {}
    for case, below in cases(tmp_path, lambda unit: unit != A_ROW):
        outcome = run_pair(case, below)
        assert outcome.problems == (), case.name
        if outcome.refused is None:
            unit = case.plan.unit
            found[case.change.removesuffix("; rows in another order")] += 1
            key = (unit.neighbours, unit.person is not None)
            largest[key] = max(largest.get(key, 0.0), outcome.loss_over_claim)
    assert {"one row more", "one row less", "one person less"} <= found.keys()
    for what in ("one person more", "one person replaced"):
        for many in ("with one row", "with some rows", "with more rows than are used"):
            assert found[f"{what}, {many}"], (what, many)
    assert min(largest.values()) > 0.9, "the neighbours are bad enough to use nearly all of the budget"
    assert len(largest) == 3, "rows and persons that are there or not, and persons that are replaced"


def plan_with(privacy: dict[str, object], **release: object) -> Plan:
    columns = {
        "who": {"kind": "drop"},
        "a": {"kind": "integer", "lower": 0, "upper": 50},
        "b": {"kind": "category", "categories": ["x", "y", "z"]},
        "c": {"kind": "boolean"},
        "d": {"kind": "boolean"},
        "e": {"kind": "boolean"},
    }
    content = {"release": {"epsilon": "50", "expected_rows": 1200, **release}, "privacy": privacy, "columns": columns}
    return Plan.from_dict(content)


@pytest.mark.parametrize("delta", [{}, {"delta": "1e-6"}], ids=["pure", "with delta"])
@pytest.mark.parametrize(
    "privacy",
    [
        {"neighbours": "add-remove"},
        {"person": "who", "rows_per_person": 3},
        {"neighbours": "add-remove", "person": "who", "rows_per_person": 2},
    ],
    ids=["rows", "persons", "persons, there or not"],
)
def test_a_given_plan_with_parities_and_tables_is_replayed_with_its_units(
    privacy: dict[str, object], delta: dict[str, object]
) -> None:
    result = replay(pairs=6, plan=plan_with(privacy, **delta))
    assert result.problems == []
    assert result.pairs == 6
    assert result.linkages["tables"] == 6


# Broken twins


def test_rows_limited_by_their_place_in_the_table_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first rows of a person in the file: others may lie before them after the table was sorted anew."""

    def by_place(columns: Any, batch: pa.RecordBatch, words: Any) -> Any:
        return np.arange(len(words), dtype=np.uint64)

    monkeypatch.setattr(persons, "_row_words", by_place)
    found = first_problem(tmp_path, of_persons, lambda case: "another order" in case.change)
    assert "times what the certificate claims" in found.problems[0]


def test_persons_told_apart_by_a_short_hash_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two persons with one hash are limited together: one of them decides which rows of the other stay."""
    plain = persons.persons_of

    def hashed(schema: Any, batch: pa.RecordBatch) -> pa.Array:
        texts = plain(schema, batch).to_pylist()
        return pa.array([str(sum(text.encode()) % 4) for text in texts], pa.large_string())

    monkeypatch.setattr(persons, "persons_of", hashed)
    found = first_problem(tmp_path, lambda unit: of_persons(unit) and unit.neighbours == "add-remove", most=6 * PAIRS)
    assert "times what the certificate claims" in found.problems[0]


def test_rows_that_are_not_limited_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(persons.Limiting, "kept", lambda work, rows: rows)
    found = first_problem(tmp_path, several, lambda case: "more rows than" in case.change)
    assert "times what the certificate claims" in found.problems[0]


def test_an_exact_number_of_rows_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def exactly(exact: int, budget: Any, source: Any, **how: Any) -> Size:
        return replace(released_size(exact, budget, source, **how), rows=exact)

    monkeypatch.setattr(synthetic, "released_size", exactly)
    found = first_problem(tmp_path, lambda unit: not unit.rows_public)
    assert found.different or "released before" in found.problems[0]


def test_a_number_of_rows_with_too_little_noise_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sized for one row where a person has several: the whole is exceeded where the number costs more than all else."""
    monkeypatch.setattr(Unit, "of_rows", property(lambda unit: 1 if unit.of_counts.l1 > 1 else 0))
    monkeypatch.setattr(size.rules, "FOR_ROWS", Fraction(9, 10))
    found = first_problem(tmp_path, lambda unit: several(unit) and unit.rows > 2)
    assert "times what the certificate claims" in found.problems[0]


@pytest.mark.parametrize(
    "name", ["replaced persons as if they had one row", "replaced rows as if they were added", "the root of r"]
)
def test_too_small_a_sensitivity_is_caught(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def one_row(unit: Unit, replaced: Sensitivity, added: Sensitivity) -> Sensitivity:
        return replaced if unit.neighbours == "replace" else added

    def only_added(unit: Unit, replaced: Sensitivity, added: Sensitivity) -> Sensitivity:
        return Sensitivity(unit.rows * added.l1, unit.rows**2 * added.l2_squared)

    def as_if_rows_were_different(unit: Unit, replaced: Sensitivity, added: Sensitivity) -> Sensitivity:
        one = replaced if unit.neighbours == "replace" else added
        return Sensitivity(unit.rows * one.l1, unit.rows * one.l2_squared)

    broken = {
        "replaced persons as if they had one row": one_row,
        "replaced rows as if they were added": only_added,
        "the root of r": as_if_rows_were_different,
    }
    monkeypatch.setattr(Unit, "sensitivity", broken[name])
    with_delta = name == "the root of r"
    found = first_problem(
        tmp_path,
        lambda unit: several(unit) and (unit.neighbours == "replace" or not name.startswith("replaced rows")),
        lambda case: (case.plan.release.delta is not None) == with_delta,
        most=3 * PAIRS,
    )
    assert "times what the certificate claims" in found.problems[0]


def test_parities_with_the_noise_of_a_replaced_row_are_caught_for_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_with({"person": "who", "rows_per_person": 7}, epsilon="200")
    assert replay(pairs=6, plan=plan).problems == []
    plain = parities.parity_noise

    def of_a_row(price: Price, *which: Any) -> Any:
        return plain(replace(price, protects=A_ROW) * Fraction(10), *which)

    monkeypatch.setattr(parities, "parity_noise", of_a_row)
    assert any("times what the certificate claims" in each for each in replay(pairs=6, plan=plan).problems)
