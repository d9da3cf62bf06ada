"""Attacks on releases of Adult by every method: what is found about people in the table, beside what ε allows.

    python -m benchmarks.risk [--method synthetic ...] [--targets 1000] [--shadows 400] [--json]

The table is examples/adult.csv.gz (32,561 rows, 15 columns, ε = 1, k = 50 where clusters are formed), the records that
are not in it are adult_test.csv.gz (16,281), from the same survey. Each method releases the table once, from a fixed
seed, and that very file is attacked (docs/risk.md). Membership inference makes small releases of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rankveil as rv
from benchmarks.runs import grid
from rankveil.noise import SeededSource
from rankveil.risk.results import CRITERIA, Risk

EXAMPLES = Path(__file__).parent.parent / "examples"
SEED = 1


def attacked(method: str, targets: int, shadows: int) -> dict[str, Any]:
    plan = rv.Plan.load(EXAMPLES / "adult.toml").with_(method=method)
    table, held_out = (EXAMPLES / name for name in ("adult.csv.gz", "adult_test.csv.gz"))
    start = time.process_time()
    made = rv.release(table, plan, accept_no_guarantee=True, source=SeededSource(SEED))
    found = rv.risk(table, made.table, plan, held_out=held_out, targets=targets, shadows=shadows, seed=SEED)
    seconds = time.process_time() - start
    print(f"... {method}: {seconds:.0f} s of processor", file=sys.stderr, flush=True)
    return {**found.as_dict(), "processor_seconds": round(seconds, 1), "line": line(found)}


def line(found: Risk) -> list[str]:
    """What a table shows of one method."""
    shown = [found.method]
    for criterion in CRITERIA:
        worst = found.of(criterion)[0]
        low, high = worst.between
        limit = "none" if worst.limit is None else f"{worst.limit:.3f}"
        shown.append(f"{worst.risk:.3f} ({low:.3f} to {high:.3f}), limit {limit}: {worst.name}")
    near, known = found.nearest, found.membership
    shown.append(f"{near.share:.3f} ({near.low:.3f} to {near.high:.3f}), p {near.p_value:.3f}")
    if known is not None:
        shown.append(f"ε ≥ {known.epsilon_at_least:.2f}" + (", contradicted" if known.contradicts else ""))
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--method", action="append", choices=list(rv.METHODS), help="May be repeated; default: all.")
    options.add_argument("--targets", type=int, default=1000)
    options.add_argument("--shadows", type=int, default=400)
    options.add_argument("--json", action="store_true")
    given = options.parse_args(arguments)
    results = [attacked(method, given.targets, given.shadows) for method in given.method or rv.METHODS]
    if given.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
        return
    heads = ["method", *CRITERIA, "nearest record", *(["membership"] if given.shadows else [])]
    print(grid(heads, [each["line"] for each in results]))


if __name__ == "__main__":
    main()
