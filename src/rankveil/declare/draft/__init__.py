"""A first plan for a table: from its codebooks where there are any, guessed from the data where not.

Guarantee    None, on purpose: a draft shows limits and labels read from the data. It is for the person who holds the
             table, who replaces the guesses by what is publicly known. `release` refuses unconfirmed entries.
Marked       Whatever another table of the same columns could have made different: kinds (left out is one), limits,
             steps, formats, labels, whether values may be missing (either way), special values, columns that others
             decide, marks of numbers, the encoding, whether a column tells persons apart.
Not marked   The number of rows, which is public where neighbours have the same (docs/promise.md), and what a codebook
             says: that is public, and its entry names the document (codebooks/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankveil.declare.codebooks import Codebook, Variable, read_codebook, together
from rankveil.declare.domain import DEFAULT_NULL_TOKENS
from rankveil.declare.draft.against import contradictions
from rankveil.declare.draft.column import ColumnDraft, left_out, possible_kinds, proposed
from rankveil.declare.draft.decisions import Decisions, Few, Said
from rankveil.declare.draft.documented import documented
from rankveil.declare.draft.identifiers import Identifier, persons_of
from rankveil.declare.draft.seen import MOST_CATEGORIES, Seen, as_texts, is_number, marks_of, seen_in
from rankveil.declare.draft.shapes import shape_of
from rankveil.declare.draft.text import Part, written
from rankveil.declare.plan import Plan
from rankveil.declare.plan_file import toml_text
from rankveil.engines import Table
from rankveil.engines.dialect import GUESSED_ENCODING
from rankveil.engines.spelling import Marks
from rankveil.errors import CodebookError, TableError

__all__ = ["ColumnDraft", "Draft", "draft", "draft_of"]

_MOST_ABSENT = 200  # variables that a refusal names

Remark = Callable[[Plan], list[str]]


@dataclass(frozen=True)
class Draft:
    """A plan under way: what it says of every column, and what each could be instead."""

    table: str
    method: str
    epsilon: str
    rows: int
    parts: dict[str, Part]
    columns: tuple[ColumnDraft, ...]
    seen: dict[str, Seen]
    marks: dict[str, Marks]

    def with_column(self, changed: ColumnDraft) -> Draft:
        columns = tuple(changed if column.name == changed.name else column for column in self.columns)
        return replace(self, columns=columns)

    def kinds(self, name: str) -> tuple[str, ...]:
        """What the values of a column can be read as."""
        return possible_kinds(self.seen[name], self.marks[name])

    def as_kind(self, name: str, kind: str) -> ColumnDraft:
        """What the data suggest for a column of this kind: guesses, all of it."""
        return proposed(name, self.seen[name], self.marks[name], kind=kind)

    @property
    def dropped(self) -> dict[str, str]:
        """Columns that are left out, and why."""
        return {column.name: column.dropped for column in self.columns if column.dropped is not None}

    def plan(self) -> Plan:
        return Plan.parse(self.text(short=False), name="draft").over(column.name for column in self.columns)

    def text(self, remark: Remark | None = None, *, short: bool = True) -> str:
        """The text of the plan; `remark` may add comments under its ε."""
        guesses = any(part.guessed for part in self.parts.values()) or any(each.guessed for each in self.columns)
        head = _INTERNAL if guesses else _CONFIRMED
        said = [f"# {line}" for line in remark(self.plan())] if remark is not None else []
        settings = [
            *head,
            "",
            "[release]",
            f"method  = {toml_text(self.method)}",
            f"epsilon = {self.epsilon}",
            *said,
            self._rows_expected(),
        ]
        return written(settings, self.parts, self.columns, short=short)

    def _rows_expected(self) -> str:
        if not self.parts["privacy"].entries:
            return f"expected_rows = {self.rows}  # counted; beside a [privacy] write a round number"
        # PRIVACY: plans are shown to others, and with [privacy] the number of rows is not public.
        unit = 10 ** max(1, len(str(self.rows)) - 2)
        about = max(unit, round(self.rows / unit) * unit)
        return f"expected_rows = {about}  # about: with [privacy] the number of rows is not public, as a rule"


_INTERNAL = [
    "# INTERNAL DRAFT: what is listed as unconfirmed below was read from the data.",
    "# Replace each guess by what is publicly known, then delete the line `unconfirmed` under it.",
]
_CONFIRMED = ["# Every entry is from the source that it names, or was confirmed: nothing below is a guess."]


def draft(
    table: Table,
    *,
    method: str = "synthetic",
    epsilon: str = "1",
    remark: Remark | None = None,
    codebooks: Iterable[str | Path] = (),
) -> str:
    """The text of a plan for this table, with every guess marked."""
    made = draft_of(table, method=method, epsilon=epsilon, codebooks=codebooks)
    return made.text(remark, short=False)


def draft_of(
    table: Table,
    *,
    method: str = "synthetic",
    epsilon: str = "1",
    codebooks: Iterable[str | Path] = (),
    extract: bool = False,
) -> Draft:
    """A draft. `extract`: the table has only some of the variables that its codebooks describe."""
    names = table.schema.names
    file = None if table.path is None else Path(table.path).name
    books = [read_codebook(path, names, table=file) for path in codebooks]  # before the table, which may be large
    _refuse_absent(books, table, extract=extract)
    variables = together(books, names)
    null_tokens = _null_tokens(books)
    by_default = DEFAULT_NULL_TOKENS if table.of_texts else table.missing_texts
    seen, rows = seen_in(table, by_default if null_tokens is None else null_tokens)  # as a release will read it
    if rows == 0:
        raise TableError(f"Table {table.name} has no rows.", remedy="Check that its first line is the header.")
    found = _Found.of(table, seen, method, variables)
    columns = tuple(found.column(name) for name in names)
    parts = {"table": found.table_part(null_tokens, columns), "privacy": found.privacy_part()}
    made = Draft(table.name, method, epsilon, rows, parts, columns, seen, found.marks)
    contradictions(made.parts["table"].entries, columns, table, books)
    return made


def _refuse_absent(books: Sequence[Codebook], table: Table, *, extract: bool) -> None:
    absent = {name: book.name for book in books for name in book.absent}
    if absent and not extract:
        shown = list(absent.items())[:_MOST_ABSENT]
        lines = "\n".join(f"  {name} ({book})" for name, book in shown)
        lines += f"\n  and {len(absent) - len(shown):,} more" if len(absent) > len(shown) else ""
        raise CodebookError(
            f"The table {table.name} lacks {len(absent)} of the variables that its codebook describes:\n{lines}",
            remedy="Check that table and codebook belong together. If the table is an extract with some of the"
            " variables, say so: --extract (Python: extract=True).",
        )


def _null_tokens(books: Sequence[Codebook]) -> tuple[str, ...] | None:
    said = {book.null_values for book in books if book.null_values is not None}
    if len(said) > 1:
        raise CodebookError("The codebooks list different texts for missing.", remedy="Leave one of them out.")
    return next(iter(said), None)


@dataclass(frozen=True)
class _Found:
    """What was seen in a table, and what others said about it."""

    read: Table
    seen: dict[str, Seen]
    stated: Marks | None
    marks: dict[str, Marks]
    identifiers: dict[str, Identifier]
    decided: dict[str, Said]
    variables: dict[str, Variable]
    special: bool

    @classmethod
    def of(cls, table: Table, seen: dict[str, Seen], method: str, variables: dict[str, Variable]) -> _Found:
        stated = marks_of(table, seen)
        marks = {
            name: stated if stated is not None and not is_number(found.stored) else Marks()
            for name, found in seen.items()
        }
        looked_at = {name: _identifier(name, found, marks[name]) for name, found in seen.items()}
        identifiers = {name: each for name, each in looked_at.items() if each is not None}
        kept = {name: found for name, found in seen.items() if name not in identifiers}
        synthetic = method == "synthetic"
        decided = _decided(table, kept, marks) if synthetic else {}
        return cls(table, seen, stated, marks, identifiers, decided, variables, synthetic)

    def column(self, name: str) -> ColumnDraft:
        found, marks = self.seen[name], self.marks[name]
        guess = proposed(name, found, marks, special=self.special)
        if name in self.identifiers:
            guess = left_out(self.identifiers[name])
        order = self._order(name)
        if order is not None and guess.kind == "category":
            entries = {**guess.entries, "kind": "ordinal", "categories": order[0]}
            guess = replace(guess, entries=entries, remarks=(*guess.remarks, f"an order: that of {order[1]}"))
        decided = self.decided.get(name)
        variable = self.variables.get(name)
        if variable is not None:
            made = documented(name, variable, found, marks, guess)
            if decided is None or made.kind == "drop":
                return made
            by = ", ".join(decided.get("from", ())) or decided.get("by", "")
            said = f"in every row of the table it follows from {by}; derived = {{ … }} would say so, if that is public"
            return replace(made, remarks=(*made.remarks, said))
        if decided is None or guess.kind == "drop":
            return guess
        entries, guessed = {**guess.entries, "derived": decided}, (*guess.guessed, "derived")
        return replace(guess, entries=entries, guessed=guessed)

    def _order(self, name: str) -> tuple[list[str], str] | None:
        """The order of labels of which each has a number of its own in another column, and that column."""
        for other, said in self.decided.items():
            ranks = said.get("values", {})
            numbered = said.get("from") == [name] and all(isinstance(rank, int) for rank in ranks.values())
            if numbered and len(set(ranks.values())) == len(ranks) > 2 and ranks.keys() == self.seen[name].texts:
                return sorted(ranks, key=lambda label: ranks[label]), other
        return None

    def table_part(self, null_tokens: tuple[str, ...] | None, columns: Sequence[ColumnDraft]) -> Part:
        entries: dict[str, Any] = {}
        guessed = []
        if any(part.encoding == GUESSED_ENCODING for part in self.read.parts):
            entries["encoding"] = GUESSED_ENCODING
            guessed.append("encoding")
        separator = self.read.dialect.separator if self.read.dialect is not None else None
        needless = bool(self.variables) and self.stated == Marks() and separator == "," and len(columns) > 1
        if self.stated is not None and not needless:  # numbers written as text
            marks = {"decimal": self.stated.decimal, "thousands": self.stated.thousands}
            entries |= {key: value for key, value in marks.items() if value is not None}
            guessed += [key for key, value in marks.items() if value is not None]
        labelled = {column.name for column in columns if column.kind in ("category", "ordinal", "drop")}
        words = {word for name, found in self.seen.items() if name not in labelled for word in found.absent}
        words = {word for word in words if word.lower() != "nan"}
        if null_tokens is not None:
            entries["null_values"] = list(null_tokens)
        elif words:
            entries["null_values"] = [*(DEFAULT_NULL_TOKENS if self.read.of_texts else ()), *sorted(words)]
            guessed.append("null_values")
        return Part(entries, tuple(guessed))

    def privacy_part(self) -> Part:
        said = next((name for name, variable in self.variables.items() if variable.person), None)
        if said is not None and self.special:
            rows = Identifier.said(said, self.seen[said].values).rows_per_person
            why = f"{self.variables[said].place} says whose a row is; how many rows of each are used is a guess"
            return Part({"person": said, "rows_per_person": rows}, ("rows_per_person",), (why,))
        entries, asked = persons_of(list(self.identifiers.values())) if self.special else ({}, [])
        return Part(entries, tuple(entries), tuple(asked))


def _identifier(name: str, found: Seen, marks: Marks) -> Identifier | None:
    kind = found.kind(marks)
    if kind in ("category", "drop") and found.texts and shape_of(found, marks) is not None:
        return None
    labels = kind == "category" or (kind == "drop" and found.any_value and not found.nested)
    return Identifier.of(name, found.values) if labels or kind == "integer" else None


def _decided(table: Table, seen: dict[str, Seen], marks: dict[str, Marks]) -> dict[str, Said]:
    """What the draft says of columns that others decide: one more pass over columns of few values."""
    few = {}
    for name, found in seen.items():
        kind = found.kind(marks[name])
        if kind not in ("category", "boolean", "integer") or found.absent:
            continue
        if not 1 < len(found.texts) <= MOST_CATEGORIES or found.days.ambiguous is not None:
            continue
        guess = proposed(name, found, marks[name])
        if guess.kind == "drop":
            continue
        texts, numbers, lower = tuple(sorted(found.texts)), None, None
        if guess.kind == "integer":
            if not all(_is_integer(text) for text in texts):  # 1.000 would be a number of other digits here
                continue
            numbers, lower = tuple(map(int, texts)), guess.entries["lower"]
        few[name] = Few(texts, numbers, lower, labelled=guess.kind != "integer")
    decisions = Decisions(few)
    if len(decisions.columns) < 2:
        return {}
    for batch in table.batches(list(decisions.columns)):
        decisions.add({name: as_texts(batch.column(name)) for name in decisions.columns})
    return decisions.found()


def _is_integer(text: str) -> bool:
    return text.lstrip("+-").isdecimal()
