"""How texts spell numbers: the decimal mark and the mark between thousands, by the plan; and how we do.

Guarantee    A text is read by itself. One that keeps to other marks is no number: nothing ambiguous is guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankveil.engines.arrays import null_of, text_array, value_array, values_of

SPECIAL_TEXT = r"(?i)^[+-]?(nan|inf|infinity)$"
TRUE_TEXTS, FALSE_TEXTS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")  # lower case
_NO_NUMBER = "no number"
_LARGEST_EXACT = 2.0**53 - 1
# By the mark that the plan states: an apostrophe may be curved, a space may be one at which no line breaks.
_GROUP_MARKS = {".": r"\.", ",": ",", "'": "['\u2019]", " ": "[ \u00a0\u2009\u202f]"}


@dataclass(frozen=True)
class Marks:
    decimal: str = "."
    thousands: str | None = None
    stated: bool = True  # else a text of three digits after its only point may mean thousands, and is refused

    @property
    def plain(self) -> bool:
        """Whether numbers are spelled as programs do."""
        return (self.decimal, self.thousands) == (".", None)


PLAIN = Marks()


def respelled(texts: pa.Array, marks: Marks) -> pa.Array:
    """Numbers with a decimal point and no other mark; what keeps to other marks becomes a text that is no number."""
    if marks.plain:
        return texts
    point, group = re.escape(marks.decimal), _GROUP_MARKS.get(marks.thousands or "", "")
    end = rf"({point}\d*)?([eE][+-]?\d+)?$"
    ungrouped = rf"^[+-]?(\d+{end[:-1]}|{point}\d+([eE][+-]?\d+)?)$"
    fits = pc.match_substring_regex(texts, ungrouped)
    if group:
        grouped = pc.match_substring_regex(texts, rf"^[+-]?[1-9]\d{{0,2}}({group}\d{{3}})+{end}")
        fits = pc.or_(fits, grouped)
        texts = pc.if_else(grouped, pc.replace_substring_regex(texts, pattern=group, replacement=""), texts)
    fits = pc.or_(fits, pc.match_substring_regex(texts, SPECIAL_TEXT))
    spelled = texts if marks.decimal == "." else pc.replace_substring(texts, marks.decimal, ".")
    return pc.if_else(fits, spelled, text_array([_NO_NUMBER], texts.type)[0])


def number_texts(array: pa.Array) -> pa.Array:
    """Floats or decimals as texts that say the number and not its type: 7 for 7.0 and 7.00.

    PRIVACY: one missing value makes floats of whole numbers in pandas, one with more decimals another scale of all. The
    label of a value must not depend on that.
    """
    if pa.types.is_decimal(array.type):
        texts = array.cast(pa.string())
        return pc.replace_substring_regex(texts, pattern=r"^([^.]*?)\.0*$|^([^.]*\.\d*[1-9])0+$", replacement=r"\1\2")
    numbers = array.cast(pa.float64())
    held = values_of(numbers)
    whole = np.abs(held) <= _LARGEST_EXACT  # False for NaN
    whole[whole] = held[whole] == np.floor(held[whole])
    integers = value_array(np.where(whole, held, 0).astype(np.int64)).cast(pa.string())
    spelled = pc.if_else(value_array(whole), integers, numbers.cast(pa.string()))
    return pc.if_else(pc.is_null(numbers, nan_is_null=True), null_of(pa.string()), spelled)


def with_number_texts(values: list[Any]) -> list[Any]:
    places = [place for place, value in enumerate(values) if isinstance(value, float)]
    if places:
        numbers = np.array([values[place] for place in places], np.float64)
        for place, text in zip(places, number_texts(value_array(numbers)).to_pylist(), strict=True):
            values[place] = text
    return values


def own_text(value: Any) -> Any:
    """A Python object as text, a point in time as its own calendar day, and what stands for nothing as None.

    Floats are left for Arrow to spell. The text of a value is what it would be in a column of its own type.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # NaN is not itself
        return None
    value = value.item() if hasattr(value, "item") else value  # NumPy's own numbers
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value.is_finite() else str(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float(value)
    if isinstance(value, time):
        return value.isoformat("microseconds")
    if isinstance(value, str | int):
        return str(value)
    return repr(type(value))  # no kind of column takes it: it is refused, without showing it
