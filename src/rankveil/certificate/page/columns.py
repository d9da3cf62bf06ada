"""The table of columns: what each is, within which limits, where these come from, and how much noise there is."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rankveil.certificate.content import Certificate, ColumnNote, ExpectedNote
from rankveil.certificate.page.pieces import paragraph, section, table

_KINDS = {
    "integer": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "boolean": "true or false",
    "ordinal": "labels in an order",
    "category": "labels",
}
_LONGEST_LABEL = 60  # characters; the whole label stands in certificate.json
_PLAIN, _DENSE, _DENSER = 16, 30, 80  # lines that differ between releases: beyond, letters on paper are smaller
_LETTERS, _USUAL = 100, 400  # of [publication]: that take the place of a line; that are no more than usual


def density(certificate: Certificate) -> str:
    """How small letters have to be on paper, for two sheets: by the number of lines that differ between releases."""
    figures = sum(3 + len(each.figures) for each in certificate.published_accuracy or ())
    texts = [] if certificate.publication is None else certificate.publication.model_dump(exclude_none=True).values()
    lengths = [len(certificate.title or ""), *map(len, texts)]
    letters = max(sum(lengths), 2 * max(lengths))  # a long text stands in one of three columns
    lines = len(certificate.columns) + figures + max(0, letters - _USUAL) // _LETTERS
    return "" if lines <= _PLAIN else "dense" if lines <= _DENSE else "denser" if lines <= _DENSER else "denser densest"


def columns(certificate: Certificate) -> str:
    noise: dict[str, list[str]] = {}
    for expected in certificate.expected or ():
        noise.setdefault(expected.column, []).append(_noise_of(expected))
    rows = [
        [
            _named(column),
            escape(_treated(column, certificate)),
            escape(_limits(column)),
            escape(column.source or "not said"),
            *([escape("; ".join(noise.get(column.name, ["–"])))] if noise else []),
        ]
        for column in certificate.columns
    ]
    shown = max((one.percent_of_draws for one in certificate.expected or ()), default=0)
    headers = ["Column", "Released as", "Values and limits", "Source of the limits"]
    headers += [f"Noise on …: within, in {shown} % of draws"] if noise else []
    dropped = certificate.dropped
    left_out = f"Left out of the release: {', '.join(dropped)}." if dropped else ""
    return section(
        "columns",
        "The columns",
        table(headers, rows, "columns", "Table of columns"),
        paragraph(
            "Limits and labels come from the plan. They must be known to everyone without the table.",
            left_out,
            kind="quiet",
        ),
        paragraph(
            "What columns are about stands on the screen and in certificate.json, not on paper.", kind="quiet paper"
        )
        if density(certificate).startswith("denser") and any(column.label for column in certificate.columns)
        else "",
    )


def _noise_of(expected: ExpectedNote) -> str:
    """Without what the heading of the table says already."""
    return f"{expected.question.removeprefix('noise on ')}: {expected.answer}"


def _named(column: ColumnNote) -> str:
    """HTML: the name, and below it what the column is about, cut where it is long."""
    label = column.label or ""
    cut = label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1].rstrip() + "…"
    said = f'<small class="exact">{escape(cut)}</small>' if cut and cut != column.name else ""
    return escape(column.name) + said


def _treated(column: ColumnNote, certificate: Certificate) -> str:
    if column.derived is not None:
        return f"computed: {column.derived}"
    if column.role == "public":
        return "public, as it is"
    word = "protected" if certificate.differentially_private else "changed, not protected"
    return f"{word}, a weight" if column.role == "weight" else word


def _limits(column: ColumnNote) -> str:
    kind = _KINDS.get(column.kind, column.kind)
    if column.categories is not None:
        text = f"{column.categories} {kind}" if column.kind != "boolean" else kind
    elif column.lower is not None and column.upper is not None:
        text = f"{kind}, {column.lower} to {column.upper}"
    else:
        text = kind
    special = f"; special: {_meant(column, column.special)}" if column.special else ""
    missing = f"; missing: {_meant(column, column.missing)}" if column.missing else ""
    return text + special + missing + ("; may be missing" if column.null else "")


def _meant(column: ColumnNote, values: Sequence[str]) -> str:
    """Values, with what they stand for where the plan says it."""
    texts = column.value_labels or {}
    return ", ".join(f"{value} ({texts[value]})" if value in texts else value for value in values)
