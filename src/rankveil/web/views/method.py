"""Method and ε, with the dry run beside them, from the plan and the number of rows."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from rankveil.declare import Plan
from rankveil.errors import RankveilError
from rankveil.meaning import LARGE
from rankveil.methods import METHODS, method_named
from rankveil.preview import preview
from rankveil.report.preview import of_preview
from rankveil.web.home import RELEASE_PART, State, Working
from rankveil.web.site import Ask, status_of

_FIELDS = ("method", "epsilon", "delta", "k", "population")


def method_page(ask: Ask) -> Response:
    working = ask.working
    state = working.read()
    asked = ask.request.query_params
    values = _asked(ask) if "method" in asked else _shown(working.plan(state))  # without scripts the dry run is a page
    return _page(ask, working, state, values, None)


def _asked(ask: Ask) -> dict[str, str]:
    return {key: ask.request.query_params.get(key, "").strip()[:200] for key in _FIELDS}


def _page(
    ask: Ask, working: Working, state: State, values: dict[str, str], error: RankveilError | None, status: int = 200
) -> Response:
    plan = working.plan(state)
    return ask.step(
        "method.html.jinja",
        working,
        "method",
        status,
        plan=plan,
        values=values,
        sound=[method for method in METHODS.values() if method.differentially_private],
        published=[method for method in METHODS.values() if not method.differentially_private],
        chosen=METHODS.get(values["method"], METHODS["synthetic"]),
        settings_version=state.versions.get(RELEASE_PART, 0),
        error=None if error is None else error.as_dict(),
        dry_run=_dry_run(plan, state, values),
        alone=False,
    )


def dry_run(ask: Ask) -> Response:
    """The part of the page that follows the slider."""
    working = ask.working
    state = working.read()
    values = _asked(ask)
    return ask.page(
        "dry_run.html.jinja",
        alone=True,
        chosen=METHODS.get(values["method"], METHODS["synthetic"]),
        dry_run=_dry_run(working.plan(state), state, values),
    )


def _dry_run(plan: Plan, state: State, values: dict[str, str]) -> dict[str, Any]:
    try:
        changed = _with(plan, values)
        looked = preview(changed, state.rows)
        large = bool(looked.meaning) and changed.release.epsilon > LARGE
        meaning = looked.meaning or "This method promises nothing, whatever ε is."
        return {"error": None, "fragment": of_preview(looked), "meaning": meaning, "large": large}
    except RankveilError as error:
        return {"error": error.as_dict(), "fragment": None, "meaning": "", "large": False}


def save_method(ask: Ask) -> Response:
    working = ask.working
    values = {key: ask.text(key).strip() for key in _FIELDS}
    try:
        changed = _with(working.plan(), values)
        working.change_plan(RELEASE_PART, ask.number("version"), changed.release.model_dump())
    except RankveilError as error:
        return _page(ask, working, working.read(), values, error, status_of(error))
    return ask.go("w", working.id, "release")


def _with(plan: Plan, values: dict[str, str]) -> Plan:
    """The plan with these settings. A setting that the method has no use for is left as the plan has it."""
    method = method_named(values["method"])
    content = plan.model_dump()
    content["release"] |= {
        "method": method.name,
        "epsilon": values["epsilon"],
        "delta": (values["delta"] or None) if method.uses_delta else None,
        "population": values["population"] or None,
    }
    if method.needs_clusters:
        content["release"]["k"] = values["k"] or None
    return Plan.from_dict(content, name="plan.toml", folder=plan.folder)


def _shown(plan: Plan) -> dict[str, str]:
    release = plan.release
    return {
        "method": release.method,
        "epsilon": f"{release.epsilon:f}",
        "delta": "" if release.delta is None else str(release.delta).lower(),
        "k": "" if release.k is None else str(release.k),
        "population": release.population or "",
    }
