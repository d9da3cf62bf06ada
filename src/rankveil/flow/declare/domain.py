"""A column's values as integers on a public grid.

Guarantee    Encoding is a fixed map applied to each value by itself: the code of a value depends on that value and
             on the plan, and on nothing else in the table. Codes of a numeric column lie in 0..width.
Argument     Rounding to the grid, the test against the range and the look-up of a label are elementwise. A value
             outside the range is refused or, where the plan says clamp, moved to the nearest end.
Not covered  Refusing a table reveals to the person who runs rankveil that it holds such values.
Arithmetic   Codes are int64. Deciding the code may use floating point, for it happens to each record alone.

Missing values (null, NaN, and in text the tokens the plan lists) have the code MISSING in every column.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rankveil.errors import PlanError
from rankveil.flow.declare.plan import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
    Plan,
)
from rankveil.taxonomy import Taxonomy, flat_taxonomy, read_taxonomy

MISSING = -1
DEFAULT_NULL_TOKENS = ("", "?", "NA", "N/A", "null", "NULL")

# Wider grids would let a sum over a large table leave int64.
_WIDEST_GRID = 1 << 40
OUTER_STEPS = 1 << 38  # half the width of the range in which private bounds are looked for
# Cells of a logarithmic axis: fine enough that rounding to it is lost in any noise, small enough to sum exactly.
_LOG_AXIS_WIDTH = 1 << 20

_NUMBER_TEXT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_SPECIAL_TEXT = r"(?i)^[+-]?(nan|inf|infinity)$"

Codes: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class Encoded:
    """Codes of a piece of a column, and how many of its values the domain could not take as they are."""

    codes: Codes
    outside: int = 0  # beyond the range (already moved to its nearest end), or not a known label
    unreadable: int = 0  # text where a number or a date is expected, or a fraction where a whole number is


@dataclass(frozen=True)
class Grid:
    """Numbers, days or ordered labels: integers 0..width, one step apart.

    Mechanisms work on the grid's axis: the codes themselves, or for `scale = "log"` their logarithm on a
    fixed integer lattice, so that money is as wide as its number of digits and not as its largest amount.
    """

    width: int
    lower: Decimal = Decimal(0)
    step: Decimal = Decimal(1)
    whole: bool = True
    beyond: Decimal = Decimal(0)  # how far the declared upper end lies above the last step; less than a step
    log: bool = False
    labels: tuple[str, ...] | None = None  # ordinal columns
    date_format: str | None = None  # date columns; codes count days from `lower` days after 1970-01-01
    decimal_mark: str = "."

    def encode(self, array: pa.Array, null_tokens: tuple[str, ...]) -> Encoded:
        if self.labels is not None:
            return _encode_labels(array, self.labels, null_tokens)
        if self.date_format is not None:
            numbers, missing, unreadable = _days(array, self.date_format, null_tokens)
        else:
            numbers, missing, unreadable = _numbers(array, null_tokens, self.decimal_mark)
        return self._place(numbers, missing, unreadable)

    def _place(self, numbers: Numbers, missing: NDArray[np.bool_], unreadable: int) -> Encoded:
        if numbers.dtype == np.int64 and self.whole:
            lower, step = int(self.lower), int(self.step)
            top = lower + self.width * step
            outside = (numbers < lower) | (numbers > top + int(self.beyond))
            codes = (np.clip(numbers, lower, top) - lower + step // 2) // step
            codes = np.minimum(codes, self.width)
        else:
            values = numbers.astype(np.float64)
            lower_float, step_float = float(self.lower), float(self.step)
            top_float = float(self.lower + self.width * self.step)
            # A value is outside if it is by more than rounding to the grid would forgive.
            slack = 0.0 if self.whole else step_float / 2
            outside = (values < lower_float - slack) | (values > top_float + max(slack, float(self.beyond)))
            if self.whole:
                finite = np.isfinite(values)
                fractions = int(np.count_nonzero((values[finite] != np.floor(values[finite])) & ~missing[finite]))
                unreadable += fractions
            above = np.clip(np.nan_to_num(values, nan=lower_float), lower_float, top_float) - lower_float
            if self.whole:
                # PRIVACY: round as above. One value written as '1.0' turns a whole column into floats; if that
                # changed the rounding, one record would move the codes of others.
                codes = (np.floor(above).astype(np.int64) + int(self.step) // 2) // int(self.step)
            else:
                codes = np.rint(above / step_float).astype(np.int64)
            codes = np.clip(codes, 0, self.width)
        outside &= ~missing
        codes[missing] = MISSING
        return Encoded(
            codes.astype(np.int64, copy=False), outside=int(np.count_nonzero(outside)), unreadable=unreadable
        )

    def decode(self, codes: Codes) -> pa.Array:
        """Codes back to values: integers stay integers, days become dates, labels labels."""
        missing = codes == MISSING
        present = np.where(missing, 0, codes)
        if self.labels is not None:
            return _take_labels(self.labels, codes)
        if self.date_format is not None:
            return pa.array((present + int(self.lower)).astype("datetime64[D]"), mask=missing)
        return pa.array(self._values(present), mask=missing)

    def _values(self, codes: Codes) -> Numbers:
        # lower + code * step in integers of the last decimal place, and one correctly rounded division at the end.
        lower, step, denominator = self._integers
        if abs(lower) + self.width * step >= 1 << 62:  # too many digits for that: plain floating point
            return np.asarray(float(self.lower) + codes * float(self.step), dtype=np.float64)
        shifted = lower + codes * step
        values: Numbers = shifted if self.whole else shifted / denominator
        return values

    @cached_property
    def _integers(self) -> tuple[int, int, int]:
        places = max(0, -_exponent(self.lower), -_exponent(self.step))
        power = int(10**places)
        return int(Fraction(self.lower) * power), int(Fraction(self.step) * power), power

    def numbers(self, codes: Codes) -> NDArray[np.float64]:
        """Codes as plain numbers for measuring (days for dates, ranks for ordered labels); missing as NaN."""
        values = self._values(np.where(codes == MISSING, 0, codes)).astype(np.float64)
        values[codes == MISSING] = np.nan
        return values

    @property
    def span(self) -> float:
        """Upper minus lower, in the column's own units."""
        return float(self.width * self.step)

    def in_units(self, axis_steps: Fraction) -> float | None:
        """A distance on the axis in the column's own units; None on a logarithmic axis, where it has no fixed size."""
        return None if self.log else float(axis_steps * Fraction(self.step))

    # The axis on which mechanisms work

    @property
    def axis_width(self) -> int:
        """D: no single value can move further than this on the axis."""
        return min(_LOG_AXIS_WIDTH, 64 * self.width) if self.log else self.width

    def to_axis(self, codes: Codes) -> Codes:
        if not self.log:
            return codes
        per_unit = self.axis_width / np.log1p(self.width)
        positions: Codes = np.clip(np.rint(np.log1p(codes) * per_unit), 0, self.axis_width).astype(np.int64)
        return positions

    def from_axis(self, positions: NDArray[np.float64]) -> Codes:
        """The nearest codes, after moving positions beyond the axis to its ends."""
        inside = np.clip(positions, 0, self.axis_width)
        if self.log:
            inside = np.expm1(inside * (np.log1p(self.width) / self.axis_width))
        codes: Codes = np.clip(np.rint(inside), 0, self.width).astype(np.int64)
        return codes


@dataclass(frozen=True)
class Nominal:
    """Labels without an order. Codes 0.. are the labels; codes from `label_count` on are inner concepts.

    A table holds labels only; a published method may release an inner concept (say, 'Europe').
    """

    taxonomy: Taxonomy
    boolean: bool = False

    @property
    def label_count(self) -> int:
        return self.taxonomy.label_count

    def encode(self, array: pa.Array, null_tokens: tuple[str, ...]) -> Encoded:
        return self._encode(array, self.taxonomy.labels, null_tokens)

    def encode_released(self, array: pa.Array, null_tokens: tuple[str, ...]) -> Encoded:
        """Like `encode`, but inner concepts of the taxonomy are accepted too."""
        return self._encode(array, self.taxonomy.names, null_tokens)

    def _encode(self, array: pa.Array, labels: tuple[str, ...], null_tokens: tuple[str, ...]) -> Encoded:
        if self.boolean and not pa.types.is_boolean(array.type):
            lowered = pc.utf8_lower(_texts(_plain(array).cast(pa.string())))
            synonyms = {
                "true": 1,
                "t": 1,
                "yes": 1,
                "y": 1,
                "1": 1,
                "false": 0,
                "f": 0,
                "no": 0,
                "n": 0,
                "0": 0,
            }
            found = pc.index_in(lowered, value_set=pa.array(list(synonyms)))
            truth = pc.take(pa.array(list(synonyms.values())), found)
            array = pc.if_else(pc.is_valid(truth), pc.take(pa.array(self.taxonomy.labels), truth), lowered)
        return _encode_labels(array, labels, null_tokens)

    def decode(self, codes: Codes) -> pa.Array:
        if self.boolean and int(codes.max(initial=0)) < 2:
            return pa.array(codes == 1, mask=codes == MISSING)
        return _take_labels(self.taxonomy.names, codes)

    def labels_for(self, codes: Codes) -> tuple[str, ...]:
        """The labels, and the inner concepts too where these codes hold one."""
        taxonomy = self.taxonomy
        return taxonomy.labels if int(codes.max(initial=0)) < taxonomy.label_count else taxonomy.names


Domain: TypeAlias = Grid | Nominal


def domain_of(
    entry: IntegerColumn | NumberColumn | DateColumn | OrdinalColumn | BooleanColumn | CategoryColumn,
    name: str,
    plan: Plan,
) -> Domain:
    """The public domain that a plan's entry declares."""
    if isinstance(entry, IntegerColumn | NumberColumn):
        lower, upper, step = _limits(entry)
        width = _steps(name, upper, lower, step, whole=isinstance(entry, IntegerColumn))
        return Grid(
            width,
            lower,
            step,
            whole=isinstance(entry, IntegerColumn),
            beyond=upper - lower - width * step,
            log=entry.scale == "log",
            decimal_mark=plan.table.decimal,
        )
    if isinstance(entry, DateColumn):
        epoch = datetime.date(1970, 1, 1)
        return Grid((entry.upper - entry.lower).days, Decimal((entry.lower - epoch).days), date_format=entry.format)
    if isinstance(entry, OrdinalColumn):
        return Grid(len(entry.categories) - 1, labels=entry.categories)
    if isinstance(entry, BooleanColumn):
        return Nominal(flat_taxonomy(("false", "true"), name=name), boolean=True)
    return Nominal(_taxonomy_of(entry, name, plan))


def _limits(entry: IntegerColumn | NumberColumn) -> tuple[Decimal, Decimal, Decimal]:
    """Lower, upper and step. Private bounds start from a range that holds any sensible number of steps."""
    if entry.lower is None or entry.upper is None:
        step = Decimal(entry.step or 1)
        return -OUTER_STEPS * step, OUTER_STEPS * step, step
    lower, upper = Decimal(entry.lower), Decimal(entry.upper)
    return lower, upper, _default_step(lower, upper) if entry.step is None else Decimal(entry.step)


def _taxonomy_of(entry: CategoryColumn, name: str, plan: Plan) -> Taxonomy:
    if entry.taxonomy is None:
        assert entry.categories is not None  # noqa: S101 - the plan has checked it
        return flat_taxonomy(entry.categories, name=name)
    return read_taxonomy(
        plan.folder / entry.taxonomy,
        label_file=None if entry.taxonomy_labels is None else plan.folder / entry.taxonomy_labels,
        labels=entry.categories,
    )


def _steps(name: str, upper: Decimal, lower: Decimal, step: Decimal, *, whole: bool) -> int:
    width = int((Fraction(upper) - Fraction(lower)) // Fraction(step))
    if width < 1:
        raise PlanError(
            f"Column {name!r}: the range from lower to upper holds less than one step.",
            remedy="Make the step smaller or the range wider.",
        )
    largest = max(abs(upper), abs(lower))
    if width > _WIDEST_GRID or Fraction(largest) / Fraction(step) > 1 << 53 or (whole and largest > 1 << 60):
        raise PlanError(
            f"Column {name!r}: the range holds more than 2^40 steps, or numbers of more than 2^53 steps.",
            remedy="Make the step larger: detail far below the noise is lost in any case.",
        )
    return width


def _default_step(lower: Decimal, upper: Decimal) -> Decimal:
    """The power of ten that cuts the range into one to ten million steps."""
    return Decimal(1).scaleb((upper - lower).adjusted() - 6)


def _exponent(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 - plan numbers are finite
    return exponent


def _plain(array: pa.Array) -> pa.Array:
    """Without dictionary encoding."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _texts(array: pa.Array) -> pa.Array:
    """Texts without white space around them, whatever the array holds."""
    if not _is_text(array) or pa.types.is_string_view(array.type):  # Arrow cannot trim views
        array = array.cast(pa.string())
    return pc.utf8_trim_whitespace(array)


def _is_text(array: pa.Array) -> bool:
    return bool(
        pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)
    )


def _mask(condition: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(condition, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _numbers(
    array: pa.Array, null_tokens: tuple[str, ...], decimal_mark: str
) -> tuple[Numbers, NDArray[np.bool_], int]:
    """Numbers as int64 or float64, which of them are missing, and how many could not be read."""
    array = _plain(array)
    unreadable = 0
    if _is_text(array):
        array, unreadable = _parse_numbers(_texts(array), null_tokens, decimal_mark)
    elif pa.types.is_decimal(array.type):
        # By way of text: Arrow's direct cast rounds by the type's scale, which may come from other records.
        array = array.cast(pa.string()).cast(pa.float64())
    elif pa.types.is_float16(array.type) or pa.types.is_float32(array.type):
        array = array.cast(pa.float64())
    elif pa.types.is_boolean(array.type) or (pa.types.is_integer(array.type) and array.type != pa.uint64()):
        array = array.cast(pa.int64())
    elif array.type == pa.uint64():
        array = array.cast(pa.float64(), safe=False)
    elif pa.types.is_null(array.type):
        array = array.cast(pa.int64())
    elif not pa.types.is_floating(array.type):
        return np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_), len(array)
    missing = _mask(pc.is_null(array, nan_is_null=True))
    filled = pc.fill_null(array, 0)
    return filled.to_numpy(zero_copy_only=False), missing, unreadable


def _parse_numbers(texts: pa.Array, null_tokens: tuple[str, ...], decimal_mark: str) -> tuple[pa.Array, int]:
    absent = pc.is_in(texts, value_set=pa.array(null_tokens, texts.type))
    texts = pc.if_else(absent, pa.scalar(None, texts.type), texts)
    if decimal_mark != ".":
        texts = pc.replace_substring(texts, decimal_mark, ".")
    # Arrow reads '0x10' as an integer, but not beside a fraction: how a text is read must not depend on others.
    hexadecimal = pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py()
    for target in () if hexadecimal else (pa.int64(), pa.float64()):
        try:
            return texts.cast(target), 0
        except pa.ArrowInvalid:
            continue
    readable = pc.or_(pc.match_substring_regex(texts, _NUMBER_TEXT), pc.match_substring_regex(texts, _SPECIAL_TEXT))
    unreadable = len(texts) - int(pc.sum(pc.fill_null(readable, True)).as_py())
    kept = pc.if_else(pc.fill_null(readable, False), texts, pa.scalar(None, texts.type))
    # Arrow reads neither '+5' nor 'infinity'; Python does.
    return pa.array([None if text is None else float(text) for text in kept.to_pylist()], pa.float64()), unreadable


def _days(array: pa.Array, date_format: str, null_tokens: tuple[str, ...]) -> tuple[Numbers, NDArray[np.bool_], int]:
    """Days since 1970-01-01, which of them are missing, and how many could not be read."""
    array = _plain(array)
    unreadable = 0
    if _is_text(array):
        texts = _texts(array)
        absent = pc.is_in(texts, value_set=pa.array(null_tokens, texts.type))
        texts = pc.if_else(absent, pa.scalar(None, texts.type), texts)
        array = _parse_days(texts, date_format)
        unreadable = array.null_count - texts.null_count
    elif not (pa.types.is_date(array.type) or pa.types.is_timestamp(array.type) or pa.types.is_null(array.type)):
        return np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_), len(array)
    if pa.types.is_timestamp(array.type):
        array = pc.local_timestamp(array) if array.type.tz is not None else array
        array = pc.floor_temporal(array, unit="day").cast(pa.timestamp("s")).cast(pa.date32())
    missing = _mask(pc.is_null(array))
    days = pc.fill_null(array.cast(pa.date32()).cast(pa.int32()), 0).cast(pa.int64())
    return days.to_numpy(zero_copy_only=False), missing, unreadable


def _parse_days(texts: pa.Array, date_format: str) -> pa.Array:
    """Texts to timestamps, null where they are not dates."""
    parsed = pc.strptime(texts, format=date_format, unit="s", error_is_null=True)
    # Arrow reads 30 February as 1 March. What does not come back as it was written is left to Python to judge.
    odd = pc.fill_null(pc.not_equal(pc.strftime(parsed, format=date_format), texts.cast(pa.string())), False)
    wrong = [text for text in pc.unique(texts.filter(odd)).to_pylist() if not _is_date(text, date_format)]
    return pc.if_else(pc.is_in(texts, value_set=pa.array(wrong, texts.type)), pa.scalar(None, parsed.type), parsed)


def _is_date(text: str, date_format: str) -> bool:
    try:
        datetime.datetime.strptime(text, date_format)
    except ValueError:
        return False
    return True


def unescaped(array: pa.Array, labels: tuple[str, ...]) -> pa.Array:
    """Released labels without the apostrophe that --escape-formulas has put before some of them."""
    if not _is_text(array):
        return array
    texts = _texts(array)
    known, bare = pa.array(labels, texts.type), pc.utf8_slice_codeunits(texts, start=1)
    escaped = pc.and_(pc.starts_with(texts, "'"), pc.invert(pc.is_in(texts, value_set=known)))
    return pc.if_else(pc.and_(escaped, pc.is_in(bare, value_set=known)), bare, texts)


def _encode_labels(array: pa.Array, labels: tuple[str, ...], null_tokens: tuple[str, ...]) -> Encoded:
    if pa.types.is_dictionary(array.type):
        # Look the dictionary up once and spread its codes over the rows.
        known = _encode_labels(array.dictionary, labels, null_tokens)
        places = pc.fill_null(array.indices.cast(pa.int64()), len(array.dictionary)).to_numpy(zero_copy_only=False)
        unknown = _unknown(array.dictionary, known, null_tokens, labels)
        outside = int(np.count_nonzero(np.append(unknown, False)[places]))
        return Encoded(np.append(known.codes, MISSING)[places], outside=outside)
    texts = _texts(array)
    codes = pc.fill_null(pc.index_in(texts, value_set=pa.array(labels, texts.type)), MISSING).cast(pa.int64())
    encoded = Encoded(codes.to_numpy(zero_copy_only=False).copy())
    unknown = _unknown(texts, encoded, null_tokens, labels)
    return Encoded(encoded.codes, outside=int(np.count_nonzero(unknown)))


def _unknown(
    array: pa.Array, encoded: Encoded, null_tokens: tuple[str, ...], labels: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Which values are neither a label nor missing. A label wins over a null token of the same spelling."""
    texts = _texts(array)
    absent = pc.or_(pc.is_in(texts, value_set=pa.array(null_tokens, texts.type)), pc.is_null(texts))
    return np.asarray((encoded.codes == MISSING) & ~_mask(absent))


def _take_labels(labels: tuple[str, ...], codes: Codes) -> pa.Array:
    return pc.take(pa.array(labels), pa.array(codes, mask=codes == MISSING))
