"""Published tables: noisy counts with known deviations where they were measured, else the model, and it says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.errors import PlanError
from rankveil.measure.measurements import TableMeasurement
from rankveil.model import TableEstimate
from rankveil.noise import SeededSource
from tests.support import category, integer, plan_text

ROWS = 5000
COLUMNS = {
    "age": integer(99, more="null = true"),
    "pay": 'kind = "integer"\nlower = 0\nupper = 200000\nspecial = [999999]',
    "sex": category(["f", "m"]),
    "job": category(["a", "b", "c"]),
    "band": 'kind = "ordinal"\ncategories = ["young", "grown"]\nnull = true\n'
    'derived = { from = ["age"], bands = [0, 30] }',
    "odd": integer(1, more='null = true\nderived = { by = "age % 2" }'),
    "sum": integer(200099, more='null = true\nderived = { by = "age + min(pay, 200000)" }'),
}


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    age = rng.integers(0, 100, ROWS)
    missing, sex = rng.random(ROWS) < 0.1, rng.choice(["f", "m"], ROWS)
    pay = np.where(rng.random(ROWS) < 0.1, 999_999, rng.integers(0, 200_001, ROWS))
    return pa.table(
        {
            "age": pa.array(age, mask=missing),
            "pay": pay,
            "sex": sex,
            "job": np.where(rng.random(ROWS) < 0.7, np.where(sex == "f", "a", "b"), "c"),
            "band": pa.array(np.where(age < 30, "young", "grown"), mask=missing),
            "odd": pa.array(age % 2, mask=missing),
            "sum": pa.array(age + np.minimum(pay, 200_000), mask=missing),
        }
    )


@pytest.fixture(scope="module")
def model() -> rv.Model:
    plan = rv.Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon=4))
    return rv.fit(people(), plan, source=SeededSource(1))


def exact(estimate: TableEstimate) -> np.ndarray:
    """The same counts of the table itself."""
    rows = people().to_pandas()
    found = np.zeros(estimate.counts.shape)
    for place in np.ndindex(*found.shape):
        kept = np.ones(ROWS, bool)
        for name, cells, at in zip(estimate.columns, estimate.cells, place, strict=True):
            cell, values = cells[at], rows[name]
            held = values.isna() if cell.missing else np.zeros(ROWS, bool)
            if cell.lower is not None and name == "band":
                held |= values == cell.lower
            elif cell.lower is not None:
                held |= (values >= float(cell.lower)) & (values <= float(str(cell.upper)))
            held |= values.isin(cell.labels)
            held |= values.isin([float(value) for value in cell.special]) if cell.special else False
            kept &= held
        found[place] = kept.sum()
    return found


@pytest.mark.parametrize("names", [["sex"], ["age"], ["pay"], ["band"], ["odd"], ["sex", "job"], ["job", "sex"]])
def test_measured_tables_are_noisy_counts_whose_deviations_are_those_of_their_errors(
    names: Sequence[str], model: rv.Model
) -> None:
    found = model.table(names)
    assert found.source == "measured" and found.deviations is not None
    truth = exact(found)
    assert truth.sum() == ROWS
    off = (found.counts - truth) / found.deviations
    assert np.abs(off).max() < 9  # a Laplace deviate beyond that comes once in 10^5 tables
    assert np.sqrt((off**2).mean()) > 0.05


def test_a_deviation_of_a_cell_is_that_of_one_count_times_the_root_of_how_many_were_added(model: rv.Model) -> None:
    measured = model.measurements
    level = measured.asked["age"].levels[-1]
    band = model.table(["band"])
    assert [str(cell) for cell in band.cells[0]] == ["young", "grown", "missing"]
    assert band.deviations is not None
    assert band.deviations == pytest.approx(level.deviation * np.sqrt([30, 70, 1]))
    assert band.counts[0] == level.noisy[:30].sum()


def test_a_table_of_two_is_added_up_from_a_measured_table_of_three_where_no_other_was_measured(model: rv.Model) -> None:
    marginals = model.measurements.columns
    groups = tuple(np.arange(marginals[name].cell_count) for name in ("job", "pay", "sex"))
    noisy = np.arange(np.prod([len(group) for group in groups]), dtype=float)
    table = TableMeasurement(("job", "pay", "sex"), groups, noisy.reshape([len(group) for group in groups]), 7.0)
    only = replace(model, measurements=replace(model.measurements, tables=(table,)))
    found = only.table(["sex", "job"])
    assert found.note.endswith("(the table of job, pay, sex)")
    assert np.array_equal(found.counts, table.noisy.sum(axis=1).T)
    assert found.deviations == pytest.approx(np.full(found.counts.shape, 7 * np.sqrt(len(groups[1]))))


def test_what_was_not_measured_comes_from_the_model_without_a_deviation(model: rv.Model) -> None:
    without = replace(model, measurements=replace(model.measurements, tables=()))
    found = without.table(["sex", "job", "band"])
    assert (found.source, found.deviations) == ("from the model", None)
    assert found.note == "from the model: no deviation is claimed"
    assert found.counts.sum() == pytest.approx(ROWS)
    assert np.abs(found.counts - exact(found)).max() < 0.05 * ROWS
    assert found.to_arrow().column("deviation").null_count == found.counts.size


def test_arrow_and_json_say_the_same(model: rv.Model) -> None:
    found = model.table(["age", "sex"])
    rows, said = found.to_arrow().to_pylist(), found.as_dict()
    assert said["source"] in found.note and said["columns"] == ["age", "sex"]
    assert [row["count"] for row in rows] == [row["count"] for row in said["rows"]]
    assert said["rows"][0]["cells"][0]["lower"] == "0"
    assert len(str(found).splitlines()) == 1 + len(rows) and found.note in str(found)
    assert rows[-1]["age"] == "missing" and said["rows"][-1]["cells"][0] == {"missing": True}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["nope"], "no column 'nope'"),
        ([], "1 to 3 columns"),
        (["age", "sex", "job", "pay"], "1 to 3 columns"),
        (["age", "age"], "the same"),
        (["age", "band"], "follow from the same one"),
        (["sum"], "computed from others"),
        (["odd", "sex"], "do not tell its values apart"),
    ],
)
def test_tables_that_cannot_be_had_are_refused(names: Sequence[str], said: str, model: rv.Model) -> None:
    with pytest.raises(PlanError, match=said):
        model.table(names)
