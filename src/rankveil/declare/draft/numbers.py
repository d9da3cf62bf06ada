"""A column read as numbers: how they are spelt, where they lie, which of them mean something else.

Guarantee    None, as for all of a draft: ranges are round numbers around the values that were seen.
Special      -1 to -9, 97 to 99, 999, 8888 and the like that lie apart from all other values of their column.
Tails        A column that grows over several powers of ten is better counted on a logarithmic scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

import numpy as np

_THREE_DECIMALS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
# Numbers by their decimal mark, with one and the same mark between groups of three digits, or none.
_NUMBERS = {
    point: re.compile(
        rf"[+-]?([1-9][0-9]{{0,2}}((?P<mark>[{other}' ])[0-9]{{3}})((?P=mark)[0-9]{{3}})*|[0-9]+|(?=\{point}[0-9]))"
        rf"(?P<rest>(\{point}[0-9]*)?([eE][+-]?[0-9]{{1,2}})?)"
    )
    for point, other in ((".", ","), (",", "."))
}
_LONGEST_NUMBER = 30
_LARGEST_EXPONENT = 15  # 10^15 is the last power of ten that floating point counts up to in ones
_WRITTEN = 4  # decimals that somebody wrote down; numbers with more were computed
_COUNTED = 5  # powers of ten from a range to the steps that can still be counted by themselves (2^20 of them)
_STEPS_OF_NICE = (Decimal(1), Decimal("1.5"), Decimal(2), Decimal(3), Decimal(5), Decimal("7.5"), Decimal(10))
_SPECIAL = re.compile(r"-[1-9]|-?(9{1,5}[6-9]|8{2,6}|7{2,6})")
_BEYOND = Decimal("1.2")  # times the largest other value
_ZERO = Decimal(0)
_FEWEST_STEPS = 4  # of the range of other values: -1, 0 and 1 are no column with a special value
_MOST_ANSWERS = 16  # of a question, codes for missing included
_LAST_ANSWER = 12
_DECADES = 50  # how many times the median the largest value is, before a logarithmic scale is proposed
_FAR = 100  # how many times the 99th percentile it is, before limits are something nobody can know
_LARGE = 1000  # the range that is worth a logarithmic scale


@dataclass
class Range:
    """Numbers that a pass over one column has found."""

    smallest: Decimal | None = None
    largest: Decimal | None = None
    places: int = 0

    def stretch(self, number: Decimal) -> None:
        exponent = number.normalize().as_tuple().exponent
        self.places = max(self.places, -exponent if isinstance(exponent, int) else 0)
        self.smallest = number if self.smallest is None else min(self.smallest, number)
        self.largest = number if self.largest is None else max(self.largest, number)

    @property
    def ends(self) -> tuple[Decimal, Decimal]:
        assert self.smallest is not None and self.largest is not None  # noqa: S101 - a value was seen
        return self.smallest, self.largest


def special_values(odd: Iterable[Decimal], smallest: Decimal, largest: Decimal) -> list[Decimal]:
    """Those of the odd values that lie apart from all others."""
    odd = list(odd)
    if largest - smallest < _FEWEST_STEPS:
        return []
    below = sorted((number for number in odd if number < 0), reverse=True)
    if smallest < 0 or (smallest == 0 and below[:3] == [-1, -2, -3]):
        below = []  # numbers below zero are numbers here
    return sorted([*below, *(number for number in odd if number > 0 and number > _BEYOND * max(largest, _ZERO))])


def _beside_answers(values: Iterable[Decimal]) -> list[Decimal]:
    """8 and 9 beside answers 1 to 5, or 99 beside 0 to 10: at the end, behind a gap."""
    ordered = sorted(values)
    if len(ordered) < 3 or ordered[0] not in (0, 1) or ordered[-1] % 1:
        return []
    run = 1
    while run < len(ordered) and ordered[run] == ordered[run - 1] + 1:
        run += 1
    rest = ordered[run:]
    if run < 2 or not rest or rest[0] < ordered[run - 1] + 2:
        return []
    digits = {len(f"{value:f}") for value in rest}
    codes = all(re.fullmatch(r"[789]|[789][6-9]|77|88|9{1,4}[6-9]", f"{value:f}") for value in rest)
    return rest if codes and len(digits) == 1 and ordered[run - 1] <= _LAST_ANSWER else []


@dataclass
class Spelling(Range):
    """A column read as numbers with this decimal mark, as far as that goes."""

    decimal: str = "."
    possible: bool = True
    whole: bool = True
    marks: set[str] = field(default_factory=set)  # between groups of three digits
    ambiguous: bool = False  # a number has three digits after its only point
    odd: set[Decimal] = field(default_factory=set)  # numbers such as -9 and 999
    others: Range = field(default_factory=Range)
    few: set[Decimal] = field(default_factory=set)  # up to one more than codes of answers may be

    @property
    def special(self) -> list[Decimal]:
        """Odd numbers that lie apart from all others."""
        answers = _beside_answers(self.few) if len(self.few) <= _MOST_ANSWERS else []
        if answers:
            return answers
        return special_values(self.odd, *self.others.ends) if self.odd and self.others.smallest is not None else []

    @property
    def ordinary(self) -> Range:
        special = set(self.special)
        if special and special <= self.few and len(self.few) <= _MOST_ANSWERS:
            found = Range()
            for number in self.few - special:
                found.stretch(number)
            return found
        found = replace(self.others)
        for number in self.odd - special:
            found.stretch(number)
        return found

    def add(self, text: str) -> None:
        is_code = len(text) > 1 and text[0] == "0" and text.isdigit()  # 01005 is a name: as a number it loses its zero
        fits = self.possible and len(text) <= _LONGEST_NUMBER and not is_code
        found = _NUMBERS[self.decimal].fullmatch(text) if fits else None
        if found is None:
            self.possible = False
            return
        mark = found["mark"]
        if mark:
            self.marks.add(mark)
            text = text.replace(mark, "")
        number = Decimal(text.replace(self.decimal, "."))
        if number.adjusted() < -_LONGEST_NUMBER:
            number = _ZERO  # as good as nothing, and smaller than a plan may say
        if number.adjusted() > _LONGEST_NUMBER or len(self.marks) > 1:
            self.possible = False
            return
        # 3.0 is a whole number with a fraction that some program has added. More than a column of whole numbers may
        # hold is a number all the same.
        zeros = found["rest"].strip(self.decimal + "0") == ""
        self.whole &= zeros and abs(number) < 10**_LARGEST_EXPONENT
        self.ambiguous |= bool(_THREE_DECIMALS.fullmatch(text)) and not mark
        self.stretch(number)
        if len(self.few) <= _MOST_ANSWERS:
            self.few.add(number.normalize() if zeros else number)  # 9.0 is the code 9
        if number == number.to_integral_value() and _SPECIAL.fullmatch(f"{number.to_integral_value():f}"):
            self.odd.add(number)
        else:
            self.others.stretch(number)

    def limits(self, *, whole: bool, special: bool = True) -> tuple[Decimal, Decimal]:
        """A range that an outsider might name; special values lie outside it."""
        ends = self.ordinary.ends if special and self.special else self.ends
        lower, upper = _nice_range(*ends)
        return _outwards(lower, upper) if whole else (lower, upper)


@dataclass(frozen=True)
class Tail:
    """How far a column reaches beyond most of its values."""

    long: bool = False
    far: bool = False


def tail_of(counts: Mapping[str, int], spelling: Spelling, marks: str | None) -> Tail:
    """Of numbers that are counted as texts; nothing for numbers below zero."""
    special = set(spelling.special)
    if not counts or spelling.ordinary.ends[0] < 0:
        return Tail()
    numbers: list[float] = []
    weights: list[int] = []
    for text, count in counts.items():
        try:
            number = Decimal(text.replace(marks or "\0", "").replace(spelling.decimal, "."))
        except InvalidOperation:
            continue
        if number not in special:
            numbers.append(float(number))
            weights.append(count)
    order = np.argsort(numbers)
    values, rows = np.array(numbers)[order], np.cumsum(np.array(weights)[order])
    positive = values > 0
    if not positive.any() or values[-1] < _LARGE * float(Decimal(1).scaleb(-spelling.places)) or values[-1] < 1:
        return Tail()
    first = int(np.argmax(positive))
    before = rows[first - 1] if first else 0
    middle = values[np.searchsorted(rows, before + (rows[-1] - before) / 2)]
    high = values[min(np.searchsorted(rows, 0.99 * rows[-1]), len(values) - 1)]
    return Tail(bool(values[-1] >= _DECADES * middle), bool(high > 0 and values[-1] >= _FAR * high))


def step_of(lower: Decimal, upper: Decimal, places: int, *, long_tail: bool = False) -> Decimal:
    """The last decimal place seen, or a coarser one if that would make too many steps of the range.

    Nobody writes down more than a few decimals: what has more was computed, and its last places say nothing. They are
    left out as far as every step can still be counted by itself.
    """
    finest = max(abs(lower), abs(upper)).adjusted() + 1 - _LARGEST_EXPONENT
    size = (upper - lower).adjusted()
    if places > _WRITTEN:
        finest = max(finest, min(size - _COUNTED, -_WRITTEN if long_tail else 0))
    return Decimal(1).scaleb(min(size, max(-places, finest, size - 11)))


def _nice_range(smallest: Decimal, largest: Decimal) -> tuple[Decimal, Decimal]:
    """Round limits outside the values seen; 0 where the values only grow away from it."""
    if smallest >= 0 and smallest <= largest / 2:
        return _ZERO, _nice_above(largest)
    if largest <= 0 and largest >= smallest / 2:
        return -_nice_above(-smallest), _ZERO
    if smallest < 0 < largest:
        return -_nice_above(-smallest), _nice_above(largest)
    margin = _nice_above(max(largest - smallest, abs(largest) / 1000))
    unit = Decimal(1).scaleb(margin.adjusted() - 1)
    return _outwards(smallest - margin / 10, largest + margin / 10, unit)


def _nice_above(number: Decimal) -> Decimal:
    if number <= 0:
        return Decimal(1)
    power = Decimal(1).scaleb(number.adjusted())
    return next(step * power for step in _STEPS_OF_NICE if step * power > number).normalize()


def _outwards(lower: Decimal, upper: Decimal, unit: Decimal = Decimal(1)) -> tuple[Decimal, Decimal]:
    """The next multiples of a unit that are not between the two."""
    below, above = (lower / unit).to_integral_value("ROUND_FLOOR"), (upper / unit).to_integral_value("ROUND_CEILING")
    return (below * unit).normalize(), (above * unit).normalize()
