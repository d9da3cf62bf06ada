"""The dry run: what it says follows from the plan, in the terminal, in JSON and as a piece of a page."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.declare import Plan
from rankveil.errors import PlanError, TableError
from rankveil.measure.budget import Budget, Price
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
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


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("laplace", {}, "protects single rows"),
        ("synthetic", {"role": "public"}, "released row by row"),
    ],
)
def test_what_no_release_would_be_made_of_has_no_dry_run(method: str, more: dict[str, str], said: str) -> None:
    columns = {"age": {"kind": "integer", "lower": 0, "upper": 9} | more, "sex": {"kind": "boolean"}}
    plan = Plan(release={"epsilon": 1, "method": method}, privacy={"neighbours": "add-remove"}, columns=columns)
    with pytest.raises(PlanError, match=said):
        rv.preview(plan, 100)


@pytest.mark.parametrize(("rows", "said"), [(0, "The table has no rows"), (1, "The table has one row")])
def test_a_table_too_short_for_a_release_is_said_to_be(rows: int, said: str) -> None:
    with pytest.raises(TableError, match=said):
        rv.preview(plan_of(), rows)


def test_where_the_number_of_rows_gets_noise_the_dry_run_says_that_rules_read_that() -> None:
    columns = {"age": {"kind": "integer", "lower": 0, "upper": 100}}
    asked = {"release": {"epsilon": 1, "expected_rows": 800}, "columns": columns}
    for plan, said in ((Plan(**asked), 0), (Plan(privacy={"neighbours": "add-remove"}, **asked), 1)):
        about = [each for each in rv.preview(plan).warnings if each.startswith("The rules read the number of rows")]
        assert len(about) == said
    assert "± 150 in 95 of 100" in about[0]  # Laplace noise of scale 50


def test_a_column_whose_bounds_are_private_is_warned_of_once() -> None:
    columns = {"pay": 'kind = "integer"\nbounds = "private"', "job": COLUMNS["job"]}
    looked = rv.preview(Plan.parse(plan_text(columns, method="synthetic")), 5000)
    assert [each.split(":")[0] for each in looked.warnings if "its range" in each] == ["pay"]


def test_a_warning_about_many_columns_names_the_first_and_counts_the_others() -> None:
    columns = {f"q{n}": category(["a", "b", "c"]) for n in range(60)}
    warned = rv.preview(Plan.parse(plan_text(columns, epsilon="0.1")), 500).warnings
    assert any(each.startswith("q0, q1,") and "q10 and 49 other columns: " in each for each in warned)


def test_more_rows_make_counts_relatively_more_exact_and_the_plans_own_number_counts() -> None:
    few, many = (rv.preview(plan_of(), rows) for rows in (2_000, 200_000))
    assert few.choice is not None
    assert many.choice is not None
    assert many.choice.pure < few.choice.pure / 10
    assert rv.preview(plan_of()).rows_assumed
    assert not few.rows_assumed
    assert rv.preview(plan_of().with_(expected_rows=2_000)) == few


def test_noise_larger_than_an_average_count_is_said_and_smaller_noise_is_not() -> None:
    warned = rv.preview(plan_of(epsilon="0.001"), 2000).warnings
    assert any(text.startswith("age") or ", age" in text for text in warned)
    assert all("larger than the number of people" in text or "is not measured" in text for text in warned)
    assert rv.preview(plan_of(epsilon="10"), 100_000).warnings == ()


def test_nothing_is_said_that_a_table_could_contradict() -> None:
    """Medians, errors of whole releases and independence were said once, and did not hold for every table."""
    for epsilon, rows in product(("0.001", "0.1", "1", "10"), (300, 5_000, 100_000)):
        looked = rv.preview(plan_of(epsilon=epsilon), rows)
        text = page.of_preview(looked) + json.dumps(looked.as_dict())
        for words in ("at most about", "median", "independent of each other", "mostly noise", "spread evenly"):
            assert words not in text
        assert all(expectation.question.startswith("noise on the") for expectation in looked.expectations)


def test_the_rows_of_a_table_are_counted_in_python_too() -> None:
    table = pa.table({name: ["1"] * 321 for name in COLUMNS})
    assert rv.preview(plan_of(), table=table) == rv.preview(plan_of(), 321)


def test_public_columns_count_among_the_pairs_unless_both_are_public() -> None:
    columns = {name: integer(9, more='role = "public"' if name in "ab" else "") for name in "abc"}
    looked = rv.preview(Plan.parse(plan_text(columns, method="synthetic")), 100_000)
    assert looked.linkage == (
        "Columns are linked by noisy tables of pairs and, where the fit to these is worst, of three columns, as many as"
        " are worth their noise: noisy scores of all 2 pairs decide which."
    )
    alone = {name: entry for name, entry in columns.items() if name != "b"}
    assert "all 1 pairs" in rv.preview(Plan.parse(plan_text(alone, method="synthetic")), 100_000).linkage


@pytest.mark.parametrize("others", [{}, {"age": integer(90), "pay": integer(5000)}])
def test_what_noisy_counts_decide_between_parities_and_tables_is_not_announced(others: dict[str, str]) -> None:
    columns = {f"c{place}": category(["yes", "no"]) for place in range(5)} | others
    looked = rv.preview(Plan.parse(plan_text(columns, method="synthetic", epsilon="10")), 20_000)
    assert looked.linkage.startswith("Columns of two values, where noisy counts show both, are linked by")
    assert [part.name for part in looked.split if part.purpose == "linkage"] == ["parities and tables"]
    assert sum(part.share for part in looked.split) == pytest.approx(1)
    assert [line.mechanism for line in looked.lines][len(columns) :] == ["parities and tables"]


# Pure ε, or a δ as well


def test_many_columns_are_advised_to_take_a_delta_and_few_are_not() -> None:
    many = {f"c{place}": category(["a", "b", "c"]) for place in range(40)}
    for columns, better in ((many, "delta"), ({"c": category(["a", "b", "c"])}, "pure")):
        for delta in (None, "1e-9"):
            plan = Plan.parse(plan_text(columns, method="synthetic")).with_(delta=delta)
            looked = rv.preview(plan, 10_000)
            assert looked.choice is not None
            assert looked.choice.better == better
            assert f"{looked.choice.pure:.2g} with ε alone" in page.of_preview(looked)
            assert f"{looked.choice.with_delta:.2g} with δ = 1e-9" in page.of_preview(looked)
            assert "not a limit" in page.of_preview(looked)
    assert rv.preview(plan_of("laplace"), 10_000).choice is None


def test_what_the_noise_alone_moves_is_what_noise_on_counts_moves() -> None:
    """One column of labels: the figure is the mean total variation between counts and noisy counts."""
    labels = [f"l{place}" for place in range(12)]
    plan = Plan.parse(plan_text({"c": category(labels)}, method="synthetic"))
    found = rv.preview(plan, 2_000).choice
    assert found is not None
    source = SeededSource(11)
    for figure, noise in (
        (found.pure, Price("epsilon", Fraction(1)).laplace_or_gaussian(l1=2, l2_squared=2)),
        (found.with_delta, Budget(Fraction(1), Fraction(1, 10**9)).whole.laplace_or_gaussian(l1=2, l2_squared=2)),
    ):
        drawn = noise.added_to(np.zeros((4_000, 12), np.int64), source)
        assert figure == pytest.approx(float(np.abs(drawn).sum(axis=1).mean()) / 2 / 2_000, rel=0.05)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [("1", "noisy tables of pairs, as many"), ("0.1", "correlation"), ("0.001", "Nothing is measured about pairs")],
)
def test_the_rule_for_linkage_is_said_in_words(epsilon: str, words: str) -> None:
    assert words in rv.preview(plan_of(epsilon=epsilon), 20_000 if epsilon == "1" else 5_000).linkage


def test_the_dry_run_in_the_terminal_shows_the_split_the_widths_and_the_warnings(
    cli: Callable[..., Ran], write_plan: Callable[..., Path]
) -> None:
    plan = write_plan(plan_text(COLUMNS, method="synthetic", epsilon="0.01", expected_rows=900))
    shown = cli("release", "t.csv", "--plan", plan, "--dry-run")
    assert shown.code == 0, shown.err
    for words in ("budget: columns, each by itself", "what noise", "Worth knowing", "with ε alone", "not a limit"):
        assert words in shown.out


def test_json_says_the_same(cli: Callable[..., Ran]) -> None:
    said = json.loads(cli("release", "t.csv", "--plan", ADULT, "--dry-run", "--json").out)
    assert said["rows"] == 32561
    assert said["expectations"][0]["question"] == "noise on the count of one value"
    assert said["linkage"] == (
        "Columns are linked by noisy tables of pairs, as many as are worth their noise: noisy scores of all 105 pairs"
        " decide which."
    )
    assert said["noise_alone"]["better"] == "delta"
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
    """In processor time: a small part of what a release of the same plan takes, which people wait for."""
    plan = Plan.load(ADULT)
    page.fragment(plan)
    best = min(_seconds(lambda: page.fragment(plan, 32561)) for _ in range(5))
    whole = _seconds(lambda: rv.release(ADULT.with_name("adult.csv.gz"), plan, source=SeededSource(1)))
    assert best < whole / 5


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def test_expected_intervals_are_in_every_form_of_the_dry_run_and_shrink_with_the_budget() -> None:
    small, large = (rv.preview(plan_of("synthetic", epsilon), 3000) for epsilon in ("1", "10"))
    assert small.intervals
    assert {each.column for each in small.intervals} <= {line.column for line in small.lines} | {None}
    assert all(each.half_width > 0 for each in small.intervals)
    widths = {(each.column, each.question): each.half_width for each in small.intervals}
    both = [(each.half_width, widths[each.column, each.question]) for each in large.intervals]
    assert both and all(one < other for one, other in both)
    said = small.as_dict()
    assert said["intervals"][0]["half_width"] == small.intervals[0].half_width
    assert "not a limit" in said["about_intervals"]
    assert "How sure estimates will be" in page.of_preview(small)
    assert rv.preview(plan_of("laplace"), 3000).intervals == ()


def test_an_expected_interval_is_that_of_a_count_of_noisy_cells() -> None:
    """Of a table of one column nothing but its own counts is known: a release's intervals are as wide as expected."""
    plan = Plan.parse(plan_text({"a": category(["x", "y", "z", "u"])}, method="synthetic", epsilon="0.2"))
    rows = pa.table({"a": ["x", "y", "z", "u"] * 1000})
    [expected] = rv.preview(plan, 4000).intervals
    made = [rv.release(rows, plan, source=SeededSource(seed), replicates=60) for seed in range(5)]
    widths = [
        (one.high - one.low) / 2
        for each in made
        for label in "xyzu"
        for one in rv.estimate(each, f"share(a = '{label}')").each
    ]
    assert 0.75 < float(np.median(widths)) / expected.half_width < 1.35  # 0.95 to 1.08 with 12 other sets of seeds
    assert not 0.75 < float(np.median(widths)) / (2 * expected.half_width) < 1.35
