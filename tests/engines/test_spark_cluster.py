"""A standalone cluster of two workers: the command line on it, and workers that are killed at work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from tests.engines.conftest import Cluster
from tests.support import PAPERS, Ran, category, files_in, integer, plan_text

ROWS = 300_000  # more than one piece of fresh rows, so that both workers have some to make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lost")
    rng = np.random.default_rng(6)
    columns = {"age": rng.integers(0, 101, ROWS), "job": rng.choice(["cook", "baker"], ROWS)}
    papq.write_table(pa.table(columns), folder / "table.parquet", row_group_size=40_000)
    entries = {"age": integer(100), "job": category(["cook", "baker"])}
    (folder / "plan.toml").write_text(plan_text(entries, method="synthetic"))
    return folder


@pytest.fixture(scope="module")
def found(cluster: Cluster, folder: Path) -> dict[str, Any]:
    """What a driver on the cluster has found, while an executor and then a worker were killed."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.engines.lost_worker", cluster.master),
            *map(str, (folder / "table.parquet", folder / "plan.toml", folder)),
        ],
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["killed"] == [True, True]
    return result


@pytest.fixture(scope="module")
def local_counts(folder: Path) -> dict[str, Any]:
    table = open_table(folder / "table.parquet")
    schema = declare(Plan.load(folder / "plan.toml"), table)
    counts, rows = count_columns(Dataset(schema, table, LocalEngine()), schema.columns)
    return {"rows": rows, **{name: count.per_cell.tolist() for name, count in counts.items()}}


def test_the_command_line_releases_on_a_cluster_and_the_release_verifies(
    cluster: Cluster, folder: Path, run_cli: Callable[..., Ran], tmp_path: Path
) -> None:
    """Before workers are killed: tests run in the order of the file."""
    ran = run_cli(
        *("release", folder / "table.parquet", "--plan", folder / "plan.toml", "--out", tmp_path / "out"),
        *("--engine", "spark", "--master", cluster.master, "--quiet"),
        env=cluster.environment,
        timeout=300,
    )
    assert (ran.code, ran.err) == (0, ""), ran.text
    assert [name for name in files_in(tmp_path / "out") if "part-" not in name] == PAPERS
    checked = run_cli("verify", tmp_path / "out" / "certificate.json", tmp_path / "out" / "release.parquet")
    assert checked.code == 0, checked.text


def test_statistics_on_a_cluster_are_those_of_one_machine(found: dict[str, Any], local_counts: dict[str, Any]) -> None:
    assert found["calm"] == local_counts


def test_an_executor_killed_during_a_fold_changes_nothing(found: dict[str, Any], local_counts: dict[str, Any]) -> None:
    assert found["executor killed"] == local_counts


def test_a_worker_killed_while_rows_are_made_changes_nothing(
    found: dict[str, Any], folder: Path, run_cli: Callable[..., Ran]
) -> None:
    local = rv.release(folder / "table.parquet", folder / "plan.toml", source=SeededSource(1)).table
    assert papq.read_table(folder / "out" / "release.parquet").to_pydict() == local.to_pydict()
    names = files_in(folder / "out")
    assert names == [
        *PAPERS,
        *(f"release.parquet/part-{number:05d}.parquet" for number in range(len(names) - len(PAPERS))),
    ]
    checked = run_cli("verify", folder / "out" / "certificate.json", folder / "out" / "release.parquet")
    fails = [line.split("  ")[1].strip() for line in checked.out.splitlines() if line.startswith("FAILS")]
    assert fails == ["made for release"], checked.text  # it was drawn from a seed; all else holds
