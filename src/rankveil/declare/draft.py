"""A first plan, guessed from a table: every entry that depends on the data is listed as unconfirmed.

Guarantee    None, on purpose: a draft shows limits and labels read from the data. It is for the person who holds the
             table, who replaces the guesses by what is publicly known. `release` refuses unconfirmed entries.
Marked       Whatever another table of the same columns could have made different: kinds (left out is one), limits,
             steps, formats, labels, whether values may be missing (either way), special values, columns that others
             decide, marks of numbers, the encoding, whether a column tells persons apart.
Not marked   The number of rows, which is public where neighbours have the same (docs/promise.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from rankveil.declare.domain import DEFAULT_NULL_TOKENS
from rankveil.declare.identifiers import Identifier, Values, privacy_lines
from rankveil.declare.plan import Plan
from rankveil.declare.plan_file import toml_key, toml_text
from rankveil.declare.proposals import Decisions, Few, looks_special, special_values
from rankveil.engines import Table
from rankveil.engines.arrays import null_of, without
from rankveil.engines.dialect import GUESSED_ENCODING
from rankveil.engines.spelling import Marks
from rankveil.errors import TableError

_MOST_CATEGORIES = 200
_BOOLEAN_TEXTS = {"true", "false"}
_DAYS = {  # formats that cannot be taken for one another, nor for numbers
    "%Y-%m-%d": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "%d.%m.%Y": re.compile(r"[0-9]{2}\.[0-9]{2}\.[0-9]{4}"),
}
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
_STEPS_OF_NICE = (Decimal(1), Decimal("1.5"), Decimal(2), Decimal(3), Decimal(5), Decimal("7.5"), Decimal(10))


@dataclass
class _Range:
    """Numbers or days that a pass over one column has found."""

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


@dataclass
class _Spelling(_Range):
    """A column read as numbers with this decimal mark, as far as that goes."""

    decimal: str = "."
    possible: bool = True
    whole: bool = True
    marks: set[str] = field(default_factory=set)  # between groups of three digits
    ambiguous: bool = False  # a number has three digits after its only point
    odd: set[Decimal] = field(default_factory=set)  # numbers such as -9 and 999
    others: _Range = field(default_factory=_Range)

    @property
    def special(self) -> list[Decimal]:
        """Odd numbers that lie apart from all others."""
        return special_values(self.odd, *self.others.ends) if self.odd and self.others.smallest is not None else []

    @property
    def ordinary(self) -> _Range:
        special = set(self.special)
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
            number = Decimal(0)  # as good as nothing, and smaller than a plan may say
        if number.adjusted() > _LONGEST_NUMBER or len(self.marks) > 1:
            self.possible = False
            return
        # More than a column of whole numbers may hold is a number all the same.
        self.whole &= found["rest"] == "" and abs(number) < 10**_LARGEST_EXPONENT
        self.ambiguous |= bool(_THREE_DECIMALS.fullmatch(text)) and not mark
        self.stretch(number)
        if looks_special(text):
            self.odd.add(number)
        else:
            self.others.stretch(number)


@dataclass
class _Seen:
    """What a pass over one column has found."""

    missing: bool = False
    nans: set[str] = field(default_factory=set)  # missing among numbers, labels among labels
    texts: set[str] = field(default_factory=set)  # up to one more than a list of categories may have
    boolean: bool = True
    days: _Range | None = field(default_factory=_Range)  # None once a text is no day, or one in another format
    day_format: str | None = None
    numbers: dict[str, _Spelling] = field(default_factory=lambda: {mark: _Spelling(decimal=mark) for mark in ".,"})
    any_value: bool = False
    nested: bool = False  # lists, bytes and the like
    values: Values = field(default_factory=Values)

    def add_texts(self, texts: pa.Array, null_tokens: tuple[str, ...]) -> None:
        self.values.add(without(texts, null_tokens))
        for text in pc.unique(texts).to_pylist():
            if text is None or text in null_tokens:
                self.missing = True
                continue
            if text.lower() == "nan":
                self.nans.add(text)
                continue
            self.any_value = True
            if len(self.texts) <= _MOST_CATEGORIES:
                self.texts.add(text)
            self.boolean &= text.lower() in _BOOLEAN_TEXTS
            self._add_day(text)
            for spelling in self.numbers.values():
                if spelling.possible:
                    spelling.add(text)

    def _add_day(self, text: str) -> None:
        if self.days is None:
            return
        found = next((each for each, spelled in _DAYS.items() if spelled.fullmatch(text)), None)
        try:
            if found is None or self.day_format not in (None, found):
                raise ValueError
            self.days.stretch(Decimal(datetime.strptime(text, found).toordinal()))
        except ValueError:
            self.days = None
        self.day_format = found

    def numbers_by(self, marks: Marks) -> _Spelling | None:
        """The column as numbers, if that is what it holds."""
        spelling = self.numbers[marks.decimal]
        if self.boolean or self.days is not None or not self.any_value or not spelling.possible:
            return None
        return spelling if spelling.marks <= {marks.thousands} else None

    def kind(self, marks: Marks) -> str:
        if self.nested or not self.any_value:
            return "drop"
        if self.boolean:
            return "boolean"
        if self.days is not None:
            return "date"
        numbers = self.numbers_by(marks)
        if numbers is not None:
            return "integer" if numbers.whole else "number"
        return "category" if len(self.texts) <= _MOST_CATEGORIES else "drop"


def _marks_of(table: Table, seen: dict[str, _Seen]) -> Marks | None:
    """Those by which the most columns of texts are numbers; None where no number needs any.

    Where both decimal marks do as well, 9.734 decides: unless commas separate fields it is taken for thousands.
    """
    texts = [found for name, found in seen.items() if not _is_number(table.schema.field(name).type)]
    candidates = [
        Marks(mark, thousands)
        for mark in ".,"
        for thousands in (None, *sorted({each for found in texts for each in found.numbers[mark].marks}))
    ]
    by_commas = table.dialect is None or (table.dialect.separator == "," and len(seen) > 1)
    unsure = not by_commas and any(found.numbers["."].possible and found.numbers["."].ambiguous for found in texts)

    def columns(marks: Marks) -> list[_Spelling]:
        return [numbers for found in texts if (numbers := found.numbers_by(marks)) is not None]

    best = max(candidates, key=lambda marks: (len(columns(marks)), (marks.decimal == ",") == unsure))
    return best if any(numbers.marks or not numbers.whole for numbers in columns(best)) else None


def draft(
    table: Table, *, method: str = "synthetic", epsilon: str = "1", remark: Callable[[Plan], list[str]] | None = None
) -> str:
    """The text of a plan for this table, with every guess marked; `remark` may add comments under its ε."""
    seen = {name: _Seen() for name in table.schema.names}
    null_tokens = DEFAULT_NULL_TOKENS if table.of_texts else table.missing_texts  # as a release will read it
    rows = 0
    for batch in table.batches():
        rows += batch.num_rows
        for name in table.schema.names:
            try:
                seen[name].add_texts(_as_texts(batch.column(name)), null_tokens)
            except (pa.ArrowException, UnicodeError):
                seen[name].nested = True
    if rows == 0:
        raise TableError(f"Table {table.name} has no rows.", remedy="Check that its first line is the header.")
    lines = list(_lines(table, seen, rows, method, epsilon))
    if remark is not None:
        under = next(place for place, line in enumerate(lines) if line.startswith("epsilon")) + 1
        lines[under:under] = [f"# {line}" for line in remark(Plan.parse("\n".join(lines), name="draft"))]
    return "\n".join(lines) + "\n"


def _as_texts(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.date32(), safe=False)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_finite(array), array, null_of(array.type))
    return pc.utf8_trim_whitespace(array.cast(pa.string()))


def _decided(table: Table, seen: dict[str, _Seen], marks: dict[str, Marks]) -> dict[str, str]:
    """What the draft says of columns that others decide: one more pass over columns of few values."""
    few = {}
    for name, found in seen.items():
        kind = found.kind(marks[name])
        if kind in ("category", "boolean", "integer") and 1 < len(found.texts) <= _MOST_CATEGORIES and not found.nans:
            texts, numbers, lower = tuple(sorted(found.texts)), None, None
            if kind == "integer":
                if marks[name].thousands is not None:
                    continue
                numbers, lower = (
                    tuple(int(text) for text in texts),
                    _limits(found.numbers[marks[name].decimal], kind)[0],
                )
            few[name] = Few(texts, numbers, lower, labelled=kind != "integer")
    decisions = Decisions(few)
    if len(decisions.columns) < 2:
        return {}
    for batch in table.batches(list(decisions.columns)):
        decisions.add({name: _as_texts(batch.column(name)) for name in decisions.columns})
    return decisions.lines()


def _lines(table: Table, seen: dict[str, _Seen], rows: int, method: str, epsilon: str) -> Iterator[str]:
    yield "# INTERNAL DRAFT: what is listed as unconfirmed below was read from the data."
    yield "# Replace each guess by what is publicly known, then delete the line `unconfirmed` under it."
    yield ""
    yield "[release]"
    yield f"method  = {toml_text(method)}"
    yield f"epsilon = {epsilon}"
    yield f"expected_rows = {rows}  # counted, and public unless [privacy] says otherwise: then about so many"
    marks = _marks_of(table, seen)
    by_column = {
        name: marks if marks is not None and not _is_number(table.schema.field(name).type) else Marks() for name in seen
    }
    looked_at = {name: _identifier(name, found, by_column[name]) for name, found in seen.items()}
    identifiers = {name: each for name, each in looked_at.items() if each is not None}
    reading: dict[str, str | None] = {}
    if any(part.encoding == GUESSED_ENCODING for part in table.parts):
        reading["encoding"] = GUESSED_ENCODING
    if marks is not None:  # numbers written as text
        reading |= {"decimal": marks.decimal, "thousands": marks.thousands}
    read = {key: value for key, value in reading.items() if value is not None}
    if read:
        yield ""
        yield "[table]"
        yield from (f"{key} = {toml_text(value)}" for key, value in read.items())
        yield f"unconfirmed = [{', '.join(map(toml_text, read))}]"
    persons = list(privacy_lines(list(identifiers.values()))) if method == "synthetic" else []
    yield from ["", *persons] if persons else []
    kept = {name: found for name, found in seen.items() if name not in identifiers}
    decided = _decided(table, kept, by_column) if method == "synthetic" else {}
    for name, found in seen.items():
        yield ""
        if name in identifiers:
            yield f"[columns.{toml_key(name)}]"
            yield 'kind = "drop"'
            yield f"# {identifiers[name].why()}"
            yield 'unconfirmed = ["kind"]'
        else:
            yield from _column_lines(name, found, by_column[name], decided.get(name), special=method == "synthetic")


def _identifier(name: str, found: _Seen, marks: Marks) -> Identifier | None:
    kind = found.kind(marks)
    labels = kind == "category" or (kind == "drop" and found.any_value and not found.nested)
    return Identifier.of(name, found.values) if labels or kind == "integer" else None


def _is_number(found: pa.DataType) -> bool:
    return bool(pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found))


def _limits(numbers: _Spelling, kind: str, *, special: bool = True) -> tuple[Decimal, Decimal]:
    """A range that an outsider might name; special values lie outside it."""
    ends = numbers.ordinary.ends if special and numbers.special else numbers.ends
    lower, upper = _nice_range(*ends)
    return _outwards(lower, upper) if kind == "integer" else (lower, upper)


def _column_lines(
    name: str, found: _Seen, marks: Marks, decided: str | None = None, *, special: bool = True
) -> Iterator[str]:
    kind = found.kind(marks)
    yield f"[columns.{toml_key(name)}]"
    guessed = ["kind"]
    if kind in ("integer", "number"):
        numbers = found.numbers[marks.decimal]
        lower, upper = _limits(numbers, kind, special=special)
        yield f"kind  = {toml_text(kind)}"
        yield f"lower = {lower:f}"
        yield f"upper = {upper:f}"
        guessed += ["lower", "upper"]
        step = _step(lower, upper, numbers.places)
        if kind != "integer" or step > 1:
            yield f"step  = {step:f}"
            guessed.append("step")
        if special and numbers.special:
            yield f"special = [{', '.join(f'{value:f}' for value in numbers.special)}]"
            guessed.append("special")
    elif kind == "date":
        assert found.days is not None  # noqa: S101 - else it is no column of days
        first, last = (date.fromordinal(int(end)) for end in found.days.ends)
        yield 'kind  = "date"'
        yield f"lower = {date(first.year, 1, 1).isoformat()}"
        yield f"upper = {date(last.year, 12, 31).isoformat()}"
        yield f"format = {toml_text(found.day_format or '%Y-%m-%d')}"
        guessed += ["lower", "upper", "format"]
    elif kind == "category":
        yield 'kind = "category"'
        yield "categories = ["
        yield from (f"  {toml_text(label)}," for label in sorted(found.texts | found.nans))
        yield "]"
        guessed.append("categories")
    else:
        yield f"kind = {toml_text(kind)}"
        if kind == "drop":
            yield (
                "# neither numbers nor text"
                if found.nested
                else "# no value is present"
                if not found.any_value
                else f"# more than {_MOST_CATEGORIES} different texts: looks like a name or an identifier"
            )
    if kind != "drop":
        missing = found.missing or bool(found.nans and kind != "category")
        yield f"null = {'true' if missing else 'false'}"
        guessed.append("null")
        if decided is not None:
            yield f"derived = {decided}"
            guessed.append("derived")
    yield f"unconfirmed = [{', '.join(map(toml_text, guessed))}]"


def _step(lower: Decimal, upper: Decimal, places: int) -> Decimal:
    """The last decimal place seen, or a coarser one if that would make too many steps of the range."""
    finest = max(abs(lower), abs(upper)).adjusted() + 1 - _LARGEST_EXPONENT
    size = (upper - lower).adjusted()
    return Decimal(1).scaleb(min(size, max(-places, finest, size - 11)))


def _nice_range(smallest: Decimal, largest: Decimal) -> tuple[Decimal, Decimal]:
    """Round limits outside the values seen; 0 where the values only grow away from it."""
    if smallest >= 0 and smallest <= largest / 2:
        return Decimal(0), _nice_above(largest)
    if largest <= 0 and largest >= smallest / 2:
        return -_nice_above(-smallest), Decimal(0)
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
