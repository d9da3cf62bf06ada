"""What all drivers share: options, results of single runs that survive a break, means with their standard errors.

A run is remembered by what was asked and the code that answered: lines of JSON in `.bench/DRIVER.jsonl` (not in git).
Asked again with the same code, it is looked up; with other code of rankveil or of the benchmarks, it is made anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import rankveil as rv
from benchmarks.measures import Figures
from benchmarks.packages import FOLDER
from benchmarks.tables import TABLES

_MEASURING = ("measures.py", "tables.py")  # of the benchmarks: what a figure depends on beside rankveil itself


def code_fingerprint() -> str:
    files = sorted(Path(rv.__file__).parent.rglob("*.py"))
    files += [Path(__file__).with_name(name) for name in _MEASURING]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


class Runs:
    """Single runs of one driver, remembered."""

    def __init__(self, path: Path) -> None:
        self.path, self.code = path, code_fingerprint()
        self._known: dict[str, Figures] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if entry["code"] == self.code:
                    self._known[_key(entry["asked"])] = entry["figures"]

    def get(self, asked: Mapping[str, Any], make: Callable[[], Figures]) -> Figures:
        key = _key(asked)
        if key not in self._known:
            start = time.process_time()
            figures = make()
            self._known[key] = figures
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                line = {"code": self.code, "asked": asked, "figures": figures}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            said = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
            spent = time.process_time() - start
            print(f"... {', '.join(map(str, asked.values()))}: {said} ({spent:.1f} s)", file=sys.stderr, flush=True)
        return self._known[key]


def _key(asked: Mapping[str, Any]) -> str:
    return json.dumps(asked, sort_keys=True, ensure_ascii=False)


def means(found: Sequence[Figures]) -> Figures:
    return {name: mean(each[name] for each in found) for name in found[0]}


def standard_errors(found: Sequence[Figures]) -> Figures:
    """Of the means; 0 where there was one run, of which nothing is known."""
    if len(found) < 2:
        return dict.fromkeys(found[0], 0.0)
    return {name: stdev(each[name] for each in found) / math.sqrt(len(found)) for name in found[0]}


def parser(
    name: str, doc: str | None, *, runs: int, epsilons: Sequence[str], tables: Sequence[str]
) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--runs", type=int, default=runs, help=f"releases of each kind, seeds 1, 2, ... ({runs})")
    made.add_argument("--epsilons", nargs="+", default=list(epsilons), metavar="E", help=" ".join(epsilons))
    made.add_argument("--tables", nargs="+", default=list(tables), choices=list(TABLES), metavar="NAME")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument("--cache", type=Path, default=FOLDER / f"{name}.jsonl", help="where single runs are remembered")
    return made


def shown(result: dict[str, Any], summary: Callable[[dict[str, Any]], str], *, as_json: bool) -> None:
    print(json.dumps(result, indent=1, ensure_ascii=False) if as_json else summary(result))


def grid(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
