"""Rows of persons limited here and on Spark: the same rows stay, and releases are the same, bit for bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from rankveil.audit.replay.pair import run_pair
from rankveil.audit.replay.plans import made_case
from rankveil.audit.replay.ways import SPARK_WAYS
from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.declare.persons import limited
from rankveil.engines import Engine, LocalEngine
from rankveil.engines.spark import SparkEngine
from rankveil.errors import DomainError
from rankveil.measure.counts import count_columns
from rankveil.noise import SeededSource
from rankveil.release import release

ROWS = 4000
PLAN = Plan.from_dict(
    {
        "release": {"epsilon": "2"},
        "privacy": {"person": "patient", "rows_per_person": 3},
        "columns": {
            "patient": {"kind": "drop"},
            "age": {"kind": "integer", "lower": 0, "upper": 120},
            "cost": {"kind": "number", "bounds": "private", "step": "0.01"},
            "ward": {"kind": "category", "categories": ["a", "b", "c"], "null": True},
        },
    }
)


def stays(missing: bool = False) -> pa.Table:
    rng = np.random.default_rng(8)
    whose = [f"p{number}" for number in rng.zipf(1.6, ROWS) % 900]  # a few persons have hundreds of rows
    ward = [[None, "a", "b", "c"][place] for place in rng.integers(0, 4, ROWS)]
    cost = np.round(rng.lognormal(6, 1, ROWS), 2)
    return pa.table(
        {
            "patient": [None, *whose[1:]] if missing else whose,
            "age": rng.integers(0, 121, ROWS),
            "cost": cost,
            "ward": ward,
        }
    )


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "stays"
    folder.mkdir()
    for number in range(5):
        papq.write_table(stays().slice(number * 800, 800), folder / f"part-{number}.parquet", row_group_size=300)
    return folder


def counts_of(engine: Engine, source: Any) -> tuple[dict[str, dict[int, int]], int]:
    """One-way counts of the rows that stay, and how many there are."""
    table = engine.open(source)
    schema = declare(PLAN, table)
    with limited(Dataset(schema, table, engine), SeededSource(4)) as dataset:
        found, rows = count_columns(dataset, schema.columns)
        filled = {name: np.flatnonzero(each.per_cell) for name, each in found.items()}
        return {
            name: {cell: int(found[name].per_cell[cell]) for cell in filled[name].tolist()} for name in filled
        }, rows


def test_the_same_rows_stay_here_and_on_spark(spark: Any, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = counts_of(LocalEngine(), parts)
    whose = Counter(stays()["patient"].to_pylist())
    assert here[1] == sum(min(count, 3) for count in whose.values()) < ROWS
    monkeypatch.setattr("rankveil.declare.persons.ROWS_OF_A_GROUP", 150)  # many groups, many tasks
    assert counts_of(SparkEngine(spark), parts) == here
    assert counts_of(SparkEngine(spark), spark.read.parquet(str(parts)).repartition(7)) == here


def test_a_release_that_protects_persons_is_the_same_here_and_on_spark(spark: Any, parts: Path) -> None:
    here = release(parts, PLAN, source=SeededSource(6)).table
    there = release(spark.read.parquet(str(parts)), PLAN, source=SeededSource(6), engine=SparkEngine(spark)).table
    assert there.toArrow().to_pydict() == here.to_pydict()


def test_rows_that_name_nobody_are_refused_on_spark_with_their_number(spark: Any, tmp_path: Path) -> None:
    papq.write_table(stays(missing=True), tmp_path / "stays.parquet")
    with pytest.raises(DomainError, match=f"1 of {ROWS} rows do not say whose they are"):
        release(tmp_path / "stays.parquet", PLAN, source=SeededSource(6), engine=SparkEngine(spark))


def test_a_release_on_spark_depends_on_a_person_through_protected_answers_alone(spark: Any, tmp_path: Path) -> None:
    passed = 0
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        case = made_case(f"persons-{number}", SPARK_WAYS, (12, 40), folder)
        if case.plan.unit.person is not None and passed < 4:
            outcome = run_pair(case, folder, SparkEngine(spark) if case.way.file else None)
            assert outcome.problems == (), case.change
            passed += outcome.refused is None
    assert passed == 4
