"""Entries of a plan that a codebook settles: not guesses, each with its source.

Guarantee    What is not listed as guessed follows from the codebook, with two things decided by how the table is
             written: whether it holds codes or the labels that stand for them, and how its texts spell days.
Missing      Where a codebook does not say that a value is required, missing is allowed: that depends on no record.
             Codes that mean missing stay values of their own: special values of numbers, labels of labels.
Left open    What the codebook does not say stays a guess from the data, and is listed as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from rankveil.declare.codebooks import Code, Variable
from rankveil.declare.codebooks.codebook import number
from rankveil.declare.draft.column import ColumnDraft, proposed
from rankveil.declare.draft.seen import Seen
from rankveil.declare.entries import LONGEST_TEXT
from rankveil.engines.spelling import Marks

_MOST_SPECIAL = 50


def documented(name: str, variable: Variable, found: Seen, marks: Marks, guess: ColumnDraft) -> ColumnDraft:
    """The column by its codebook; `guess` fills in what that does not say."""
    label = _one_line(variable.label)
    made = _settled(name, variable, found, marks, guess)
    if made is None:
        unsaid = "does not list all values" if variable.codes else "says neither values nor limits"
        remark = f"{variable.place}: {unsaid}; what follows is read from the data"
        entries = {**_with_label(guess.entries, label), **_said_of(guess, variable)}
        return replace(guess, entries=entries, remarks=(remark, *guess.remarks))
    entries = {**_with_label(made.entries, label), "source": _one_line(variable.place)}
    return replace(made, entries=entries)


def _said_of(guess: ColumnDraft, variable: Variable) -> dict[str, Any]:
    """What the codebook says of labels that were guessed."""
    listed = guess.entries.get("categories") or ()
    meanings = {code.value: code.label for code in variable.codes if code.label and code.value in listed}
    absent = [*variable.missing, *(code.value for code in variable.codes if code.missing)]
    missing = [value for value in dict.fromkeys(absent) if value in listed and guess.kind == "category"]
    return ({"value_labels": meanings} if meanings else {}) | ({"missing": missing} if missing else {})


def _with_label(entries: Any, label: str | None) -> dict[str, Any]:
    kind, *others = entries.items()
    return dict([kind, *([("label", label)] if label else []), *others])


def _one_line(text: str | None) -> str | None:
    if text is None:
        return None
    printable = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(printable.split())[:LONGEST_TEXT] or None


def _settled(name: str, variable: Variable, found: Seen, marks: Marks, guess: ColumnDraft) -> ColumnDraft | None:
    null = variable.required is not True
    if variable.kind == "drop":
        why = variable.why or "the codebook leaves it out"
        return ColumnDraft(name, {"kind": "drop"}, (), (why,), why)
    if variable.kind == "boolean" and not variable.codes:
        return ColumnDraft(name, {"kind": "boolean", "null": null})
    if variable.kind == "label" and any(not code.missing for code in variable.codes):
        variable = _as_written(variable, found)
        if not variable.complete and not _covered(variable, found):
            return None
        return _labels(name, variable, found, null)
    if variable.kind in ("integer", "number", "quantity"):
        return _numbers(name, variable, found, marks, null)
    if variable.kind == "date":
        return _days(name, variable, found, marks, null)
    return None


def _covered(variable: Variable, found: Seen) -> bool:
    return found.labels <= {code.value for code in variable.codes} | set(variable.missing)


# Labels


def _as_written(variable: Variable, found: Seen) -> Variable:
    """With codes as the table spells the same numbers: 1.0 or 01 for 1, as programs write them."""
    listed = [*(code.value for code in variable.codes), *variable.missing]
    numbers = {value: int(read) for value in listed if (read := number(value)) is not None and read % 1 == 0}
    spelled = {int(read): text for text in found.texts if (read := number(text)) is not None and read % 1 == 0}
    same = spelled.keys() & set(numbers.values())
    if len(same) <= len(found.texts & set(listed)) or len(set(numbers.values())) < len(numbers):
        return variable
    width = len(next(iter(spelled.values())))
    padded = all(len(text) == width for text in spelled.values()) and any(text[0] == "0" for text in spelled.values())
    decimal = all(text.endswith(".0") for text in spelled.values())

    def as_written(value: str) -> str:
        place = numbers.get(value)
        if place is None:
            return value
        return spelled.get(place) or (f"{place}.0" if decimal else f"{place:0{width}}" if padded else str(place))

    codes = tuple(replace(code, value=as_written(code.value)) for code in variable.codes)
    return replace(variable, codes=codes, missing=tuple(map(as_written, variable.missing)))


def _labels(name: str, variable: Variable, found: Seen, null: bool) -> ColumnDraft:
    codes = list({code.value: code for code in variable.codes}.values())
    listed = {code.value for code in codes}
    absent = [code for code in codes if code.missing or code.value in variable.missing]
    absent += [Code(value, None, True) for value in variable.missing if value not in listed]
    present = [code for code in codes if code not in absent]
    remarks: tuple[str, ...] = ()
    if _written_out(codes, found):
        remarks = ("the table holds the labels and not the codes of the codebook",)
        present, absent = ([Code(code.label or code.value) for code in each] for each in (present, absent))
    meanings = {code.value: code.label for code in (*present, *absent) if code.label and code.label != code.value}
    more: dict[str, Any] = {"value_labels": meanings} if meanings else {}
    whole = [_whole_number(code.value) for code in present if _is_whole(code.value)]
    if variable.ordered and absent and _steady(whole, present) and all(_is_whole(code.value) for code in absent):
        # An order, and beside it codes that have no place in it.
        entries = {"kind": "integer", "lower": min(whole), "upper": max(whole)}
        special = [_whole_number(code.value) for code in absent]
        if meanings:
            more["value_labels"] = {str(_whole_number(value)): label for value, label in meanings.items()}
        return ColumnDraft(name, {**entries, "special": special, "null": null, **more}, (), remarks)
    kind = "ordinal" if variable.ordered and not absent and len(present) > 1 else "category"
    if variable.ordered and absent:
        remarks += ("ordered but for its codes for missing, which have no place in an order: without an order, then",)
    categories = [code.value for code in (*present, *absent)]
    if absent:
        more["missing"] = [code.value for code in absent]
    return ColumnDraft(name, {"kind": kind, "categories": categories, "null": null, **more}, (), remarks)


def _written_out(codes: Sequence[Code], found: Seen) -> bool:
    """Whether the table holds labels in the place of codes."""
    values, labels = ({getattr(code, key) for code in codes} for key in ("value", "label"))
    return len(found.labels & labels) > len(found.labels & values)


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"(0|-?[1-9][0-9]{0,14})(\.0)?", text) is not None


def _whole_number(text: str) -> int:
    return int(text.removesuffix(".0"))


def _steady(whole: Sequence[int], present: Sequence[Code]) -> bool:
    """Whether codes are whole numbers without gaps: a range, that is."""
    return len(whole) == len(present) > 1 and sorted(whole) == list(range(min(whole), max(whole) + 1))


# Numbers and days


def _numbers(name: str, variable: Variable, found: Seen, marks: Marks, null: bool) -> ColumnDraft | None:
    read = found.numbers_by(marks)
    open_kind = variable.kind == "quantity"  # whole numbers or not: the codebook does not say
    kind = "integer" if variable.kind == "integer" or (open_kind and _whole(variable, read)) else "number"
    guessed = ["kind"] if open_kind else []
    entries: dict[str, Any] = {"kind": kind}
    seen = proposed(name, found, marks, kind=kind).entries if read is not None else {}
    for key in ("lower", "upper"):
        limit = getattr(variable, key)
        if isinstance(limit, Decimal):
            entries[key] = int(limit) if kind == "integer" and limit == limit.to_integral_value() else limit
        elif key in seen:
            entries[key] = seen[key]
            guessed.append(key)
        else:
            return None  # no numbers, by the table: what the data suggest is said instead
    if kind == "number":
        if variable.step is not None:
            entries["step"] = variable.step
        elif seen.get("step") is not None and (open_kind or len(guessed) > 0):
            entries["step"] = seen["step"]
            guessed.append("step")
    special = _special(variable, entries, kind)
    if special:
        entries["special"] = special
    elif "special" in seen and {"lower", "upper"} & set(guessed):
        entries["special"] = seen["special"]
        guessed.append("special")
    if variable.weight:
        entries["role"] = "weight"
    texts = {code.value: code.label for code in variable.codes if code.label and code.label != code.value}
    more = {"value_labels": texts} if texts else {}
    order = tuple(dict.fromkeys(guessed))
    return ColumnDraft(name, {**entries, "null": null, **more}, order)


def _whole(variable: Variable, read: Any) -> bool:
    ends = [end for end in (variable.lower, variable.upper) if isinstance(end, Decimal)]
    return all(end == end.to_integral_value() for end in ends) and read is not None and read.whole


def _special(variable: Variable, entries: dict[str, Any], kind: str) -> list[Any]:
    """Codes that mean missing, and labelled codes outside the range."""
    values = [*variable.missing, *(code.value for code in variable.codes if code.missing)]
    values += [code.value for code in variable.codes if not code.missing and _outside(code.value, entries)]
    found: dict[Decimal, None] = {}
    for value in values:
        read = number(value)
        if read is not None and (kind != "integer" or read == read.to_integral_value()):
            found[read] = None
    return [int(value) if kind == "integer" else value for value in list(found)[:_MOST_SPECIAL]]


def _outside(value: str, entries: dict[str, Any]) -> bool:
    read = number(value)
    return read is not None and not entries["lower"] <= read <= entries["upper"]


def _days(name: str, variable: Variable, found: Seen, marks: Marks, null: bool) -> ColumnDraft | None:
    seen = proposed(name, found, marks, kind="date").entries if found.days.format is not None else {}
    entries: dict[str, Any] = {"kind": "date"}
    guessed: list[str] = []
    for key in ("lower", "upper"):
        limit = getattr(variable, key)
        if isinstance(limit, date):
            entries[key] = limit
        elif key in seen:
            entries[key] = seen[key]
            guessed.append(key)
        else:
            return None
    # How texts spell days is seen in the file where the codebook does not say: the table is refused if one does not.
    spelled = variable.format or (None if found.days.ambiguous else found.days.format)
    if spelled is not None and spelled != "%Y-%m-%d":
        entries["format"] = spelled
        if variable.format is None:
            guessed.append("format")
    return ColumnDraft(name, {**entries, "null": null}, tuple(guessed))
