"""Who is protected: a row, or all rows of a person; replaced by others, or there or not.

Guarantee    `Unit.sensitivity` bounds by how much a sum over rows changes between neighbours, given by how much it
             changes if one row is replaced, and by how much if one is added. `of_rows` bounds the number of rows.
Argument     T50. Of a unit at most r rows are used (T51). Rows of the old unit are paired with rows of the new one:
             with a and b of them, min(a, b) are replaced and |a - b| added or removed, max(a, b) <= r in all. Replacing
             a row changes every statistic of rankveil by at least as much as adding one does at most, so that r
             replaced rows are the worst case. Norms obey the triangle inequality: r times the change in L1 and in L2.
Arithmetic   Rational.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Neighbours = Literal["replace", "add-remove"]


@dataclass(frozen=True)
class Sensitivity:
    """By how much a vector of integers changes at most."""

    l1: int | Fraction
    l2_squared: int | Fraction

    def __mul__(self, copies: int) -> Sensitivity:
        """Of so many such vectors side by side."""
        return Sensitivity(self.l1 * copies, self.l2_squared * copies)

    def __str__(self) -> str:
        root = math.isqrt(int(self.l2_squared))
        return f"L1 {self.l1}, L2 {root if root * root == self.l2_squared else f'√{self.l2_squared}'}"


REPLACED, ADDED = Sensitivity(2, 2), Sensitivity(1, 1)  # counts over disjoint cells: one row moved, one row more


@dataclass(frozen=True)
class Unit:
    """By default one row, which is replaced by another: the number of rows is public then."""

    neighbours: Neighbours = "replace"
    person: str | None = None  # the column that tells persons apart; None: every row is a unit of its own
    rows: int = 1  # of one unit, at most

    def sensitivity(self, replaced: Sensitivity, added: Sensitivity) -> Sensitivity:
        """Of a sum over rows, where this is what one row changes."""
        one = replaced if self.neighbours == "replace" else added
        return Sensitivity(self.rows * one.l1, self.rows**2 * one.l2_squared)

    @property
    def of_counts(self) -> Sensitivity:
        """Of counts over disjoint cells."""
        return self.sensitivity(REPLACED, ADDED)

    @property
    def of_rows(self) -> int:
        """Of the number of rows: whoever is replaced by another has one row at least before and after."""
        return self.rows - 1 if self.neighbours == "replace" else self.rows

    @property
    def rows_public(self) -> bool:
        return self.of_rows == 0

    # In words

    @property
    def who(self) -> str:
        """Who is protected."""
        if self.person is None:
            return "any one row" + ("" if self.rows_public else "; the number of rows is not public")
        return f"any one person, with {'one row' if self.rows == 1 else f'up to {self.rows} rows'}"

    @property
    def differ(self) -> str:
        """What neighbours are, for a sentence."""
        if self.person is not None:
            there = "in one person" if self.neighbours == "replace" else "in whether one person is there"
            return f"for tables that differ {there}, of whom {self._used}"
        return (
            "for tables of one size that differ in one record"
            if self.rows_public
            else "for tables that differ in whether one record is there"
        )

    @property
    def caveat(self) -> str:
        """What ε does not mean here."""
        if self.neighbours == "replace":
            return ""
        return (
            " Between two guesses about what somebody's rows say, ε counts twice: a replacement is a removal and an"
            " addition."
        )

    @property
    def definition(self) -> str:
        """What neighbours are, in full."""
        if self == A_ROW:
            return (
                "Two tables are neighbours if they have the same number of rows and differ in one record, whose"
                " protected values may be any the plan allows. The number of rows and the plan are public."
            )
        if self.person is None:
            return (
                "Two tables are neighbours if one has one record more than the other, with any values the plan allows."
                " The plan is public; the number of rows is not, and is released with noise." + self.caveat
            )
        limited = (
            f" Of each person {self._used}, chosen by a keyed hash of that person's own rows; which rows are"
            " whose is known from a column that is not released."
        )
        if self.neighbours == "add-remove":
            return (
                "Two tables are neighbours if one has all rows of one person more than the other, however many, with"
                f" any values the plan allows.{limited} The plan is public; the number of rows and the number of"
                f" persons are not.{self.caveat}"
            )
        public = "The plan and the number of persons are public" + ("." if self.rows_public else "; rows are not.")
        return (
            "Two tables are neighbours if they are about equally many persons and differ in the rows of one of them,"
            f" which may be others, more or fewer, with any values the plan allows.{limited} {public}"
        )

    @property
    def _used(self) -> str:
        return "one row is used" if self.rows == 1 else f"up to {self.rows} rows are used"


A_ROW = Unit()
