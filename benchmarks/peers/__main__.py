"""python -m benchmarks.peers: make the runs that are missing, compare, write the result (and the docs)."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import page, timing
from benchmarks.peers.cache import Cache, Run
from benchmarks.peers.data import DATA, ROOT
from benchmarks.peers.held_out import TABLES
from benchmarks.peers.measuring import Yardstick
from benchmarks.peers.ranking import compare
from benchmarks.peers.running import DELTA, K, Limits, Workshop, current_fingerprint, machine, measured_again, run
from benchmarks.peers.schedule import missing, pair_runs
from benchmarks.peers.systems import SYSTEMS, System

RESULTS = ROOT / "benchmarks" / "results"
EPSILONS = ("0.1", "1", "10")
_ORDER = ("1", "10", "0.1")  # in which pairs are run


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    source = Path(os.environ.get("RANKVEIL_DATA", ROOT.parent / "shared" / "data"))
    workshop = Workshop(options.folder.resolve(), source)
    systems = [SYSTEMS[name] for name in options.systems]
    limits = Limits(options.cap, 4.0 * options.cap)
    if options.only_timing:
        result = timing.run(workshop, systems, options.runs, limits)
        _write(RESULTS / "timing.json", result)
        print(timing.summary(result))
        return
    cache, known = Cache(options.cache), Known.of(options.result, options.again)
    _drop(cache, systems, options)
    if options.measure_again:
        measure_again(workshop, cache, options)
    elif not options.only_report:
        work(workshop, cache, systems, options, limits, known)
    result = collected(cache, options.runs, known)
    _write(options.result, result)
    text = page.summary(result)
    print(text)


class Known:
    """The result as it is committed: what it says of a pair stands until there are runs of it here.

    So neither the page nor the next comparison needs the runs themselves, which are many files and stay out of git.
    """

    def __init__(self, result: dict[str, Any], forgotten: Sequence[str] = ()) -> None:
        pairs = [*result.get("pairs", []), *result.get("held_out", {}).get("pairs", [])]
        self._entries = {
            (pair["data"], pair["epsilon"]): {n: e for n, e in pair["systems"].items() if n not in forgotten}
            for pair in pairs
        }

    @classmethod
    def of(cls, path: Path, forgotten: Sequence[str]) -> Known:
        return cls(json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}, forgotten)

    def pair(self, data: str, epsilon: str) -> dict[str, dict[str, Any]]:
        return self._entries.get((data, epsilon), {})

    def settled(self, system: System, data: str, epsilon: str) -> bool:
        """Whether it is known by the code of today."""
        entry = self.pair(data, epsilon).get(system.name)
        return entry is not None and entry.get("fingerprint") == current_fingerprint(system, TABLES[data])


NOTHING_KNOWN = Known({})


def work(
    workshop: Workshop,
    cache: Cache,
    systems: list[System],
    options: argparse.Namespace,
    limits: Limits,
    known: Known = NOTHING_KNOWN,
) -> None:
    """Make missing runs until none is left or the time is up."""
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    rulers: dict[str, Yardstick] = {}
    epsilons = [epsilon for epsilon in _ORDER if epsilon in options.epsilons]
    for todo in missing(cache, systems, options.data, epsilons, options.runs, known.settled):
        if time.monotonic() > end:
            print("... time is up; the next call resumes", file=sys.stderr)
            return
        data = TABLES[todo.data]
        ruler = rulers.setdefault(data.name, None) or workshop.yardstick(data)  # type: ignore[arg-type]
        rulers[data.name] = ruler
        made = run(workshop, todo.system, data, todo.epsilon, todo.seed, limits, ruler)
        cache.put(made, todo.system.slug)
        print(f"... {_told(made)}", file=sys.stderr, flush=True)


def measure_again(workshop: Workshop, cache: Cache, options: argparse.Namespace) -> None:
    """For when the measures have changed: peers need not run again if their released tables are still in the folder."""
    for name in options.data:
        ruler = workshop.yardstick(TABLES[name])
        for system in (system for system in SYSTEMS.values() if not system.not_here):
            for epsilon in options.epsilons:
                for made in pair_runs(cache, system, name, epsilon, options.runs):
                    again = measured_again(workshop, system, TABLES[name], made, ruler)
                    if again is not None:
                        cache.put(again, system.slug)


def _told(made: Run) -> str:
    cost = f"{made.processor_seconds:.1f} s of processor, {made.seconds:.1f} s, {made.peak_mb:.0f} MB"
    return f"{made.data}, ε = {made.epsilon}, {made.system}, run {made.seed}: {made.status} ({cost}) {made.message}"


def _drop(cache: Cache, systems: list[System], options: argparse.Namespace) -> None:
    """Forget what --again names, and runs of ours that other code made: they are quick, and the point of all this."""
    for system in SYSTEMS.values():
        if system.not_here or options.only_report or options.measure_again:
            continue
        for data in options.data:
            now = current_fingerprint(system, TABLES[data]) if system.ours else None
            for epsilon in options.epsilons:
                for made in pair_runs(cache, system, data, epsilon, options.runs):
                    stale = now is not None and system in systems and made.fingerprint != now
                    if stale or system.name in options.again:
                        cache.forget(data, epsilon, system.slug, made.seed)


def collected(cache: Cache, runs: int, known: Known = NOTHING_KNOWN) -> dict[str, Any]:
    """The whole result: from the cache, and where that knows nothing of a system from what is known already."""
    pairs, held_out, versions, stale, machines = [], [], {}, {}, {}
    here = {name: system for name, system in SYSTEMS.items() if not system.not_here}
    for data in TABLES:
        now = {name: current_fingerprint(system, TABLES[data]) for name, system in here.items()}
        for epsilon in EPSILONS:
            found = {name: pair_runs(cache, system, data, epsilon, runs) for name, system in here.items()}
            pair = compare(data, epsilon, found, known.pair(data, epsilon))
            (pairs if data in DATA else held_out).append(pair)
            for name, entry in pair["systems"].items():
                if entry["status"] == "not here":
                    continue
                made = entry["runs"] + entry.get("failed_runs", 0) or 1
                if entry.get("fingerprint") != now[name]:
                    stale[name] = stale.get(name, 0) + made
                if entry["version"]:
                    versions[name] = entry["version"]
                text = json.dumps(entry.get("machine", {}))
                machines[text] = machines.get(text, 0) + made
    return {
        "pairs": pairs,
        **_won(pairs),
        "held_out": {"pairs": held_out, **_won(held_out)},
        "delta": DELTA,
        "k": K,
        "runs_asked_for": runs,
        "systems": {
            name: {"guarantee": s.guarantee, "neighbours": s.neighbours, "bins": s.bins, "ranked": s.ranked,
                   "doubt": s.doubt, "lines": s.lines, "not_here": s.not_here, "only_at": s.only_at, "runs": s.runs}
            for name, s in SYSTEMS.items()
        },
        "runs_of_other_code": stale,
        "machine": {**machine(), "runs_by_machine": [{**json.loads(text), "runs": n} for text, n in machines.items()]},
        "versions": versions,
    }  # fmt: skip


def _won(pairs: list[dict[str, Any]]) -> dict[str, int]:
    compared = [pair for pair in pairs if pair["ours_at_or_above_best_peer"] is not None]
    return {"won": sum(pair["ours_at_or_above_best_peer"] for pair in compared), "compared": len(compared)}


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".peers", help="environments and tables (.peers)")
    parser.add_argument("--cache", type=Path, default=RESULTS / "cache", help="results of single runs")
    parser.add_argument("--result", type=Path, default=RESULTS / "peers.json", help="the comparison")
    parser.add_argument("--data", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--epsilons", nargs="+", choices=EPSILONS, default=list(EPSILONS), metavar="E")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="NAME")
    parser.add_argument("--runs", type=int, default=5, help="runs per system and pair (5)")
    parser.add_argument("--cap", type=int, default=900, help="processor seconds a run may take (900)")
    parser.add_argument("--minutes", type=float, help="start no run after so many minutes; the next call resumes")
    parser.add_argument(
        "--again", nargs="+", choices=SYSTEMS, default=[], metavar="NAME", help="forget what is known of them"
    )
    parser.add_argument("--only-report", action="store_true", help="make no run; compare what is known")
    parser.add_argument("--measure-again", action="store_true", help="measure kept tables anew; run nothing")
    parser.add_argument(
        "--only-timing", action="store_true", help="time and memory on Adult at ε = 1; for a quiet machine"
    )
    return parser


if __name__ == "__main__":
    main()
