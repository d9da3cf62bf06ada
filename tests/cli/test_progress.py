"""What a long release says while it reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq

from rankveil.cli.output import Progress
from rankveil.declare import Plan
from rankveil.release import release
from tests.support import Ran, integer, plan_text

COLUMNS = {"x": integer(9), "y": integer(9)}


def write_parts(folder: Path) -> Path:
    folder.mkdir()
    for place in range(3):
        papq.write_table(pa.table({"x": [place] * 400, "y": [1, 2, 3, 4] * 100}), folder / f"{place}.parquet")
    return folder


def test_a_release_tells_how_many_rows_of_how_many_each_pass_has_read(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    plan = Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon=10))
    release(write_parts(tmp_path / "parts"), plan, rows_done=lambda done, total: told.append((done, total)))
    assert told == [(400, 1200), (800, 1200), (1200, 1200)] * 2


def test_rows_a_second_and_the_time_left_are_shown_now_and_then() -> None:
    shown: list[str] = []
    now = [0.0]
    progress = Progress(shown.append, every=10, clock=lambda: now[0])
    progress("reading")
    for second in range(1, 41):
        now[0] = second
        progress.rows(second * 1000, 100_000)
    assert shown == [
        "reading",
        "reading: 10,000 rows, 1,000 rows/s, about 0:01:30 left",
        "reading: 20,000 rows, 1,000 rows/s, about 0:01:20 left",
        "reading: 30,000 rows, 1,000 rows/s, about 0:01:10 left",
        "reading: 40,000 rows, 1,000 rows/s, about 0:01:00 left",
    ]
    now[0] = 50
    progress.rows(500, None)  # another pass over a table of unknown length
    now[0] = 60
    progress.rows(6000, None)
    assert shown[-1] == "reading: 6,000 rows, 600 rows/s"


def test_a_folder_of_parts_is_released_by_the_command(
    run_cli: Callable[..., Ran], write_plan: Callable[..., Path], tmp_path: Path
) -> None:
    write_parts(tmp_path / "parts")
    plan = write_plan(COLUMNS, method="synthetic", epsilon=10)
    for source in ("parts", "parts/*.parquet"):
        ran = run_cli("release", source, "--plan", plan, "--out", "out", "--overwrite")
        assert ran.code == 0, ran.err
        assert "(1200 rows)" in ran.out
        assert "reading the table" in ran.err
