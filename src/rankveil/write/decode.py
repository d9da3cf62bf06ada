"""Released codes as Arrow values, in the types that the plan's kinds have.

Guarantee    Names, types and nullability are those of `Schema.arrow`, whatever was drawn and whatever came in.

What a domain's `decode` says of a code is said once per code where a column has few of them, and looked up after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankveil.declare import Column, Schema
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.engines.arrays import value_array
from rankveil.formats import Form

FEW_CODES = 1 << 12  # a column of so many codes is decoded by a table


@dataclass(frozen=True)
class ColumnDecoder:
    column: Column
    form: Form

    @cached_property
    def _values(self) -> pa.Array | None:
        """The value of every code of a column of few codes."""
        domain = self.column.domain
        return None if domain.code_count > FEW_CODES else self._decoded(np.arange(domain.code_count))

    def _decoded(self, codes: Codes) -> pa.Array:
        domain = self.column.domain
        values = domain.decode(codes)
        if self.form not in ("written", "texts"):
            return values
        if isinstance(domain, Grid) and domain.date_format is not None:
            return pc.strftime(values, format=domain.date_format)
        if isinstance(domain, Grid) and domain.marks.decimal != "." and pa.types.is_floating(values.type):
            return pc.replace_substring(values.cast(pa.string()), ".", domain.marks.decimal)
        return values.cast(pa.string()) if self.form == "texts" and domain.code_count <= FEW_CODES else values

    def __call__(self, codes: Codes) -> pa.Array:
        values = self._values
        if values is None:
            return self._decoded(codes)
        places = value_array(codes.astype(np.int32), codes == MISSING if self.column.allows_null else None)
        if self.form == "listed" and pa.types.is_string(values.type):
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
        fields = [decode.column.field.with_type(array.type) for decode, array in zip(self.columns, arrays, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
