"""Whether the values of one column are those its certificate declares."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rankveil.certificate import ColumnNote
from rankveil.engines.arrays import decoded, is_text, null_of

_ISO_DATE = "%Y-%m-%d"


@dataclass
class Inspection:
    """What is wrong with one column, counted batch by batch. Values are not kept, except which labels occur."""

    note: ColumnNote
    decimal: str = "."  # the decimal mark of a text file
    of_texts: bool = True  # a text file, in which an empty field is a missing value and no label
    missing: int = 0
    outside: int = 0
    labels: set[str] = field(default_factory=set)

    def see(self, array: pa.Array) -> None:
        array = decoded(array)
        labelled = self.note.lower is None or self.note.upper is None
        may_be_a_label = labelled and not self.note.null  # the empty text, where nothing may be missing
        if self.of_texts and is_text(array.type) and not may_be_a_label:
            array = pc.if_else(pc.equal(array, ""), null_of(array.type), array)
        self.missing += array.null_count
        array = array.drop_null()
        if labelled:
            if len(self.labels) <= self._most_labels:
                self.labels.update(map(str, pc.unique(array).to_pylist()))
        elif self.note.kind == "date":
            self._see_dates(array)
        else:
            self._see_numbers(array)

    @property
    def _most_labels(self) -> int:
        return self.note.concepts or self.note.categories or 0

    def _see_numbers(self, array: pa.Array) -> None:
        if is_text(array.type) and self.decimal != ".":
            array = pc.replace_substring(array, self.decimal, ".")
        try:
            values: NDArray[np.float64] = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
            lower, upper, step = (float(str(text)) for text in (self.note.lower, self.note.upper, self.note.step))
            special = [float(text) for text in self.note.special or ()]
        except (pa.ArrowException, ValueError):
            self.outside += len(array)
            return
        slack = _rounding(array.type, max(abs(lower), abs(upper)))
        with np.errstate(all="ignore"):  # a certificate may state a step of nothing; no value is on such a grid
            steps = (values - lower) / step
            inside = (values >= lower - slack) & (values <= upper + slack)
            on_grid = np.abs(steps - np.rint(steps)) * step <= slack
        self.outside += int(np.count_nonzero(~(inside & on_grid | np.isin(values, special))))

    def _see_dates(self, array: pa.Array) -> None:
        if is_text(array.type):
            parsed = pc.strptime(array, format=self.note.format or _ISO_DATE, unit="s", error_is_null=True)
            self.outside += parsed.null_count
            array = parsed.drop_null()
        days = array.cast(pa.date32(), safe=False)
        try:
            lower, upper = (pa.scalar(text).cast(pa.date32()) for text in (self.note.lower, self.note.upper))
        except pa.ArrowException:
            self.outside += len(array)
            return
        inside = pc.and_(pc.greater_equal(days, lower), pc.less_equal(days, upper))
        self.outside += len(days) - int(pc.sum(inside).as_py() or 0)

    def complaints(self) -> list[str]:
        name = repr(self.note.name)
        found = []
        if self.outside:
            found.append(f"column {name}: {self.outside} value(s) outside the declared range, step and format")
        if self.missing and not self.note.null:
            found.append(f"column {name}: {self.missing} value(s) missing, which is not allowed")
        if len(self.labels) > self._most_labels:
            found.append(f"column {name}: more than its {self._most_labels} labels")
        return found


def _rounding(arrow_type: pa.DataType, magnitude: float) -> float:
    """How far a value of this type may lie from the grid: nothing for integers, the type's rounding for others."""
    if pa.types.is_integer(arrow_type):
        return 0.0
    if pa.types.is_decimal(arrow_type):
        return float(0.5 * 10.0**-arrow_type.scale + 1e-15 * magnitude)
    precision = np.finfo(arrow_type.to_pandas_dtype()).eps if pa.types.is_floating(arrow_type) else np.finfo(float).eps
    return 4 * float(precision) * magnitude
