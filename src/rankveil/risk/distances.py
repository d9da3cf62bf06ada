"""Distances between records: the mean over columns of a distance from 0 to 1 (Gower 1971).

Numbers, days and ordered labels lie as far apart as their difference, as a share of the range that all given tables
have; other labels, special values and missing are equal or at distance 1 from everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Records, Schema
from rankveil.declare.domain import MISSING, Codes, Grid

Places = NDArray[np.float32]  # [column, record]: so that the distance in a column is min(1, |difference|)

_AT_ONCE = 1 << 23  # distances in memory: 32 MiB
_APART = 2.0  # more than any two ordinary values
NEARLY = np.float32(1e-6)  # distances that differ by no more are the same


class Space:
    """The columns of a schema, with the range that some tables have in them."""

    def __init__(self, schema: Schema, *tables: Records) -> None:
        self.schema = schema
        self._ranges: list[tuple[float, float] | None] = []
        for column in schema.columns:
            if not isinstance(column.domain, Grid):
                self._ranges.append(None)
                continue
            grid = column.domain
            present = [codes[grid.ordinary(codes)] for codes in (table.codes[column.name] for table in tables)]
            ends = [(int(codes.min()), int(codes.max())) for codes in present if len(codes)]
            low, high = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0, 1)
            self._ranges.append((float(low), float(max(1, high - low))))

    def places(self, records: Records) -> Places:
        columns = zip(self.schema.columns, self._ranges, strict=True)
        return np.stack([_placed(records.codes[column.name], column.domain, known) for column, known in columns])

    @property
    def count(self) -> int:
        return len(self._ranges)


def _placed(codes: Codes, domain: object, known: tuple[float, float] | None) -> Places:
    if known is None or not isinstance(domain, Grid):
        labels: Places = (_APART * codes).astype(np.float32)  # missing is -1
        return labels
    low, span = known
    scaled = (codes.astype(np.float64) - low) / span
    special = np.where(codes > domain.width, 1 + _APART * (codes - domain.width), scaled)
    return np.asarray(np.where(codes == MISSING, -_APART, special), np.float32)


def between(one: Places, others: Places) -> Places:
    """Distances in one column, of every record of one list to every one of the other."""
    found: Places = np.minimum(np.abs(one[:, None] - others[None, :]), np.float32(1))
    return found


def far(targets: Places, others: Places, columns: Sequence[int]) -> Places:
    """Sums of distances over some columns: [target, other]."""
    total = np.zeros((targets.shape[1], others.shape[1]), np.float32)
    for column in columns:
        total += between(targets[column], others[column])
    return total


def slices(targets: int, others: int) -> Iterator[slice]:
    """Targets in parts whose distances to all others fit into memory."""
    step = max(1, _AT_ONCE // max(1, others))
    yield from (slice(start, start + step) for start in range(0, targets, step))
