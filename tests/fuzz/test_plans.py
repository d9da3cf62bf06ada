"""Plans: any text is a plan or is refused, and any plan can be looked at before data are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankveil as rv
from rankveil.declare import Plan
from rankveil.noise import SeededSource
from rankveil.verify import verify
from tests.fuzz.harness import CASES, CORPUS, PLAN_SETTINGS, Findings, cases, corpus, refused
from tests.support import files_in, integer, plan_text

NUMBER = 'kind = "number"\nlower = -9\nupper = 9\nstep = 0.5'


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


METHODS = ("good", "synthetic", "unlinked", "multivariate", "aligned", "published")
LABELS = "[" + ", ".join(f'"{label}"' for label in ("cook", "smith", "baker", "low", "mid", "high", *range(60))) + "]"
SETTINGS = {
    "method": [f'"{name}"' for name in rv.METHODS],
    "epsilon": ["1e-9", "1e-6", "0.1", "0.3333333333333333333", "1e9"],
    "delta": ["1e-40", "1e-9", "0.5", "0.999999"],
    "k": ["1", "3", "4", "5", "1000000", "9007199254740992"],
    "expected_rows": ["1", "9007199254740992"],
    "decimal": ['","'],
    "null_values": ["[]", '["cook", "34", "low"]'],
    "lower": ["-9007199254740992", "-1e15", "-1e-9", "33", "119", "0001-01-01", "1987-06-04", "2030-12-30"],
    "upper": ["9007199254740992", "1e15", "1e40", "1", "121", "0.01", "9999-12-31", "1900-01-02", "1987-06-05"],
    "step": ["1", "7", "120", "1000", "1e-9", "0.3", "0.1111111111111111111111111111111", "1e-40"],
    "scale": ['"log"', '"linear"'],
    "role": ['"public"'],
    "format": ['"%d.%m.%Y"', '"%j"', '"="', '"%"', '"%Y-%m-%d %H"', '""'],
    "categories": [LABELS, '["cook", "smith", "baker", ""]', '["low", "mid", "high", "__proto__"]', '["a"]'],
    "clamp": ["false"],
    "null": ["false"],
    "special": ["[34, 999]", "[0.1]", "[1e40]"],
    "derived": [
        '{ by = "age" }',
        '{ by = "1 // age" }',
        '{ by = "((" }',
        '{ from = ["income"], bands = [0, 50] }',
        '{ from = ["job"], values = { cook = 1 } }',
        '{ from = ["job"], by = "jobs.csv" }',
    ],
    "when": [
        '"smoker"',
        '"income * income * income * income < 1"',
        "\"level < 'mid'\"",
        '"year(born) % 4 = 0"',
        '"1 = 1"',
    ],
    "then": [
        '"age > 500"',
        "\"age is missing or born > '1800-01-01'\"",
        "\"job in ['cook']\"",
        '"not"',
        '"age > level"',
    ],
}
ODDITIES = [
    "0",
    "-1",
    "nan",
    "true",
    "[]",
    "{}",
    '""',
    '"x"',
    "99999999999999999999",
    "2020-01-01T00:00:00",
    '[["cook"]]',
]
ADDED = ("scale", "role", "format", "step", "special", "derived")  # to columns that do not say so


def variants(name: str) -> Iterator[tuple[str, str]]:
    """A plan that takes nearly any table, with one setting changed: what it was changed to, and the plan."""
    text = corpus("plans")[f"{name}.toml"].decode().replace("clamp = true\n", "").replace("null = true\n", "")
    text = re.sub(r'(kind = "(integer|number|date)")', r"\1\nclamp = true", text)
    text = re.sub(r'(kind = "(?!drop).*")', r"\1\nnull = true", text)
    lines = text.splitlines()
    for place, line in enumerate(lines):
        key = line.split(" = ")[0]
        for setting in [*SETTINGS.get(key, []), *ODDITIES] if " = " in line else ():
            yield f"{key} = {setting}", "\n".join([*lines[:place], f"{key} = {setting}", *lines[place + 1 :]])
        for added in ADDED if key == "kind" else ():
            for setting in SETTINGS[added]:
                yield (
                    f"{line}, {added} = {setting}",
                    "\n".join([*lines[: place + 1], f"{added} = {setting}", *lines[place + 1 :]]),
                )


def test_a_release_by_a_plan_with_any_setting_is_made_or_refused(tmp_path: Path) -> None:
    """What a plan may say: a k of millions, an ε of next to nothing, a range of two days. Every second of them with
    each method, the odd ones and the even ones by turns."""
    path, findings, number, made = tmp_path / "plan.toml", Findings(), 0, 0
    for turn, name in enumerate(METHODS):
        for change, text in islice(variants(name), turn % 2, None, 2):
            number += 1
            table = CORPUS / ("csv/good.csv" if number % 2 else "parquet/good.parquet")
            with findings.case(f"{name}: {change}", number):
                path.write_text(text)
                made += refused(lambda table=table: released(table, path)) is None  # type: ignore[misc]
    findings.none()
    assert number >= PLAN_SETTINGS
    assert made > 250
    assert files_in(tmp_path) == ["plan.toml"]


def released(table: Path, plan: Path) -> None:
    rv.release(table, plan, source=SeededSource(1), accept_no_guarantee=True)


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
KEYS = (
    "lower",
    "upper",
    "step",
    "scale",
    "bounds",
    "clamp",
    "null",
    "role",
    "categories",
    "taxonomy",
    "format",
    "derived",
    "special",
)
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
    content |= {
        key: draw(VALUES) for key in draw(st.lists(st.sampled_from(["table", "impossible", "rule"]), max_size=1))
    }
    return content


@settings(max_examples=CASES["hypothesis plan"], derandomize=True, database=None)
@given(contents())
def test_any_content_is_a_plan_or_refused(content: dict[str, Any]) -> None:
    refused(lambda: rv.preview(Plan.from_dict(content)).as_dict())


def test_a_release_can_be_read_back_whatever_the_separator(tmp_path: Path) -> None:
    table, plan, taken = tmp_path / "table.csv", tmp_path / "plan.toml", 0
    for byte in range(128):
        mark, spelt = chr(byte), f'"\\u{byte:04x}"'
        table.write_text(f"a{mark}b\n1{mark}2.5\n3{mark}4\n")
        plan.write_text(
            plan_text({"a": integer(5, lower=-5), "b": NUMBER}, epsilon="0.01", table=f"separator = {spelt}")
        )
        out = tmp_path / str(byte)
        if refused(lambda out=out: rv.release(table, plan, out=out)) is None:  # type: ignore[misc]
            taken += 1
            checks = verify(out / "certificate.json", out / "release.csv")
            assert checks.verified, (mark, checks.as_dict())
    assert taken > 40


@pytest.mark.parametrize("option", ["method", "epsilon", "delta", "k"])
def test_any_option_is_taken_or_refused(option: str) -> None:
    plan, findings = Plan.parse(corpus("plans")["good.toml"].decode()), Findings()
    for value in ("", " ", "1", "-1", "nan", "1e400", "9" * 5000, "١", "\0", "\ud800", "0x1", "1_0", "1/3", "true"):
        with findings.case(value):
            refused(lambda value=value: rv.preview(plan.with_(**{option: value})))  # type: ignore[misc]
    findings.none()
