"""What the Spark engine costs: processor time per row, bytes per state, seconds per task.

    python -m benchmarks.spark_costs [--rows N] [--tasks N]

Processor time of the JVM and of its Python workers together, so that other programs on the machine matter little. From
these figures docs/scaling.md works out what a cluster needs.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as papq

from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines.spark import SparkEngine, start_session
from rankveil.engines.spark.tasks import packed
from rankveil.measure.counts import count_columns
from rankveil.noise import SeededSource
from rankveil.release import release

PLAN = """
[release]
method = "synthetic"
epsilon = 1
[columns.age]
kind = "integer"
lower = 0
upper = 110
[columns.income]
kind = "number"
lower = 0
upper = 1000000
step = 1
scale = "log"
[columns.wealth]
kind = "number"
lower = -10000000
upper = 100000000
step = 1
[columns.rate]
kind = "number"
lower = 0
upper = 1
step = 0.0001
[columns.day]
kind = "date"
lower = 2000-01-01
upper = 2029-12-31
[columns.job]
kind = "category"
categories = ["a", "b", "c", "d", "e", "f", "g", "h"]
[columns.region]
kind = "category"
categories = ["n", "e", "s", "w"]
[columns.member]
kind = "boolean"
"""


def table(rows: int) -> pa.Table:
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "age": rng.integers(0, 111, rows),
            "income": np.rint(rng.lognormal(10, 1, rows).clip(0, 1e6)),
            "wealth": np.rint(rng.lognormal(12, 2, rows).clip(0, 1e8)),
            "rate": rng.integers(0, 10001, rows) / 10000,
            "day": (rng.integers(0, 10_000, rows) + 10_957).astype("datetime64[D]"),
            "job": pa.array(list("abcdefgh")).take(pa.array(rng.integers(0, 8, rows))),
            "region": pa.array(list("nesw")).take(pa.array(rng.integers(0, 4, rows))),
            "member": rng.random(rows) < 0.3,
        }
    )


def _spent() -> float:
    """Seconds of processor time of Spark and its workers, those that have ended included."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


@contextmanager
def measured(found: dict[str, Any], name: str) -> Iterator[None]:
    cpu, wall = _spent(), time.perf_counter()
    yield
    found[f"{name}_cpu_s"] = round(_spent() - cpu, 2)
    found[f"{name}_wall_s"] = round(time.perf_counter() - wall, 2)


def costs(rows: int, tasks: int) -> Mapping[str, Any]:
    found: dict[str, Any] = {"rows": rows, "columns": 8, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as place, start_session("local[2]", {"spark.driver.memory": "2g"}) as session:
        path = Path(place) / "table.parquet"
        papq.write_table(table(rows), path, row_group_size=rows // 8)
        found["file_bytes"] = path.stat().st_size
        plan, engine = Plan.parse(PLAN), SparkEngine(session.spark)
        frame = session.spark.read.parquet(str(path))
        for name, source in (("files", path), ("frame", frame)):
            opened = engine.open(source)
            schema = declare(plan, opened)
            dataset = Dataset(schema, opened, engine)
            count_columns(dataset, schema.columns)  # starts the workers
            with measured(found, f"count_{name}"):
                counts, _ = count_columns(dataset, schema.columns)
        with measured(found, "pass_through"):
            frame.mapInArrow(_dropped, "n long").collect()
        with measured(found, "digest"):
            engine.open(frame).digest()
        state = {name: each.per_cell for name, each in counts.items()}
        found["state_bytes"] = sum(each.nbytes for each in state.values())
        found["state_packed_bytes"] = len(packed(state))  # of all rows; a task's own state is emptier and smaller
        list(engine.map(abs, range(2)))
        with measured(found, f"tasks_{tasks}"):
            list(engine.map(abs, range(tasks)))
        with measured(found, "release"):
            release(path, plan, engine=engine, out=Path(place) / "out", source=SeededSource(1))
    return found


def _dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([rows])], names=["n"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--tasks", type=int, default=200)
    given = parser.parse_args()
    print(json.dumps(costs(given.rows, given.tasks), indent=2))
