"""How often intervals cover the truth: releases with replicate weights, and some 200 estimates of five kinds from each.

    python -m benchmarks.coverage [--runs 20] [--replicates 40] [--tables adult nltcs] [--settings 1 1,1e-9] [--json]

Adult and NLTCS have chosen what was to choose (the prior's part in a replicate, rules.MOST_UNMEASURED; seeds from 101
on); diamonds and a made population report. Of tables the truth is the table itself; of the made population, from which
every release draws people anew, it is the population too. Coverage of nominal 90 and 95 % intervals, by kind of
estimate and apart for those that carry the warning; their mean width beside that of an oracle who knows the true
error's spread; and what intervals cover that take the release for the original.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import rankveil as rv
from benchmarks.packages import FOLDER
from benchmarks.runs import grid
from benchmarks.tables import TABLES, Source, labels, whole
from rankveil import rules
from rankveil.estimate import Estimate, Frame
from rankveil.estimate.intervals import reach
from rankveil.estimate.intervals import values as values_of
from rankveil.noise import SeededSource

NAMES = ("adult", "nltcs", "diamonds", "made")
SETTINGS = ("0.5", "1", "4", "0.5,1e-9", "1,1e-9", "4,1e-9")
KINDS = ("one-way", "amounts", "two-way", "three-way", "regression")
WANTED = {"one-way": 40, "amounts": 40, "two-way": 50, "three-way": 40, "regression": 30}
LEAST_SHARE = 0.01  # of the records that a count is about
MADE_ROWS, POPULATION = 20_000, 1_000_000
Z95, HALF = 1.9600, 0.6745


# The made population: every column depends on others, one pair of them only through a third.

_MADE = {
    "age": whole(18, 90),
    "region": labels("north", "east", "south", "west", "centre"),
    "sex": labels("f", "m"),
    "school": whole(4, 20),
    "work": labels("none", "part", "full"),
    "income": whole(0, 20000, step=10),
    "ill": labels("no", "yes"),
}


@cache
def population() -> pa.Table:
    draw = np.random.default_rng(18)
    size = POPULATION
    age = np.clip(draw.gamma(6, 8, size) + 10, 18, 90).astype(int)
    sex = draw.integers(0, 2, size)
    region = draw.choice(5, size, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    school = np.clip(draw.normal(13 - (age - 40) / 25 + 0.7 * (region == 1), 2.5), 4, 20).round().astype(int)
    score = 0.3 * (school - 12) - 0.002 * (age - 42) ** 2 - 0.5 * (sex == 0) * (age < 45) + draw.logistic(size=size)
    work = np.digitize(score, [-1.0, 0.2])
    income = np.exp(draw.normal(6.4 + 0.06 * school + 0.4 * work + 0.15 * sex, 0.5))
    income = np.where((work == 0) & (draw.random(size) < 0.5), 0, np.clip(income, 0, 20000) // 10 * 10).astype(int)
    ill = draw.random(size) < 1 / (1 + np.exp(3.5 - 0.05 * (age - 30) + 0.0003 * (income - 1500) / 3))
    text = {name: np.array(_MADE[name]["categories"]) for name in ("region", "sex", "work", "ill")}
    return pa.table(
        {
            "age": age,
            "region": text["region"][region],
            "sex": text["sex"][sex],
            "school": school,
            "work": text["work"][work],
            "income": income,
            "ill": text["ill"][ill.astype(int)],
        }
    )


def source_of(name: str) -> Source:
    if name == "made":
        return Source("made", "made population", "reports", _MADE, "ill", "classification", population)
    return TABLES[name]


def table_of(name: str, seed: int) -> pa.Table:
    """What is released: the table, or people drawn from the made population."""
    if name != "made":
        return source_of(name).table
    return population().take(pa.array(np.random.default_rng(1000 + seed).integers(0, POPULATION, MADE_ROWS)))


# What is asked


def questions(name: str) -> dict[str, list[str]]:
    """By kind; fixed for a table."""
    source, draw = source_of(name), np.random.default_rng(7)
    table = source.table
    size = table.num_rows
    conditions: dict[str, list[str]] = {}
    numbers: list[str] = []
    for column, entry in source.columns.items():
        quoted = f"`{column}`"
        if entry["kind"] in ("integer", "number"):
            numbers.append(quoted)
            present = np.array(pc.drop_null(table[column]).to_numpy(), dtype=np.float64)
            cuts = np.unique([float(f"{cut:.2g}") for cut in np.quantile(present, [0.25, 0.5, 0.75])])
            found = [f"{quoted} <= {cut:.12g}" for cut in cuts]
        else:
            counts = pc.value_counts(pc.drop_null(table[column].cast(pa.string()))).to_pylist()
            counts.sort(key=lambda each: -each["counts"])
            text = [
                str(each["values"]).replace("'", "''") for each in counts[:4] if each["counts"] > LEAST_SHARE * size
            ]
            found = [f"{quoted} = '{label}'" for label in text]
        conditions[column] = found
    names = [column for column, found in conditions.items() if found]

    def some(count: int) -> list[str]:
        picked = draw.choice(len(names), count, replace=False)
        return [str(draw.choice(conditions[names[place]])) for place in picked]

    one = [f"share({each})" for found in conditions.values() for each in found]
    amounts = [f"{what}({x})" for x in numbers for what in ("mean", "median")]
    amounts += [f"quantile({x}, 0.9)" for x in numbers]
    while len(amounts) < WANTED["amounts"]:
        value, given = some(2)
        asked = (
            f"mean({numbers[int(draw.integers(len(numbers)))]})"
            if numbers and draw.random() < 0.7
            else f"share({value})"
        )
        amounts.append(f"{asked} where {given} minus {asked} where not ({given})")
    several = {
        kind: [f"share({' and '.join(some(count))})" for _ in range(4 * WANTED[kind])]
        for kind, count in (("two-way", 2), ("three-way", 3))
    }
    regressions = []
    for _ in range(8):
        few = [each for each in names if len(source.columns[each].get("categories", ())) <= 8]
        picked = [few[place] for place in draw.choice(len(few), 3, replace=False)]
        right = " + ".join(f"`{each}`" for each in picked[1:])
        if f"`{picked[0]}`" in numbers:
            regressions.append(f"lm(`{picked[0]}` ~ {right})")
        else:
            regressions.append(f"logit({conditions[picked[0]][0]} ~ {right})")
    one = [one[place] for place in draw.permutation(len(one))[: WANTED["one-way"]]]
    return {"one-way": one, "amounts": amounts[: WANTED["amounts"]], **several, "regression": regressions}


def truths(columns: Frame, name: str) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Questions that are about enough records, and what the truth is: kind, question, name -> value."""
    for kind, asked in questions(name).items():
        kept = 0
        for ask in dict.fromkeys(asked):
            try:
                found = values_of(columns, ask)
            except rv.RankveilError:
                continue
            if kind in ("two-way", "three-way") and next(iter(found.values())) < LEAST_SHARE:
                continue
            kept += len(found)
            if kept <= WANTED[kind]:
                yield kind, ask, found


def without_weights(table: pa.Table, certificate: rv.Certificate) -> Frame:
    """A table as if it were a release: estimates are what they are."""
    one = pa.table(
        {"rv_w1": np.ones(table.num_rows), "rv_p1": np.ones(table.num_rows), "rv_s1": np.ones(table.num_rows)}
    )
    return Frame.made([table], one, certificate.model_copy(update={"rows": table.num_rows}))


# Runs


@dataclass(frozen=True)
class Setting:
    table: str
    epsilon: str
    delta: str | None

    @property
    def title(self) -> str:
        return f"{self.table} ε {self.epsilon}" + (f" δ {self.delta}" if self.delta else "")


_TRUTHS: dict[tuple[str, int], list[tuple[str, str, dict[str, float]]]] = {}


def truths_of(
    name: str, seed: int, table: pa.Table, certificate: rv.Certificate
) -> list[tuple[str, str, dict[str, float]]]:
    key = (name, seed if name == "made" else 0)
    if key not in _TRUTHS:
        _TRUTHS[key] = list(truths(without_weights(table, certificate), name))
    return _TRUTHS[key]


def one_release(setting: Setting, seed: int, replicates: int) -> list[dict[str, Any]]:
    """Every estimate from a release, with the truth beside it."""
    table = table_of(setting.table, seed)
    plan = source_of(setting.table).plan(setting.epsilon, setting.delta)
    made = rv.release(table, plan, source=SeededSource(seed), replicates=replicates)
    frame = Frame.of(made)
    targets: list[tuple[str, list[tuple[str, str, dict[str, float]]]]] = [
        ("table", truths_of(setting.table, seed, table, made.certificate))
    ]
    if setting.table == "made":
        whole_population = truths_of("made", -1, population(), made.certificate)
        targets.append(("population", whole_population))
    found = []
    for target, truth in targets:
        for kind, ask, values in truth:
            try:
                answers = {one.name: one for one in rv.estimate(frame, ask, target=target).each}  # type: ignore[arg-type]
            except rv.RankveilError:
                answers = {}
            for name, value in values.items():
                one = answers.get(name)
                found.append(
                    {
                        "target": target,
                        "kind": kind,
                        "ask": f"{ask} | {name}",
                        "truth": value,
                        **({} if one is None else _numbers(one, ask)),
                    }
                )
    return found


def _numbers(one: Estimate, ask: str) -> dict[str, float]:
    quantile = ask.startswith(("median", "quantile"))
    return {
        "estimate": one.estimate,
        "error": one.standard_error,
        "low": one.low,
        "high": one.high,
        "unmeasured": one.unmeasured,
        "hidden": one.hidden,
        "supported": one.supported,
        "rows": one.rows,
        "naive": float("nan") if quantile else one.naive_error,
    }


def fingerprint() -> str:
    """Of what weights and estimates depend on."""
    package = Path(rv.__file__).parent
    files = sorted(path for room in ("measure", "fit", "draw") for path in (package / room).rglob("*.py"))
    files += [package / "estimate" / f"{name}.py" for name in ("statistics", "regression", "intervals")]
    files += [package / "rules.py", Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


class Store:
    """Releases that were made before, by the same code."""

    def __init__(self, paths: Sequence[Path], replicates: int, *, by_any_code: bool = False) -> None:
        self.path, self._replicates, self._code = paths[0], replicates, fingerprint()
        self.known: dict[str, list[dict[str, Any]]] = {}
        for path in (path for path in paths if path.exists()):
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if by_any_code or entry["code"] == self._code:
                    self.known[entry["key"]] = entry["found"]

    def get(self, setting: Setting, seed: int) -> list[dict[str, Any]]:
        key = f"{setting.title} {seed} {self._replicates}"
        if key not in self.known:
            start = time.time()
            self.known[key] = one_release(setting, seed, self._replicates)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"code": self._code, "key": key, "found": self.known[key]}) + "\n")
            print(f"... {key} ({time.time() - start:.1f} s)", file=sys.stderr, flush=True)
        return self.known[key]


# Figures


def summary(runs: Sequence[list[dict[str, Any]]], replicates: int) -> list[dict[str, Any]]:
    """By target and kind, for estimates that are supported and for those that are not."""
    found = [one for run in runs for one in run if "estimate" in one]
    cells: list[dict[str, Any]] = []
    for target in dict.fromkeys(one["target"] for one in found):
        for kind in (*KINDS, "all"):
            for supported in (True, False):
                chosen = [
                    one
                    for one in found
                    if one["target"] == target and kind in (one["kind"], "all") and one["supported"] == supported
                ]
                if chosen:
                    cells.append(
                        {"target": target, "kind": kind, "supported": supported, **_coverage(chosen, replicates)}
                    )
    return cells


def _coverage(chosen: Sequence[dict[str, Any]], replicates: int) -> dict[str, float | None]:
    """Widths: an oracle's interval is made of the true error's spread, so true errors over stated ones have a spread of
    1 where both are as wide. By their root mean square, which a few large errors decide, and by their median."""
    off = np.array([abs(one["estimate"] - one["truth"]) for one in chosen])
    slack = 1e-9 * np.array([abs(one["truth"]) for one in chosen])
    error, naive = (np.array([one[name] for one in chosen]) for name in ("error", "naive"))
    inside = np.array([one["low"] - 1e-9 <= one["truth"] <= one["high"] + 1e-9 for one in chosen])
    smooth = np.array([not one["ask"].startswith(("median", "quantile")) for one in chosen])  # Woodruff's are at 95 %
    some = smooth & (error > 0)
    ratio = off[some] / error[some]
    return {
        "estimates": len(chosen),
        "coverage 95": float(np.mean(inside)),
        "coverage 90": _mean((off <= reach(0.9, replicates) * error + slack)[smooth]),
        "naive 95": _mean((off <= Z95 * naive + slack)[smooth]),
        "width over oracle": float(1 / np.sqrt(np.mean(ratio**2))) if some.any() else None,
        "typical width over oracle": float(HALF / max(float(np.median(ratio)), 1e-9)) if some.any() else None,
    }


def beside_expected(runs: dict[Setting, list[list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Intervals of shares as multiples of what a dry run expects: the middle 90 of 100 and the median, by question."""
    found: dict[tuple[str, str], list[float]] = {}
    for setting, several in runs.items():
        rows = MADE_ROWS if setting.table == "made" else source_of(setting.table).table.num_rows
        plan = source_of(setting.table).plan(setting.epsilon, setting.delta)
        expected = rv.preview(plan, rows).intervals
        widths = {(each.column, each.question.split(",")[0]): each.half_width for each in expected}
        for one in (one for run in several for one in run if one.get("supported") and one["target"] == "table"):
            named, cut = re.findall("`([^`]*)`", one["ask"]), "<=" in one["ask"]
            if one["kind"] == "one-way":
                own = [key for key in widths if key[0] == named[0] and key[1].startswith("share up") == cut]
            elif one["kind"] == "two-way" and not cut:
                own = [key for key in widths if key[0] is None]
            else:
                continue
            for _, question in own:
                ratio = Z95 * one["error"] / widths[own[0]]
                for name in (setting.table, "all"):
                    found.setdefault((name, question.replace("one label", "one value")), []).append(ratio)
    return [
        {"table": name, "question": question, "estimates": len(ratios),
         **dict(zip(("low", "median", "high"), map(float, np.quantile(ratios, [0.05, 0.5, 0.95])), strict=True))}
        for (name, question), ratios in sorted(found.items())
    ]  # fmt: skip


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="releases of each kind, seeds 1, 2, ... (20)")
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--tables", nargs="+", default=list(NAMES), choices=NAMES, metavar="NAME")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), metavar="EPSILON[,DELTA]")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--cache", type=Path, nargs="+", default=[FOLDER / "coverage.jsonl"], help="releases made before"
    )
    parser.add_argument("--made-before", action="store_true", help="show what is in the cache, whatever code made it")
    given = parser.parse_args()
    store = Store(given.cache, given.replicates, by_any_code=given.made_before)
    settings = [
        Setting(name, *(text.split(",") if "," in text else (text, None)))
        for text in given.settings
        for name in given.tables
    ]
    runs: dict[Setting, list[list[dict[str, Any]]]] = {setting: [] for setting in settings}
    for seed in range(1, given.runs + 1):  # so that a broken run has some of everything
        for setting in settings:
            if not given.made_before or f"{setting.title} {seed} {given.replicates}" in store.known:
                runs[setting].append(store.get(setting, seed))
    cells = [
        {"table": setting.table, "epsilon": setting.epsilon, "delta": setting.delta, "releases": len(found), **cell}
        for setting, found in runs.items()
        if found
        for cell in summary(found, given.replicates)
    ]
    for name in given.tables:  # all settings together
        together = [run for setting, found in runs.items() if setting.table == name for run in found]
        every = {"table": name, "epsilon": "all", "delta": None, "releases": len(together)}
        cells += [{**every, **cell} for cell in summary(together, given.replicates)]
    result = {"replicates": given.replicates, "most_unmeasured": rules.MOST_UNMEASURED, "cells": cells}
    result["beside expected"] = beside_expected(runs)
    if given.json:
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return
    head = ["table", "ε", "δ", "n", "target", "kind", "", *list(_HEAD)]
    rows = [
        [
            *(cell[name] for name in ("table", "epsilon", "delta", "releases", "target", "kind")),
            "" if cell["supported"] else "warned",
            *(f"{cell[name]:.3f}" if isinstance(cell[name], float) else cell[name] for name in _HEAD),
        ]
        for cell in cells
    ]
    print(grid(head, rows))


_HEAD = ("estimates", "coverage 95", "coverage 90", "naive 95", "width over oracle", "typical width over oracle")

if __name__ == "__main__":
    main()
