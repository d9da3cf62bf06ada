"""Spark Connect: the same engine on a session that has no JVM beside it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import rankveil as rv
from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import LocalEngine, open_table
from rankveil.measure.counts import count_columns
from rankveil.noise import SeededSource
from tests.engines.conftest import IMPORT_PATH, needs_spark
from tests.support import integer, plan_text


def test_a_frame_of_spark_connect_gives_the_counts_and_the_rows_of_one_machine(tmp_path: Path) -> None:
    needs_spark()
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio (pip install 'pyspark[connect]')")
    path, plan = tmp_path / "t.parquet", tmp_path / "plan.toml"
    papq.write_table(pa.table({"a": np.arange(500) % 101, "b": np.arange(500) % 7}), path, row_group_size=100)
    plan.write_text(plan_text({"a": integer(100), "b": integer(6)}, method="synthetic"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.connect_client", str(path), str(plan)],
        env={
            **os.environ,
            "PYTHONPATH": IMPORT_PATH,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false pyspark-shell",
        },
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert "connect" in found["kind"]
    table = open_table(path)
    schema = declare(Plan.load(plan), table)
    counts, rows = count_columns(Dataset(schema, table, LocalEngine()), schema.columns)
    wanted = {"rows": rows, **{name: count.per_cell.tolist() for name, count in counts.items()}}
    assert found["counts"] == {"frame": wanted, "file": wanted}
    assert found["made"] == rv.release(path, plan, source=SeededSource(1)).table.to_pydict()
