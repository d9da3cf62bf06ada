"""The evaluation of a whole release: what is measured, what is averaged, and how rows are known to belong together."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rankveil import Plan, evaluate, release
from rankveil.errors import PlanError, TableError
from rankveil.evaluate import measure, measure_all
from rankveil.noise import SeededSource
from tests.support import Ran, category, integer, plan_text, records_of

COLUMNS = {
    "a": integer(1000, more="null = true"),
    "b": integer(1000),
    "c": category(["x", "y"]),
    "d": category(["p", "q"], more='role = "public"'),
}
PLAN = Plan.parse(plan_text(COLUMNS))
RNG = np.random.default_rng(1)
TABLE = pa.table(
    {
        "a": [None if value > 900 else int(value) for value in RNG.integers(0, 1000, 200)],
        "b": RNG.integers(0, 1000, 200),
        "c": RNG.choice(["x", "y"], 200),
        "d": RNG.choice(["p", "q"], 200),
    }
)
Cli = Callable[..., Ran]


def test_a_perfect_copy_has_no_distance_at_all() -> None:
    found = evaluate(TABLE, TABLE, PLAN)
    distances = (
        found.relative_error,
        found.variance_change,
        found.jsd,
        found.wasserstein,
        found.total_variation,
        found.pair_total_variation,
        found.correlation_error,
        found.query_error,
    )
    assert distances == (0,) * 8
    assert found.propensity_auc == 0.5
    assert found.not_measured == {}


def test_averages_are_over_protected_columns_and_pairs_with_one_of_them() -> None:
    shuffled = TABLE.set_column(2, "c", pa.array(TABLE["c"].to_pylist()[::-1]))
    found = evaluate(TABLE, shuffled, PLAN)
    assert [result.name for result in found.columns] == ["a", "b", "c"]
    assert [pair.columns for pair in found.pairs] == [
        ("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"),
    ]  # fmt: skip
    assert found.pair_total_variation == pytest.approx(np.mean([pair.total_variation for pair in found.pairs]))
    assert found.total_variation == pytest.approx(np.mean([result.total_variation for result in found.columns]))
    changed = {pair.columns for pair in found.pairs if pair.total_variation > 0}
    assert changed == {("a", "c"), ("b", "c"), ("c", "d")}
    # Only columns with an order are correlated.
    assert [pair.columns for pair in found.pairs if pair.correlation_error is not None] == [("a", "b")]


def test_one_column_has_no_pairs_and_is_still_asked_about() -> None:
    plan = Plan.parse(plan_text({"a": integer(1000)}))
    found = evaluate(pa.table({"a": [1, 2, 500]}), pa.table({"a": [1, 2, 900]}), plan)
    assert (found.pairs, found.pair_total_variation, found.correlation_error) == ((), None, None)
    assert found.query_error is not None and found.query_error > 0


def test_a_column_without_public_bounds_is_measured_over_the_range_of_both_tables() -> None:
    before, after = pa.table({"a": [100, 200, 300, None]}), pa.table({"a": [90, 200, 1100, None]})
    open_ended = Plan.parse(plan_text({"a": 'kind = "integer"\nbounds = "private"\nnull = true'}))
    bounded = Plan.parse(plan_text({"a": integer(1100, lower=90, more="null = true")}))
    found, expected = (evaluate(before, after, plan, row_aligned=True) for plan in (open_ended, bounded))
    assert found.jsd == expected.jsd > 0.2
    assert found.relative_error == expected.relative_error
    assert found.wasserstein == expected.wasserstein


def test_the_quick_measure_leaves_the_others_out() -> None:
    columns = {"a": integer(1000), "b": integer(9)}
    original = records_of({"a": [1, 2, 3], "b": [1, 2, 3]}, columns)
    quick, whole = measure(original, original), measure_all(original, original, row_aligned=True)
    assert (quick.wasserstein, quick.query_error, quick.pairs) == (None, None, ())
    assert (quick.jsd, quick.relative_error) == (whole.jsd, whole.relative_error)


def test_json_has_columns_pairs_averages_and_reasons() -> None:
    found = json.loads(evaluate(TABLE, TABLE, PLAN, row_aligned=False).to_json())
    assert next(iter(found)) == "note"
    assert set(found["columns"][0]) == {
        "name", "kind", "relative_error", "variance_change", "jsd", "wasserstein", "total_variation", "chance",
    }  # fmt: skip
    assert set(found["pairs"][0]) == {
        "columns", "total_variation", "correlation_error", "chance", "correlation", "released_correlation",
    }  # fmt: skip
    assert found["relative_error"] is None
    assert list(found["not_measured"]) == ["relative_error"]
    assert found["learning"] is None


# Rows that belong together


@pytest.mark.parametrize(("method", "aligned"), [("laplace", True), ("synthetic", False)])
@pytest.mark.parametrize("as_folder", [True, False])
def test_the_certificate_says_whether_rows_belong_together(
    tmp_path: Path, method: str, aligned: bool, as_folder: bool
) -> None:
    made = Plan.parse(plan_text(COLUMNS, method=method)) if method == "laplace" else _without_public()
    table = TABLE if method == "laplace" else TABLE.drop_columns(["d"])
    release(table, made, out=tmp_path, source=SeededSource(1))
    target = tmp_path if as_folder else tmp_path / "release.parquet"
    # A plan that says otherwise does not matter.
    other = Plan.parse(plan_text({name: COLUMNS[name] for name in table.column_names}, method=_other(method)))
    assert (evaluate(table, target, other).relative_error is not None) == aligned
    assert (evaluate(table, target, other, row_aligned=not aligned).relative_error is not None) != aligned


def _without_public() -> Plan:
    return Plan.parse(plan_text({name: entry for name, entry in COLUMNS.items() if name != "d"}, method="synthetic"))


def _other(method: str) -> str:
    return "synthetic" if method == "laplace" else "laplace"


def test_without_a_certificate_the_plans_method_says_so(tmp_path: Path) -> None:
    release(TABLE, PLAN, out=tmp_path, source=SeededSource(1))
    moved = (tmp_path / "release.parquet").rename(tmp_path / "moved.parquet")
    assert evaluate(TABLE, moved, PLAN).relative_error is not None
    assert evaluate(TABLE, moved, Plan.parse(plan_text(COLUMNS, method="synthetic"))).relative_error is None


def test_a_certificate_that_cannot_be_read_is_not_guessed_at(tmp_path: Path) -> None:
    release(TABLE, PLAN, out=tmp_path, source=SeededSource(1))
    (tmp_path / "certificate.json").write_text("{}")
    with pytest.raises(TableError, match="does not say whether rows belong together"):
        evaluate(TABLE, tmp_path, PLAN)
    assert evaluate(TABLE, tmp_path, PLAN, row_aligned=True).relative_error is not None


# Learners


def test_target_and_test_table_go_together() -> None:
    for options in ({"target": "c"}, {"test": TABLE}):
        with pytest.raises(PlanError, match="without a"):
            evaluate(TABLE, TABLE, PLAN, **options)


def test_a_learner_is_examined_on_the_test_table() -> None:
    found = evaluate(TABLE, TABLE, PLAN, target="c", test=TABLE).learning
    assert found is not None and found.taught_by_release == found.taught_by_original


def test_a_test_table_without_a_column_is_refused() -> None:
    with pytest.raises(TableError, match="'b' among them"):
        evaluate(TABLE, TABLE, PLAN, target="c", test=TABLE.drop_columns(["b"]))


def test_without_scikit_learn_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    found = evaluate(TABLE, TABLE, PLAN, target="c", test=TABLE)
    assert found.query_error == 0
    assert found.propensity_auc is found.learning is None
    assert set(found.not_measured) == {"propensity_auc", "learning"}
    assert "rankveil[evaluate]" in found.not_measured["learning"]


# The command


@pytest.fixture
def released(cli: Cli, tmp_path: Path) -> list[object]:
    (tmp_path / "plan.toml").write_text(plan_text({"a": integer(1000), "b": integer(1000), "c": category(["x", "y"])}))
    rows = [f"{a},{a // 2},{'x' if a > 500 else 'y'}" for a in range(0, 1000, 5)]
    (tmp_path / "table.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    assert cli("release", "table.csv", "--plan", "plan.toml", "--out", "out").code == 0
    return ["evaluate", "table.csv", "out", "--plan", "plan.toml"]


def test_the_command_shows_columns_the_whole_and_the_worst_pairs(cli: Cli, released: list[object]) -> None:
    shown = cli(*released, "--target", "c", "--test", "table.csv")
    assert shown.code == 0
    assert shown.out.startswith("INTERNAL")
    for words in ("W1/σ", "1-way TV", "relative error", "2-way TV", "worst: ", " × ", "propensity AUC", "learning AUC"):
        assert words in shown.out
    assert "relative error" not in cli(*released, "--not-aligned").out.splitlines()[1]


def test_the_command_says_what_to_install(cli: Cli, released: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    monkeypatch.setenv("COLUMNS", "140")
    shown = cli(*released, "--target", "c", "--test", "table.csv")
    assert shown.code == 0
    assert shown.out.count("not measured: Install it with: pip install 'rankveil[evaluate]'") == 2


def test_the_command_prints_one_json_object(cli: Cli, released: list[object]) -> None:
    found = json.loads(cli(*released, "--json").out)
    assert found["note"].startswith("INTERNAL")
    assert {tuple(pair["columns"]) for pair in found["pairs"]} == {("a", "b"), ("a", "c"), ("b", "c")}
