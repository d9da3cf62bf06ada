"""Columns as cards: confirming what was guessed, editing what is wrong."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from rankveil.declare import Plan
from rankveil.declare.domain import domain_of
from rankveil.declare.plan import TABLE_PART, DropColumn
from rankveil.errors import PlanError, RankveilError
from rankveil.web.columns import (
    DECIMAL_MARKS,
    KINDS,
    THOUSANDS_MARKS,
    Card,
    card,
    cards,
    confirmed,
    entry_from,
    form_values,
    guesses_left,
    posted_values,
    table_card,
    taxonomy_outline,
    where_left,
)
from rankveil.web.home import StaleError, Working, column_part
from rankveil.web.site import Ask, status_of
from rankveil.web.tables import keep_file


def columns_page(ask: Ask) -> Response:
    """All cards; `?edit=3` opens the form of one, `&kind=date` with the fields of another kind."""
    return _whole_page(ask, ask.working, _editing(ask))


def _editing(ask: Ask) -> dict[str, Any] | None:
    text = ask.request.query_params.get("edit", "")
    if not text.isdigit() or len(text) > 5:
        return None
    return _edit(int(text), kind=ask.request.query_params.get("kind"))


def _edit(place: int, **known: Any) -> dict[str, Any]:
    """What a card with an open form, or with a refusal, is made from."""
    return {"place": place, "kind": None, "values": None, "error": None, "stale": False, "read_only": False, **known}


def _whole_page(
    ask: Ask,
    working: Working,
    editing: dict[str, Any] | None,
    status: int = 200,
    table_error: dict[str, Any] | None = None,
) -> HTMLResponse:
    state = working.read()
    plan = working.plan(state)
    if editing is not None and editing["place"] >= len(plan.columns):
        editing = None
    return ask.step(
        "columns.html.jinja",
        working,
        "columns",
        status,
        cards=cards(plan, state),
        table_card=table_card(plan, state),
        table_error=table_error,
        decimal_marks=DECIMAL_MARKS,
        thousands_marks=THOUSANDS_MARKS,
        **_shared(plan),
        enhanced=False,
        editing=None if editing is None else _form(plan, card(plan, state, editing["place"]), editing),
    )


def _shared(plan: Plan) -> dict[str, Any]:
    return {
        "plan": plan,
        "kinds": KINDS,
        "outline": lambda name: taxonomy_outline(plan, name),
        "guesses_left": guesses_left(plan),
        "where_left": where_left(plan),
    }


def _form(plan: Plan, shown: Card, editing: dict[str, Any]) -> dict[str, Any]:
    values = editing["values"] or form_values(shown.entry)
    if editing["kind"] in KINDS:
        values = {**values, "kind": editing["kind"]}
    return {**editing, "values": values}


def column_card(ask: Ask) -> Response:
    """One card, for htmx: to read, or with its form open."""
    working = ask.working
    place = _place(ask, working)
    return _card(ask, working, place, _editing(ask), changed=False)


def _place(ask: Ask, working: Working) -> int:
    place = int(ask.request.path_params["place"])
    if place >= len(working.plan().columns):
        raise HTTPException(404)
    return place


def _card(
    ask: Ask, working: Working, place: int, editing: dict[str, Any] | None, *, changed: bool, status: int = 200
) -> HTMLResponse:
    state = working.read()
    plan = working.plan(state)
    shown = card(plan, state, place)
    return ask.page(
        "card_alone.html.jinja",
        status,
        state=state,
        working=working,
        here=f"{ask.site.base}/w/{working.id}",
        card=shown,
        changed=changed,
        enhanced=ask.enhanced,
        editing=None if editing is None else _form(plan, shown, editing),
        **_shared(plan),
    )


def save_column(ask: Ask) -> Response:
    """Confirm guesses, or save the form."""
    working = ask.working
    place = _place(ask, working)
    plan = working.plan()
    name = list(plan.columns)[place]
    before = plan.columns[name].model_dump()
    seen = ask.number("version")
    values = None
    try:
        if ask.text("action") == "confirm":
            entries = [entry for entry in ask.text("entries").split(",") if entry]
            working.change_plan(column_part(name), seen, confirmed(before, entries))
        else:
            values = posted_values(ask.form)
            if values["kind"] not in KINDS:
                raise PlanError(f"Column {name!r}: there is no such kind.", remedy="Choose one of the list.")
            entry = entry_from(values, before, _taxonomy(ask, working))
            _check_alone(plan, name, entry)
            working.change_plan(column_part(name), seen, entry)
    except RankveilError as error:
        return _refused(ask, working, place, values, error)
    if ask.enhanced:
        return _card(ask, working, place, None, changed=True)
    return ask.go("w", working.id, f"columns#column-{place}")


def save_table(ask: Ask) -> Response:
    """Confirm how the file is read, with the marks of numbers that were chosen."""
    working = ask.working
    marks = {"decimal": ask.text("decimal"), "thousands": ask.text("thousands") or None}
    entry = working.plan().table.model_dump() | marks | {"unconfirmed": ()}
    try:
        working.change_plan(TABLE_PART, ask.number("version"), entry)
    except RankveilError as error:
        return _whole_page(ask, working, None, status_of(error), table_error=error.as_dict())
    return ask.go("w", working.id, "columns")


def _taxonomy(ask: Ask, working: Working) -> str | None:
    """The name of the taxonomy's file: a new one if one was sent, else the one that was there."""
    sent = ask.small_files("taxonomy")
    if sent:
        return keep_file(working.folder, sent[0])
    if ask.text("remove_taxonomy") == "on":
        return None
    kept = ask.text("kept_taxonomy")
    return kept if kept and (working.folder / kept).is_file() and "/" not in kept else None


def _check_alone(plan: Plan, name: str, entry: dict[str, Any]) -> None:
    """Refuse an entry that a release would refuse, the column's taxonomy included."""
    whole = plan.model_dump()
    whole["columns"][name] = entry
    changed = Plan.from_dict(whole, name="plan.toml", folder=plan.folder)
    column = changed.columns[name]
    if not isinstance(column, DropColumn):
        domain_of(column, name, changed)


def _refused(ask: Ask, working: Working, place: int, values: dict[str, Any] | None, error: RankveilError) -> Response:
    """The form again, as it was filled in, with what is wrong. A stale confirmation shows the column as it is now."""
    editing = _edit(
        place,
        values=values,
        error=error.as_dict(),
        stale=isinstance(error, StaleError),
        read_only=values is None,
    )
    status = 200 if ask.enhanced else status_of(error)  # htmx swaps successful answers only
    if ask.enhanced:
        return _card(ask, working, place, editing, changed=True, status=status)
    return _whole_page(ask, working, editing, status)
