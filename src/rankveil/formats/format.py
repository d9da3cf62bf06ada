"""What a format is: where it is found, how it is read as Arrow batches, and how it is written from them.

A format is a declaration (`Format`, listed in `rankveil.formats`) and a module that reads and perhaps writes it. The
module is imported when a file of the format is met, and with it the library that it needs.

Guarantee    What a writer puts into a file beside the values (types, widths, labels, layout, times) is a function of
             `Released`, that is of the plan; of the released values; and of nothing else.
Argument     A writer sees nothing else: neither the original nor what its file says about itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, cast

import pyarrow as pa

from rankveil.extras import need

Form = Literal[
    "values",  # in the type of the column's kind
    "listed",  # the same, but texts as places in one list of labels (dictionary arrays): for Parquet
    "written",  # as a text file spells them: days by the plan's format, numbers with the plan's decimal mark
    "texts",  # the same, all columns of few codes as texts, which saves spelling each value anew
]

SHEET_REMEDY = "Say which one with --sheet (Python: 'file.xlsx#sheet')."  # the page says it in its own words


@dataclass(frozen=True)
class Part:
    """One file of a table, or one table of a database."""

    path: Path  # for a database on a server: what the table is called
    encoding: str | None = None  # text files
    inside: str | None = None  # the sheet, the table of a database, or the file in a ZIP archive
    server: str | None = None  # where it is, with what opens it: never shown


@dataclass(frozen=True)
class Stored:
    """A table as it lies in files."""

    schema: pa.Schema
    parts: tuple[Part, ...]
    dialect: Any = None  # of text files


@dataclass(frozen=True)
class Opening:
    """What is said about how to read files."""

    separator: str | None = None
    encoding: str | None = None
    inside: str | None = None


@dataclass(frozen=True)
class Released:
    """What the plan says about a column that is written."""

    field: pa.Field
    kind: str  # of the plan
    few: bool = False  # so few values that they are listed
    labels: tuple[str, ...] | None = None  # every label that may occur; None for numbers, days and truth values
    date_format: str | None = None
    decimal: str = "."
    lower: float | None = None  # of numbers
    upper: float | None = None
    special: tuple[str, ...] = ()  # numbers with a meaning of their own
    label: str | None = None  # documentation that the plan states
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()  # labels that stand for missing

    @property
    def name(self) -> str:
        return str(self.field.name)


@dataclass(frozen=True)
class Style:
    """How a text file is written."""

    separator: str = ","
    escape_formulas: bool = False


class Writer(Protocol):
    """Takes batches of a release in order."""

    form: Form

    def prepared(self, batch: pa.RecordBatch) -> Any:
        """What can be done to a batch by itself: called for several at once."""

    def write(self, prepared: Any) -> None: ...

    def close(self) -> None: ...


class Reading(Protocol):
    """What a module of a format offers to whoever reads."""

    def look(self, files: Sequence[Path], how: Opening) -> Stored:
        """What there is, without reading its rows."""

    def look_at_table(self, part: Part) -> Stored:
        """The same for a table of a database."""

    def batches(
        self, part: Part, stored: Stored, columns: list[str], place: int | None, *, threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a part, or those at one of its places. `threads`: further threads may be used."""

    def places(self, part: Part, stored: Stored) -> list[tuple[int | None, int | None]]:
        """Where a part can be read from, and how many rows there are at each, if that is known."""

    def expected_rows(self, part: Part, stored: Stored) -> int | None:
        """About how many rows there are; None if nobody knows."""


class Writing(Protocol):
    """What a module of a format offers to whoever writes."""

    def refuse(self, columns: Sequence[Released], rows: int | None) -> str | None:
        """Why the format cannot hold these columns, or so many rows; None if it can."""

    def writer(self, file: BinaryIO, columns: Sequence[Released], style: Style) -> Writer: ...


@dataclass(frozen=True)
class Format:
    """One way in and out."""

    name: str  # on certificates, and the ending of a release
    title: str
    module: str
    endings: tuple[str, ...]
    keeps: str  # what comes through, in words
    extra: str | None = None  # of rankveil, that brings the libraries
    libraries: tuple[str, ...] = ()
    text: bool = False  # values are texts, which the plan's [table] explains
    ordered: bool = True  # it lists its columns; else their order is the plan's
    released_as: str | None = None  # another format; None: itself
    written_by: str | None = None  # another module than the one that reads it
    missing_texts: tuple[str, ...] = ()  # that mean missing, unless the plan says something else
    exact_rows: bool = True  # knows its number of rows without reading them

    @property
    def for_statisticians(self) -> bool:
        """Whether what lies beside a release is better a text file: few of its readers open Parquet."""
        return self.text or self.extra in ("spss", "excel")

    @property
    def reads(self) -> Reading:
        if self.extra is not None:
            need(f"Reading {self.title}", self.extra, *self.libraries)
        return cast(Reading, importlib.import_module(f"rankveil.formats.{self.module}"))

    @property
    def writes(self) -> Writing:
        if self.written_by is None and self.extra is not None:
            need(f"Writing {self.title}", self.extra, *self.libraries)
        return cast(Writing, importlib.import_module(f"rankveil.formats.{self.written_by or self.module}"))
