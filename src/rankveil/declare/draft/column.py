"""What a draft says of one column: entries of the plan, which of them are guesses, and why.

Guarantee    None: proposals are read from the data. `guessed` names every entry that is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pyarrow as pa

from rankveil.declare.draft.identifiers import Identifier
from rankveil.declare.draft.numbers import Spelling, step_of, tail_of
from rankveil.declare.draft.seen import MOST_CATEGORIES, MOST_CODES, Seen
from rankveil.declare.draft.shapes import personal, shape_of
from rankveil.declare.draft.words import leading_digits, ordered, prefixes, with_unit, without_answer, yes_and_no
from rankveil.engines.spelling import Marks

KINDS = ("integer", "number", "date", "boolean", "ordinal", "category", "drop")
_MOST_NUMERIC_CODES = 60
_NEARLY_ALL = 0.9  # of the rows have a label of their own
_FEWEST_NAMES = 30
_LAST_OF_SCALE = 10
_FEWEST_ANSWERS = 20  # rows, before 1 and 2 are codes
_OLDEST = 120
_HUNDRED = 100
_CODE = re.compile(
    r"(^|[^a-z])(code|codes|region|district|county|state|type|class|category|cat|group|grp|race|ethnic\w*|sex|gender|"
    r"marital|religion|status|occupation|occ|employment|activity|job|relationship|industry|sector|branch|department|dept|province|country|nationality|"
    r"language|party|stratum|strata|cluster|cohort|arm|origin|reason|cause|kind|species|variety|color|colour|brand|"
    r"geschlecht|bundesland|land|kreis|gemeinde|beruf|branche|gruppe|familienstand|konfession|partei|herkunft|sprache|"
    r"sexe|r[eé]gion|d[eé]partement|pays|profession|secteur|statut|sexo|g[eé]nero|regi[oó]n|provincia|pa[ií]s|"
    r"ocupaci[oó]n|sesso|regione|professione|settore|geslacht|provincie|gemeente|beroep|k[oö]n|l[aä]n|kommun|yrke)"
    r"(\d*|_?id)($|[^a-z])"
)
_POSTAL = re.compile(
    r"(^|[^a-z])(zip|plz|postal|postcode|postleitzahl|cap|cep|codigo_?postal|code_?postal|postnummer|postnr)(code|_code)?($|[^a-z])"
)
_AGE = re.compile(r"(^|[^a-z])(age|alter|edad|âge|eta|età|idade|leeftijd|ålder|alder|wiek)($|[^a-z])")


@dataclass(frozen=True)
class ColumnDraft:
    """One column of a draft."""

    name: str
    entries: Mapping[str, Any]
    guessed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # comments of the draft; never a value
    dropped: str | None = None  # why it is left out

    @property
    def kind(self) -> str:
        return str(self.entries["kind"])

    def with_entries(self, **changes: Any) -> ColumnDraft:
        return replace(self, entries={**self.entries, **changes})


@dataclass
class _Proposal:
    """Entries under way."""

    entries: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    dropped: str | None = None

    def say(self, **entries: Any) -> None:
        self.entries |= entries


def proposed(name: str, found: Seen, marks: Marks, *, kind: str | None = None, special: bool = True) -> ColumnDraft:
    """What the values suggest; with a `kind`, what they suggest for a column of that kind."""
    said = _Proposal()
    numbers = found.numbers_by(marks)
    wanted = kind or _kind(name, found, marks, said)
    if wanted in ("integer", "number") and numbers is not None:
        _say_numbers(said, name, found, numbers, marks, wanted, special=special)
    elif wanted == "date" and found.days.format is not None:
        _say_days(said, found)
    elif wanted in ("category", "ordinal"):
        _say_labels(said, found, wanted, asked=kind is not None)
    else:
        said.say(kind="boolean" if wanted == "boolean" else "drop")
    if said.entries["kind"] == "drop":
        why = said.dropped or "you left it out"
        return ColumnDraft(name, said.entries, ("kind",), (why, *said.remarks), why)
    labelled = said.entries["kind"] in ("category", "ordinal")
    said.say(null=found.missing or bool(found.absent and not labelled))
    if len(found.texts) == 1 and not found.absent and not found.missing:
        said.remarks.append("the same value in every row that has one: it says nothing about anybody")
    return ColumnDraft(name, said.entries, tuple(said.entries), tuple(said.remarks))


def left_out(identifier: Identifier) -> ColumnDraft:
    why = identifier.why()
    return ColumnDraft(identifier.name, {"kind": "drop"}, ("kind",), (why,), why)


def possible_kinds(found: Seen, marks: Marks) -> tuple[str, ...]:
    """Kinds that these values can be read as."""
    numbers = found.numbers_by(marks)
    can = {
        "integer": numbers is not None and numbers.whole,
        "number": numbers is not None,
        "date": found.days.format is not None,
        "boolean": found.boolean and found.any_value,
        "ordinal": 2 <= len(found.labels) <= MOST_CATEGORIES,
        "category": 1 <= len(found.labels) <= MOST_CATEGORIES,
        "drop": True,
    }
    return tuple(kind for kind in KINDS if can[kind] and not (found.nested and kind != "drop"))


def _kind(name: str, found: Seen, marks: Marks, said: _Proposal) -> str:
    kind = found.kind(marks)
    if found.levels and kind in ("integer", "number"):
        said.remarks.append("labels, by the type of the column")
        kind = "category"
    if found.nested:
        said.dropped = "neither numbers nor text"
    elif kind == "drop" and not found.any_value:
        said.dropped = "no value is present"
    elif kind == "date" and (turned := found.days.ambiguous) is not None:
        kind = "drop"
        said.dropped = (
            f"days that could be read as {turned[0]} and as {turned[1]}: no value decides it. If you know,"
            ' say kind = "date", its format, and public limits'
        )
    elif kind == "integer" and _POSTAL.search(name.lower()):
        said.remarks.append("postal codes are labels: nobody adds them up")
        kind = "category"
    elif kind == "integer" and (why := _codes(name, found, marks)) is not None:
        said.remarks.append(why)
        kind = "category"
    many = len(found.labels) > MOST_CATEGORIES and _groups(found.texts) is None
    if kind in ("category", "drop") and said.dropped is None:
        different, rows = len(found.values.counts), found.values.rows
        if kind == "drop" and not many and len(found.labels) <= MOST_CODES:
            kind = "category"  # codes that their first characters group
        elif many:
            kind, said.dropped = "drop", _too_many(found, marks)
        elif different >= _FEWEST_NAMES and different >= _NEARLY_ALL * rows:
            kind, said.dropped = "drop", "hardly any text occurs twice: names or remarks, which say who somebody is"
    return kind


def _groups(texts: Collection[str]) -> tuple[tuple[int, ...], str] | None:
    """By how many of their first characters codes are grouped, and what they are."""
    if (grouped := prefixes(texts)) is not None:
        return grouped, "codes like those of ICD-10, grouped by their first characters"
    if len(texts) > MOST_CATEGORIES and (leading := leading_digits(texts)) is not None:
        return leading, "codes of digits, such as postal codes, grouped by their first characters"
    return None


def _too_many(found: Seen, marks: Marks) -> str:
    known = shape_of(found, marks) or personal(found.texts)
    if known is not None:
        return known
    seen = f"more than {MOST_CATEGORIES} different texts"
    if all(text.isdigit() for text in found.texts):
        return f"{seen}, all of digits: codes. Shorten them, or give a taxonomy, to release them as labels"
    return f"{seen}: looks like a name, a remark or an identifier"


def _codes(name: str, found: Seen, marks: Marks) -> str | None:
    """Why whole numbers are codes and not quantities; None if they may be quantities."""
    numbers = found.numbers_by(marks)
    different = len(found.texts)
    if numbers is None or numbers.marks or numbers.ends[0] < -99 or found.absent:
        return None
    plain = all(re.fullmatch(r"-?[0-9]+(\.0)?", text) for text in found.texts)  # 1.0: a code where some are missing
    codes = {text.removesuffix(".0") for text in found.texts}
    if not plain or codes <= {"0", "1"}:
        return None
    answers = codes - {f"{value:f}" for value in numbers.special}
    if answers == {"1", "2"} and found.values.rows >= _FEWEST_ANSWERS:
        return "1 and 2 are codes of two answers"
    if 1 < different <= _MOST_NUMERIC_CODES and _CODE.search(_words(name)):
        return "numbers that stand for labels, by the name of the column"
    return None


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _say_numbers(
    said: _Proposal, name: str, found: Seen, numbers: Spelling, marks: Marks, kind: str, *, special: bool
) -> None:
    whole = kind == "integer"
    lower, upper = numbers.limits(whole=whole, special=special)
    first, last = (numbers.ordinary if special and numbers.special else numbers).ends
    scale = numbers.whole and first in (0, 1) and first < last <= _LAST_OF_SCALE
    if scale and len(found.texts) - len(numbers.special) == last - first + 1:
        lower, upper = first, last
    elif whole and _AGE.search(_words(name)) and first >= 0 and last <= _OLDEST:
        lower, upper = lower * 0, lower * 0 + _OLDEST
    elif lower == 0 and last == _HUNDRED:  # of a hundred points, or percent
        upper = last
    said.say(kind=kind, lower=int(lower) if whole else lower, upper=int(upper) if whole else upper)
    tail = tail_of(found.values.counts, numbers, marks.thousands)
    step = step_of(lower, upper, numbers.places, long_tail=tail.long)
    if not whole or step > 1:
        said.say(step=int(step) if whole else step)
    if special and numbers.special:
        said.say(special=[int(value) if whole else value for value in numbers.special])
        said.remarks.append("special: apart from all other values, so they seem to mean something else than a number")
    if tail.long:
        said.say(scale="log")
        said.remarks.append("the values reach over several powers of ten: counted on a logarithmic scale")
    if tail.far:
        said.remarks.append(
            'a few values lie far beyond all others. Where nobody knows limits, bounds = "private" in the place of'
            " lower and upper finds them with a tenth of the budget"
        )


def _say_days(said: _Proposal, found: Seen) -> None:
    first, last = found.days.ends
    said.say(
        kind="date",
        lower=date(first.year, 1, 1),
        upper=date(last.year, 12, 31),
        format=found.days.format,
    )
    if found.days.time_of_day or pa.types.is_timestamp(found.stored):
        said.remarks.append("the time of day is not kept: days are released")


def _say_labels(said: _Proposal, found: Seen, kind: str, *, asked: bool) -> None:
    labels = sorted(found.labels, key=_natural)
    if found.levels and found.labels <= set(found.levels):
        labels = found.levels
        if found.ordered and len(labels) > 1 and (kind == "ordinal" or not asked):
            said.say(kind="ordinal", categories=labels)
            said.remarks.append("an order: that of the column's type")
            return
    unanswered = without_answer(labels)
    order = ordered(labels)
    answers = [label for label in labels if label not in unanswered] if order is None else labels
    pair = yes_and_no(answers)
    if kind == "ordinal" and order is None:
        said.say(kind="ordinal", categories=labels)
        said.remarks.append("the order of the labels is that of the alphabet: put them into theirs")
    elif order is not None and (kind == "ordinal" or not asked):
        said.say(kind="ordinal", categories=list(order.labels))
        said.remarks.append(f"an order: {order.what}")
    elif pair is not None:
        said.say(kind="category", categories=[*pair, *unanswered])
        said.remarks.append("no and yes")
    elif unanswered and not asked and (among := ordered(answers)) is not None:
        said.say(kind="category", categories=[*among.labels, *unanswered])
        said.remarks.append(f"{among.what}, but for answers that are none, which have no place in an order")
    elif len(labels) > 2 and not asked and with_unit(labels) is not None:
        said.say(kind="ordinal", categories=sorted(labels, key=_amount))
        said.remarks.append("numbers with a unit or a sign: store the numbers alone to release them as numbers")
    else:
        said.say(kind="category", categories=labels)
        if (grouped := _groups(labels)) is not None:
            said.say(prefixes=list(grouped[0]))
            said.remarks.append(grouped[1])
    if unanswered and answers and said.entries["kind"] == "category":
        said.say(missing=unanswered)


def _amount(label: str) -> tuple[float, str]:
    """Numbers with a unit by their size, whatever their decimal mark."""
    digits = re.sub(r"[^\d.,-]", "", label).strip(".,")
    decimals = re.search(r"[.,](\d{1,2})$", digits)
    whole = re.sub("[.,]", "", digits[: decimals.start()] if decimals else digits)
    return float(f"{whole or 0}.{decimals[1] if decimals else 0}"), label


def _natural(label: str) -> tuple[object, ...]:
    """Codes by their number, other labels by the alphabet."""
    return (0, int(label), label) if re.fullmatch(r"-?[0-9]{1,15}", label, re.ASCII) else (1, 0, label)
