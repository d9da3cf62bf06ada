"""One table, one identity: whatever holds it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.engines import LocalEngine, open_table
from rankveil.engines.content import Content, TextReading, _words
from rankveil.engines.spelling import Marks
from rankveil.ledger import identities, population_identity

KEY = b"k" * 32
DAYS = [datetime.date(2031, 1, 31), None, datetime.date(1999, 12, 1)]
TABLE = pa.table(
    {
        "age": pa.array([7, 30, None] * 4),
        "income": pa.array([0.1, 2500.75, 7.0] * 4),
        "name": pa.array(["Zoë", "O'Hara, A.", None] * 4),
        "town": pa.array(["x", "y", "x"] * 4),
        "born": pa.array(DAYS * 4),
        "member": pa.array([True, False, None] * 4),
    }
)


def known(source: object, **options: Any) -> str:
    """The identity without a plan."""
    dialect = {name: options.pop(name) for name in ("separator", "encoding") if name in options}
    return identities(open_table(source, **dialect), KEY, **options)[0].digest


def csv(folder: Path, separator: str = ",", encoding: str = "utf-8", name: str = "t.csv") -> Path:
    path = folder / name
    pacsv.write_csv(TABLE, path, pacsv.WriteOptions(delimiter=separator))
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    return path


def parquet(folder: Path, table: pa.Table = TABLE, **options: Any) -> Path:
    papq.write_table(table, folder / "t.parquet", **options)
    return folder / "t.parquet"


def parts(folder: Path) -> Path:
    (folder / "parts").mkdir()
    for start in (0, 5, 9):
        papq.write_table(TABLE.slice(start, {0: 5, 5: 4, 9: 3}[start]), folder / "parts" / f"{9 - start}.parquet")
    return folder / "parts"


def other_bytes_under_nulls(folder: Path) -> pa.Table:
    values = np.array([7, 30, 99] * 4, np.int64)
    hidden = pa.Array.from_buffers(pa.int64(), 12, [TABLE["age"].chunk(0).buffers()[0], pa.py_buffer(values)])
    assert hidden.equals(TABLE["age"].combine_chunks())
    return TABLE.set_column(0, "age", hidden)


def as_texts(folder: Path) -> pa.Table:
    columns = {name: TABLE[name].cast(pa.string()) for name in ("age", "income", "name", "town", "born", "member")}
    return pa.table(columns)


def spelled_otherwise(folder: Path) -> Path:
    path = folder / "spelled.csv"
    lines = [
        "town;member;born;name;income;AGE",
        "x;TRUE;2031-01-31;Zoë;.1;+7.0",
        'y;False;NA;"O\'Hara, A.";+2.50075e3; 30 ',
        "x;?;1999-12-01 00:00:00;;7;NaN",
    ]
    path.write_text("\n".join([lines[0], *lines[1:] * 4]) + "\n", encoding="cp1252")
    return path


COPIES: dict[str, Callable[[Path], object]] = {
    "pandas": lambda folder: TABLE.to_pandas(),
    "pandas with its own types": lambda folder: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda folder: pl.from_arrow(TABLE),
    "csv": csv,
    "csv in another encoding": lambda folder: csv(folder, encoding="utf-16"),
    "csv with another separator": lambda folder: csv(folder, separator=";"),
    "a renamed file": lambda folder: csv(folder, name="another name.txt"),
    "compressed": lambda folder: TABLE.to_pandas().to_csv(folder / "t.csv.gz", index=False) or folder / "t.csv.gz",
    "spelled otherwise": spelled_otherwise,
    "parquet": parquet,
    "parquet in small groups": lambda folder: parquet(folder, row_group_size=5),
    "a folder of parts": parts,
    "other chunks": lambda folder: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "other bytes under nulls": other_bytes_under_nulls,
    "whole numbers as floats": lambda folder: TABLE.set_column(0, "age", TABLE["age"].cast(pa.float64())),
    "decimals": lambda folder: TABLE.set_column(0, "age", TABLE["age"].cast(pa.decimal128(21, 2))),
    "texts": as_texts,
    "views of texts": lambda folder: TABLE.set_column(2, "name", TABLE["name"].cast(pa.string_view())),
    "dictionaries": lambda folder: TABLE.set_column(3, "town", TABLE["town"].dictionary_encode()),
    "points in time": lambda folder: TABLE.set_column(4, "born", TABLE["born"].cast(pa.timestamp("ns"))),
    "another order of rows": lambda folder: TABLE.sort_by("income"),
    "other names and order of columns": lambda folder: TABLE.select(TABLE.column_names[::-1]).rename_columns(
        list("abcdef")
    ),
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_a_table_has_its_identity(tmp_path: Path, copy: str) -> None:
    assert known(COPIES[copy](tmp_path)) == known(TABLE)


def changed(name: str, values: list[object]) -> pa.Table:
    return TABLE.set_column(TABLE.column_names.index(name), name, pa.array(values * 4))


@pytest.mark.parametrize(
    "other",
    [
        changed("age", [7, 31, None]),
        changed("age", [7, 30, 0]),
        changed("name", ["Zoé", "O'Hara, A.", None]),
        changed("town", ["x", "x", "y"]),
        changed("born", [DAYS[0], None, datetime.date(1999, 12, 2)]),
        changed("member", [True, True, None]),
        changed("income", [0.1, 2500.75, 7.000001]),
        TABLE.slice(1),
        pa.concat_tables([TABLE, TABLE]),
        TABLE.drop_columns(["town"]),
        TABLE.append_column("more", pa.array([1] * 12)),
    ],
    ids=range(11),
)
def test_another_table_has_another_identity(other: pa.Table) -> None:
    assert known(other) != known(TABLE)


def test_an_identity_depends_on_the_key_and_a_population_on_its_name_alone() -> None:
    assert identities(open_table(TABLE), b"o" * 32)[0].digest != known(TABLE)
    first, second = identities(open_table(TABLE), KEY, population="patients")
    assert first.digest == known(TABLE)
    assert second == population_identity("patients", KEY)


def test_two_plans_that_read_one_file_differently_share_its_plain_identity(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text("einkommen;geboren\n" + "9,5;31.01.2031\n-9;01.12.1999\n" * 5)
    german = TextReading(Marks(","), ("-9",), (("geboren", "%d.%m.%Y"),))
    plain, read = identities(open_table(path), KEY, reading=german)
    assert [plain] == identities(open_table(path), KEY)
    converted = pa.table(
        {"income": [9.5, None] * 5, "born": [datetime.date(2031, 1, 31), datetime.date(1999, 12, 1)] * 5}
    )
    assert read.digest == known(converted)


def test_a_reading_that_changes_nothing_adds_no_identity() -> None:
    assert len(identities(open_table(TABLE), KEY, reading=TextReading(null_values=("-9",)))) == 1


cells = st.one_of(
    st.none(),
    st.integers(-(2**60), 2**60).map(str),
    st.floats(allow_nan=True).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.sampled_from(["", " x ", "NA", "true", "TRUE", "0x10", "+5", "5.", ".5", "1e3", "2031-02-30", "2031-13-01"]),
    st.text(max_size=6),
)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=30), st.data())
def test_the_sums_do_not_depend_on_pieces_threads_order_or_dictionaries(
    rows: list[tuple[str | None, str | None]], data: st.DataObject
) -> None:
    table = pa.table({"a": pa.array([row[0] for row in rows], pa.string()), "b": [row[1] for row in rows]})
    whole = known(table)
    order = data.draw(st.permutations(range(len(rows))))
    shuffled = table.take(order)
    cut = data.draw(st.integers(0, len(rows)))
    assert known(pa.concat_tables([shuffled.slice(0, cut), shuffled.slice(cut)])) == whole
    listed = shuffled.set_column(0, "a", shuffled["a"].dictionary_encode())
    work = Content(("a", "b"))
    states = [work.step(work.zero(), batch) for batch in listed.to_batches(max_chunksize=3)]
    merged = work.zero()
    for state in states:
        merged = work.merge(merged, state)
    one = LocalEngine(threads=1).fold(open_table(table), work)
    assert work.digests(merged) == work.digests(one)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4))
def test_a_number_is_one_number_however_it_is_written(number: Decimal) -> None:
    wanted = known(pa.table({"a": [float(number)]}))
    for text in (str(number), f" {number} ", f"{number:+f}", f"{float(number)!r}", f"{number}0", f"{number:e}"):
        assert known(pa.table({"a": [text]})) == wanted


NASTY = [
    *("inf", "-inf", "+inf", "Infinity", "INF", "nan", "NAN", "-nan", "nan(x)", "infinit", "1e400", "-1e400", "1e-400"),
    *("0e999999", "1e999999", "5.", ".5", "+5", "-0", "0x10", "1_000", "9" * 400, "1e", "e1", ".", "+", "1 2", "\x00"),
    *("", " ", "NA", "?", "None", "true", "TRUE", "t", "Yes", "n", "0", "1", "1.0", "٣", "0.1", "0.10000000149011612"),
    *("2031-01-31", "2031-02-30", "2031-01-31 12:00", "2031-01-31T12:00:00Z", "12:00:00", "12:00:00.50", "12:00:00.0"),
    *("31.01.2031", "20310131", "1.234,5", "1,5", "-9"),
]
READINGS = [
    None,
    TextReading(Marks(",", "."), ("-9",)),
    TextReading(date_formats=(("a", "%Y-%m-%d"),)),
    TextReading(date_formats=(("a", "%d.%m.%Y"),)),
    TextReading(date_formats=(("a", "%Y%m%d"),)),
    TextReading(truths=("a",)),
]


@given(st.sampled_from(READINGS), st.lists(st.sampled_from(NASTY) | cells, max_size=12), st.sampled_from([0, 150]))
def test_the_word_of_a_text_depends_on_this_text_alone(
    reading: TextReading | None, texts: list[str | None], numbers: int
) -> None:
    """Also where so many numbers stand before it that all others are expected to be numbers."""
    of_column = None if reading is None else reading.of("a")
    texts = ["7"] * numbers + texts
    together = _words(pa.array(texts, pa.string()), of_column)
    each = {text: _words(pa.array([text], pa.string()), of_column)[0] for text in texts}
    assert together.tolist() == [each[text] for text in texts]


def test_infinite_texts_are_infinite_numbers() -> None:
    wanted = known(pa.table({"a": [float("inf"), float("-inf"), 1.0]}))
    assert known(pa.table({"a": ["Infinity", "-inf", "1"]})) == known(pa.table({"a": ["1", "-INF", "+inf"]})) == wanted


def read_by(plan: TextReading, source: object) -> set[str]:
    return {identity.digest for identity in identities(open_table(source), KEY, reading=plan)}


@pytest.mark.parametrize(
    "values", [[1, 0, None], ["yes", "NO", "NA"], ["t", "F", ""], ["Y", "n", None], [1.0, 0.0, None]]
)
def test_truth_values_are_one_table_however_they_are_spelled_if_the_plan_says_so(values: list[object]) -> None:
    plan = TextReading(truths=("a",))
    table = pa.table({"a": [True, False, None], "b": [1, 0, 2]})
    assert known(table) in read_by(plan, pa.table({"a": values, "b": [1, 0, 2]}))
    assert known(table) in read_by(plan, pa.table({"a": pa.array(values).dictionary_encode(), "b": [1, 0, 2]}))
    assert known(table) not in read_by(plan, pa.table({"a": values[::-1], "b": [1, 0, 2]}))
    assert known(table) not in read_by(TextReading(), pa.table({"a": values, "b": [1, 0, 2]}))


@pytest.mark.parametrize(
    "late",
    [
        pa.array([datetime.datetime(2031, 1, 31, 12, 30), datetime.datetime(1931, 1, 31, 1), None]),
        pa.array(["2031-01-31 12:30", "1931-01-31T01:00:00", None]),
        pa.array(["2031-01-31", "1931-01-31", "NA"]),
    ],
)
def test_the_time_of_day_does_not_count_where_the_plan_reads_days(late: pa.Array) -> None:
    days = pa.table({"a": pa.array([datetime.date(2031, 1, 31), datetime.date(1931, 1, 31), None])})
    plan = TextReading(date_formats=(("a", "%Y-%m-%d"),))
    assert known(days) in read_by(plan, pa.table({"a": late}))


def test_days_that_are_spelled_like_numbers_are_days_if_the_plan_says_so() -> None:
    days = pa.table({"a": [datetime.date(2031, 1, 31)]})
    assert known(days) in read_by(TextReading(date_formats=(("a", "%Y%m%d"),)), pa.table({"a": ["20310131"]}))


def test_columns_that_the_plan_drops_may_come_and_go() -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    more = table.append_column("c", pa.array([1, 1, 1])).append_column("d", pa.array([4, 5, 6]))
    plan = TextReading(dropped=("c", "d"))
    assert known(table) in read_by(plan, more)
    assert read_by(plan, table) == {known(table)}
    assert known(more) in read_by(plan, more)
    assert known(table) not in read_by(TextReading(dropped=("c",)), more)
    assert known(table) not in read_by(plan, pa.table({"a": [1, 2, 3], "c": [1, 1, 1]}))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=50))
def test_numbers_of_single_precision_are_those_of_the_text_file_that_is_written_of_them(numbers: list[float]) -> None:
    single = pa.table({"a": pa.array(numbers, pa.float32())})
    texts = [str(np.float32(number)) for number in numbers]
    assert known(pa.table({"a": texts})) == known(single)


@pytest.mark.parametrize("values", [[1, 1, 2, None, None], ["x", "x", "1", None, ""], [True, True, False, None, None]])
def test_runs_are_the_values_they_stand_for(values: list[object]) -> None:
    plain = pa.array(values)
    runs = pc.run_end_encode(plain)
    assert known(pa.table({"a": runs})) == known(pa.table({"a": plain}))
    assert known(pa.table({"a": runs.slice(1, 3)})) == known(pa.table({"a": plain.slice(1, 3)}))


def test_a_time_of_day_is_one_however_it_is_stored() -> None:
    times = [datetime.time(12, 0), datetime.time(1, 2, 3, 500), None]
    wanted = known(pa.table({"a": pa.array(times, pa.time64("us"))}))
    assert known(pa.table({"a": pa.array(times, pa.time64("ns"))})) == wanted
    assert known(pd.DataFrame({"a": times})) == wanted
    assert known(pa.table({"a": ["12:00:00", "01:02:03.000500", ""]})) == wanted
    assert known(pa.table({"a": ["12:00:00.0", "01:02:03.0005", ""]})) == wanted


def test_columns_that_no_plan_could_read_count_as_well() -> None:
    first, second = pa.table({"a": [[1, 2], [3]]}), pa.table({"a": [[1, 2], [4]]})
    assert known(first) == known(pa.table({"a": [[3], [1, 2]]})) != known(second)
    assert known(pa.table({"a": [b"\xff"]})) != known(pa.table({"a": [b"\xfe"]}))
