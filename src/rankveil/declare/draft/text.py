"""A draft as the text of a plan: comments beside what they are about, and the short forms of lists and patterns.

Shortened    Labels that several columns share become a list, and columns of one stem that say the same a pattern; the
             text means the same without (tests compare).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankveil.declare.draft.column import ColumnDraft
from rankveil.declare.lists import fits
from rankveil.declare.plan_file import toml_key, toml_line, toml_text

_FEWEST_SHARING = 3  # columns that use a list
_FEWEST_FITTING = 4  # columns of a pattern
_OWN = ("label", "source")  # what a column of a pattern says by itself
_STEM = re.compile(r"(.*?[^\d\W]?[_.\- ]?)(\d+[a-z]?|(?<=[_.\- ])[^_.\- ]+)", re.DOTALL)
_NAMED = {  # usual lists, by their labels
    "yes_no": ({"yes", "no"}, {"y", "n"}, {"ja", "nein"}, {"oui", "non"}, {"si", "no"}, {"sí", "no"}),
    "true_false": ({"true", "false"}, {"t", "f"}),
}
_WIDTH = 110


@dataclass(frozen=True)
class Part:
    """[table] or [privacy]: entries, guesses, and comments before them."""

    entries: Mapping[str, Any]
    guessed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def written(head: Sequence[str], parts: Mapping[str, Part], columns: Sequence[ColumnDraft], *, short: bool) -> str:
    """The text of a plan. `short`: with lists and patterns."""
    names = [column.name for column in columns]
    stars = any("*" in name for name in names)
    lines = [*head]
    if stars:
        lines = ["exact = true  # * in a name is a character like any other", "", *lines]
    for heading, part in parts.items():
        if part.entries:
            lines += ["", f"[{heading}]", *_lines(part.entries, part.guessed, part.remarks)]
    lists: dict[str, dict[str, Any]] = {}
    if short:
        columns, lists = _with_lists(columns)
    for name, entry in lists.items():
        lines += ["", f"[lists.{toml_key(name)}]", *_lines(entry, (), ())]
    for heading, column in _patterns(columns, names) if short and not stars else ((c.name, c) for c in columns):
        lines += ["", f"[columns.{toml_key(heading)}]", *_lines(column.entries, column.guessed, column.remarks)]
    return "\n".join(lines) + "\n"


def _lines(entries: Mapping[str, Any], guessed: Sequence[str], remarks: Sequence[str]) -> Iterator[str]:
    for remark in remarks:
        yield from _wrapped(remark)
    for key, value in entries.items():
        if value is not None:
            yield toml_line(key, value)
    if guessed:
        yield f"unconfirmed = [{', '.join(map(toml_text, guessed))}]"


def _wrapped(remark: str) -> Iterator[str]:
    """A comment, in lines of readable length; no line of it can end it early."""
    line = "#"
    for word in " ".join(remark.split()).split(" "):
        if len(line) + len(word) >= _WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}"
    yield line


def _with_lists(columns: Sequence[ColumnDraft]) -> tuple[list[ColumnDraft], dict[str, dict[str, Any]]]:
    """Columns that name lists, and the lists. A guess is confirmed with its column: lists hold none by themselves."""
    kinds = Counter(_shared(column) for column in columns)
    lists: dict[str, dict[str, Any]] = {}
    named: dict[Any, str] = {}
    made = []
    for column in columns:
        key = _shared(column)
        if key is None or kinds[key] < _FEWEST_SHARING:
            made.append(column)
            continue
        if key not in named:
            kind, labels, meanings, missing = key
            named[key] = _list_name([dict(meanings).get(label, label) for label in labels], lists)
            lists[named[key]] = {
                "labels": list(labels),
                "ordered": True if kind == "ordinal" else None,
                "meanings": dict(meanings) or None,
                "missing": list(missing) or None,
            }
        entries = {name: value for name, value in column.entries.items() if name not in ("value_labels", "missing")}
        made.append(replace(column, entries={**entries, "categories": named[key]}))
    return made, lists


def _shared(column: ColumnDraft) -> Any:
    labels = column.entries.get("categories")
    if not isinstance(labels, list | tuple):
        return None
    meanings = tuple(sorted((column.entries.get("value_labels") or {}).items()))
    return column.kind, tuple(labels), meanings, tuple(column.entries.get("missing") or ())


def _list_name(labels: list[str], taken: Mapping[str, Any]) -> str:
    lowered = {label.lower() for label in labels}
    usual = next((name for name, sets in _NAMED.items() if any(words <= lowered for words in sets)), None)
    stems = [re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_") for label in (labels[0], labels[-1])]
    ends = "_to_".join(dict.fromkeys(filter(None, stems)))
    name = usual or ends[:40].strip("_") or "labels"
    if usual and len(labels) > 2:
        name = f"{usual}_{len(labels)}"
    number = 2
    while name in taken:
        name, number = f"{name.rstrip('0123456789').rstrip('_')}_{number}", number + 1
    return name


def _patterns(columns: Sequence[ColumnDraft], names: Sequence[str]) -> Iterator[tuple[str, ColumnDraft]]:
    """Headings and what stands below them: patterns where they say the same as the columns one by one."""
    chosen: dict[str, tuple[str, Any]] = {}  # column -> its pattern, and what that says
    stems = Counter(found.group(1) for name in names if (found := _STEM.fullmatch(name)) and found.group(1))
    for stem, count in sorted(stems.items(), key=lambda item: -len(item[0])):
        fitting = [column for column in columns if fits(f"{stem}*", column.name)]
        if count < _FEWEST_FITTING or any(column.name in chosen for column in fitting):
            continue
        said = Counter(drafted_alike(column) for column in fitting)
        most, often = said.most_common(1)[0]
        if often >= _FEWEST_FITTING and often > len(fitting) / 2:
            chosen |= {column.name: (f"{stem}*", most) for column in fitting}
    shown = set()
    for column in columns:
        if column.name not in chosen:
            yield column.name, column
            continue
        pattern, most = chosen[column.name]
        same = drafted_alike(column) == most
        if pattern not in shown:
            shown.add(pattern)
            model = next(each for each in columns if drafted_alike(each) == most and fits(pattern, each.name))
            yield pattern, replace(model, entries=_without_own(model.entries))
        own = {key: column.entries[key] for key in _OWN if column.entries.get(key) is not None}
        if not same:
            yield column.name, column
        elif own:
            yield column.name, ColumnDraft(column.name, own)


def with_entries_of(column: ColumnDraft, other: ColumnDraft) -> ColumnDraft:
    """What is said of the other one, said of this column, with its own label and source."""
    own = {key: column.entries[key] for key in _OWN if column.entries.get(key) is not None}
    kind, *others = _without_own(other.entries).items()
    return replace(other, name=column.name, entries=dict([kind, *own.items(), *others]))


def _without_own(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if key not in _OWN}


def drafted_alike(column: ColumnDraft) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The same for columns of which a draft says the same, but for their label and source."""
    return repr(_without_own(column.entries)), column.guessed, column.remarks
