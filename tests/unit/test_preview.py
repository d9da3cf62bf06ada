"""The dry run: what it says follows from the plan, in the terminal, in JSON and as a piece of a page."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import rankveil as rv
from rankveil.flow.declare import Plan
from rankveil.methods import METHODS
from rankveil.report import preview as page
from tests.support import Ran, category, integer, plan_text

ADULT = Path(__file__).resolve().parents[2] / "examples" / "adult.toml"
COLUMNS = {
    "age": integer(90, lower=17),
    "born": 'kind = "date"\nlower = 1950-01-01\nupper = 2020-12-31',
    "pay": integer(500_000, more='scale = "log"\nnull = true'),
    "job": category(["a", "b", "c"]),
    "level": 'kind = "ordinal"\ncategories = ["low", "mid", "high"]',
}


def plan_of(method: str = "synthetic", epsilon: object = "1") -> Plan:
    return Plan.parse(plan_text(COLUMNS, method=method, epsilon=epsilon, k=10))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_dry_run_and_its_budget_adds_up(method: str) -> None:
    looked = rv.preview(plan_of(method), 5000)
    assert looked.rows == 5000
    json.dumps(looked.as_dict())
    if METHODS[method].differentially_private:
        assert sum(part.share for part in looked.split) == pytest.approx(1)
        assert {part.name for part in looked.split if part.purpose == "column"} == set(COLUMNS)
    else:
        assert looked.split == ()


def test_more_rows_make_counts_relatively_more_exact_and_the_plans_own_number_counts() -> None:
    few, many = (rv.preview(plan_of(), rows) for rows in (2_000, 200_000))
    assert few.one_way_error is not None
    assert many.one_way_error is not None
    assert many.one_way_error < few.one_way_error / 10
    assert rv.preview(plan_of()).rows_assumed
    assert not few.rows_assumed
    assert rv.preview(plan_of().with_release(expected_rows=2_000)) == few


def test_a_tiny_epsilon_is_called_mostly_noise_and_a_large_one_is_not() -> None:
    warned = rv.preview(plan_of(epsilon="0.001"), 2000).warnings
    assert any(text.startswith("age") or ", age" in text for text in warned)
    assert all("mostly noise" in text or "independent of each other" in text for text in warned)
    assert any("independent of each other" in text for text in warned)
    assert rv.preview(plan_of(epsilon="10"), 100_000).warnings == ()


@pytest.mark.parametrize(
    ("epsilon", "words"), [("1", "two-way tables"), ("0.1", "correlation"), ("0.001", "not linked")]
)
def test_the_rule_for_linkage_is_said_in_words(epsilon: str, words: str) -> None:
    assert words in rv.preview(plan_of(epsilon=epsilon), 20_000 if epsilon == "1" else 5_000).linkage


def test_the_dry_run_in_the_terminal_shows_the_split_the_widths_and_the_warnings(
    cli: Callable[..., Ran], write_plan: Callable[..., Path]
) -> None:
    shown = cli(
        "release", "t.csv", "--plan", write_plan(plan_text(COLUMNS, method="synthetic", epsilon="0.01")), "--dry-run"
    )
    assert shown.code == 0, shown.err
    for words in ("budget: columns, each by itself", "what you ask", "Worth knowing", "mostly noise", "expected_rows"):
        assert words in shown.out


def test_json_says_the_same(cli: Callable[..., Ran]) -> None:
    said = json.loads(cli("release", "t.csv", "--plan", ADULT, "--dry-run", "--json").out)
    assert said["rows"] == 32561
    assert said["expectations"][0]["question"] == "median"
    assert said["linkage"].startswith("Columns are linked by 25 two-way tables")
    assert sum(part["share"] for part in said["split"]) == pytest.approx(1)


# The piece of a page


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("method", METHODS)
def test_the_fragment_is_well_formed_and_fits_under_a_strict_content_policy(method: str) -> None:
    reader = Tags()
    reader.feed(page.fragment(plan_of(method), 3000))
    assert reader.open == []
    for tag, attributes in reader.found:
        assert tag not in ("script", "style", "link", "iframe", "img")
        assert not any(name == "style" or name.startswith("on") or name in ("href", "src") for name in attributes)


def test_every_class_of_the_fragment_has_a_look() -> None:
    fragments = "".join(page.fragment(plan_of(method, "0.1"), 3000) for method in METHODS)
    used = {name for names in re.findall(r'class="([^"]*)"', fragments) for name in names.split()}
    known = set(re.findall(r"\.(rv-[a-z]+\d?)", page.styles()))
    assert used - known == set()


def test_names_of_columns_cannot_smuggle_markup_into_the_fragment() -> None:
    plan = Plan.parse(plan_text({"<script>alert(1)</script>": integer(9), "b": integer(9)}, method="synthetic"))
    assert "<script" not in page.fragment(plan, 1000)
    assert "&lt;script&gt;" in page.fragment(plan, 1000)


def test_the_fragment_is_quick_enough_for_a_slider() -> None:
    plan = Plan.load(ADULT)
    page.fragment(plan)
    best = min(_seconds(plan) for _ in range(5))
    assert best < 0.05


def _seconds(plan: Plan) -> float:
    started = time.perf_counter()
    page.fragment(plan, 32561)
    return time.perf_counter() - started
