"""What one record must not decide: types, layout, codes of others, order. Each test failed on the first version."""

from __future__ import annotations

import datetime
import io
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest

from rankveil import Plan, evaluate, release
from rankveil.declare import declare, encode
from rankveil.declare.draft import draft
from rankveil.declare.reading import texts_of
from rankveil.engines import open_table
from rankveil.errors import BudgetError, DomainError, GuaranteeError, OutputError, PlanError, TableError
from rankveil.ledger import Ledger
from rankveil.measure import disorder
from rankveil.noise import Sampler, SeededSource
from tests.support import category, integer, plan_text

NUMBER = 'kind = "number"\nlower = 0\nupper = 100\nstep = 0.5\nclamp = true'
WHOLE = 'kind = "integer"\nlower = 0\nupper = 100\nclamp = true'
DAYS = 'kind = "date"\nlower = 2000-01-01\nupper = 2030-01-01'
DECIMALS = category(["1.5", "2", "2.25"])
DAY = datetime.datetime(2020, 2, 29)
STAMPED = pd.Timestamp("2020-02-29 00:00:00.000000001")

# kind, the other records, and two neighbours: the last record is the one or the other.
PAIRS: dict[str, tuple[str, list[Any], Any, Any]] = {
    "a fraction among whole numbers": (NUMBER, [1, 2, 3], 70, 70.5),
    "a number beyond int64": (WHOLE, [1, 2, 3], 4, 2**63 + 1),
    "infinity": (WHOLE, [1, 2, 3], 4, float("inf")),
    "a number beyond all types": (WHOLE, [1, 2, 3], 4, 10**20),
    "a stamp of nanoseconds": (DAYS, [DAY, DAY, DAY], DAY, STAMPED),
    "labels of other lengths": (DECIMALS, [Decimal("1.5"), Decimal(2)], Decimal(2), Decimal("2.25")),
    "labels that are floats": (DECIMALS, [2, 2, 2], 2, 2.25),
}


@pytest.mark.parametrize(
    ("name", "library"),
    # polars has no type for 10^20 among whole numbers.
    [
        (name, library)
        for name in PAIRS
        for library in ("pandas", "polars", "parquet")
        if (name, library) != ("a number beyond all types", "polars")
    ],
)
def test_one_record_does_not_decide_the_type_of_a_released_column(name: str, library: str, tmp_path: Path) -> None:
    entry, others, *neighbours = PAIRS[name]
    types = []
    for place, last in enumerate(neighbours):
        frame: Any = pd.DataFrame({"a": [*others, last]})
        if library == "polars":
            frame = pl.from_pandas(frame)
        made = release(frame, Plan.parse(plan_text({"a": entry})), source=SeededSource(1)).table
        if library == "parquet":
            release(frame, Plan.parse(plan_text({"a": entry})), out=tmp_path / str(place), source=SeededSource(1))
            types.append(str(papq.read_schema(tmp_path / str(place) / "release.parquet")))
        else:
            types.append(str(made.dtypes["a"] if library == "pandas" else made["a"].dtype))
    assert types[0] == types[1]


def test_a_text_among_dates_is_refused_and_does_not_change_how_the_dates_are_read() -> None:
    """Dates beside a text would be read by a format in which day and month are exchanged."""
    entry = DAYS + '\nformat = "%Y-%d-%m"'
    plan = Plan.parse(plan_text({"a": entry}))
    alone = open_table(pd.DataFrame({"a": pd.Series([datetime.date(2020, 3, 4)] * 2, dtype=object)}))
    assert encode(alone, declare(plan, alone)).codes["a"].tolist() == [7368, 7368]
    with pytest.raises(DomainError, match="are not dates"):
        release(pd.DataFrame({"a": pd.Series([datetime.date(2020, 3, 4), "2020-05-06"], dtype=object)}), plan)


def test_categories_of_python_objects_are_read_each_by_itself() -> None:
    """Arrow would choose one time zone for the list of all of them, and one stamp would move the days of others."""
    west, east = ZoneInfo("America/Los_Angeles"), ZoneInfo("Pacific/Auckland")
    rest = [datetime.datetime(2020, 1, day, 20, tzinfo=west) for day in range(2, 12)]
    plan = Plan.parse(plan_text({"a": DAYS}))
    codes = []
    for zone in (west, east):
        last = datetime.datetime(2020, 1, 1, 20, tzinfo=zone)
        table = open_table(pd.DataFrame({"a": pd.Series([*rest, last], dtype=object).astype("category")}))
        codes.append(encode(table, declare(plan, table)).codes["a"][:-1].tolist())
    assert codes[0] == codes[1]


def test_categories_that_arrow_dies_of_are_refused() -> None:
    mixed = pd.Series([np.datetime64("2020-01-01T12", "h"), np.True_], dtype=object).astype("category")
    with pytest.raises(TableError):
        release(pd.DataFrame({"a": mixed}), Plan.parse(plan_text({"a": DAYS})), source=SeededSource(1))


@pytest.mark.parametrize("value", [1.0, -0.0, 0.00001, 1e20, 2.5, True, Decimal("1.50")])
def test_the_label_of_a_value_is_the_same_beside_values_of_other_types(value: object) -> None:
    alone = open_table(pd.DataFrame({"a": [value, value]}))
    beside = open_table(pd.DataFrame({"a": pd.Series([value, "text"], dtype=object)}))
    arrays = [pa.concat_arrays(table._memory.column("a").chunks) for table in (alone, beside)]
    assert texts_of(arrays[0])[0].as_py() == texts_of(arrays[1])[0].as_py()


def test_a_number_column_of_whole_numbers_is_not_cut_to_whole_numbers() -> None:
    frame = pd.DataFrame({"a": np.arange(2000) % 50})
    made = release(frame, Plan.parse(plan_text({"a": NUMBER})), source=SeededSource(1)).table
    assert made.dtypes["a"] == "float64"
    assert (made["a"] % 1 == 0.5).any()


@pytest.mark.parametrize("method", ["laplace", "aligned"])
@pytest.mark.parametrize("as_file", [True, False])
def test_the_cuts_of_the_table_do_not_show_in_the_release(method: str, as_file: bool, tmp_path: Path) -> None:
    """A CSV reader cuts by bytes: the length of one label moves the rows of the next chunk."""
    plan = Plan.parse(plan_text({"a": category(["x", "a rather long label"])}, method=method))
    layouts, cuts = [], set()
    for place, first in enumerate(("x", "a rather long label")):
        text = "a\n" + first + "\n" + "x\n" * 4000
        table = pacsv.read_csv(io.BytesIO(text.encode()), pacsv.ReadOptions(block_size=1024))
        cuts.add(len(table.column(0).chunk(0)))
        out = tmp_path / str(place) if as_file else None
        made = release(table, plan, out=out, source=SeededSource(1))
        if out is None:
            layouts.append([len(chunk) for chunk in made.table.column(0).chunks])
        else:
            metadata = papq.ParquetFile(out / "release.parquet").metadata
            layouts.append([metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)])
    assert len(cuts) == 2, "the table itself is cut in two ways"
    assert layouts[0] == layouts[1]


PRIVATE = 'kind = "integer"\nbounds = "private"\nstep = {}\nnull = true'
ODD_ONES: tuple[object, ...] = (7, 10**20, "7.0", None, 2**53 + 1, 2**60 + 3)


@pytest.mark.parametrize("step", [1, 100, 32768, 100_000, 2**40])
@pytest.mark.parametrize("odd", ODD_ONES, ids=str)
@pytest.mark.parametrize("way", ["pandas", "texts"])
def test_one_record_does_not_change_the_codes_of_the_others(step: int, odd: object, way: str) -> None:
    rng = np.random.default_rng(3)
    halves = [place * step + step // 2 + off for place in range(-20, 20) for off in (-1, 0, 1)]  # where rounding turns
    values = [*(int(value) for value in rng.integers(-(2**58), 2**58, 200)), *halves]
    codes = []
    for last in (7, odd):
        column = [*values, last]
        frame = pd.DataFrame({"a": pd.Series(column)}) if way == "pandas" else None
        table = open_table(pa.table({"a": ["" if v is None else str(v) for v in column]}) if frame is None else frame)
        schema = declare(Plan.parse(plan_text({"a": PRIVATE.format(step)}, table='null_values = [""]')), table)
        codes.append(encode(table, schema).codes["a"][:-1])
    assert np.array_equal(*codes)


@pytest.mark.parametrize("upper", [2**53 - 1, 2**40])
def test_the_same_whole_numbers_have_the_same_codes_as_integers_floats_and_texts(upper: int) -> None:
    lower = upper - 2**30
    values = [lower, lower + 1, upper - 1, upper, (lower + upper) // 2]
    plan = Plan.parse(plan_text({"a": f'kind = "integer"\nlower = {lower}\nupper = {upper}'}))
    found = []
    for column in (values, [float(value) for value in values], [str(value) for value in values]):
        table = open_table(pa.table({"a": column}))
        found.append(encode(table, declare(plan, table)).codes["a"].tolist())
    assert found[0] == found[1] == found[2] == [value - lower for value in values]


def test_a_range_of_whole_numbers_that_floating_point_does_not_hold_is_refused() -> None:
    with pytest.raises(PlanError):
        Plan.parse(plan_text({"a": f'kind = "integer"\nlower = 0\nupper = {2**53}'}))
    with pytest.raises(PlanError, match="step is too large"):
        Plan.parse(plan_text({"a": PRIVATE.format(2**52)}))


# Order

PUBLIC = {"group": category(["a", "b", "c"], more='role = "public"'), "pay": integer(99)}


def sorted_people(rows: int) -> pa.Table:
    """Sorted by what is protected: the order of the public column tells ranks."""
    pay = np.sort(np.random.default_rng(1).integers(0, 100, rows))
    return pa.table({"group": np.array(["a", "b", "c"])[pay * 3 // 100], "pay": pay})


def test_the_order_of_a_sorted_table_does_not_show_in_a_release_with_public_columns() -> None:
    """The correlation of places and groups has the deviation 1/√n: beyond 5 of them in 6 of 10 million runs."""
    made = release(sorted_people(20_000), Plan.parse(plan_text(PUBLIC, method="synthetic")), source=SeededSource(5))
    group = np.array([ord(label) for label in made.table["group"].to_pylist()])
    assert abs(np.corrcoef(np.arange(len(group)), group)[0, 1]) < 5 / np.sqrt(len(group))
    assert made.certificate.row_aligned is False
    assert Counter(made.table["group"].to_pylist()) == Counter(sorted_people(20_000)["group"].to_pylist())


@pytest.mark.parametrize("method", ["laplace", "aligned"])
def test_a_release_that_keeps_the_order_of_the_table_says_so(method: str) -> None:
    made = release(sorted_people(50), Plan.parse(plan_text(PUBLIC, method=method)), source=SeededSource(5))
    assert made.certificate.row_aligned is True
    assert any("order of the rows is released" in remark for remark in made.certificate.remarks)


@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_rows_come_once_each_in_blocks_and_every_place_is_as_likely(
    buckets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four rows in 24 orders, 4,800 times: chi-squared with 23 degrees exceeds 70 once in a million."""
    monkeypatch.setattr(disorder, "_BUCKET_ROWS", -(-4 // buckets) if buckets < 7 else 1)
    sampler = Sampler(SeededSource(11))
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(4800):
        batches = iter([{"a": np.array([0, 1, 2])}, {"a": np.array([3])}])
        blocks = list(disorder.out_of_order(batches, 4, 3, sampler))
        assert [len(block["a"]) for block in blocks] == [3, 1]
        seen[tuple(np.concatenate([block["a"] for block in blocks]).tolist())] += 1
    assert len(seen) == 24
    assert sum((count - 200) ** 2 / 200 for count in seen.values()) < 70


def test_rows_beyond_memory_go_through_a_file_and_keep_their_columns_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disorder, "_BUCKET_ROWS", 64)
    numbers = np.arange(5000)
    batches = ({"a": part, "b": part * 7 - 1} for part in np.array_split(numbers, 13))
    blocks = list(disorder.out_of_order(batches, 5000, 512, Sampler(SeededSource(2))))
    a, b = (np.concatenate([block[name] for block in blocks]) for name in "ab")
    assert np.array_equal(np.sort(a), numbers)
    assert np.array_equal(b, a * 7 - 1)
    assert [len(block["a"]) for block in blocks] == [512] * 9 + [392]


# Numbers that may be read in two ways

INCOME = {"income": 'kind = "number"\nlower = 0\nupper = 20000\nstep = 0.001', "name": 'kind = "drop"'}


def german(tmp_path: Path, values: list[str], separator: str = ";") -> Path:
    quoted = [f'"{value}"' if separator in value else value for value in values]
    text = f"name{separator}income\n" + "".join(f"x{separator}{value}\n" for value in quoted)
    (tmp_path / "t.csv").write_text(text)
    return tmp_path / "t.csv"


def codes_of(path: Path, table: str = "") -> list[int]:
    plan = Plan.parse(plan_text(INCOME, table=table))
    opened = open_table(path)
    return encode(opened, declare(plan, opened)).codes["income"].tolist()


@pytest.mark.parametrize("table", ["", 'decimal = ","'])
def test_thousands_are_not_read_as_decimals_but_refused_with_line_and_column(table: str, tmp_path: Path) -> None:
    with pytest.raises(DomainError) as refused:
        codes_of(german(tmp_path, ["12", "15,5" if table else "15.5", "9.734"]), table)
    assert "column 'income': 1 of 3" in refused.value.problem
    assert "The first is in line 4." in refused.value.problem
    assert "thousands" in refused.value.remedy
    assert "9.734" not in str(refused.value) and "734" not in str(refused.value)


def test_thousands_are_read_where_the_plan_names_their_mark(tmp_path: Path) -> None:
    table = 'decimal = ","\nthousands = "."'
    assert codes_of(german(tmp_path, ["9.734", "1.234,5", "12.000,25", "7", "0,5"]), table) == [
        9_734_000,
        1_234_500,
        12_000_250,
        7_000,
        500,
    ]
    table = 'thousands = "\'"'
    assert codes_of(german(tmp_path, ["9'734", "1’234.5", "7"]), table) == [9_734_000, 1_234_500, 7_000]
    assert codes_of(german(tmp_path, ["9 734", "1\u00a0234", "7"]), 'thousands = " "') == [9_734_000, 1_234_000, 7_000]
    assert codes_of(german(tmp_path, ["9,734", "1,234.5"], ","), 'thousands = ","') == [9_734_000, 1_234_500]


@pytest.mark.parametrize("value", ["97.34", "1.2345", "0.734", "1.234.56", ".734", "1.234,5.6", "12.34,5"])
def test_groups_that_are_no_thousands_are_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="1 of 2 values are not numbers"):
        codes_of(german(tmp_path, ["1", value]), 'decimal = ","\nthousands = "."')


def test_three_decimals_are_read_where_they_can_mean_nothing_else(tmp_path: Path) -> None:
    values = ["9.734", "0.734", "1234.567"]
    expected = [9_734, 734, 1_234_567]
    assert codes_of(german(tmp_path, values, ",")) == expected  # commas separate fields: the point is the decimal mark
    assert codes_of(german(tmp_path, values), 'decimal = "."') == expected
    assert codes_of(german(tmp_path, values[1:])) == expected[1:]  # no number has groups like these


def test_a_single_column_has_no_separator_that_tells_what_its_points_mean(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("income\n9.5\n9.734\n")
    for table, read in (("", None), ('decimal = "."', 9_734), ('decimal = ","\nthousands = "."', None)):
        opened = open_table(tmp_path / "t.csv")
        schema = declare(Plan.parse(plan_text({"income": INCOME["income"]}, table=table)), opened)
        if read is None:
            with pytest.raises(DomainError, match="column 'income': 1 of 2"):
                encode(opened, schema)
        else:
            assert encode(opened, schema).codes["income"].tolist()[1] == read


def test_the_line_of_a_misfit_counts_lines_inside_quotes_and_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('name;income\n"two\nlines";1\n\nx;2\nx;nonsense\n')
    with pytest.raises(DomainError, match=r"The first is in line 6\."):
        codes_of(tmp_path / "t.csv")


def test_a_release_with_a_decimal_comma_is_written_as_its_table_and_can_be_read_again(tmp_path: Path) -> None:
    columns = {"income": INCOME["income"], "name": category(["x", "y"])}
    plan = Plan.parse(plan_text(columns, epsilon=50, table='decimal = ","'))
    source = german(tmp_path, [f"{1 + i % 7},{i % 10}" for i in range(200)])
    release(source, plan, out=tmp_path / "out", source=SeededSource(1))
    written = (tmp_path / "out" / "release.csv").read_text()
    assert "," in written and "." not in written
    assert evaluate(source, tmp_path / "out", plan).rows == 200


@pytest.mark.parametrize("table", ['thousands = "."', 'decimal = ","\nthousands = ","', 'thousands = "x"'])
def test_marks_that_cannot_be_told_apart_are_refused(table: str) -> None:
    with pytest.raises(PlanError):
        Plan.parse(plan_text(INCOME, table=table))


# Encodings, and tables in the way


def test_one_byte_does_not_decide_how_labels_of_others_are_read(tmp_path: Path) -> None:
    """The file of the second table is not UTF-8: it would be read in another encoding as a whole."""
    plan = Plan.parse(plan_text({"a": category(["é", "Ã©", "x", "ÿ"])}))
    (tmp_path / "t.csv").write_bytes("a\né\né\nx\n".encode())
    release(tmp_path / "t.csv", plan, source=SeededSource(1))
    (tmp_path / "t.csv").write_bytes("a\né\né\n".encode() + b"\xff\n")
    with pytest.raises(TableError, match="does not say which encoding"):
        release(tmp_path / "t.csv", plan, source=SeededSource(1))
    assert 'encoding = "cp1252"\nunconfirmed = ["encoding"]' in draft(open_table(tmp_path / "t.csv"))


def test_a_release_does_not_replace_its_own_table(tmp_path: Path) -> None:
    (tmp_path / "release.csv").write_text("a\n1\n2\n")
    with pytest.raises(OutputError, match="would be replaced"):
        release(tmp_path / "release.csv", Plan.parse(plan_text()), out=tmp_path, overwrite=True)
    assert (tmp_path / "release.csv").read_text() == "a\n1\n2\n"


def test_a_ledger_that_fails_after_the_release_does_not_say_that_nothing_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise BudgetError("The ledger cannot be used.", remedy="Repair it.")

    monkeypatch.setattr(Ledger, "published", fails)
    frame = pa.table({"a": [1, 2, 3]})
    with pytest.raises(BudgetError) as caught:
        release(frame, Plan.parse(plan_text()), out=tmp_path / "out")
    assert (tmp_path / "out" / "release.parquet").exists()
    assert "Release and certificate are in" in caught.value.cost
    assert "budget is spent: entry 1" in caught.value.cost
    assert release(frame, Plan.parse(plan_text())).table.num_rows == 3  # paid for: handed over


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.9"), ("20", "1e-4"), ("30", "1e-9")])
def test_a_weak_guarantee_is_said_in_words_and_needs_consent(epsilon: str, delta: str, tmp_path: Path) -> None:
    plan = Plan.parse(plan_text(method="synthetic", epsilon=epsilon)).with_(delta=delta)
    with pytest.raises(GuaranteeError, match="is large"):
        release(pa.table({"a": [1, 2, 3]}), plan)
    made = release(pa.table({"a": [1, 2, 3]}), plan, accept_large_epsilon=True)
    assert "is large" in made.certificate.statement
    assert any("Accepted by" in remark for remark in made.certificate.remarks)
