"""What a driver runs on the test cluster, with a worker that is killed on the way.

Started as a program of its own, because a process has one Spark at most. The classes live here, and not in the test,
because executors import them by name.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa


def wait_to_be_killed(marker: Path) -> None:
    """The first to come here says who it is and waits; whoever comes later passes."""
    try:
        with marker.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return
    time.sleep(120)
    raise RuntimeError("nobody has killed this worker")


@dataclass(frozen=True)
class MortalFold:
    """A fold whose first step, on whatever executor, is the last one of that executor."""

    work: Any
    marker: Path

    @property
    def columns(self) -> Sequence[str]:
        return list(self.work.columns)

    def zero(self) -> Any:
        return self.work.zero()

    def step(self, state: Any, batch: pa.RecordBatch) -> Any:
        wait_to_be_killed(self.marker)
        return self.work.step(state, batch)

    def merge(self, first: Any, second: Any) -> Any:
        return self.work.merge(first, second)


@dataclass(frozen=True)
class MortalMake:
    """Pieces of rows, the first of which is not finished by the worker that starts it."""

    make: Callable[[Any], Any]
    marker: Path

    def __call__(self, piece: Any) -> Any:
        made = self.make(piece)
        wait_to_be_killed(self.marker)
        return made


def kill_when_marked(marker: Path, *, worker: bool) -> threading.Thread:
    """SIGKILL for the executor of whoever has left the marker, or for it and the Spark worker that has started it."""

    def watch() -> None:
        while not marker.exists() or not marker.read_text():
            time.sleep(0.05)
        javas = [parent for parent in psutil.Process(int(marker.read_text())).parents() if "java" in parent.name()]
        executor, spark_worker = javas[0], javas[1]
        for process in [spark_worker, executor] if worker else [executor]:
            os.kill(process.pid, signal.SIGKILL)
        marker.with_suffix(".killed").write_text(str(executor.pid))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def counts_of(engine: Any, table: Any, plan: str, wrap: Callable[[Any], Any] = lambda work: work) -> dict[str, Any]:
    from rankveil.declare import Plan, declare
    from rankveil.declare.dataset import Dataset
    from rankveil.measure.counts import count_columns
    from tests.support import Wrapping

    loaded = Plan.load(plan)
    opened = engine.open(table)
    schema = declare(loaded, opened)
    counts, rows = count_columns(Dataset(schema, opened, Wrapping(engine, wrap)), schema.columns)
    return {"rows": rows, **{name: count.per_cell.tolist() for name, count in counts.items()}}


def main() -> None:
    master, table, plan, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
    import rankveil as rv
    from rankveil.engines.spark import SparkEngine, start_session
    from rankveil.noise import SeededSource
    from rankveil.write import publish

    found: dict[str, Any] = {}
    with start_session(master) as session:
        engine = SparkEngine(session.spark, fan_in=2)
        found["calm"] = counts_of(engine, table, plan)
        marker = folder / "fold"
        killer = kill_when_marked(marker, worker=False)
        found["executor killed"] = counts_of(engine, table, plan, lambda work: MortalFold(work, marker))
        killer.join()

        # The rows' maker is wrapped where it is handed to the writer.
        marker = folder / "make"
        kept = publish.write_spread

        def mortal(rows: Any, *arguments: Any) -> Any:
            return kept(replace(rows, make=MortalMake(rows.make, marker)), *arguments)

        publish.write_spread = mortal
        killer = kill_when_marked(marker, worker=True)
        rv.release(table, plan, out=folder / "out", engine=engine, source=SeededSource(1))
        killer.join()
        found["killed"] = [path.exists() for path in (folder / "fold.killed", folder / "make.killed")]
    print(json.dumps(found))


if __name__ == "__main__":
    # Under its own name, which executors can import; in __main__ they could not find the classes.
    from tests.engines import lost_worker

    lost_worker.main()
