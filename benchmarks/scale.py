"""Seconds and memory of a `synthetic` release against the number of rows, beside three floors of the same run.

    python -m benchmarks.scale --rows 10000000 [--json] [--folder FOLDER] [--repeats 3]
    python -m benchmarks.scale [--largest 10000000] --json > benchmarks/results/scale.json
    python -m benchmarks.scale --against FOLDER --rows 1000000 [--repeats 3]

A table of eight mixed columns (four floats, one with nulls; two integers; texts of 10 and of 2000 labels) is written
once to FOLDER as one Parquet file with ordinary settings. Everything is measured in processes of its own:

- decode       one pass over the file with rankveil's own reader, all columns, nothing done with them
- statistics   the passes of a release: counts of every column, then the two-way tables of all pairs
- release      `rv.release(file, plan, out=folder)`, start-up, generation and writing included; its peak memory
- argsort      individual ranking in memory, k = 50: read, np.argsort of every column, means, scatter, write
- pandas       the same with pandas

Decode and statistics take turns, and the best of the repeats counts for each, as for all the others.

`--against` compares releases of the same file by this checkout and by another one, such as a git worktree of an older
commit, in turns: processor time of the whole process, start-up included, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

ROOT = Path(__file__).parents[1]
SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
IN_MEMORY_UP_TO = 20_000_000  # rows: beyond, the floors that hold the table in memory are left out
K = 50
CHUNK = 1 << 20  # rows made at a time; also the usual length of a group of rows
REGIONS = [f"region {place}" for place in range(10)]
TOWNS = [f"town number {place}" for place in range(2000)]
PLAN = f"""
[release]
method = "synthetic"
epsilon = 1
[columns.weight]
kind = "number"
lower = 0
upper = 200
step = 0.001
[columns.height]
kind = "number"
lower = 0
upper = 3
step = 0.00001
[columns.score]
kind = "number"
lower = 0
upper = 100
step = 0.0001
[columns.income]
kind = "number"
lower = 0
upper = 500000
step = 1
null = true
[columns.age]
kind = "integer"
lower = 0
upper = 99
[columns.visits]
kind = "integer"
lower = 0
upper = 1000
[columns.region]
kind = "category"
categories = {json.dumps(REGIONS)}
[columns.town]
kind = "category"
categories = {json.dumps(TOWNS)}
"""


def table_of(folder: Path, rows: int) -> Path:
    """The file, made once; memory does not grow with its length."""
    path = folder / f"scale-{rows}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".half")
    rng = np.random.default_rng(1)
    writer = None
    for start in range(0, rows, CHUNK):
        chunk = _rows(rng, min(CHUNK, rows - start))
        writer = writer or papq.ParquetWriter(half, chunk.schema)
        writer.write_table(chunk)
    assert writer is not None
    writer.close()
    return half.replace(path)


def _rows(rng: np.random.Generator, count: int) -> pa.Table:
    age = rng.integers(0, 100, count)
    town = rng.zipf(1.3, count) % len(TOWNS)
    income = np.minimum(np.round(rng.lognormal(9 + age / 100, 1, count), 2), 500_000)
    return pa.table(
        {
            "weight": np.clip(rng.normal(60 + age / 5, 15), 0, 200),
            "height": np.clip(rng.normal(1.7, 0.1, count), 0, 3),
            "score": rng.random(count) * 100,
            "income": pa.array(income, mask=rng.random(count) < 0.05),
            "age": age,
            "visits": np.minimum(rng.geometric(0.05, count), 1000).astype(np.int32),
            "region": pa.DictionaryArray.from_arrays(pa.array(town * 7 % 10), REGIONS).cast(pa.string()),
            "town": pa.DictionaryArray.from_arrays(pa.array(town), TOWNS).cast(pa.string()),
        }
    )


# What is measured, each in a process of its own


@dataclass(frozen=True)
class _Decoding:
    """A fold that looks at nothing."""

    columns: tuple[str, ...]

    def zero(self) -> int:
        return 0

    def step(self, state: int, batch: pa.RecordBatch) -> int:
        return state + batch.num_rows

    def merge(self, first: int, second: int) -> int:
        return first + second


def measure_passes(path: Path, repeats: int) -> dict[str, Any]:
    """Decoding and the statistics passes, in turns."""
    from rankveil.declare import Plan, declare
    from rankveil.declare.dataset import Dataset
    from rankveil.engines import open_table
    from rankveil.measure.budget import Budget
    from rankveil.measure.synthetic import counted, measure
    from rankveil.measure.tables import count_tables
    from rankveil.noise import SystemSource

    table = open_table(path)
    dataset = Dataset(declare(Plan.parse(PLAN), table), table)
    nothing = _Decoding(tuple(dataset.schema.names))
    dataset.engine.fold(table, nothing)  # the file is in the cache of the system from here on
    released = measure(counted(dataset, 1), Budget(Fraction(1)), SystemSource()).columns
    pairs = dict.fromkeys(combinations(released, 2))
    times: dict[str, list[tuple[float, float]]] = {"decode": [], "counts": [], "pairs": []}
    for _ in range(repeats):
        times["decode"].append(_timed(lambda: dataset.engine.fold(table, nothing)))
        times["counts"].append(_timed(lambda: counted(dataset, 1)))
        times["decode"].append(_timed(lambda: dataset.engine.fold(table, nothing)))
        times["pairs"].append(_timed(lambda: count_tables(dataset, released, pairs)))
    best = {name: tuple(map(min, zip(*found, strict=True))) for name, found in times.items()}
    statistics = [best["counts"][place] + best["pairs"][place] for place in (0, 1)]
    return {
        "decode_s": best["decode"][0],
        "decode_cpu_s": best["decode"][1],
        "passes": 2,
        "counts_s": best["counts"][0],
        "pairs_s": best["pairs"][0],
        "statistics_s": statistics[0],
        "statistics_cpu_s": statistics[1],
        "statistics_over_decode": statistics[0] / (2 * best["decode"][0]),
        "statistics_over_decode_cpu": statistics[1] / (2 * best["decode"][1]),
        "statistics_peak_rss_mb": _peak_mb(),
    }


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of processors."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def _peak_mb() -> float:
    """Of this program alone: what `getrusage` says is at least the memory of the process that has started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def run_release(path: Path, out: Path) -> None:
    import rankveil as rv

    rv.release(path, rv.Plan.parse(PLAN), out=out / "release", ledger=out / "ledger.sqlite")


def run_argsort(path: Path, out: Path) -> None:
    table = papq.read_table(path, read_dictionary=["region", "town"])
    ranked = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if pa.types.is_dictionary(column.type):
            labels = np.array(column.dictionary.to_pylist(), dtype=object)
            order = np.argsort(labels)
            codes = np.argsort(order)[column.indices.to_numpy()]
            means = np.rint(_ranked(codes.astype(np.float64))).astype(np.int32)
            ranked[name] = pa.DictionaryArray.from_arrays(pa.array(means), pa.array(labels[order]))
        else:
            ranked[name] = pa.array(_ranked(column.to_numpy(zero_copy_only=False).astype(np.float64)), from_pandas=True)
    papq.write_table(pa.table(ranked), out / "ranked.parquet")


def _ranked(values: np.ndarray) -> np.ndarray:
    """Each value replaced by the mean of its block of k in the sorted column; NaN stays."""
    present = np.flatnonzero(~np.isnan(values)) if np.isnan(values).any() else slice(None)
    own = values[present]
    order = np.argsort(own)
    starts = np.arange(0, max(len(own) - K + 1, 1), K)
    sizes = np.diff(np.append(starts, len(own)))
    means = np.add.reduceat(own[order], starts) / sizes
    spread = np.empty(len(own))
    spread[order] = np.repeat(means, sizes)
    result = values.copy()
    result[present] = spread
    return result


def run_pandas(path: Path, out: Path) -> None:
    import pandas as pd

    frame = pd.read_parquet(path)
    for name in frame.columns:
        column = frame[name]
        texts = column.dtype == object or isinstance(column.dtype, pd.StringDtype)
        kept = column.astype("category") if texts else None
        values = kept.cat.codes.astype("float64") if kept is not None else column
        block = (values.rank(method="first") - 1) // K
        means = values.groupby(block).transform("mean")
        if kept is not None:
            codes = means.round().astype("int32")
            means = pd.Series(pd.Categorical.from_codes(codes, dtype=kept.dtype), index=frame.index)
        frame[name] = means
    frame.to_parquet(out / "ranked.parquet")


WORK = {"release": run_release, "argsort": run_argsort, "pandas": run_pandas}


def child(work: str, path: Path, repeats: int) -> dict[str, Any]:
    """What one process reports."""
    if work == "passes":
        return measure_passes(path, repeats)
    with tempfile.TemporaryDirectory(dir=path.parent) as out:
        WORK[work](path, Path(out))
    import rankveil

    return {"peak_rss_mb": _peak_mb(), "cpu_s": sum(os.times()[:4]), "package": str(Path(rankveil.__file__).resolve())}


def in_own_process(work: str, path: Path, repeats: int) -> dict[str, Any]:
    """Its report, and the seconds it took with start-up (the least of `repeats`)."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", work, "--table", str(path), "--repeats"]
    reports = []
    for _ in range(1 if work == "passes" else repeats):
        start = time.perf_counter()
        done = subprocess.run([*command, str(repeats)], cwd=ROOT, stdout=subprocess.PIPE, check=True, env=os.environ)
        reports.append({**json.loads(done.stdout), "seconds": time.perf_counter() - start})
    return min(reports, key=lambda report: report["seconds"])


def measure(folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    path = table_of(folder, rows)
    print(f"... {rows:,} rows", file=sys.stderr)
    found = {"rows": rows, "file_mb": path.stat().st_size / (1 << 20)}
    passes = in_own_process("passes", path, repeats)
    del passes["seconds"]
    found.update(passes)
    released = in_own_process("release", path, repeats)
    found.update(release_s=released["seconds"], peak_rss_mb=released["peak_rss_mb"])
    for floor in ("argsort", "pandas"):
        report = in_own_process(floor, path, min(repeats, 2)) if rows <= IN_MEMORY_UP_TO else None
        found[f"{floor}_s"] = None if report is None else report["seconds"]
        found[f"{floor}_peak_rss_mb"] = None if report is None else report["peak_rss_mb"]
    return found


# Against another checkout


def against(other: Path, folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    """Releases of the same file by the two checkouts, in turns."""
    path = table_of(folder, rows)
    found: dict[str, list[dict[str, Any]]] = {"other": [], "this": []}
    for _ in range(repeats):
        for name, checkout in (("other", other), ("this", ROOT)):
            command = [sys.executable, "-m", "benchmarks.scale", "--child", "release", "--table", str(path)]
            made = {**os.environ, "PYTHONPATH": str(checkout / "src")}
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, env=made)
            report = json.loads(done.stdout)
            if not Path(report["package"]).is_relative_to(checkout):
                raise SystemExit(f"{checkout} holds no src/rankveil: {report['package']} would be measured")
            found[name].append(report)
    seconds = {name: min(each["cpu_s"] for each in reports) for name, reports in found.items()}
    peaks = {name: max(each["peak_rss_mb"] for each in reports) for name, reports in found.items()}
    return {"rows": rows, "cpu_s": seconds, "peak_rss_mb": peaks, "ratio": seconds["this"] / seconds["other"]}


# The summary


def summary(results: list[dict[str, Any]]) -> str:
    lines = [
        "| rows | decode a pass, s | statistics, s | statistics / decoding as often | release, s | rows/s |"
        " argsort, s | pandas, s | peak RSS, MiB: release | argsort | pandas |",
        "| ---: |" + " ---: |" * 10,
    ]
    for each in results:
        lines.append(
            f"| {each['rows']:,} | {each['decode_s']:.3f} | {each['statistics_s']:.3f} |"
            f" {each['statistics_over_decode']:.2f} | {each['release_s']:.2f} |"
            f" {each['rows'] / each['release_s']:,.0f} |"
            f" {_shown(each['argsort_s'], 2)} | {_shown(each['pandas_s'], 2)} |"
            f" {each['peak_rss_mb']:.0f} | {_shown(each['argsort_peak_rss_mb'], 0)} |"
            f" {_shown(each['pandas_peak_rss_mb'], 0)} |"
        )
    return "\n".join(lines)


def _shown(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def figure(results: list[dict[str, Any]]) -> str:
    from rankveil.report.charts import SERIES, drawn, lines

    names = {
        "release_s": "release",
        "statistics_s": "statistics passes",
        "argsort_s": "argsort in memory",
        "pandas_s": "pandas in memory",
    }
    values = [
        {"rows": each["rows"], "seconds": each[key], "what": name}
        for each in results
        for key, name in names.items()
        if each[key] is not None
    ]
    order = list(names.values())
    spec = lines(
        values,
        x="rows",
        y="seconds",
        x_title="rows",
        y_title="seconds",
        title="Seconds against rows, 8 columns",
        colour=("what", order, list(SERIES)),
        dash=("what", order, [[1, 0], [4, 2], [1, 0], [1, 0]]),
        log=True,
    )
    spec["encoding"]["x"]["scale"] = {"type": "log", "nice": False}
    return drawn(spec)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds and memory against the number of rows.")
    parser.add_argument("--rows", type=int, nargs="*", help="numbers of rows (10000 to --largest, times ten)")
    parser.add_argument("--largest", type=int, default=10_000_000, help="the largest number of rows if none is given")
    parser.add_argument("--folder", type=Path, help="where tables are kept (a temporary folder that is removed)")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--json", action="store_true", help="print JSON: an object, or a list for several sizes")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout, to be compared with this one")
    parser.add_argument("--child", choices=["passes", *WORK], help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child, options.table, options.repeats)))
        return
    sizes = options.rows or [size for size in SIZES if size <= options.largest]
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        if options.against:
            print(
                json.dumps(
                    [against(options.against.resolve(), folder, size, options.repeats) for size in sizes], indent=2
                )
            )
            return
        results = [measure(folder, size, options.repeats) for size in sizes]
    shown = results[0] if len(results) == 1 else results
    print(json.dumps(shown, indent=2) if options.json else summary(results))


if __name__ == "__main__":
    main()
