"""No grouping: every record stays by itself (T3). One pass over the rows, which only checks that they fit the plan."""

from __future__ import annotations

from dataclasses import dataclass

from rankveil.declare import Schema
from rankveil.declare.dataset import Dataset
from rankveil.measure.counts import count_columns


@dataclass(frozen=True)
class SingleRecords:
    """A table that fits its plan, to be read again record by record: raw data, not protected."""

    dataset: Dataset
    row_count: int

    @property
    def schema(self) -> Schema:
        return self.dataset.schema


def single_records(dataset: Dataset, cluster_size: int) -> SingleRecords:
    """Refuses the table, while that still costs nothing, if it does not fit."""
    _, rows = count_columns(dataset, (), only_checked=dataset.schema.names)
    return SingleRecords(dataset, rows)
