"""Before the budget is spent: the comparison, the attack view, the dry run; and after it, the first rows."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankveil.ledger import Ledger
from rankveil.methods import METHODS
from rankveil.web.choices import published_choices, sound_choices
from rankveil.web.home import Working
from rankveil.web.jobs import ahead_of, job_named
from tests.support import Ran
from tests.web_support import PEOPLE, PEOPLE_PLAN, Visitor, until


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def done(visitor: Visitor, working: Working, kind: Any, form: dict[str, Any]) -> str:
    """The report of a comparison or an attack."""
    answer = visitor.post(f"/w/{working.id}/method/{kind}", form)
    assert answer.status_code == 303
    job = ahead_of(working, kind)[0]
    until(lambda: not job.status().running)
    assert job.status().state == "done", job.status()
    return str(visitor.get(f"/w/{working.id}/releases/{job.id}/report/{kind}.internal.html").text)


def command_shown(text: str, name: str) -> list[str]:
    found = re.search(rf'id="code-{name}"[^>]*>(.*?)</pre>', text, re.DOTALL)
    assert found is not None
    return shlex.split(found[1].replace("\\\n", " ").splitlines()[0])


def test_a_comparison_is_made_before_anything_is_released_and_spends_nothing(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    assert "Compare methods and ε" in visitor.get(f"/w/{working.id}/method").text
    report = done(visitor, working, "compare", {"methods": ["laplace"], "epsilons": "1, 5", "runs": "1"})
    assert "Computed on a stand-in" in report
    report = done(visitor, working, "attack", {"which": "some", "sample": "2", "methods": ["synthetic"]})
    assert "No attack was run." in report
    assert "2 rows of 300 looked at." in report
    with Ledger(ledger_of_this_test) as book:
        assert book.entries() == []
    text = visitor.get(f"/w/{working.id}/method/compare").text
    command = command_shown(text, "compare")
    expected = "compare --plan plan.toml --stand-in made --methods laplace --epsilons 1,5 --runs 1"
    assert " ".join(command) == f"rankveil {expected}", "the command gives what the page shows"
    again = visitor.post(f"/w/{working.id}/method/compare", {"methods": ["laplace"], "epsilons": "1, 5", "runs": "1"})
    assert again.status_code == 303
    assert len(ahead_of(working, "compare")) == 1, "what is done is not computed again"
    visitor.post(f"/w/{working.id}/method", {"method": "synthetic", "epsilon": "2", "version": "0"})
    assert "The plan has changed since" in visitor.get(f"/w/{working.id}/method/compare").text


def test_a_comparison_on_the_table_itself_is_internal(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = {"methods": ["laplace"], "epsilons": "1", "runs": "1", "on": "table"}
    assert "INTERNAL" in done(visitor, working, "compare", form)
    command = command_shown(visitor.get(f"/w/{working.id}/method/compare").text, "compare")
    assert command[:3] == ["rankveil", "compare", "people.csv"]
    assert "--stand-in" not in command


def test_a_comparison_that_makes_no_sense_says_so(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    visitor.post(f"/w/{working.id}/method/compare", {"methods": ["laplace"], "epsilons": "none", "runs": "1"})
    text = until(lambda: (text := visitor.get(f"/w/{working.id}/method/compare").text).count("is no ε") and text)
    assert "Give ε as positive numbers" in text


def test_the_attack_view_is_made_before_anything_is_released_and_is_internal(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    report = done(visitor, working, "attack", {"which": "all", "sample": "3", "methods": ["laplace"]})
    assert "INTERNAL" in report
    assert "3 rows of 300 attacked" in report
    assert "not attacked, only what ε allows:" in report
    command = command_shown(visitor.get(f"/w/{working.id}/method/attack").text, "attack")
    assert command[:3] == ["rankveil", "attack", "people.csv"] and "--method" not in command
    report = done(visitor, working, "attack", {"which": "some", "sample": "2", "methods": ["laplace", "synthetic"]})
    assert "aligned" not in report
    command = command_shown(visitor.get(f"/w/{working.id}/method/attack").text, "attack")
    assert command[-4:] == ["--method", "laplace", "--method", "synthetic"]
    with Ledger(ledger_of_this_test) as book:
        assert book.entries() == []


def test_an_attack_on_a_table_whose_copy_was_removed_is_refused(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    Path(working.read().table).unlink()
    answer = visitor.post(f"/w/{working.id}/method/attack", {"which": "all", "sample": "3"})
    assert answer.status_code == 422
    assert "was removed when the page was closed" in answer.text
    assert ahead_of(working, "attack") == []


def test_the_dry_run_brings_the_plan_it_is_of_and_the_command_line_gives_its_numbers(
    visitor: Visitor, run_cli: Callable[..., Ran], tmp_path: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    part = visitor.get(f"/w/{working.id}/dry-run?method=synthetic&epsilon=0.25&delta=1e-9").text
    plan = re.search(r'id="code-plan"[^>]*>(.*?)</pre>', part, re.DOTALL)
    assert plan is not None
    (tmp_path / "plan.toml").write_text(html.unescape(plan[1]))
    (tmp_path / "people.csv").write_text(PEOPLE)
    ran = run_cli("release", tmp_path / "people.csv", "--plan", tmp_path / "plan.toml", "--dry-run", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert (found["epsilon"], found["rows"]) == ("0.25", 300)
    shown = [html.unescape(text) for text in re.findall(r"<td>([^<]*)</td><td><svg", part)]
    assert found["intervals"]
    assert shown == [each["answer"] for each in [*found["expectations"], *found["intervals"]]]


def test_every_method_is_described_in_plain_words_and_one_is_recommended() -> None:
    sound, published = sound_choices(), published_choices()
    assert {one.name for one in [*sound, *published]} == set(METHODS)
    assert [one.name for one in sound if one.recommended] == ["synthetic"]
    assert sound[0].name == "synthetic"
    assert all(one.use and one.title != one.name for one in sound)


def test_the_first_rows_of_a_release_are_those_of_its_file(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = visitor.release_form(working)
    visitor.post(f"/w/{working.id}/release", form)
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    text = visitor.get(f"/w/{working.id}/releases/{job.id}").text
    table = re.search(r'<table class="plain rows">(.*?)</table>', text, re.DOTALL)
    release = job.release_file()
    assert table is not None and release is not None
    head, *lines = release.read_text().splitlines()
    assert re.findall(r'<th scope="col">([^<]*)</th>', table[1]) == head.split(",")
    cells = re.findall(r"<td>([^<]*)</td>", table[1])
    assert cells == [value for line in lines[:10] for value in line.split(",")]


# The example


def test_the_example_comes_with_its_plan_and_nothing_to_confirm(visitor: Visitor) -> None:
    assert "Try the example" in visitor.get("/").text
    answer = visitor.post("/example")
    assert answer.status_code == 303
    working = visitor.home.workings()[0]
    assert working.read().rows == 32_561
    assert working.plan().guesses == {}
    assert visitor.post("/example").headers["location"] == answer.headers["location"], "the same session goes on"


def test_the_example_is_refused_beside_a_table_of_ones_own(run_cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    ran = run_cli("web", tmp_path / "people.csv", "--demo")
    assert (ran.code, "brings its own table" in ran.text) == (2, True)


def test_every_file_of_the_example_is_in_the_wheel() -> None:
    from rankveil.web.tables import _EXAMPLE_TAXONOMIES, example

    listed = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    named = [path.name for path in example()] + list(_EXAMPLE_TAXONOMIES)
    assert all(f'"examples/{name}" = "rankveil/examples/{name}"' in listed for name in named)
    text = example()[1].read_text()
    assert set(re.findall(r'taxonomy = "([^"]+)"', text)) == set(_EXAMPLE_TAXONOMIES)


def test_what_is_offered_for_a_comparison_goes_with_the_plan(visitor: Visitor) -> None:
    special = PEOPLE_PLAN.replace("upper = 120", "upper = 120\nspecial = [999]")
    working = visitor.upload(plan=special)
    text = visitor.get(f"/w/{working.id}/method/compare").text
    assert re.findall(r'name="methods" value="([a-z]+)"', text) == ["synthetic"]
    assert "Only methods are listed" in text
    done(visitor, working, "compare", {"methods": ["synthetic"], "epsilons": "1", "runs": "1", "on": "made"})


def test_nothing_is_drawn_by_guesses_and_the_page_says_so_in_its_words(visitor: Visitor) -> None:
    working = visitor.upload()
    answer = visitor.post(f"/w/{working.id}/method/compare", {"methods": ["synthetic"], "epsilons": "1", "runs": "1"})
    assert "are not confirmed" in answer.text and "Confirm or edit them in Columns" in answer.text
    assert not ahead_of(working, "compare")
