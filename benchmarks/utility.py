"""Utility of `synthetic` against the paper's method and against plain noise, at the same total ε; and its speed.

    python -m benchmarks.utility [--runs 10] [--json] [--quick] [--large]

Nine cases: Census (13 columns), Adult (4 and 15 columns), each at total ε = 0.1, 1 and 10, mean over runs. All methods
get the same plan, hence the same public bounds. `published:individual-ranking` spends nothing on linkage, is not
differentially private, and is given its best k for every measure separately; `laplace` is noise on every value.

Data: census.csv and adult.csv in the folder that RANKVEIL_DATA names; Adult with 15 columns is that of
examples/. Runs are seeded, so figures (not times) are repeatable.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.declare import Plan, Records, declare, encode
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.evaluate import learning_scores, measure_all
from rankveil.measure.budget import Budget
from rankveil.methods import METHODS
from rankveil.noise import SeededSource

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

EPSILONS = ("0.1", "1", "10")
DELTA = "1e-9"
MEASURES = {
    "jsd": "JSD",
    "variance_change": "variance change",
    "wasserstein": "W1/σ",
    "total_variation": "1-way TV",
    "pair_total_variation": "2-way TV",
}
TARGETS = {"total_variation": 0.012, "pair_total_variation": 0.050, "wasserstein": 0.03}
TARGET_AUC = 0.85
PUBLISHED = "published:individual-ranking"

# Public bounds suggested in the data folder's README. Every column starts at 0; values beyond are moved to the bound.
CENSUS = {
    "AFNLWGT": 1_000_000, "AGI": 200_000, "EMCONTRB": 10_000, "FEDTAX": 60_000, "PTOTVAL": 200_000,
    "STATETAX": 20_000, "TAXINC": 200_000, "POTHVAL": 150_000, "INTVAL": 100_000, "PEARNVAL": 200_000,
    "FICA": 10_000, "WSALVAL": 200_000, "ERNVAL": 200_000,
}  # fmt: skip
ADULT_FOUR = ("age", "hours-per-week", "occupation", "native-country")

Figures = dict[str, float]


def census_plan() -> Plan:
    columns = {name: {"kind": "integer", "lower": 0, "upper": upper, "clamp": True} for name, upper in CENSUS.items()}
    return Plan.from_dict({"release": {"epsilon": 1}, "columns": columns})


def adult_plan(columns: tuple[str, ...] | None = None) -> Plan:
    """The plan of examples/, with all columns but some dropped."""
    plan = Plan.load(EXAMPLES / "adult.toml")
    if columns is None:
        return plan
    entries = {
        name: entry.model_dump(exclude_unset=True) if name in columns else {"kind": "drop"}
        for name, entry in plan.columns.items()
    }
    return Plan.from_dict({"release": {"epsilon": 1}, "columns": entries}, folder=EXAMPLES)


@dataclass(frozen=True)
class Case:
    name: str
    dataset: Dataset

    @classmethod
    def of(cls, name: str, path: Path, plan: Plan) -> Case:
        table = open_table(path)
        return cls(name, Dataset(declare(plan, table), table))


def cases(data: Path) -> list[Case]:
    return [
        Case.of("Census, 13 columns", data / "census.csv", census_plan()),
        Case.of("Adult, 4 columns", data / "adult.csv", adult_plan(ADULT_FOUR)),
        Case.of("Adult, 15 columns", EXAMPLES / "adult.csv.gz", adult_plan()),
    ]


def releases(
    case: Case, method_name: str, epsilon: str, runs: int, *, delta: str | None = None, cluster_size: int = 1
) -> Iterator[Records]:
    """Releases with seeds 1, 2, ... of a case."""
    method = METHODS[method_name]
    grouped = method.prepare(case.dataset, cluster_size)
    for run in range(1, runs + 1):
        budget = Budget(Fraction(epsilon), None if delta is None else Fraction(delta))
        source = SeededSource(run)
        rows = method.drawn(grouped, budget, source)
        yield Records(rows.schema, rows.collected(), rows.row_count)


def figures(case: Case, released: Iterator[Records]) -> Figures:
    """Every measure, mean over releases."""
    results = [measure_all(case.dataset.records(), records) for records in released]
    return {key: mean(getattr(result, key) for result in results) for key in MEASURES}


def cluster_sizes(rows: int, *, quick: bool) -> list[int]:
    if quick:
        return [10, 100, rows // 5]
    return sorted({2, 5, 10, 25, 50, 100, 200, rows // 20, rows // 10, rows // 5, rows // 2})


def compare(case: Case, epsilon: str, runs: int, *, quick: bool) -> dict[str, Any]:
    """One of the nine cases."""
    by_k = {
        k: figures(case, releases(case, PUBLISHED, epsilon, runs, cluster_size=k))
        for k in cluster_sizes(case.dataset.records().row_count, quick=quick)
    }
    best = {key: min(by_k, key=lambda k, key=key: by_k[k][key]) for key in MEASURES}
    return {
        "case": case.name,
        "epsilon": epsilon,
        "synthetic": figures(case, releases(case, "synthetic", epsilon, runs)),
        "published": {key: by_k[k][key] for key, k in best.items()},
        "best_k": best,
        "published_by_k": by_k,
        "laplace": figures(case, releases(case, "laplace", epsilon, runs)),
    }


def approximate_case(case: Case, runs: int) -> dict[str, Any]:
    """Adult with 15 columns at ε = 1, with δ and without, and what a learner makes of it."""
    original = case.dataset.records()
    test = encode(open_table(EXAMPLES / "adult_test.csv.gz"), original.schema)
    results: dict[str, Any] = {}
    for name, delta in (("with δ = 1e-9", DELTA), ("pure ε", None)):
        made = list(releases(case, "synthetic", "1", runs, delta=delta))
        learnt = [learning_scores(original, released, test, "income") for released in made]
        aucs = [score.taught_by_release for score in learnt if score.taught_by_release is not None]
        results[name] = {**figures(case, iter(made)), "auc": mean(aucs), "least_auc": min(aucs)}
        results["real AUC"] = learnt[0].taught_by_original
    return results


@dataclass(frozen=True)
class Duration:
    """Of one command: on the clock, and of processors (user and system), which a busy machine distorts less."""

    seconds: float
    processor_seconds: float


def duration_of_release(table: Path, repeats: int) -> Duration:
    """Of the real command, start-up included: the median of some runs."""
    clock, processor = [], []
    command = Path(sys.executable).with_name("rankveil")
    options = ["--plan", EXAMPLES / "adult.toml", "--method", "synthetic", "--epsilon", "1", "--delta", DELTA, "--json"]
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as out:
            before, start = os.times(), time.perf_counter()
            subprocess.run([command, "release", table, *options, "--out", out], check=True, capture_output=True)
            clock.append(time.perf_counter() - start)
            after = os.times()
            processor.append(
                after.children_user + after.children_system - before.children_user - before.children_system
            )
    return Duration(median(clock), median(processor))


def growth(counts: list[int]) -> list[dict[str, Any]]:
    """Duration of a release against the number of rows: records of Adult drawn with replacement, in a Parquet file."""
    options = pacsv.ConvertOptions(null_values=["?"], strings_can_be_null=True, auto_dict_encode=True)
    adult = pacsv.read_csv(EXAMPLES / "adult.csv.gz", convert_options=options)
    rng = np.random.default_rng(1)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            path = Path(folder) / f"{count}.parquet"
            with papq.ParquetWriter(path, adult.schema) as writer:
                for first in range(0, count, 1_000_000):
                    chosen = rng.integers(0, adult.num_rows, min(1_000_000, count - first))
                    writer.write_table(adult.take(pa.array(chosen)))
            results.append({"rows": count, **asdict(duration_of_release(path, 1))})
            path.unlink()
    return results


def run(data: Path, runs: int, *, quick: bool, large: bool) -> dict[str, Any]:
    print("... speed", file=sys.stderr)
    duration = duration_of_release(EXAMPLES / "adult.csv.gz", 1 if quick else 5)
    grown = growth([100_000, *([] if quick else [1_000_000]), *([10_000_000] if large else [])])
    three = cases(data)
    nine = []
    for case in three:
        for epsilon in EPSILONS:
            print(f"... {case.name}, ε = {epsilon}", file=sys.stderr)
            nine.append(compare(case, epsilon, runs, quick=quick))
    print("... Adult at ε = 1 with δ", file=sys.stderr)
    adult = approximate_case(three[2], runs)
    return {"runs": runs, "cases": nine, "adult": adult, "duration": asdict(duration), "growth": grown}


# The summary


def wins(nine: list[dict[str, Any]], rival: str, measure: str) -> list[str]:
    """The cases in which synthetic is better."""
    return [_name(case) for case in nine if case["synthetic"][measure] < case[rival][measure]]


def _wins_in_papers_range(nine: list[dict[str, Any]], measure: str) -> int:
    """Cases won if the paper's method may choose k as its authors did: up to 100 on Census, 200 on Adult."""
    won = 0
    for case in nine:
        largest = 100 if case["case"].startswith("Census") else 200
        allowed = [found[measure] for k, found in case["published_by_k"].items() if int(k) <= largest]
        won += case["synthetic"][measure] < min(allowed, default=float("inf"))
    return won


def _name(case: dict[str, Any]) -> str:
    return f"{case['case']}, ε = {case['epsilon']}"


def summary(result: dict[str, Any]) -> str:
    nine, adult = result["cases"], result["adult"]
    lines = [
        f"Mean of {result['runs']} runs. In a cell: `synthetic` / the paper's method at its best k (k in brackets) /"
        " `laplace`. Smaller is better; the best of the first two is bold.",
        "",
        "| case | total ε | " + " | ".join(MEASURES.values()) + " |",
        "| --- | --- |" + " --- |" * len(MEASURES),
    ]
    lines += [
        f"| {case['case']} | {case['epsilon']} | " + " | ".join(_cell(case, key) for key in MEASURES) + " |"
        for case in nine
    ]
    lines.append("")
    for key, name in MEASURES.items():
        won = wins(nine, "published", key)
        lost = [_name(case) for case in nine if _name(case) not in won]
        lines.append(
            f"- {name}: `synthetic` beats `{PUBLISHED}` in {len(won)} of {len(nine)} cases"
            + (f" (not: {'; '.join(lost)})" if lost else "")
            + f", and `laplace` in {len(wins(nine, 'laplace', key))} of {len(nine)}."
            + f" With k as in the paper's own evaluation: {_wins_in_papers_range(nine, key)} of {len(nine)}."
        )
    keys = ["total_variation", "pair_total_variation", "wasserstein"]
    lines += [
        "",
        f"Adult, 15 columns, total ε = 1, mean of {result['runs']} runs. AUC: income on the 16,281 records of"
        f" `adult_test.csv.gz`, learnt from the release; {adult['real AUC']:.3f} when learnt from the original.",
        "",
        "| | " + " | ".join(MEASURES[key] for key in keys) + " | AUC | least AUC |",
        "| --- |" + " --- |" * (len(keys) + 2),
        "| target with δ = 1e-9 | " + " | ".join(f"≤ {TARGETS[key]}" for key in keys) + f" | ≥ {TARGET_AUC} | |",
    ]
    lines += [
        f"| {name} | " + " | ".join(f"{adult[name][key]:.4f}" for key in keys)
        + f" | {adult[name]['auc']:.3f} | {adult[name]['least_auc']:.3f} |"
        for name in ("with δ = 1e-9", "pure ε")
    ]  # fmt: skip
    duration = result["duration"]
    lines += [
        "",
        "Releasing Adult (32,561 rows, 15 columns, from a compressed CSV file) with δ took"
        f" {duration['seconds']:.2f} s, start-up included ({duration['processor_seconds']:.2f} s of processor time)."
        " More rows of the same kind, from Parquet:",
        "",
        "| rows | seconds | processor seconds | microseconds per row (processor) |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row['rows']:,} | {row['seconds']:.1f} | {row['processor_seconds']:.1f} |"
        f" {row['processor_seconds'] / row['rows'] * 1e6:.1f} |"
        for row in result["growth"]
    ]
    return "\n".join(lines)


def _cell(case: dict[str, Any], key: str) -> str:
    ours, theirs, noise = (_short(case[method][key]) for method in ("synthetic", "published", "laplace"))
    if case["synthetic"][key] < case["published"][key]:
        ours = f"**{ours}**"
    else:
        theirs = f"**{theirs}**"
    return f"{ours} / {theirs} ({case['best_k'][key]}) / {noise}"


def _short(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Utility and speed of releases.")
    parser.add_argument("--runs", type=int, help="releases per case (10; with --quick 2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer runs, fewer k, fewer rows: for development")
    parser.add_argument("--large", action="store_true", help="time a release of 10 million rows too")
    options = parser.parse_args()
    data = Path(os.environ.get("RANKVEIL_DATA", ROOT.parent / "shared" / "data"))
    runs = options.runs or (2 if options.quick else 10)
    result = run(data, runs, quick=options.quick, large=options.large)
    text = summary(result)
    print(json.dumps(result, indent=2, ensure_ascii=False) if options.json else text)


if __name__ == "__main__":
    main()
