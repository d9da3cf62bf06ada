"""Bugs that fuzzing has found, each by itself and in the words of its effect."""

from __future__ import annotations

import sqlite3
import time
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.engines import open_table
from rankveil.errors import BudgetError, TableError
from rankveil.ledger import Identity, Ledger
from rankveil.noise import SeededSource
from tests.fuzz.harness import refused
from tests.support import category, plan_text

ORDINAL = 'kind = "ordinal"\ncategories = ["1", "two", "3"]\nnull = true'


@pytest.mark.parametrize(
    "entry", [category(["1", "cook", "3"], more="null = true"), ORDINAL], ids=["category", "ordinal"]
)
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 3], pa.int8()),
        pa.array([1, None, 3], pa.decimal128(5)),
        pa.array([1, None, 3]).dictionary_encode(),
        pa.nulls(3, pa.time32("s")),
    ],
    ids=lambda column: str(column.type),
)
def test_labels_that_the_tables_own_type_cannot_hold_are_released_as_text(column: pa.Array, entry: str) -> None:
    """The release failed after its budget was spent."""
    plan = rv.Plan.parse(plan_text({"a": entry}, epsilon="0.001"))
    for seed in range(5):
        released = rv.release(pa.table({"a": column}), plan, source=SeededSource(seed)).table["a"]
        assert set(released.to_pylist()) <= {None, "1", "cook", "two", "3"}


def test_a_ledger_that_cannot_be_opened_keeps_no_lock(tmp_path: Path) -> None:
    """The next one waited for half a minute, in vain."""
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    good = path.read_bytes()
    path.write_bytes(good[:100] + b"\xff" * (len(good) - 100))
    started = time.monotonic()
    kept = [refused(lambda: Ledger(path)) for _ in range(3)]
    assert all(isinstance(error, BudgetError) for error in kept)
    path.write_bytes(good)
    Ledger(path).close()
    assert time.monotonic() - started < 10


def test_a_ledger_that_has_lost_its_entries_is_damaged_and_not_new(tmp_path: Path) -> None:
    """It was given an empty table, and with it all of its budget back."""
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.cap([Identity("table", "t")], Fraction(1), Fraction(0))
        ledger.spend([Identity("table", "t")], Fraction(1), Fraction(0), "laplace")
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE entries RENAME TO entriez")
    connection.commit()
    connection.close()

    def spend() -> None:
        with Ledger(path) as ledger:
            ledger.spend([Identity("table", "t")], Fraction(1), Fraction(0), "laplace")

    assert isinstance(refused(spend), BudgetError)


def test_a_first_row_in_the_place_of_the_header_is_not_shown(tmp_path: Path) -> None:
    """Two equal values in it were reported as a column name that occurs twice, by that value."""
    path = tmp_path / "t.csv"
    path.write_text("48151623,48151623\n1,2\n")
    error = refused(lambda: open_table(path))
    assert isinstance(error, TableError)
    assert "columns 1 and 2" in str(error)


def test_missing_values_of_pandas_among_python_objects_are_missing() -> None:
    frame = pd.DataFrame({"a": pd.Series(["x", pd.NA, None, float("nan"), pd.NaT, "y"], dtype=object)})
    plan = rv.Plan.parse(plan_text({"a": category(["x", "y"], more="null = true")}))
    assert len(rv.release(frame, plan, source=SeededSource(1)).table) == 6
