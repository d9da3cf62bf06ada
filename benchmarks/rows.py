"""Time for making and writing fresh rows from a fitted model, and for the random bytes they take.

    python -m benchmarks.rows [--rows 10000000] [--threads 1 2] [--json]

The model has eight mixed columns (three numbers, one with missing values; one number with decimals; one date; three of
labels). CPU seconds are those of the whole process. Nothing private is read: the marginals are made up.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa

from rankveil.declare import Column, Schema
from rankveil.declare.domain import Grid, Nominal
from rankveil.draw.pieces import RowMaker
from rankveil.draw.rows import Rows, cut
from rankveil.fit.marginal import Marginal, NominalMarginal, OrderedMarginal
from rankveil.fit.model import fit
from rankveil.fit.segments import Segments
from rankveil.measure.measurements import Measurements, SignProducts
from rankveil.noise import Sampler, SeededSource, SystemSource
from rankveil.taxonomy import flat_taxonomy
from rankveil.write import FileFormat, ahead
from rankveil.write.files import write_rows

STREAM_BYTES = 1 << 24


def labels(name: str, count: int) -> Column:
    taxonomy = flat_taxonomy(tuple(f"{name} {number}" for number in range(count)), name=name)
    return Column(name, "category", Nominal(taxonomy), "protected", False, False, ())


def number(name: str, grid: Grid, arrow_type: pa.DataType, *, null: bool = False) -> Column:
    return Column(name, "number", grid, "protected", null, False, ())


SCHEMA = Schema(
    (
        number("age", Grid(73, Decimal(17)), pa.int64()),
        number("income", Grid(500_000), pa.int64()),
        number("hours", Grid(98), pa.int64(), null=True),
        number("score", Grid(1_000_000, step=Decimal("0.01"), whole=False), pa.float64()),
        number("day", Grid(3649, Decimal(10_000), date_format="%Y-%m-%d"), pa.date32()),
        labels("sex", 2),
        labels("job", 15),
        labels("country", 41),
    )
)


def marginal(column: Column, rng: np.random.Generator) -> Marginal:
    null = column.allows_null
    if isinstance(column.domain, Nominal):
        mass = rng.gamma(1, 1, column.domain.label_count)
        return NominalMarginal(mass, most_cells=16, least_mass=0.01, label_variance=1, null=null)
    size = column.domain.width + 1
    ends = np.unique(np.linspace(0, size, min(size, 250) + 1).astype(np.int64))
    segments = Segments(ends[:-1], ends[1:], rng.gamma(2, 1, len(ends) - 1), 0.1 if null else 0.0)
    return OrderedMarginal(size, segments, most_cells=16, least_mass=0.1, cell_variance=1, null=null)


def rows_of(count: int) -> Rows:
    rng = np.random.default_rng(1)
    marginals = {column.name: marginal(column, rng) for column in SCHEMA.columns}
    products = SignProducts(dict.fromkeys(combinations(marginals, 2), 0.2 * count), 1.0)
    measured = Measurements(SCHEMA, count, marginals, signs=products, linkage="copula")
    model = fit(measured, Sampler(SeededSource(1)))
    pieces = cut(count, SystemSource())
    maker = RowMaker.of(model, len(pieces), (), Sampler(SeededSource(2)))
    return Rows(SCHEMA, count, (), row_aligned=False, pieces=pieces, make=maker.make)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def stream_rates() -> dict[str, float]:
    """Megabytes per CPU second, best of three."""
    key = os.urandom(40)
    sources: dict[str, Callable[[], object]] = {
        "SHAKE-128": lambda: hashlib.shake_128(key).digest(STREAM_BYTES),
        "SHAKE-256": lambda: hashlib.shake_256(key).digest(STREAM_BYTES),
        "BLAKE2b, counter": lambda: [
            hashlib.blake2b(block.to_bytes(8, "little"), key=key).digest() for block in range(STREAM_BYTES // 64)
        ],
        "os.urandom": lambda: os.urandom(STREAM_BYTES),
        "PCG64 (no CSPRNG)": lambda: np.random.default_rng(1).bytes(STREAM_BYTES),
    }
    return {name: STREAM_BYTES / 1e6 / min(timed(draw)[1] for _ in range(3)) for name, draw in sources.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = []
    rows = rows_of(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        for file_format in ("parquet", "csv"):
            for threads in options.threads:
                ahead.processors = lambda threads=threads: threads  # type: ignore[assignment]
                path = Path(folder) / "rows"
                wall, cpu = timed(lambda path=path, name=file_format: write_rows(rows, path, "", FileFormat(name)))
                results.append((file_format, threads, wall, cpu, path.stat().st_size / 1e6))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        print(json.dumps({"streams": stream_rates(), "rows": options.rows, "writing": results, "peak_mib": peak}))
        return
    for name, rate in stream_rates().items():
        print(f"{name:20} {rate:7.0f} MB/s")
    for file_format, threads, wall, cpu, size in results:
        print(f"{file_format:8} {threads} threads  {wall:6.2f} s  {cpu:6.2f} s CPU  {size:6.0f} MB")
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
