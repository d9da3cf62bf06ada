"""Through the guesses of a draft by keyboard: one key for each decision, in a plain terminal.

Shows        One column at a time: what the draft says of it, why, and which keys there are. Internal, like the draft.
Ends         With a draft in which what was kept or changed is confirmed, and whatever was not reached stays a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from rankveil.declare.draft import ColumnDraft, Draft
from rankveil.declare.draft.text import Part, drafted_alike, with_entries_of
from rankveil.declare.plan_file import toml_line
from rankveil.errors import OutputError, PlanError

_MOST_LABELS = 12
_KEYS = {
    "k": "keep",
    "a": "keep, and the same of {} others that were drafted alike",
    "t": "change the kind",
    "l": "change limits or labels",
    "m": "missing values: allow or refuse",
    "x": "leave the column out",
    "b": "back",
    "q": "save and quit",
}
_PART_KEYS = {"k": "keep", "x": "remove", "b": "back", "q": "save and quit"}


def walk(draft: Draft) -> Draft:
    """The draft with what was decided."""
    stops = [name for name, part in draft.parts.items() if part.guessed]
    stops += [column.name for column in draft.columns if column.guessed]
    names = {column.name for column in draft.columns}
    if not stops:
        click.echo("Nothing in the draft is a guess.")
        return draft
    click.echo(f"{len(stops)} places hold guesses taken from the data. Keep what everybody may know; change the rest.")
    drafted = {column.name: drafted_alike(column) for column in draft.columns}
    place = 0
    while place < len(stops):
        stop, number = stops[place], f"{place + 1} of {len(stops)}"
        if place >= len(stops) - len(names & set(stops)):
            alike = [each for each in stops[place + 1 :] if drafted[each] == drafted[stop]]
            key, changed = _at_column(draft, stop, number, alike)
        else:
            key, changed = _at_part(draft, stop, number)
        if key == "q":
            break
        if key == "b":
            place = max(place - 1, 0)
            continue
        try:
            changed.plan()
        except PlanError as error:
            click.echo(f"  {error.problem}\n  Nothing was changed.")
            continue
        draft = changed
        if key == "a":
            stops = [each for each in stops if each not in alike]
        place += key in ("k", "a", "x")
    left = len(_open(draft))
    click.echo("All guesses are confirmed." if not left else f"{left} places still hold guesses.")
    return draft


def _open(draft: Draft) -> list[str]:
    return [name for name, part in draft.parts.items() if part.guessed] + [
        column.name for column in draft.columns if column.guessed
    ]


def _asked(keys: dict[str, str]) -> str:
    click.echo("  " + "   ".join(f"[{key}] {what}" for key, what in keys.items()))
    while True:
        try:
            pressed = click.getchar()
        except (OSError, EOFError):
            raise OutputError(
                "--interactive needs a terminal to ask in.", remedy="Leave it out, and edit the plan."
            ) from None
        key = pressed.lower()[:1]
        if key in ("\r", "\n"):
            key = "k"
        if key in keys:
            click.echo(f"  {keys[key]}")
            return key
        if key in ("\x03", "\x04"):
            raise click.Abort


# Parts


def _at_part(draft: Draft, name: str, number: str) -> tuple[str, Draft]:
    part = draft.parts[name]
    click.echo(f"\n{number}  [{name}]")
    for line in (*part.remarks, *(toml_line(key, value) for key, value in part.entries.items())):
        click.echo(f"  {line}")
    if not part.guessed:
        click.echo("  confirmed")
    removable = name == "privacy"
    key = _asked({each: what for each, what in _PART_KEYS.items() if removable or each != "x"})
    if key == "k":
        return key, replace(draft, parts={**draft.parts, name: replace(part, guessed=())})
    if key == "x":
        return key, replace(draft, parts={**draft.parts, name: Part({})})
    return key, draft


# Columns


def _at_column(draft: Draft, name: str, number: str, alike: Sequence[str]) -> tuple[str, Draft]:
    column = next(each for each in draft.columns if each.name == name)
    click.echo(f"\n{number}  {name}")
    for line in column.remarks:
        click.echo(f"  {line}")
    for key, value in column.entries.items():
        click.echo(f"  {_shown(key, value)}{'  (guess)' if key in column.guessed else ''}")
    if not column.guessed:
        click.echo("  confirmed")
    dropped = column.kind == "drop"
    keys = {each: what.format(len(alike)) for each, what in _KEYS.items() if not dropped or each not in "lm"}
    key = _asked({each: what for each, what in keys.items() if alike or each != "a"})
    if key in ("k", "a"):
        kept = replace(column, guessed=())
        draft = draft.with_column(kept)
        for other in [each for each in draft.columns if each.name in alike] if key == "a" else ():
            draft = draft.with_column(with_entries_of(other, kept))
        return key, draft
    if key == "x":
        why = "you left it out"
        return key, draft.with_column(ColumnDraft(name, {"kind": "drop"}, (), (why,), why))
    if key == "t":
        return key, draft.with_column(_other_kind(draft, column))
    if key == "m":
        changed = column.with_entries(null=not column.entries.get("null"))
        return key, draft.with_column(replace(changed, guessed=_without(column.guessed, "null")))
    if key == "l":
        return key, draft.with_column(_limits(column))
    return key, draft


def _shown(key: str, value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) > _MOST_LABELS:
        return f"{toml_line(key, list(value)[:_MOST_LABELS]).rstrip().rstrip(']')} … {len(value)} in all]"
    return toml_line(key, value).replace("\n", "\n  ")


def _without(guessed: tuple[str, ...], *keys: str) -> tuple[str, ...]:
    return tuple(each for each in guessed if each not in keys)


def _other_kind(draft: Draft, column: ColumnDraft) -> ColumnDraft:
    kinds = draft.kinds(column.name)
    click.echo("  Its values can be read as:")
    key = _asked({str(place + 1): kind for place, kind in enumerate(kinds)})
    changed = draft.as_kind(column.name, kinds[int(key) - 1])
    # The kind was chosen by a person; what the data suggest for it is still a guess.
    kept = {each: column.entries[each] for each in ("label",) if each in column.entries}
    return replace(changed, entries={**changed.entries, **kept}, guessed=_without(changed.guessed, "kind"))


def _limits(column: ColumnDraft) -> ColumnDraft:
    """Limits, or labels, as the person types them; an empty answer keeps what is there."""
    changed, settled = dict(column.entries), []
    for key in ("lower", "upper", "step", "format", "categories", "special"):
        if key not in changed:
            continue
        before = changed[key]
        listed = isinstance(before, list | tuple)
        click.echo(f"  {key}: {'labels or values, separated by |; ' if listed else ''}Enter keeps it")
        said = click.prompt(f"  {key}", default="", show_default=False).strip()
        settled.append(key)
        if said:
            changed[key] = _typed(said, before)
    return replace(column, entries=changed, guessed=_without(column.guessed, *settled))


def _typed(said: str, before: Any) -> Any:
    """What was typed, in the type of what was there; the plan refuses what does not fit."""
    if isinstance(before, list | tuple):
        first = before[0] if before else ""
        return [_typed(part.strip(), first) for part in said.split("|") if part.strip()]
    try:
        if isinstance(before, int):
            return int(said)
        if isinstance(before, Decimal):
            return Decimal(said)
        if isinstance(before, date):
            return date.fromisoformat(said)
    except (ValueError, InvalidOperation):
        return said
    return said
