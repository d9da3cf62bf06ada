"""Short forms of a plan: lists of labels that columns share, and patterns of column names.

Guarantee    None of its own: `spelled_out` and `expanded` rewrite what a person has written into what it stands for,
             one entry for each column. They see names of columns and no value.
Lists        `categories = "yes_no"` stands for the labels of `[lists.yes_no]`. The list's order makes the column
             ordinal, its meanings become the column's value labels, and its missing labels those of a column without
             an order, unless the column says otherwise.
Patterns     `[columns."drug_*"]` is about every column whose name fits; `*` stands for any characters, also none. An
             entry of its own with a `kind` stands by itself; without one it adds to what the patterns say. A name that
             the table has is never a pattern, whatever characters are in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rankveil.errors import PlanError

_ANY = "*"
_REMEDY = "docs/reference/plan.md describes patterns."


def spelled_out(columns: Mapping[str, Any], lists: Mapping[str, Any]) -> dict[str, Any]:
    """Column entries as TOML gives them, with the labels of lists in the place of their names."""
    return {
        name: _with_labels(name, entry, lists) if isinstance(entry, Mapping) else entry
        for name, entry in _completed(columns).items()
    }


def _with_labels(name: str, entry: Mapping[str, Any], lists: Mapping[str, Any]) -> dict[str, Any]:
    named = entry.get("categories")
    if not isinstance(named, str):
        return dict(entry)
    shared = lists.get(named)
    if not isinstance(shared, Mapping) or "labels" not in shared:
        raise ValueError(f"columns.{name}.categories names the list {named!r}, and there is no [lists.{named}]")
    kind = "ordinal" if shared.get("ordered") else "category"
    said = {"value_labels": shared["meanings"]} if shared.get("meanings") else {}
    if shared.get("missing") and entry.get("kind", kind) == "category":
        said["missing"] = shared["missing"]
    return {"kind": kind, **said, **entry, "categories": shared["labels"]}


def _completed(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Entries without a kind, completed by the patterns that they fit."""
    patterns = {name: entry for name, entry in columns.items() if _ANY in name and isinstance(entry, Mapping)}
    if not patterns:
        return dict(columns)
    made = {}
    for name, entry in columns.items():
        if name not in patterns and isinstance(entry, Mapping) and "kind" not in entry:
            said = [each for pattern, each in patterns.items() if fits(pattern, name)]
            entry = {**_agreed(name, said), **entry} if said else entry
        made[name] = entry
    return made


def is_pattern(name: str) -> bool:
    return _ANY in name


def fits(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_ANY))), name, re.DOTALL) is not None


def _agreed(name: str, said: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What patterns say together of one column."""
    together: dict[str, Any] = {}
    for entry in said:
        against = sorted(key for key in entry.keys() & together.keys() if entry[key] != together[key])
        if against:
            raise PlanError(
                f"Column {name!r} fits patterns of the plan that contradict each other: {', '.join(against)}.",
                remedy=f"Give the column an entry of its own, or make the patterns narrower. {_REMEDY}",
            )
        together |= entry
    return together


def expanded(entries: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """For each name what the entries say of it, in the order of the names; entries about no name come last."""
    names = list(names)
    known = set(names)
    patterns = {pattern: entry for pattern, entry in entries.items() if is_pattern(pattern) and pattern not in known}
    made: dict[str, dict[str, Any]] = {}
    used = set()
    for name in names:
        fitting = [pattern for pattern in patterns if fits(pattern, name)]
        used.update(fitting)
        if name in entries:
            made[name] = dict(entries[name])
        elif fitting:
            made[name] = _agreed(name, [patterns[pattern] for pattern in fitting])
    idle = [repr(pattern) for pattern in patterns if pattern not in used]
    if idle:
        raise PlanError(
            f"No column of the table fits the pattern{'s' if len(idle) > 1 else ''} {', '.join(idle)} of the plan.",
            remedy=f"Correct it, or remove the entry. {_REMEDY}",
        )
    return made | {name: dict(entry) for name, entry in entries.items() if name not in patterns and name not in made}
