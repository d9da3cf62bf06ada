"""Values of a piece of a column as numbers, days or places in a list of labels.

Guarantee    What is made of a value depends on that value and on the plan, and on nothing else in the table.
Argument     Every step is elementwise. Where a whole piece is looked at first (does all of it read as whole numbers,
             does any of it lie outside the range), that decides which way is quicker, not what a value becomes:
             tests compare both ways.
Arithmetic   Numbers are int64 or float64, codes int64.

Missing values (null, NaN, and in text the tokens the plan lists) have the code MISSING in every column.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rankveil.engines.arrays import (
    among,
    decoded,
    filled,
    is_text,
    null_of,
    nulls_of,
    text_array,
    value_array,
    values_of,
    without,
)
from rankveil.engines.spelling import PLAIN, SPECIAL_TEXT, Marks, number_texts, respelled

MISSING = -1
_ISO = "%Y-%m-%d"
# 2031-12-31T23:59:59.999Z and what is shorter: how programs write moments.
_WHOLE_MOMENT = r"^(\d{4}-\d\d-\d\d)[ T](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$"
MOMENT = re.compile(_WHOLE_MOMENT, re.ASCII)
DEFAULT_NULL_TOKENS = ("", "?", "NA", "N/A", "null", "NULL")

_NUMBER_TEXT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_THREE_DECIMALS = r"^[+-]?[1-9]\d{0,2}\.\d{3}$"  # or thousands: 9.734


_EPOCH = datetime.date(1970, 1, 1)
_YEAR = 366  # days

Codes: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Encoded:
    """Codes of a piece of a column, and how many of its values the domain could not take as they are."""

    codes: Codes
    outside: int = 0  # beyond the range (already moved to its nearest end), or not a known label
    unreadable: int = 0  # text where a number or a date is expected, or a fraction where a whole number is
    without_code: int = 0  # codes that are MISSING
    ambiguous: int = 0  # numbers that may be read in two ways


@dataclass(frozen=True)
class Read:
    """Numbers of a piece of a column, some of them missing (any number stands in their place)."""

    numbers: Numbers
    missing: Mask | None = None  # None where nothing is; floats may still hold NaN, which is missing as well
    unreadable: int = 0
    ambiguous: int = 0


def texts_of(array: pa.Array) -> pa.Array:
    """Texts without white space around them, whatever the array holds."""
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        return number_texts(array)
    if not is_text(array.type) or pa.types.is_string_view(array.type):  # Arrow cannot trim views
        array = array.cast(pa.string())
    return pc.utf8_trim_whitespace(array)


def read_numbers(array: pa.Array, null_tokens: tuple[str, ...], marks: Marks = PLAIN) -> Read:
    """Numbers as int64 or float64."""
    array = decoded(array)
    unreadable = ambiguous = 0
    if is_text(array.type):
        array, unreadable, ambiguous = _parse_numbers(texts_of(array), null_tokens, marks)
    elif pa.types.is_decimal(array.type):
        # By way of text: Arrow's direct cast rounds by the type's scale, which may come from other records.
        array = array.cast(pa.string()).cast(pa.float64())
    elif pa.types.is_float16(array.type) or pa.types.is_float32(array.type):
        array = array.cast(pa.float64())
    elif pa.types.is_boolean(array.type):
        array = array.cast(pa.int64())
    elif array.type == pa.uint64():
        array = array.cast(pa.float64(), safe=False)
    elif pa.types.is_null(array.type):
        array = array.cast(pa.int64())
    elif not pa.types.is_floating(array.type) and not pa.types.is_integer(array.type):
        return Read(np.zeros(len(array), np.int64), unreadable=len(array))
    return _read(array, unreadable, ambiguous)


def _read(array: pa.Array, unreadable: int, ambiguous: int = 0) -> Read:
    # What stands in the place of a missing number is never looked at.
    numbers = values_of(array)
    wide = numbers if numbers.dtype == np.float64 else numbers.astype(np.int64, copy=False)
    return Read(wide, nulls_of(array) if array.null_count else None, unreadable, ambiguous)


def _parse_numbers(texts: pa.Array, null_tokens: tuple[str, ...], marks: Marks) -> tuple[pa.Array, int, int]:
    texts = without(texts, null_tokens)
    ambiguous = 0 if marks.stated else int(pc.sum(pc.match_substring_regex(texts, _THREE_DECIMALS)).as_py() or 0)
    numbers, unreadable = _parse_plain_numbers(respelled(texts, marks))
    return numbers, unreadable, ambiguous


def _parse_plain_numbers(texts: pa.Array) -> tuple[pa.Array, int]:
    # Arrow reads '0x10' as an integer, but not beside a fraction: how a text is read must not depend on others.
    hexadecimal = pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py()
    for target in () if hexadecimal else (pa.int64(), pa.float64()):
        try:
            return texts.cast(target), 0
        except pa.ArrowInvalid:
            continue
    readable = pc.or_(pc.match_substring_regex(texts, _NUMBER_TEXT), pc.match_substring_regex(texts, SPECIAL_TEXT))
    unreadable = len(texts) - int(pc.sum(filled(readable, True)).as_py())
    kept = pc.if_else(filled(readable, False), texts, null_of(texts.type))
    # Arrow reads neither '+5' nor 'infinity'; Python does.
    return pa.array([None if text is None else float(text) for text in kept.to_pylist()], pa.float64()), unreadable


def read_days(array: pa.Array, date_format: str, null_tokens: tuple[str, ...]) -> Read:
    """Days since 1970-01-01."""
    array = decoded(array)
    unreadable = 0
    if is_text(array.type):
        texts = without(texts_of(array), null_tokens)
        array = _parse_days(texts, date_format)
        unreadable = array.null_count - texts.null_count
    elif not (pa.types.is_date(array.type) or pa.types.is_timestamp(array.type) or pa.types.is_null(array.type)):
        return Read(np.zeros(len(array), np.int64), unreadable=len(array))
    if pa.types.is_timestamp(array.type):
        array = pc.local_timestamp(array) if array.type.tz is not None else array
        array = pc.floor_temporal(array, unit="day").cast(pa.timestamp("s")).cast(pa.date32())
    return _read(array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), unreadable)


def keeps_days(date_format: str, first: datetime.date, last: datetime.date) -> bool:
    """Whether days of a range, written in this format, are read as the same days: the year of each end stands for all.

    A format that fails loses a part of the date ("%m/%Y") or takes it for another one ("%y" in a range before 1969).
    """
    if not date_format:
        return False  # no text for a day; and Arrow 26 reads beyond the end of an empty format, which may crash
    if "%G" in date_format or "%g" in date_format:
        return False  # the year of the week, which is another one for a few days of some years only
    start, end = day_number(first), day_number(last)
    numbers = np.unique([*range(start, min(start + _YEAR, end) + 1), *range(max(start, end - _YEAR), end + 1)])
    days = value_array(numbers.astype("datetime64[D]"))
    try:
        texts = pc.strftime(days, format=date_format)
    except pa.ArrowInvalid:  # a time zone, which days have not
        return False
    read = read_days(texts, date_format, ())
    return read.missing is None and np.array_equal(read.numbers, numbers)


def day_number(day: datetime.date) -> int:
    """Days since 1970-01-01, as Arrow counts them."""
    return (day - _EPOCH).days


def _parse_days(texts: pa.Array, date_format: str) -> pa.Array:
    """Texts to timestamps, null where they are not dates. Of an ISO 8601 moment, the day is read as it stands there."""
    if date_format == _ISO and (pc.max(pc.binary_length(texts)).as_py() or 0) > len("2031-12-31"):
        texts = pc.replace_substring_regex(texts, _WHOLE_MOMENT, r"\1")
    parsed = pc.strptime(texts, format=date_format, unit="s", error_is_null=True)
    # Arrow reads 30 February as 1 March. What does not come back as it was written is left to Python to judge.
    odd = filled(pc.not_equal(pc.strftime(parsed, format=date_format), texts.cast(pa.string())), False)
    wrong = [text for text in pc.unique(texts.filter(odd)).to_pylist() if not _is_date(text, date_format)]
    return pc.if_else(among(texts, wrong), null_of(parsed.type), parsed)


def _is_date(text: str, date_format: str) -> bool:
    try:
        datetime.datetime.strptime(text, date_format)
    except (ValueError, re.error):  # the latter for a format that says something twice
        return False
    return True


def unescaped(array: pa.Array, labels: tuple[str, ...]) -> pa.Array:
    """Released labels without the apostrophe that --escape-formulas has put before some of them."""
    if not is_text(array.type):
        return array
    texts = texts_of(array)
    bare = pc.utf8_slice_codeunits(texts, start=1)
    escaped = pc.and_(pc.starts_with(texts, "'"), pc.invert(among(texts, labels)))
    return pc.if_else(pc.and_(escaped, among(bare, labels)), bare, texts)


def encode_labels(array: pa.Array, labels: tuple[str, ...], null_tokens: tuple[str, ...]) -> Encoded:
    """The place of each text in the list of labels."""
    if pa.types.is_dictionary(array.type):
        return _encode_dictionary(array, labels, null_tokens)
    texts = texts_of(array)
    found = pc.index_in(texts, value_set=_value_set(labels, texts.type))
    if found.null_count == 0:
        return Encoded(values_of(found).astype(np.int64))
    codes = values_of(filled(found, MISSING)).astype(np.int64)
    unknown = np.count_nonzero(_unknown(texts, codes, null_tokens))
    return Encoded(codes, outside=int(unknown), without_code=found.null_count)


@lru_cache(maxsize=256)
def _value_set(labels: tuple[str, ...], kind: pa.DataType) -> pa.Array:
    return text_array(labels, kind)


def _encode_dictionary(array: pa.DictionaryArray, labels: tuple[str, ...], null_tokens: tuple[str, ...]) -> Encoded:
    """Look the dictionary up once and spread its codes over the rows."""
    known = encode_labels(array.dictionary, labels, null_tokens)
    indices = array.indices
    if indices.null_count:
        indices = filled(indices.cast(pa.int64()), len(known.codes))
    places = values_of(indices).astype(np.intp, copy=False)
    codes = np.append(known.codes, MISSING).take(places)
    if not known.without_code and not array.indices.null_count:
        return Encoded(codes)
    # A dictionary may hold entries that no row uses.
    unknown = np.append(_unknown(texts_of(array.dictionary), known.codes, null_tokens), False)
    return Encoded(
        codes,
        outside=int(np.count_nonzero(unknown[places])),
        without_code=int(np.count_nonzero(codes == MISSING)),
    )


def _unknown(texts: pa.Array, codes: Codes, null_tokens: tuple[str, ...]) -> Mask:
    """Which texts are neither a label nor missing. A label wins over a null token of the same spelling."""
    absent = pc.or_(among(texts, null_tokens), pc.is_null(texts))
    return np.asarray((codes == MISSING) & ~values_of(filled(absent, False)))


def take_labels(labels: tuple[str, ...], codes: Codes) -> pa.Array:
    return pc.take(text_array(labels), value_array(codes, codes == MISSING))
