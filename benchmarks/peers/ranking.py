"""From measures to one figure per system, and from figures to wins and losses.

The normalisation was fixed before any run of MST, AIM or PrivBayes here. On one pair of data set and ε, for one
measure, a system's score is

    (best + FLOOR) / (error + FLOOR)

where `best` is the smallest error of any ranked system on this pair (ours included) and FLOOR = 0.001. The best has
score 1, one with twice the error 1/2, a useless one almost 0. FLOOR keeps differences between errors that are all
nearly zero from counting: below a thousandth (of the rows, of a standard deviation, of an AUC) nobody would notice. A
system's utility is the mean of its scores over the eight measures; errors are first averaged over runs.

Since any such choice can favour somebody, two others are computed beside it: the mean rank, and the geometric mean of
(error + FLOOR) / (best + FLOOR).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean, pstdev
from typing import Any

from benchmarks.peers.cache import Run
from benchmarks.peers.systems import OURS, SYSTEMS

FLOOR = 0.001
MEASURES = {
    "total_variation": "1-way TV",
    "pair_total_variation": "2-way TV",
    "wasserstein": "W1/σ",
    "correlation_error": "correlation",
    "query_error": "queries",
    "auc_shortfall": "AUC shortfall",
    "jsd": "JSD",
    "variance_change": "variance",
}
Errors = Mapping[str, float]


def scores(errors: Mapping[str, Errors]) -> dict[str, dict[str, float]]:
    """System -> measure -> score, for the ranked systems of one pair."""
    best = {measure: min(found[measure] for found in errors.values()) for measure in MEASURES}
    return {
        system: {measure: (best[measure] + FLOOR) / (found[measure] + FLOOR) for measure in MEASURES}
        for system, found in errors.items()
    }


def utilities(errors: Mapping[str, Errors]) -> dict[str, float]:
    """The mean score: larger is better, at most 1."""
    return {system: mean(found.values()) for system, found in scores(errors).items()}


def ratios(errors: Mapping[str, Errors]) -> dict[str, float]:
    """Geometric mean of how many times the best error a system has: smaller is better, at least 1."""
    return {
        system: math.exp(mean(-math.log(score) for score in found.values())) for system, found in scores(errors).items()
    }


def mean_ranks(errors: Mapping[str, Errors]) -> dict[str, float]:
    """Mean of the ranks over measures, 1 is best; equal errors share the mean of their ranks."""

    def rank(value: float, values: Sequence[float]) -> float:
        return sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2

    return {
        system: mean(rank(found[m], [other[m] for other in errors.values()]) for m in MEASURES)
        for system, found in errors.items()
    }


def summarise(runs: Sequence[Run]) -> dict[str, Any]:
    """One system on one pair."""
    done = [run for run in runs if run.status == "done"]
    if not done:
        last = runs[-1]
        return {"status": last.status, "runs": 0, "message": last.message, "version": last.version,
                "processor_seconds": last.processor_seconds, **_made_by(runs)}  # fmt: skip
    names = done[0].measures.keys()
    return {
        "status": "done",
        "runs": len(done),
        "failed_runs": len(runs) - len(done),
        "measures": {name: mean(run.measures[name] for run in done) for name in names},
        "deviations": {name: pstdev(run.measures[name] for run in done) for name in names},
        "seconds": mean(run.seconds for run in done),
        "processor_seconds": mean(run.processor_seconds for run in done),
        "peak_mb": max(run.peak_mb for run in done),
        "repairs": mean(run.repairs for run in done),
        "version": done[-1].version,
        **_made_by(runs),
    }


def _made_by(runs: Sequence[Run]) -> dict[str, Any]:
    """By which code, and where. Runs of different code have none in common, so they count as made by other code."""
    first, last = runs[0], runs[-1]
    same = all(run.fingerprint == first.fingerprint for run in runs)
    machine = {key: value for key, value in last.machine.items() if key != "load"}
    return {"fingerprint": first.fingerprint if same else {}, "machine": machine}


def compare(
    data: str, epsilon: str, runs: Mapping[str, Sequence[Run]], kept: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """One pair: every system, its utility where it is ranked, and whether ours is at or above the best peer.

    `kept` are entries of an earlier result, for systems without a run in the cache of this machine.
    """
    systems = {
        name: {key: value for key, value in entry.items() if key not in _SCORES}
        for name, entry in (kept or {}).items()
        if name in SYSTEMS and not SYSTEMS[name].not_here
    }
    systems |= {name: summarise(found) for name, found in runs.items() if found}
    systems = {name: systems[name] for name in SYSTEMS if name in systems}
    absent = [system for system in SYSTEMS.values() if system.not_here]
    systems |= {system.name: {"status": "not here", "runs": 0, "message": system.not_here} for system in absent}
    errors = {
        name: found["measures"] for name, found in systems.items() if found["status"] == "done" and SYSTEMS[name].ranked
    }
    rivals = [name for name in errors if not SYSTEMS[name].ours]
    not_run = [name for name, s in SYSTEMS.items() if s.ranked and s.takes_part(epsilon) and name not in systems]
    result: dict[str, Any] = {"data": data, "epsilon": epsilon, "systems": systems, "ranked_systems_not_run": not_run}
    for key, figures in (("utility", utilities), ("error_ratio", ratios), ("mean_rank", mean_ranks)):
        for name, value in figures(errors).items() if errors else ():
            systems[name][key] = value
    if OURS not in errors or not rivals:
        return {**result, "best_peer": None, "ours_at_or_above_best_peer": None}
    best = max(rivals, key=lambda name: systems[name]["utility"])
    ours = systems[OURS]
    return {
        **result,
        "best_peer": best,
        "ours_at_or_above_best_peer": ours["utility"] >= systems[best]["utility"],
        "ours_at_or_above_by_error_ratio": ours["error_ratio"] <= min(systems[name]["error_ratio"] for name in rivals),
        "ours_at_or_above_by_mean_rank": ours["mean_rank"] <= min(systems[name]["mean_rank"] for name in rivals),
        "best_peer_per_measure": {
            measure: min(rivals, key=lambda name, measure=measure: errors[name][measure]) for measure in _COMPARED
        },
        "ours_best_on": [m for m in _COMPARED if errors[OURS][m] <= min(errors[name][m] for name in rivals)],
    }


_COMPARED = (*MEASURES, "jsd_numeric")
_SCORES = ("utility", "error_ratio", "mean_rank")  # depend on who else takes part
