"""Frames that nobody should have made: `python -m tests.fuzz.frames FIRST LAST` runs some, in a process of its own.

What a case must keep to is said in harness.py. Native code may take the whole process with it, or never come back: so
the test that runs these cases starts this module and looks at what is left of it.
"""

from __future__ import annotations

import decimal
import faulthandler
import random
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import rankveil as rv
from rankveil.declare import Plan
from rankveil.declare.draft import draft
from rankveil.engines import open_table
from rankveil.noise import SeededSource
from tests.fuzz.harness import Findings, mutated, refused

KINDS = (
    'kind = "integer"\nlower = -5\nupper = 5\nclamp = true\nnull = true',
    'kind = "number"\nlower = -1.5\nupper = 2.5\nstep = 0.5\nnull = true\nclamp = true',
    'kind = "date"\nlower = 1970-01-01\nupper = 2020-01-01\nnull = true\nclamp = true',
    'kind = "category"\ncategories = ["cook", "0", "1"]\nnull = true',
    'kind = "boolean"\nnull = true',
)
METHODS = ("synthetic", "laplace", "aligned", "unlinked")
ROWS = 4


def made_of(kind: pa.DataType, *buffers: bytes | None, length: int = ROWS, **more: Any) -> pa.Table:
    """A column of these buffers, which nobody has checked."""
    held = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    return pa.table({"a": pa.Array.from_buffers(kind, length, held, **more)})


def offsets(*places: int, wide: bool = False) -> bytes:
    return np.array(places, np.int64 if wide else np.int32).tobytes()


def of_dictionary(indices: list[int], values: pa.Array, kind: pa.DataType = pa.int8()) -> pa.Table:  # noqa: B008
    array = pa.DictionaryArray.from_arrays(pa.array(indices, kind), values, safe=False)
    return pa.table({"a": array})


def nested_dictionary() -> pa.Table:
    inner = pa.array(["cook", "0", "1"]).dictionary_encode()
    return of_dictionary([0, 1, 2, 0], inner)


def polars_of(values: list[Any], kind: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"a": pl.Series("a", values, dtype=kind)})


DECIMALS = [decimal.Decimal("1.5"), None, decimal.Decimal("-3"), decimal.Decimal("0")]

# Each makes one frame; it may also fail to, if the library at hand refuses such a thing.
MADE: dict[str, Callable[[], Any]] = {
    "nulls without end": lambda: made_of(pa.null(), None, length=10**13),
    "empty lists without end": lambda: made_of(pa.list_(pa.int8(), 0), None, length=10**13, children=[pa.array([], pa.int8())]),
    "nothing without end": lambda: pa.table({"a": pa.nulls(2)}).select([]).append_column("a", pa.nulls(2)),
    "runs without end": lambda: pa.table({"a": pa.RunEndEncodedArray.from_arrays(pa.array([2**62], pa.int64()), pa.array([1]))}),
    "runs": lambda: pa.table({"a": pa.RunEndEncodedArray.from_arrays([2, 4], ["cook", "0"])}),
    "runs of wrong ends": lambda: pa.table({"a": pa.RunEndEncodedArray.from_buffers(pa.run_end_encoded(pa.int32(), pa.int8()), 4, [None], children=[pa.array([9, 2], pa.int32()), pa.array([1, 2], pa.int8())])}),
    "offsets that point outside": lambda: made_of(pa.string(), None, offsets(0, 5, 10**6, 3, 2), b"cook0"),
    "negative offsets": lambda: made_of(pa.string(), None, offsets(-5, 0, 1, 2, 3), b"cook0"),
    "wide offsets that point outside": lambda: made_of(pa.large_string(), None, offsets(0, 1, 2**60, 3, 4, wide=True), b"cook0"),
    "too few offsets": lambda: made_of(pa.string(), None, offsets(0, 1), b"cook0"),
    "bytes that are no text": lambda: made_of(pa.string(), None, offsets(0, 2, 4, 6, 8), b"\xff\xfe\xc0\x80\xed\xa0\x80\xff"),
    "large bytes that are no text": lambda: made_of(pa.large_string(), None, offsets(0, 2, 4, 6, 8, wide=True), b"\xff\xfe\xc0\x80\xed\xa0\x80\xff"),
    "views that point outside": lambda: made_of(pa.string_view(), None, np.array([20, 0, 0, 10**6] * 4, np.int32).tobytes(), b"x" * 30),
    "too short a buffer": lambda: made_of(pa.int64(), None, b"\1"),
    "no buffer": lambda: made_of(pa.int64(), None, None),
    "too few validity bits": lambda: made_of(pa.int8(), b"", b"\1\2\3\4"),
    "indices outside the dictionary": lambda: of_dictionary([0, 9, -3, 127], pa.array(["cook", "0"])),
    "a dictionary without entries": lambda: of_dictionary([0, 0, 0, 0], pa.array([], pa.string())),
    "a dictionary of nulls": lambda: of_dictionary([0, 1, 0, 1], pa.nulls(2, pa.string())),
    "a dictionary with an entry twice": lambda: of_dictionary([0, 1, 0, 1], pa.array(["cook", "cook"])),
    "a dictionary of no text": lambda: of_dictionary([0, 0, 0, 0], pa.array([b"\xff\xfe"]).view(pa.string())),
    "a dictionary of dictionaries": nested_dictionary,
    "a dictionary of lists": lambda: of_dictionary([0, 0, 0, 0], pa.array([[1]])),
    "a dictionary of nothing": lambda: of_dictionary([0, 0, 0, 0], pa.nulls(2)),
    "a dictionary of booleans": lambda: of_dictionary([0, 1, 0, 1], pa.array([True, False])),
    "a dictionary of days": lambda: of_dictionary([0, 0, 0, 0], pa.array([date(2000, 1, 1)])),
    "a dictionary by 64-bit indices": lambda: of_dictionary([0, 2**63, 1, 0], pa.array(["cook", "0"]), pa.uint64()),
    "a list view": lambda: pa.table({"a": pa.array([[1], [2], None, []], pa.list_view(pa.int8()))}),
    "a map": lambda: pa.table({"a": pa.array([[("x", 1)]] * 4, pa.map_(pa.string(), pa.int8()))}),
    "a union": lambda: pa.table({"a": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([1, 2, 3, 4])])}),
    "a struct": lambda: pa.table({"a": pa.array([{"x": 1}] * 4)}),
    "a struct of nothing": lambda: pa.table({"a": pa.array([{}] * 4, pa.struct([]))}),
    "an extension": lambda: pa.table({"a": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 4, pa.binary(16)))}),
    "booleans of eight bits": lambda: pa.table({"a": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 2, -1], pa.int8()))}),
    "JSON": lambda: pa.table({"a": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", "{", "0", "cook"]))}),
    "an opaque type": lambda: pa.table({"a": pa.ExtensionArray.from_storage(pa.opaque(pa.int8(), "a", "b"), pa.array([1] * 4, pa.int8()))}),
    "fixed bytes of none": lambda: pa.table({"a": pa.array([b""] * 4, pa.binary(0))}),
    "binary": lambda: pa.table({"a": pa.array([b"cook", b"\xff", b"0", None])}),
    "a binary view": lambda: pa.table({"a": pa.array([b"cook", b"\xff", b"0", None], pa.binary_view())}),
    "half floats": lambda: pa.table({"a": pa.array(np.array([1, np.nan, np.inf, 0], np.float16))}),
    "a negative scale": lambda: pa.table({"a": pa.array([100, None, 0, -100]).cast(pa.decimal128(22, 0)).cast(pa.decimal128(20, -2))}),
    "wide decimals": lambda: pa.table({"a": pa.array(DECIMALS, pa.decimal256(76, 70))}),
    "wide decimals beyond their precision": lambda: made_of(pa.decimal256(3, 1), None, b"\x7f" * 128),
    "decimals beyond their precision": lambda: made_of(pa.decimal128(3, 1), None, b"\x7f" * 64),
    "32-bit decimals": lambda: pa.table({"a": pa.array(DECIMALS, pa.decimal32(5, 2))}),
    "an odd zone": lambda: pa.table({"a": pa.array([0, 1, None, 2], pa.timestamp("ns", "Nowhere/Nothing"))}),
    "an empty zone": lambda: pa.table({"a": pa.array([0, 1, None, 2], pa.timestamp("us", "+25:99"))}),
    "a zone of text": lambda: pa.table({"a": pa.array([0, 1, None, 2], pa.timestamp("us", "\x00\xff"))}),
    "times without end": lambda: pa.table({"a": pa.array([2**63 - 1, -(2**63), 0, None], pa.timestamp("s"))}),
    "times without end in a zone": lambda: pa.table({"a": pa.array([2**63 - 1, -(2**63), 0, None], pa.timestamp("s", "Europe/Bern"))}),
    "days without end": lambda: pa.table({"a": pa.array([2**31 - 1, -(2**31), 0, None], pa.date32())}),
    "days in milliseconds without end": lambda: pa.table({"a": pa.array([2**63 - 1, -(2**63), 0, None], pa.date64())}),
    "durations": lambda: pa.table({"a": pa.array([timedelta(1)] * 4)}),
    "times of day": lambda: pa.table({"a": pa.array([1, 2, 3, None], pa.time64("ns"))}),
    "intervals": lambda: pa.table({"a": pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval())}),
    "unsigned": lambda: pa.table({"a": pa.array([2**64 - 1, 0, 1, None], pa.uint64())}),
    "a name twice": lambda: pa.table([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"]),
    "no name": lambda: pa.table([pa.array([1, 2])], names=[""]),
    "a name with NUL": lambda: pa.table([pa.array([1, 2])], names=["a\0b"]),
    "a name of no text": lambda: pa.table([pa.array([1, 2])], names=[b"\xff\xfe"]),
    "no columns": lambda: pa.table({}),
    "no rows": lambda: pa.table({"a": pa.array([], pa.int8())}),
    "one row": lambda: pa.table({"a": pa.array([1], pa.int8())}),
    "many pieces": lambda: pa.table({"a": pa.chunked_array([pa.array([1], pa.int8())] * 5_000)}),
    "empty pieces": lambda: pa.table({"a": pa.chunked_array([pa.array([], pa.int8())] * 5_000 + [pa.array([1, 2, 3, 0], pa.int8())])}),
    "a piece of a piece": lambda: pa.table({"a": pa.array([1, None, 2, 3, 0, None] * 5, pa.int8())}).slice(3, 11),
    "metadata of no pandas": lambda: pa.table({"a": pa.array([1, 2])}).replace_schema_metadata({"pandas": "{]"}),
    "polars: a name with NUL": lambda: pl.DataFrame({"a\0b": [1, 2, 3]}),
    "polars: no name": lambda: pl.DataFrame({"": [1, 2, 3]}),
    "polars: decimals of precision 38": lambda: polars_of(DECIMALS, pl.Decimal(38, 2)),
    "polars: decimals of scale 38": lambda: polars_of([None, decimal.Decimal(0)], pl.Decimal(38, 38)),
    "polars: decimals of no precision": lambda: polars_of(DECIMALS, pl.Decimal(None, 2)),
    "polars: decimals of precision 1": lambda: polars_of([None, decimal.Decimal(1), decimal.Decimal(2)], pl.Decimal(1, 0)),
    "polars: decimals beyond their precision": lambda: pl.from_arrow(made_of(pa.decimal128(3, 1), None, b"\x7f" * 64)),
    "polars: decimals from bytes": lambda: pl.from_arrow(made_of(pa.decimal128(38, 1), None, b"\x7f" * 64)),
    "polars: decimals of more scale than precision": lambda: pl.from_arrow(made_of(pa.decimal128(2, 9), None, bytes(64))),
    "polars: decimals of a negative scale": lambda: pl.from_arrow(made_of(pa.decimal128(9, -2), None, bytes(64))),
    "polars: 32-bit decimals": lambda: pl.from_arrow(pa.table({"a": pa.array(DECIMALS, pa.decimal32(5, 2))})),
    "polars: 256-bit decimals": lambda: pl.from_arrow(pa.table({"a": pa.array(DECIMALS, pa.decimal256(60, 2))})),
    "polars: 128-bit integers": lambda: polars_of([1, 2, None, 2**100], pl.Int128),
    "polars: objects": lambda: polars_of([object(), 1, "x", None], pl.Object),
    "polars: categories": lambda: polars_of(["cook", "0", None, "1"], pl.Categorical),
    "polars: an enumeration": lambda: polars_of(["cook", "0", None, "1"], pl.Enum(["cook", "0", "1"])),
    "polars: nothing": lambda: polars_of([None] * 4),
    "polars: lists": lambda: polars_of([[1], [2], None, []]),
    "polars: arrays": lambda: polars_of([[1, 2], [3, 4]], pl.Array(pl.Int8, 2)),
    "polars: structs": lambda: polars_of([{"x": 1}] * 4),
    "polars: binary": lambda: polars_of([b"\xff", b"cook", None]),
    "polars: durations": lambda: polars_of([timedelta(1), None]),
    "polars: times in a zone": lambda: polars_of([datetime(2000, 1, 1), None], pl.Datetime("ns", "Europe/Zurich")),
    "polars: no columns": lambda: pl.DataFrame({}),
    "polars: a lazy frame": lambda: pl.DataFrame({"a": [1, 2]}).lazy(),
    "polars: a series": lambda: pl.Series("a", [1, 2, 3]),
    "polars: a big integer": lambda: polars_of([2**64 - 1, 0, None], pl.UInt64),
    "pandas: objects": lambda: pd.DataFrame({"a": [object(), 1, "x", None]}),
    "pandas: one's own equality": lambda: pd.DataFrame({"a": pd.Series([np.array([1, 2]), [1], {}, {1}], dtype=object)}),
    "pandas: surrogates": lambda: pd.DataFrame({"a": pd.Series(["\ud800", "cook", None, "0"], dtype=object)}),
    "pandas: a name of surrogates": lambda: pd.DataFrame({"\ud800": [1, 2, 3]}),
    "pandas: names of numbers": lambda: pd.DataFrame({0: [1, 2], 1.5: [1, 2], None: [1, 2]}),
    "pandas: names of two levels": lambda: pd.DataFrame({("a", "b"): [1, 2]}),
    "pandas: a name twice": lambda: pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
    "pandas: complex numbers": lambda: pd.DataFrame({"a": [1j, 2j]}),
    "pandas: periods": lambda: pd.DataFrame({"a": pd.period_range("2000", periods=4, freq="D")}),
    "pandas: intervals": lambda: pd.DataFrame({"a": pd.interval_range(0, 4)}),
    "pandas: sparse": lambda: pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1, 0])}),
    "pandas: categories of anything": lambda: pd.DataFrame({"a": pd.Categorical([1, "x", None, 2.5])}),
    "pandas: categories of times": lambda: pd.DataFrame({"a": pd.Categorical([datetime(2000, 1, 1)] * 4)}),
    "pandas: integers beyond 64 bits": lambda: pd.DataFrame({"a": pd.Series([2**70, 1, None, -(2**70)], dtype=object)}),
    "pandas: no columns": lambda: pd.DataFrame(index=[1, 2]),
    "pandas: a series": lambda: pd.Series([1, 2, 3]),
    "pandas: half floats": lambda: pd.DataFrame({"a": np.array([1, 2, 0, np.nan], np.float16)}),
    "pandas: long floats": lambda: pd.DataFrame({"a": np.array([1, 2, 0, np.nan], np.longdouble)}),
    "pandas: a record": lambda: pd.DataFrame({"a": [pd.Timestamp.max, pd.NaT, pd.Timestamp.min]}),
    "pandas: Arrow's types": lambda: pd.DataFrame({"a": pd.array([[1], None], pd.ArrowDtype(pa.list_(pa.int8())))}),
    "a stream that fails": lambda: Stream(ValueError("Zanzibar")),
    "a stream that panics": lambda: Stream(Panic("Zanzibar")),
    "a stream of nothing": lambda: Stream(None),
}  # fmt: skip


class Panic(BaseException):
    """What pyo3 makes of a panic is no Exception either."""


Panic.__module__, Panic.__name__ = "pyo3_runtime", "PanicException"


class Stream:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self.error is not None:
            raise self.error
        return None


def _seeds() -> list[bytes]:
    """Tables of many types as Arrow writes them."""
    columns = [
        pa.array([1, None, 3, 0], pa.int8()),
        pa.array(["cook", None, "0", "1"]),
        pa.array(["cook", None, "0", "1"]).dictionary_encode(),
        pa.array(["cook", None, "0", "a longer text than twelve"], pa.string_view()),
        pa.array([1.5, None, 0, -1]),
        pa.array([True, None, False, True]),
        pa.array([date(2000, 1, 1), None, date(1999, 1, 1), date(2001, 1, 1)]),
        pa.array([0, None, 1, 2], pa.timestamp("us", "Europe/Zurich")),
        pa.array(DECIMALS, pa.decimal128(10, 2)),
        pa.nulls(4),
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array([1, 2], pa.int8())),
    ]
    seeds = []
    for column in columns:
        sink = pa.BufferOutputStream()
        table = pa.table({"a": column, "b": pa.nulls(4)} if column.type == pa.int8() else {"a": column})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        seeds.append(sink.getvalue().to_pybytes())
    return seeds


def cases(first: int, last: int) -> Iterator[tuple[int, str, Callable[[], Any]]]:
    """The frames above, then streams of Arrow with some bytes changed: the same ones in every run."""
    made, seeds = list(MADE.items()), _seeds()
    for number in range(first, last):
        if number < len(made):
            yield number, *made[number]
        else:
            content = changed(seeds, random.Random(number))
            yield number, content.hex(), lambda content=content: pa.ipc.open_stream(content).read_all()  # type: ignore[misc]


def changed(seeds: list[bytes], rng: random.Random) -> bytes:
    """Mostly numbers (lengths, offsets, places of buffers), since a stream whose form is wrong is not read at all."""
    data = bytearray(rng.choice(seeds))
    if rng.random() < 0.2:
        return mutated(bytes(data), seeds, rng)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(data) // 4) * 4
        data[place : place + 4] = rng.choice((0, 1, 3, 5, 255, 2**16, 2**24, 2**30, 2**31 - 1, 2**32 - 1)).to_bytes(
            4, "little"
        )
    return bytes(data)  # fmt: skip


def run(first: int, last: int) -> int:
    """How many frames were made; what went wrong with them is raised."""
    findings, count = Findings(), 0
    for number, name, make in cases(first, last):
        print(number, name[:60], flush=True)  # what a process that dies was at
        try:
            frame = make()
        except BaseException:
            continue
        count += 1
        for kind in KINDS:
            plan = Plan.parse(f'[release]\nmethod = "{METHODS[number % 4]}"\nepsilon = 1\nk = 2\n[columns.a]\n{kind}\n')
            with findings.case(f"{name}, {kind}", number):
                refused(lambda frame=frame, plan=plan: rv.release(frame, plan, source=SeededSource(1)))  # type: ignore[misc]
        with findings.case(f"{name}, drafted", number):
            refused(lambda frame=frame: draft(open_table(frame)))  # type: ignore[misc]
    findings.none()
    return count


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.dump_traceback_later(600, exit=True)
    print("made", run(int(sys.argv[1]), int(sys.argv[2])))
