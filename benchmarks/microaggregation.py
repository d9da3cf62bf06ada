"""Individual ranking against one NumPy argsort of the same array; MDAV on a table of Adult's size.

    python -m benchmarks.microaggregation [--rows N] [--json]

Both sides of a ratio are measured in this one run, best of three.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.declare import Plan, declare, encode
from rankveil.engines import open_table
from rankveil.microaggregate.ranking import rank_and_cut
from rankveil.published.mdav import mdav

PLAN = """
[release]
epsilon = 1
[columns.age]
kind = "integer"
lower = 0
upper = 120
[columns.hours]
kind = "integer"
lower = 0
upper = 99
[columns.occupation]
kind = "category"
categories = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]
[columns.country]
kind = "category"
categories = ["AA", "AB", "AC", "AD", "AE", "AF", "AG", "AH"]
"""


def best_of_three(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def microaggregated(values: NDArray[np.int64], cluster_size: int) -> NDArray[np.int64]:
    """One column from raw values to the centroid of every row."""
    clustering, ranked = rank_and_cut(values, cluster_size)
    sums = np.add.reduceat(ranked, clustering.starts)
    return clustering.spread(np.rint(sums / clustering.sizes).astype(np.int64), len(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    columns = {
        "wide (2^30 values)": rng.integers(0, 1 << 30, options.rows),
        "money (lognormal)": rng.lognormal(10, 1, options.rows).astype(np.int64),
        "age (74 values)": rng.integers(0, 74, options.rows),
    }
    results = []
    for name, values in columns.items():
        argsort = best_of_three(lambda values=values: np.argsort(values))
        for cluster_size in (2, 10, 100):
            ours = best_of_three(lambda values=values, k=cluster_size: microaggregated(values, k))
            results.append(
                {"column": name, "rows": options.rows, "k": cluster_size, "argsort_s": round(argsort, 3),
                 "ranking_s": round(ours, 3), "ratio": round(ours / argsort, 2)}
            )  # fmt: skip
    plan = Plan.parse(PLAN)
    rows = 30_162
    table = pa.table(
        {
            "age": rng.integers(17, 91, rows),
            "hours": rng.integers(1, 100, rows),
            "occupation": rng.choice(list("abcdefghijklmn"), rows),
            "country": rng.choice([f"A{letter}" for letter in "ABCDEFGH"], rows),
        }
    )
    opened = open_table(table)
    records = encode(opened, declare(plan, opened))
    start = time.perf_counter()
    mdav(records, 100)
    mdav_seconds = time.perf_counter() - start
    if options.json:
        print(
            json.dumps(
                {"ranking": results, "mdav": {"rows": rows, "k": 100, "seconds": round(mdav_seconds, 3)}}, indent=2
            )
        )
        return
    for result in results:
        print(
            "{column:<20} k={k:<4} argsort {argsort_s:6.3f} s   ranking {ranking_s:6.3f} s   ratio {ratio}".format(
                **result
            )
        )
    print(f"MDAV, 30,162 rows x 4 mixed columns, k = 100: {mdav_seconds:.2f} s")


if __name__ == "__main__":
    main()
