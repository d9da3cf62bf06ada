"""Columns as cards: confirming what was guessed, editing what is wrong."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from rankveil.declare import Plan
from rankveil.declare.domain import domain_of
from rankveil.declare.entries import DropColumn
from rankveil.declare.plan import PRIVACY_PART, TABLE_PART
from rankveil.errors import PlanError, RankveilError
from rankveil.web.columns import (
    DECIMAL_MARKS,
    KINDS,
    NEIGHBOURS,
    THOUSANDS_MARKS,
    Card,
    card,
    cards,
    confirmed,
    entry_from,
    form_values,
    guesses_left,
    posted_values,
    privacy_card,
    table_card,
    taxonomy_outline,
    where_left,
)
from rankveil.web.home import StaleError, column_part
from rankveil.web.site import Ask
from rankveil.web.tables import keep_file


def columns_page(ask: Ask) -> Response:
    """All cards; `?edit=3` opens the form of one, `&kind=date` with the fields of another kind."""
    return _page(ask, _asked(ask))


def _asked(ask: Ask) -> int | None:
    """The column whose form is to be open."""
    text = ask.request.query_params.get("edit", "")
    return int(text) if text.isdigit() and len(text) <= 5 else None


def _page(
    ask: Ask,
    place: int | None,
    values: dict[str, Any] | None = None,
    error: RankveilError | None = None,
    *,
    table_error: RankveilError | None = None,
    privacy_error: RankveilError | None = None,
) -> Response:
    state = ask.working.read()
    plan = ask.working.plan(state)
    shown = cards(plan, state)
    return ask.step(
        "columns.html.jinja",
        "columns",
        error=error or table_error or privacy_error,
        cards=shown,
        table_card=table_card(plan, state),
        table_error=table_error,
        privacy_card=privacy_card(plan, state),
        privacy_error=privacy_error,
        neighbours=NEIGHBOURS,
        decimal_marks=DECIMAL_MARKS,
        thousands_marks=THOUSANDS_MARKS,
        **_shared(plan),
        enhanced=False,
        editing=None if place is None or place >= len(shown) else _form(ask, shown[place], values, error),
    )


def _shared(plan: Plan) -> dict[str, Any]:
    return {
        "kinds": KINDS,
        "outline": lambda name: taxonomy_outline(plan, name),
        "guesses_left": guesses_left(plan),
        "where_left": where_left(plan),
    }


def _form(ask: Ask, shown: Card, values: dict[str, Any] | None, error: RankveilError | None) -> dict[str, Any]:
    """What a card with an open form, or with a refusal, is made from."""
    kind = ask.request.query_params.get("kind")
    return {
        "place": shown.place,
        "values": (values or form_values(shown.entry)) | ({"kind": kind} if kind in KINDS else {}),
        "error": error,
        "stale": isinstance(error, StaleError),
        "read_only": error is not None and values is None,  # a confirmation was refused
    }


def column_card(ask: Ask) -> Response:
    """One card, for htmx: to read, or with its form open."""
    return _card(ask, changed=False, opened=_asked(ask) is not None)


def _place(ask: Ask) -> int:
    place = int(ask.request.path_params["place"])
    if place >= len(ask.working.plan().columns):
        raise HTTPException(404)
    return place


def _card(
    ask: Ask,
    values: dict[str, Any] | None = None,
    error: RankveilError | None = None,
    *,
    changed: bool,
    opened: bool = False,
) -> Response:
    place, state = _place(ask), ask.working.read()
    plan = ask.working.plan(state)
    shown = card(plan, state, place)
    return ask.page(
        "card_alone.html.jinja",  # also with a refusal a successful answer: htmx swaps no others
        state=state,
        here=ask.here,
        card=shown,
        changed=changed,
        enhanced=ask.enhanced,
        editing=_form(ask, shown, values, error) if opened or error is not None else None,
        **_shared(plan),
    )


def save_column(ask: Ask) -> Response:
    """Confirm guesses, or save the form."""
    place, plan = _place(ask), ask.working.plan()
    name = list(plan.columns)[place]
    before = plan.columns[name].model_dump()
    values = None
    try:
        if ask.text("action") == "confirm":
            entries = [entry for entry in ask.text("entries").split(",") if entry]
            entry = confirmed(before, entries)
        else:
            values = posted_values(ask.form)
            if values["kind"] not in KINDS:
                raise PlanError(f"Column {name!r}: there is no such kind.", remedy="Choose one of the list.")
            entry = entry_from(values, before, _taxonomy(ask))
            _check_alone(plan, name, entry)
        ask.working.change_plan(column_part(name), ask.number("version"), entry)
    except RankveilError as error:
        # The form again, as it was filled in. A stale confirmation shows the column as it is now.
        return _card(ask, values, error, changed=True) if ask.enhanced else _page(ask, place, values, error)
    return _card(ask, changed=True) if ask.enhanced else ask.go(f"{ask.here}/columns#column-{place}")


def save_table(ask: Ask) -> Response:
    """Confirm how the file is read, with the marks of numbers that were chosen."""
    marks = {"decimal": ask.text("decimal"), "thousands": ask.text("thousands") or None}
    entry = ask.working.plan().table.model_dump() | marks | {"unconfirmed": ()}
    try:
        ask.working.change_plan(TABLE_PART, ask.number("version"), entry)
    except RankveilError as error:
        return _page(ask, None, table_error=error)
    return ask.go(f"{ask.here}/columns")


def save_privacy(ask: Ask) -> Response:
    """Confirm or change who is protected."""
    person, rows = ask.text("person") or None, ask.text("rows_per_person").strip() or None
    entry = {"neighbours": ask.text("neighbours"), "person": person, "rows_per_person": rows if person else None}
    try:
        ask.working.change_plan(PRIVACY_PART, ask.number("version"), entry)
    except RankveilError as error:
        return _page(ask, None, privacy_error=error)
    return ask.go(f"{ask.here}/columns")


def _taxonomy(ask: Ask) -> str | None:
    """The name of the taxonomy's file: a new one if one was sent, else the one that was there."""
    sent = ask.small_files("taxonomy")
    if sent:
        return keep_file(ask.working.folder, sent[0])
    if ask.text("remove_taxonomy") == "on":
        return None
    kept = ask.text("kept_taxonomy")
    return kept if kept and (ask.working.folder / kept).is_file() and "/" not in kept else None


def _check_alone(plan: Plan, name: str, entry: dict[str, Any]) -> None:
    """Refuse an entry that a release would refuse, the column's taxonomy included."""
    whole = plan.model_dump()
    whole["columns"][name] = entry
    changed = Plan.from_dict(whole, name="plan.toml", folder=plan.folder)
    column = changed.columns[name]
    if not isinstance(column, DropColumn):
        domain_of(column, name, changed)
