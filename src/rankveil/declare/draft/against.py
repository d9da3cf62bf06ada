"""Where a table contradicts its codebooks: the whole list, counted, without a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankveil.declare.codebooks import Codebook
from rankveil.declare.draft.column import ColumnDraft
from rankveil.declare.plan import Plan
from rankveil.declare.schema import Misfits, Schema, Tally, complaints_of, declare, encode_batch
from rankveil.engines import Table
from rankveil.errors import CodebookError, PlanError, TableError


def contradictions(
    reading: Mapping[str, Any], columns: Sequence[ColumnDraft], table: Table, books: Sequence[Codebook]
) -> None:
    """Refuse codebooks that the table does not keep to."""
    sourced = {column.name: column for column in columns if column.entries.get("source")}
    kept = [name for name, column in sourced.items() if column.kind != "drop"]
    if not kept:
        return
    named = ", ".join(book.name for book in books)
    schema = _schema(reading, sourced, kept, table, named)
    tally = Tally(0, {})
    unreadable: dict[str, str] = {}
    for batch in table.batches(kept):
        misfits = {}
        for column in schema.columns:
            try:
                misfits[column.name] = Misfits.of(encode_batch(column, batch.column(column.name)))
            except TableError as error:
                unreadable[column.name] = error.problem
                misfits[column.name] = Misfits()
        tally = tally + Tally(batch.num_rows, misfits)
    lines = list(unreadable.values())
    for column in schema.columns:
        lines += [
            f"{line} ({sourced[column.name].entries['source']})" for line in complaints_of(column, tally).values()
        ]
    if lines:
        raise CodebookError(
            f"The table {table.name} contradicts its codebook {named}:\n" + "\n".join(f"  {line}" for line in lines),
            remedy="Check that table and codebook belong together; correct whichever is wrong, or leave the codebook"
            " out and answer for the entries yourself.",
        )


def _schema(
    reading: Mapping[str, Any], sourced: Mapping[str, ColumnDraft], kept: Sequence[str], table: Table, named: str
) -> Schema:
    wanted = {name: _entry(sourced[name]) for name in kept}
    content = {
        "release": {"epsilon": 1},
        "table": dict(reading),
        "exact": True,
        "columns": {name: wanted.get(name, {"kind": "drop"}) for name in table.schema.names},
    }
    try:
        return declare(Plan.from_dict(content, name="made from the codebook"), table)
    except PlanError as error:
        raise CodebookError(
            f"What the codebook {named} says makes no plan.\n{error.problem}",
            remedy="Correct the codebook, or leave it out.",
        ) from None


def _entry(column: ColumnDraft) -> dict[str, Any]:
    return {key: value for key, value in column.entries.items() if value is not None}
