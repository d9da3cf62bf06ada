"""The tables of docs/estimates.md, from benchmarks/results/coverage.json: `python -m benchmarks.page` writes them.

Each stands between two comments that name it. The sentences around them are written by people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.coverage.questions import KINDS
from benchmarks.packages import ROOT

PAGE = ROOT / "docs" / "estimates.md"
LEAST, MOST, LEAST_OF_ALL, WIDEST = 92, 98, 90, 1.5  # percent covered: of measured kinds, of all others; width / oracle


def written(page: str, found: dict[str, Any], mark: str = "") -> str:
    """The page with its tables; `mark`: what is to be known of the figures."""
    cells = found["cells"]
    tables = {"runs": _runs(found, mark), "kinds": _kinds(cells), "settings": _settings(cells), "aims": _aims(cells),
              "dry run": _dry_run(found["beside expected"])}  # fmt: skip
    for name, text in tables.items():
        begin, end = f"<!-- coverage: {name} -->", "<!-- end -->"
        if begin not in page:
            raise ValueError(f"{PAGE.name} has no place for {name!r}")
        page = re.sub(f"{begin}.*?{end}", lambda _, all=f"{begin}\n{text}\n{end}": all, page, flags=re.DOTALL)  # type: ignore[misc]
    return page


def _runs(found: dict[str, Any], mark: str) -> str:
    numbers = sorted({cell["releases"] for cell in found["cells"] if cell["epsilon"] != "all"})
    releases = " or ".join(map(str, numbers))
    return f"**{releases} releases of each setting** (seeds from 1 on), {found['replicates']} replicates each{mark}."


def _cells(cells: Iterable[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [cell for cell in cells if all(cell[name] == value for name, value in wanted.items())]


def _places(cells: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((cell["table"], cell["target"]) for cell in cells))


def _kinds(cells: Sequence[dict[str, Any]]) -> str:
    head = ["table, target", "releases", "kind", "estimates", "covered at 95 %", "at 90 %", "naive at 95 %",
            "width / oracle: rms, typical", "with the warning: estimates, covered at 95 %"]  # fmt: skip
    rows = []
    for table, target in _places(cells):
        for kind in (*KINDS, "all"):
            here = _cells(cells, table=table, target=target, kind=kind, epsilon="all")
            (good, bad) = (next(iter(_cells(here, supported=each)), None) for each in (True, False))
            warned = "none" if bad is None else f"{bad['estimates']:,}, {_percent(bad['coverage 95'])}"
            releases = here[0]["releases"] if here else 0
            if good is None:
                rows.append([f"{table}, {target}", releases, kind, 0, "", "", "", "", warned])
                continue
            widths = ", ".join(_ratio(good[each]) for each in ("width over oracle", "typical width over oracle"))
            covered = [_percent(good[each]) for each in ("coverage 95", "coverage 90", "naive 95")]
            rows.append([f"{table}, {target}", releases, kind, f"{good['estimates']:,}", *covered, widths, warned])
    return _table(head, rows)


def _settings(cells: Sequence[dict[str, Any]]) -> str:
    every = list(dict.fromkeys((cell["epsilon"], cell["delta"]) for cell in cells if cell["epsilon"] != "all"))
    head = ["table, target", *(f"ε = {epsilon}" + (f", δ = {delta}" if delta else "") for epsilon, delta in every)]
    rows = []
    for table, target in _places(cells):
        row = [f"{table}, {target}"]
        for epsilon, delta in every:
            here = _cells(cells, table=table, target=target, kind="all", epsilon=epsilon, delta=delta)
            good = _cells(here, supported=True)
            share = sum(each["estimates"] for each in good) / max(sum(each["estimates"] for each in here), 1)
            row.append(f"{_percent(good[0]['coverage 95'])} ({_percent(share)})" if good else "none (0)")
        rows.append(row)
    return _table(head, rows)


def _aims(cells: Sequence[dict[str, Any]]) -> str:
    """What was aimed at, and whether it was reached, of each table over all settings, and in how many single ones."""
    head = ["table, target", "one-way, 92 to 98 %", "two-way, 92 to 98 %", "all without the warning, 90 % or more",
            "rms width / oracle, all, 1.5 or less", "single settings with 90 % or more, all kinds"]  # fmt: skip
    rows = []
    for table, target in _places(cells):
        here = _cells(cells, table=table, target=target, supported=True)
        over = {cell["kind"]: cell for cell in here if cell["epsilon"] == "all"}
        row = [f"{table}, {target}"]
        for kind in ("one-way", "two-way"):
            covered = 100 * over[kind]["coverage 95"] if kind in over else 0.0
            row.append(_said(f"{covered:.1f}", LEAST <= covered <= MOST))
        worst = min((cell for kind, cell in over.items() if kind != "all"), key=lambda cell: cell["coverage 95"])
        least = 100 * worst["coverage 95"]
        row.append(_said(f"{worst['kind']} least: {least:.1f}", least >= LEAST_OF_ALL))
        row.append(_said(_ratio(over["all"]["width over oracle"]), over["all"]["width over oracle"] <= WIDEST))
        single = [100 * cell["coverage 95"] for cell in here if cell["kind"] == "all" and cell["epsilon"] != "all"]
        reached = sum(each >= LEAST_OF_ALL for each in single)
        row.append(_said(f"{reached} of {len(single)}", reached == len(single)))
        rows.append(row)
    return _table(head, rows)


def _said(figure: str, reached: bool) -> str:
    return figure if reached else f"**{figure}, missed**"


def _dry_run(found: Iterable[dict[str, Any]]) -> str:
    head = ["table", "question", "intervals", "5 of 100 below", "median", "5 of 100 above"]
    rows = []
    for each in found:
        widths = (_ratio(each[name]) for name in ("low", "median", "high"))
        rows.append([each["table"], each["question"], f"{each['estimates']:,}", *widths])
    return _table(head, rows)


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}"


def _ratio(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"
