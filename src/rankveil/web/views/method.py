"""Method and ε, with the dry run beside them, from the plan and the number of rows."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from rankveil.declare import Plan
from rankveil.declare.plan_file import plan_toml
from rankveil.errors import RankveilError
from rankveil.meaning import LARGE
from rankveil.methods import METHODS, method_named
from rankveil.preview import preview
from rankveil.report.preview import of_preview
from rankveil.web.choices import published_choices, sound_choices
from rankveil.web.home import RELEASE_PART, FormError, State
from rankveil.web.site import Ask
from rankveil.web.words import in_page_words

_EMPTY = dict.fromkeys(("method", "epsilon", "delta", "k", "population"), "")
_FIELDS = tuple(_EMPTY)
_NOTHING = "This method promises nothing, whatever ε is."


def method_page(ask: Ask) -> Response:
    refused = ask.refused_form
    if refused is not None:
        return _page(ask, _EMPTY | dict(refused.values), refused.error)
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
        fields=error.fields if isinstance(error, FormError) else (),
        sound=sound_choices(),
        published=published_choices(),
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
        shown, meaning = of_preview(looked), looked.meaning or _NOTHING
        return {"error": None, "fragment": shown, "meaning": meaning, "large": large, "plan": plan_toml(changed)}
    except RankveilError as error:
        method = METHODS.get(values["method"])
        meaning = _NOTHING if method and not method.differentially_private else ""
        return {"error": in_page_words(error), "fragment": None, "meaning": meaning, "large": False, "plan": state.plan}


def save_method(ask: Ask) -> Response:
    values = {key: ask.text(key).strip() for key in _FIELDS}
    try:
        changed = _with(ask.working.plan(), values)
        ask.working.change_plan(RELEASE_PART, ask.number("version"), changed.release.model_dump())
    except RankveilError as error:
        return ask.again(f"{ask.here}/method", error, values)
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
