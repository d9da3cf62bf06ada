"""A column as a card: what the plan says about it in words, which of it is a guess, and what a form makes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from rankveil.declare import Plan
from rankveil.declare.domain import Nominal, domain_of
from rankveil.declare.entries import CategoryColumn, ColumnEntry, TableEntry
from rankveil.declare.plan import PRIVACY_PART, TABLE_PART
from rankveil.errors import RankveilError
from rankveil.web.home import State, column_part

KINDS: Mapping[str, str] = {
    "integer": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "boolean": "true or false",
    "ordinal": "ordered labels",
    "category": "labels",
    "drop": "left out",
}
NEIGHBOURS: Mapping[str, str] = {
    "replace": "what stands in a row",
    "add-remove": "whether a row is there at all",
}
DECIMAL_MARKS: Mapping[str, str] = {".": "a point, as in 1.5", ",": "a comma, as in 1,5"}
THOUSANDS_MARKS: Mapping[str, str] = {
    "": "none, as in 9734",
    ".": "a point, as in 9.734",
    ",": "a comma, as in 9,734",
    "'": "an apostrophe, as in 9'734",
    " ": "a space, as in 9 734",
}
_SHOWN_LABELS = 12
_LABELS_IN_LINE = 4
_FIRST_GROUPED = 10_000
_IN_LINE = ("Limits", "Special", "Labels", "Taxonomy", "Step", "Scale", "Written like", "Follows from")
_LAST_DAY = date(2031, 12, 31)  # an example of a date, in which day and month cannot be mistaken


@dataclass(frozen=True)
class Fact:
    """One line of a card."""

    label: str
    value: str
    entries: tuple[str, ...]  # the plan's entries it is made of
    guessed: bool
    labels: tuple[str, ...] = ()
    more_labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableCard:
    """How the file is read: the plan's entries about the whole table. Marks of numbers have fields of their own."""

    facts: tuple[Fact, ...]
    guesses: int
    version: int
    decimal: str
    thousands: str


@dataclass(frozen=True)
class PrivacyCard:
    """Who is protected."""

    guesses: int
    version: int
    neighbours: str
    person: str
    rows: int | None
    persons: tuple[str, ...]  # columns that are left out, any of which may say whose a row is
    words: str


@dataclass(frozen=True)
class Card:
    """A column: one line of the table of columns, and a card when it is opened."""

    place: int  # from 0, in the order of the plan
    name: str
    kind: str
    facts: tuple[Fact, ...]
    guesses: int
    public: bool
    version: int
    entry: dict[str, Any]
    dropped: str = ""  # why the draft has left it out

    @property
    def says(self) -> str:
        """What the plan says of the values, in one line."""
        lines = [_line_of(fact) for fact in self.facts if fact.label in _IN_LINE]
        return "; ".join(lines) or (self.dropped or "not released" if self.kind == "drop" else "–")

    @property
    def source(self) -> str:
        """Where the entry was taken from, if the plan says so: a codebook."""
        return str(self.entry.get("source") or "")

    @property
    def label(self) -> str:
        """What the column is about, if the plan says so."""
        return str(self.entry.get("label") or "")


def _line_of(fact: Fact) -> str:
    if fact.label != "Labels":
        return fact.value if fact.label in ("Limits", "Taxonomy") else f"{fact.label.lower()} {fact.value}"
    first = ", ".join(fact.labels[:_LABELS_IN_LINE])
    return f"{fact.value}: {first}" + (" …" if len(fact.labels) > _LABELS_IN_LINE else "")


def cards(plan: Plan, state: State) -> list[Card]:
    return [card(plan, state, place) for place in range(len(plan.columns))]


def card(plan: Plan, state: State, place: int) -> Card:
    name = list(plan.columns)[place]
    entry = plan.columns[name]
    facts, dropped = _facts(entry), state.dropped.get(name, "")
    if dropped and entry.kind == "drop":
        facts = (*facts, Fact("Why", dropped, (), False))
    return Card(
        place=place,
        name=name,
        kind=entry.kind,
        facts=facts,
        guesses=_guesses(facts),
        public=entry.role == "public",
        version=state.versions.get(column_part(name), 0),
        entry=entry.model_dump(),
        dropped=dropped,
    )


def table_card(plan: Plan, state: State) -> TableCard | None:
    """None where the plan says nothing about the table as a whole."""
    facts = _table_facts(plan.table)
    if not facts:
        return None
    return TableCard(
        facts=tuple(fact for fact in facts if fact.entries not in (("decimal",), ("thousands",))),
        guesses=_guesses(facts),
        version=state.versions.get(TABLE_PART, 0),
        decimal=plan.table.decimal_mark,
        thousands=plan.table.thousands or "",
    )


def privacy_card(plan: Plan, state: State) -> PrivacyCard:
    entry = plan.privacy
    return PrivacyCard(
        guesses=len(entry.unconfirmed),
        version=state.versions.get(PRIVACY_PART, 0),
        neighbours=entry.neighbours,
        person=entry.person or "",
        rows=entry.rows_per_person,
        persons=tuple(name for name, column in plan.columns.items() if column.kind == "drop"),
        words=plan.unit.who,
    )


def guesses_left(plan: Plan) -> int:
    """How many confirmations the plan still waits for: limits are one, though the plan has two entries for them."""
    columns = (_guesses(_facts(entry)) for entry in plan.columns.values() if entry.unconfirmed)
    return _guesses(_table_facts(plan.table)) + len(plan.privacy.unconfirmed) + sum(columns)


def _guesses(facts: Sequence[Fact]) -> int:
    return sum(fact.guessed for fact in facts)


def where_left(plan: Plan) -> str:
    """The places that hold guesses, in words."""
    columns = sum(bool(entry.unconfirmed) for entry in plan.columns.values())
    words = [f"{columns} column{'' if columns == 1 else 's'}"] if columns else []
    words += ["how the file is read"] if plan.table.unconfirmed else []
    return " and ".join(words + (["who is protected"] if plan.privacy.unconfirmed else []))


def _table_facts(table: TableEntry) -> list[Fact]:
    """Every entry that says something or is a guess."""
    words: dict[str, tuple[str, Any]] = {
        "decimal": ("Decimal mark", DECIMAL_MARKS.get),
        "thousands": ("Thousands", THOUSANDS_MARKS.get),
        "separator": ("Separator", repr),
        "encoding": ("Encoding", str),
        "null_values": ("Missing is written", lambda texts: ", ".join(text or "(empty)" for text in texts)),
    }
    plain = TableEntry().model_dump()
    return [
        Fact(label, shown(value), (key,), key in table.unconfirmed)
        for key, value in table.model_dump().items()
        if key != "unconfirmed" and (value != plain[key] or key in table.unconfirmed)
        for label, shown in [words.get(key, (key, str))]
    ]


def _facts(column: ColumnEntry) -> tuple[Fact, ...]:
    entry, guessed = column.model_dump(), set(column.unconfirmed)

    def fact(label: str, value: str, *entries: str, labels: Sequence[str] = ()) -> Fact:
        shown, more = tuple(labels[:_SHOWN_LABELS]), tuple(labels[_SHOWN_LABELS:])
        return Fact(label, value, entries, bool(guessed & set(entries)), shown, more)

    source = (fact("Source", entry["source"], "source"),) if entry.get("source") else ()
    if entry["kind"] == "drop":
        return (fact("Kind", "left out of the release", "kind"), *source)
    found = [fact("Kind", KINDS[entry["kind"]], "kind")]
    if entry.get("bounds") == "private":
        found.append(fact("Limits", "found with a part of the budget", "lower", "upper", "bounds"))
    elif "lower" in entry:
        found.append(fact("Limits", f"{_grouped(entry['lower'])} to {_grouped(entry['upper'])}", "lower", "upper"))
    if entry.get("step") is not None and ("step" in guessed or entry["step"] != 1 or entry["kind"] == "number"):
        found.append(fact("Step", _grouped(entry["step"]), "step"))
    if entry.get("format") is not None and ("format" in guessed or entry["format"] != "%Y-%m-%d"):
        found.append(fact("Written like", _LAST_DAY.strftime(entry["format"]), "format"))
    if entry.get("scale") == "log":
        found.append(fact("Scale", "logarithmic: noise multiplies", "scale"))
    if entry.get("special"):
        found.append(fact("Special", ", ".join(map(_plain, entry["special"])), "special"))
    if entry.get("clamp"):
        found.append(fact("Outside", "moved to the nearest limit", "clamp"))
    if entry.get("taxonomy"):
        found.append(fact("Taxonomy", entry["taxonomy"], "taxonomy", "taxonomy_labels"))
    if entry.get("categories"):
        count = f"{len(entry['categories'])}{' in order' if entry['kind'] == 'ordinal' else ''}"
        meanings = entry.get("value_labels") or {}
        labels = [f"{label} = {meanings[label]}" if label in meanings else label for label in entry["categories"]]
        found.append(fact("Labels", count, "categories", labels=labels))
    if entry.get("prefixes"):
        found.append(fact("Grouped", f"by the first {_listed(entry['prefixes'])} characters", "prefixes"))
    if entry.get("missing"):
        found.append(fact("No answer", ", ".join(entry["missing"]), "missing"))
    if entry.get("derived"):
        found.append(fact("Follows from", _derived(entry["derived"]), "derived"))
    if entry["null"] or "null" in guessed:
        words = "is a value of the column" if entry["null"] else "never: a table with missing values is refused"
        found.append(fact("Missing", words, "null"))
    if entry["role"] == "public":
        found.append(fact("Role", "public: kept as it is, protects nobody", "role"))
    shown = {name for each in found for name in each.entries}
    found += [fact(name, _plain(entry.get(name)), name) for name in column.unconfirmed if name not in shown]
    return (*found, *source)


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


def _derived(said: Mapping[str, Any]) -> str:
    """The columns, or the expression, that decide a column."""
    if said.get("by"):
        return str(said["by"])
    how = "by bands" if said.get("bands") else "value by value"
    return f"{', '.join(said.get('from', ()))}, {how}"


def confirmed(entry: dict[str, Any], entries: Sequence[str]) -> dict[str, Any]:
    """The entry with some of its guesses confirmed; all of them if none is named."""
    left = tuple(name for name in entry["unconfirmed"] if entries and name not in entries)
    return {**entry, "unconfirmed": left}


def form_values(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields of the form show for an entry of the plan."""
    return {
        "kind": entry["kind"],
        "lower": _plain(entry.get("lower")),
        "upper": _plain(entry.get("upper")),
        "step": _plain(entry.get("step")),
        "scale": entry.get("scale") or "linear",
        "clamp": bool(entry.get("clamp")),
        "private": entry.get("bounds") == "private",
        "format": entry.get("format") or "%Y-%m-%d",
        "categories": "\n".join(entry.get("categories") or ()),
        "taxonomy": entry.get("taxonomy") or "",
        "proposed": "",
        "null": bool(entry.get("null")),
        "public": entry.get("role") == "public",
    }


def posted_values(form: Mapping[str, Any]) -> dict[str, Any]:
    """The same from a form that was sent."""
    texts = {key: str(form.get(key, "")).strip() for key in ("kind", "lower", "upper", "step", "scale", "format")}
    return {
        **texts,
        "categories": str(form.get("categories", "")),
        "taxonomy": str(form.get("kept_taxonomy", "")),
        "proposed": str(form.get("proposed", "")),
        **{key: form.get(key) == "on" for key in ("clamp", "private", "null", "public")},
    }


def entry_from(values: Mapping[str, Any], before: Mapping[str, Any], taxonomy: str | None) -> dict[str, Any]:
    """A column's entry from the fields of the form. What the form does not show is kept if the kind has not changed.

    Nothing is left unconfirmed, but for labels that were read from the data and stand as they were proposed: who fills
    in and saves the form has said what holds.
    """
    entry = _entry(values, before, taxonomy)
    # Who saves an entry as it was has changed nothing: it is still from the document it names.
    same = all(_plain(value) == _plain(before.get(key)) for key, value in entry.items() if key != "unconfirmed")
    return entry | ({"source": before["source"]} if same and before.get("source") else {})


def _entry(values: Mapping[str, Any], before: Mapping[str, Any], taxonomy: str | None) -> dict[str, Any]:
    kind = values["kind"]
    entry: dict[str, Any] = {"kind": kind}
    entry |= {"label": before["label"]} if before.get("label") else {}
    if kind == "drop":
        return entry
    weight = before.get("role") == "weight" and kind in ("integer", "number")
    entry |= {"null": values["null"], "role": "public" if values["public"] else "weight" if weight else "protected"}
    same = before.get("kind") == kind
    kept = ("label", "derived", "special", "value_labels", "prefixes") if same else ("label", "derived")
    entry |= {key: before[key] for key in kept if before.get(key)}
    if kind in ("integer", "number"):
        entry |= {"scale": values["scale"] or "linear", "clamp": values["clamp"]}
        entry |= {"bounds": "private"} if values["private"] else _filled(values, "lower", "upper")
        entry |= _filled(values, "step")
    elif kind == "date":
        entry |= {"clamp": values["clamp"], **_filled(values, "lower", "upper", "format")}
    elif kind in ("ordinal", "category"):
        labels = [line.strip() for line in values["categories"].splitlines() if line.strip()]
        entry |= {"categories": labels} if labels else {}
        absent = [label for label in before.get("missing") or () if label in labels]
        entry |= {"missing": absent} if kind == "category" and absent else {}
        if labels and values.get("proposed") == labels_mark(labels):
            entry["unconfirmed"] = ("categories",)
        if kind == "category" and taxonomy:
            entry["taxonomy"] = taxonomy
            if before.get("taxonomy") == taxonomy and before.get("taxonomy_labels"):
                entry["taxonomy_labels"] = before["taxonomy_labels"]
    return entry


def labels_mark(labels: Sequence[str]) -> str:
    """By this a form knows again the labels that were proposed."""
    return hashlib.sha256("\n".join(labels).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def taxonomy_outline(plan: Plan, name: str) -> list[tuple[int, str]] | None:
    """A taxonomy as indented lines, for a card; None where there is none, or none that can be read."""
    entry = plan.columns[name]
    if not isinstance(entry, CategoryColumn) or entry.taxonomy is None:
        return None
    try:
        domain = domain_of(entry, name, plan)
    except RankveilError:
        return None
    return domain.taxonomy.outline() if isinstance(domain, Nominal) else None


def _filled(values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: values[key] for key in keys if values[key]}


def _plain(value: Any) -> str:
    return "" if value is None else f"{value:f}" if hasattr(value, "as_tuple") else str(value)


def _grouped(value: Any) -> str:
    """A number to be read, with commas between thousands; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or -_FIRST_GROUPED < value < _FIRST_GROUPED:
        return _plain(value)  # a year is not written 2,031
    return f"{value:,}" if isinstance(value, int) else f"{value:,f}"


# Several columns at once

LEAVE = ""  # what a field of the form for several columns says when it is to change nothing
_ENTRIES = {"kind": "kind", "lower": "lower", "upper": "upper", "step": "step", "null": "null", "labels": "categories"}


def bulk_values(form: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the form for several columns that are to change something."""
    keys = ("kind", "lower", "upper", "step", "null", "clamp", "public", "labels")
    found = {key: str(form.get(f"all_{key}", LEAVE)).strip() for key in keys}
    return {key: value for key, value in found.items() if value != LEAVE}


def bulk_entry(changes: Mapping[str, str], before: Mapping[str, Any], proposed: Sequence[str]) -> dict[str, Any]:
    """A column's entry with some fields changed. What the form does not say stays as it was, also as a guess.

    `proposed` are labels read from the data, for a column that becomes one of labels and has none: they are a guess.
    """
    values = form_values(before)
    values |= {key: changes[key] for key in ("kind", "lower", "upper", "step") if key in changes}
    values |= {key: changes[key] == "yes" for key in ("null", "clamp", "public") if key in changes}
    values |= {"private": values["private"] and not {"lower", "upper"} & set(changes)}
    values |= {"categories": changes["labels"]} if "labels" in changes else {}
    labelled = values["kind"] in ("ordinal", "category")
    guessed = labelled and not values["categories"] and not before.get("taxonomy")
    if guessed:
        values["categories"] = "\n".join(proposed)
    entry = entry_from(values, before, before.get("taxonomy"))
    said = {_ENTRIES[key] for key in changes if key in _ENTRIES}
    left = [name for name in before["unconfirmed"] if name in entry and name not in said]
    entry["unconfirmed"] = tuple(dict.fromkeys(left + (["categories"] if guessed and proposed else [])))
    return entry
