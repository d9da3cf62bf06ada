"""Single releases with all their estimates, made by several processes and remembered in a file."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import rankveil as rv
from benchmarks.coverage.questions import Truth, population, source_of, table_of, truths, without_weights
from benchmarks.packages import FOLDER
from rankveil.estimate import Estimate, Frame
from rankveil.noise import SeededSource

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Found = list[dict[str, Any]]


@dataclass(frozen=True)
class Setting:
    table: str
    epsilon: str
    delta: str | None

    @property
    def title(self) -> str:
        return f"{self.table} ε {self.epsilon}" + (f" δ {self.delta}" if self.delta else "")


# One release


@cache
def truths_of(name: str, seed: int | None) -> list[Truth]:
    """Of the table, or of the people drawn by a seed; -1: of the whole population. On the disk after its first use."""
    path = FOLDER / "coverage-truths" / f"{name}-{seed}-{_of_files(_ASKING)}.json"
    if not path.exists():
        table = population() if seed == -1 else table_of(name, seed or 0)
        certificate = rv.release(table.slice(0, 100), source_of(name).plan("1"), source=SeededSource(1)).certificate
        found = list(truths(without_weights(table, certificate), name))
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
        beside.replace(path)
    return [(kind, ask, values) for kind, ask, values in json.loads(path.read_text(encoding="utf-8"))]


def one_release(setting: Setting, seed: int, replicates: int) -> Found:
    """Every estimate from a release, with the truth beside it."""
    made_anew = setting.table == "made"
    plan = source_of(setting.table).plan(setting.epsilon, setting.delta)
    table = table_of(setting.table, seed)
    frame = Frame.of(rv.release(table, plan, source=SeededSource(seed), replicates=replicates))
    targets = [("table", truths_of(setting.table, seed if made_anew else None))]
    if made_anew:
        targets.append(("population", truths_of("made", -1)))
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


def _timed(setting: Setting, seed: int, replicates: int) -> tuple[Found, float]:
    start = time.process_time()
    return one_release(setting, seed, replicates), time.process_time() - start


# Many


_PACKAGE = Path(rv.__file__).parent
_ASKING = (
    *(_PACKAGE / "estimate" / f"{name}.py" for name in ("statistics", "regression")),
    Path(__file__).with_name("questions.py"),
)


def _of_files(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def fingerprint() -> str:
    """Of what weights and estimates depend on."""
    files = sorted(path for room in ("measure", "fit", "draw") for path in (_PACKAGE / room).rglob("*.py"))
    return _of_files([*files, _PACKAGE / "estimate" / "intervals.py", _PACKAGE / "rules.py", *_ASKING])


class Store:
    """Releases that were made before, by the same code."""

    def __init__(self, paths: Sequence[Path], replicates: int, *, by_any_code: bool = False) -> None:
        self.path, self._replicates, self._code = paths[0], replicates, fingerprint()
        self._known: dict[str, Found] = {}
        for path in (path for path in paths if path.exists()):
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if by_any_code or entry["code"] == self._code:
                    self._known[entry["key"]] = entry["found"]

    def get(self, setting: Setting, seed: int) -> Found | None:
        return self._known.get(self._key(setting, seed))

    def make(self, settings: Sequence[Setting], runs: int, workers: int, minutes: float) -> None:
        """What is missing, the first release of every setting first; none begins after so many minutes."""
        missing = iter(
            [(setting, seed) for seed in range(1, runs + 1) for setting in settings if self.get(setting, seed) is None]
        )
        end = time.monotonic() + 60 * minutes
        os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
        running: dict[Future[tuple[Found, float]], tuple[Setting, int]] = {}
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            while True:
                while len(running) < workers and time.monotonic() < end:
                    following = next(missing, None)
                    if following is None:
                        break
                    running[pool.submit(_timed, *following, self._replicates)] = following
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    self._keep(*running.pop(done), *done.result())

    def _keep(self, setting: Setting, seed: int, found: Found, seconds: float) -> None:
        key = self._key(setting, seed)
        self._known[key] = found
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"code": self._code, "key": key, "seconds": seconds, "found": found}) + "\n")
        print(f"... {key} ({seconds:.1f} s of a processor)", file=sys.stderr, flush=True)

    def _key(self, setting: Setting, seed: int) -> str:
        return f"{setting.title} {seed} {self._replicates}"

    def together(self, settings: Sequence[Setting], runs: int) -> dict[Setting, list[Found]]:
        """As many releases of each setting: the seeds that all of them have."""
        seeds = [
            seed for seed in range(1, runs + 1) if all(self.get(setting, seed) is not None for setting in settings)
        ]
        return {setting: [self._known[self._key(setting, seed)] for seed in seeds] for setting in settings}
