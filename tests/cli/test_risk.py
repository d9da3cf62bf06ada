"""`rankveil risk`: internal in its first line, its page and its file name; refused where something does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.csv as pacsv
import pytest

from rankveil.declare import Plan
from rankveil.noise import SeededSource
from rankveil.release import release
from rankveil.report.risk import as_page, as_section, specification
from rankveil.risk import risk
from rankveil.risk.rates import Rate
from tests.support import Ran, plan_text
from tests.unit.risk.test_attacks import COLUMNS, people

FEW = ("--targets", "60", "--quiet")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    pacsv.write_csv(people(300, 1), tmp_path / "people.csv")
    pacsv.write_csv(people(200, 2), tmp_path / "others.csv")
    (tmp_path / "plan.toml").write_text(plan_text(COLUMNS, method="laplace"), encoding="utf-8")
    release(tmp_path / "people.csv", tmp_path / "plan.toml", out=tmp_path / "out", source=SeededSource(1))
    return tmp_path


def test_the_command_shows_all_criteria_and_writes_an_internal_page(made: Path, cli: Callable[..., Ran]) -> None:
    arguments = ("risk", "people.csv", "out", "--plan", "plan.toml", "--held-out", "others.csv", "--shadows", "40")
    ran = cli(*arguments, "--html", "risk.html", *FEW)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("INTERNAL") and "released file itself" in ran.out
    for word in ("singling out", "linkability", "inference", "Nearest record", "Membership: ε is at least"):
        assert word in ran.out
    page = (made / "risk.internal.html").read_text(encoding="utf-8")
    assert page.startswith("<!-- INTERNAL") and "<script" not in page and "How to read it" in page
    found = json.loads(cli(*arguments, "--json", *FEW).out)
    assert found["note"].startswith("INTERNAL") and found["members_sampled"] == 60
    for attack in found["attacks"]:
        assert attack["low"] <= attack["risk"] <= attack["high"]
        assert f"{attack['risk']:.3f}" in page


def test_a_section_for_another_page_has_the_same_figures() -> None:
    text = plan_text(COLUMNS, method="published:ranking", k=5)
    plan = Plan.parse(text)
    table = people(300, 1)
    out = release(table, plan, accept_no_guarantee=True, source=SeededSource(1)).table
    result = risk(table, out, plan, held_out=people(300, 2), targets=60, shadows=0)
    section = as_section(result)
    assert "<html" not in section and section.strip() in as_page(result)
    assert "without a guarantee" in section and "none" in section
    low = replace(result.attacks[0], members=Rate(0, 20), others=Rate(12, 20))
    (value,) = specification(replace(result, attacks=(low,)))["data"]["values"]
    assert low.risk < value["low"] <= value["risk"] <= value["high"], "drawn to the left of the axis"


def test_the_risk_is_a_section_of_the_report_if_asked_for(made: Path, cli: Callable[..., Ran]) -> None:
    arguments = ("evaluate", "people.csv", "out", "--plan", "plan.toml", "--risk", "--quiet")
    assert cli(*arguments).code == 2
    ran = cli(*arguments, "--html", "report.html")
    assert ran.code == 0, ran.err
    page = (made / "report.internal.html").read_text(encoding="utf-8")
    assert 'id="risk"' in page and 'href="#risk"' in page and "singling out" in page


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--held-out", "people.csv"), 3, "those of the table"),
        (("--held-out", "others.csv", "--control-share", "0.2"), 2, "Give one of them"),
        (("--targets", "3"), 2, "targets"),
        (("--plan", "nothing.toml"), 2, "cannot be read"),
    ],
)
def test_bad_input_is_refused_in_words(
    made: Path, cli: Callable[..., Ran], more: tuple[str, ...], code: int, said: str
) -> None:
    ran = cli("risk", "people.csv", "out", "--plan", "plan.toml", "--quiet", "--shadows", "0", *more)
    assert (ran.code, said in " ".join(ran.err.split())) == (code, True), ran.err
    assert "Traceback" not in ran.err and not list(made.glob("*.html"))
