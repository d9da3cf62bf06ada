"""The local engine's threads: all of them get work, and none goes on after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest

from rankveil.engines import LocalEngine, open_table

ROWS = 1_500_000
THREADS = 2
WIDE = pa.table({"value": range(ROWS), "other": pa.array(["x" * 60]).take(pa.array([0] * ROWS))})  # many blocks of text


def one_group(data: pa.Table, folder: Path) -> Path:
    papq.write_table(data, folder / "one.parquet", row_group_size=ROWS)
    return folder / "one.parquet"


def many_groups(data: pa.Table, folder: Path) -> Path:
    papq.write_table(data, folder / "many.parquet", row_group_size=ROWS // 10)
    return folder / "many.parquet"


def text_file(data: pa.Table, folder: Path) -> Path:
    pacsv.write_csv(data, folder / "table.csv")
    return folder / "table.csv"


class Steps:
    """A fold that counts rows, and does `before` with the number of its step first."""

    columns = ("value",)

    def __init__(self, before: Callable[[int], None]) -> None:
        self.before, self.taken, self.lock = before, 0, threading.Lock()

    def zero(self) -> int:
        return 0

    def step(self, state: int, batch: pa.RecordBatch) -> int:
        with self.lock:
            self.taken += 1
            mine = self.taken
        self.before(mine)
        return state + batch.num_rows

    def merge(self, first: int, second: int) -> int:
        return first + second


@pytest.mark.parametrize("stored", [one_group, many_groups, text_file])
def test_threads_work_at_the_same_time(stored: Callable[[pa.Table, Path], Path], tmp_path: Path) -> None:
    table = open_table(stored(WIDE, tmp_path))
    together = threading.Barrier(THREADS)

    def meet(step: int) -> None:
        if step <= THREADS:
            together.wait(timeout=120)  # broken, an error, unless the other thread has a batch of its own

    assert LocalEngine(THREADS).fold(table, Steps(meet)) == ROWS


@pytest.mark.parametrize("threads", [1, THREADS])
@pytest.mark.parametrize("stored", [one_group, many_groups, text_file])
def test_no_thread_goes_on_after_a_failure(
    stored: Callable[[pa.Table, Path], Path], threads: int, tmp_path: Path
) -> None:
    table = open_table(stored(WIDE, tmp_path))
    failed = threading.Event()

    def fail(step: int) -> None:
        if step == 1:
            failed.set()
            raise ValueError("broken on purpose")
        failed.wait(timeout=120)
        time.sleep(1)  # for the failure to become known

    work = Steps(fail)
    with pytest.raises(ValueError, match="broken on purpose"):
        LocalEngine(threads).fold(table, work)
    # The other thread may have a batch in hand, and take one more before the failure is known.
    assert work.taken <= 2 * threads - 1
    whole = Steps(lambda step: None)
    LocalEngine(threads).fold(table, whole)
    assert whole.taken > 2 * THREADS
