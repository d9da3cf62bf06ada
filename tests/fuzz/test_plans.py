"""Plans: any text is a plan or is refused, and any plan can be looked at before data are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankveil as rv
from rankveil.flow.declare import Plan
from tests.fuzz.harness import CASES, Findings, cases, corpus, refused
from tests.support import files_in


def looked_at(path: Path) -> None:
    """What a dry run does."""
    plan = Plan.load(path)
    plan.sha256()
    rv.preview(plan).as_dict()


def test_any_file_is_a_plan_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "plan.toml"
    path.parent.mkdir()
    (path.parent / "jobs.csv").write_bytes(corpus("taxonomies")["tree.csv"])
    (path.parent / "labels.csv").write_bytes(corpus("labels")["good.csv"])
    before = files_in(tmp_path)
    findings, taken = Findings(), 0
    for number, content in cases(corpus("plans"), CASES["plan"], seed=3):
        with findings.case(content, number):
            path.write_bytes(content)
            taken += refused(lambda: looked_at(path)) is None
    findings.none()
    assert 100 < taken < CASES["plan"]
    assert files_in(tmp_path) == sorted([*before, "folder/plan.toml"])


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(0, 50),
        st.floats(),
        st.decimals(),
        st.text(max_size=5),
        st.dates(),
        st.datetimes(),
        st.sampled_from(["integer", "number", "log", "private", "public", "synthetic", "1e400", "9" * 5000]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEYS = ("lower", "upper", "step", "scale", "bounds", "clamp", "null", "role", "categories", "taxonomy", "format")
KINDS = st.sampled_from(["integer", "number", "date", "boolean", "ordinal", "category", "drop"])


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """Nearly a plan: the right keys, and values of which some are wrong."""
    entry = {"kind": draw(KINDS), "lower": 0, "upper": 10, "categories": ["a", "b"]}
    entry = {key: value for key, value in entry.items() if draw(st.integers(0, 3)) or key == "kind"}
    entry |= {key: draw(VALUES) for key in draw(st.lists(st.sampled_from(KEYS), max_size=2))}
    release = {"epsilon": 1, "method": draw(st.sampled_from([*rv.METHODS, "magic"])), "k": 2}
    release |= {key: draw(VALUES) for key in draw(st.lists(st.sampled_from(["epsilon", "delta", "k"]), max_size=1))}
    content: dict[str, Any] = {"release": release, "columns": {draw(st.text(max_size=4)): entry}}
    content |= {key: draw(VALUES) for key in draw(st.lists(st.sampled_from(["table", "impossible"]), max_size=1))}
    return content


@settings(max_examples=CASES["hypothesis plan"], derandomize=True, database=None)
@given(contents())
def test_any_content_is_a_plan_or_refused(content: dict[str, Any]) -> None:
    refused(lambda: rv.preview(Plan.from_dict(content)).as_dict())


@pytest.mark.parametrize("option", ["method", "epsilon", "delta", "k"])
def test_any_option_is_taken_or_refused(option: str) -> None:
    plan, findings = Plan.parse(corpus("plans")["good.toml"].decode()), Findings()
    for value in ("", " ", "1", "-1", "nan", "1e400", "9" * 5000, "١", "\0", "\ud800", "0x1", "1_0", "1/3", "true"):
        with findings.case(value):
            refused(lambda value=value: rv.preview(plan.with_release(**{option: value})))  # type: ignore[misc]
    findings.none()
