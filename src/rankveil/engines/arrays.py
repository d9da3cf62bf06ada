"""Arrow arrays from NumPy's and from texts, and back, without loading pandas.

`pa.array`, `pa.scalar` and `to_numpy` import pandas wherever it is installed, to ask whether it plays a part. For a
table in a file that is some tenths of a second and 30 MB for nothing; buffers are handed over by themselves instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def text_array(texts: Sequence[str], kind: pa.DataType | None = None) -> pa.Array:
    """Texts, none of them missing; as `kind` of text where one is named."""
    written = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
    wide = pa.Array.from_buffers(
        pa.large_string(), len(written), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(written))]
    )
    return wide.cast(pa.string() if kind is None else kind)


def value_array(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers, truth values or days, as they are; null where `missing`."""
    count, kind = len(values), pa.from_numpy_dtype(values.dtype)
    if values.dtype == np.bool_:
        held = _bits(values)
    elif values.dtype == np.dtype("datetime64[D]"):
        held = pa.py_buffer(values.astype(np.int32))
    else:
        held = pa.py_buffer(np.ascontiguousarray(values))
    absent = missing is not None and bool(missing.any())
    return pa.Array.from_buffers(kind, count, [_bits(~missing) if absent and missing is not None else None, held])


def _bits(truths: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))


def null_of(kind: pa.DataType) -> pa.Scalar:
    """A missing value of this type."""
    return pa.nulls(1, kind)[0]


def decoded(array: pa.Array) -> pa.Array:
    """Without dictionary encoding. Of lists of views, as polars hands categoricals over, Arrow cannot pick."""
    if not pa.types.is_dictionary(array.type):
        return array
    if isinstance(array, pa.DictionaryArray) and pa.types.is_string_view(array.type.value_type):
        array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.large_string()))
    return array.dictionary_decode()


def among(texts: pa.Array, values: Sequence[str]) -> pa.Array:
    """Which texts are one of these."""
    return pc.is_in(texts, value_set=text_array(values, texts.type))


def without(texts: pa.Array, values: Sequence[str]) -> pa.Array:
    """With null in the place of every text that is one of these."""
    return pc.if_else(among(texts, values), null_of(texts.type), texts)


def filled(array: pa.Array, value: bool | int) -> pa.Array:
    """With this value in the place of every null."""
    return pc.fill_null(array, value_array(np.array([value]))[0].cast(array.type))


def values_of(array: pa.Array) -> NDArray[Any]:
    """Numbers or truth values as they lie in memory; what stands in the place of a null may be anything."""
    if pa.types.is_boolean(array.type):
        return values_of(array.cast(pa.uint8())).view(np.bool_)
    kind, held = np.dtype(array.type.to_pandas_dtype()), array.buffers()[1]
    if held is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(held, kind, len(array), array.offset * kind.itemsize)


def nulls_of(array: pa.Array) -> NDArray[np.bool_]:
    """Which values of an array with nulls are missing: the bits of its validity that are zero."""
    first = array.offset // 8
    whole = np.frombuffer(array.buffers()[0], np.uint8)[first : (array.offset + len(array) + 7) // 8]
    return np.unpackbits(~whole, bitorder="little")[array.offset - 8 * first :][: len(array)].view(np.bool_)
