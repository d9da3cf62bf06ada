"""Comparisons: what is run, what is said about it, what is kept, and what is not touched."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.compare import Cell, Comparison, Progress
from rankveil.compare.grid import RESAMPLED, cells_of
from rankveil.compare.held import read
from rankveil.compare.results import INTERNAL, Row
from rankveil.compare.run import MEASURES, Measured
from rankveil.compare.sweep import usual_methods
from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.errors import PlanError
from rankveil.measure.budget import Budget
from rankveil.measure.counts import count_columns
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.report.compare import page
from tests.support import category, files_in, integer, plan_text

COLUMNS = {"age": integer(99), "pay": integer(5000), "job": category(["a", "b", "c"])}
FILES = ["compare.internal.csv", "compare.internal.html", "compare.internal.json", "compare.internal.jsonl"]


def the_plan(**settings: object) -> Plan:
    return Plan.parse(plan_text(COLUMNS, **settings))  # type: ignore[arg-type]


def people(rows: int = 300, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    return pa.table({"age": age, "pay": age * 40 + rng.integers(0, 1000, rows), "job": rng.choice(list("abc"), rows)})


# What is run


def test_k_is_varied_for_methods_that_form_clusters_and_epsilon_for_those_that_use_one() -> None:
    cells = cells_of(
        the_plan(), ["synthetic", "unlinked", "published:mdav"], ["1", "0.1"], [5, 2], None, 2, baselines=False
    )
    settings = {(cell.method, cell.epsilon, cell.k) for cell in cells}
    assert settings == {
        ("synthetic", "0.1", None), ("synthetic", "1", None),
        *(("unlinked", epsilon, k) for epsilon in ("0.1", "1") for k in (2, 5)),
        ("published:mdav", None, 2), ("published:mdav", None, 5),
    }  # fmt: skip
    assert sum(cell.method == "published:mdav" for cell in cells) == 2, "what draws nothing is run once"


def test_baselines_are_added_once_and_a_delta_goes_to_methods_that_know_one() -> None:
    cells = cells_of(the_plan(), ["synthetic", "laplace"], ["1"], [3], "1e-9", 1, baselines=True)
    assert [(cell.method, cell.role) for cell in cells] == [
        ("synthetic", "asked"),
        ("laplace", "asked"),
        ("published:ranking", "baseline"),
        (RESAMPLED, "baseline"),
    ]
    assert [cell.delta for cell in cells] == ["0.000000001", None, None, None]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": ["nonsense"]}, "no method 'nonsense'"),
        ({"methods": []}, "No method"),
        ({"epsilons": ["many"]}, "no ε"),
        ({"epsilons": [-1]}, "no ε"),
        ({"epsilons": ["1e99"]}, "epsilon"),
        ({"methods": ["unlinked"]}, "no k is given"),
        ({"methods": ["unlinked"], "ks": [0]}, "less than 1"),
        ({"runs": 0}, "0 runs"),
        ({"target": "job"}, "test table"),
        ({"delta": "2", "methods": ["synthetic"]}, "delta"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_the_table_is_opened(change: dict, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(PlanError, match=words):
        rv.compare("no-such-table.csv", the_plan(), **change)


def test_codes_kept_in_memory_give_the_same_statistics_as_passes_over_the_table() -> None:
    plan, table = the_plan(), open_table(people())
    streamed, kept = Dataset(declare(plan, table), table), read(people(), plan)
    columns = streamed.schema.columns
    first, second = (count_columns(dataset, columns)[0] for dataset in (streamed, kept))
    assert all((first[name].per_cell == second[name].per_cell).all() for name in COLUMNS)


def test_every_method_can_be_compared_and_every_measure_that_fits_it_is_there() -> None:
    found = rv.compare(people(60), the_plan(k=5), methods=list(METHODS), epsilons=["2"], runs=1)
    by_method = {row.cell.method: row.finding for row in found.rows}
    assert set(by_method) == {*METHODS, RESAMPLED}
    for method, finding in by_method.items():
        assert finding.failed == ""
        fits = (
            set(MEASURES)
            - {"learning"}
            - (set() if by_method[method].measures["relative_error"] else {"relative_error"})
        )
        assert {name for name, value in finding.measures.items() if value is not None} == fits
    assert by_method["laplace"].measures["relative_error"] is not None
    assert by_method["synthetic"].measures["relative_error"] is None


def test_a_learner_is_taught_by_every_release_if_a_target_is_given() -> None:
    pytest.importorskip("sklearn")
    found = rv.compare(
        people(200), the_plan(), methods=["synthetic"], runs=1, target="job", test=people(100, seed=2), baselines=False
    )
    assert found.rows[0].finding.measures["learning"] is not None
    assert "learning" in found.measured


def test_a_column_that_finds_its_own_bounds_is_measured_on_the_originals_scale() -> None:
    plan = Plan.parse(
        plan_text({"pay": 'kind = "integer"\nbounds = "private"', "job": COLUMNS["job"]}, method="synthetic")
    )
    found = rv.compare(people(3000).drop(["age"]), plan, methods=["synthetic"], epsilons=["50"], runs=1)
    error = found.settings[0].mean["total_variation"]
    assert error is not None
    assert error < 0.1


def test_a_setting_that_cannot_be_run_is_shown_as_failed_and_the_others_go_on() -> None:
    found = rv.compare(people(20), the_plan(), methods=["synthetic", "unlinked"], ks=[50], runs=1, baselines=False)
    failed = {row.cell.method: row.finding.failed for row in found.rows}
    assert failed["synthetic"] == ""
    assert "k = 50 is more than the 20 values" in failed["unlinked"]
    assert "Could not be run" in page(found.as_dict())
    assert [setting.method for setting in found.settings] == ["synthetic"]


# Nothing is published, spent or kept


def test_no_ledger_is_touched_and_no_row_is_kept(tmp_path: Path, ledger_of_this_test: Path) -> None:
    rv.compare(people(), the_plan(), methods=["synthetic", "laplace"], runs=1, out=tmp_path / "out")
    assert not ledger_of_this_test.exists()
    assert files_in(tmp_path) == [f"out/{name}" for name in FILES]
    lines = (tmp_path / "out" / "compare.internal.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(set(json.loads(line)) == {"key", "cell", "finding"} for line in lines[1:])
    assert all(set(json.loads(line)["finding"]) == {"measures", "seconds", "linkage", "failed"} for line in lines[1:])


def test_first_lines_say_that_results_are_internal_and_why(tmp_path: Path) -> None:
    rv.compare(people(), the_plan(), methods=["laplace"], runs=1, out=tmp_path)
    for name in FILES:
        beginning = (tmp_path / name).read_text(encoding="utf-8")[:300].split("\n}")[0]
        assert "INTERNAL: computed from the original table" in beginning
        assert ".internal" in name
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, "readable by the owner only"
    assert "leaks a little" in INTERNAL


# Stand-ins


def test_with_a_stand_in_the_table_is_not_opened_and_everything_says_so(tmp_path: Path) -> None:
    found = rv.compare(tmp_path / "no-such-table.csv", the_plan(), stand_in=people(), runs=1, out=tmp_path / "out")
    assert "said to be public" in found.table["stand_in"]
    assert "stand-in" in found.note
    assert "INTERNAL" not in found.note
    text = (tmp_path / "out" / "compare.internal.html").read_text(encoding="utf-8")
    assert "Computed on a stand-in" in text.splitlines()[0]
    assert "said to be public" in text
    assert "stand-in" in (tmp_path / "out" / "compare.internal.csv").read_text(encoding="utf-8").splitlines()[0]


def test_a_made_table_comes_from_the_plan_alone_and_is_the_same_every_time() -> None:
    plan = the_plan().with_(expected_rows=700)
    first, second = (rv.compare(None, plan, stand_in="made", methods=["laplace"], ks=[7], runs=1) for _ in range(2))
    assert first.table == {"name": "made from the plan", "rows": 700, "columns": 3,
                           "stand_in": "made from the plan alone; no data were read"}  # fmt: skip
    ranked = [  # without noise, so that only the table could make a difference
        next(row.finding.measures for row in found.rows if row.cell.method == "published:ranking")
        for found in (first, second)
    ]
    assert ranked[0] == ranked[1]
    with pytest.raises(PlanError, match="No table"):
        rv.compare(None, plan)


def test_a_made_table_fills_every_kind_of_column_inside_its_domain_with_mild_dependence() -> None:
    from rankveil.compare.stand_in import made_table
    from rankveil.declare.domain import MISSING
    from rankveil.evaluate.distances import rank_correlations

    entries = {
        **COLUMNS,
        "born": 'kind = "date"\nlower = 1950-01-01\nupper = 2020-12-31',
        "gain": integer(99_999, more='scale = "log"\nnull = true'),
        "level": 'kind = "ordinal"\ncategories = ["low", "mid", "high"]',
        "member": 'kind = "boolean"',
        "wealth": 'kind = "integer"\nbounds = "private"',
    }
    text = plan_text(entries, method="synthetic") + '[[impossible]]\njob = "a"\nlevel = "high"\n'
    records = made_table(Plan.parse(text).with_(expected_rows=4000))
    assert records.row_count == 4000
    for column in records.schema.columns:
        codes = records.codes[column.name]
        size = getattr(column.domain, "width", None)
        top = size if size is not None else column.domain.label_count - 1  # type: ignore[union-attr]
        assert codes.min() >= (MISSING if column.allows_null else 0)
        assert codes.max() <= top
        assert len(np.unique(codes)) > 1
    assert not np.any((records.codes["job"] == 0) & (records.codes["level"] == 2))
    matrix = rank_correlations([records.codes[name] for name in ("age", "pay", "born")])
    assert 0.2 < matrix[0, 1] < 0.4
    assert 0.2 < matrix[1, 2] < 0.4


# Going on


def test_finished_cells_are_not_computed_again_and_a_wider_grid_adds_to_them(tmp_path: Path) -> None:
    steps: list[Progress] = []
    first = rv.compare(people(), the_plan(), methods=["laplace"], epsilons=["1"], runs=2, out=tmp_path)
    wider = rv.compare(
        people(), the_plan(), methods=["laplace"], epsilons=["1", "2"], runs=2, out=tmp_path, progress=steps.append
    )
    assert {step.cell.epsilon for step in steps} == {"2"}
    assert [step.done for step in steps] == [4, 5]
    assert steps[0].total == 6
    assert steps[0].seconds_left is not None
    known = {row.cell: row.finding for row in first.rows}
    assert all(known[row.cell] == row.finding for row in wider.rows if row.cell in known)


def test_a_line_cut_off_by_a_kill_is_dropped_and_its_cell_computed_again(tmp_path: Path) -> None:
    first = rv.compare(people(), the_plan(), methods=["laplace"], runs=2, out=tmp_path)
    journal = tmp_path / "compare.internal.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-20])
    steps: list[Progress] = []
    again = rv.compare(people(), the_plan(), methods=["laplace"], runs=2, out=tmp_path, progress=steps.append)
    assert len(steps) == 1
    assert [row.cell for row in again.rows] == [row.cell for row in first.rows]
    assert journal.read_bytes().count(b"\n") == content.count(b"\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"table": people(seed=2)}, "the table has changed"),
        ({"plan": Plan.parse(plan_text({**COLUMNS, "age": integer(100)}))}, "the plan's columns have changed"),
        ({"stand_in": people()}, "another table"),
        ({"target": "job", "test": people()}, "test table or the target"),
    ],
)
def test_a_folder_of_another_comparison_is_refused_and_left_alone(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    rv.compare(people(), the_plan(), methods=["laplace"], runs=1, out=tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    given: dict[str, object] = {"table": people(), "plan": the_plan(), "methods": ["laplace"], "runs": 1} | change
    with pytest.raises(PlanError, match=words) as refused:
        rv.compare(given.pop("table"), given.pop("plan"), out=tmp_path, **given)  # type: ignore[arg-type]
    assert "left alone" in refused.value.cost
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == before


def test_another_version_of_rankveil_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rv.compare(people(), the_plan(), methods=["laplace"], runs=1, out=tmp_path)
    monkeypatch.setattr(sys.modules["rankveil.compare.sweep"], "__version__", "99")
    with pytest.raises(PlanError, match="another version"):
        rv.compare(people(), the_plan(), methods=["laplace"], runs=1, out=tmp_path)


def test_a_file_that_is_no_journal_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "compare.internal.jsonl").write_text("my notes\n", encoding="utf-8")
    with pytest.raises(PlanError, match="not a comparison's"):
        rv.compare(people(), the_plan(), methods=["laplace"], runs=1, out=tmp_path)
    assert (tmp_path / "compare.internal.jsonl").read_text(encoding="utf-8") == "my notes\n"


# What is said


def found_with(figures: dict[str, tuple[str, list[float]]]) -> Comparison:
    """A comparison at ε = 1 with given 2-way errors: name -> (method, one error per run)."""
    rows = [
        Row(
            Cell(method, "1", None, None, run),
            Measured({**dict.fromkeys(MEASURES), "pair_total_variation": error}, 0.1),
        )
        for method, errors in figures.values()
        for run, error in enumerate(errors, start=1)
    ]
    return Comparison(INTERNAL, {"name": "t", "rows": 9, "columns": 2, "stand_in": ""}, "0", None, tuple(rows))


def test_the_best_is_the_least_mean_among_methods_with_a_guarantee() -> None:
    found = found_with({
        "p": ("published:ranking", [0.01, 0.01]),
        "s": ("synthetic", [0.1, 0.12]),
        "l": ("laplace", [0.8, 0.9]),
    })  # fmt: skip
    best = found.best(epsilon=1)
    assert best is not None
    assert (best.setting.method, best.runner_up and best.runner_up.method, best.clear) == ("synthetic", "laplace", True)
    assert "synthetic: 0.110 ± 0.0141; next is laplace" in best.in_words()
    loose = found.best(sound_only=False)
    assert loose is not None
    assert loose.setting.method == "published:ranking"
    assert found.best(epsilon=7) is None


def test_settings_that_runs_do_not_tell_apart_are_called_too_close() -> None:
    close = found_with({"s": ("synthetic", [0.1, 0.2, 0.15]), "l": ("laplace", [0.16, 0.12, 0.2])}).best()
    assert close is not None
    assert close.clear is False
    assert "too close to tell" in close.in_words()
    tight = {"s": ("synthetic", [0.1, 0.1001]), "l": ("laplace", [0.1004, 0.1005])}
    two = found_with(tight).best()
    assert two is not None
    assert two.clear is False, "two runs that happen to agree prove little"
    single = found_with({"s": ("synthetic", [0.1]), "l": ("laplace", [0.2])})
    best = single.best()
    assert best is not None
    assert best.clear is None
    assert any("One run per setting" in text for text in single.in_words())


def test_json_and_csv_give_back_what_was_found(tmp_path: Path) -> None:
    found = rv.compare(people(), the_plan(k=5), methods=["synthetic", "unlinked"], runs=2, out=tmp_path)
    stored = json.loads((tmp_path / "compare.internal.json").read_text(encoding="utf-8"))
    assert next(iter(stored)) == "note"
    assert Comparison.from_dict(stored) == found
    assert Comparison.from_dict(stored).to_csv() == (tmp_path / "compare.internal.csv").read_text(encoding="utf-8")
    comment, *lines = found.to_csv().splitlines()
    assert comment.startswith("# INTERNAL")
    read_back = list(csv.DictReader(io.StringIO("\n".join(lines))))
    assert len(read_back) == len(found.rows)
    for line, row in zip(read_back, found.rows, strict=True):
        assert (line["method"], line["epsilon"], line["k"]) == (
            row.cell.method, row.cell.epsilon or "", str(row.cell.k or ""))  # fmt: skip
        for name in found.measured:
            value = row.finding.measures[name]
            assert line[name] == "" if value is None else float(line[name]) == value


def test_the_page_needs_nothing_else_and_agrees_with_the_json(tmp_path: Path) -> None:
    found = rv.compare(people(), the_plan(), methods=["synthetic", "unlinked"], epsilons=["1", "5"], ks=[3, 9], runs=2)
    text = page(found.as_dict())
    assert len(text.encode()) < 2 << 20
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; style-src 'sha256-")
    assert not re.search(r"<script|<link|<img|<iframe|url\(|@import|https?://|\sstyle=|\son\w+=", text)
    for setting in found.settings:
        mean = setting.mean["pair_total_variation"]
        assert mean is not None
        assert f"{mean:.4f}" in text
    assert text.count('class="lines"') == len(found.measured) + 4 * 2
    for words in ("What is best", "Error against ε", "Error against k", "small leak", "drawn again"):
        assert words in text


def test_names_cannot_smuggle_markup_into_the_page() -> None:
    found = rv.compare(people(), the_plan(), methods=["laplace"], runs=1)
    content = found.as_dict()
    content["table"]["name"] = "<script>alert(1)</script>"
    assert "<script" not in page(content)


def test_a_notebook_shows_what_is_best_and_the_means() -> None:
    shown = rv.compare(people(), the_plan(), methods=["laplace"], runs=1)._repr_html_()
    assert "INTERNAL" in shown
    assert "<table>" in shown


def test_rows_come_from_the_systems_generator_unless_a_test_gives_another() -> None:
    settings: dict[str, Callable[[], object]] = {"source": lambda: SeededSource(1)}
    first, second = (
        rv.compare(people(), the_plan(), methods=["laplace"], runs=1, source=settings["source"]())
        .rows[0]
        .finding.measures  # type: ignore[arg-type]
        for _ in range(2)
    )
    assert first == second
    third, fourth = (
        rv.compare(people(), the_plan(), methods=["laplace"], runs=1).rows[0].finding.measures for _ in range(2)
    )
    assert third != fourth


def test_a_release_and_a_comparison_take_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[str, Fraction]] = []
    plain = METHODS["laplace"]

    def noted(step: str) -> Callable[[Any, Budget, Any], Any]:
        def call(given: Any, budget: Budget, source: Any) -> Any:
            taken.append((step, budget.epsilon))
            return getattr(plain, step)(given, budget, source)

        return call

    monkeypatch.setitem(METHODS, "laplace", replace(plain, protect=noted("protect"), rows=noted("rows")))
    plan = the_plan()
    rv.release(people(), plan.with_(method="laplace"), source=SeededSource(1))
    rv.compare(people(), plan, methods=["laplace"], runs=1, baselines=False)
    assert taken == 2 * [(step, Fraction(plan.release.epsilon)) for step in ("protect", "rows")]


def test_where_no_method_is_named_those_are_compared_that_the_plan_goes_with() -> None:
    plain = Plan.parse('[release]\nepsilon = 1\n[columns.age]\nkind = "integer"\nlower = 0\nupper = 9\n')
    special = plain.model_dump()
    special["columns"]["age"]["special"] = [99]
    assert usual_methods(plain) == ["synthetic", "laplace"]
    assert usual_methods(Plan.from_dict(special)) == ["synthetic"]
