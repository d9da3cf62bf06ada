"""Charts of results: what they show, what they say of themselves, and how they are saved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rankveil as rv
from rankveil.errors import MissingExtraError, OutputError, PlanError
from rankveil.noise import SeededSource
from rankveil.report.charts import draw

pytest.importorskip("vl_convert")

PLAN = rv.Plan(
    release={"epsilon": 4, "expected_rows": 400},
    columns={
        "age": {"kind": "integer", "lower": 0, "upper": 99, "null": True},
        "sex": {"kind": "category", "categories": ["f", "m"]},
        "born": {"kind": "date", "lower": "1900-01-01", "upper": "2020-12-31"},
    },
)
PEOPLE = pd.DataFrame(
    {
        "age": [None if place % 9 == 0 else place % 80 for place in range(400)],
        "sex": ["fm"[place % 3 % 2] for place in range(400)],
        "born": pd.date_range("1930-01-01", periods=400, freq="30D"),
    }
)


@pytest.fixture(scope="module")
def evaluation() -> rv.Evaluation:
    return rv.evaluate(PEOPLE, rv.release(PEOPLE, PLAN, source=SeededSource(1)).table, PLAN)


@pytest.fixture(scope="module")
def comparison() -> rv.Comparison:
    return rv.compare(PEOPLE, PLAN, epsilons=[1, 4], runs=2, source=SeededSource(1))


def figures_of(evaluation: rv.Evaluation, comparison: rv.Comparison) -> dict[str, rv.Figure]:
    kinds = ("columns", "pairs", "correlations", "queries", "groups")
    made = rv.release(PEOPLE, PLAN, replicates=20, source=SeededSource(2))
    return {
        **{f"evaluation of {what}": evaluation.plot(what=what) for what in kinds},  # type: ignore[arg-type]
        "evaluation of one": evaluation.plot("age"),
        "preview": rv.preview(PLAN).plot(),
        "preview of aligned": rv.preview(PLAN.with_(method="aligned")).plot(),
        "comparison": comparison.plot(),
        "comparison at one ε": rv.compare(None, PLAN, stand_in="made", runs=1, baselines=False).plot("jsd"),
        "estimates": rv.estimate(made, "mean(age) by sex").plot(),
    }


def test_every_result_draws_a_chart_that_says_what_it_is(evaluation: rv.Evaluation, comparison: rv.Comparison) -> None:
    for name, figure in figures_of(evaluation, comparison).items():
        assert draw(figure.spec) is not None, name
        svg = figure.svg()
        assert "<svg" in svg and "could not be drawn" not in svg, name
        assert figure.title.split()[0] in svg, name
        internal = name.startswith("evaluation") or name == "comparison"
        assert figure.internal == internal, name
        assert svg.splitlines()[0] == f"<!-- {figure.note} -->", name
        assert ("INTERNAL" in svg) == internal, name
        assert repr(figure) == f"Figure: {figure.title}"
        assert figure._repr_svg_().startswith("<!-- ")


def test_figures_of_the_chart_are_those_of_the_result(evaluation: rv.Evaluation, comparison: rv.Comparison) -> None:
    (panel,) = evaluation.plot("sex").spec["concat"]
    bars = next(each for each in evaluation.distributions if each.column == "sex").bars
    assert [(v["label"], v["before"], v["after"]) for v in panel["data"]["values"]] == [
        (bar.label, bar.before, bar.after) for bar in bars
    ]
    drawn = {(value["method"], value["epsilon"]): value["mean"] for value in comparison.plot().spec["data"]["values"]}
    for setting in comparison.settings:
        if setting.differentially_private:
            key = (setting.method, float(setting.epsilon or 0))
            assert drawn[key] == setting.mean["pair_total_variation"]
    budget, noise = rv.preview(PLAN).plot().spec["vconcat"]
    assert sum(value["share"] for value in budget["data"]["values"]) == pytest.approx(1)
    assert [value["answer"] for value in noise["data"]["values"]] == [
        each.answer for each in rv.preview(PLAN).expectations
    ]


def test_a_plot_shows_missing_values_and_columns_that_are_named(evaluation: rv.Evaluation) -> None:
    figure = evaluation.plot("age", "born")
    assert [panel["title"]["text"] for panel in figure.spec["concat"]] == ["age", "born"]
    assert figure.spec["concat"][0]["title"]["subtitle"][0].startswith("missing: 11.2 % before")


def test_a_table_of_many_columns_says_how_many_are_left_out() -> None:
    wide = pd.DataFrame({f"c{place:02}": [place % 2 == row % 2 for row in range(60)] for place in range(30)})
    plan = rv.Plan(release={"epsilon": 9}, columns={name: {"kind": "boolean"} for name in wide})
    figure = rv.evaluate(wide, wide, plan).plot()
    assert len(figure.spec["concat"]) == 24
    assert "6 more columns" in figure.spec["title"]["subtitle"][0]


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "PNG"])
def test_saved_figures_are_whole_files_and_internal_ones_say_so(
    suffix: str, evaluation: rv.Evaluation, tmp_path: Path
) -> None:
    saved = evaluation.plot("age").save(tmp_path / f"age.{suffix}")
    assert saved.name == f"age.internal.{suffix}"
    public = rv.preview(PLAN).plot().save(tmp_path / "deep" / f"noise.{suffix}")
    assert public.name == f"noise.{suffix}"
    start = {"png": b"\x89PNG", "svg": b"<!-- INTERNAL", "html": b"<!-- INTERNAL"}[suffix.lower()]
    assert saved.read_bytes().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == [saved.name, "deep"]


def test_a_page_loads_nothing_and_has_no_script(tmp_path: Path) -> None:
    text = rv.preview(PLAN).plot().save(tmp_path / "noise.html").read_text(encoding="utf-8")
    assert "default-src &#39;none&#39;" in text and "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("name", ["age.pdf", "age", "age.txt"])
def test_other_kinds_of_files_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="SVG, PNG or a page"):
        rv.preview(PLAN).plot().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_plotted_is_refused_with_what_can(evaluation: rv.Evaluation, comparison: rv.Comparison) -> None:
    refusals: list[tuple[Any, str]] = [
        (lambda: evaluation.plot("height"), "no column 'height'"),
        (lambda: evaluation.plot(what="mood"), "no plot of 'mood'"),
        (lambda: evaluation.plot("age", what="pairs"), "for the plot of columns only"),
        (lambda: comparison.plot("beauty"), "no measure 'beauty'"),
    ]
    for refused, said in refusals:
        with pytest.raises(PlanError, match=said) as error:
            refused()
        assert error.value.remedy


def test_without_the_extra_a_plot_says_what_to_install(
    evaluation: rv.Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match="optional part 'report'"):
        evaluation.plot()
