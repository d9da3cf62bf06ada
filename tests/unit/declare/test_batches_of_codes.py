"""Codes made while a pass asks for them: every column is checked, whoever asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Grid, _rounded
from rankveil.engines import LocalEngine, open_table
from rankveil.errors import DomainError

PLAN = Plan.parse(
    """
    [release]
    method = "synthetic"
    epsilon = 1
    [columns.age]
    kind = "integer"
    lower = 0
    upper = 99
    [columns.town]
    kind = "category"
    categories = ["a", "b"]
    """
)


@dataclass(frozen=True)
class Asking:
    """A fold that reads `columns` and asks for the codes of `asked` only."""

    columns: tuple[str, ...]
    asked: tuple[str, ...]

    def zero(self) -> list[int]:
        return []

    def step(self, state: list[int], batch: Mapping[str, NDArray[np.int64]]) -> list[int]:
        return [*state, *(code for name in self.asked for code in batch[name].tolist())]

    def merge(self, first: list[int], second: list[int]) -> list[int]:
        return first + second


@pytest.mark.parametrize("asked", [(), ("age",), ("town",), ("age", "age", "town")])
def test_a_pass_refuses_a_column_that_does_not_fit_whether_or_not_it_asks_for_it(asked: tuple[str, ...]) -> None:
    table = open_table(pa.table({"age": [1, 2, 100], "town": ["a", "z", "z"]}))
    with pytest.raises(DomainError) as refused:
        Dataset(declare(PLAN, table), table).fold(Asking(("age", "town"), asked))
    assert "'age': 1 of 3" in str(refused.value)
    assert "'town': 2 of 3" in str(refused.value)


def test_batches_with_different_dictionaries_get_the_codes_of_their_own() -> None:
    pieces = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(labels))
        for labels in (["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"])
    ]
    table = open_table(pa.table({"age": [1] * 12, "town": pa.chunked_array(pieces)}))
    dataset = Dataset(declare(PLAN, table), table, LocalEngine(threads=1))
    assert dataset.fold(Asking(("age", "town"), ("town",)))[0] == [0, 1, 0, 1, 0, 1] * 2


@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 99)), min_size=1, max_size=40),
    offset=st.integers(0, 20),
    kind=st.sampled_from([pa.int64(), pa.int32(), pa.uint8(), pa.float64()]),
)
def test_a_slice_of_a_column_has_its_own_missing_values(
    values: list[int | None], offset: int, kind: pa.DataType
) -> None:
    encoded = Grid(99).encode(pa.array(values, kind).slice(offset), ())
    assert encoded.codes.tolist() == [-1 if value is None else value for value in values[offset:]]
    assert encoded.without_code == values[offset:].count(None)


def test_codes_that_are_the_numbers_themselves_leave_the_table_alone() -> None:
    array = pa.array([3, None, 250, -1], pa.int64())
    assert Grid(99).encode(array, ()).codes.tolist() == [3, -1, 99, 0]
    assert array.to_pylist() == [3, None, 250, -1]


@given(st.lists(st.one_of(st.floats(-(2.0**50), 2.0**50), st.integers(-(2**40), 2**40).map(lambda n: n + 0.5))))
def test_rounding_by_the_last_place_is_rounding_to_the_nearest_even_number(numbers: list[float]) -> None:
    expected = np.rint(np.array(numbers)).astype(np.int64)
    assert (_rounded(np.array(numbers, np.float64)) == expected).all()
