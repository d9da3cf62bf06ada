"""Refusals in the words of the page: what a field means, not what the plan file calls it or a validator says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from rankveil.errors import RankveilError, TableError
from rankveil.formats import SHEET_REMEDY
from rankveil.web.home import FormError

_FIELDS: Mapping[str, str] = {
    "epsilon": "ε",
    "delta": "δ",
    "k": "k, the size of a cluster,",
    "population": "The name of the population",
    "lower": "The lowest value",
    "upper": "The highest value",
    "step": "The step",
    "format": "The way dates are written",
    "categories": "The list of labels",
    "taxonomy": "The taxonomy",
    "rows_per_person": "The number of rows of a person",
    "person": "The column that says whose a row is",
    "neighbours": "What nobody can tell",
    "decimal": "The decimal mark",
    "thousands": "The mark between thousands",
    "kind": "The kind",
    "scale": "The scale",
}
_NEEDS: Mapping[str, str] = {
    "epsilon": "must be a number above 0, such as 1 or 0.5, written with a point",
    "delta": "must be a number between 0 and 1, such as 1e-9, or stay empty",
    "k": "must be a whole number of at least 1",
    "rows_per_person": "must be a whole number of at least 1",
    "population": "must be one line of at most 200 characters",
    "format": "must name day, month and year, such as %d.%m.%Y",
    "categories": "must have at least one label, and each only once",
    "scale": "must be linear or logarithmic",
    "neighbours": "must be one of the list",
    "decimal": "must be a point or a comma",
    "thousands": "must be one of the list",
    "kind": "must be one of the list",
}
_NUMBERS: Mapping[str, Mapping[str, str]] = {
    "integer": {"lower": "must be a whole number", "upper": "must be a whole number",
                "step": "must be a whole number of at least 1"},
    "number": {"lower": "must be a number, written with a point", "upper": "must be a number, written with a point",
               "step": "must be a number above 0"},
    "date": {"lower": "must be a day such as 2031-12-31", "upper": "must be a day such as 2031-12-31"},
}  # fmt: skip
# What entries of the plan say of themselves (declare/entries.py), by how it begins.
_SAID: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("lower must be less than upper", "The lowest value must be less than the highest.", ("lower", "upper")),
    ("lower is missing", "The lowest value is missing. Give it, or let the limits be found.", ("lower",)),
    ("upper is missing", "The highest value is missing. Give it, or let the limits be found.", ("upper",)),
    ("step is larger than", "The step is larger than the whole range.", ("step",)),
    ("step is too large", "The step is too large for the limits to be found.", ("step",)),
    ("a number with private bounds", "Limits can be found only in steps: give a step.", ("step",)),
    ("a public column has public limits",
     "A column that everyone knows has limits that everyone knows: give them, and do not let them be found.",
     ("lower", "upper")),
    ("format does not give back", "The way dates are written must name day, month and year, such as %d.%m.%Y.",
     ("format",)),
    ("a category is listed twice", "A label is listed twice.", ("categories",)),
    ("give categories", "Give the labels, one per line, or a taxonomy that lists them.", ("categories",)),
    ("thousands is the separator", "The mark between thousands is used for something else in this file.",
     ("thousands",)),
    ("person and rows_per_person", "Give both: the column that says whose a row is, and how many of a person's rows"
     " are used.", ("person", "rows_per_person")),
    ("privacy.person names", "The column that says whose a row is must be left out of the release.", ("person",)),
    ("special does not go", "This column has special values, which need given limits.", ("lower", "upper")),
    ("special lists a value twice", "The column's special values overlap its range.", ("lower", "upper")),
    ('role = "weight"', "The column of survey weights must stay a column of numbers.", ("kind",)),
    ("a derived column has neither", "Other columns decide this one: it is neither public nor are its limits found.",
     ()),
    ("must lie between 1e-40", "", ()),
)  # fmt: skip


def in_page_words(error: RankveilError) -> RankveilError:
    """The same refusal; what a plan's validator has found, in the words of the form."""
    if error.remedy.startswith(SHEET_REMEDY):
        there = error.remedy.removeprefix(SHEET_REMEDY)
        return TableError(error.problem, remedy=f"Go back, and write the name of the sheet into its field.{there}")
    found = error.__context__
    if isinstance(error, FormError) or not isinstance(found, ValidationError):
        return error
    lines: list[str] = []
    fields: list[str] = []
    for finding in found.errors(include_url=False, include_input=False, include_context=False)[:20]:
        line, about = _explained([str(part) for part in finding["loc"]], finding["type"], finding["msg"])
        lines += [line] if line not in lines else []
        fields += about
    return FormError("\n".join(lines), fields=tuple(fields))


def _explained(place: Sequence[str], kind: str, message: str) -> tuple[str, tuple[str, ...]]:
    message = message.removeprefix("Value error, ")
    for begins, words, about in _SAID:
        if message.startswith(begins) and words:
            return words, about
    name = next((part for part in reversed(place) if part in _FIELDS), None)
    if name is None:
        return (f"{'.'.join(place) or 'The plan'}: {message}", ())
    column_kind: Mapping[str, Any] = next((_NUMBERS[part] for part in place if part in _NUMBERS), {})
    if kind == "missing":
        return f"{_FIELDS[name]} is missing.", (name,)
    needs = column_kind.get(name) or _NEEDS.get(name) or message
    return f"{_FIELDS[name]} {needs}.", (name,)
