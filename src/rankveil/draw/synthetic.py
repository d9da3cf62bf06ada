"""Model -> Rows: the last step of the method `synthetic`. Post-processing (T1, and T28 with public columns)."""

from __future__ import annotations

from rankveil.declare.dataset import Dataset
from rankveil.draw.conditional import ConditionalRows
from rankveil.draw.pieces import RowMaker
from rankveil.draw.rows import Rows, cut
from rankveil.fit.model import Model
from rankveil.measure.measurements import Measurements
from rankveil.noise import RandomSource, Sampler


def draw(model: Model, measured: Measurements, dataset: Dataset, source: RandomSource) -> Rows:
    """As many rows as the table has. No row of the release belongs to a row of the table."""
    sampler = Sampler(source)
    facts = (measured.schema, measured.rows, measured.notes)
    if measured.public:
        stream = ConditionalRows(dataset, model, measured.rows).draw(sampler)
        return Rows(*facts, row_aligned=False, stream=stream, linkage=measured.linkage)
    pieces = cut(measured.rows, source)
    maker = RowMaker.of(model, len(pieces), measured.schema.rules, sampler)
    return Rows(*facts, row_aligned=False, pieces=pieces, make=maker.make, linkage=measured.linkage)
