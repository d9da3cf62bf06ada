"""Values of a column, plain ones and awkward ones, all of which the plan takes. Nobody's data.

Awkward is what a container may store in another way than its neighbours in the column: a missing value among whole
numbers, a fraction, a number beyond 64 bits where the plan clamps, a nanosecond, `7.0` beside `7`, a long label.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from rankveil.audit.replay.dice import Dice
from rankveil.declare import Column, Plan
from rankveil.declare.domain import Grid, Nominal
from rankveil.declare.entries import DateColumn, IntegerColumn, NumberColumn

_EPOCH = datetime.date(1970, 1, 1)
_PADDING = 5000  # of a text: enough to move where a reader of text files cuts blocks
_USUAL = 3000  # steps from zero, of numbers whose bounds nobody knows


class Spelling(str):
    """A text as it stands in a text file, or as an object among others; means what `plain` means."""

    plain: Any

    @classmethod
    def of(cls, text: str, plain: Any) -> Spelling:
        made = cls(text)
        made.plain = plain
        return made


class Nanoday(datetime.date):
    """A day given to the nanosecond, one after midnight."""


@dataclass(frozen=True)
class Values:
    """What a column of a made table can hold."""

    column: Column
    plan: Plan
    text: bool  # the table is a text file
    objects: bool  # every cell may be of a type of its own
    as_numbers: bool = False  # labels that read as numbers, and truth values, are stored as numbers

    def plain(self, dice: Dice) -> Any:
        """An ordinary value; a missing one now and then, where the plan allows it."""
        if self.column.allows_null and dice.chance(10):
            return None
        return self._some(dice)

    def _some(self, dice: Dice) -> Any:
        """A value anywhere on the grid, or beside the middle between two of its steps."""
        code, domain = self._code(dice), self.column.domain
        value = self._at(code)
        if isinstance(domain, Grid) and isinstance(value, int) and domain.step > 1 and code < self._ends[1]:
            half = int(domain.step) // 2
            value += dice.one_of((0, 1, max(half - 1, 0), half, half + 1))
        return value

    @property
    def first(self) -> Any:
        """The first label."""
        return self._at(0)

    @property
    def second(self) -> Any:
        return self._at(1)

    def awkward(self, dice: Dice) -> tuple[str, Any]:
        """A value that containers may store in another way, and in words why."""
        offers: list[tuple[str, Callable[[], Any]]] = [("another value", lambda: self._some(dice))]
        offers.append(("the lowest value", lambda: self._at(self._ends[0])))
        offers.append(("the highest value", lambda: self._at(self._ends[1])))
        if self.column.allows_null:
            offers += [("a missing value", lambda: None)] * 2
        offers += self._numbers(dice) if self._is_number else self._others(dice)
        words, make = dice.one_of(offers)
        return words, make()

    @property
    def _is_number(self) -> bool:
        return isinstance(self.plan.columns[self.column.name], IntegerColumn | NumberColumn)

    @property
    def _ends(self) -> tuple[int, int]:
        domain = self.column.domain
        if isinstance(domain, Nominal):
            return 0, domain.label_count - 1
        if self.column.private_bounds:
            return domain.width // 2 - _USUAL, domain.width // 2 + _USUAL
        return 0, domain.width

    def _code(self, dice: Dice) -> int:
        low, high = self._ends
        return low + dice.below(high - low + 1)

    def _at(self, code: int) -> Any:
        domain = self.column.domain
        if isinstance(domain, Nominal):
            if domain.boolean:
                return code if self.as_numbers else code == 1
            return self._label(domain.taxonomy.labels[code])
        if domain.labels is not None:
            return self._label(domain.labels[code])
        if domain.date_format is not None:
            return _EPOCH + datetime.timedelta(days=int(domain.lower) + code)
        value = Fraction(domain.lower) + code * Fraction(domain.step)
        return int(value) if value.denominator == 1 else float(value)

    def _label(self, label: str) -> Any:
        if not self.as_numbers:
            return label
        return int(label) if label.isdecimal() else float(label)

    def _numbers(self, dice: Dice) -> list[tuple[str, Callable[[], Any]]]:
        grid = self.column.domain
        assert isinstance(grid, Grid)  # noqa: S101 - numbers lie on one
        inside = self._at(self._code(dice))
        offers: list[tuple[str, Callable[[], Any]]] = [("a whole number as a float", lambda: float(int(inside)))]
        if not grid.whole:
            offers.append(("a fraction", lambda: float(inside) + float(grid.step) / 4))
            offers.append(("a decimal", lambda: Decimal(str(inside))))
        if grid.special:
            offers.append(("a special value", lambda: int(dice.one_of(grid.special))))
        if self.column.clamp:
            far = (10**20, 1 << 63, -(10**20), float("inf"), 1e300, (1 << 53) + 1)
            offers += [("a huge number", lambda: dice.one_of(far))] * 3
        if self.text or self.objects:
            mark = (self.plan.table.decimal or ".") if self.text else "."
            written = f"{inside}".replace(".", mark)
            exponent = f"{inside}e0" if "e" not in f"{inside}" else f"{inside}"
            spellings = (f"  {written} ", exponent.replace(".", mark), f"+{written}" if inside >= 0 else written)
            offers += [("a number spelt in another way", lambda: Spelling.of(dice.one_of(spellings), inside))] * 2
        return offers

    def _others(self, dice: Dice) -> list[tuple[str, Callable[[], Any]]]:
        inside, entry = self._at(self._code(dice)), self.plan.columns[self.column.name]
        offers: list[tuple[str, Callable[[], Any]]] = []
        if isinstance(entry, DateColumn):
            offers += [("a nanosecond", lambda: Nanoday(inside.year, inside.month, inside.day))] * 2
            if self.objects:
                zone = datetime.timezone(datetime.timedelta(hours=dice.one_of((-11, 14))))
                late = datetime.datetime(inside.year, inside.month, inside.day, 12, 30, tzinfo=zone)
                offers += [("a point in time in another zone", lambda: late)] * 2
                offers.append(("a day as text", lambda: Spelling.of(inside.strftime(entry.format), inside)))
            if self.column.clamp:
                offers.append(("a day far away", lambda: dice.one_of((datetime.date(1, 1, 1), datetime.date.max))))
        elif isinstance(inside, bool):
            if self.text or self.objects:
                offers.append(("a truth value as text", lambda: Spelling.of(str(inside).upper(), inside)))
        elif isinstance(inside, int | float):
            offers.append(("a label as a float", lambda: float(inside)))
        else:
            offers.append(("white space around a label", lambda: Spelling.of(inside + " " * _PADDING, inside)))
        return offers


def lowered(value: Any) -> Any:
    """A value without its spelling, for containers that have none."""
    return value.plain if isinstance(value, Spelling) and not isinstance(value.plain, str) else value
