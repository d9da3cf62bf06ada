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
from rankveil.web.home import RELEASE_PART, State
from rankveil.web.site import Ask

_FIELDS = ("method", "epsilon", "delta", "k", "population")


def method_page(ask: Ask) -> Response:
    asked = "method" in ask.request.query_params  # without scripts the dry run is a page
    return _page(ask, _asked(ask) if asked else _shown(ask.working.plan()))


def _asked(ask: Ask) -> dict[str, str]:
    return {key: ask.request.query_params.get(key, "").strip()[:200] for key in _FIELDS}


def _page(ask: Ask, values: dict[str, str], error: RankveilError | None = None) -> Response:
    state = ask.working.read()
    return ask.step(
        "method.html.jinja",
        "method",
        error=error,
        values=values,
        sound=[method for method in METHODS.values() if method.differentially_private],
        published=[method for method in METHODS.values() if not method.differentially_private],
        chosen=METHODS.get(values["method"], METHODS["synthetic"]),
        settings_version=state.versions.get(RELEASE_PART, 0),
        dry_run=_dry_run(ask.working.plan(state), state, values),
        alone=False,
    )


def dry_run(ask: Ask) -> Response:
    """The part of the page that follows the slider."""
    state, values = ask.working.read(), _asked(ask)
    return ask.page(
        "dry_run.html.jinja",
        alone=True,
        chosen=METHODS.get(values["method"], METHODS["synthetic"]),
        dry_run=_dry_run(ask.working.plan(state), state, values),
    )


def _dry_run(plan: Plan, state: State, values: dict[str, str]) -> dict[str, Any]:
    try:
        changed = _with(plan, values)
        looked = preview(changed, state.rows)
        large = bool(looked.meaning) and changed.release.epsilon > LARGE
        meaning = looked.meaning or "This method promises nothing, whatever ε is."
        return {"error": None, "fragment": of_preview(looked), "meaning": meaning, "large": large}
    except RankveilError as error:
        return {"error": error, "fragment": None, "meaning": "", "large": False}


def save_method(ask: Ask) -> Response:
    values = {key: ask.text(key).strip() for key in _FIELDS}
    try:
        changed = _with(ask.working.plan(), values)
        ask.working.change_plan(RELEASE_PART, ask.number("version"), changed.release.model_dump())
    except RankveilError as error:
        return _page(ask, values, error)
    return ask.go(f"{ask.here}/release")


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
