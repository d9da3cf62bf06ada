"""A plan written as TOML means what it meant."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.declare import Plan
from rankveil.declare.plan_file import plan_toml
from rankveil.errors import PlanError, RankveilError
from tests.support import plan_text

REPOSITORY = Path(__file__).resolve().parents[3]
KNOWN = [*(REPOSITORY / "examples").glob("*.toml"), *(REPOSITORY / "tests/fuzz/corpus/plans").glob("*.toml")]

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
numbers = st.decimals(min_value=-(10**9), max_value=10**9, allow_nan=False, places=4)
labels = st.lists(texts.map(str.strip).filter(bool), min_size=2, max_size=5, unique=True)
columns = st.one_of(
    st.tuples(st.integers(-(10**9), 0), st.integers(1, 10**9), st.booleans()).map(
        lambda found: {"kind": "integer", "lower": found[0], "upper": found[1], "null": found[2], "scale": "log"}
    ),
    st.tuples(numbers, st.integers(1, 10**6)).map(
        lambda found: {"kind": "number", "lower": found[0], "upper": found[0] + found[1], "unconfirmed": ["lower"]}
    ),
    st.tuples(st.dates(), st.dates())
    .filter(lambda days: days[0] < days[1])
    .map(lambda days: {"kind": "date", "lower": days[0], "upper": days[1], "clamp": True}),
    labels.map(lambda found: {"kind": "category", "categories": found}),
    labels.map(lambda found: {"kind": "ordinal", "categories": found, "role": "public"}),
    st.just({"kind": "drop"}),
)


@given(
    st.dictionaries(texts, columns, min_size=1, max_size=4),
    st.decimals(min_value=Decimal("1e-9"), max_value=Decimal("1e9"), allow_nan=False, allow_infinity=False),
    st.none() | st.just(Decimal("1E-9")),
    st.none() | texts.filter(lambda text: text.isprintable() and text.strip() != ""),
)
def test_a_plan_that_was_written_reads_as_the_same_plan(
    entries: dict[str, Any], epsilon: Decimal, delta: Decimal | None, population: str | None
) -> None:
    release = {"epsilon": epsilon, "delta": delta, "population": population}
    plan = Plan.from_dict({"release": release, "columns": entries})
    again = Plan.parse(plan_toml(plan))
    assert again == plan
    assert again.sha256() == plan.sha256()


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_known_plans_survive_being_written(path: Path) -> None:
    try:
        plan = Plan.load(path)
    except RankveilError:
        return  # a corpus for refusals; what cannot be read is never written
    assert Plan.parse(plan_toml(plan), folder=path.parent).sha256() == plan.sha256()


def test_a_plan_with_guesses_says_that_it_is_internal() -> None:
    column = {"kind": "integer", "lower": 0, "upper": 9, "unconfirmed": ["upper"]}
    plan = Plan.from_dict({"release": {"epsilon": 1}, "columns": {"a": column}})
    assert plan_toml(plan).startswith("# INTERNAL DRAFT")
    assert "# INTERNAL" not in plan_toml(
        Plan.from_dict({"release": {"epsilon": 1}, "columns": {"a": {"kind": "drop"}}})
    )


def test_a_title_is_written_and_read_back_and_a_plan_without_one_keeps_its_fingerprint() -> None:
    plain = Plan.parse(plan_text())
    titled = Plan.parse(plan_text() + '[publication]\ntitle = "  Income in 2031 "\n')
    assert titled.publication.title == "Income in 2031"
    assert Plan.parse(plan_toml(titled)).publication.title == "Income in 2031"
    assert "publication" not in plan_toml(plain)
    assert plain.sha256() == Plan.parse(plan_text() + "[publication]\n").sha256() != titled.sha256()


@pytest.mark.parametrize("title", ["", " ", "two\\nlines", "\\u001b[31m", "x" * 201])
def test_a_title_is_one_line_of_text(title: str) -> None:
    with pytest.raises(PlanError, match="title"):
        Plan.parse(plan_text() + f'[publication]\ntitle = "{title}"\n')


INTERESTED = {
    "release": {"epsilon": 1},
    "interest": [{"target": "a"}, {"columns": ["a", "odd name"]}],
    "columns": {"a": {"kind": "boolean"}, "odd name": {"kind": "boolean"}},
}


def test_what_a_plan_is_interested_in_is_written_and_read_again() -> None:
    plan = Plan.from_dict(INTERESTED)
    assert plan_toml(plan).count("[[interest]]") == 2
    again = Plan.parse(plan_toml(plan))
    assert again == plan
    assert again.sha256() == plan.sha256()


def test_a_plan_that_says_nothing_of_interest_keeps_its_fingerprint() -> None:
    """Fingerprints of plans stand on certificates that were made before there was such an entry."""
    plan = Plan.from_dict({key: value for key, value in INTERESTED.items() if key != "interest"})
    assert plan.sha256() != Plan.from_dict(INTERESTED).sha256()
    assert plan.sha256() == "8d98df0acfa39e8ce099656b26dd92db5180f9d92b26b6f58e75684b3cb95d3b"
