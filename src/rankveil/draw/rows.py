"""Rows ready to be written, and the pieces they are made in.

Fresh rows come in pieces that can be made anywhere and in any order, each from a key of its own: made again, a piece is
the same. That is allowed because pieces are post-processing of released numbers (T1): the noise is drawn before, once.
Rows that belong to records come as a stream instead, because reading a record and drawing its noise is one act.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankveil.declare import Schema
from rankveil.declare.domain import Codes
from rankveil.measure.budget import Mechanism
from rankveil.noise import RandomSource, keys

if TYPE_CHECKING:
    from rankveil.draw.replicates import Replicates

# Public and the same on every engine, so that a release depends on its keys and not on the number of cores.
PIECE_ROWS = 1 << 17


@dataclass(frozen=True)
class Piece:
    """An independent part of the rows to come."""

    number: int
    rows: int
    key: bytes  # of its stream of random bytes


def cut(row_count: int, source: RandomSource) -> tuple[Piece, ...]:
    """Pieces of `row_count` rows in all, as equal as can be, none larger than PIECE_ROWS."""
    count = -(-row_count // PIECE_ROWS)
    ends = [number * row_count // count for number in range(count + 1)]
    drawn = keys(source, count)
    return tuple(Piece(number, ends[number + 1] - ends[number], drawn[number]) for number in range(count))


def _not_in_pieces(piece: Piece) -> dict[str, Codes]:
    raise TypeError("these rows belong to records and come as a stream")


@dataclass(frozen=True)
class Rows:
    """Rows ready to be written: the only thing `write` accepts. They come in `pieces` or as a `stream`."""

    schema: Schema
    row_count: int
    notes: tuple[Mechanism, ...]
    row_aligned: bool  # row r of the release belongs to record r of the table
    pieces: Sequence[Piece] = ()  # in order
    make: Callable[[Piece], dict[str, Codes]] = _not_in_pieces  # can be pickled; a function of the piece alone
    stream: Iterator[dict[str, Codes]] | None = None  # can be gone through once
    linkage: str = ""  # how columns were linked, where a rule decided it
    remarks: tuple[str, ...] = ()  # what readers of the certificate should know, such as lower bounds
    weigh: Callable[[dict[str, Codes], int], Replicates] | None = None  # so many replicate weights of all rows

    @classmethod
    def whole(
        cls, schema: Schema, row_count: int, codes: dict[str, Codes], notes: tuple[Mechanism, ...], *, row_aligned: bool
    ) -> Rows:
        """Rows that are in memory anyway."""
        return cls(schema, row_count, notes, row_aligned, stream=iter([codes]))

    @property
    def batches(self) -> Iterator[dict[str, Codes]]:
        """All rows in order, batch after batch."""
        return map(self.make, self.pieces) if self.stream is None else self.stream

    def weighed(self, replicates: int) -> tuple[Rows, Replicates]:
        """The same rows, and replicate weights of them."""
        if self.weigh is None:
            raise TypeError("these rows have no replicates")
        batches = list(self.batches)
        codes = {name: np.concatenate([batch[name] for batch in batches]) for name in self.schema.names}
        again = self.stream if self.stream is None else iter(batches)
        return replace(self, stream=again), self.weigh(codes, replicates)

    def collected(self) -> dict[str, Codes]:
        """All rows at once. Uses a stream up."""
        batches = list(self.batches)
        if len(batches) == 1:
            return batches[0]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in self.schema.names}
