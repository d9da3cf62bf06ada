"""Released codes as Arrow values, in the types that went in.

What a column's `decode` says of a code is said once per code where a column has few of them, and looked up after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from rankveil.engines.arrays import value_array
from rankveil.flow.declare import Column, Schema
from rankveil.flow.declare.domain import MISSING, Codes, Grid

Form = Literal[
    "values",  # in the type of the table
    "listed",  # the same, but texts as places in one list of labels (dictionary arrays): for Parquet
    "texts",  # as they will be written, where that saves spelling each value anew: for CSV
]
FEW_CODES = 1 << 12  # a column of so many codes is decoded by a table


@dataclass(frozen=True)
class ColumnDecoder:
    column: Column
    form: Form

    @cached_property
    def _values(self) -> pa.Array | None:
        """The value of every code of a column of few codes."""
        domain = self.column.domain
        size = domain.width + 1 if isinstance(domain, Grid) else domain.label_count
        if size > FEW_CODES or pa.types.is_dictionary(self.column.input_type):
            return None
        values = self.column.decode(np.arange(size))
        if pa.types.is_string_view(values.type):  # Arrow cannot look views up
            return None
        return values.cast(pa.string()) if self.form == "texts" else values

    @property
    def few_codes(self) -> bool:
        return self._values is not None

    def __call__(self, codes: Codes) -> pa.Array:
        values = self._values
        if values is None or int(codes.max(initial=0)) >= len(values):  # an inner concept of a taxonomy
            return self.column.decode(codes)
        short = codes.astype(np.int32)
        places = value_array(short, codes == MISSING if self.column.allows_null else None)
        if self.form == "listed" and _is_text(values.type):
            return pa.DictionaryArray.from_arrays(places, values)
        return values.take(places)


@dataclass(frozen=True)
class Decoder:
    """All columns of a release, in the order of the table."""

    columns: tuple[ColumnDecoder, ...]

    @classmethod
    def of(cls, schema: Schema, form: Form = "values") -> Decoder:
        return cls(tuple(ColumnDecoder(column, form) for column in schema.columns))

    def __call__(self, codes: Mapping[str, Codes]) -> pa.RecordBatch:
        arrays = [decode(codes[decode.column.name]) for decode in self.columns]
        return pa.RecordBatch.from_arrays(arrays, names=[decode.column.name for decode in self.columns])

    @property
    def of_few_codes(self) -> list[str]:
        return [decode.column.name for decode in self.columns if decode.few_codes]


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type))


def plain_schema(schema: pa.Schema, decoder: Decoder) -> pa.Schema:
    """The schema without lists of labels that the table did not have."""
    return pa.schema(
        [
            field.with_type(field.type.value_type)
            if decode.form == "listed" and decode.few_codes and pa.types.is_dictionary(field.type)
            else field
            for field, decode in zip(schema, decoder.columns, strict=True)
        ]
    )
