"""The drivers of the benchmarks on a tiny table, and what they measure with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import ablation, adult, ceiling, dense, measures, monotone, packages, tables
from benchmarks.measures import Ruler, fixed_subsets
from benchmarks.runs import Runs, means, standard_errors
from benchmarks.tables import TABLES, Source, Split, labels, whole

pytest.importorskip("sklearn")


def _rows() -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, 400)
    return pa.table(
        {
            "age": age,
            "city": np.array(["Lyon", "Paris"])[(age + rng.integers(0, 60, 400)) // 80],
            "pay": np.minimum(9, (age + rng.integers(0, 30, 400)) // 12),
        }
    )


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Source:
    columns = {"age": whole(0, 99), "city": labels("Lyon", "Paris"), "pay": whole(0, 9)}
    source = Source("tiny", "Tiny", "chooses", columns, "city", "classification", _rows)
    monkeypatch.setitem(TABLES, "tiny", source)
    monkeypatch.setattr(measures, "MOST_OF_EACH", 200)
    return source


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


# Tables


def test_every_table_has_a_plan_a_target_and_a_role_that_the_decision_names() -> None:
    decided = (Path(tables.ROOT) / "docs" / "decisions" / "0024-benchmark-tables.md").read_text(encoding="utf-8")
    assert "adult" in TABLES
    for name, source in TABLES.items():
        assert source.target in source.columns
        assert source.plan("1", "1e-9").release.epsilon == 1
        line = next(line for line in decided.splitlines() if line.startswith("|") and name in line.split("|")[1])
        assert source.role.removesuffix("s") in line.split("|")[3]


def test_rows_set_aside_are_the_same_each_time_and_in_no_release(tiny: Source) -> None:
    first, again = tiny.split(), tiny.split()
    assert first.released.equals(again.released)
    assert (first.released.num_rows, first.unseen.num_rows) == (320, 80)


def test_drawn_rows_come_from_what_is_released_and_the_unseen_ones_stay(tiny: Source) -> None:
    drawn = tiny.drawn(1000).split()
    assert drawn.released.num_rows == 1000
    assert drawn.unseen.equals(tiny.split().unseen)
    known = set(map(tuple, tiny.split().released.to_pandas().to_numpy().tolist()))
    assert set(map(tuple, drawn.released.to_pandas().to_numpy().tolist())) <= known


def test_an_archive_that_is_not_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "FOLDER", tmp_path)
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / packages.ISLP.file).write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not the archive that was pinned"):
        packages.ISLP.read("/Caravan.csv")


# Measures


def test_a_table_released_as_it_is_has_no_error_and_cannot_be_told_apart(tiny: Source) -> None:
    ruler = Ruler(tiny, Split(tiny.table, tiny.table))
    reading = ruler.read(tiny.table)
    assert set(reading.errors().values()) == {0.0}
    assert reading.pair("age", "pay") == 0.0
    assert reading.propensity() < 0.55


def test_columns_shuffled_apart_keep_their_own_shares_and_lose_their_pairs(tiny: Source) -> None:
    rng = np.random.default_rng(1)
    apart = pa.table({n: tiny.table[n].take(pa.array(rng.permutation(400))) for n in tiny.table.column_names})
    found = Ruler(tiny, Split(tiny.table, tiny.table)).read(apart).errors()
    assert found["1-way TV"] == 0
    assert found["2-way TV"] > 0.2
    assert found["3-way TV"] > found["2-way TV"]
    assert found["learner's loss"] > 0.1


def test_subsets_are_fixed_and_distinct_and_all_of_them_where_they_are_few() -> None:
    assert len(fixed_subsets(5, 3)) == 10
    drawn = fixed_subsets(16, 3)
    assert drawn == fixed_subsets(16, 3)
    assert len(set(drawn)) == measures.SUBSETS
    assert all(list(subset) == sorted(set(subset)) for subset in drawn)


# Runs


def test_a_run_is_made_once_and_made_anew_by_other_code(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make() -> dict[str, float]:
        made.append(1)
        return {"error": 0.5}

    for _ in range(2):
        assert Runs(cache).get({"seed": 1}, make) == {"error": 0.5}
    assert len(made) == 1
    monkeypatch.setattr("benchmarks.runs.code_fingerprint", lambda: "other")
    Runs(cache).get({"seed": 1}, make)
    assert len(made) == 2


def test_standard_errors_are_those_of_the_mean() -> None:
    found = [{"a": 1.0}, {"a": 3.0}]
    assert means(found) == {"a": 2.0}
    assert standard_errors(found)["a"] == pytest.approx(1.0)
    assert standard_errors(found[:1]) == {"a": 0.0}


# Drivers


def test_dense_prints_published_figures_beside_ours(
    tiny: Source, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(dense.PRIVMRF, "tiny", dict.fromkeys(dense.WIDTHS, (0.9,) * 6))
    monkeypatch.setattr(dense, "WIDTHS", (3,))
    arguments = ["--tables", "tiny", "--epsilons", "0.8", "--runs", "2", "--cache", str(cache)]
    dense.main([*arguments, "--json"])
    result = json.loads(capsys.readouterr().out)
    [cell] = result["cells"]
    assert 0 < cell["ours"] < 1
    assert cell["standard_error"] > 0
    assert (result["ahead"], result["compared"]) == ({"3": 1}, {"3": 1})
    dense.main(arguments)
    assert "| tiny | 3 | 0.9000 / 0." in capsys.readouterr().out
    dense.main([*arguments, "--neighbours", "add-remove", "--json"])
    with_noisy_size = json.loads(capsys.readouterr().out)
    assert with_noisy_size["neighbours"] == "add-remove"
    assert with_noisy_size["cells"][0]["ours"] != cell["ours"]


def test_ceiling_shows_the_learner_and_the_propensity_for_every_epsilon_and_size(
    tiny: Source, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--tables", "tiny", "--epsilons", "1", "1000", "--rows", "500", "--runs", "1", "--cache", str(cache)]
    ceiling.main([*arguments, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert [(line["epsilon"], line["rows"]) for line in result["lines"]] == [("1", None), ("1000", None), ("1", 500)]
    assert all(0.2 < line["figures"]["propensity AUC"] <= 1 for line in result["lines"])
    ceiling.main(arguments)
    assert "| tiny | 1 | 500 | AUC |" in capsys.readouterr().out


def test_adult_leaves_out_what_the_plan_refuses(
    tiny: Source, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(adult.VARIANTS, adult.TARGETED, {"no_such_entry": 1})
    arguments = ["--tables", "tiny", "--runs", "1", "--cache", str(cache)]
    adult.main([*arguments, "--json"])
    [result] = json.loads(capsys.readouterr().out)["tables"]
    assert [line["variant"] for line in result["lines"]] == [adult.PLAIN, adult.PURE]
    assert set(result["lines"][0]["met"]) >= {"1-way TV", "AUC"}
    adult.main(arguments)
    assert "The plan refuses" in capsys.readouterr().out


def test_monotone_names_a_rise(
    tiny: Source, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def worse_with_delta(source: Source, ruler: Ruler, epsilon: str, delta: str | None, seed: int, **_: object) -> dict:
        return {"1-way TV": (0.2 if delta else 0.1) / float(epsilon) + 0.001 * seed}

    monkeypatch.setattr(monotone, "measure", worse_with_delta)
    arguments = ["--tables", "tiny", "--epsilons", "1", "3", "--runs", "3", "--cache", str(cache)]
    monotone.main([*arguments, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["steps"] == 4
    assert [(rise["from"], rise["to"]) for rise in result["rises"]] == [
        ("ε = 1", "ε = 1, δ = 1e-9"),
        ("ε = 3", "ε = 3, δ = 1e-9"),
    ]
    assert result["sure_rises"] == 2
    monotone.main(arguments)
    assert "2 of 4 steps rise" in capsys.readouterr().out


def test_monotone_measures_whole_releases(tiny: Source, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monotone.main(["--tables", "tiny", "--epsilons", "1", "--runs", "1", "--no-learner", "--cache", str(cache)])
    assert "| tiny | 1 | – |" in capsys.readouterr().out


@pytest.fixture
def rule_book(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Rules of its own, and a module of rankveil that imported one by name."""
    rules, user = ModuleType("rankveil.rules"), ModuleType("rankveil.user_of_rules")
    rules.SHARE = user.SHARE = "half"  # type: ignore[attr-defined]
    rules.ABLATIONS = {"sharing": {"SHARE": "none"}}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rankveil.rules", rules)
    monkeypatch.setitem(sys.modules, "rankveil.user_of_rules", user)
    return rules


def test_a_rule_is_removed_wherever_it_is_used_and_put_back(rule_book: ModuleType) -> None:
    places = [rule_book, sys.modules["rankveil.user_of_rules"]]
    with ablation.removed({"SHARE": "none"}, rule_book):
        assert [place.SHARE for place in places] == ["none", "none"]
    assert [place.SHARE for place in places] == ["half", "half"]
    with pytest.raises(AttributeError), ablation.removed({"NO_SUCH_CONSTANT": 1}, rule_book):
        pass


def test_ablation_divides_errors_without_a_rule_by_errors_with_it(
    tiny: Source,
    cache: Path,
    rule_book: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def error(source: Source, ruler: Ruler, epsilon: str, seed: int, changes: object, module: ModuleType) -> dict:
        with ablation.removed(changes, module):  # type: ignore[arg-type]
            return {"1-way TV": 0.199 if module.SHARE == "none" else 0.099}

    monkeypatch.setattr(ablation, "measure", error)
    arguments = ["--tables", "tiny", "--epsilons", "1", "--runs", "1", "--cache", str(cache)]
    ablation.main([*arguments, "--json"])
    [line] = json.loads(capsys.readouterr().out)["lines"]
    assert line["chooses"] == {"1-way TV": pytest.approx(2), "all": pytest.approx(2)}
    ablation.main(arguments)
    assert "| sharing | 2.000 | 2.000 |" in capsys.readouterr().out


def test_ablation_measures_whole_releases(tiny: Source, rule_book: ModuleType) -> None:
    found = ablation.measure(tiny, Ruler(tiny), "1", 1, {"SHARE": "none"}, rule_book)
    assert set(found) == {"1-way TV", "2-way TV", "3-way TV", "W1/σ", "learner's loss"}
