"""What every runner shares: reading its request, the one rule for bins, and writing its table.

A runner is a script executed by the interpreter of its peer's own environment:

    PYTHONPATH=runners/shared python -P runners/PEER.py REQUEST.json

(-P, because some runners have the name of the library they import.)

The request names the table (CSV), the public description of its columns, ε, δ, a seed, the variant of the peer, and
where to write the released table and a report. Numbers of all data sets are integers.
"""

from __future__ import annotations

import json
import math
import random
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


class Request:
    def __init__(self, content: dict[str, Any]) -> None:
        self.table: str = content["table"]
        self.columns: list[dict[str, Any]] = content["columns"]
        self.epsilon: float = float(content["epsilon"])
        self.delta: float = float(content["delta"])
        self.seed: int = int(content["seed"])
        self.variant: str = content["variant"]
        self.k: int = content["k"]
        self.folder = Path(content["folder"])
        self.rng = np.random.default_rng(self.seed)

    @property
    def numbers(self) -> list[dict[str, Any]]:
        return [column for column in self.columns if column["kind"] == "integer"]

    @property
    def labels(self) -> list[dict[str, Any]]:
        return [column for column in self.columns if column["kind"] == "category"]


def rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ for which ρ-zCDP gives (ε, δ)-DP by the conversion of Canonne, Kamath and Steinke (2020)."""

    def log_delta(rho: float) -> float:
        # The exponent is convex in α: golden-section search on log(α - 1).
        def exponent(log_part: float) -> float:
            alpha = 1 + math.exp(log_part)
            return (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)

        low, high, ratio = -12.0, 14.0, (math.sqrt(5) - 1) / 2
        for _ in range(200):
            first, second = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, second) if exponent(first) < exponent(second) else (first, high)
        return exponent((low + high) / 2)

    smallest, largest = 0.0, epsilon + 1
    for _ in range(200):
        middle = (smallest + largest) / 2
        smallest, largest = (middle, largest) if log_delta(middle) <= math.log(delta) else (smallest, middle)
    return smallest


def repaired(released: pd.DataFrame, request: Request) -> tuple[pd.DataFrame, dict[str, int]]:
    """Numbers rounded and moved inside their public bounds; a label that is none (or missing) is drawn anew, uniformly.

    Says how many values needed more than rounding. It reads the release and the public description alone.
    """
    table, repairs = pd.DataFrame(index=range(len(released))), {}
    for column in request.columns:
        values = released[column["name"]].reset_index(drop=True)
        if column["kind"] == "integer":
            numbers = pd.to_numeric(values, errors="coerce").astype(float)
            absent = numbers.isna().to_numpy()
            drawn = request.rng.integers(column["lower"], column["upper"] + 1, len(numbers))
            whole = np.rint(np.where(absent, drawn, numbers.fillna(0)))
            inside = np.clip(whole, column["lower"], column["upper"])
            bad = int(absent.sum() + (inside != whole).sum())
            table[column["name"]] = inside.astype(np.int64)
        else:
            labels = np.array(column["labels"], dtype=object)
            known = values.isin(column["labels"]).to_numpy()
            drawn = labels[request.rng.integers(0, len(labels), len(values))]
            table[column["name"]] = np.where(known, values.astype(object).to_numpy(), drawn)
            bad = int((~known).sum())
        if bad:
            repairs[column["name"]] = bad
    return table, repairs


def main(release: Callable[[pd.DataFrame, Request], pd.DataFrame], package: str) -> None:
    content = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    request = Request(content)
    random.seed(request.seed)
    np.random.seed(request.seed)
    report: dict[str, Any] = {"version": f"{package} {version(package)}"}
    try:
        frame = pd.read_csv(request.table, keep_default_na=False)
        released = release(frame, request)
        table, repairs = repaired(released, request)
        table.to_csv(content["output"], index=False)
        report |= {"rows": len(table), "repairs": repairs}
    except Exception as error:
        traceback.print_exc()
        # A message of many lines is a stack of them, the cause last; a line of a few words says something.
        said = [line.strip() for line in str(error).splitlines() if len(line.split()) >= 3] or [str(error)]
        report["error"] = f"{type(error).__name__}: {said[-1]}"
    Path(content["report"]).write_text(json.dumps(report), encoding="utf-8")
    sys.exit(1 if "error" in report else 0)
