"""The driver of the coverage runs: order, breaks, figures; and the page that shows them."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from benchmarks.coverage import page, runs
from benchmarks.coverage.figures import summary
from benchmarks.coverage.runs import Found, Setting, Store
from benchmarks.page import mark, result

ONE, OTHER = Setting("adult", "1", None), Setting("nltcs", "1", "1e-9")


def found(estimate: float, *, supported: bool = True) -> Found:
    about = {"target": "table", "kind": "one-way", "ask": "share(a = 1) | all", "truth": 0.5}
    numbers = {"estimate": estimate, "error": 0.01, "low": estimate - 0.02, "high": estimate + 0.02, "naive": 0.004}
    return [{**about, **numbers, "supported": supported}]


def test_the_tables_of_the_page_are_those_of_the_results() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text, result("coverage"), mark("coverage")) == text


def test_figures_that_miss_an_aim_are_marked() -> None:
    cell = {"table": "a", "target": "table", "supported": True, "width over oracle": 1.0, "releases": 2}
    cells = [
        {**cell, "kind": kind, "epsilon": epsilon, "coverage 95": 0.89 if kind == "two-way" else 0.95}
        for kind in ("one-way", "two-way", "all")
        for epsilon in ("1", "all")
    ]
    last = page._aims(cells).splitlines()[-1]
    assert last == "| a, table | 95.0 | **89.0, missed** | **two-way least: 89.0, missed** | 1.00 | 1 of 1 |"


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page.written("nothing here", {"cells": [], "beside expected": [], "replicates": 20})


def test_a_stopped_run_counts_as_many_releases_of_each_setting(tmp_path: Path) -> None:
    store = Store([tmp_path / "runs.jsonl"], 20)
    for setting, seed in ((ONE, 1), (OTHER, 1), (ONE, 2)):
        store._keep(setting, seed, found(0.5), 1.0)
    again = Store([tmp_path / "runs.jsonl"], 20)
    assert {setting: len(several) for setting, several in again.together([ONE, OTHER], 5).items()} == {ONE: 1, OTHER: 1}


def test_releases_of_other_code_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store([tmp_path / "runs.jsonl"], 20)._keep(ONE, 1, found(0.5), 1.0)
    monkeypatch.setattr(runs, "fingerprint", lambda: "other")
    assert Store([tmp_path / "runs.jsonl"], 20).get(ONE, 1) is None


class Pool:
    """In place of other processes: notes what it is given."""

    made: list[tuple[Setting, int]]

    def __init__(self, *_: object) -> None: ...

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, _: object, setting: Setting, seed: int, replicates: int) -> Future[tuple[Found, float]]:
        self.made.append((setting, seed))
        done: Future[tuple[Found, float]] = Future()
        done.set_result((found(0.5), 1.0))
        return done


def test_the_first_release_of_every_setting_comes_before_the_second_of_any_and_none_is_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Setting, int]] = []
    monkeypatch.setattr(Pool, "made", made, raising=False)
    monkeypatch.setattr(runs, "ProcessPoolExecutor", Pool)
    for _ in range(2):
        Store([tmp_path / "runs.jsonl"], 20).make([ONE, OTHER], 2, workers=1, minutes=1)
        assert made == [(ONE, 1), (OTHER, 1), (ONE, 2), (OTHER, 2)]


def test_no_release_begins_after_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "made", [], raising=False)
    monkeypatch.setattr(runs, "ProcessPoolExecutor", Pool)
    Store([tmp_path / "runs.jsonl"], 20).make([ONE, OTHER], 2, workers=1, minutes=0)
    assert not Pool.made


def test_coverage_is_of_intervals_that_hold_the_truth() -> None:
    several = [found(0.5), found(0.51), found(0.6), found(0.7, supported=False)]
    cells = {(cell["kind"], cell["supported"]): cell for cell in summary(several, 20)}
    assert cells["one-way", True]["coverage 95"] == pytest.approx(2 / 3)
    assert cells["one-way", True]["naive 95"] == pytest.approx(1 / 3)
    assert cells["one-way", False]["coverage 95"] == 0
