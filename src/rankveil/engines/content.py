"""A fingerprint of the values of a table: the same for every copy of it, however it is stored.

Guarantee    Tables that hold the same records have one fingerprint, whatever their container (files of any format,
             parts, frames), encoding, separator, order of rows, order and names of columns, types and chunks: 7 as an
             integer, as 7.0, or as the text '+7' is one number; a day is one day as a date, as a point in time at
             midnight or as ISO text; null, NaN and what usually stands for missing are one. All columns count.
             What a plan says (marks of numbers, tokens for missing, which columns are days or truth values, which are
             dropped) gives further fingerprints: of the table as the plan reads it, with all columns and without
             those it drops. Copies in which values were converted accordingly share them.
Argument     Each cell becomes a word of 64 bits that depends on its own value alone. A row is the sum of its words; a
             table is two sums, modulo 2^64, of two scrambled forms of its rows, and their number: commutative, so
             that pieces can be added up in any order, by threads or on other machines, to the same bits.
Not covered  Collisions are as rare as chance makes them (2^-64 for a pair of tables), but the words are not secret: who
             wants two tables to have one fingerprint can make them so, and shares one budget between them. A table
             with one changed value has another fingerprint, and so has one with a column more or less that the plan
             reads.
Arithmetic   Numbers are compared as float32, so that 0.1 is one number in both precisions; points in time to the
             microsecond. Finer differences are not seen, which is the safe side: two tables share a budget.

Plain words are read without a plan, so that a table is known before there is one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rankveil.engines.arrays import among, filled, is_text, nulls_of, text_array, value_array, values_of, without
from rankveil.engines.spelling import FALSE_TEXTS, PLAIN, TRUE_TEXTS, Marks, respelled

Words: TypeAlias = NDArray[np.uint64]

_MISSING_TEXTS = ("", "?", "NA", "N/A", "null", "NULL", "NaN", "nan", "None", "NaT", "<NA>")
_NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)$"
_MOMENT = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[+-]\d{2}:?\d{2})?$"
_ZONE = r"(\d{2}:\d{2}.*)(Z|[+-]\d{2}:?\d{2})$"
_CLOCK = r"^\d{2}:\d{2}:\d{2}(\.\d+)?$"
_LOOK = 100  # texts
_DAY = 86_400 * 10**6  # microseconds
_ISO_DAYS = "%Y-%m-%d"
_MICROSECONDS = len("2031-01-31T12:00:00.000000")

# Arbitrary odd numbers.
_FIRST, _SECOND, _POWER = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53), np.uint64(0x9E3779B97F4A7C15)
_NUMBERS, _MOMENTS, _MISSING = (
    np.uint64(0x243F6A8885A308D3),
    np.uint64(0x13198A2E03707345),
    np.uint64(0xA4093822299F31D1),
)
_LANES = (np.uint64(0x082EFA98EC4E6C89), np.uint64(0x452821E638D01377))
_32, _29 = np.uint64(32), np.uint64(29)


@dataclass(frozen=True)
class TextReading:
    """What a plan says about how values are to be read."""

    marks: Marks = PLAIN
    null_values: tuple[str, ...] = ()
    date_formats: tuple[tuple[str, str], ...] = ()  # of the columns that hold days, by name
    truths: tuple[str, ...] = ()  # columns that hold truth values
    dropped: tuple[str, ...] = ()  # columns that are not read

    def of(self, column: str) -> _ColumnReading | None:
        date_format, truth = dict(self.date_formats).get(column), column in self.truths
        plain = self.marks.plain and not self.null_values and date_format is None and not truth
        return None if plain else _ColumnReading(self.marks, self.null_values, date_format, truth)


@dataclass(frozen=True)
class _ColumnReading:
    marks: Marks
    null_values: tuple[str, ...]
    date_format: str | None  # of days
    truth: bool

    def matters(self, kind: pa.DataType) -> bool:
        """Whether values of a type may mean something else than they do by themselves."""
        while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        if self.truth:
            return not pa.types.is_boolean(kind)
        return is_text(kind) or (self.date_format is not None and pa.types.is_timestamp(kind))


@dataclass(frozen=True)
class Content:
    """A fold: rows, and two lanes each for words without a plan, with it, and of the columns that it does not drop."""

    columns: Sequence[str]
    reading: TextReading = TextReading()

    def zero(self) -> Words:
        return np.zeros(7, np.uint64)

    def step(self, state: Words, batch: pa.RecordBatch) -> Words:
        plain = np.zeros(batch.num_rows, np.uint64)
        read: list[Words] = []  # what is to be added
        left: list[Words] = []  # what is to be taken away
        for place, name in enumerate(self.columns):
            array, reading = batch.column(place), self.reading.of(name)
            words = helped = _words(array)
            plain += words
            if reading is not None and reading.matters(array.type):
                helped = _words(array, reading)
                read += [helped, np.negative(words)]
            if name in self.reading.dropped:
                left.append(helped)
        state[0] += np.uint64(batch.num_rows)
        lanes = _lanes(plain)
        state[1:3] += lanes
        if read:
            plain = reduce(np.add, read, plain)
            lanes = _lanes(plain)
        state[3:5] += lanes
        state[5:7] += _lanes(reduce(np.subtract, left, plain)) if left else lanes
        return state

    def merge(self, first: Words, second: Words) -> Words:
        return np.asarray(first + second)

    def digests(self, state: Words) -> list[bytes]:
        """The fingerprint without a plan, and those that a plan adds, where they are others."""
        every, kept = len(self.columns), sum(name not in self.reading.dropped for name in self.columns)
        sums = ((every, state[1:3]), (every, state[3:5]), (kept, state[5:7]))
        found = [b"values\0%d\0%d\0" % (columns, int(state[0])) + lanes.tobytes() for columns, lanes in sums]
        return [hashlib.sha256(content).digest() for content in dict.fromkeys(found)]


def _lanes(rows: Words) -> Words:
    return np.array([mixed(rows ^ lane).sum(dtype=np.uint64) for lane in _LANES], np.uint64)


def mixed(words: Words) -> Words:
    """Every bit of a word spread over all of it, in place."""
    words ^= words >> _32
    words *= _FIRST
    words ^= words >> _29
    words *= _SECOND
    words ^= words >> _32
    return words


def _words(array: pa.Array, reading: _ColumnReading | None = None) -> Words:
    """A word for each value, which depends on nothing but this value and the reading."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _spread(_words(array.dictionary, reading), array.indices)
    if pa.types.is_run_end_encoded(kind):
        places = np.arange(array.offset, array.offset + len(array))
        return _words(array.values, reading)[np.searchsorted(values_of(array.run_ends), places, side="right")]
    words = _of_type(array, kind, reading)
    return words if reading is None or not reading.truth else _as_truths(words)


def _of_type(array: pa.Array, kind: pa.DataType, reading: _ColumnReading | None) -> Words:
    if pa.types.is_null(kind):
        return np.full(len(array), _MISSING)
    if is_text(kind):
        return _of_column_of_texts(array.cast(pa.large_string()), reading)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _of_moments(array, reading)
    if pa.types.is_decimal(kind):
        return _of_numbers(array.cast(pa.string()).cast(pa.float64()))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(array.cast(pa.float64(), safe=False))
    try:
        return _of_texts(array.cast(pa.large_string()))
    except (pa.ArrowException, UnicodeError):  # lists, structures, bytes
        return _of_texts(text_array([repr(value) for value in array.to_pylist()], pa.large_string()))


def _spread(listed: Words, places: pa.Array) -> Words:
    """Words of a list, at the places of its rows."""
    listed = np.append(listed, _MISSING)
    if places.null_count:
        places = filled(places.cast(pa.int64()), len(listed) - 1)
    return listed.take(values_of(places).astype(np.intp, copy=False))


def _of_column_of_texts(texts: pa.Array, reading: _ColumnReading | None) -> Words:
    """Read all at once where all are numbers, else each different text once; both give the same words."""
    if reading is None and _likely_numbers(texts.slice(0, _LOOK)):
        for as_written in (True, False):
            try:
                numbers = (texts if as_written else _without_missing(texts)).cast(pa.float64())
            except pa.ArrowInvalid:
                continue
            if pc.all(pc.is_finite(numbers), min_count=0).as_py():
                return _of_numbers(numbers)
            # Arrow takes more for infinite or not a number than we do.
    listed = texts.dictionary_encode()
    return _spread(_of_texts(listed.dictionary, reading), listed.indices)


def _likely_numbers(texts: pa.Array) -> bool:
    """A look at a few: Arrow takes its time to find that a text is no number."""
    plain = _without_missing(texts).drop_null()
    return bool(_matching(plain, _NUMBER).all())


def _without_missing(texts: pa.Array) -> pa.Array:
    return without(pc.utf8_trim_whitespace(texts), _MISSING_TEXTS)


def _of_numbers(array: pa.Array) -> Words:
    with np.errstate(all="ignore"):
        rounded = values_of(array).astype(np.float32)
    rounded += np.float32(0)  # takes the sign of zero away
    numbers = rounded.astype(np.float64)
    missing = np.isnan(numbers)
    words = numbers.view(np.uint64)
    words ^= _NUMBERS
    return _marked(mixed(words), array, missing)


def _of_moments(array: pa.Array, reading: _ColumnReading | None = None) -> Words:
    """Days and points in time, the latter as a clock in their own zone shows them; by their day if a plan says so."""
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    array = array.cast(pa.timestamp("us"), safe=False)
    times = values_of(array.cast(pa.int64()))
    if reading is not None and reading.date_format is not None:
        times = times - times % _DAY
    return _marked(mixed(times.view(np.uint64) ^ _MOMENTS), array, None)


def _marked(words: Words, array: pa.Array, missing: NDArray[np.bool_] | None) -> Words:
    if missing is not None and missing.any():
        words[missing] = _MISSING
    if array.null_count:
        words[nulls_of(array)] = _MISSING
    return words


def _of_texts(texts: pa.Array, reading: _ColumnReading | None = None) -> Words:
    """Words of texts, each read by itself: missing, a number, a point in time, a time of day, a truth value, a text."""
    texts = pc.utf8_trim_whitespace(texts)
    missing = (*_MISSING_TEXTS, *(reading.null_values if reading is not None else ()))
    absent = values_of(filled(pc.or_kleene(among(texts, missing), pc.is_null(texts)), False))
    lower = pc.utf8_lower(texts)
    truths = ("true", "false") if reading is None or not reading.truth else (*TRUE_TEXTS, *FALSE_TEXTS)
    words = text_words(pc.if_else(among(lower, truths), lower, texts))
    moments = _matching(texts, _MOMENT)
    words[moments] = _of_moment_texts(texts.filter(value_array(moments)), words[moments], reading)
    clocks = _matching(texts, _CLOCK)
    words[clocks] = text_words(_without_last_zeros(texts.filter(value_array(clocks))))
    spelled = texts if reading is None else respelled(texts, reading.marks)
    numbers = _matching(spelled, _NUMBER)
    # Arrow reads neither '+5' nor '5.' the same way everywhere; Python does.
    words[numbers] = _of_numbers(_floats(spelled.filter(value_array(numbers))))
    if reading is not None and reading.date_format not in (None, _ISO_DAYS):
        days = pc.strptime(texts, format=reading.date_format, unit="s", error_is_null=True)
        dated = values_of(filled(pc.is_valid(days), False))
        words[dated] = _of_moments(days.drop_null(), reading)
    words[absent] = _MISSING
    return words


def _without_last_zeros(clocks: pa.Array) -> pa.Array:
    """Times of day without the end of their fraction that says nothing."""
    return pc.replace_substring_regex(pc.replace_substring_regex(clocks, r"(\.\d*?)0+$", r"\1"), r"\.$", "")


def _as_truths(words: Words) -> Words:
    """Numbers and texts that a plan reads as truth values."""
    for texts in (TRUE_TEXTS, FALSE_TEXTS):
        first, *others = _of_texts(text_array(texts, pa.large_string()))
        for other in others:
            words[words == other] = first
    return words


def _floats(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = np.array([float(text) for text in texts.to_pylist()], np.float64)
        return pa.Array.from_buffers(pa.float64(), len(numbers), [None, pa.py_buffer(numbers)])


def _of_moment_texts(texts: pa.Array, otherwise: Words, reading: _ColumnReading | None) -> Words:
    clock = pc.utf8_slice_codeunits(pc.replace_substring_regex(texts, _ZONE, r"\1"), 0, _MICROSECONDS)
    try:
        return _of_moments(clock.cast(pa.timestamp("us")), reading)
    except pa.ArrowInvalid:  # no such day or hour: a text as any other
        made = otherwise.copy()
        for place, text in enumerate(clock.to_pylist()):
            if _is_moment(text):
                made[place] = _of_moments(clock.slice(place, 1).cast(pa.timestamp("us")), reading)[0]
        return made


def _is_moment(text: str) -> bool:
    try:
        text_array([text]).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True


def text_words(texts: pa.Array) -> Words:
    """Words of texts as they are written: a polynomial in their bytes."""
    if not len(texts):
        return np.zeros(0, np.uint64)
    texts = pc.fill_null(texts, "") if texts.null_count else texts
    ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = texts.buffers()[2]
    codes = np.zeros(0, np.uint8) if held is None else np.frombuffer(held, np.uint8)[ends[0] : ends[-1]]
    starts, lengths = ends[:-1] - ends[0], np.diff(ends)
    words = lengths.astype(np.uint64) * _POWER
    full = lengths > 0
    if full.any():
        places = np.arange(len(codes)) - np.repeat(starts, lengths)
        terms = _letters()[codes] * _powers(int(lengths.max()))[places]
        words[full] += np.add.reduceat(terms, starts[full])
    return mixed(words)


@cache
def _letters() -> Words:
    return mixed(np.arange(1, 257, dtype=np.uint64) * _POWER)


def _powers(count: int) -> Words:
    return np.multiply.accumulate(np.full(count, _POWER))


def _matching(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    return values_of(filled(pc.match_substring_regex(texts, pattern), False))
