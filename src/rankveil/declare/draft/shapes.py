"""Texts that are too many for a list, and yet no names: what they look like, and what would make them useful.

Guarantee    None, as for all of a draft. A shape is named only if every text that was looked at has it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rankveil.declare.draft.seen import Seen
from rankveil.declare.draft.words import with_unit
from rankveil.engines.spelling import Marks

_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?")
_PAIR = re.compile(r"\d+([.,]\d+)? ?[/x×;] ?\d+([.,]\d+)?")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_ADDRESS = re.compile(r"(https?://|www\.)\S+|\d{1,3}(\.\d{1,3}){3}")
_WRITTEN_DAY = re.compile(
    r"([^\W\d_]{2,}\.?,? )?(\d{1,2}(st|nd|rd|th|\.)? (de )?[^\W\d_]{3,}\.?|[^\W\d_]{3,}\.? \d{1,2}(st|nd|rd|th)?,?)"
    r" (de )?\d{4}( \d{1,2}:\d\d(:\d\d)?)?"
)


def shape_of(found: Seen, marks: Marks) -> str | None:
    """What a column's texts are, if they are values that a plan cannot read as they are written; None for others."""
    texts = found.texts
    if found.days.several:
        return "days that are written in several ways: write all of them alike to release them as dates"
    if _all(_CLOCK, texts):
        return "times of day, for which a plan has no kind: store hours, or minutes since midnight, as whole numbers"
    if _all(_WRITTEN_DAY, texts):
        return "days in words that no format reads: write them as 2031-12-31"
    if _all(_PAIR, texts):
        return "two numbers in one text: store each of them in a column of its own"
    other = found.numbers[{".": ",", ",": "."}[marks.decimal]]
    if other.possible and found.any_value and not found.boolean:
        mark = "comma" if other.decimal == "," else "point"
        return f"numbers with a decimal {mark}, where other columns have another mark: write all of them alike"
    unit = with_unit(texts)
    if unit is not None:
        return f"numbers with {unit} beside each of them: store the numbers alone, and {unit} in the column's name"
    return None


def personal(texts: Collection[str]) -> str | None:
    """What texts are that lead to somebody by themselves."""
    if _all(_MAIL, texts):
        return "mail addresses, which say who somebody is"
    return "addresses of pages or machines, which may say who somebody is" if _all(_ADDRESS, texts) else None


def _all(pattern: re.Pattern[str], texts: Collection[str]) -> bool:
    return bool(texts) and all(map(pattern.fullmatch, texts))
