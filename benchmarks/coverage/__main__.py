"""The command: see the package."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import benchmarks.coverage
from benchmarks.coverage.figures import result
from benchmarks.coverage.questions import NAMES
from benchmarks.coverage.runs import Setting, Store
from benchmarks.packages import FOLDER
from benchmarks.runs import grid

SETTINGS = ("0.5", "1", "4", "0.5,1e-9", "1,1e-9", "4,1e-9")
_HEAD = ("estimates", "coverage 95", "coverage 90", "naive 95", "width over oracle", "typical width over oracle")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage",
        description=benchmarks.coverage.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=20, help="releases of each kind, seeds 1, 2, ... (20)")
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--tables", nargs="+", default=list(NAMES), choices=NAMES, metavar="NAME")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), metavar="EPSILON[,DELTA]")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--minutes", type=float, default=600, help="after which no further release is begun (600)")
    parser.add_argument("--out", type=Path, help="write the figures to this file, as JSON")
    parser.add_argument(
        "--cache", type=Path, nargs="+", default=[FOLDER / "coverage.jsonl"], help="releases made before"
    )
    parser.add_argument("--made-before", action="store_true", help="only what is in the cache, whatever code made it")
    given = parser.parse_args()
    store = Store(given.cache, given.replicates, by_any_code=given.made_before)
    settings = [
        Setting(name, *(text.split(",") if "," in text else (text, None)))
        for text in given.settings
        for name in given.tables
    ]
    if not given.made_before:
        store.make(settings, given.runs, given.workers, given.minutes)
    found = result(store.together(settings, given.runs), given.replicates)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    head = ["table", "ε", "δ", "n", "target", "kind", "", *list(_HEAD)]
    rows = [
        [
            *(cell[name] for name in ("table", "epsilon", "delta", "releases", "target", "kind")),
            "" if cell["supported"] else "warned",
            *(f"{cell[name]:.3f}" if isinstance(cell[name], float) else cell[name] for name in _HEAD),
        ]
        for cell in found["cells"]
    ]
    print(grid(head, rows))


if __name__ == "__main__":
    main()
