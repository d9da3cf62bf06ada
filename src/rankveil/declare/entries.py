"""The entries of a plan: what may be said of a column, of the table, of the release and of who is protected.

Arithmetic   Numbers are read as Decimal, so 0.1 means one tenth.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from rankveil.declare.reading import keeps_days
from rankveil.declare.unit import Neighbours, Unit
from rankveil.engines.spelling import Marks

LARGEST_INTEGER = (1 << 53) - 1  # floating point holds every integer up to here, and rounds none beyond to one of them
_MOST_DIGITS = 40
_MOST_SPECIAL = 50
LONGEST_TEXT = 1000  # of documentation, in characters


def _of_sane_size(number: Decimal) -> Decimal:
    # An exponent costs nothing to write down and everything to compute with exactly.
    if number and (abs(number.adjusted()) > 40 or len(number.as_tuple().digits) > _MOST_DIGITS):
        raise ValueError(f"must lie between 1e-40 and 1e40 in size, with at most {_MOST_DIGITS} digits")
    return number


def _not_a_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("must be one line of text, without signs that cannot be seen")
    return text.strip()


FiniteDecimal = Annotated[Decimal, Field(allow_inf_nan=False), AfterValidator(_of_sane_size)]
PositiveDecimal = Annotated[Decimal, Field(gt=0, allow_inf_nan=False), AfterValidator(_of_sane_size)]
Epsilon = Annotated[Decimal, Field(ge=Decimal("1e-9"), le=Decimal("1e9"), allow_inf_nan=False)]
PositiveInteger = Annotated[int, Field(ge=1, le=LARGEST_INTEGER), BeforeValidator(_not_a_truth_value)]
BoundedInteger = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER), BeforeValidator(_not_a_truth_value)]
Role = Literal["protected", "public", "weight"]
Bounds = Literal["public", "private"]
_T = TypeVar("_T")


class Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, strict=False)


class _Guessable(Entry):
    """A part of the plan that a draft fills in."""

    unconfirmed: tuple[str, ...] = Field((), description="Entries guessed from the data; delete the line to confirm.")


class DerivedEntry(Entry):
    """A column that follows from others: not measured, computed for every row that is drawn."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    sources: tuple[str, ...] = Field((), alias="from", description="The columns it follows from.")
    by: str | None = Field(None, description="An expression, or a CSV file with a column for each of `from` and this.")
    bands: tuple[FiniteDecimal | datetime.date, ...] | None = Field(
        None, min_length=1, description="Where bands of one column of numbers or dates begin, rising."
    )
    labels: tuple[str, ...] | None = Field(None, description="The value of each band.")
    values: dict[str, str] | None = Field(None, description="The value for each value of one column.")

    @field_validator("values", "labels", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): _as_text(item) for key, item in value.items()}
        return tuple(map(_as_text, value)) if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(way is not None for way in (self.by, self.bands, self.values)) != 1:
            raise ValueError("derived needs exactly one of by, bands and values")
        if (self.bands is not None or self.values is not None) and len(self.sources) != 1:
            raise ValueError("bands and values are of one column: from = [...] names it")
        if self.by is not None and self.by.endswith(".csv") and not self.sources:
            raise ValueError("from is missing: the columns of the file that this one follows from")
        bands = self.bands or ()
        if len({type(start) for start in bands}) > 1 or any(a >= b for a, b in pairwise(bands)):  # type: ignore[operator]
            raise ValueError("bands must rise, and be all numbers or all dates")
        if self.labels is not None and len(self.labels) != len(bands):
            raise ValueError("labels needs one entry for each of bands")
        return self


def _as_text(value: object) -> str:
    return (str(value).lower() if isinstance(value, bool) else str(value)).strip()


class _ColumnEntry(_Guessable):
    label: Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_printable)] | None = Field(
        None, description="What the column is about, in words. Public documentation; changes nothing."
    )
    value_labels: dict[str, str] | None = Field(
        None, description='Which text stands for which value, such as { 1 = "yes" }. Public documentation.'
    )
    source: Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_printable)] | None = Field(
        None, description="The public document that the entry is taken from, and where; shown on the certificate."
    )
    derived: DerivedEntry | None = Field(None, description="The column follows from others: costs no budget.")
    null: bool = Field(False, description="Missing is a value of the column; otherwise missing values are refused.")
    role: Role = Field(
        "protected",
        description="'public': everyone knows this column; it is kept, and nobody is protected in it. 'weight': it"
        " holds survey weights, is protected like others, and evaluations weigh by it.",
    )

    @field_validator("value_labels", mode="before")
    @classmethod
    def _texts_of_values(cls, value: Any) -> Any:
        return {_as_text(key): _as_text(item) for key, item in value.items()} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _without_role(self) -> Self:
        if self.derived is not None and (self.role == "public" or getattr(self, "bounds", "public") == "private"):
            raise ValueError('a derived column has neither role = "public" nor bounds = "private": others decide it')
        return self


class _Ranged(_ColumnEntry):
    """A column with a range. `bounds = "private"` finds the range with a part of the budget."""

    clamp: bool = Field(False, description="Move values outside the range to its nearest end instead of refusing.")


class IntegerColumn(_Ranged):
    """Whole numbers from `lower` to `upper`, in steps of `step`."""

    kind: Literal["integer"]
    special: tuple[BoundedInteger, ...] = Field((), description="Values with a meaning of their own, such as 999.")
    lower: BoundedInteger | None = None
    upper: BoundedInteger | None = None
    step: PositiveInteger = 1
    scale: Literal["linear", "log"] = "linear"
    bounds: Bounds = "public"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.bounds == "private" and self.step > LARGEST_INTEGER // 4:
            raise ValueError("step is too large for bounds to be found")
        _check_special(self.special, self.bounds)
        return _check_range(self, self.lower, self.upper, self.bounds)


class NumberColumn(_Ranged):
    """Numbers from `lower` to `upper`, rounded to the nearest multiple of `step` above `lower`."""

    kind: Literal["number"]
    special: tuple[FiniteDecimal, ...] = Field((), description="Values with a meaning of their own, such as 999.")
    lower: FiniteDecimal | None = None
    upper: FiniteDecimal | None = None
    step: PositiveDecimal | None = Field(
        None, description="By default the power of ten that cuts the range into one to ten million steps."
    )
    scale: Literal["linear", "log"] = "linear"
    bounds: Bounds = "public"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_range(self, self.lower, self.upper, self.bounds)
        _check_special(self.special, self.bounds)
        if self.bounds == "private" and self.step is None:
            raise ValueError("a number with private bounds needs a step")
        if None not in (self.lower, self.upper, self.step) and self.step > self.upper - self.lower:  # type: ignore[operator]
            raise ValueError("step is larger than the whole range")
        return self


class DateColumn(_Ranged):
    """Calendar days from `lower` to `upper`. Text is read by `format`."""

    kind: Literal["date"]
    lower: datetime.date
    upper: datetime.date
    format: str = Field("%Y-%m-%d", max_length=100)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_range(self, self.lower, self.upper)
        if not keeps_days(self.format, self.lower, self.upper):
            raise ValueError(
                f"format does not give back every day from {self.lower} to {self.upper}: it needs the year, the month"
                ' and the day, such as "%d.%m.%Y"; %y stands for the years 1969 to 2068 only'
            )
        return self


def _check_range(entry: _T, lower: Any, upper: Any, bounds: str = "public") -> _T:
    if bounds == "private":
        if getattr(entry, "role", "protected") == "public":
            raise ValueError('a public column has public limits: bounds = "private" does not go with role = "public"')
        if lower is not None or upper is not None:
            raise ValueError('bounds = "private" finds lower and upper: leave them out')
        return entry
    if lower is None or upper is None:
        raise ValueError(f"{'lower' if lower is None else 'upper'} is missing")
    if not lower < upper:
        raise ValueError("lower must be less than upper")
    return entry


def _check_special(special: tuple[Any, ...], bounds: str) -> None:
    if len(set(special)) < len(special) or len(special) > _MOST_SPECIAL:
        raise ValueError(f"special lists a value twice, or more than {_MOST_SPECIAL} values")
    if special and bounds == "private":
        raise ValueError('special does not go with bounds = "private"')


class BooleanColumn(_ColumnEntry):
    """True or false."""

    kind: Literal["boolean"]


class _Labelled(_ColumnEntry):
    @field_validator("categories", "missing", mode="before", check_fields=False)
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            # Stripped, as the texts of a table are.
            texts = list(map(_as_text, value))
            if len(set(texts)) < len(texts):
                raise ValueError("a category is listed twice")
            return tuple(texts)
        return value


class OrdinalColumn(_Labelled):
    """Labels with an order, from first to last."""

    kind: Literal["ordinal"]
    categories: Annotated[tuple[str, ...], Field(min_length=2)]


class CategoryColumn(_Labelled):
    """Labels without an order: a flat list, or the labels of a taxonomy."""

    kind: Literal["category"]
    categories: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    taxonomy: str | None = Field(None, description="node,parent CSV file or ARX hierarchy, relative to the plan.")
    taxonomy_labels: str | None = Field(None, description="label,node CSV file, relative to the plan.")
    prefixes: tuple[Annotated[int, Field(ge=1, le=50)], ...] = Field(
        (), description="A taxonomy without a file: labels are grouped by so many first characters, rising."
    )
    missing: tuple[str, ...] = Field(
        (), description="Labels that stand for missing, such as 9 for no answer. Public documentation; changes nothing."
    )

    @model_validator(mode="after")
    def _has_labels(self) -> Self:
        if self.categories is None and self.taxonomy is None:
            raise ValueError('give categories = [...], or taxonomy = "file.csv", or both')
        if self.taxonomy_labels is not None and self.taxonomy is None:
            raise ValueError("taxonomy_labels needs a taxonomy")
        if self.prefixes and self.taxonomy is not None:
            raise ValueError("prefixes make a taxonomy of their own: leave taxonomy out")
        if any(a >= b for a, b in pairwise(self.prefixes)):
            raise ValueError("prefixes must rise")
        return self


class DropColumn(_ColumnEntry):
    """Not released; not read either, unless `[privacy] person` names it."""

    kind: Literal["drop"]

    @model_validator(mode="after")
    def _not_derived(self) -> Self:
        if self.derived is not None:
            raise ValueError("a column that is dropped is not derived either")
        return self


ColumnEntry = Annotated[
    IntegerColumn | NumberColumn | DateColumn | BooleanColumn | OrdinalColumn | CategoryColumn | DropColumn,
    Field(discriminator="kind"),
]


class ListEntry(Entry):
    """Labels that several columns share; `categories` of a column names the list."""

    labels: Annotated[tuple[str, ...], Field(min_length=1)]
    ordered: bool = Field(False, description="The labels have this order: columns are ordinal unless they say a kind.")
    meanings: dict[str, str] | None = Field(None, description="Which text stands for which label.")
    missing: tuple[str, ...] = Field((), description="Labels that stand for missing, of columns of kind category.")

    @field_validator("labels", "meanings", "missing", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {_as_text(key): _as_text(item) for key, item in value.items()}
        return tuple(map(_as_text, value)) if isinstance(value, list | tuple) else value


class ReleaseEntry(Entry):
    """How to release: the method, the privacy budget, the cluster size."""

    method: str = "synthetic"
    epsilon: Epsilon
    delta: Annotated[Decimal, Field(gt=0, lt=1, allow_inf_nan=False), AfterValidator(_of_sane_size)] | None = Field(
        None, description="Allowed probability of more than ε; by default none (pure differential privacy)."
    )
    population: Annotated[str, Field(max_length=200), AfterValidator(_printable)] | None = Field(
        None, description="Name of the people the table is about: extracts of one population share a budget."
    )
    expected_rows: PositiveInteger | None = Field(
        None,
        description="Roughly how many rows the table has, for dry runs and stand-ins only: the rules depend on it.",
    )
    k: PositiveInteger | None = Field(None, description="Cluster size, for methods that form clusters.")


def _can_separate(text: str) -> str:
    if not text.isascii() or text.isalnum() or text in "+-.":  # numbers are written without quotes
        raise ValueError("must be an ASCII character that no number contains, and neither a letter nor a digit")
    return text


class TableEntry(_Guessable):
    """How to read a text file, where the first look at it gets something wrong."""

    separator: Annotated[str, Field(pattern=r"^[^\n\r\"]$"), AfterValidator(_can_separate)] | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = Field(
        None, description="The decimal mark; by default the point, but 9.734 is refused where it may mean thousands."
    )
    thousands: Literal[".", ",", "'", " "] | None = Field(
        None, description="The mark between groups of three digits; without it such numbers are refused."
    )
    null_values: tuple[str, ...] | None = Field(None, description="Texts that mean missing.")

    @property
    def marks(self) -> Marks:
        return Marks(self.decimal_mark, self.thousands, self.decimal is not None or self.thousands is not None)

    @property
    def decimal_mark(self) -> Literal[".", ","]:
        return self.decimal or "."

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        if self.thousands is not None and self.thousands in (self.decimal_mark, self.separator):
            raise ValueError("thousands is the separator, or the decimal mark (the point, unless `decimal` is set)")
        return self


class PrivacyEntry(_Guessable):
    """Who is protected: a row, or all rows of a person (method synthetic)."""

    neighbours: Neighbours = Field(
        "replace",
        description="'replace': one unit is replaced by another; 'add-remove': it is there or not, and the number of"
        " rows is not public.",
    )
    person: str | None = Field(None, description="The column, of kind drop, that tells whose row a row is.")
    rows_per_person: PositiveInteger | None = Field(
        None, description="How many rows of a person are used, at most; surplus ones are left out."
    )

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if (self.person is None) != (self.rows_per_person is None):
            raise ValueError("person and rows_per_person go together: give both or neither")
        return self

    @property
    def unit(self) -> Unit:
        return Unit(self.neighbours, self.person, self.rows_per_person or 1)


_Line = Annotated[str, Field(max_length=200), AfterValidator(_printable)]


class PublicationEntry(Entry):
    """Who publishes the release, what it is called and what it is for. Public: it stands on the certificate."""

    title: _Line | None = Field(None, description="Also the name of the table in the ledger, instead of its file's.")
    curator: _Line | None = Field(None, description="Who publishes the release and answers for it.")
    contact: _Line | None = Field(None, description="Where readers ask: an address, a page, a telephone.")
    purpose: Annotated[str, Field(max_length=1000), AfterValidator(_printable)] | None = Field(
        None, description="What the release is meant to be used for."
    )
    region: _Line | None = Field(None, description="Where the people of the table live, or whose law applies.")
    sector: _Line | None = Field(None, description="What the table is about: health, education, finance.")
    period: _Line | None = Field(None, description="When the values were collected, or what time they are about.")
    licence: _Line | None = Field(None, description="On what terms the release may be used.")
    notes: Annotated[str, Field(max_length=1000), AfterValidator(_printable)] | None = Field(
        None, description="Whatever else readers should know."
    )


class InterestEntry(Entry):
    """What the release should keep best. Public: it stands on the certificate."""

    target: str | None = Field(None, description="A column whose dependence on all others matters most.")
    columns: tuple[str, ...] | None = Field(None, description="Columns whose joint tables matter most.")

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if (self.target is None) == (self.columns is None):
            raise ValueError("give either target or columns")
        if self.columns is not None and len(set(self.columns)) < 2:
            raise ValueError("columns names at least two columns")
        return self


class RuleEntry(Entry):
    """What every row obeys: `then`, where `when` holds. Public: everyone must know it."""

    when: str | None = Field(None, description="A condition; by default the rule is about every row.")
    then: str = Field(description="What holds then.")
