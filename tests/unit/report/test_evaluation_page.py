"""The evaluation's page: internal, whole, closed to everything outside, and with the figures of its JSON."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from rankveil import Plan, evaluate, release
from rankveil.evaluate.results import INTERNAL
from rankveil.release import Release
from rankveil.report import render
from rankveil.report.evaluation import as_page, look_up
from rankveil.report.reproduction import reproduction
from tests.report_cases import EVIL, ODD, released
from tests.support import Ran, integer, plan_text

SECTIONS = ("verdict", "promise", "columns", "pairs", "queries", "models", "groups", "again", "measures")
Cli = Callable[..., Ran]


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.figures: list[tuple[str, str, str]] = []  # path, value, text
        self._figure: tuple[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "data":
            self._figure = (str(dict(attrs)["data-of"]), str(dict(attrs)["value"]))

    def handle_data(self, data: str) -> None:
        if self._figure is not None:
            self.figures.append((*self._figure, data))
            self._figure = None

    def handle_endtag(self, tag: str) -> None:
        if tag == "data":
            self._figure = None


@pytest.fixture(scope="module")
def synthetic() -> str:
    plan, made, found = released()
    return as_page(found, plan, made.certificate)


@pytest.fixture(scope="module")
def published() -> str:
    plan, made, found = released("published:individual-ranking", k=20)
    return as_page(found, plan, made.certificate)


# Internal, whole and closed


def test_the_first_line_and_the_first_visible_line_say_that_it_is_internal_and_why(synthetic: str) -> None:
    assert synthetic.splitlines()[0] == f"<!-- {INTERNAL} -->"
    assert "computed from the original" in INTERNAL
    body = synthetic[synthetic.index("<body>") + len("<body>") :]
    assert re.sub(r"<[^>]+>", "", body).strip().startswith(INTERNAL)


def test_every_section_is_there_once_and_the_contents_lead_to_it(synthetic: str) -> None:
    ids = [attrs["id"] for _, attrs in Reader(synthetic).tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    contents = synthetic[synthetic.index("<nav") : synthetic.index("</nav>")]
    for section in SECTIONS:
        assert section in ids
        assert f'href="#{section}"' in contents
    targets = [str(attrs["href"])[1:] for tag, attrs in Reader(synthetic).tags if tag == "a"]
    assert set(targets) <= set(ids)


def test_the_policy_allows_the_pages_own_style_by_its_hash_and_nothing_else(synthetic: str) -> None:
    (policy,) = [
        str(attrs["content"])
        for tag, attrs in Reader(synthetic).tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    (sheet,) = re.findall(r"<style>(.*?)</style>", synthetic, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert rules["style-src"] == [f"'sha256-{digest}'"]
    assert rules["img-src"] == ["data:"]
    assert "unsafe" not in policy


@pytest.mark.parametrize("which", ["synthetic", "published"])
def test_nothing_is_loaded_run_or_styled_in_place(which: str, request: pytest.FixtureRequest) -> None:
    text: str = request.getfixturevalue(which)
    without_names = re.sub(r' xmlns(:\w+)?="http://www\.w3\.org/[^"]*"', "", text)
    assert not re.search(r"https?://|url\((?!#)|@import", without_names)
    for tag, attrs in Reader(text).tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img", "form", "base")
        assert "style" not in attrs
        assert not any(name.startswith("on") for name in attrs)
        assert str(attrs.get("href", "#")).startswith("#")


def test_labels_and_names_are_text_wherever_they_appear(synthetic: str) -> None:
    assert EVIL not in synthetic
    assert "<b>bold</b>" not in synthetic
    assert "<img" not in synthetic
    assert html.escape(EVIL) in synthetic
    assert html.escape(ODD, quote=False) in synthetic or html.escape(ODD) in synthetic


def test_charts_share_no_ids_speak_no_values_and_use_colours_that_the_style_sheet_knows(synthetic: str) -> None:
    charts = re.findall(r"<svg role=\"img\".*?</svg>", synthetic, flags=re.DOTALL)
    assert len(charts) == 9 + 4  # one per column; pairs, correlations, questions, groups
    sheet = render.style()
    for chart in charts:
        assert chart.count("aria-") == 1
        for attribute, colour in re.findall(r'(fill|stroke)="(#\w+|white)"', chart):
            assert f'{attribute}="{colour}"' in sheet, (attribute, colour)


# What it says


def test_a_release_without_a_guarantee_is_called_that_in_plain_words(published: str) -> None:
    verdict = published[published.index('id="verdict"') : published.index('id="promise"')]
    promise = published[published.index('id="promise"') : published.index('id="columns"')]
    assert "This release is NOT differentially private: no theorem protects the people in it" in verdict
    assert "Nobody in this table is protected by a theorem, whatever ε its settings name." in promise
    assert "Which rows share a cluster is visible" in promise
    assert "a setting, not a guarantee" in promise
    assert "The release is differentially private" not in published


def test_a_release_with_a_guarantee_shows_it_with_neighbours_theorem_and_shares(tmp_path: Path) -> None:
    table = pa.table({"a": list(range(100)), "b": list(range(100))})
    plan = Plan.parse(plan_text({"a": integer(100), "b": integer(100)}))
    made = release(table, plan)
    text = as_page(evaluate(table, made.table, plan), plan, made.certificate)
    assert "The release is differentially private with ε\u00a0=\u00a01." in text
    for said in (
        made.certificate.neighbours,
        made.certificate.theorems[0].sentence,
        made.certificate.shares[0].mechanism,
    ):
        assert html.escape(said) in text
    assert "NOT" not in text[text.index("<body>") :]


def test_a_seeded_release_is_not_for_release(synthetic: str) -> None:
    assert "NOT FOR RELEASE" in synthetic


def test_without_a_certificate_nothing_is_promised() -> None:
    plan, _, found = released("laplace")
    text = as_page(found, plan)
    assert "No certificate lies beside this release" in text
    assert "No certificate was found beside the release." in text


def test_relative_errors_have_a_section_where_rows_belong_together_only(synthetic: str, published: str) -> None:
    assert 'id="rows"' not in synthetic and "Relative error</th>" not in synthetic
    assert 'id="rows"' in published and "Relative error</th>" in published


def test_a_certificate_of_another_file_is_called_out(tmp_path: Path) -> None:
    plan, made, found = written(tmp_path)
    (tmp_path / "out" / "release.csv").write_text("something else")
    text = as_page(found, plan, made.certificate, made=reproduction([("release", tmp_path / "out" / "release.csv")]))
    assert "The certificate belongs to another file" in text


def test_a_plan_that_was_changed_since_is_called_out(tmp_path: Path) -> None:
    plan, made, found = written(tmp_path)
    same = reproduction([("release", tmp_path / "out" / "release.csv")])
    assert "other settings than this plan" not in as_page(found, plan, made.certificate, made=same)
    assert "other settings than this plan" in as_page(found, plan.with_(epsilon=2), made.certificate, made=same)


def written(folder: Path) -> tuple[Plan, Release, object]:
    table = pa.table({"a": list(range(50)), "b": [value % 7 for value in range(50)]})
    pyarrow.csv.write_csv(table, folder / "table.csv")
    plan = Plan.parse(plan_text({"a": integer(100), "b": integer(10)}))
    made = release(folder / "table.csv", plan, out=folder / "out")
    return plan, made, evaluate(folder / "table.csv", folder / "out", plan)


def test_one_column_makes_a_page_without_pairs_or_groups() -> None:
    plan = Plan.parse(plan_text({"a": integer(1000)}))
    found = evaluate(pa.table({"a": [1, 2, 500]}), pa.table({"a": [1, 2, 900]}), plan)
    text = as_page(found, plan)
    assert "There is one column, so there are no pairs." in text
    assert "nothing to compare inside a group" in text


# Figures


def check_figures(text: str, found: dict[str, object]) -> set[str]:
    """Every figure of the page is the JSON's, and what is shown is that figure rounded. Gives back their paths."""
    figures = Reader(text).figures
    for path, value, shown in figures:
        expected = look_up(found, path)
        assert float(value) == expected, path
        if shown.endswith("%"):
            assert shown == render.percent(expected), path
        else:
            places = len(shown.partition(".")[2])
            rounded = float(shown.replace("−", "-"))
            step = 10**-places
            assert expected - step < rounded <= expected + step / 2 + 1e-12, path
    return {path for path, _, _ in figures}


def test_page_and_json_of_one_run_hold_the_same_figures(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "plan.toml").write_text(plan_text({"a": integer(100), "b": integer(10)}))
    ran = cli("evaluate", "table.csv", "out", "--plan", "plan.toml", "--json", "--html", "page.html")
    assert ran.code == 0
    paths = check_figures((tmp_path / "page.internal.html").read_text(), json.loads(ran.out))
    averages = {"total_variation", "jsd", "wasserstein", "variance_change", "pair_total_variation", "queries.mean"}
    assert averages <= paths
    assert {f"columns.{place}.{name}" for place in (0, 1) for name in ("jsd", "total_variation", "chance")} <= paths


def test_a_figure_that_differs_from_the_json_is_caught() -> None:
    text = '<data value="0.25" data-of="jsd">0.2500</data>'
    assert check_figures(text, {"jsd": 0.25}) == {"jsd"}
    with pytest.raises(AssertionError):
        check_figures(text, {"jsd": 0.26})
    with pytest.raises(AssertionError):
        check_figures(text.replace("0.2500", "0.2400"), {"jsd": 0.25})


@pytest.mark.parametrize("method", ["synthetic", "published:individual-ranking"])
def test_figures_of_every_kind_of_column_agree(method: str) -> None:
    plan, made, found = released(method, k=20)
    paths = check_figures(as_page(found, plan, made.certificate), json.loads(found.to_json()))
    assert {f"columns.{place}.jsd" for place in range(9)} <= paths
    assert {"scores.0.value", "distributions.1.spike.before", "subgroups.0.error"} <= paths
    assert any(path.startswith("pairs.") and path.endswith("released_correlation") for path in paths)


# Command line


def test_the_file_name_always_says_internal_and_progress_goes_to_standard_error(cli: Cli, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "plan.toml").write_text(plan_text({"a": integer(100), "b": integer(10)}))
    ran = cli("evaluate", "table.csv", "out", "--plan", "plan.toml", "--html", "page.html")
    assert "Wrote page.internal.html" in ran.out
    assert "... drawing charts" in ran.err and "drawing" not in ran.out
    assert not (tmp_path / "page.html").exists()
    text = (tmp_path / "page.internal.html").read_text()
    assert "rankveil evaluate table.csv out --plan plan.toml --html page.html" in text
    assert plan_text({"a": integer(100), "b": integer(10)}) in html.unescape(text)
    for name in ("table.csv", "out/release.csv", "out/certificate.json", "plan.toml"):
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() in text
    assert str(tmp_path) not in text
    quiet = cli("evaluate", "table.csv", "out", "--plan", "plan.toml", "--quiet")
    assert quiet.err == ""


@pytest.mark.parametrize("library", ["vl_convert", "jinja2"])
def test_a_missing_extra_is_named_before_anything_is_measured(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    written(tmp_path)
    (tmp_path / "plan.toml").write_text(plan_text({"a": integer(100), "b": integer(10)}))
    monkeypatch.setitem(sys.modules, library, None)
    render.environment.cache_clear()
    ran = cli("evaluate", "table.csv", "out", "--plan", "plan.toml", "--html", "page.html")
    assert ran.code == 2
    assert "rankveil[report]" in ran.err
    assert "measuring" not in ran.err
    assert not list(tmp_path.glob("page*"))


def test_without_a_learner_the_page_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("sklearn", "sklearn.ensemble", "sklearn.metrics"):
        monkeypatch.setitem(sys.modules, part, None)
    table = pa.table({"a": list(range(50)), "b": [value % 7 for value in range(50)]})
    plan = Plan.parse(plan_text({"a": integer(100), "b": integer(10)}))
    found = evaluate(table, table, plan, target="b", test=table)
    models = as_page(found, plan)
    models = models[models.index('id="models"') :]
    assert models.count("Not measured: a learner is needed.") == 2
    assert "rankveil[evaluate]" in models


# Size


def test_the_page_of_a_table_with_thirty_columns_stays_below_two_megabytes() -> None:
    columns = {f"number {place}": integer(1000) for place in range(30)}
    rows = {name: [(17 * row * (place + 3)) % 1000 for row in range(300)] for place, name in enumerate(columns)}
    plan = Plan.parse(plan_text(columns))
    made = release(pa.table(rows), plan)
    text = as_page(evaluate(pa.table(rows), made.table, plan), plan, made.certificate)
    assert len(text.encode()) < 2_000_000


def test_the_page_of_adult_stays_below_two_megabytes(cli: Cli, tmp_path: Path) -> None:
    examples = Path(__file__).parents[3] / "examples"
    plan, table = examples / "adult.toml", examples / "adult.csv.gz"
    assert cli("release", table, "--plan", plan, "--out", "out", "--quiet").code == 0
    ran = cli("evaluate", table, "out", "--plan", plan, "--html", "adult.internal.html")
    assert ran.code == 0
    assert (tmp_path / "adult.internal.html").stat().st_size < 2_000_000
