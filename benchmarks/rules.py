"""What rules and derived columns do to a release, on the census-like table of examples/rules.

    python -m benchmarks.rules [--runs 5] [--json]

Three plans at ε = 1 and 10, δ = 1e-9: as it is; without its rules; and with its derived columns measured like others.
For each the rows that break a rule or contradict a derived column, and total variations of every column and of every
pair, as means over runs with their standard errors. `worse` names columns and pairs whose mean with rules is above that
without by more than two standard errors of the difference.
"""

from __future__ import annotations

import argparse
import json
import math
import runpy
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from rankveil.declare import Plan, Records, declare, encode
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.evaluate import measure_all
from rankveil.methods import budget_of, method_named
from rankveil.noise import SeededSource

HERE = Path(__file__).parent.parent / "examples" / "rules"
EPSILONS = ("1", "10")
WORSE = 2.0  # standard errors


def plans(whole: Plan) -> dict[str, Plan]:
    content = whole.model_dump()
    plain = {name: {**entry, "derived": None} for name, entry in content["columns"].items()}
    return {
        "as it is": whole,
        "without rules": Plan.from_dict({**content, "rule": ()}, folder=whole.folder),
        "derived columns measured": Plan.from_dict({**content, "columns": plain}, folder=whole.folder),
    }


def one_run(table: Any, plan: Plan, original: Records, epsilon: str, seed: int) -> dict[str, float]:
    """Total variations by column and by pair, and rows that break a rule of the plan `original` was read by."""
    plan = plan.with_(epsilon=epsilon)
    opened = open_table(table)
    method = method_named(plan.release.method)
    prepared = method.prepare(Dataset(declare(plan, opened), opened), 1)
    rows = method.drawn(prepared, budget_of(plan), SeededSource(seed))
    released = Records(original.schema, rows.collected(), rows.row_count)
    broken = np.zeros(rows.row_count, np.bool_)
    for rule in original.schema.checks:
        broken |= ~rule.holds(released.codes)
    found = measure_all(original, released)
    pairs = {" x ".join(pair.columns): pair.total_variation for pair in found.pairs}
    return {"broken": float(broken.sum()), **{one.name: one.total_variation or 0.0 for one in found.columns}, **pairs}


def run(runs: int) -> dict[str, Any]:
    table = runpy.run_path(str(HERE / "make_people.py"))["tables"]()[0]
    whole = Plan.load(HERE / "people.toml")
    opened = open_table(table)
    original = encode(opened, declare(whole, opened))
    points = []
    for epsilon in EPSILONS:
        found = {
            name: [one_run(table, plan, original, epsilon, seed) for seed in range(1, runs + 1)]
            for name, plan in plans(whole).items()
        }
        points.append({"epsilon": epsilon, "delta": str(whole.release.delta), **compared(found)})
    return {"runs": runs, "rows": original.row_count, "columns": len(original.schema.columns), "points": points}


def compared(found: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    names = [name for name in found["as it is"][0] if name != "broken"]
    ways: dict[str, Any] = {}
    for way, each in found.items():
        one = [mean(single[name] for name in names if " x " not in name) for single in each]
        two = [mean(single[name] for name in names if " x " in name) for single in each]
        ways[way] = {
            "broken rows": mean(single["broken"] for single in each),
            "1-way TV": mean(one),
            "1-way TV, standard error": _error(one),
            "2-way TV": mean(two),
            "2-way TV, standard error": _error(two),
        }
    with_rules, without = found["as it is"], found["without rules"]
    worse, better = [], 0
    for name in names:
        before, after = [run[name] for run in without], [run[name] for run in with_rules]
        rise = mean(after) - mean(before)
        better += rise <= 0
        if rise > WORSE * math.hypot(_error(before), _error(after)):
            worse.append({"of": name, "without": mean(before), "with": mean(after)})
    worse.sort(key=lambda each: each["without"] - each["with"])
    return {"plans": ways, "compared": len(names), "no worse with rules": better, "worse": worse}


def _error(values: list[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--json", action="store_true", help="write benchmarks/results/rules.json")
    chosen = options.parse_args()
    result = run(chosen.runs)
    for point in result["points"]:
        print(f"ε = {point['epsilon']}, δ = {point['delta']}")
        for way, figures in point["plans"].items():
            print(f"  {way:26}" + ", ".join(f"{name} {value:.4f}" for name, value in figures.items()))
        print(f"  no worse with rules: {point['no worse with rules']} of {point['compared']}; clearly worse:")
        for each in point["worse"][:12]:
            print(f"    {each['of']:32} {each['without']:.4f} -> {each['with']:.4f}")
    if chosen.json:
        path = Path(__file__).parent / "results" / "rules.json"
        path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
