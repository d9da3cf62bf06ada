"""PrivMRF's experiment on tables of few values: mean total variation over 300 fixed random subsets of k columns.

    python -m benchmarks.dense [--runs 3] [--epsilons 0.8 3.2] [--neighbours add-remove] [--json]

NLTCS, BR2000 and Adult (discrete), whole tables, k = 3, 4 and 5, δ = 1e-5. PrivMRF's figures are those of a third
party's single rerun of its script and protect against adding or removing a record. Ours protects against replacing one,
or with --neighbours add-remove against the same as PrivMRF (the number of rows is then released with noise, too).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.measures import Figures, Ruler, release
from benchmarks.runs import Runs, grid, means, parser, shown, standard_errors
from benchmarks.tables import TABLES, Source, Split

EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6", "3.2")
DELTA = "1e-5"
WIDTHS = (3, 4, 5)
NAMES = ("nltcs", "adult_discrete", "br2000")

# The README of the data folder: by table and k, at the six ε above.
PRIVMRF = {
    "nltcs": {
        3: (0.0182, 0.0152, 0.0074, 0.0049, 0.0030, 0.0024),
        4: (0.0288, 0.0233, 0.0116, 0.0080, 0.0052, 0.0039),
        5: (0.0415, 0.0327, 0.0175, 0.0117, 0.0084, 0.0062),
    },
    "adult_discrete": {
        3: (0.1271, 0.1085, 0.0876, 0.0442, 0.0397, 0.0343),
        4: (0.1989, 0.1613, 0.1525, 0.0777, 0.0720, 0.0662),
        5: (0.2771, 0.2407, 0.2068, 0.1227, 0.1168, 0.1090),
    },
    "br2000": {
        3: (0.0942, 0.0767, 0.0512, 0.0275, 0.0202, 0.0168),
        4: (0.1595, 0.1163, 0.1028, 0.0524, 0.0364, 0.0332),
        5: (0.2182, 0.1772, 0.1448, 0.0824, 0.0654, 0.0590),
    },
}


def published(name: str, k: int, epsilon: str) -> float | None:
    return PRIVMRF[name][k][EPSILONS.index(epsilon)] if name in PRIVMRF and epsilon in EPSILONS else None


def measure(source: Source, ruler: Ruler, epsilon: str, neighbours: str, seed: int) -> Figures:
    privacy = (
        {} if neighbours == "replace" else {"privacy": {"neighbours": neighbours}}
    )  # older versions have no such part
    reading = ruler.read(release(source, ruler.parts.released, seed, epsilon, DELTA, **privacy))
    return {f"{k}-way TV": reading.k_way(k) for k in WIDTHS}


def run(names: Sequence[str], epsilons: Sequence[str], runs: int, store: Runs, neighbours: str) -> dict[str, Any]:
    cells = []
    for name in names:
        source, ruler = TABLES[name], None
        for epsilon in epsilons:
            found = []
            for seed in range(1, runs + 1):
                # The experiment has no learner, so nothing is held back.
                ruler = ruler or Ruler(source, Split(source.table, source.table))
                asked = {"table": name, "epsilon": epsilon, "neighbours": neighbours, "seed": seed}
                found.append(
                    store.get(asked, lambda r=ruler, e=epsilon, s=seed, t=source: measure(t, r, e, neighbours, s))
                )
            ours, errors = means(found), standard_errors(found)
            cells += [
                {
                    "table": name, "k": k, "epsilon": epsilon, "ours": ours[f"{k}-way TV"],
                    "standard_error": errors[f"{k}-way TV"], "privmrf": published(name, k, epsilon),
                }
                for k in WIDTHS
            ]  # fmt: skip
    compared = [cell for cell in cells if cell["privmrf"] is not None]
    return {
        "runs": runs,
        "delta": DELTA,
        "neighbours": neighbours,
        "code": store.code,
        "cells": cells,
        "ahead": {str(k): sum(c["ours"] <= c["privmrf"] for c in compared if c["k"] == k) for k in WIDTHS},
        "compared": {str(k): sum(c["k"] == k for c in compared) for k in WIDTHS},
    }


def summary(result: dict[str, Any]) -> str:
    cells = {(c["table"], c["k"], c["epsilon"]): c for c in result["cells"]}
    epsilons = list(dict.fromkeys(c["epsilon"] for c in result["cells"]))
    rows = []
    for name, k in dict.fromkeys((c["table"], c["k"]) for c in result["cells"]):
        pairs = [(cells[name, k, epsilon]["privmrf"], cells[name, k, epsilon]["ours"]) for epsilon in epsilons]
        shares = [f"{'' if theirs is None else f'{theirs:.4f}'} / {ours:.4f}" for theirs, ours in pairs]
        rows.append([name, k, *shares])
    ahead = ", ".join(f"{result['ahead'][k]} of {result['compared'][k]} (k = {k})" for k in result["ahead"])
    return (
        f"k-way TV, PrivMRF / ours; δ = {result['delta']}, mean of {result['runs']} run(s), neighbours of ours:"
        f" {result['neighbours']}.\n\n" + grid(["table", "k", *(f"ε {e}" for e in epsilons)], rows)
        + f"\n\nOurs at or below PrivMRF: {ahead}."
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    made = parser("dense", __doc__, runs=3, epsilons=EPSILONS, tables=[name for name in NAMES if name in TABLES])
    made.add_argument("--neighbours", choices=("replace", "add-remove"), default="replace", help="of ours")
    options = made.parse_args(arguments)
    result = run(options.tables, options.epsilons, options.runs, Runs(options.cache), options.neighbours)
    shown(result, summary, as_json=options.json)


if __name__ == "__main__":
    main()
