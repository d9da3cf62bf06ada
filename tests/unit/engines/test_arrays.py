"""Arrow arrays made and read without pandas are those that Arrow itself would make and read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.engines.arrays import filled, null_of, nulls_of, text_array, value_array, values_of

DTYPES = ("int32", "int64", "uint16", "float64", "bool")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.sampled_from([pa.string(), pa.large_string()]))
def test_texts_are_those_of_pyarrow(texts: list[str], kind: pa.DataType) -> None:
    made = text_array(texts, kind)
    made.validate(full=True)
    assert made.equals(pa.array(texts, kind))


@given(st.lists(st.tuples(st.integers(0, 1000), st.booleans())), st.sampled_from(DTYPES))
def test_values_and_missing_are_those_of_pyarrow(pairs: list[tuple[int, bool]], dtype: str) -> None:
    values = np.array([value for value, _ in pairs]).astype(dtype)
    missing = np.array([absent for _, absent in pairs], dtype=np.bool_)
    made = value_array(values, missing)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=missing))
    assert value_array(values).equals(pa.array(values))


def test_days_become_dates() -> None:
    days = np.array(["1969-12-31", "2024-02-29"], dtype="datetime64[D]")
    assert value_array(days).equals(pa.array(days))


@given(st.lists(st.integers(0, 1), min_size=3), st.sampled_from(DTYPES), st.integers(0, 3))
def test_values_come_back_from_any_part_of_an_array(values: list[int], dtype: str, start: int) -> None:
    held = np.array(values).astype(dtype)
    found = values_of(pa.array(held).slice(start))
    assert found.dtype == held.dtype
    np.testing.assert_array_equal(found, held[start:])


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.float64()])
def test_an_array_without_any_buffer_has_no_values(kind: pa.DataType) -> None:
    assert len(values_of(pa.array([], kind))) == 0
    assert len(values_of(pa.nulls(0, kind))) == 0


def test_a_missing_value_has_the_type_that_was_asked_for() -> None:
    assert null_of(pa.string()).equals(pa.scalar(None, pa.string()))


@pytest.mark.parametrize(
    ("array", "value"), [(pa.array([True, None]), False), (pa.array([3, None], pa.int32()), -1), (pa.array([5]), 7)]
)
def test_nulls_are_filled_as_pyarrow_fills_them(array: pa.Array, value: bool | int) -> None:
    assert filled(array, value).equals(pc.fill_null(array, value))


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 39))
def test_nulls_are_found_in_any_part_of_an_array(missing: list[bool], start: int) -> None:
    part = pa.array([None if absent else 1 for absent in [True, *missing]], pa.int64()).slice(min(start, len(missing)))
    np.testing.assert_array_equal(nulls_of(part), [value is None for value in part.to_pylist()])
