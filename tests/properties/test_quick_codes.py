"""The quick ways to a code give the codes of the slow one: one formula for every value, written out plainly."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rankveil.declare.domain import MISSING, Encoded, Grid


def plainly(grid: Grid, numbers: NDArray[np.int64] | NDArray[np.float64], missing: NDArray[np.bool_]) -> Encoded:
    """Every value goes through every step, whatever the others are."""
    unreadable = 0
    if numbers.dtype == np.int64 and grid.whole:
        lower, step = int(grid.lower), int(grid.step)
        top = lower + grid.width * step
        outside = (numbers < lower) | (numbers > top + int(grid.beyond))
        codes = np.minimum((np.clip(numbers, lower, top) - lower + step // 2) // step, grid.width)
    else:
        values = numbers.astype(np.float64)
        lower_float, step_float = float(grid.lower), float(grid.step)
        top_float = float(grid.lower + grid.width * grid.step)
        slack = 0.0 if grid.whole else step_float / 2
        outside = (values < lower_float - slack) | (values > top_float + max(slack, float(grid.beyond)))
        above = np.clip(np.nan_to_num(values, nan=lower_float), lower_float, top_float) - lower_float
        if grid.whole:
            finite = np.isfinite(values)
            unreadable = int(np.count_nonzero((values[finite] != np.floor(values[finite])) & ~missing[finite]))
            inside = np.clip(np.nan_to_num(values, nan=lower_float), lower_float, top_float)
            codes = (np.floor(inside).astype(np.int64) - int(grid.lower) + int(grid.step) // 2) // int(grid.step)
        else:
            codes = np.rint(above / step_float).astype(np.int64)
        codes = np.clip(codes, 0, grid.width)
    codes[missing] = MISSING
    return Encoded(codes, int(np.count_nonzero(outside & ~missing)), unreadable, int(np.count_nonzero(missing)))


def same(one: Encoded, other: Encoded) -> bool:
    return (one.codes.tolist(), one.outside, one.unreadable, one.without_code) == (
        other.codes.tolist(),
        other.outside,
        other.unreadable,
        other.without_code,
    )


GRIDS = [
    Grid(100),
    Grid(33, Decimal(-7), Decimal(3), beyond=Decimal(2)),
    Grid(1 << 40, Decimal(-(1 << 39))),
    Grid(1_000_000, Decimal(0), Decimal("0.0001"), whole=False),
    Grid(2_000_001, Decimal("-100.5"), Decimal("0.0001"), whole=False, beyond=Decimal("0.00005")),
    Grid(7, Decimal("0.1"), Decimal("0.1"), whole=False),
    Grid(1 << 30, Decimal("9007199254740000"), Decimal(1), whole=False),
    Grid(3, Decimal("-1e300"), Decimal("1e300"), whole=False),
    Grid(10, Decimal(0), Decimal("1e-320"), whole=False),
]


def awkward(grid: Grid) -> list[float]:
    """Ends, steps, halves between steps, their neighbours among floats, and what is no number."""
    places = [0, 1, 2, grid.width // 2, grid.width - 1, grid.width]
    exact = [grid.lower + grid.step * place for place in places]
    exact += [
        value + grid.step * part for value in exact for part in (Decimal("0.5"), Decimal("-0.5"), Decimal("0.49"))
    ]
    exact += [grid.lower + grid.step * grid.width + grid.beyond]
    around = [f(float(value)) for value in exact for f in (float, lambda v: math.nextafter(v, math.inf),
                                                          lambda v: math.nextafter(v, -math.inf))]  # fmt: skip
    return [*around, 0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 2.0**53, -(2.0**63), 2.0**63]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@given(data=st.data())
def test_floats_get_the_same_codes_the_quick_and_the_slow_way(grid: Grid, data: st.DataObject) -> None:
    some = st.one_of(
        st.sampled_from(awkward(grid)),
        st.floats(),
        st.floats(float(grid.lower), float(grid.lower + grid.step * grid.width)),
        st.none(),
    )
    values = data.draw(st.lists(some, max_size=12))
    absent = np.array([value is None or math.isnan(value) for value in values], np.bool_)
    numbers = np.array([0.0 if value is None else value for value in values], np.float64)
    assert same(grid.encode(pa.array(values, pa.float64()), ()), plainly(grid, numbers, absent))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_each_awkward_float_gets_alone_the_code_it_gets_beside_all_others(grid: Grid) -> None:
    values = awkward(grid)
    together = grid.encode(pa.array(values, pa.float64()), ()).codes.tolist()
    assert [grid.encode(pa.array([value], pa.float64()), ()).codes.tolist()[0] for value in values] == together
    numbers = np.array(values)
    assert same(grid.encode(pa.array(values), ()), plainly(grid, numbers, np.isnan(numbers)))


@pytest.mark.parametrize("grid", [grid for grid in GRIDS if abs(grid.lower) < 1 << 60], ids=str)
@given(data=st.data())
def test_integers_get_the_same_codes_the_quick_and_the_slow_way(grid: Grid, data: st.DataObject) -> None:
    ends = [int(grid.lower), int(grid.lower + grid.width * grid.step + grid.beyond)]
    near = st.sampled_from([end + more for end in ends for more in (-2, -1, 0, 1, 2)])
    some = st.one_of(near, st.integers(*ends), st.integers(-(2**63), 2**63 - 1), st.none())
    values = data.draw(st.lists(some, max_size=12))
    absent = np.array([value is None for value in values], np.bool_)
    numbers = np.array([0 if value is None else value for value in values], np.int64)
    assert same(grid.encode(pa.array(values, pa.int64()), ()), plainly(grid, numbers, absent))


@given(st.lists(st.sampled_from(["a", "b", " b ", "", "?", "z", None]), max_size=12))
@example([None, "z"])
def test_labels_are_counted_alike_in_a_dictionary_and_as_plain_texts(values: list[str | None]) -> None:
    grid, array = Grid(1, labels=("a", "b")), pa.array(values, pa.string())
    spread = pa.DictionaryArray.from_arrays(
        pa.array([None if value is None else place for place, value in enumerate(values)], pa.int32()), array
    )
    plain = grid.encode(array, ("", "?"))
    assert same(plain, grid.encode(array.dictionary_encode(), ("", "?")))
    assert same(plain, grid.encode(spread, ("", "?")))  # every row an entry of its own, some of them null
    assert plain.without_code == plain.codes.tolist().count(MISSING)
    assert plain.outside == values.count("z")
