"""What one pass over a column has found: texts, days, numbers, missing values. Internal, like the table itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from rankveil.declare.draft.days import Days
from rankveil.declare.draft.identifiers import Values
from rankveil.declare.draft.numbers import Spelling
from rankveil.engines import Table
from rankveil.engines.arrays import decoded, null_of, without
from rankveil.engines.spelling import Marks

MOST_CATEGORIES = 200
MOST_CODES = 2000  # that may be grouped by their first characters
_BOOLEAN_TEXTS = {"true", "false"}
# Missing among numbers and days, labels among labels.
_ABSENT = {"nan", ".", "..", "-", "--", "*", "none", "n/a", "na", "#n/a", "\\n", "<na>", "missing", "(null)", "nil"}


@dataclass
class Seen:
    """What a pass over one column has found."""

    stored: pa.DataType = field(default_factory=pa.string)  # how the table holds it
    missing: bool = False
    absent: set[str] = field(default_factory=set)  # words for missing among numbers, labels among labels
    texts: set[str] = field(default_factory=set)  # up to one more than a list of codes may have
    boolean: bool = True
    days: Days = field(default_factory=Days)
    numbers: dict[str, Spelling] = field(default_factory=lambda: {mark: Spelling(decimal=mark) for mark in ".,"})
    any_value: bool = False
    nested: bool = False  # lists, bytes and the like
    values: Values = field(default_factory=Values)
    levels: list[str] | None = None  # that a frame lists for the column, also those that no row has
    ordered: bool = False  # the frame says that the levels are in their order

    def add(self, array: pa.Array, null_tokens: tuple[str, ...]) -> None:
        try:
            if pa.types.is_dictionary(array.type) and self.levels != []:
                self._add_levels(array, null_tokens)
            self._add(as_texts(array), null_tokens)
        except (pa.ArrowException, UnicodeError):
            self.nested = True

    def _add_levels(self, array: pa.DictionaryArray, null_tokens: tuple[str, ...]) -> None:
        """The list of a dictionary, as long as all batches have the same; [] where they have not, or one too long."""
        found = [] if len(array.dictionary) > MOST_CATEGORIES else as_texts(array.dictionary).to_pylist()
        found = [] if {None, *null_tokens} & set(found) or len(set(found)) < len(found) else found
        self.levels = found if self.levels in (None, found) else []
        self.ordered = bool(array.type.ordered)

    def _add(self, texts: pa.Array, null_tokens: tuple[str, ...]) -> None:
        self.values.add(without(texts, null_tokens))
        for text in pc.unique(texts).to_pylist():
            if text is None or text in null_tokens:
                self.missing = True
                continue
            if text.lower() in _ABSENT:
                self.absent.add(text)
                continue
            if text.startswith("<class '"):  # a list or the like in a frame (engines/spelling.py)
                self.nested = True
                return
            self.any_value = True
            if len(self.texts) <= MOST_CODES:
                self.texts.add(text)
            self.boolean &= text.lower() in _BOOLEAN_TEXTS
            if not is_number(self.stored):
                self.days.add(text)
            for spelling in self.numbers.values():
                if spelling.possible:
                    spelling.add(text)

    @property
    def labels(self) -> set[str]:
        """Every text as a label."""
        return self.texts | self.absent

    def numbers_by(self, marks: Marks) -> Spelling | None:
        """The column as numbers, if that is what it holds."""
        spelling = self.numbers[marks.decimal]
        if self.boolean or self.days.format is not None or not self.any_value or not spelling.possible:
            return None
        return spelling if spelling.marks <= {marks.thousands} else None

    def kind(self, marks: Marks) -> str:
        """By its values alone: what the table's program would call the column."""
        if self.nested or (not self.any_value and len(self.absent) < 2):
            return "drop"
        if not self.any_value:
            return "category"
        if self.boolean:
            return "boolean"
        if self.days.format is not None:
            return "date"
        numbers = self.numbers_by(marks)
        if numbers is not None:
            return "integer" if numbers.whole else "number"
        return "category" if len(self.labels) <= MOST_CATEGORIES else "drop"


def seen_in(table: Table, null_tokens: tuple[str, ...]) -> tuple[dict[str, Seen], int]:
    """One pass over all columns, and the number of rows."""
    seen = {name: Seen(_plain(table.schema.field(name).type)) for name in table.schema.names}
    rows = 0
    for batch in table.batches():
        rows += batch.num_rows
        for name in table.schema.names:
            seen[name].add(batch.column(name), null_tokens)
    return seen, rows


def as_texts(array: pa.Array) -> pa.Array:
    array = decoded(array)
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.date32(), safe=False)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_finite(array), array, null_of(array.type))
    return pc.utf8_trim_whitespace(array.cast(pa.string()))


def is_number(found: pa.DataType) -> bool:
    return bool(pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found))


def _plain(found: pa.DataType) -> pa.DataType:
    return found.value_type if pa.types.is_dictionary(found) else found


def marks_of(table: Table, seen: dict[str, Seen]) -> Marks | None:
    """Those by which the most columns of texts are numbers; None where no number needs any.

    Where both decimal marks do as well, 9.734 decides: unless commas separate fields it is taken for thousands.
    """
    texts = [found for found in seen.values() if not is_number(found.stored)]
    candidates = [
        Marks(mark, thousands)
        for mark in ".,"
        for thousands in (None, *sorted({each for found in texts for each in found.numbers[mark].marks}))
    ]
    by_commas = table.dialect is None or (table.dialect.separator == "," and len(seen) > 1)
    unsure = not by_commas and any(found.numbers["."].possible and found.numbers["."].ambiguous for found in texts)

    def columns(marks: Marks) -> list[Spelling]:
        return [numbers for found in texts if (numbers := found.numbers_by(marks)) is not None]

    best = max(candidates, key=lambda marks: (len(columns(marks)), (marks.decimal == ",") == unsure))
    return best if any(numbers.marks or numbers.places or not numbers.whole for numbers in columns(best)) else None
