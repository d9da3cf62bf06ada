"""Relative error and JSD against k: the data behind the paper's four figures.

Adult and Census with m = 8 and 13 protect their attributes together. m = 1 is not explained in the paper: here every
attribute of Census is protected alone, and the figures are averages over the 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankveil.declare import Records
from rankveil.evaluate import measure
from rankveil.noise import RandomSource
from rankveil.reproduce.data import adult, census, census_file, first_columns
from rankveil.reproduce.runs import NOISELESS, repeated

EPSILONS = ("0.1", "1", "10")
CENSUS_K = (2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)
ADULT_K = (2, 3, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200)
CENSUS_CASES = ("census-1", "census-8", "census-13")
CASES = (*CENSUS_CASES, "adult")


@dataclass(frozen=True)
class Point:
    case: str
    method: str
    epsilon: str  # empty for methods without noise
    k: int  # 1 for plain Laplace, which forms no clusters
    relative_error: float
    jsd: float
    relative_error_sd: float
    jsd_sd: float
    runs: int


def curves(
    census_path: Path | None,
    cases: Iterable[str],
    runs: int,
    source: RandomSource,
    progress: Callable[[str], None],
    cluster_sizes: Sequence[int] | None = None,
) -> list[Point]:
    """All methods and baselines for the given cases; those of Census need its file."""
    points = []
    for case in cases:
        tables = _tables(case, census_path)
        sizes = cluster_sizes or (ADULT_K if case == "adult" else CENSUS_K)
        for epsilon in EPSILONS:
            progress(f"{case}: plain Laplace, ε = {epsilon}")
            points.append(_point(case, tables, "laplace", 1, epsilon, runs, source))
        for cluster_size in sizes:
            progress(f"{case}: k = {cluster_size}")
            points.extend(_point(case, tables, method, cluster_size, "", 1, source) for method in NOISELESS)
            points.extend(
                _point(case, tables, method, cluster_size, epsilon, runs, source)
                for method in ("IR", "MV")
                for epsilon in EPSILONS
            )
    return points


def _tables(case: str, census_path: Path | None) -> list[Records]:
    if case == "adult":
        return [adult()]
    whole = census(census_path or census_file(None))
    attributes = int(case.removeprefix("census-"))
    if attributes == 1:
        return [first_columns(whole, 1, after=place) for place in range(len(whole.schema.columns))]
    return [first_columns(whole, attributes)]


def _point(
    case: str, tables: list[Records], method: str, cluster_size: int, epsilon: str, runs: int, source: RandomSource
) -> Point:
    # runs x tables x (relative error, JSD)
    found = np.array(
        [
            [
                (result.relative_error or 0.0, result.jsd)
                for released in repeated(table, method, cluster_size, epsilon or "1", runs, source)
                for result in [measure(table, released)]
            ]
            for table in tables
        ]
    )
    per_run = found.mean(axis=0)
    spread = per_run.std(axis=0, ddof=1) if runs > 1 else np.zeros(2)
    return Point(
        case, method, epsilon, cluster_size,
        float(per_run[:, 0].mean()), float(per_run[:, 1].mean()), float(spread[0]), float(spread[1]), runs,
    )  # fmt: skip
