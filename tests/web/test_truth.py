"""What the page says about a release that was cancelled, killed or outlived its page: what the ledger says."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from rankveil.ledger import Ledger
from rankveil.temporary import _prefix
from rankveil.web.home import Working
from rankveil.web.jobs import Job, job_named
from rankveil.web.serve import close
from tests.web_support import AFTER_THE_SPEND, BEFORE_THE_SPEND, PEOPLE_PLAN, Visitor, until, waiting_jobs


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def waiting(visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> tuple[Working, Job, Path]:
    """A release that has come to a stage and waits there."""
    environment: Mapping[str, str]
    environment, go_on = waiting_jobs(tmp_path, stage)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = visitor.release_form(working)
    visitor.post(f"/w/{working.id}/release", form)
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: job.status().stage == stage)
    assert job.status().running
    return working, job, go_on


def spends(ledger: Path) -> int:
    with Ledger(ledger) as book:
        return sum(entry.kind == "spend" for entry in book.entries())


@pytest.mark.parametrize(("stage", "spent"), [(BEFORE_THE_SPEND, 0), (AFTER_THE_SPEND, 1)])
def test_a_cancelled_release_says_truly_whether_its_budget_is_spent(
    visitor: Visitor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ledger_of_this_test: Path,
    stage: str,
    spent: int,
) -> None:
    working, job, _ = waiting(visitor, tmp_path, monkeypatch, stage)
    assert visitor.post(f"/w/{working.id}/releases/{job.id}/cancel").status_code == 303
    assert job.status().state == "cancelled"
    text = visitor.get(f"/w/{working.id}/releases/{job.id}").text
    assert ("Its budget is spent: entry 1 of the ledger" in text) == bool(spent)
    assert ("No budget was spent" in text) == (not spent)
    assert spends(ledger_of_this_test) == spent
    assert not [path for path in job.out.rglob("*") if path.is_file()] if job.out.exists() else True


@pytest.mark.parametrize(("stage", "spent"), [(BEFORE_THE_SPEND, 0), (AFTER_THE_SPEND, 1)])
def test_a_release_whose_process_was_killed_says_what_the_ledger_says(
    visitor: Visitor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ledger_of_this_test: Path,
    stage: str,
    spent: int,
) -> None:
    working, job, _ = waiting(visitor, tmp_path, monkeypatch, stage)
    os.kill(int((job.folder / "pid").read_text()), signal.SIGKILL)
    until(lambda: not job.alive())
    assert job.status().state == "broken"
    text = visitor.get(f"/w/{working.id}/releases/{job.id}").text
    assert "Interrupted" in text
    assert ("Its budget is spent: entry 1 of the ledger" in text) == bool(spent)
    assert spends(ledger_of_this_test) == spent
    # The same form again neither spends nor starts anything.
    form = {"release_id": job.id, "plan_sha256": working.plan().sha256()}
    assert visitor.post(f"/w/{working.id}/release", form).status_code == 303
    assert not job.alive()
    assert spends(ledger_of_this_test) == spent


def test_a_release_outlives_its_page_and_then_removes_the_copy_it_was_reading(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger_of_this_test: Path
) -> None:
    working, job, go_on = waiting(visitor, tmp_path, monkeypatch, AFTER_THE_SPEND)
    copy = Path(working.read().table)
    close(visitor.home, "test", visitor.home.servers_folder / "door-1.json")
    assert copy.exists()
    go_on.touch()
    until(lambda: not job.alive())
    assert job.status().state == "done"
    assert not copy.exists()
    assert spends(ledger_of_this_test) == 1


def test_a_second_release_waits_for_the_first(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger_of_this_test: Path
) -> None:
    working, job, go_on = waiting(visitor, tmp_path, monkeypatch, AFTER_THE_SPEND)
    text = visitor.get(f"/w/{working.id}/release").text
    assert "A release is at work" in text
    assert "release_id" not in text
    form = {"release_id": working.read().next_release, "plan_sha256": working.plan().sha256()}
    assert visitor.post(f"/w/{working.id}/release", form).status_code == 409
    go_on.touch()
    until(lambda: not job.alive())
    assert spends(ledger_of_this_test) == 1


def test_a_page_that_died_between_making_a_release_and_starting_it_has_spent_nothing(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = visitor.release_form(working)
    (working.jobs_folder / form["release_id"]).mkdir()
    text = visitor.get(f"/w/{working.id}/releases/{form['release_id']}").text
    assert "never started" in text
    assert "No budget was spent" in text
    # The page goes on under another id.
    again = visitor.release_form(working)
    assert again["release_id"] != form["release_id"]
    assert spends(ledger_of_this_test) == 0


def test_a_release_killed_after_its_last_step_counts_as_released(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = visitor.release_form(working)
    visitor.post(f"/w/{working.id}/release", form)
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.alive())
    (job.folder / "result.json").unlink()
    status = job.status()
    assert (status.state, status.ledger.published, status.written) == ("done", True, True)


def test_what_a_killed_release_has_left_half_done_is_tidied_away(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working, job, _ = waiting(visitor, tmp_path, monkeypatch, AFTER_THE_SPEND)
    os.kill(int((job.folder / "pid").read_text()), signal.SIGKILL)
    until(lambda: not job.alive())
    (job.out / f"{_prefix()}abcdefgh.tmp").mkdir()
    (job.out / f"{_prefix()}abcdefgh.tmp" / "release.csv").write_text("rows")
    visitor.get(f"/w/{working.id}/releases/{job.id}")
    assert list(job.out.iterdir()) == []
