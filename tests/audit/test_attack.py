"""The attack view as people use it: whole tables, the command, and what it must not do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.audit.attack import Attack, MethodAttack
from rankveil.errors import PlanError, TableError
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.report.attack import cell, panels, percent
from tests.support import Ran, category, files_in, integer, plan_text

PUBLISHED = [name for name, method in METHODS.items() if not method.differentially_private]
SOUND = [name for name, method in METHODS.items() if method.differentially_private]
JOBS = ("baker", "clerk", "nurse", "smith", "tailor")
COLUMNS = {"size": integer(1000), "job": category(JOBS)}
ROWS = 400


def people() -> pa.Table:
    generator = np.random.default_rng(7)
    return pa.table({"size": generator.integers(0, 1001, ROWS), "job": generator.choice(list(JOBS), ROWS)})


def plan(epsilon: object = "1", k: int = 4) -> rv.Plan:
    return rv.Plan.parse(plan_text(COLUMNS, method="unlinked", epsilon=epsilon, k=k))


def found_by(method: str, **settings: Any) -> MethodAttack:
    (result,) = rv.attack(people(), plan(**settings), methods=[method], source=SeededSource(11)).methods
    return result


@pytest.mark.parametrize("method", ["published:individual-ranking", "published:ranking"])
def test_published_rankings_leave_a_few_values_and_give_labels_away(method: str) -> None:
    size, job = found_by(method).columns
    assert size.basis == job.basis == ("exact" if method.endswith("individual-ranking") else "lower bound")
    assert size.after < 0.05
    assert job.after > 0.8


@pytest.mark.parametrize("method", [name for name in SOUND if name != "synthetic"])
def test_sound_methods_at_a_small_epsilon_leave_belief_nearly_as_it_was(method: str) -> None:
    size, job = found_by(method, epsilon="0.1").columns
    assert size.worst > 0.98
    assert abs(job.after - job.before) < 0.02
    assert job.worst < job.before * 1.15


def test_noisy_lists_do_not_bracket_even_small_clusters() -> None:
    size, _ = found_by("unlinked", k=2).columns
    assert size.worst > 0.9


def test_synthetic_is_given_its_bound_and_a_delta_its_caveat() -> None:
    size, job = found_by("synthetic").columns
    assert size.basis == "upper bound"
    assert size.after == pytest.approx(1 / (0.95 + 0.05 * np.e))
    assert job.after == pytest.approx(np.e / (np.e + len(JOBS) - 1))
    content = plan().model_dump() | {"release": {"epsilon": "1", "delta": "1e-6", "k": 4}}
    with_delta = rv.attack(people(), rv.Plan.from_dict(content))
    says = {result.method: result.says for result in with_delta.methods}
    assert "δ" in says["synthetic"]
    assert "δ" not in says["laplace"]


@pytest.mark.parametrize("method", PUBLISHED)
def test_the_true_value_is_never_ruled_out(method: str) -> None:
    table = people()
    for row in range(1, ROWS + 1, 23):
        result = rv.attack(table, plan(), methods=[method], row=row, source=SeededSource(row))
        size, job = result.methods[0].columns
        assert size.left is not None and job.left is not None
        assert int(str(size.left.low)) <= table["size"][row - 1].as_py() <= int(str(size.left.high))
        shown = [label for label, _ in job.left.labels]
        assert table["job"][row - 1].as_py() in shown or job.left.more_labels


# The figures of T34


def relative_widths(k: int, epsilon: str) -> float:
    """Median of (upper - lower) / value over 90 rows of 1080 lognormal values (sigma = 1)."""
    values = np.exp(np.random.default_rng(1).normal(size=1080))
    entry = f'kind = "number"\nlower = 0\nupper = {np.ceil(1.5 * values.max())}\nstep = 0.000001'
    text = plan_text({"a": entry}, method="published:individual-ranking", epsilon=epsilon, k=k)
    table, widths = pa.table({"a": values}), []
    for row in range(1, 1081, 24):
        result = rv.attack(
            table, rv.Plan.parse(text), methods=["published:individual-ranking"], row=row, source=SeededSource(row)
        )
        left = result.methods[0].columns[0].left
        assert left is not None
        widths.append((float(str(left.high)) - float(str(left.low))) / values[row - 1])
    return float(np.median(widths))


@pytest.mark.parametrize(("k", "printed"), [(2, 0.009), (25, 0.07)])
def test_brackets_of_lognormal_values_are_as_narrow_as_t34_says(k: int, printed: float) -> None:
    # The median of 45 rows of another sample: within a factor of 1.6.
    assert printed / 1.6 < relative_widths(k, "1000") < printed * 1.6


def test_brackets_do_not_depend_on_epsilon_but_for_clusters_that_are_clamped_to_the_same_end() -> None:
    wide, usual, narrow = (relative_widths(25, epsilon) for epsilon in ("1000", "10", "0.1"))
    assert usual == pytest.approx(wide, rel=0.2)
    assert wide * 0.99 <= narrow < 3 * wide


@pytest.mark.parametrize(
    ("value", "sign", "shown"),
    [
        (1.0, "", "100 %"),
        (0.99949, "", "99.9 %"),
        (0.92086, "≥ ", "≥ 92 %"),
        (0.99999, "≥ ", "≥ 99.9 %"),
        (0.16261, "≤ ", "≤ 16.3 %"),
        (1 / 74, "", "1.35 %"),
        (0.0000073, "", "0.00073 %"),
    ],
)
def test_percentages_have_three_digits_and_bounds_are_rounded_so_that_they_hold(
    value: float, sign: str, shown: str
) -> None:
    assert percent(value, sign) == shown


def test_a_bound_that_allows_everything_is_not_shown_as_knowledge() -> None:
    loose, known = (found_by(name, epsilon="50").columns[0] for name in ("synthetic", "published:ranking"))
    assert loose.after == pytest.approx(1 / 1001)
    assert cell(loose) == "≥ 0.0999 %"
    assert cell(replace(known, after=1 / 1001)) == "0.0999 %"


def test_the_page_about_the_attack_view_shows_what_the_example_gives() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "attack-view.md").read_text(encoding="utf-8")
    methods = ["synthetic", "multivariate", "published:individual-ranking", "published:multivariate"]
    table, paper = root / "examples" / "adult.csv.gz", root / "examples" / "adult_paper.toml"
    result = rv.attack(table, paper, methods=methods, source=SeededSource(5))
    for entry in result.methods:
        line = next(line for line in page.splitlines() if line.startswith(f"{entry.method} "))
        assert cell(entry.columns[0]) in line
    assert (root / "docs" / "figures" / "attack.svg").exists() and "figures/attack.svg" in page


# What ε allows, beside what was found


def test_every_method_with_a_guarantee_is_shown_with_the_same_bound_and_synthetic_with_nothing_else() -> None:
    result = rv.attack(people(), plan(), sample=3, source=SeededSource(11))
    by_name = {entry.method: entry for entry in result.methods}
    bounds = {tuple(column.bound for column in by_name[name].columns) for name in SOUND}
    assert len(bounds) == 1
    synthetic = by_name["synthetic"]
    assert not synthetic.was_attacked
    assert [column.after for column in synthetic.columns] == [column.bound for column in synthetic.columns]
    assert all(entry.was_attacked for name, entry in by_name.items() if name != "synthetic")
    for name in set(SOUND) - {"synthetic"}:
        for column in by_name[name].columns:
            assert column.bound is not None
            if column.measure == "range":
                assert column.worst >= column.bound
            else:
                assert column.worst <= column.bound


def test_methods_that_do_not_keep_to_special_values_are_left_out_with_the_reason() -> None:
    columns = {"size": integer(1000, more="special = [-9]"), "job": category(JOBS)}
    own = rv.Plan.parse(plan_text(columns, method="synthetic", k=4))
    result = rv.attack(people(), own, sample=2, source=SeededSource(11))
    assert [entry.method for entry in result.methods] == ["synthetic"]
    assert set(result.skipped) == set(METHODS) - {"synthetic"}
    assert "special values" in result.skipped["aligned"]


def test_the_picture_sets_what_was_not_attacked_apart_and_cuts_no_name() -> None:
    result = rv.attack(people(), plan(), sample=2, source=SeededSource(11))
    first, *_ = panels(result)
    attacked, bounded = first.picture.split("not attacked, only what ε allows:")
    assert ">synthetic<" in bounded and ">synthetic<" not in attacked
    assert all(f">{name}<" in first.picture for name in METHODS)
    assert 'class="learnt' not in bounded, "no bar: nothing was found"
    assert 'class="learnt' in attacked


# The command


@pytest.fixture
def table_and_plan(write_table: Callable[..., Path], write_plan: Callable[..., Path]) -> tuple[Path, Path]:
    return write_table(people()), write_plan(COLUMNS, method="unlinked", k=4)


def test_the_command_is_internal_from_its_first_line_and_covers_every_method(
    cli: Callable[..., Ran], table_and_plan: tuple[Path, Path]
) -> None:
    shown = cli("attack", table_and_plan[0], "--plan", table_and_plan[1], "--sample", 3, "--quiet")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("INTERNAL: ")
    assert "before the release" in shown.out
    for basis in ("exact: ", "computed: ", "upper bound: ", "lower bound: "):
        assert basis in shown.out
    assert all(name in shown.out for name in METHODS)


def test_no_value_of_the_table_is_shown_unless_a_row_is_asked_for(
    cli: Callable[..., Ran], write_table: Callable[..., Path], write_plan: Callable[..., Path]
) -> None:
    canary = [770_001 + 11 * at for at in range(8)]
    table = write_table("size,job\n" + "".join(f"{value},canarybird\n" for value in canary))
    path = write_plan({"size": integer(1_000_000), "job": category([*JOBS, "canarybird"])}, method="laplace", k=2)
    arguments = ("attack", table, "--plan", path, "--quiet", "--svg", "a.svg", "--html", "a.html")
    shown = cli(*arguments).text + cli(*arguments, "--json").text
    shown += "".join((table.parent / f"a.internal.{ending}").read_text() for ending in ("svg", "html"))
    assert "canarybird" not in shown
    # Not even as a number among the many that a picture is made of.
    assert not any(re.search(rf"(?<![\d.]){value}(?!\d)", shown) for value in canary)
    single = cli("attack", table, "--plan", path, "--row", 3, "--method", "published:ranking", "--epsilon", 5)
    assert "What is left of row 3" in single.out
    assert "canarybird" in single.out


def test_the_json_twin_says_everything_that_the_table_says(
    cli: Callable[..., Ran], table_and_plan: tuple[Path, Path]
) -> None:
    shown = cli("attack", table_and_plan[0], "--plan", table_and_plan[1], "--sample", 2, "--epsilon", "0.5", "--json")
    content = json.loads(shown.out)
    assert next(iter(content)) == "note" and content["note"].startswith("INTERNAL")
    assert content["rows"] == ROWS and content["attacked_rows"] == 2 and content["row"] is None
    assert (content["epsilon"], content["delta"], content["k"]) == ("0.5", None, 4)
    assert [entry["method"] for entry in content["methods"]] == list(METHODS)
    assert content["skipped"] == {} and content["files"] == []
    for entry in content["methods"]:
        assert set(entry) == {"method", "differentially_private", "basis", "says", "columns", "was_attacked"}
        size, job = entry["columns"]
        assert set(size) == {"name", "kind", "measure", "values", "before", "after", "worst", "basis", "bound", "left"}
        assert (size["name"], size["measure"], size["values"], size["before"]) == ("size", "range", 1001, 1.0)
        assert (job["name"], job["measure"], job["values"], job["before"]) == ("job", "chance", 5, 0.2)
        assert 0 < size["worst"] <= size["after"] <= 1 and 0 < job["after"] <= job["worst"] <= 1
        assert size["left"] is None and job["left"] is None
        assert (size["bound"] is None) == (not entry["differentially_private"])


def test_pictures_and_pages_say_internal_in_name_and_first_line(
    cli: Callable[..., Ran], table_and_plan: tuple[Path, Path], tmp_path: Path
) -> None:
    shown = cli(
        "attack", table_and_plan[0], "--plan", table_and_plan[1],
        "--sample", 2, "--svg", "attack.svg", "--html", "attack.internal.html", "--json",
    )  # fmt: skip
    assert json.loads(shown.out)["files"] == ["attack.internal.svg", "attack.internal.html"]
    for name in ("attack.internal.svg", "attack.internal.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.splitlines()[0] == f"<!-- {Attack.note} -->"
        assert "<svg" in text and "published:mdav" in text
    assert "://" not in (tmp_path / "attack.internal.html").read_text().replace("http://www.w3.org", "")


def test_an_attack_leaves_ledger_and_disk_alone(
    cli: Callable[..., Ran], table_and_plan: tuple[Path, Path], ledger_of_this_test: Path, tmp_path: Path
) -> None:
    kept = files_in(tmp_path)
    assert cli("attack", table_and_plan[0], "--plan", table_and_plan[1], "--sample", 1).code == 0
    assert not ledger_of_this_test.exists()
    assert files_in(tmp_path) == kept


def test_methods_that_do_not_fit_the_plan_are_named_with_the_reason() -> None:
    columns = {"size": integer(1000), "job": category(JOBS, more='role = "public"')}
    result = rv.attack(people(), rv.Plan.parse(plan_text(columns, epsilon=1)), sample=2)
    assert "job" in result.skipped["unlinked"] or "k" in result.skipped["unlinked"]
    assert set(result.skipped) == {name for name, method in METHODS.items() if method.needs_clusters}
    assert [column.name for column in result.methods[0].columns] == ["size"]
    with pytest.raises(PlanError, match="no k is given"):
        rv.attack(people(), rv.Plan.parse(plan_text(columns, epsilon=1)), methods=["unlinked"])


@pytest.mark.parametrize("row", [0, ROWS + 1])
def test_a_row_that_does_not_exist_is_refused(row: int) -> None:
    with pytest.raises(TableError, match=f"rows count from 1 to {ROWS}"):
        rv.attack(people(), plan(), row=row)


def test_missing_values_dates_and_private_bounds_are_attacked_too() -> None:
    generator = np.random.default_rng(3)
    table = pa.table(
        {
            "income": pa.array([None if value < 50 else int(value) for value in generator.integers(0, 900, 120)]),
            "born": pa.array(generator.integers(0, 9000, 120).astype("datetime64[D]")),
            "grade": pa.array([None if value == 0 else "abc"[value - 1] for value in generator.integers(0, 4, 120)]),
        }
    )
    income = 'kind = "integer"\nnull = true\n'
    others = {
        "born": 'kind = "date"\nlower = 1970-01-01\nupper = 1999-12-31',
        "grade": 'kind = "ordinal"\ncategories = ["a", "b", "c"]\nnull = true',
    }
    public = {"income": income + 'lower = 0\nupper = 100000\nscale = "log"', **others}
    result = rv.attack(table, rv.Plan.parse(plan_text(public, k=5)), sample=15)
    assert result.skipped == {}
    assert all(0 < column.after <= 1 for entry in result.methods for column in entry.columns)
    private = {"income": income + 'bounds = "private"', **others}
    result = rv.attack(table, rv.Plan.parse(plan_text(private, k=5)), sample=5)
    assert {entry.method for entry in result.methods} == {"synthetic", "aligned"}
