"""How objects show themselves in notebooks: with what holds, escaped, and never with rows of the original."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rankveil import METHODS, Plan, evaluate, release
from rankveil.fragments import STYLE, fragment
from rankveil.noise import SeededSource
from tests.support import category, integer, plan_text

ROWS = {"a": [11, 222, 3333, 44444], "b": ["x", "y", "x", "<i>z</i>"]}
COLUMNS = {"a": integer(99_999), "b": category(["x", "y", "<i>z</i>"])}
PLAN = Plan.parse(plan_text(COLUMNS, k=2))


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_release_shows_its_certificate_and_first_protected_rows(kind: type) -> None:
    made = release(kind(ROWS), PLAN)
    text = made._repr_html_()
    rows = made.table.to_pydict() if kind is pa.table else {name: list(made.table[name]) for name in ROWS}
    assert all(f"<td>{value}</td>" in text for value in rows["a"])
    assert "ε = 1" in text and made.certificate.theorems[0].title in text
    assert text.count("<tr>") == 1 + len(rows["a"])


def test_labels_are_escaped() -> None:
    made = release(pa.table({"a": [1] * 200, "b": ["<i>z</i>"] * 200}), Plan.parse(plan_text(COLUMNS, epsilon="20")))
    text = made._repr_html_()
    assert "&lt;i&gt;z&lt;/i&gt;" in text
    assert "<i>" not in text


def test_a_release_in_a_folder_names_the_folder_and_not_its_path(tmp_path: object) -> None:
    made = release(pa.table(ROWS), PLAN, out=f"{tmp_path}/2031-q1")
    text = made._repr_html_()
    assert "Release in 2031-q1/" in text
    assert str(tmp_path) not in text
    assert "<table>" not in text


@pytest.mark.parametrize("name", METHODS)
def test_certificates_warn_where_nothing_holds(name: str) -> None:
    certificate = release(pa.table(ROWS), PLAN.with_(method=name), accept_no_guarantee=True).certificate
    text = certificate._repr_html_()
    assert ("NOT differentially private: nobody" in text) == (not METHODS[name].differentially_private)
    assert ('class="rv-warning"' in text) == (not METHODS[name].differentially_private)


def test_a_seeded_release_warns() -> None:
    assert "NOT FOR RELEASE" in release(pa.table(ROWS), PLAN, source=SeededSource(1))._repr_html_()


def test_a_plan_shows_its_public_domains() -> None:
    text = Plan.parse(plan_text(COLUMNS | {"c": 'kind = "drop"', "d": 'kind = "boolean"\nnull = true'}))._repr_html_()
    for said in ("0 to 99999", "3 labels", "not released", "true, false", "a value", "refused"):
        assert said in text


def test_a_plan_does_not_show_what_was_guessed_from_the_data() -> None:
    drafted = Plan.parse(plan_text({"a": integer(98_765, more='unconfirmed = ["upper"]')}))
    text = drafted._repr_html_()
    assert "98765" not in text
    assert "guessed from the data: upper" in text
    assert "INTERNAL" in text


def test_an_evaluation_says_that_it_is_internal_and_shows_averages_only() -> None:
    text = evaluate(pa.table(ROWS), pa.table(ROWS), PLAN)._repr_html_()
    assert "INTERNAL: computed from the original" in text
    assert "Single columns" in text and "1-way TV" in text
    assert not any(str(value) in text for value in ROWS["a"])


def test_styles_hold_inside_the_piece_only_and_take_the_notebooks_colours() -> None:
    rules = re.findall(r"^(\.[^{]*|[^\s{][^{]*)\{", STYLE, flags=re.MULTILINE)
    selectors = [selector.strip() for rule in rules for selector in rule.split(",")]
    assert selectors and all(selector.startswith(".rankveil") for selector in selectors)
    assert "background: #" not in STYLE and " color: #" not in STYLE
    assert fragment("<x>").count("<div") == 1 and "&lt;x&gt;" in fragment("<x>")


def test_a_release_that_is_a_spark_frame_is_shown_without_computing_its_rows() -> None:
    class DataFrame:  # anything asked of it but its type would be an error
        __module__ = "pyspark.sql.classic.dataframe"

    made = release(pa.table(ROWS), PLAN)
    assert "ε = 1" in replace(made, table=DataFrame())._repr_html_()


def test_a_kept_model_and_its_tables_show_what_was_measured() -> None:
    made = release(pa.table(ROWS), PLAN.with_(method="synthetic"), keep_model=True, source=SeededSource(1))
    assert made.model is not None
    assert "NOT FOR RELEASE" in made.model._repr_html_()
    assert repr(made.model) == f"Model of {made.certificate.rows} rows and {len(made.certificate.columns)} columns"
    assert "measured: noisy counts" in made.model.table([made.certificate.columns[0].name])._repr_html_()
