"""Is the advice on δ right? Whole releases of tables of many shapes, with ε alone and with δ = 1e-9 as well.

A dry run recommends the way whose planned noise alone is expected to move fewer records (preview/noise_alone.py). Here
both ways are released and measured: `python -m benchmarks.pure_or_delta --runs 3` prints one line per table, number of
rows and ε, and how often the way with the smaller figure had the smaller error (1-way total variation, as `evaluate`
measures it, mean over columns). Seeded, so that it prints the same every time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from rankveil.declare import Plan, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.evaluate.distances import cells_of, total_variation
from rankveil.measure.budget import Budget
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.preview.noise_alone import SMALL_DELTA, Choice, choice

Columns = Mapping[str, tuple[dict[str, Any], Any]]  # name -> entry of the plan, values
EPSILONS = ("0.1", "1", "10")


def integer(upper: int) -> dict[str, Any]:
    return {"kind": "integer", "lower": 0, "upper": upper}


def labels(count: int) -> dict[str, Any]:
    return {"kind": "category", "categories": [f"l{place}" for place in range(count)]}


def shapes(rows: int) -> Iterator[tuple[str, Columns]]:
    """Tables that hurt in different ways."""
    rng = np.random.default_rng(5)

    def rare(count: int) -> Any:
        weights = 1 / np.arange(1, count + 1) ** 1.2
        return np.array(labels(count)["categories"])[rng.choice(count, rows, p=weights / weights.sum())]

    def spike() -> Any:
        """Two in five at the upper end, three in ten at zero."""
        return np.where(rng.random(rows) < 0.4, 999, np.where(rng.random(rows) < 0.5, 0, rng.integers(0, 999, rows)))

    def tail() -> Any:
        return np.minimum(np.exp(rng.normal(8, 2, rows)), 1_000_000).astype(np.int64)

    def bell() -> Any:
        return np.clip(rng.normal(500, 120, rows), 0, 1000).astype(np.int64)

    def falling() -> Any:
        return np.minimum(rng.exponential(120, rows), 1000).astype(np.int64)

    def mixed(place: int) -> tuple[dict[str, Any], Any]:
        return (
            (integer(99), np.clip(rng.normal(40, 15, rows), 0, 99).astype(np.int64)),
            (labels(12), rare(12)),
            (integer(999), spike()),
            (labels(2), rare(2)),
            (integer(1_000_000), tail()),
        )[place % 5]

    def with_nulls(place: int) -> tuple[dict[str, Any], Any]:
        entry, values = mixed(place)
        values = values.astype(object)
        values[rng.random(rows) < 0.3] = None
        return entry | {"null": True}, values

    def constant(place: int) -> tuple[dict[str, Any], Any]:
        return (integer(999), np.full(rows, 7)) if place % 2 else (labels(20), np.full(rows, "l3"))

    yield "spike at the upper end, 12 columns", {f"c{place}": (integer(999), spike()) for place in range(12)}
    yield "heavy tail, 8 columns", {f"c{place}": (integer(1_000_000), tail()) for place in range(8)}
    yield "constant, 10 columns", {f"c{place}": constant(place) for place in range(10)}
    yield "mixed, 50 columns", {f"c{place}": mixed(place) for place in range(50)}
    yield "missing values, 10 columns", {f"c{place}": with_nulls(place) for place in range(10)}
    yield "labels, 3 columns", {f"c{size}": (labels(size), rare(size)) for size in (6, 16, 26)}
    yield "yes or no, 16 columns", {f"c{place}": (labels(2), rare(2)) for place in range(16)}
    yield "spike at the upper end, 1 column", {"c": (integer(999), spike())}
    # Added after a reviewer's trial with such columns, in which the first form of the figure was right in 12 of 24.
    for count in (2, 4, 8):
        yield f"bells, {count} columns", {f"c{place}": (integer(1000), bell()) for place in range(count)}
        yield f"exponential, {count} columns", {f"c{place}": (integer(1000), falling()) for place in range(count)}


@dataclass(frozen=True)
class Outcome:
    table: str
    rows: int
    epsilon: str
    expected: Choice
    pure: float  # measured
    with_delta: float

    @property
    def advised(self) -> float:
        return self.pure if self.expected.better == "pure" else self.with_delta

    @property
    def right(self) -> bool:
        return (self.expected.better == "pure") == (self.pure < self.with_delta)


def outcomes(
    rows: int, runs: int, epsilons: tuple[str, ...] = EPSILONS, most_columns: int | None = None
) -> Iterator[Outcome]:
    for name, columns in shapes(rows):
        if most_columns is not None and len(columns) > most_columns:
            continue
        for epsilon in epsilons:
            plan = plan_for(columns, epsilon, rows)
            expected = choice(plan, rows)
            if expected is None:
                raise AssertionError("synthetic knows both ways")
            measured = [_measured(plan, columns, delta, runs) for delta in (None, SMALL_DELTA)]
            yield Outcome(name, rows, epsilon, expected, *measured)


def plan_for(columns: Columns, epsilon: str, rows: int) -> Plan:
    release = {"method": "synthetic", "epsilon": epsilon, "expected_rows": rows}
    return Plan.from_dict({"release": release, "columns": {name: entry for name, (entry, _) in columns.items()}})


def _measured(plan: Plan, columns: Columns, delta: Decimal | None, runs: int) -> float:
    """Mean error of the columns, over so many releases."""
    table = open_table(pa.table({name: pa.array(values) for name, (_, values) in columns.items()}))
    dataset, method = Dataset(declare(plan, table), table), METHODS["synthetic"]
    counted, original = method.prepare(dataset, 1), dataset.records()
    errors = []
    for run in range(runs):
        budget = Budget(Fraction(plan.release.epsilon), None if delta is None else Fraction(delta))
        source = SeededSource(run)
        released = method.drawn(counted, budget, source).collected()
        errors += [
            total_variation(cells_of(column, original.codes[column.name], released[column.name]))
            for column in original.schema.protected
        ]
    return float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", default="1000,5000,30000")
    options = parser.parse_args()
    found = []
    print("| table | rows | ε | planned noise: ε alone, with δ | measured: ε alone, with δ | advice |")
    print("|---|---|---|---|---|---|")
    for rows in map(int, options.rows.split(",")):
        for each in outcomes(rows, options.runs):
            found.append(each)
            verdict = each.expected.better + (", right" if each.right else ", wrong")
            planned = f"{each.expected.pure:.3g}, {each.expected.with_delta:.3g}"
            measured = f"{each.pure:.3g}, {each.with_delta:.3g}"
            print(f"| {each.table} | {rows:,} | {each.epsilon} | {planned} | {measured} | {verdict} |", flush=True)
    print(f"\nRight in {sum(each.right for each in found)} of {len(found)}.")
    lost = [np.log(each.advised / min(each.pure, each.with_delta)) for each in found]
    print(f"Error of the way advised over that of the better one, geometric mean: {np.exp(np.mean(lost)):.3f}.")


if __name__ == "__main__":
    main()
