"""Arrow, pandas and polars go in, and the same kind of frame comes out, its columns in the types of the plan."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from rankveil import Plan, release
from rankveil.declare import declare, encode
from rankveil.engines import open_table
from rankveil.errors import TableError
from rankveil.noise import SeededSource
from tests.support import INTEGER, category, integer, plan_text

NUMBER = 'kind = "number"\nlower = 0\nupper = 100\nstep = 0.5\nnull = true'
LABELS = category(["x", "y", "z"], more="null = true")
DATES = 'kind = "date"\nlower = 2000-01-01\nupper = 2030-01-01\nnull = true'
TRUTH = 'kind = "boolean"\nnull = true'
ORDER = 'kind = "ordinal"\ncategories = ["x", "y", "z"]\nnull = true'
COUNT = integer(100, more="null = true")


def released(table: object, entry: str, *, epsilon: str = "4") -> Any:
    return release(table, Plan.parse(plan_text({"a": entry}, epsilon=epsilon)), source=SeededSource(7)).table


DAY = datetime.date(2020, 2, 29)

# What a column is released as follows from its kind, and from `null`, whatever type it came in.
PANDAS = {
    "int64": (pd.Series([1, 2, 3]), INTEGER, "int64"),
    "int8": (pd.Series([1, 2, 3], dtype="int8"), INTEGER, "int64"),
    "uint64": (pd.Series([1, 2, 3], dtype="uint64"), INTEGER, "int64"),
    "float64 of whole numbers": (pd.Series([1.0, 2.0, 3.0]), INTEGER, "int64"),
    "Int64": (pd.Series([1, None, 3], dtype="Int64"), COUNT, "Int64"),
    "int64[pyarrow]": (pd.Series([1, None, 3], dtype="int64[pyarrow]"), COUNT, "Int64"),
    "whole numbers in a column of numbers": (pd.Series([1, 2, 3]), NUMBER, "float64"),
    "float32": (pd.Series([1.5, np.nan, 3.0], dtype="float32"), NUMBER, "float64"),
    "Float64": (pd.Series([1.5, None, 3.0], dtype="Float64"), NUMBER, "float64"),
    "str": (pd.Series(["x", "y", None], dtype="str"), LABELS, "str"),
    "string": (pd.Series(["x", "y", None], dtype="string"), LABELS, "str"),
    "category": (pd.Series(["x", "y", None], dtype="category"), ORDER, "str"),
    "text dates": (pd.Series([DAY.isoformat(), None, "2021-01-01"], dtype="str"), DATES, "datetime64[ms]"),
    "bool": (pd.Series([True, False, True]), 'kind = "boolean"', "bool"),
    "boolean": (pd.Series([True, None, True], dtype="boolean"), TRUTH, "boolean"),
    "date objects": (pd.Series([DAY, None, DAY], dtype="object"), DATES, "datetime64[ms]"),
    "datetime64": (pd.Series(pd.to_datetime([DAY, None, DAY])), DATES, "datetime64[ms]"),
    "datetime64 with zone": (pd.Series(pd.to_datetime([DAY, None, DAY], utc=True)), DATES, "datetime64[ms]"),
}


@pytest.mark.parametrize("name", PANDAS)
def test_a_pandas_column_is_released_in_the_type_of_its_kind(name: str) -> None:
    series, entry, expected = PANDAS[name]
    frame = released(pd.DataFrame({"a": series}), entry)
    assert isinstance(frame, pd.DataFrame)
    assert frame.dtypes["a"] == expected
    assert len(frame) == 3


def test_the_type_of_a_released_number_does_not_tell_whether_a_value_is_missing(tmp_path: Path) -> None:
    """pandas turns whole numbers into floats as soon as one is missing."""
    types = []
    for number, values in enumerate(([1, 2, 3, 4], [1, 2, 3, None])):
        plan = Plan.parse(plan_text({"a": COUNT}))
        release(pd.DataFrame({"a": values}), plan, out=tmp_path / str(number))
        types.append(papq.read_schema(tmp_path / str(number) / "release.parquet").field("a").type)
    assert types[0] == types[1] == pa.int64()


def test_one_record_does_not_change_how_others_of_an_object_column_are_read() -> None:
    """Arrow would choose a scale or a time zone for the whole column by looking at all of its values."""
    halves = [Decimal(number) / 20 for number in range(1, 400)]
    entry = 'kind = "number"\nlower = 0\nupper = 100\nstep = 0.1\nnull = true\nclamp = true'
    day = 'kind = "date"\nlower = 2020-01-01\nupper = 2030-01-01'
    noon = [datetime.datetime(2024, 3, 1, 12, tzinfo=datetime.UTC)] * 3
    east = datetime.timezone(datetime.timedelta(hours=14))
    for one, other, rest, declared in (
        (Decimal(1), Decimal("1.000000000000"), halves, entry),
        (Decimal(1), None, halves, entry),
        (noon[0], noon[0].astimezone(east), noon, day),
    ):
        codes = []
        for first in (one, other):
            table = open_table(pd.DataFrame({"a": pd.Series([first, *rest], dtype=object)}))
            codes.append(encode(table, declare(Plan.parse(plan_text({"a": declared})), table)).codes["a"][1:])
        assert np.array_equal(*codes)


@pytest.mark.parametrize("index", [["p", "q", "r"], [7, 7, 7], pd.date_range("2020", periods=3)])
def test_the_index_and_attributes_of_a_pandas_frame_are_data_and_stay_behind(index: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=index)
    frame.attrs["secret"] = "canary"
    made = released(frame, INTEGER)
    assert made.index.equals(pd.RangeIndex(3))
    assert made.attrs == {}


def test_a_pandas_frame_is_not_changed_by_its_release() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    before = frame.copy(deep=True)
    release(frame, Plan.parse(plan_text({"a": INTEGER, "b": LABELS})), source=SeededSource(1))
    pd.testing.assert_frame_equal(frame, before)


def test_dropped_columns_and_the_order_of_the_others_are_respected_in_frames() -> None:
    frame = pd.DataFrame({"b": ["x", "y"], "gone": ["s", "t"], "a": [1, 2]})
    plan = Plan.parse(plan_text({"a": INTEGER, "b": LABELS, "gone": 'kind = "drop"'}))
    assert list(release(frame, plan, source=SeededSource(1)).table.columns) == ["b", "a"]


POLARS = {
    "Int64": (pl.Series("a", [1, None, 3]), COUNT, pl.Int64),
    "Int8": (pl.Series("a", [1, 2, 3], dtype=pl.Int8), INTEGER, pl.Int64),
    "UInt64": (pl.Series("a", [1, 2, 3], dtype=pl.UInt64), INTEGER, pl.Int64),
    "Float32": (pl.Series("a", [1.5, None, 3.0], dtype=pl.Float32), NUMBER, pl.Float64),
    "String": (pl.Series("a", ["x", "y", None]), LABELS, pl.String),
    "Categorical": (pl.Series("a", ["x", "y", None], dtype=pl.Categorical), LABELS, pl.String),
    "Boolean": (pl.Series("a", [True, None, False]), TRUTH, pl.Boolean),
    "Date": (pl.Series("a", [DAY, None]), DATES, pl.Date),
    "Datetime": (pl.Series("a", [datetime.datetime(2020, 1, 1, 5), None]), DATES, pl.Date),
    "Decimal": (pl.Series("a", [Decimal("1.50"), None, Decimal("3.00")]), NUMBER, pl.Float64),
    "text dates": (pl.Series("a", ["2020-01-01", None]), DATES, pl.Date),
}


@pytest.mark.parametrize("name", POLARS)
def test_a_polars_column_is_released_in_the_type_of_its_kind(name: str) -> None:
    series, entry, expected = POLARS[name]
    frame = released(pl.DataFrame({"a": series}), entry)
    assert isinstance(frame, pl.DataFrame)
    assert frame["a"].dtype == expected
    assert frame.height == len(series)


ARROW = {
    "int16": (pa.array([1, 2], pa.int16()), INTEGER, pa.int64()),
    "decimal128": (pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)), NUMBER, pa.float64()),
    "float16": (pa.array(np.array([1, 2], np.float16)), NUMBER, pa.float64()),
    "date64": (pa.array([DAY, DAY], pa.date64()), DATES, pa.date32()),
    "timestamp[ns]": (pa.array([datetime.datetime(2020, 1, 1)] * 2, pa.timestamp("ns")), DATES, pa.date32()),
    "large_string": (pa.array(["x", "y"], pa.large_string()), LABELS, pa.string()),
    "string_view": (pa.array(["x", "y"], pa.string_view()), LABELS, pa.string()),
    "dictionary": (pa.array(["x", "y"]).dictionary_encode(), LABELS, pa.string()),
    "bool": (pa.array([True, False]), TRUTH, pa.bool_()),
}


@pytest.mark.parametrize(
    ("name", "as_file"),
    # Parquet has no string views.
    [(name, as_file) for name in ARROW for as_file in (False, True) if not (as_file and name == "string_view")],
)
def test_an_arrow_column_is_released_in_the_type_of_its_kind(name: str, as_file: bool, tmp_path: Path) -> None:
    array, entry, expected = ARROW[name]
    table: object = pa.table({"a": array})
    if as_file:
        papq.write_table(table, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    result = released(table, entry)
    assert isinstance(result, pa.Table)
    assert result.schema.field("a").type == expected
    assert result.schema.field("a").nullable is ("null = true" in entry)


@pytest.mark.parametrize(
    "narrow",
    [
        pa.array([1, 2] * 50, pa.int8()),
        pa.array([1, 2] * 50, pa.uint8()),
        pa.array([Decimal("1.0"), Decimal("2.0")] * 50, pa.decimal128(3, 1)),
        pa.array([1, 2] * 50, pa.int8()).dictionary_encode(),
    ],
    ids=str,
)
def test_a_type_too_narrow_for_the_declared_range_is_widened_and_never_wraps_around(narrow: pa.Array) -> None:
    values = released(pa.table({"a": narrow}), integer(1000), epsilon="0.01")["a"].to_pylist()
    assert min(values) >= 0
    assert max(values) == 1000  # at this ε about half of all draws end at either end


def test_a_nullable_pandas_type_too_narrow_for_the_declared_range_is_widened() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, 2] * 50, dtype="Int8")})
    values = released(frame, integer(1000), epsilon="0.01")["a"].tolist()
    assert min(values) >= 0
    assert max(values) == 1000


def test_a_column_that_is_missing_throughout_gets_the_natural_type_of_its_kind() -> None:
    result = released(pa.table({"a": pa.nulls(4)}), COUNT)
    assert result.schema.field("a").type == pa.int64()
    assert released(pd.DataFrame({"a": [None, None]}), LABELS).shape == (2, 1)


@pytest.mark.parametrize(
    "array",
    [pa.array([[1], [2]]), pa.array([{"q": 1}] * 2), pa.array([b"\xff", b"\xfe"]), pa.array([1, 2], pa.duration("s"))],
    ids=lambda array: str(array.type),
)
@pytest.mark.parametrize("entry", [LABELS, INTEGER, DATES, TRUTH], ids=["category", "integer", "date", "boolean"])
def test_columns_of_types_no_kind_can_read_are_refused(array: pa.Array, entry: str) -> None:
    with pytest.raises(TableError, match="'a'"):
        released(pa.table({"a": array}), entry)


def test_record_batches_and_readers_are_read_like_tables() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert released(batch, INTEGER).num_rows == 2
    assert released(pa.RecordBatchReader.from_batches(batch.schema, [batch, batch]), INTEGER).num_rows == 4


@pytest.mark.parametrize(
    "thing",
    [{"a": [1]}, [1, 2], None, 5, pl.LazyFrame({"a": [1, 2]}), pd.Series([1, 2])],
    ids=lambda thing: type(thing).__name__,
)
def test_things_that_are_no_tables_are_refused(thing: object) -> None:
    with pytest.raises(TableError):
        released(thing, INTEGER)


def test_a_frame_with_two_columns_of_one_name_is_refused() -> None:
    with pytest.raises(TableError):
        released(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), INTEGER)


def test_parquet_columns_with_dots_in_their_names_are_read(tmp_path: Path) -> None:
    papq.write_table(pa.table({"FIXED.ASSETS": [1, 2], "FIXED": [3, 4]}), tmp_path / "t.parquet")
    plan = Plan.parse(plan_text({"FIXED.ASSETS": INTEGER, "FIXED": INTEGER}))
    assert release(tmp_path / "t.parquet", plan, source=SeededSource(1)).table.column_names == ["FIXED.ASSETS", "FIXED"]
