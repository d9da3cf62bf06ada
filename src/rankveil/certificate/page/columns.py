"""The table of columns: what each is, within which limits, where these come from, and how much noise there is."""

from __future__ import annotations

from html import escape

from rankveil.certificate.content import Certificate, ColumnNote
from rankveil.certificate.page.pieces import paragraph, section, table

_KINDS = {
    "integer": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "boolean": "true or false",
    "ordinal": "labels in an order",
    "category": "labels",
}


def columns(certificate: Certificate) -> str:
    noise: dict[str, list[str]] = {}
    for expected in certificate.expected or ():
        noise.setdefault(expected.column, []).append(f"{expected.question}: {expected.answer}")
    rows = [
        [
            escape(column.name),
            escape(_treated(column, certificate)),
            escape(_limits(column)),
            escape(column.source or "not said"),
            *([escape("; ".join(noise.get(column.name, ["–"])))] if noise else []),
        ]
        for column in certificate.columns
    ]
    shown = max((one.percent_of_draws for one in certificate.expected or ()), default=0)
    headers = ["Column", "Released as", "Values and limits", "Source of the limits"]
    headers += [f"Noise: within, in {shown} % of draws"] if noise else []
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
    )


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
    special = f"; special: {', '.join(column.special)}" if column.special else ""
    return text + special + ("; may be missing" if column.null else "")
