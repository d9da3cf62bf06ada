"""From releases with estimates and truths to figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import rankveil as rv
from benchmarks.coverage.questions import KINDS, MADE_ROWS, source_of
from benchmarks.coverage.runs import Found, Setting
from rankveil import rules
from rankveil.estimate.intervals import student_quantile

Z95, HALF = 1.9600, 0.6745


def result(runs: Mapping[Setting, Sequence[Found]], replicates: int) -> dict[str, Any]:
    """All figures: each setting by itself, all settings of a table together, and intervals beside the dry run's."""
    cells = [
        {"table": setting.table, "epsilon": setting.epsilon, "delta": setting.delta, "releases": len(found), **cell}
        for setting, found in runs.items()
        for cell in summary(found, replicates)
    ]
    for name in dict.fromkeys(setting.table for setting in runs):
        together = [run for setting, found in runs.items() if setting.table == name for run in found]
        every = {"table": name, "epsilon": "all", "delta": None, "releases": len(together)}
        cells += [{**every, **cell} for cell in summary(together, replicates)]
    return {
        "replicates": replicates,
        "most_unmeasured": rules.MOST_UNMEASURED,
        "cells": cells,
        "beside expected": beside_expected(runs),
    }


def summary(runs: Sequence[Found], replicates: int) -> list[dict[str, Any]]:
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
        "coverage 90": _mean((off <= student_quantile(0.9, replicates) * error + slack)[smooth]),
        "naive 95": _mean((off <= Z95 * naive + slack)[smooth]),
        "width over oracle": float(1 / np.sqrt(np.mean(ratio**2))) if some.any() else None,
        "typical width over oracle": float(HALF / max(float(np.median(ratio)), 1e-9)) if some.any() else None,
    }


def beside_expected(runs: Mapping[Setting, Sequence[Found]]) -> list[dict[str, Any]]:
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
