"""How wrong simple counts come out: random questions about two columns, asked of both tables.

A question is "what share of the rows has a value of A in this range, and a value of B among these labels?". Columns are
drawn from all pairs; a range runs between two values of the original at random ranks, ends included, so that narrow
and wide ones occur in every column whatever its shape; every label, and missing in a column of labels, is asked for
with probability 1/2. Missing numbers lie in no range, and a released concept above the labels is none of them.

The questions follow from the schema and the original through a fixed generator: every release of a table is asked the
same. They protect nobody and need no protection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records, Schema
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.evaluate.results import Queries
from rankveil.noise import Sampler, SeededSource

QUERIES = 500


def ask(original: Records, released: Records, targets: Sequence[tuple[Column, ...]]) -> Queries:
    """The same questions about randomly chosen `targets` of both tables; errors are of shares of rows."""
    sampler = Sampler(SeededSource(_seed(original.schema)))
    answers = np.empty((QUERIES, 2))
    for query, choice in enumerate((sampler.uniform(QUERIES) * len(targets)).astype(np.int64)):
        before, after = np.ones(original.row_count, np.bool_), np.ones(released.row_count, np.bool_)
        for column in targets[choice]:
            asked_for = _values_asked_for(column, original.codes[column.name], sampler)
            before &= _matching(asked_for, original.codes[column.name])
            after &= _matching(asked_for, released.codes[column.name])
        answers[query] = before.mean(), after.mean()
    errors = np.abs(answers[:, 0] - answers[:, 1])
    return Queries(
        count=QUERIES,
        mean=float(errors.mean()),
        median=float(np.median(errors)),
        ninth_decile=float(np.quantile(errors, 0.9)),
        worst=float(errors.max()),
        mean_answer=float(answers[:, 0].mean()),
        answers=tuple((before, after) for before, after in answers.tolist()),
    )


def _seed(schema: Schema) -> int:
    sizes = [
        column.domain.width if isinstance(column.domain, Grid) else column.domain.label_count
        for column in schema.columns
    ]
    text = repr([(column.name, column.kind, size) for column, size in zip(schema.columns, sizes, strict=True)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _values_asked_for(column: Column, original: Codes, sampler: Sampler) -> range | NDArray[np.bool_]:
    """A range of codes; or for labels which of them, with missing as the last entry."""
    if isinstance(column.domain, Grid):
        present = original[column.domain.ordinary(original)]
        if len(present) == 0:
            return range(column.domain.width + 1)
        low, high = sorted(present[(sampler.uniform(2) * len(present)).astype(np.int64)].tolist())
        return range(low, high + 1)
    asked_for = np.zeros(column.domain.taxonomy.node_count + 1, np.bool_)
    asked_for[: column.domain.label_count] = sampler.uniform(column.domain.label_count) < 0.5
    asked_for[MISSING] = sampler.uniform(1)[0] < 0.5
    return asked_for


def _matching(asked_for: range | NDArray[np.bool_], codes: Codes) -> NDArray[np.bool_]:
    if isinstance(asked_for, range):
        return (codes >= asked_for.start) & (codes < asked_for.stop)
    return asked_for[codes]  # MISSING is -1, the last entry
