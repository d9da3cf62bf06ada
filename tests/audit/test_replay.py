"""Whole releases replayed: a campaign that has to pass, and broken twins of production code that it has to catch.

Pairs follow from their names, so a test that passes once passes always.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rankveil.measure.budget
import rankveil.noise.laplace
from rankveil.aligned import rows as aligned
from rankveil.audit.replay import Given, replay
from rankveil.audit.replay.campaign import SIZES
from rankveil.audit.replay.containers import CONTAINERS
from rankveil.audit.replay.pair import Outcome, run_pair
from rankveil.audit.replay.plans import Case, made_case
from rankveil.audit.replay.ways import LOCAL_WAYS, Way
from rankveil.declare import Plan, again, domain
from rankveil.declare.domain import Grid
from rankveil.draw import conditional
from rankveil.engines import source
from rankveil.engines import table as tables
from rankveil.errors import OutputError, RankveilError, TableError
from rankveil.measure import choose, parities, synthetic
from rankveil.measure.budget import Budget
from rankveil.measure.counts import count_columns
from rankveil.measure.measurements import TableMeasurement
from rankveil.methods import METHODS
from rankveil.microaggregate import by_distance, unaligned
from rankveil.noise import RandomSource, SeededSource
from rankveil.perturb import records
from rankveil.release import release
from rankveil.report.replay import as_page
from tests.support import Ran, category, plan_text

Cli = Callable[..., Ran]

SEEDS = (1000, 1001, *range(1003, 1009))  # 1002 has a pair at ε = 1000 that takes five times as long as any other part
PAIRS_OF_A_PART = 40
SOUND = ("synthetic", "aligned", "laplace", "unlinked", "multivariate")


# The original


@pytest.mark.parametrize("seed", SEEDS)
def test_a_release_depends_on_one_record_through_protected_answers_alone(seed: int) -> None:
    result = replay(pairs=PAIRS_OF_A_PART, seed=seed)
    assert result.problems == []
    assert result.pairs >= PAIRS_OF_A_PART - 4, "the plan refuses hardly any"
    assert result.different_bytes == 0
    assert 0.5 < result.largest <= 1 + 1e-9, "some pair comes close to the claim, or the neighbours are too tame"


def test_tables_cut_into_small_blocks_come_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text files are read in blocks of bytes: a longer label moves every boundary after it."""
    monkeypatch.setattr("rankveil.formats.delimited._BLOCK", 1 << 15)
    monkeypatch.setattr(tables, "_BATCH_ROWS", 7)
    assert replay(pairs=60, seed=2000).problems == []


def test_the_campaign_goes_through_every_way_in_method_and_kind(tmp_path: Path) -> None:
    cases = [
        made_case(f"{seed}-{number}", LOCAL_WAYS, SIZES, tmp_path)
        for seed in SEEDS
        for number in range(PAIRS_OF_A_PART)
    ]
    assert {case.way.name for case in cases} == {way.name for way in LOCAL_WAYS}
    assert {case.plan.release.method for case in cases} == set(SOUND)
    entries = [entry for case in cases for entry in case.plan.columns.values()]
    assert {entry.kind for entry in entries} == {
        "integer",
        "number",
        "date",
        "category",
        "ordinal",
        "boolean",
        "drop",
    }
    for name, value in {"bounds": "private", "scale": "log", "role": "public", "clamp": True, "null": True}.items():
        assert any(getattr(entry, name, None) == value for entry in entries), name
    assert any(getattr(entry, "taxonomy", None) for entry in entries)
    assert any(case.plan.impossible for case in cases)
    assert any(case.plan.rule for case in cases)
    assert any(getattr(entry, "special", ()) for entry in entries)
    assert any(entry.derived for entry in entries)
    assert any(case.plan.interest for case in cases)
    assert any({"yes0", "yes1", "yes2"} <= case.plan.columns.keys() for case in cases)
    assert any(case.plan.release.delta for case in cases)
    assert {case.shrunk for case in cases} == {Fraction(1), Fraction(1, 10), Fraction(0)}


def test_the_campaign_reaches_everything_that_synthetic_measures(tmp_path: Path) -> None:
    """Sign products, tables of two and of three columns, parities of two and of three; some beside public columns."""
    found: set[str] = set()
    for number in range(PAIRS_OF_A_PART):
        for seed in SEEDS:
            folder = tmp_path / f"{seed}-{number}"
            folder.mkdir()
            case = made_case(f"{seed}-{number}", LOCAL_WAYS, SIZES, folder)
            release = case.plan.release
            if release.method == "synthetic" and case.rows >= 90:
                found |= measured_in(case, folder)
        if found >= WANTED:
            return
    assert WANTED - found == set()


WANTED = {
    "sign products",
    "two-way",
    "three-way",
    "parities of pairs and triples",
    "two-way beside public columns",
}


def measured_in(case: Case, folder: Path) -> set[str]:
    try:
        made = release(case.way.make(case.original, case.plan, (), folder), case.plan, source=SeededSource(1))
    except RankveilError:
        return set()
    words = [share.mechanism for share in made.certificate.shares if ", 0 " not in share.mechanism]
    public = any(column.role == "public" for column in made.certificate.columns)
    found = {
        kind for kind in WANTED for each in words if kind in each and not (kind.endswith("pairs") and "tri" in each)
    }
    return found | ({"two-way beside public columns"} if public and "two-way" in found else set())


def test_a_pair_follows_from_its_name(tmp_path: Path) -> None:
    one, other = (made_case("5-17", LOCAL_WAYS, SIZES, tmp_path) for _ in range(2))
    assert repr(one) == repr(other)
    assert repr(made_case("5-18", LOCAL_WAYS, SIZES, tmp_path)) != repr(one)


# Broken twins


def test_a_table_that_another_library_cannot_store_is_refused_and_ends_no_campaign(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    stata = next(way for way in CONTAINERS if way.name == "Stata")
    plan = Plan.parse(plan_text({"c": category(["a", "b"], more="null = true")}))
    cells = {"c": ["a" + " " * 5000, "b", None]}
    case = Case("1-1", plan, stata, cells, {"c": ["a", "b", None]}, ((), ()), Fraction(1), "a long label")
    assert isinstance(run_pair(case, tmp_path).refused, TableError)


def first_problem(
    folder: Path, ways: tuple[Way, ...] = LOCAL_WAYS, only: Callable[[Case], bool] = lambda case: True, most: int = 300
) -> Outcome:
    """The first pair of a campaign that does not pass, among those that the twin can show in."""
    for number in range(most):
        below = folder / str(number)
        below.mkdir()
        case = made_case(f"1000-{number}", ways, SIZES, below)
        if only(case):
            outcome = run_pair(case, below)
            if outcome.problems:
                return outcome
    pytest.fail("the twin was not caught")


def of_method(*names: str) -> Callable[[Case], bool]:
    return lambda case: case.plan.release.method in names


def named(*names: str) -> tuple[Way, ...]:
    return tuple(way for way in LOCAL_WAYS if way.name in names)


def test_scales_ten_percent_too_small_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = rankveil.measure.budget.representable_scale
    monkeypatch.setattr(rankveil.measure.budget, "representable_scale", lambda scale: plain(scale * 9 / 10))
    told = first_problem(tmp_path).problems[0]
    assert "times what the certificate claims" in told or "can lose more than it has paid for" in told


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_sampler_that_draws_ten_percent_too_little_is_caught(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No question and no scale shows it; the answers themselves do."""
    sampler = getattr(rankveil.noise, law)
    plain, smaller = sampler._sampler, Fraction(9, 10) if law == "laplace" else Fraction(81, 100)
    delta = {"delta": "1e-6"} if law == "gaussian" else {}
    columns = {"a": {"kind": "category", "categories": [f"l{number}" for number in range(2000)]}}
    plan = Plan.from_dict({"release": {"epsilon": "1", "expected_rows": 10, **delta}, "columns": columns})
    assert replay(pairs=16, plan=plan).problems == []
    monkeypatch.setattr(sampler, "_sampler", lambda parameter: plain(parameter * smaller))
    (problem,) = replay(pairs=16, plan=plan).problems
    assert f"discrete {law.capitalize()} noise as drawn is smaller than its scale says" in problem


def adding_tables(patch: pytest.MonkeyPatch, counts_of: Callable[[Any, Any, Fraction], Any]) -> None:
    """A twin of the one place where tables get their noise."""

    def add(asking: Any, columns: Any, groups: Any, exact: Any, share: Fraction) -> None:
        asking.budget.spend(share, "table")
        asking.tables.append(TableMeasurement(columns, groups, counts_of(asking, exact, share).astype(float), 1.0))

    patch.setattr(synthetic._Asking, "_add_table", add)


def linked(case: Case) -> bool:
    """A plan that is likely to measure tables."""
    release = case.plan.release
    return release.method == "synthetic" and release.epsilon >= 5 and len(case.plan.columns) > 2


def test_a_forgotten_table_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    adding_tables(monkeypatch, lambda asking, exact, share: exact)
    assert first_problem(tmp_path, only=linked).different


def test_tables_of_which_only_one_is_paid_for_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def at_the_price_of_all(asking: Any, exact: Any, share: Fraction) -> Any:
        price = asking.budget.part(asking.division.tables)
        return price.laplace_or_gaussian(l1=2, l2_squared=2).added_to(exact, asking.source)

    adding_tables(monkeypatch, at_the_price_of_all)
    assert "times what the certificate claims" in first_problem(tmp_path, only=linked).problems[0]


def test_scores_and_parities_with_a_tenth_of_their_noise_are_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noisy, plain = choose.noisy_scores, parities.parity_noise
    with monkeypatch.context() as patch:
        patch.setattr(
            synthetic,
            "noisy_scores",
            lambda exact, model, rows, price, source: noisy(exact, model, rows, price * Fraction(50), source),
        )
        (tmp_path / "scores").mkdir()
        assert "times what the certificate claims" in first_problem(tmp_path / "scores", only=linked).problems[0]
    monkeypatch.setattr(parities, "parity_noise", lambda price, *which: plain(price * Fraction(10), *which))
    (tmp_path / "parities").mkdir()
    several = first_problem(tmp_path / "parities", only=lambda case: linked(case) and "yes2" in case.plan.columns)
    assert "times what the certificate claims" in several.problems[0]


def test_a_choice_by_exact_scores_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def exact_scores(exact: Any, expected: Any, rows: int, price: Any, source: RandomSource) -> Any:
        gain = np.array([np.abs(one - np.rint(other)).sum() for one, other in zip(exact, expected, strict=True)])
        return choose.Scores(gain, np.clip(gain / (2 * rows), 0, 1))

    monkeypatch.setattr(synthetic, "noisy_scores", exact_scores)
    found = first_problem(tmp_path, only=linked)
    assert found.different or "released before" in found.problems[0]


def test_a_peek_at_one_exact_count_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = METHODS["synthetic"]
    assert plain.fit is not None
    fit = plain.fit

    def peeking(given: Any, source: RandomSource) -> Any:
        measured, dataset = given
        column = dataset.schema.protected[0]
        counts, _ = count_columns(dataset, [column])
        measured.columns[column.name].mass[0] = 1 + counts[column.name].missing
        return fit(given, source)

    monkeypatch.setitem(METHODS, "synthetic", replace(plain, fit=peeking))
    assert first_problem(tmp_path, only=of_method("synthetic")).different


def test_an_exact_count_that_only_the_kept_model_shows_is_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = METHODS["synthetic"]
    assert plain.fit is not None
    fit = plain.fit

    def peeking(given: Any, source: RandomSource) -> Any:
        made = fit(given, source)
        for name, asked in made.measured.asked.items():
            counts, _ = count_columns(made.dataset, [asked.column])
            asked.levels[0].noisy[0] = counts[name].between(
                np.array([asked.levels[0].low[0], asked.levels[0].high[0]])
            )[0]
        return made

    monkeypatch.setitem(METHODS, "synthetic", replace(plain, fit=peeking))
    found = first_problem(tmp_path, only=of_method("synthetic"))
    assert "model/measurements.parquet" in found.different
    assert not any(name.startswith("release") for name in found.different)


def test_an_exact_count_that_only_replicate_weights_show_is_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = METHODS["synthetic"]

    def peeking(given: Any, budget: Budget, source: RandomSource) -> Any:
        made = plain.rows(given, budget, source)
        assert made.weigh is not None
        weigh = made.weigh

        def weighing(codes: Any, count: int) -> Any:
            drawn = weigh(codes, count)
            columns = [asked.column for asked in given.measured.asked.values()]
            labels = [column for column in columns if not isinstance(column.domain, Grid)]
            for column in labels[:1]:
                counts, _ = count_columns(given.dataset, [column])
                drawn.table[0, :1] = counts[column.name].between(np.array([0, 1]))  # a table may have no row
            return drawn

        return replace(made, weigh=weighing)

    monkeypatch.setitem(METHODS, "synthetic", replace(plain, rows=peeking))
    found = first_problem(tmp_path, only=of_method("synthetic"))
    shown = {"weights", "weights.csv", "weights.parquet"}
    assert shown & set(found.different)
    assert not any(name.startswith(("release", "model")) for name in found.different)


def sorted_pair() -> Case:
    """More rows than the model looks at, sorted by what is protected, beside a public column."""
    rng, rows = np.random.default_rng(1), 30_000
    pay = np.sort(rng.integers(0, 51, rows))
    group = np.clip(pay // 6 + rng.integers(-1, 2, rows), 0, 9)
    other = pay.copy()
    other[0] = 50
    order = np.argsort(other, kind="stable")
    columns = {
        "group": {"kind": "integer", "lower": 0, "upper": 9, "role": "public"},
        "pay": {"kind": "integer", "lower": 0, "upper": 50},
    }
    plan = Plan.from_dict({"release": {"method": "synthetic", "epsilon": "2"}, "columns": columns})
    table = {"group": group.tolist(), "pay": pay.tolist()}
    neighbour = {"group": group[order].tolist(), "pay": other[order].tolist()}
    return Case("sorted", plan, named("Arrow")[0], table, neighbour, ((), ()), Fraction(1), "sorted")


def test_first_rows_of_a_sorted_table_with_public_columns_are_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The fitted model looks at some rows of the public columns: any of them, not the first ones."""
    assert run_pair(sorted_pair(), tmp_path / "mixed").passed

    def first_ones(batches: Any, row_count: int, size: int, sampler: Any) -> Any:
        yield next(again.in_blocks(batches, size))

    monkeypatch.setattr(synthetic, "out_of_order", first_ones)
    assert run_pair(sorted_pair(), tmp_path / "first").problems


def test_types_that_depend_on_one_record_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = tables.Table.rebuild

    def rebuild(table: tables.Table, result: pa.Table) -> Any:
        made = plain(table, result)
        floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
        return made.astype({name: "float64" for name in floats if name in made and made[name].dtype == np.int64})

    monkeypatch.setattr(tables.Table, "rebuild", rebuild)
    assert "types" in first_problem(tmp_path, named("pandas", "pandas, nullable types")).different


def test_categories_of_objects_that_get_one_type_together_are_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(source, "_holds_objects", lambda dtype: dtype.name == "object")
    found = first_problem(
        tmp_path,
        named("pandas, categories of objects"),
        lambda case: any(entry.kind == "date" for entry in case.plan.columns.values()),
        most=2000,
    )
    assert "times what the certificate claims" in found.problems[0]


@pytest.mark.parametrize("module", [aligned, records], ids=["aligned", "laplace"])
def test_a_layout_copied_from_the_table_is_caught(module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "read_again", again._as_stored)
    found = first_problem(tmp_path, named("Arrow"), of_method("aligned", "laplace"))
    assert "how many numbers" in found.problems[0]


def written_as_stored(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Blocks are drawn as they should be, and cut again where the table was."""

    def drawn(given: Any, *rest: Any) -> Any:
        ends = np.cumsum([batch.num_rows for batch in given.dataset.table.batches()])
        whole = again.joined(list(plain(given, *rest)))
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            yield {name: codes[start:end] for name, codes in whole.items()}

    return drawn


@pytest.mark.parametrize(
    ("way", "seen"), [("folder of Parquet files", "row groups of release.parquet"), ("Arrow", "chunks")]
)
def test_row_groups_and_chunks_copied_from_the_table_are_caught(
    way: str, seen: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(aligned, "_drawn", written_as_stored(aligned._drawn))
    monkeypatch.setattr(records, "_perturbed", written_as_stored(records._perturbed))
    assert seen in first_problem(tmp_path, named(way), of_method("aligned", "laplace")).different


def test_codes_computed_in_floating_point_are_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One record written as `7.0` moves the codes of the others: numbers of 2^55 have no last bits as floats."""
    plain = Grid._place_floats

    def in_floats(grid: Grid, values: Any, read: Any) -> Any:
        if not grid.whole or grid.step == 1:
            return plain(grid, values, read)
        above = np.floor(np.clip(values, float(grid.lower), None) - float(grid.lower)).astype(np.int64)
        return replace(plain(grid, values, read), codes=(above + int(grid.step) // 2) // int(grid.step))

    monkeypatch.setattr(domain, "LARGEST_INTEGER", 1 << 62)  # the range was not capped either
    columns = {"a": {"kind": "integer", "bounds": "private", "step": 1 << 17}}
    plan = Plan.from_dict({"release": {"epsilon": "50"}, "columns": columns})
    beside = [31 * (1 << 17) + (1 << 16) - 1] * 40  # one less than half a step below 32 steps, where cells end
    case = Case("codes", plan, named("CSV")[0], {"a": beside}, {"a": [7.0, *beside[1:]]}, ((), ()), Fraction(1), "")
    assert run_pair(case, tmp_path / "exact").passed
    monkeypatch.setattr(Grid, "_place_floats", in_floats)
    assert run_pair(case, tmp_path / "floats").problems


def test_an_order_of_rows_kept_with_public_columns_is_caught(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def in_order(batches: Any, row_count: int, size: int, sampler: Any) -> Any:
        return again.in_blocks(batches, size)

    monkeypatch.setattr(conditional, "out_of_order", in_order)
    assert first_problem(tmp_path, only=lambda case: "another order" in case.change).different


def test_clusters_that_depend_on_the_order_of_the_table_are_caught(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Records at the same distance were ranked by row number: in a sorted table that says how they were sorted."""
    column = {"kind": "integer", "lower": 0, "upper": 10}
    release = {"method": "multivariate", "epsilon": "1", "k": 4}
    plan = Plan.from_dict({"release": release, "columns": {"a": column, "b": column}})
    table = {"a": [0, 10] * 4, "b": [10, 0] * 4}  # all at the same distance from the corner
    neighbour = {"a": [0] * 4 + [10] * 4, "b": [10] * 4 + [0] * 4}
    case = Case("ties", plan, named("CSV")[0], table, neighbour, ((), ()), Fraction(1), "rows in another order")
    assert run_pair(case, tmp_path / "by value").passed
    monkeypatch.setattr(unaligned, "by_distance", lambda records, k, ties_by_value: by_distance(records, k))
    (problem,) = run_pair(case, tmp_path / "by row").problems
    assert "times what the certificate claims" in problem


@pytest.mark.parametrize("where", ["on the certificate", "by random bytes"])
def test_telling_how_many_values_are_missing_is_caught(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = METHODS["unlinked"]

    def telling(released: Any, budget: Budget, source: RandomSource) -> Any:
        rows = plain.rows(released, budget, source)
        if where == "on the certificate":
            return replace(rows, remarks=(str(told[-1]),))
        source.random_bytes(told[-1])
        return rows

    def grouping(dataset: Any, k: int) -> Any:
        grouped = plain.prepare(dataset, k)
        told.append(sum(int((clusters.values == -1).sum()) for clusters in grouped.columns))
        return grouped

    told: list[int] = []
    monkeypatch.setitem(METHODS, "unlinked", replace(plain, prepare=grouping, rows=telling))
    found = first_problem(tmp_path, only=of_method("unlinked"))
    if where == "on the certificate":
        assert {"certificate", "certificate.json"} & set(found.different)
    else:
        assert "random bytes" in found.problems[0]


# For an officer


def write_table(folder: Path) -> tuple[Path, Path]:
    plan = folder / "plan.toml"
    plan.write_text(
        '[release]\nepsilon = "2"\n[columns.age]\nkind = "integer"\nlower = 0\nupper = 120\nnull = true\n'
        '[columns.job]\nkind = "category"\ncategories = ["clerk", "nurse", "pilot"]\n',
        encoding="utf-8",
    )
    table = folder / "people.csv"
    table.write_text("age;job\n" + "41;nurse\n;clerk\n77;pilot\n" * 10, encoding="utf-8")
    return plan, table


def test_an_officer_replays_a_plan_and_a_table_of_their_own(tmp_path: Path, cli: Cli) -> None:
    plan, table = write_table(tmp_path)
    page = tmp_path / "replay.html"
    run = cli("audit", "--replay", table, "--plan", plan, "--pairs", 12, "--html", page, "--json")
    assert run.code == 0, run.text
    result = json.loads(run.out)
    assert (result["pairs"], result["different_bytes"]) == (12, 0)
    assert 0 < result["largest_loss_over_claim"] <= 1
    assert result["ways_in"]
    written = (tmp_path / "replay.internal.html").read_text(encoding="utf-8")
    assert "INTERNAL" in written
    assert "people.csv" in written
    for text in ("nurse", "pilot", "77"):
        assert text not in run.text.replace(str(tmp_path), ""), "no value of the table is shown"
        assert text not in written.partition("</style>")[2]
    assert not page.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from rankveil.audit.replay import Given, campaign
from rankveil.declare import Plan

def run_pair(case, folder, engine):
    case.way.make(case.original, case.plan, (), folder)
    os.kill(os.getpid(), signal.SIGKILL)

campaign.run_pair = run_pair
table, plan = Given.read(Path(sys.argv[1]), Plan.load(sys.argv[2]))
campaign.replay(pairs=1, plan=plan, table=table)
"""


def test_what_a_killed_replay_has_left_of_a_table_is_for_its_owner_alone_and_goes_with_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, table = write_table(tmp_path)
    place = tmp_path / "tmp"
    place.mkdir()
    run = subprocess.run([sys.executable, "-c", KILLED, table, plan], env={**os.environ, "TMPDIR": str(place)})
    assert run.returncode == -signal.SIGKILL
    left = [path for path in place.rglob("*") if path.is_file()]
    assert any(path.stat().st_size > 100 for path in left), "the table was written"
    (folder,) = place.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    replay(pairs=1, plan=Plan.load(plan))
    assert [path for path in place.rglob("*") if path != folder] == []


def test_a_place_for_temporary_files_that_others_may_look_into_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"rankveil-replay-{os.geteuid()}").mkdir(mode=0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(OutputError, match="for this user alone"):
        replay(pairs=1)


def test_a_plan_alone_is_replayed_on_made_tables_and_its_page_is_for_anyone(tmp_path: Path) -> None:
    plan, _ = write_table(tmp_path)
    result = replay(pairs=6, plan=Plan.load(plan))
    assert (result.pairs, result.verdict) == (6, "consistent")
    assert "(internal)" not in as_page(result)


def test_a_contradiction_ends_with_exit_code_5_and_names_the_pair(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: Cli
) -> None:
    plain = rankveil.measure.budget.representable_scale
    monkeypatch.setattr(rankveil.measure.budget, "representable_scale", lambda scale: plain(scale / 2))
    plan, _ = write_table(tmp_path)
    run = cli("audit", "--replay", "--plan", plan, "--pairs", 10, "--seed", 3, "--json")
    assert run.code == 5
    failure = json.loads(run.out)["failures"][0]
    assert failure["pair"].startswith("3-")
    alone = cli("audit", "--replay", "--plan", plan, "--seed", failure["pair"], "--json")
    assert alone.code == 5
    assert json.loads(alone.out)["failures"] == [failure]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--replay", "table.csv"],
        ["--replay", "--all"],
        ["--replay", "--seed", "one"],
        ["synthetic", "--pairs", "3"],
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], cli: Cli) -> None:
    assert cli("audit", *arguments).code == 2


def test_a_method_without_a_guarantee_is_not_replayed(tmp_path: Path) -> None:
    plan, _ = write_table(tmp_path)
    changed = Plan.load(plan).with_(method="published:ranking", k=2)
    with pytest.raises(rankveil.RankveilError, match="does not give differential privacy"):
        replay(pairs=1, plan=changed)


def test_a_table_that_its_plan_refuses_is_not_called_consistent(tmp_path: Path, cli: Cli) -> None:
    plan, table = write_table(tmp_path)
    table.write_text("age;job\n141;nurse\n142;clerk\n143;clerk\n", encoding="utf-8")
    run = cli("audit", "--replay", table, "--plan", plan, "--pairs", 5)
    assert run.code == 3
    assert "outside the declared range" in run.text


def test_a_table_in_parquet_goes_through_frames_as_well(tmp_path: Path) -> None:
    import pyarrow.parquet as papq

    plan, _ = write_table(tmp_path)
    ages = pa.array([41, None, 77] * 5, pa.int32())
    papq.write_table(pa.table({"age": ages, "job": ["nurse", "clerk", "pilot"] * 5}), tmp_path / "people.parquet")
    given, read = Given.read(tmp_path / "people.parquet", Plan.load(plan))
    result = replay(pairs=60, plan=read, table=given)
    assert result.problems == []
    assert {"Parquet", "pandas, nullable types", "polars", "Arrow"} <= set(result.ways)
