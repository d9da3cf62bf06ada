"""Model -> Rows: the last step of the method `synthetic`. Post-processing (T1, and T28 with public columns)."""

from __future__ import annotations

from dataclasses import dataclass

from rankveil.declare import Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Codes
from rankveil.draw.conditional import ConditionalRows
from rankveil.draw.pieces import RowMaker
from rankveil.draw.replicates import Replicates, replicates
from rankveil.draw.rows import Piece, Rows, cut
from rankveil.fit.model import Model
from rankveil.measure.measurements import Measurements
from rankveil.noise import RandomSource, Sampler


def draw(model: Model, measured: Measurements, dataset: Dataset, source: RandomSource) -> Rows:
    """As many rows as the table has. No row of the release belongs to a row of the table."""
    sampler = Sampler(source)
    facts = (measured.schema, measured.rows, measured.notes)

    def weigh(codes: dict[str, Codes], count: int) -> Replicates:
        return replicates(model, measured, codes, count, sampler)

    if measured.public:
        drawn = ConditionalRows(dataset, model, measured.rows, measured.schema.rules).draw(sampler)
        stream = map(measured.schema.completed, drawn)
        return Rows(*facts, row_aligned=False, stream=stream, linkage=measured.linkage, weigh=weigh)
    pieces = cut(measured.rows, source)
    maker = RowMaker.of(model, len(pieces), measured.schema.rules, sampler)
    make = Completed(maker, measured.schema).make
    return Rows(*facts, row_aligned=False, pieces=pieces, make=make, linkage=measured.linkage, weigh=weigh)


@dataclass(frozen=True)
class Completed:
    """Pieces with their derived columns; can be sent to other machines."""

    maker: RowMaker
    schema: Schema

    def make(self, piece: Piece) -> dict[str, Codes]:
        return self.schema.completed(self.maker.make(piece))
