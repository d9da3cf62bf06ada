"""Last digits of numbers: public classes of a column's codes.

People round: most incomes are whole hundreds, most lengths whole centimetres. A number, in steps of its column, belongs
to the class of its last digit that is not zero and of that digit's place: 7 to (0, 7), 130 to (1, 3). Numbers that have
zeros in all places that are told apart form the last class. The classes are disjoint, and follow from the plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.domain import Codes, Grid
from rankveil.declare.schema import Column

_MULTIPLES = 10  # of the largest power of ten, at least, in the range


@dataclass(frozen=True)
class LastDigits:
    """The classes of codes 0 .. size - 1: nine for each place, the units first, and one for what is left."""

    size: int
    zero: int  # the code of the value 0, in the range or not
    places: int

    @classmethod
    def of(cls, column: Column) -> LastDigits | None:
        """None where digits mean nothing: labels, dates, few values, or steps that do not meet zero."""
        domain = column.domain
        if not isinstance(domain, Grid) or domain.labels is not None or domain.date_format is not None:
            return None
        size, first = domain.width + 1, domain.lower / domain.step
        places = math.floor(math.log10(size / _MULTIPLES)) if size >= _MULTIPLES else 0
        return cls(size, -int(first), places) if places > 0 and first == int(first) else None

    @property
    def count(self) -> int:
        return 9 * self.places + 1

    def classes(self, codes: Codes) -> NDArray[np.int64]:
        """The class of each code."""
        left = np.abs(codes - self.zero)
        found = np.full(len(codes), self.count - 1)
        rest = np.arange(len(codes))
        for place in range(self.places):
            left, digit = np.divmod(left, 10)
            last = digit > 0
            found[rest[last]] = 9 * place + digit[last] - 1
            left, rest = left[~last], rest[~last]
        return found

    def codes(self, which: int) -> Codes:
        """All codes of a class: on each side of zero, every tenth multiple of its place, beginning with the digit."""
        unit, digit = 10 ** min(which // 9, self.places), which % 9 + 1
        if which == self.count - 1:
            first = -(self.zero // unit)
            found: Codes = np.arange(self.zero + first * unit, self.size, unit, dtype=np.int64)
            return found
        step, up, down = 10 * unit, self.zero + digit * unit, self.zero - digit * unit
        above = np.arange(up if up >= 0 else up % step, self.size, step, dtype=np.int64)
        last = min(down, self.size - 1 - (self.size - 1 - down) % step)
        return np.concatenate([np.arange(last, -1, -step, dtype=np.int64)[::-1], above])

    def roundest(self, low: int, high: int, most: int) -> Codes:
        """At most so many of the codes low .. high - 1, one or more: multiples of the smallest 1, 2 or 5 times 10^k."""
        units = (nice * 10**power for power in count() for nice in (1, 2, 5))
        for unit in units:
            first, last = -((self.zero - low) // unit), -((self.zero - high) // unit)
            if last - first <= most:
                break
        multiples: Codes = np.arange(first, last, dtype=np.int64) * unit + self.zero
        return multiples

    def words(self, step: Decimal) -> list[str]:
        """What numbers of each class end in."""
        ends = [_text(digit * 10**place * step) for place in range(self.places) for digit in range(1, 10)]
        return [*(f"last digit {end}" for end in ends), f"multiple of {_text(10**self.places * step)}"]


def _text(number: Decimal) -> str:
    return format(number.normalize(), "f")
