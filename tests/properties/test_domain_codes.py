"""Values to codes and back: exact on the grid, elementwise, and the same whatever form a table comes in."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankveil.declare import Plan, declare_alone
from rankveil.declare.domain import MISSING, Codes, Domain, Encoded, Grid, Nominal
from rankveil.taxonomy import flat_taxonomy
from tests.support import DEFAULT_TOKENS, category, plan_text


def domain(entry: str, *, table: str = "") -> Domain:
    return declare_alone(Plan.parse(plan_text({"a": entry}, table=table))).columns[0].domain


def encoded(
    where: Domain, values: object, kind: pa.DataType | None = None, *, tokens: tuple[str, ...] = DEFAULT_TOKENS
) -> Encoded:
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    return where.encode(array, tokens)


def codes_of(where: Domain, values: object, kind: pa.DataType | None = None) -> list[int]:
    result = encoded(where, values, kind)
    assert (result.outside, result.unreadable) == (0, 0)
    return result.codes.tolist()


# decode(encode(x)) is x

bounds = st.integers(-(10**9), 10**9)


@given(st.data(), bounds, st.integers(1, 10**6), st.integers(1, 1000))
def test_integers_on_the_grid_come_back_as_they_were(data: st.DataObject, lower: int, width: int, step: int) -> None:
    grid = Grid(width, Decimal(lower), Decimal(step))
    values = [lower + step * code for code in data.draw(st.lists(st.integers(0, width), min_size=1))]
    assert grid.decode(np.array(codes_of(grid, values))).to_pylist() == values
    assert codes_of(grid, [str(value) for value in values]) == codes_of(grid, values)


@given(st.data(), st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(1, 99), st.integers(0, 8))
def test_numbers_on_the_grid_come_back_as_the_nearest_float(
    data: st.DataObject, lower: int, width: int, step: int, places: int
) -> None:
    unit = Decimal(1).scaleb(-places)
    grid = Grid(width, lower * unit, step * unit, whole=False)
    exact = [(lower + step * code) * unit for code in data.draw(st.lists(st.integers(0, width), min_size=1))]
    floats = [float(value) for value in exact]
    assert grid.decode(np.array(codes_of(grid, floats))).to_pylist() == floats
    assert grid.decode(np.array(codes_of(grid, [str(value) for value in exact]))).to_pylist() == floats


dates = st.dates(datetime.date(1600, 1, 1), datetime.date(2200, 12, 31))


@given(st.lists(dates, min_size=1), dates)
def test_dates_come_back_as_they_were(values: list[datetime.date], other: datetime.date) -> None:
    lower, upper = min(*values, other), max(*values, other) + datetime.timedelta(days=1)
    grid = domain(f'kind = "date"\nlower = {lower}\nupper = {upper}')
    assert grid.decode(np.array(codes_of(grid, values))).to_pylist() == values
    assert codes_of(grid, [value.isoformat() for value in values]) == codes_of(grid, values)


labels = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=6)
label_lists = st.lists(labels, min_size=2, max_size=8, unique=True)


@given(st.data(), label_lists)
def test_labels_come_back_as_they_were_whatever_their_spelling(data: st.DataObject, names: list[str]) -> None:
    values = data.draw(st.lists(st.sampled_from(names), min_size=1))
    for where in (Nominal(flat_taxonomy(names)), Grid(len(names) - 1, labels=tuple(names))):
        assert where.decode(np.array(codes_of(where, values))).to_pylist() == values


@given(st.lists(st.booleans(), min_size=1))
def test_truth_values_come_back_as_they_were(values: list[bool]) -> None:
    where = domain('kind = "boolean"')
    assert where.decode(np.array(codes_of(where, values))).to_pylist() == values


@pytest.mark.parametrize("texts", [["true", "false"], ["T", "f"], [" Yes", "NO "], ["1", "0"], ["y", "n"]])
def test_truth_values_may_be_spelt_in_the_usual_ways(texts: list[str]) -> None:
    assert codes_of(domain('kind = "boolean"'), texts) == [1, 0]


def test_truth_values_may_be_given_as_numbers() -> None:
    where = domain('kind = "boolean"')
    assert codes_of(where, [1, 0, None]) == [1, 0, MISSING]
    assert codes_of(where, [1.0, 0.0]) == [1, 0]
    assert encoded(where, ["maybe"]).outside == 1


# The code of a value depends on that value alone

numeric_texts = st.one_of(
    st.integers(-50, 150).map(str),
    st.integers(-50, 150).map(lambda n: f"{n}.0"),
    st.integers(0, 150).map(lambda n: f"+{n}"),
    st.integers(0, 15).map(lambda n: f"{n}e1"),
    st.sampled_from(["", "?", "NA", "nan", "inf", "-Infinity", "x", "0x1f", "1_0", "3.7", " 7 ", "1e400", "--1"]),
)


@given(st.lists(numeric_texts, min_size=1, max_size=6), st.integers(1, 7), st.booleans())
@example(["1", "3.0"], 2, True)
@example(["0x1f", "3.5"], 1, True)
def test_the_code_of_a_text_does_not_depend_on_the_other_texts_of_its_column(
    texts: list[str], step: int, whole: bool
) -> None:
    grid = Grid(100 // step, Decimal(0), Decimal(step), whole=whole)
    together = encoded(grid, texts)
    alone = [encoded(grid, [text]) for text in texts]
    assert together.codes.tolist() == [single.codes[0] for single in alone]
    assert together.outside == sum(single.outside for single in alone)
    assert together.unreadable == sum(single.unreadable for single in alone)


@given(st.lists(st.integers(0, 100), min_size=1), st.integers(1, 9))
def test_integers_get_the_same_code_as_floats_and_as_texts(values: list[int], step: int) -> None:
    grid = Grid(100 // step, Decimal(0), Decimal(step))
    expected = encoded(grid, values).codes.tolist()
    forms: list[pa.Array] = [
        pa.array(values, pa.float64()),
        pa.array(values, pa.float32()),
        pa.array(values, pa.uint8()),
        pa.array(values, pa.uint64()),
        pa.array([Decimal(value) for value in values], pa.decimal128(10, 3)),
        pa.array([str(value) for value in values]),
        pa.array([f"{value}.0" for value in values], pa.large_string()),
        pa.array([f" {value} " for value in values], pa.string_view()),
        pa.array(values).dictionary_encode(),
        pa.array([str(value) for value in values]).dictionary_encode(),
    ]
    for form in forms:
        assert encoded(grid, form).codes.tolist() == expected, form.type


@given(st.lists(st.sampled_from(["a", "b", None, "z", " a", "", "NA"]), min_size=1, max_size=8), st.integers(0, 7))
def test_slices_and_dictionaries_of_labels_get_the_codes_of_plain_texts(values: list[str | None], start: int) -> None:
    where = Nominal(flat_taxonomy(["a", "b", "NA"]))
    plain = pa.array(values, pa.string())
    for form in (plain, plain.dictionary_encode(), plain.cast(pa.large_string()), plain.cast(pa.string_view())):
        cut = encoded(where, form[start:])
        expected = encoded(where, plain.to_pylist()[start:], pa.string())
        assert cut.codes.tolist() == expected.codes.tolist()
        assert cut.outside == expected.outside


@pytest.mark.parametrize(
    "form",
    [
        pa.array([9, 1, None, 2]),
        pa.array(["9", "1", "", "2"]),
        pa.array([9.0, 1.0, math.nan, 2.0]),
        pa.array([9, 1, None, 2]).dictionary_encode(),
    ],
)
def test_a_slice_that_does_not_start_at_the_first_value_is_read_from_its_own_start(form: pa.Array) -> None:
    assert form[1:].offset == 1
    assert codes_of(Grid(9), form[1:]) == [1, MISSING, 2]


# Ranges


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.integers(-1000, 1000), st.integers(1, 5000))
def test_values_beyond_the_range_are_counted_and_moved_to_the_nearest_end(
    values: list[int], lower: int, width: int
) -> None:
    grid = Grid(width, Decimal(lower))
    found = encoded(grid, values)
    assert found.outside == sum(not lower <= value <= lower + width for value in values)
    assert found.codes.tolist() == [min(max(value, lower), lower + width) - lower for value in values]


@pytest.mark.parametrize("values", [[math.inf, -math.inf], ["inf", "-Infinity"], ["1e400", "-1e400"]])
@pytest.mark.parametrize("whole", [True, False])
def test_infinities_lie_outside_every_range(values: list[object], whole: bool) -> None:
    found = encoded(Grid(10, whole=whole), values)
    assert found.outside == 2
    assert found.codes.tolist() == [10, 0]


@pytest.mark.parametrize("value", [2**63, 2**64 - 1])
def test_unsigned_numbers_beyond_signed_ones_are_outside_and_not_negative(value: int) -> None:
    found = encoded(Grid(10), [value], pa.uint64())
    assert (found.outside, found.codes.tolist()) == (1, [10])


def test_the_upper_bound_itself_is_inside_though_the_last_step_falls_short_of_it() -> None:
    grid = domain('kind = "integer"\nlower = 0\nupper = 10\nstep = 3')
    assert codes_of(grid, [0, 8, 9, 10]) == [0, 3, 3, 3]
    assert encoded(grid, [11]).outside == 1
    money = domain('kind = "number"\nlower = 0\nupper = 12345678.9')
    assert codes_of(money, [12345678.9]) == [money.width]  # type: ignore[union-attr]


def test_fractions_are_refused_in_a_column_of_whole_numbers() -> None:
    found = encoded(Grid(10), [1.0, 2.5, None, math.nan])
    assert found.unreadable == 1
    assert encoded(Grid(10), ["1.0", "2.5", ""]).unreadable == 1


# Missing values


@pytest.mark.parametrize(
    "where",
    [
        Grid(9),
        Grid(9, whole=False),
        Grid(9, date_format="%Y-%m-%d"),
        Grid(1, labels=("x", "y")),
        Nominal(flat_taxonomy(["x"])),
    ],
)
@pytest.mark.parametrize("array", [pa.nulls(3), pa.array(["", "?", "NA"]), pa.array([None, " ? ", "null"])])
def test_nulls_and_null_texts_are_missing_in_every_column(where: Domain, array: pa.Array) -> None:
    assert codes_of(where, array) == [MISSING] * 3


@pytest.mark.parametrize("values", [[math.nan, None], ["nan", "NaN"]])
@pytest.mark.parametrize("whole", [True, False])
def test_not_a_number_is_missing(values: list[object], whole: bool) -> None:
    assert codes_of(Grid(9, whole=whole), values) == [MISSING, MISSING]


def test_a_label_wins_over_a_null_text_of_the_same_spelling() -> None:
    assert codes_of(Nominal(flat_taxonomy(["NA", "EU"])), ["NA", "EU", "?"]) == [0, 1, MISSING]
    assert codes_of(Grid(1, labels=("NA", "EU")), ["NA", "EU", "?"]) == [0, 1, MISSING]


def test_a_plan_without_null_texts_takes_only_real_nulls_as_missing() -> None:
    found = Nominal(flat_taxonomy(["x"])).encode(pa.array(["?", "", None]), ())
    assert found.outside == 2
    assert found.codes.tolist() == [MISSING] * 3


@pytest.mark.parametrize(
    "where",
    [
        Grid(9),
        Grid(9, date_format="%Y"),
        Nominal(flat_taxonomy(["x"])),
        Nominal(flat_taxonomy(["false", "true"]), boolean=True),
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.null(), pa.large_string(), pa.string_view()])
def test_an_empty_batch_has_no_codes(where: Domain, kind: pa.DataType) -> None:
    assert codes_of(where, pa.array([], kind)) == []
    assert len(where.decode(np.empty(0, np.int64))) == 0


@given(st.lists(st.integers(-1, 9), min_size=1))
def test_missing_codes_decode_to_null(codes: list[int]) -> None:
    array: Codes = np.array(codes, np.int64)
    expected = [code == MISSING for code in codes]
    names = [str(i) for i in range(10)]
    for where in (
        Grid(9),
        Grid(9, step=Decimal("0.5"), whole=False),
        Grid(9, date_format="%Y"),
        Nominal(flat_taxonomy(names)),
    ):
        assert [value is None for value in where.decode(array).to_pylist()] == expected


# Texts that look like numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [("+5", 5), (" 5 ", 5), ("5.", 5), ("1e1", 10), ("1E+1", 10), (".5e1", 5), ("007", 7), ("5.000", 5)],
)
def test_numbers_may_be_written_in_the_usual_ways(text: str, value: int) -> None:
    assert codes_of(Grid(10), [text]) == [value]


@pytest.mark.parametrize(
    "text", ["five", "1 000", "1,5", "0x10", "1_0", "5-", "--5", "1e", "e1", ".", "٣", "½", "5 kg", "=5"]
)
def test_texts_that_are_not_numbers_are_unreadable(text: str) -> None:
    for grid in (Grid(10), Grid(10, whole=False)):
        assert encoded(grid, [text]).unreadable == 1
        assert encoded(grid, [text, "5"]).unreadable == 1


def test_a_decimal_comma_is_read_where_the_plan_says_so() -> None:
    grid = domain('kind = "number"\nlower = 0\nupper = 10\nstep = 0.5', table='decimal = ","')
    assert codes_of(grid, ["1,5", "2", "2,50"]) == [3, 4, 5]
    assert encoded(grid, ["1.000,5", "1,2,3"]).unreadable == 2


# Dates


@pytest.mark.parametrize(
    "text",
    [
        "2021-02-29",
        "2021-02-30",
        "2021-04-31",
        "2021-13-01",
        "2021-00-10",
        "2021-01-00",
        "20210101",
        "2021-01-01x",
        "yesterday",
    ],
)
def test_days_that_no_calendar_has_are_unreadable(text: str) -> None:
    grid = domain('kind = "date"\nlower = 2000-01-01\nupper = 2030-01-01')
    assert encoded(grid, [text, "2021-03-01"]).unreadable == 1


@settings(max_examples=30)
@given(st.lists(dates, min_size=1, max_size=5), st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %b %Y"]))
def test_dates_are_read_by_the_declared_format(values: list[datetime.date], date_format: str) -> None:
    grid = domain(f'kind = "date"\nlower = 1600-01-01\nupper = 2201-01-01\nformat = "{date_format}"')
    assert (
        grid.decode(np.array(codes_of(grid, [value.strftime(date_format) for value in values]))).to_pylist() == values
    )


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_stamp_counts_as_its_day_also_before_1970(unit: str) -> None:
    grid = domain('kind = "date"\nlower = 1960-01-01\nupper = 2030-01-01')
    moments = [datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2020, 2, 29, 13)]
    days = grid.decode(np.array(codes_of(grid, pa.array(moments, pa.timestamp(unit))))).to_pylist()
    assert days == [datetime.date(1969, 12, 31), datetime.date(2020, 2, 29)]


def test_numbers_are_not_dates() -> None:
    assert encoded(domain('kind = "date"\nlower = 2000-01-01\nupper = 2030-01-01'), [1, 2]).unreadable == 2


# The logarithmic axis


@given(st.integers(1, 2**40), st.data())
def test_a_logarithmic_axis_rises_with_the_code_and_stays_within_its_width(width: int, data: st.DataObject) -> None:
    grid = Grid(width, log=True)
    codes = np.sort(np.array(data.draw(st.lists(st.integers(0, width), min_size=1)), np.int64))
    axis = grid.to_axis(codes)
    assert (np.diff(axis) >= 0).all()
    assert grid.to_axis(np.array([0, width])).tolist() == [0, grid.axis_width]
    assert axis.min() >= 0
    assert axis.max() <= grid.axis_width


@given(st.integers(1, 2**40), st.data())
def test_the_way_to_the_logarithmic_axis_and_back_changes_a_code_by_no_more_than_half_a_cell(
    width: int, data: st.DataObject
) -> None:
    grid = Grid(width, log=True)
    code = data.draw(st.integers(0, width))
    back = int(grid.from_axis(grid.to_axis(np.array([code])).astype(np.float64))[0])
    half_a_cell = math.expm1(0.5 * math.log1p(width) / grid.axis_width) * (code + 1)
    assert abs(back - code) <= half_a_cell * 1.001 + 0.5


@given(st.integers(1, 10**6), st.booleans(), st.lists(st.floats(-1e12, 1e12), min_size=1))
def test_positions_beyond_the_axis_end_at_the_ends_of_the_domain(width: int, log: bool, positions: list[float]) -> None:
    grid = Grid(width, log=log)
    codes = grid.from_axis(np.array(positions))
    assert ((codes >= 0) & (codes <= width)).all()
    assert (codes[np.array(positions) <= 0] == 0).all()
    assert (codes[np.array(positions) >= grid.axis_width] == width).all()


# Numbers with many digits


@pytest.mark.parametrize(
    ("lower", "upper"), [("0.000000000001", "1000000000"), ("-1234567890123", "0.000000000001"), ("1e-15", "1e-3")]
)
def test_bounds_of_very_different_sizes_do_not_overflow_on_the_way_back(lower: str, upper: str) -> None:
    grid = domain(f'kind = "number"\nlower = {lower}\nupper = {upper}')
    assert isinstance(grid, Grid)
    ends = grid.decode(np.array([0, grid.width])).to_pylist()
    assert ends[0] == pytest.approx(float(lower))
    assert ends[1] == pytest.approx(float(upper), rel=1e-6, abs=float(grid.step))
    assert ends[0] < ends[1]


def test_labels_of_a_flat_list_can_be_told_from_its_root() -> None:
    where = domain(category(["x", "y"]))
    assert isinstance(where, Nominal)
    assert where.encode(pa.array(["*"]), ()).outside == 1
    assert where.encode_released(pa.array(["*"]), ()).codes.tolist() == [2]
