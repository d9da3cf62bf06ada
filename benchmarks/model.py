"""A kept model of Adult: how large it is, how long it takes to read, and what rows drawn from it are worth.

    python -m benchmarks.model [--seeds 5]

Prints JSON: for all 15 columns at ε = 1, δ = 1e-9, means over releases. Distances are total variation from the original
in %, over all columns and all pairs, numbers in twenty ranges: of the release, of as many rows drawn from the model
that was kept with it, and of a tenth and ten times as many. Seconds are of processor time: machines are shared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import rankveil as rv
from rankveil.declare import Plan, declare, encode
from rankveil.engines import open_table
from rankveil.noise import SeededSource

EXAMPLES = Path(__file__).parent.parent / "examples"
RANGES = 20
WHERE = "age >= 65"


def adult_plan() -> Plan:
    return Plan.load(EXAMPLES / "adult.toml").with_(epsilon="1", delta="1e-9")


class Distances:
    """Total variation from the original, by columns and by pairs."""

    def __init__(self, original: object, plan: Plan) -> None:
        table = open_table(original)
        self._schema = declare(plan, table)
        codes = encode(table, self._schema).codes
        self._edges = {}
        for name, each in codes.items():
            edges = np.unique(each)[1:]
            few = np.quantile(each, np.linspace(0, 1, RANGES + 1)[1:-1])
            self._edges[name] = edges if len(edges) < RANGES else np.unique(few)
        self._original = self._shares(codes)

    def _shares(self, codes: dict[str, Any]) -> dict[tuple[str, ...], Any]:
        cells = {name: np.searchsorted(self._edges[name], each, side="right") for name, each in codes.items()}
        sizes = {name: len(edges) + 1 for name, edges in self._edges.items()}
        found = {}
        for order in (1, 2):
            for names in combinations(cells, order):
                index = np.zeros(len(cells[names[0]]), np.int64)
                for name in names:
                    index = index * sizes[name] + cells[name]
                size = int(np.prod([sizes[name] for name in names]))
                found[names] = np.bincount(index, minlength=size) / len(index)
        return found

    def of(self, rows: pa.Table) -> tuple[float, float]:
        """In %, the mean over columns, and over pairs."""
        shares = self._shares(encode(open_table(rows), self._schema).codes)
        off = {names: 50 * float(np.abs(share - self._original[names]).sum()) for names, share in shares.items()}
        one, two = ([value for names, value in off.items() if len(names) == order] for order in (1, 2))
        return float(np.mean(one)), float(np.mean(two))


def measured(seed: int, plan: Plan, distances: Distances) -> dict[str, float]:
    """One release, its model written and read, and rows drawn from it."""
    made = rv.release(EXAMPLES / "adult.csv.gz", plan, keep_model=True, source=SeededSource(seed))
    assert made.model is not None
    with tempfile.TemporaryDirectory() as folder:
        made.model.save(Path(folder) / "model")
        size = sum(path.stat().st_size for path in (Path(folder) / "model").iterdir())
        start = time.process_time()
        model = rv.Model.load(Path(folder) / "model")
        loading = time.process_time() - start
    rows = made.certificate.rows
    tables = {"release": made.table} | {
        f"sample of {part} n": model.sample(int(rows * part), source=SeededSource(seed + 1)) for part in (0.1, 1, 10)
    }
    start = time.process_time()
    model.sample(rows, where=WHERE, source=SeededSource(seed + 2))
    found = {"bytes": float(size), "seconds_to_load": loading, "seconds_given_a_condition": time.process_time() - start}
    for name, table in tables.items():
        one, two = distances.of(table)
        found |= {f"one-way, {name}": one, f"two-way, {name}": two}
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    plan = adult_plan()
    distances = Distances(EXAMPLES / "adult.csv.gz", plan)
    runs = [measured(seed, plan, distances) for seed in range(parser.parse_args().seeds)]
    print(json.dumps({key: round(float(np.mean([run[key] for run in runs])), 4) for key in runs[0]}, indent=2))


if __name__ == "__main__":
    main()
