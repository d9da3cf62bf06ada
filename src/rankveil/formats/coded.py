"""How the columns of a plan are stored in files of SPSS, Stata and SAS: as numbers, days, or texts of one width.

Guarantee    The form of a column follows from the plan. Labels that are all numbers, such as 1 and 2, are stored as
             numbers, as these programs like codes; other labels as texts as wide as the longest label of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rankveil.engines.arrays import text_array
from rankveil.formats.format import Released
from rankveil.formats.metadata import is_letter

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{0,8}[1-9])?")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coded:
    """A column as it is stored."""

    column: Released
    kind: Literal["number", "day", "text"]
    letters: Mapping[str, str] = field(default_factory=dict)  # labels that are missing values of Stata or SAS: .a

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def width(self) -> int:
        """Of texts, in bytes of UTF-8."""
        return max([1, *(len(label.encode()) for label in self.column.labels or ())])

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers are whole and fit into 32 bits, with room for what stands for missing."""
        if self.kind == "day" or pa.types.is_boolean(self.column.field.type):
            return True
        if self.column.labels is not None:
            ends = [float(label) for label in self.column.labels if label not in self.letters]
        else:
            ends = [float(value) for value in self.column.special]
            ends += [value for value in (self.column.lower, self.column.upper) if value is not None]
            if not pa.types.is_integer(self.column.field.type):
                return False
        return all(float(value).is_integer() and abs(value) < 2_147_483_000 for value in ends)

    @cached_property
    def value_labels(self) -> dict[str, str]:
        """Those of the plan whose values the column may hold, as texts."""
        said = self.column.value_labels
        if pa.types.is_boolean(self.column.field.type):
            same = {"true": "1", "false": "0"}
            return {same.get(value, value): text for value, text in said.items() if same.get(value, value) in "01"}
        if self.kind == "text":
            return {value: text for value, text in said.items() if value in (self.column.labels or ())}
        known = self.column.labels
        return {
            value: text
            for value, text in said.items()
            if (known is None and _NUMBER.fullmatch(value)) or (known is not None and value in known)
        }

    def numbers(self, array: pa.Array) -> tuple[Floats, NDArray[np.intp] | None]:
        """Values as numbers, NaN where missing; and for labels that are letters, which one (-1 for none)."""
        labels = self.column.labels
        if labels is None:
            floats = array.cast(pa.int32()) if self.kind == "day" else array
            held = pc.fill_null(floats.cast(pa.float64()), float("nan"))
            return np.array(held.to_numpy(zero_copy_only=False)), None
        places = self._places(array)
        known = [np.nan if label in self.letters else float(label) for label in labels]
        numbers = np.append(known, np.nan)[places]
        if not self.letters:
            return numbers, None
        marks = [ord(label[1]) if label in self.letters else -1 for label in labels]
        return numbers, np.append(marks, -1).astype(np.intp)[places]

    def _places(self, array: pa.Array) -> NDArray[np.intp]:
        labels = self.column.labels or ()
        found = pc.index_in(array, value_set=text_array(labels, array.type))
        return np.asarray(pc.fill_null(found, len(labels)).to_numpy(zero_copy_only=False), dtype=np.intp)

    def texts(self, array: pa.Array, width: int, pad: bytes) -> NDArray[Any]:
        """Texts of one width; missing ones are empty."""
        listed = [label.encode().ljust(width, pad) for label in (*(self.column.labels or ()), "")]
        return np.array(listed, f"S{width}")[self._places(array)]


def coded(column: Released, *, letters: bool = False) -> Coded:
    """How a column is stored. `letters`: the format has missing values .a to .z."""
    if column.labels is None:
        return Coded(column, "day" if column.date_format is not None else "number")
    marked = {label: label for label in column.labels if letters and is_letter(label)}
    if all(_NUMBER.fullmatch(label) and label != "-0" for label in column.labels if label not in marked):
        return Coded(column, "number", marked)
    return Coded(column, "text")


def bad_names(names: Sequence[str], pattern: str, longest: int, reserved: frozenset[str]) -> str | None:
    """What is wrong with names of columns, for a format that is particular about them."""
    for name in names:
        if len(name.encode()) > longest or not re.fullmatch(pattern, name) or name.upper() in reserved:
            return f"it does not allow the column name {name!r}"
    if len({name.upper() for name in names}) < len(names):
        return "two column names differ in upper and lower case only"
    return None


def too_wide(columns: Sequence[Coded], most: int) -> str | None:
    wide = next((column for column in columns if column.kind == "text" and column.width > most), None)
    return None if wide is None else f"column {wide.name!r} has a label of more than {most} bytes"
