"""A column's values as integers on a public grid.

Guarantee    Encoding is a fixed map applied to each value by itself: the code of a value depends on that value and
             on the plan, and on nothing else in the table. Codes of a numeric column lie in 0..width.
Argument     Rounding to the grid, the test against the range and the look-up of a label are elementwise. A value
             outside the range is refused or, where the plan says clamp, moved to the nearest end. T5.
Not covered  Refusing a table reveals to the person who runs rankveil that it holds such values.
Arithmetic   Codes are int64. A whole number gets its code in integers, whatever type it came in: its range ends below
             2^53, so floating point holds every number inside exactly, and rounds no number outside to one inside.
             Other numbers are rounded to float64 and to the grid, each by itself.
Types        What a code is released as follows from the kind: int64, float64, day, text or truth value. The type that a
             value came in does not matter, for one record may have decided it.

Missing values (null, NaN, and in text the tokens the plan lists) have the code MISSING in every column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rankveil.declare.entries import (
    LARGEST_INTEGER,
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
)
from rankveil.declare.plan import Plan
from rankveil.declare.reading import (
    DEFAULT_NULL_TOKENS,
    MISSING,
    Codes,
    Encoded,
    Mask,
    Numbers,
    Read,
    day_number,
    encode_labels,
    read_days,
    read_numbers,
    take_labels,
    texts_of,
    unescaped,
)
from rankveil.engines.arrays import decoded, text_array, value_array
from rankveil.engines.spelling import FALSE_TEXTS, PLAIN, TRUE_TEXTS, Marks
from rankveil.errors import PlanError
from rankveil.taxonomy import Taxonomy, flat_taxonomy, prefix_taxonomy, read_taxonomy

__all__ = [
    "DEFAULT_NULL_TOKENS",
    "MISSING",
    "OUTER_STEPS",
    "Codes",
    "Domain",
    "Encoded",
    "Grid",
    "Nominal",
    "domain_of",
    "unescaped",
]

# Wider grids would let a sum over a large table leave int64.
_WIDEST_GRID = 1 << 40
OUTER_STEPS = 1 << 38  # half the width of the range in which private bounds are looked for
# Cells of a logarithmic axis: fine enough that rounding to it is lost in any noise, small enough to sum exactly.
_LOG_AXIS_WIDTH = 1 << 20


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
    marks: Marks = PLAIN
    special: tuple[Decimal, ...] = ()  # values with a meaning of their own: codes from width + 1 on

    @property
    def arrow_type(self) -> pa.DataType:
        """What values of the column are released as."""
        if self.labels is not None:
            return pa.string()
        if self.date_format is not None:
            return pa.date32()
        return pa.int64() if self.whole else pa.float64()

    @property
    def code_count(self) -> int:
        return self.width + 1 + len(self.special)

    def ordinary(self, codes: Codes) -> Mask:
        """Which codes are neither missing nor of special values."""
        ordinary: Mask = (codes != MISSING) & (codes <= self.width)
        return ordinary

    def without_special(self, codes: Codes) -> Codes:
        """Special values as if they were missing: for what asks for an order."""
        return np.where(codes > self.width, MISSING, codes) if self.special else codes

    def encode(self, array: pa.Array, null_tokens: tuple[str, ...]) -> Encoded:
        if self.labels is not None:
            return encode_labels(array, self.labels, null_tokens)
        if self.date_format is not None:
            return self._place(read_days(array, self.date_format, null_tokens))
        return self._place(read_numbers(array, null_tokens, self.marks))

    def _place(self, read: Read) -> Encoded:
        numbers = read.numbers
        if self.special:
            exact = [int(value) if numbers.dtype == np.int64 and self.whole else float(value) for value in self.special]
            among = [numbers == value for value in exact]
            if read.missing is not None:
                among = [here & ~read.missing for here in among]
            anywhere = np.logical_or.reduce(among)
            stand_in = int(self.lower) if self.whole else float(self.lower)
            placed = replace(self, special=())._place(replace(read, numbers=np.where(anywhere, stand_in, numbers)))
            for place, here in enumerate(among):
                placed.codes[here] = self.width + 1 + place
            return placed
        if self.whole and numbers.dtype == np.int64:
            return self._place_whole(numbers.astype(np.int64, copy=False), read)
        return self._place_floats(numbers.astype(np.float64, copy=False), read)

    # PRIVACY: one value written as '1.0', or one that is missing, turns a whole column into floats. Both ways to a code
    # of a whole number therefore do the same integer arithmetic; else one record would move the codes of others.

    # Both look at the extremes of a piece first: where all of it lies inside the range, nothing is counted or moved.

    def _place_whole(self, numbers: Codes, read: Read) -> Encoded:
        lower, step = int(self.lower), int(self.step)
        top = lower + self.width * step
        missing, outside = read.missing, 0
        codes = numbers - lower if lower or missing is not None else numbers
        # One look finds both ends: without its sign, a number below the lower end is beyond any width.
        if int(codes.view(np.uint64).max(initial=0)) > top - lower:
            beyond = (numbers < lower) | (numbers > top + int(self.beyond))
            outside = _count(beyond if missing is None else beyond & ~missing)
            codes = np.clip(numbers, lower, top) - lower
        return _marked(self._steps_above(codes), missing, outside, read)

    def _steps_above(self, above: Codes) -> Codes:
        """The code of a whole number so far above the lower end."""
        step = int(self.step)
        return above if step == 1 else np.minimum((above + step // 2) // step, self.width)

    def _place_floats(self, values: NDArray[np.float64], read: Read) -> Encoded:
        lower, top = float(self.lower), float(self.lower + self.width * self.step)
        missing, outside = read.missing, 0
        lowest = values.min(initial=np.inf)
        if np.isnan(lowest):
            nan = np.isnan(values)
            missing = nan if missing is None else nan | missing
            values = np.where(nan, lower, values)
            lowest = values.min()
        if self.whole:
            fraction = np.isfinite(values) & (values != np.floor(values))
            fractions = _count(fraction if missing is None else fraction & ~missing)
            read = replace(read, unreadable=read.unreadable + fractions)
        highest = values.max(initial=-np.inf)
        if lowest < lower or highest > top:
            # A value is outside if it is by more than rounding to the grid would forgive.
            slack = 0.0 if self.whole else float(self.step) / 2
            beyond = (values < lower - slack) | (values > top + max(slack, float(self.beyond)))
            outside = _count(beyond if missing is None else beyond & ~missing)
            values, highest = np.clip(values, lower, top), top
        if self.whole:
            codes = self._steps_above(np.floor(values).astype(np.int64) - int(self.lower))
        else:
            codes = _rounded((values - lower if lower else values) / float(self.step))
            if (highest - lower) / float(self.step) > self.width:  # rounding keeps order: the others are not beyond
                np.minimum(codes, self.width, out=codes)
        return _marked(codes, missing, outside, read)

    def decode(self, codes: Codes) -> pa.Array:
        """Codes back to values: integers stay integers, days become dates, labels labels."""
        missing = codes == MISSING
        present = np.where(missing, 0, codes)
        if self.labels is not None:
            return take_labels(self.labels, codes)
        if self.date_format is not None:
            return value_array((present + int(self.lower)).astype("datetime64[D]"), missing)
        return value_array(self._values(present), missing)

    def _values(self, codes: Codes) -> Numbers:
        if self.special:
            ordinary = replace(self, special=())._values(np.minimum(codes, self.width))
            apart = codes > self.width
            ordinary[apart] = np.array(self.special, ordinary.dtype)[codes[apart] - self.width - 1]
            return ordinary
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


_TO_LAST_PLACE = 1.5 * 2.0**52  # a float of this size has steps of one


def _rounded(numbers: NDArray[np.float64]) -> Codes:
    """The nearest whole numbers, of two the even one, in place of numbers that are smaller than 2^51.

    The same as `np.rint` and `astype`, in half the time: adding rounds, and leaves the result in the last bits.
    """
    numbers += _TO_LAST_PLACE
    codes: Codes = numbers.view(np.int64)
    codes -= np.float64(_TO_LAST_PLACE).view(np.int64)
    return codes


def _count(which: Mask) -> int:
    return int(np.count_nonzero(which))


def _marked(codes: Codes, missing: Mask | None, outside: int, read: Read) -> Encoded:
    """Codes with MISSING where values are."""
    if missing is None:
        return Encoded(codes, outside, read.unreadable, ambiguous=read.ambiguous)
    np.copyto(codes, MISSING, where=missing)
    return Encoded(codes, outside, read.unreadable, _count(missing), read.ambiguous)


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

    @property
    def code_count(self) -> int:
        """How many codes a release may hold: all concepts, but a truth value is one of two."""
        return self.label_count if self.boolean else len(self.taxonomy.names)

    @property
    def arrow_type(self) -> pa.DataType:
        """What values of the column are released as."""
        return pa.bool_() if self.boolean else pa.string()

    def encode(self, array: pa.Array, null_tokens: tuple[str, ...]) -> Encoded:
        return self._encode(array, self.taxonomy.labels, null_tokens)

    def encode_released(self, array: pa.Array, null_tokens: tuple[str, ...]) -> Encoded:
        """Like `encode`, but inner concepts of the taxonomy are accepted too."""
        return self._encode(array, self.taxonomy.names, null_tokens)

    def _encode(self, array: pa.Array, labels: tuple[str, ...], null_tokens: tuple[str, ...]) -> Encoded:
        if self.boolean and not pa.types.is_boolean(array.type):
            lowered = pc.utf8_lower(texts_of(decoded(array).cast(pa.string())))
            synonyms = dict.fromkeys(TRUE_TEXTS, 1) | dict.fromkeys(FALSE_TEXTS, 0)
            found = pc.index_in(lowered, value_set=text_array(list(synonyms)))
            truth = pc.take(value_array(np.array(list(synonyms.values()))), found)
            array = pc.if_else(pc.is_valid(truth), pc.take(text_array(self.taxonomy.labels), truth), lowered)
        return encode_labels(array, labels, null_tokens)

    def decode(self, codes: Codes) -> pa.Array:
        if self.boolean:
            return value_array(codes == 1, codes == MISSING)
        return take_labels(self.taxonomy.names, codes)


Domain: TypeAlias = Grid | Nominal


def domain_of(
    entry: IntegerColumn | NumberColumn | DateColumn | OrdinalColumn | BooleanColumn | CategoryColumn,
    name: str,
    plan: Plan,
    marks: Marks = PLAIN,
) -> Domain:
    """The public domain that a plan's entry declares; `marks`: how its texts spell numbers."""
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
            marks=marks,
            special=tuple(map(Decimal, entry.special)),
        )
    if isinstance(entry, DateColumn):
        return Grid((entry.upper - entry.lower).days, Decimal(day_number(entry.lower)), date_format=entry.format)
    if isinstance(entry, OrdinalColumn):
        return Grid(len(entry.categories) - 1, labels=entry.categories)
    if isinstance(entry, BooleanColumn):
        return Nominal(flat_taxonomy(("false", "true"), name=name), boolean=True)
    taxonomy = _taxonomy_of(entry, name, plan)
    if not set(entry.missing) <= set(taxonomy.labels):
        raise PlanError(
            f"Column {name!r}: missing names a label that the column does not have.",
            remedy="List in missing only labels among the column's categories.",
        )
    return Nominal(taxonomy)


def _limits(entry: IntegerColumn | NumberColumn) -> tuple[Decimal, Decimal, Decimal]:
    """Lower, upper and step. Private bounds start from a range that holds any sensible number of steps."""
    if entry.lower is None or entry.upper is None:
        step = Decimal(entry.step or 1)
        steps = OUTER_STEPS
        if isinstance(entry, IntegerColumn):
            # Bounds may be found at twice the outermost step, and every one of them ends below 2^53.
            steps = min(steps, 1 << max(0, (LARGEST_INTEGER // int(step)).bit_length() - 2))
        return -steps * step, steps * step, step
    lower, upper = Decimal(entry.lower), Decimal(entry.upper)
    return lower, upper, _default_step(lower, upper) if entry.step is None else Decimal(entry.step)


def _taxonomy_of(entry: CategoryColumn, name: str, plan: Plan) -> Taxonomy:
    if entry.taxonomy is None:
        assert entry.categories is not None  # noqa: S101 - the plan has checked it
        return prefix_taxonomy(entry.categories, entry.prefixes, name=name)
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
    if width > _WIDEST_GRID or Fraction(largest) / Fraction(step) > 1 << 53 or (whole and largest > LARGEST_INTEGER):
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
