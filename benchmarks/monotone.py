"""Is more budget ever worse? Every table over ε, without δ and with it; any rise beyond its standard error is named.

    python -m benchmarks.monotone [--runs 5] [--tables census eia] [--no-learner] [--json]

Steps looked at, measure by measure: from each ε to the next, without δ and with δ = 1e-9, and at each ε from without δ
to with it. A step is a rise if the mean error grows by more than the standard error of the difference of the two means.
One measure in six will rise so by chance alone where nothing has changed: `rises` of a few cells are to be looked at
with more runs, not believed. The last line counts cells that rise by more than three standard errors, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.measures import Figures, Ruler, release
from benchmarks.runs import Runs, grid, means, parser, shown, standard_errors
from benchmarks.tables import TABLES, Source

EPSILONS = ("0.1", "0.3", "1", "3", "10")
DELTA = "1e-9"
WAYS = (None, DELTA)
SURE = 3.0  # standard errors


def measure(source: Source, ruler: Ruler, epsilon: str, delta: str | None, seed: int, *, learner: bool) -> Figures:
    return ruler.read(release(source, ruler.parts.released, seed, epsilon, delta)).errors(learner=learner)


def run(names: Sequence[str], epsilons: Sequence[str], runs: int, store: Runs, *, learner: bool) -> dict[str, Any]:
    points = []
    for source in (TABLES[name] for name in names):
        ruler = None
        for epsilon in epsilons:
            for delta in WAYS:
                found = []
                for seed in range(1, runs + 1):
                    ruler = ruler or Ruler(source)
                    asked = {"table": source.name, "epsilon": epsilon, "delta": delta, "learner": learner, "seed": seed}
                    found.append(
                        store.get(
                            asked,
                            lambda t=source, r=ruler, e=epsilon, d=delta, s=seed: measure(
                                t, r, e, d, s, learner=learner
                            ),
                        )
                    )
                point = {"table": source.name, "epsilon": epsilon, "delta": delta, "figures": means(found)}
                points.append({**point, "standard_errors": standard_errors(found)})
    steps = [rise for before, after in _steps(points, epsilons) for rise in _compared(before, after)]
    return {
        "runs": runs,
        "code": store.code,
        "points": points,
        "steps": len(steps),
        "rises": [step for step in steps if step["rise"] > step["standard_error"]],
        "sure_rises": sum(step["rise"] > SURE * step["standard_error"] for step in steps),
    }


def _steps(points: list[dict[str, Any]], epsilons: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    at = {(point["table"], point["epsilon"], point["delta"]): point for point in points}
    for table in dict.fromkeys(point["table"] for point in points):
        for delta in WAYS:
            for low, high in pairwise(epsilons):
                yield at[table, low, delta], at[table, high, delta]
        for epsilon in epsilons:
            yield at[table, epsilon, None], at[table, epsilon, DELTA]


def _compared(before: dict[str, Any], after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for measure_name, error in after["figures"].items():
        yield {
            "table": after["table"],
            "measure": measure_name,
            "from": _named(before),
            "to": _named(after),
            "before": before["figures"][measure_name],
            "after": error,
            "rise": error - before["figures"][measure_name],
            "standard_error": math.hypot(
                before["standard_errors"][measure_name], after["standard_errors"][measure_name]
            ),
        }


def _named(point: dict[str, Any]) -> str:
    return f"ε = {point['epsilon']}" + ("" if point["delta"] is None else f", δ = {point['delta']}")


def summary(result: dict[str, Any]) -> str:
    names = list(dict.fromkeys(name for point in result["points"] for name in point["figures"]))
    rows = [
        [
            point["table"], point["epsilon"], point["delta"] or "–",
            *(f"{point['figures'][n]:.4f} ({point['standard_errors'][n]:.4f})" if n in point["figures"] else None
              for n in names),
        ]
        for point in result["points"]
    ]  # fmt: skip
    risen = [
        [r["table"], r["measure"], r["from"], r["to"], r["before"], r["after"], r["standard_error"]]
        for r in result["rises"]
    ]
    head = ["table", "measure", "from", "to", "before", "after", "standard error"]
    return (
        f"Mean errors of {result['runs']} run(s), standard errors in brackets.\n\n"
        f"{grid(['table', 'ε', 'δ', *names], rows)}\n\n"
        f"{len(result['rises'])} of {result['steps']} steps rise by more than a standard error, {result['sure_rises']}"
        f" by more than {SURE:g}."
        + (f"\n\n{grid(head, risen)}" if risen else "")
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    made = parser("monotone", __doc__, runs=5, epsilons=EPSILONS, tables=list(TABLES))
    made.add_argument("--no-learner", action="store_true", help="leave the learner out, which takes most of the time")
    options = made.parse_args(arguments)
    store = Runs(options.cache)
    result = run(options.tables, options.epsilons, options.runs, store, learner=not options.no_learner)
    shown(result, summary, as_json=options.json)


if __name__ == "__main__":
    main()
