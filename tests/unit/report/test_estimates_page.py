"""Estimates as a page, in a notebook and in an evaluation: bands, the same figures everywhere, and no markup let in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import rankveil as rv
from rankveil.evaluate.results import INTERNAL
from rankveil.noise import SeededSource
from rankveil.report.estimates import as_page, drawn, of_estimates
from rankveil.report.evaluation import as_page as evaluation_page
from tests.report_cases import EVIL, plan, table
from tests.support import Ran, plan_text

Cli = Callable[..., Ran]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    pacsv.write_csv(table(), folder / "people.csv")
    rv.release(folder / "people.csv", plan(), out=folder / "out", source=SeededSource(5), replicates=10)
    return folder


def test_a_page_of_estimates_has_every_figure_and_a_band_for_each(place: Path) -> None:
    found = rv.estimate(place / "out", "mean(age) by level")
    text = as_page(found)
    for name, *figures, _ in found.lines():
        assert name in text
        assert all(figure in text for figure in figures)
    assert "(internal)" not in text and "No original was read" in text
    spec = of_estimates(found)
    assert [value["name"] for value in spec["data"]["values"]] == [one.name for one in found.each]
    assert [value["low"] for value in spec["data"]["values"]] == [one.low for one in found.each]


def test_charts_of_dates_have_an_axis_of_dates() -> None:
    days = np.array([one % 5000 for one in range(0, 30000, 37)]).astype("datetime64[D]")
    dated = rv.Plan.parse(plan_text({"day": 'kind = "date"\nlower = 1960-01-01\nupper = 2000-12-31'}, epsilon="5"))
    made = rv.release(pa.table({"day": days}), dated.with_(method="synthetic"), source=SeededSource(5), replicates=10)
    found = rv.estimate(made, "median(day)")
    [[_, date, _, interval, _]] = found.lines()
    spec = of_estimates(found)
    assert spec["data"]["values"][0]["estimate"] == date
    assert {layer["encoding"]["x"]["type"] for layer in spec["layer"]} == {"temporal"}
    assert '"temporal"' in json.dumps(found.plot().spec) and date in json.dumps(found.plot().spec)
    assert "<svg" in as_page(found) and interval in as_page(found)


def test_labels_cannot_smuggle_markup_into_page_or_notebook(place: Path) -> None:
    found = rv.estimate(place / "out", "table(job)")
    for text in (as_page(found), found._repr_html_()):
        assert EVIL not in text
        assert "<svg" in text


def test_the_constant_of_a_regression_is_not_drawn_and_what_is_not_supported_is_drawn_otherwise(place: Path) -> None:
    found = rv.estimate(place / "out", "lm(age ~ level + member)")
    assert "constant" not in [one.name for one in drawn(found)]
    kinds = {value["name"]: value["kind"] for value in of_estimates(found)["data"]["values"]}
    assert all((kinds[one.name] == "measured") == one.supported for one in drawn(found))
    assert ('stroke="#c8702a"' in found._repr_html_()) == any(not one.supported for one in drawn(found))


def test_an_evaluation_says_how_many_intervals_cover_the_original(place: Path) -> None:
    found = rv.evaluate(place / "people.csv", place / "out", plan())
    said = found.intervals
    assert said is not None and said.replicates == 10
    assert {kind.kind for kind in said.kinds} == {each.kind for each in said.each}
    for kind in said.kinds:
        sure = [each for each in said.each if each.kind == kind.kind and each.supported]
        assert kind.estimates == len(sure)
        assert kind.covered is None or kind.covered == pytest.approx(sum(each.covered for each in sure) / len(sure))
    assert all(each.covered == (each.low - 1e-9 <= each.original <= each.high + 1e-9) for each in said.each)
    ages = table()["age"].to_numpy()
    [mean] = [each for each in said.each if each.asked == "mean(`age`)"]
    assert mean.original == pytest.approx(ages.mean())
    text = evaluation_page(found, plan())
    assert text.splitlines()[0] == f"<!-- {INTERNAL} -->"
    assert 'id="intervals"' in text
    assert json.loads(found.to_json())["intervals"]["kinds"][0]["covered"] == said.kinds[0].covered
    shares = re.findall(r'data-of="intervals\.kinds\.0\.covered">([^<]*)<', text)
    assert shares == [f"{100 * (said.kinds[0].covered or 0):.1f} %"]


def test_an_evaluation_of_changed_weights_says_why_it_has_no_intervals(place: Path, tmp_path: Path) -> None:
    for name in ("release.csv", "weights.csv", "certificate.json"):
        (tmp_path / name).write_bytes((place / "out" / name).read_bytes())
    (tmp_path / "weights.csv").write_text((tmp_path / "weights.csv").read_text().replace("1", "2", 1))
    found = rv.evaluate(place / "people.csv", tmp_path, plan())
    assert found.intervals is None
    assert "was changed" in found.not_measured["intervals"]
    assert "was changed" in evaluation_page(found, plan())


def test_a_release_without_weights_is_evaluated_without_intervals(place: Path) -> None:
    made = rv.release(table(), plan(), source=SeededSource(5))
    assert rv.evaluate(table(), made.table, plan()).intervals is None


def test_the_command_writes_the_page(place: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("estimate", place / "out", "mean(age) by level", "--html", "ages.html")
    assert done.code == 0, done.err
    assert "Wrote ages.html" in done.out
    assert "mean(age) by level" in (tmp_path / "ages.html").read_text()
