"""What protecting persons costs, and what "add-remove" gains: a made table of visits, several per person.

    python -m benchmarks.units [--runs 3] [--epsilon 1] [--delta 1e-9]

20,000 visits of 6,726 persons (seed fixed): most have one or two, a few have dozens. The table of figures in
docs/units.md comes from here: mean total variation of columns and pairs from the whole table of visits, and the number
of released rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from statistics import mean

import numpy as np
import pyarrow as pa

import rankveil as rv
from rankveil.noise import SeededSource

VISITS = 20_000
COLUMNS = {
    "person": {"kind": "drop"},
    "age": {"kind": "integer", "lower": 0, "upper": 99},
    "sex": {"kind": "category", "categories": ["f", "m"]},
    "reason": {"kind": "category", "categories": ["check", "injury", "illness", "chronic"]},
    "minutes": {"kind": "integer", "lower": 0, "upper": 120},
    "referred": {"kind": "boolean"},
    "smoker": {"kind": "boolean"},
}
UNITS: dict[str, dict[str, object]] = {
    "one row (the default)": {},
    "one row, there or not": {"neighbours": "add-remove"},
    **{f"a person, up to {rows}": {"person": "person", "rows_per_person": rows} for rows in (1, 2, 3, 5, 10)},
    "a person, up to 3, there or not": {"neighbours": "add-remove", "person": "person", "rows_per_person": 3},
}


def visits() -> pa.Table:
    """Older people come more often, and mostly because of what is chronic."""
    rng = np.random.default_rng(17)
    persons = 12_000
    age = np.clip(rng.gamma(5, 9, persons), 0, 99).astype(int)
    often = rng.gamma(0.8, 1, persons) * (1 + (age > 60) * 2)
    whose = rng.choice(persons, VISITS, p=often / often.sum())
    chronic = rng.random(VISITS) < 0.1 + 0.5 * (age[whose] > 60)
    reason = np.where(chronic, 3, rng.integers(0, 3, VISITS))
    smoker, sex = rng.random(persons) < 0.25, rng.integers(0, 2, persons)
    minutes = np.clip(rng.gamma(3, 6, VISITS) + 10 * (reason == 3), 0, 120).astype(int)
    return pa.table(
        {
            "person": [f"p{number:05d}" for number in whose],
            "age": age[whose],
            "sex": np.array(["f", "m"])[sex[whose]],
            "reason": np.array(["check", "injury", "illness", "chronic"])[reason],
            "minutes": minutes,
            "referred": rng.random(VISITS) < 0.1 + 0.2 * (reason >= 2),
            "smoker": smoker[whose],
        }
    )


def cells(table: pa.Table) -> dict[str, np.ndarray]:
    """Numbers in bands of ten, everything else as it is."""
    plain = {name: np.asarray(table[name].to_pylist()) for name in COLUMNS if name != "person"}
    return {
        name: (values // 10 if name in ("age", "minutes") else values).astype(str) for name, values in plain.items()
    }


def distance(original: pa.Table, released: pa.Table, order: int) -> float:
    before, after = cells(original), cells(released)
    found = []
    for columns in combinations(before, order):
        joined = [
            ["|".join(row) for row in zip(*(each[name] for name in columns), strict=True)] for each in (before, after)
        ]
        shares = [dict(zip(*np.unique(part, return_counts=True), strict=True)) for part in joined]
        totals = [len(part) for part in joined]
        labels = shares[0].keys() | shares[1].keys()
        found.append(sum(abs(shares[0].get(x, 0) / totals[0] - shares[1].get(x, 0) / totals[1]) for x in labels) / 2)
    return mean(found)


def main(arguments: Sequence[str] | None = None) -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--runs", type=int, default=3)
    made.add_argument("--epsilon", default="1")
    made.add_argument("--delta", default="1e-9")
    options = made.parse_args(arguments)
    table = visits()
    print("| protected | 1-way TV | 2-way TV | rows, first run |\n|---|---|---|---|")
    for name, privacy in UNITS.items():
        release = {"epsilon": options.epsilon, "delta": options.delta}
        plan = rv.Plan.from_dict({"release": release, "privacy": privacy, "columns": COLUMNS})
        runs = [rv.release(table, plan, source=SeededSource(seed)).table for seed in range(1, options.runs + 1)]
        errors = [mean(distance(table, run, order) for run in runs) for order in (1, 2)]
        print(f"| {name} | {errors[0]:.4f} | {errors[1]:.4f} | {runs[0].num_rows:,} |")


if __name__ == "__main__":
    main()
