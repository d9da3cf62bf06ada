"""The page of benchmarks and the figures of other pages are what benchmarks/results says today."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import page


@pytest.mark.parametrize("path", page.contents(), ids=lambda path: path.name)
def test_pages_and_tables_are_what_the_results_say(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == page.contents()[path], "run: python -m benchmarks.page"


def test_the_page_is_one_screen_and_links_every_table() -> None:
    text = page.page()
    assert len(text.splitlines()) < 60
    assert set(re.findall(r"benchmarks/([a-z-]+)\.csv", text)) == set(page.tables()) - {"expected-widths"}


def test_losses_are_counted_where_another_system_has_the_smaller_error() -> None:
    won = {"ours_at_or_above_best_peer": True, "ours_best_on": ["auc_shortfall"]}
    lost = {"ours_at_or_above_best_peer": True, "ours_best_on": []}
    unknown = {"ours_at_or_above_best_peer": None, "ours_best_on": ["auc_shortfall"]}
    assert page.best_on([won, lost, unknown], "auc_shortfall") == (1, 2)


def test_new_results_lose_the_mark_of_an_older_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "OLDER", {"44136fa355b3": "of an older model"})  # SHA-256 of {}
    (tmp_path / "scale.json").write_text("{}", encoding="utf-8")
    assert page.mark("scale") == ", of an older model"
    (tmp_path / "scale.json").write_text(json.dumps({"runs": 1}), encoding="utf-8")
    assert page.mark("scale") == ""
