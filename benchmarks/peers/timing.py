"""Time and memory of releasing Adult at ε = 1, start-up included: to be run while the machine does nothing else.

Our runs use the system's generator and the ledger, as in earnest. Measures of utility are not computed, and results go
to benchmarks/results/timing.json, not into the cache of the comparison.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.peers.data import DATA
from benchmarks.peers.running import Limits, Workshop, execute, machine
from benchmarks.peers.schedule import SLOW
from benchmarks.peers.systems import OURS, System

EPSILON = "1"
_OUR_RUNS = 5  # at least: they are the denominator of every ratio, and take two seconds each


def run(workshop: Workshop, systems: list[System], runs: int, limits: Limits) -> dict[str, Any]:
    rows = {}
    for system in systems:
        if system.not_here:
            continue
        costs = []
        for number in range(max(runs, _OUR_RUNS) if system.ours else runs):
            seed = None if system.ours else number + 1
            costs.append(execute(workshop, system, DATA["adult"], EPSILON, seed, limits))
            if costs[-1].status != "done" or costs[-1].processor_seconds > SLOW:
                break
        rows[system.name] = {
            "status": costs[-1].status,
            "message": costs[-1].message,
            "runs": len(costs),
            "seconds": median(cost.seconds for cost in costs),
            "processor_seconds": median(cost.processor_seconds for cost in costs),
            "peak_mb": max(cost.peak_mb for cost in costs),
        }
    return {"data": "adult", "epsilon": EPSILON, "machine": machine(), "systems": rows}


def summary(result: dict[str, Any]) -> str:
    """A system that was stopped took at least the time shown."""
    rows = result["systems"]
    ours = rows.get(OURS)
    lines = ["| system | s | processor s | peak MB | times ours (processor) |", "| --- | --- | --- | --- | --- |"]
    for name, row in rows.items():
        least = "≥ " if row["status"] == "timed out" else ""
        if row["status"] == "failed":
            lines.append(f"| {name} | failed: {row['message']} | | | |")
            continue
        ratio = f"{least}{row['processor_seconds'] / ours['processor_seconds']:.0f}" if ours and row is not ours else ""
        lines.append(
            f"| {name} | {least}{row['seconds']:.1f} | {least}{row['processor_seconds']:.1f} | {row['peak_mb']:.0f} |"
            f" {ratio} |"
        )
    return "\n".join(lines)
