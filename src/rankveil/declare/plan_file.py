"""A plan written as plan.toml. Defaults are left out unless they are guesses; comments are not kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from rankveil.declare.entries import ColumnEntry, ListEntry, PrivacyEntry, TableEntry
from rankveil.declare.lists import is_pattern
from rankveil.declare.plan import Plan
from rankveil.errors import OutputError
from rankveil.temporary import temporary_file

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONG = 100


def plan_toml(plan: Plan) -> str:
    """The text of a plan that means the same as this one."""
    draft = ["# INTERNAL DRAFT: entries listed as unconfirmed were read from the data."] if plan.guesses else []
    draft += ["exact = true  # * in a name is a character like any other"] if _needs_exact(plan) else []
    parts = ("\n".join([heading, *_entries(entries)]) for heading, entries in _parts(plan))
    return "\n\n".join([*draft, *parts]) + "\n"


def save_plan(plan: Plan, path: Path, *, overwrite: bool = False) -> None:
    """As a file, whole or not at all."""
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already.", remedy="Give another name, or say overwrite=True.")
    text = str(_moved(plan, path.parent))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(path.parent, internal=bool(plan.guesses)) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.chmod(0o644)
            temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None


def _moved(plan: Plan, folder: Path) -> Plan:
    """The same plan from another folder: what its relative paths name stays the same."""
    if folder.resolve() == plan.folder.resolve():
        return plan
    content, named_one = plan.model_dump(), False
    for entry in content["columns"].values():
        for part, key in ((entry, "taxonomy"), (entry, "taxonomy_labels"), (entry["derived"] or {}, "by")):
            named = part.get(key)
            if named is not None and (key != "by" or named.endswith(".csv")):
                part[key] = Path(os.path.relpath((plan.folder / named).resolve(), folder.resolve())).as_posix()
                named_one = True
    return Plan.from_dict(content, folder=folder) if named_one else plan


def _parts(plan: Plan) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "[release]", {"method": plan.release.method, **plan.release.model_dump(exclude_defaults=True)}
    parts = {
        "[publication]": plan.publication.model_dump(exclude_defaults=True),
        "[table]": _worth_writing(plan.table),
        "[privacy]": _worth_writing(plan.privacy),
    }
    yield from ((heading, said) for heading, said in parts.items() if said)
    yield from (("[[impossible]]", combination) for combination in plan.impossible)
    yield from (("[[rule]]", rule.model_dump(exclude_none=True)) for rule in plan.rule)
    yield from (("[[interest]]", interest.model_dump(exclude_none=True)) for interest in plan.interest)
    yield from ((f"[lists.{toml_key(name)}]", entry.model_dump(exclude_defaults=True)) for name, entry in lists(plan))
    named = {(entry.labels, json.dumps(entry.meanings), entry.missing): name for name, entry in lists(plan)}
    for name, entry in plan.columns.items():
        said = _worth_writing(entry)
        shared = named.get((said.get("categories", ()), json.dumps(said.get("value_labels")), said.get("missing", ())))
        if shared is not None:
            said |= {"categories": shared, "value_labels": None, "missing": None}
        yield f"[columns.{toml_key(name)}]", said


def lists(plan: Plan) -> list[tuple[str, ListEntry]]:
    """Lists that a column still uses: others were about columns that have changed since."""
    used = {getattr(entry, "categories", None) for entry in plan.columns.values()}
    return [(name, entry) for name, entry in plan.lists.items() if entry.labels in used]


def _needs_exact(plan: Plan) -> bool:
    return plan.exact and any(map(is_pattern, plan.columns))


def _worth_writing(entry: ColumnEntry | TableEntry | PrivacyEntry) -> dict[str, Any]:
    """What differs from its default, and what is a guess: nobody confirms what is not shown."""
    shown = entry.model_dump(exclude_defaults=True)
    return {key: value for key, value in entry.model_dump().items() if key in shown or key in entry.unconfirmed}


def _entries(entries: Mapping[str, Any]) -> Iterator[str]:
    ordered = sorted(entries, key=lambda key: (key != "kind", key == "unconfirmed"))
    for key in ordered:
        if entries[key] is not None:
            yield toml_line(key, entries[key])


def toml_line(key: str, value: Any) -> str:
    """A key with its value."""
    return f"{toml_key(key)} = {_value(value)}"


def toml_key(name: str) -> str:
    """A key, in quotes where TOML asks for them."""
    return name if _BARE_KEY.fullmatch(name) else toml_text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        said = ((key, item) for key, item in value.items() if item not in (None, ()))
        return "{ " + ", ".join(f"{toml_key(key)} = {_value(item)}" for key, item in said) + " }"
    if isinstance(value, list | tuple):
        line = "[" + ", ".join(map(_value, value)) + "]"
        return line if len(line) <= _LONG else "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
    return toml_text(value)


def toml_text(value: Any) -> str:
    """A TOML string: JSON's escapes are TOML's, and the one further control character is escaped alike."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
