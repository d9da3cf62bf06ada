"""Columns as a table, each opening into a card: confirming what was guessed, editing what is wrong, many at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import Response

from rankveil.declare import Plan
from rankveil.declare.domain import domain_of
from rankveil.declare.entries import DropColumn
from rankveil.declare.plan import PRIVACY_PART, TABLE_PART
from rankveil.errors import RankveilError
from rankveil.web.columns import (
    DECIMAL_MARKS,
    KINDS,
    NEIGHBOURS,
    THOUSANDS_MARKS,
    Card,
    bulk_entry,
    bulk_values,
    card,
    cards,
    confirmed,
    entry_from,
    form_values,
    guesses_left,
    labels_mark,
    posted_values,
    privacy_card,
    table_card,
    taxonomy_outline,
    where_left,
)
from rankveil.web.home import FormError, StaleError, column_part
from rankveil.web.looks import MOST_LABELS, labels_found, looks
from rankveil.web.site import Ask
from rankveil.web.tables import keep_file
from rankveil.web.words import in_page_words

_MOST_NAMED = 5
_NO_CHANGE = {f"all_{key}": "" for key in ("kind", "lower", "upper", "step", "null", "clamp", "public", "labels")}
SHOW: Mapping[str, str] = {
    "all": "all columns",
    "guesses": "with guesses",
    "misfits": "that the table does not fit",
    "drop": "left out",
    **{kind: words for kind, words in KINDS.items() if kind != "drop"},
}


def columns_page(ask: Ask) -> Response:
    """The table of columns; `?open=3` opens the card of one, `?edit=3` its form, `&kind=date` with other fields.

    `q` and `show` filter, `all` ticks whatever is shown: for pages without scripts, which filter here.
    """
    refused, asked = ask.refused_form, ask.request.query_params
    state = ask.working.read()
    plan = ask.working.plan(state)
    shown, seen = cards(plan, state), looks(ask.working)
    place = _number(asked.get("edit")) if "edit" in asked else _number(asked.get("open"))
    about = refused.about if refused else ""
    error = refused.error if refused else None
    values = dict(refused.values) if refused and about == "column" else None
    opened = None
    if place is not None and place < len(shown):
        editing = "edit" in asked and not (about == "column" and not values)
        opened = _opened(ask, shown[place], values, error if about == "column" else None, editing=editing)
    text, show = asked.get("q", "")[:200], asked.get("show", "all")
    filtered = [one for one in shown if _fits(one, seen.get(one.name), text, show)]
    if opened and shown[opened["place"]] not in filtered:
        filtered = sorted([*filtered, shown[opened["place"]]], key=lambda one: one.place)
    return ask.step(
        "columns.html.jinja",
        "columns",
        error=error,
        cards=shown,  # all of them: a filter in the browser can show what this one hides
        fitting={one.place for one in filtered},
        of_cards=len(shown),
        looks=seen,
        filter={"q": text, "show": show if show in SHOW else "all"},
        shows={key: words for key, words in SHOW.items() if key not in KINDS or any(c.kind == key for c in shown)},
        ticked=_ticked(refused.values if refused and about == "bulk" else {}, filtered, everything="all" in asked),
        bulk=_NO_CHANGE | (dict(refused.values) if refused and about == "bulk" else {}),
        bulk_error=error if about == "bulk" else None,
        done=_number(asked.get("done")),
        table_card=table_card(plan, state),
        table_error=error if about == "table" else None,
        privacy_card=privacy_card(plan, state),
        privacy_error=error if about == "privacy" else None,
        neighbours=NEIGHBOURS,
        decimal_marks=DECIMAL_MARKS,
        thousands_marks=THOUSANDS_MARKS,
        **_shared(plan),
        enhanced=False,
        opened=opened,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 5 else None


def _fits(one: Card, look: Any, text: str, show: str) -> bool:
    """Whether a column passes the filter."""
    kept = {
        "guesses": one.guesses > 0,
        "misfits": look is not None and bool(look.misfits),
        **{kind: one.kind == kind for kind in KINDS},
    }.get(show, True)
    return kept and all(
        word in f"{one.name} {one.label} {KINDS[one.kind]}".casefold() for word in text.casefold().split()
    )


def _ticked(values: Mapping[str, Any], filtered: list[Card], *, everything: bool) -> set[int]:
    return {one.place for one in filtered} if everything else set(values.get("places", ()))


def _shared(plan: Plan) -> dict[str, Any]:
    return {
        "kinds": KINDS,
        "outline": lambda name: taxonomy_outline(plan, name),
        "guesses_left": guesses_left(plan),
        "where_left": where_left(plan),
        "most_labels": MOST_LABELS,
    }


def _opened(
    ask: Ask, shown: Card, values: dict[str, Any] | None, error: RankveilError | None, *, editing: bool
) -> dict[str, Any]:
    """What the open card of a column is made from: to read, or with its form."""
    found: dict[str, Any] = {
        "place": shown.place,
        "editing": editing,
        "error": error,
        "stale": isinstance(error, StaleError),
        "fields": error.fields if isinstance(error, FormError) else (),
        "values": None,
    }
    if editing:
        kind = ask.request.query_params.get("kind")
        changed = kind in KINDS and kind != shown.kind and values is None
        found["values"] = (values or form_values(shown.entry)) | ({"kind": kind} if changed else {})
        if changed and kind in ("ordinal", "category") and not found["values"]["categories"]:
            labels = labels_found(ask.working, shown.name)
            found["values"] |= {"categories": "\n".join(labels), "proposed": labels_mark(labels) if labels else ""}
    return found


def column_card(ask: Ask) -> Response:
    """One column, for htmx: its line, its card, or its form."""
    asked = ask.request.query_params
    return _one(ask, changed=False, opened="open" in asked, editing="edit" in asked)


def _place(ask: Ask) -> int:
    place = int(ask.request.path_params["place"])
    if place >= len(ask.working.plan().columns):
        raise HTTPException(404)
    return place


def _one(
    ask: Ask,
    values: dict[str, Any] | None = None,
    error: RankveilError | None = None,
    *,
    changed: bool,
    opened: bool = False,
    editing: bool = False,
) -> Response:
    place, state = _place(ask), ask.working.read()
    plan = ask.working.plan(state)
    shown = card(plan, state, place)
    error = None if error is None else in_page_words(error)
    card_of = opened or editing or error is not None
    return ask.page(
        "column_alone.html.jinja",  # also with a refusal a successful answer: htmx swaps no others
        state=state,
        here=ask.here,
        card=shown,
        looks=looks(ask.working, [shown.name]),
        ticked=set(),
        fitting={place},
        changed=changed,
        enhanced=ask.enhanced,
        opened=_opened(ask, shown, values, error, editing=editing) if card_of else None,
        **_shared(plan),
    )


def save_column(ask: Ask) -> Response:
    """Confirm guesses of one column, or save its form."""
    place, plan = _place(ask), ask.working.plan()
    name = list(plan.columns)[place]
    before = plan.columns[name].model_dump()
    values: dict[str, Any] | None = None
    stays_open = ask.text("from") == "card"
    try:
        if ask.text("action") == "confirm":
            entries = [entry for entry in ask.text("entries").split(",") if entry]
            entry = confirmed(before, entries)
        else:
            values = posted_values(ask.form)
            if values["kind"] not in KINDS:
                raise FormError(f"{name}: there is no such kind.", fields=("kind",), remedy="Choose one of the list.")
            entry = entry_from(values, before, _taxonomy(ask))
            _check_alone(plan, name, entry)
        ask.working.change_plan(column_part(name), ask.number("version"), entry)
    except RankveilError as error:
        # The form again, as it was filled in. A stale confirmation shows the column as it is now.
        if ask.enhanced:
            return _one(ask, values, error, changed=True, editing=values is not None)
        mode = "edit" if values is not None else "open"
        return ask.again(f"{ask.here}/columns?{mode}={place}#column-{place}", error, values, about="column")
    still = stays_open and bool(entry.get("unconfirmed"))
    if ask.enhanced:
        return _one(ask, changed=True, opened=still)
    return ask.go(f"{ask.here}/columns{f'?open={place}' if still else ''}#column-{place}")


def save_columns(ask: Ask) -> Response:
    """Confirm or change all columns that are ticked, in one step: all of them or none."""
    seen = dict(sorted(found for text in _texts(ask, "c") if (found := _tick(text)) is not None))
    back = {key: ask.text(key) for key in ("q", "show") if ask.text(key)}
    changes = bulk_values(ask.form)
    try:
        count = _change(ask, seen, changes)
    except RankveilError as error:
        values = {"places": list(seen), **{f"all_{key}": value for key, value in changes.items()}}
        return ask.again(f"{ask.here}/columns?{urlencode(back)}#several", error, values, about="bulk")
    return ask.go(f"{ask.here}/columns?{urlencode({**back, 'done': count})}#several")


def _texts(ask: Ask, key: str) -> list[str]:
    return [value for value in ask.form.getlist(key) if isinstance(value, str)]


def _tick(text: str) -> tuple[int, int] | None:
    """A ticked box: the column's place, and the version of it that was shown."""
    place, version = (_number(part) for part in (text.partition(":")[0], text.partition(":")[2]))
    return None if place is None or version is None else (place, version)


def _change(ask: Ask, seen: Mapping[int, int], changes: dict[str, str]) -> int:
    """`seen`: place of a column -> the version of it that was shown. How many columns were changed."""
    plan = ask.working.plan()
    names = dict(enumerate(plan.columns))
    wanted = {names[place]: version for place, version in seen.items() if place in names}
    if not wanted:
        raise FormError("No column is ticked.", remedy="Tick the columns that are meant, or all that are shown.")
    confirming = ask.text("action") == "confirm"
    if not confirming and not changes:
        raise FormError("Nothing was filled in.", remedy="Choose what is to change for the ticked columns.")
    if changes.get("kind", "drop") not in KINDS:
        raise FormError("There is no such kind.", remedy="Choose one of the list.")
    parts: dict[str, tuple[int, dict[str, Any]]] = {}
    wrong: list[str] = []
    for name, version in wanted.items():
        before = plan.columns[name].model_dump()
        try:
            entry = confirmed(before, ()) if confirming else _changed(ask, plan, name, before, changes)
        except RankveilError as error:
            wrong.append(f"{name}: {in_page_words(error).problem}")
            continue
        parts[column_part(name)] = (version, entry)
    if wrong:
        more = f"\nand {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
        raise FormError(
            "\n".join(wrong[:_MOST_NAMED]) + more, remedy="No column was changed. Correct it, or untick these."
        )
    ask.working.change_parts(parts)
    return len(parts)


def _changed(ask: Ask, plan: Plan, name: str, before: dict[str, Any], changes: dict[str, str]) -> dict[str, Any]:
    becomes_labels = changes.get("kind") in ("ordinal", "category") and not before.get("categories")
    proposed = labels_found(ask.working, name) if becomes_labels and "labels" not in changes else []
    entry = bulk_entry(changes, before, proposed)
    _check_alone(plan, name, entry)
    return entry


def save_table(ask: Ask) -> Response:
    """Confirm how the file is read, with the marks of numbers that were chosen."""
    marks = {"decimal": ask.text("decimal"), "thousands": ask.text("thousands") or None}
    entry = ask.working.plan().table.model_dump() | marks | {"unconfirmed": ()}
    try:
        ask.working.change_plan(TABLE_PART, ask.number("version"), entry)
    except RankveilError as error:
        return ask.again(f"{ask.here}/columns#table-card", error, about="table")
    return ask.go(f"{ask.here}/columns")


def save_privacy(ask: Ask) -> Response:
    """Confirm or change who is protected."""
    person, rows = ask.text("person") or None, ask.text("rows_per_person").strip() or None
    entry = {"neighbours": ask.text("neighbours"), "person": person, "rows_per_person": rows if person else None}
    try:
        ask.working.change_plan(PRIVACY_PART, ask.number("version"), entry)
    except RankveilError as error:
        return ask.again(f"{ask.here}/columns#privacy-card", error, about="privacy")
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
    whole = plan.model_dump(exclude={"columns", "rule", "impossible", "interest", "privacy"})
    alone = Plan.from_dict({**whole, "columns": {name: entry}}, name="plan.toml", folder=plan.folder)
    column = alone.columns[name]
    if not isinstance(column, DropColumn):
        domain_of(column, name, alone)
