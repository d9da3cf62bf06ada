"""Looking ahead, before anything is spent: methods side by side, and what an attacker would learn."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from starlette.responses import Response

from rankveil.certificate import plain
from rankveil.compare.sweep import usual_methods
from rankveil.consent import goes_with
from rankveil.methods import METHODS
from rankveil.web import commands, jobs
from rankveil.web.choices import published_choices, sound_choices
from rankveil.web.columns import guesses_left, where_left
from rankveil.web.home import FormError
from rankveil.web.site import Ask
from rankveil.web.tables import table_of

_MOST_RUNS, _MOST_ATTACKED = 20, 500


def compare_page(ask: Ask) -> Response:
    """Methods and ε side by side, on the table or on one made from the plan alone, which costs no privacy."""
    plan = ask.working.plan()
    found = _latest(ask, "compare")
    defaults = {
        "on": "made",
        "methods": usual_methods(plan),
        "epsilons": _around(plan.release.epsilon),
        "runs": 2,
    }
    return _page(ask, "compare", found, defaults, [one for one in sound_choices() if goes_with(plan, one.method)])


def attack_page(ask: Ask) -> Response:
    """What somebody who knows everyone else would learn about one record."""
    found, plan = _latest(ask, "attack"), ask.working.plan()
    choices = [one for one in [*sound_choices(), *published_choices()] if goes_with(plan, one.method)]
    defaults = {"methods": [], "sample": 20}  # none is named: all that fit the plan
    return _page(ask, "attack", found, defaults, choices)


def _page(ask: Ask, kind: jobs.Kind, found: dict[str, Any] | None, defaults: dict[str, Any], choices: Any) -> Response:
    state, plan = ask.working.read(), ask.working.plan()
    options = {**defaults, **((found["spec"].options or {}) if found else {})}
    report = "compare.internal.html" if kind == "compare" else "attack.internal.html"
    return ask.step(
        f"{kind}.html.jinja",
        "method",
        found=found,
        options=options,
        choices=choices,
        plan=plan,
        keeps_more=not goes_with(plan, METHODS["laplace"]),
        outdated=found is not None and jobs.looked_ahead(found["job"].plan()) != jobs.looked_ahead(plan),
        report=report,
        lines=commands.to_compare(state, options) if kind == "compare" else commands.to_attack(state, options),
    )


def _latest(ask: Ask, kind: jobs.Kind) -> dict[str, Any] | None:
    for job in jobs.ahead_of(ask.working, kind):
        return {"job": job, "spec": job.spec, "status": job.status()}
    return None


def compare(ask: Ask) -> Response:
    on = "table" if ask.text("on") == "table" else "made"
    options = {
        "methods": _named(ask),
        "epsilons": ", ".join(text.strip() for text in ask.text("epsilons").split(",") if text.strip()),
        "runs": min(max(ask.number("runs"), 1), _MOST_RUNS),
        "on": on,
    }
    return _begin(ask, "compare", options, reads=on == "table")


def attack(ask: Ask) -> Response:
    named = [] if ask.text("which") != "some" else _named(ask)
    options = {"methods": named, "sample": min(max(ask.number("sample"), 1), _MOST_ATTACKED)}
    return _begin(ask, "attack", options, reads=True)


def _named(ask: Ask) -> list[str]:
    return [name for name in ask.form.getlist("methods") if isinstance(name, str)]


def _begin(ask: Ask, kind: jobs.Kind, options: dict[str, Any], *, reads: bool) -> Response:
    plan = ask.working.plan()
    if plan.guesses:
        raise FormError(
            f"{guesses_left(plan)} guesses in {where_left(plan)} are not confirmed, and nothing is drawn by guesses.",
            remedy="Confirm or edit them in Columns; then come back.",
        )
    if reads:
        table_of(ask.working.read())  # refuses, before a job is started, where a copy was removed
    jobs.ahead(ask.working, kind, options, ledger=ask.site.ledger)
    return ask.go(f"{ask.here}/method/{kind}#found")


def _around(epsilon: Decimal) -> str:
    """A tenth, the plan's own, ten times as much."""
    return ", ".join(plain(epsilon * factor) for factor in (Decimal("0.1"), Decimal(1), Decimal(10)))
