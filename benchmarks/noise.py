"""Time for exact noise, ours and OpenDP's, measured side by side in one run.

    python -m benchmarks.noise [--json]

Ours is the median of five runs, each with its tables built anew; OpenDP runs once per cell,
as one run takes seconds. Both draw a whole int64 vector in one call.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from typing import Any

from rankveil.noise import SystemSource, discrete_gaussian, discrete_laplace
from rankveil.noise import gaussian as gaussian_module
from rankveil.noise import laplace as laplace_module

OUR_RUNS = 5
CASES = [
    ("laplace", 1_000_000, 1),
    ("laplace", 1_000_000, 100),
    ("laplace", 1_000_000, 1_000_000),
    ("gaussian", 100_000, 100),
    ("gaussian", 1_000_000, 100),
]


def ours(law: str, count: int, scale: int) -> Callable[[], object]:
    """A call that draws once, tables included. `scale` is the standard deviation for Gaussians."""
    source = SystemSource()

    def run() -> object:
        laplace_module._sampler.cache_clear()
        gaussian_module._sampler.cache_clear()
        if law == "laplace":
            return discrete_laplace(Fraction(scale), count, source)
        return discrete_gaussian(Fraction(scale) ** 2, count, source)

    return run


def opendp(law: str, count: int, scale: int) -> Callable[[], object]:
    """The same draw through OpenDP."""
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "laplace":
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    zeros = [0] * count
    return lambda: measurement(zeros)


def seconds(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


def measure() -> list[dict[str, Any]]:
    results = []
    for law, count, scale in CASES:
        own = seconds(ours(law, count, scale), OUR_RUNS)
        try:
            other: float | None = seconds(opendp(law, count, scale), 1)
        except ImportError:
            other = None
        ratio = None if other is None else other / own
        results.append({"law": law, "draws": count, "scale": scale, "ours": own, "opendp": other, "ratio": ratio})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description="Time exact noise against OpenDP.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    results = measure()
    if arguments.json:
        json.dump({"unit": "seconds", "results": results}, sys.stdout, indent=2)
        print()
        return
    print(f"{'law':<10}{'draws':>10}{'scale':>10}{'ours s':>10}{'OpenDP s':>10}{'ratio':>8}")
    for row in results:
        other = "absent" if row["opendp"] is None else f"{row['opendp']:.2f}"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.0f}x"
        cells = f"{row['law']:<10}{row['draws']:>10}{row['scale']:>10}{row['ours']:>10.3f}"
        print(f"{cells}{other:>10}{ratio:>8}")


if __name__ == "__main__":
    main()
