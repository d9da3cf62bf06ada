"""Rows that belong to records: read twice, drawn batch by batch, never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from rankveil.declare import Plan, again
from rankveil.declare.again import in_blocks
from rankveil.declare.dataset import Dataset
from rankveil.engines import Table
from rankveil.engines import table as tables
from rankveil.errors import TableError
from rankveil.ledger import Ledger
from rankveil.noise import SeededSource
from rankveil.release import release

PLANS = {
    "laplace": 'method = "laplace"',
    "aligned": 'method = "aligned"',
    "public columns": 'method = "synthetic"',
}
COLUMNS = """
epsilon = 1
[columns.age]
kind = "integer"
lower = 0
upper = 99
[columns.city]
kind = "category"
categories = ["Oslo", "Rome", "Bern"]
"""
ROWS = 5000


def plan_for(case: str) -> Plan:
    return Plan.parse("[release]\n" + PLANS[case] + COLUMNS + ('role = "public"\n' if case == "public columns" else ""))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    cities = np.array(["Oslo", "Rome", "Bern"])[rng.integers(0, 3, ROWS)]
    papq.write_table(pa.table({"age": rng.integers(0, 100, ROWS), "city": cities}), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.mark.parametrize("case", PLANS)
def test_the_table_is_never_held_as_a_whole(case: str, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Dataset) -> None:
        raise AssertionError("all rows were asked for at once")

    monkeypatch.setattr(Dataset, "records", refuse)
    assert release(people, plan_for(case), source=SeededSource(1)).table.num_rows == ROWS


@pytest.mark.parametrize("case", PLANS)
def test_small_batches_give_every_row_in_its_place(case: str, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BATCH_ROWS", 700)
    monkeypatch.setattr(again, "ROWS_AT_ONCE", 300)
    made = release(people, plan_for(case), source=SeededSource(1)).table
    assert made.num_rows == ROWS
    if case == "public columns":
        assert sorted(made["city"].to_pylist()) == sorted(papq.read_table(people)["city"].to_pylist())


def changing(how: Callable[[pa.Table], pa.Table], after: int) -> Callable[..., Iterator[pa.RecordBatch]]:
    """Batches of a table that somebody changes after so many readings."""
    readings = 0
    honest = Table.batches

    def batches(self: Table, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        nonlocal readings
        readings += 1
        found = pa.Table.from_batches(list(honest(self, columns)))
        return iter((how(found) if readings > after else found).to_batches())

    return batches


@pytest.mark.parametrize("case", PLANS)
@pytest.mark.parametrize(
    ("how", "says"),
    [
        (lambda found: found.slice(1), "fewer rows"),
        (lambda found: pa.concat_tables([found, found.slice(0, 1)]), "more rows"),
        (lambda found: found.set_column(0, found.column_names[0], pa.nulls(len(found), found.schema.types[0])), "fit"),
    ],
)
def test_a_table_that_changes_between_two_readings_is_found_out_and_nothing_is_written(
    case: str,
    how: Callable[[pa.Table], pa.Table],
    says: str,
    people: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings = []
    honest = Table.batches
    with monkeypatch.context() as counting:
        counting.setattr(Table, "batches", lambda self, columns=None: readings.append(1) or honest(self, columns))
        release(people, plan_for(case), source=SeededSource(1))
    monkeypatch.setattr(Table, "batches", changing(how, len(readings) - 1))  # before the last one
    with pytest.raises(TableError, match=f"changed since it was read first.*{says}") as caught:
        release(people, plan_for(case), out=tmp_path / "out", ledger=tmp_path / "ledger.sqlite")
    assert list((tmp_path / "out").iterdir()) == []
    assert "Its budget is spent: entry 1" in caught.value.cost
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["spend"]


def test_laplace_refuses_a_table_that_does_not_fit_before_anything_is_spent(people: Path, tmp_path: Path) -> None:
    narrow = Plan.parse("[release]\n" + PLANS["laplace"] + COLUMNS.replace("99", "9"))
    with pytest.raises(Exception, match="outside the declared range"):
        release(people, narrow, ledger=tmp_path / "ledger.sqlite")
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("size", [1, 4, 7, 100])
@pytest.mark.parametrize("lengths", [[3, 4, 0, 9], [16], [1] * 16])
def test_blocks_hold_the_same_rows_in_the_same_order(size: int, lengths: list[int]) -> None:
    ends = np.cumsum(lengths)
    batches = [{"a": np.arange(end - length, end)} for end, length in zip(ends, lengths, strict=True)]
    blocks = [block["a"] for block in in_blocks(iter(batches), size)]
    assert np.concatenate(blocks).tolist() == list(range(16))
    assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
    assert 1 <= len(blocks[-1]) <= size
