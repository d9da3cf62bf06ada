"""One run: write the request, start the runner in its environment, measure what it released."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.peers.cache import Run, Status
from benchmarks.peers.data import ROOT, Data
from benchmarks.peers.environments import EnvironmentFailed, interpreter
from benchmarks.peers.measuring import Yardstick, code_fingerprint
from benchmarks.peers.recoding import Recoding
from benchmarks.peers.systems import HERE, RUNNERS, System

DELTA = "1e-9"
K = 50  # size of clusters, for the systems that form them
_MOST_OF_A_MESSAGE = 200
_ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"),
    "NUMBA_NUM_THREADS": "1",
    "LOKY_MAX_CPU_COUNT": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}


@dataclass(frozen=True)
class Limits:
    """Of one run. Processor seconds count: other work on the machine should end nobody's run. The clock is a fuse."""

    processor_seconds: int = 900
    seconds: float = 3600.0


@dataclass(frozen=True)
class Workshop:
    """Where runs take place: environments, prepared tables, and released tables that are kept for measuring again."""

    folder: Path
    source: Path

    def table(self, data: Data) -> Path:
        path = self.folder / "tables" / f"{data.name}.csv"
        return path if path.exists() else data.prepare(self.source, path.parent)

    def rows(self, data: Data) -> int:
        with self.table(data).open(encoding="utf-8") as lines:
            return sum(1 for _ in lines) - 1

    def test(self, data: Data) -> Path | None:
        return data.prepare_test(self.folder / "tables")

    def released(self, data: str, epsilon: str, system: System, seed: int) -> Path:
        return self.folder / "released" / data / f"epsilon-{epsilon}" / f"{system.slug}-{seed}.csv"

    def yardstick(self, data: Data) -> Yardstick:
        return Yardstick(data, self.table(data), self.test(data))


@dataclass(frozen=True)
class Cost:
    status: Status
    message: str
    seconds: float
    processor_seconds: float
    peak_mb: float
    report: dict[str, Any]


def execute(workshop: Workshop, system: System, data: Data, epsilon: str, seed: int | None, limits: Limits) -> Cost:
    """Release once. The released table lies where the workshop keeps it, if the status is `done`."""
    output = workshop.released(data.name, epsilon, system, seed or 0)
    output.parent.mkdir(parents=True, exist_ok=True)
    folder = workshop.folder / "runs" / f"{data.name}-{epsilon}-{system.slug}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    table, told, recoding = workshop.table(data), data, None
    if system.recoded:
        recoding = Recoding(data, system.recoded, workshop.rows(data), epsilon, DELTA)
        told, table = recoding.told(), folder / "table.csv"
        recoding.recode(workshop.table(data), table)
    request = {
        "table": str(table), "columns": told.columns, "epsilon": epsilon, "delta": DELTA, "seed": seed,
        "variant": system.variant, "k": K, "folder": str(folder), "output": str(output),
        "report": str(folder / "report.json"),
    }  # fmt: skip
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    try:
        python = interpreter(system, workshop.folder)
    except EnvironmentFailed as failure:
        return Cost("failed", trimmed(str(failure), data), 0.0, 0.0, 0.0, {})
    command = [str(python), *system.command, str(folder / "request.json")]
    cost = launched(command, folder, limits, _surroundings(system, folder))
    report_file = folder / "report.json"
    report = json.loads(report_file.read_text(encoding="utf-8")) if report_file.exists() else {}
    status: Status = "timed out" if cost["limit_reached"] else "failed" if cost["exit_code"] else "done"
    message = ""
    if status == "timed out":
        message = f"stopped after {cost['processor_seconds']:.0f} s of processor time"
    elif status == "failed":
        message = trimmed(report.get("error") or _last_line(folder / "stderr.txt", cost["exit_code"]), data)
    elif recoding is not None:
        recoding.restore(output, seed or 0)
    shutil.rmtree(folder)
    return Cost(status, message, cost["seconds"], cost["processor_seconds"], cost["peak_mb"], report)


def launched(command: list[str], folder: Path, limits: Limits, surroundings: dict[str, str]) -> dict[str, Any]:
    result = folder / "cost.json"
    with (folder / "stdout.txt").open("wb") as out, (folder / "stderr.txt").open("wb") as err:
        launcher = [sys.executable, "-I", str(HERE / "launch.py"), str(result)]
        limit = [str(limits.processor_seconds), str(limits.seconds)]
        subprocess.run([*launcher, *limit, *command], stdout=out, stderr=err, check=True, cwd=folder, env=surroundings)
    found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def run(
    workshop: Workshop, system: System, data: Data, epsilon: str, seed: int, limits: Limits, ruler: Yardstick
) -> Run:
    cost = execute(workshop, system, data, epsilon, seed, limits)
    status, message, measures = cost.status, cost.message, {}
    if status == "done":
        try:
            measures = ruler.measure(workshop.released(data.name, epsilon, system, seed))
        except Exception as error:  # a table that cannot be read as one of this domain is the system's failure
            status, message = "failed", trimmed(f"its table cannot be measured: {error}", data)
    return Run(
        data.name, epsilon, system.name, seed, status, message, cost.seconds, cost.processor_seconds, cost.peak_mb,
        cost.report.get("version", ""), sum(cost.report.get("repairs", {}).values()), measures,
        current_fingerprint(system, data), machine(),
    )  # fmt: skip


def measured_again(workshop: Workshop, system: System, data: Data, made: Run, ruler: Yardstick) -> Run | None:
    """The same run with measures of today's code; None if its table is not kept here or nothing has changed."""
    table = workshop.released(data.name, made.epsilon, system, made.seed)
    if made.status != "done" or not table.exists() or made.fingerprint["measures"] == code_fingerprint():
        return None
    prints = {**made.fingerprint, "measures": code_fingerprint()}
    return replace(made, measures=ruler.measure(table), fingerprint=prints)


def current_fingerprint(system: System, data: Data) -> dict[str, str]:
    return {**system.fingerprint(), "data": data.fingerprint, "measures": code_fingerprint()}


def machine() -> dict[str, Any]:
    """What times depend on. The load says how busy others kept it."""
    model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def trimmed(message: str, data: Data) -> str:
    """One line, no label of the data and no number that could be one of its values, not too long."""
    line = " ".join(message.split())
    for column in data.columns:
        for label in column.get("labels", ()):
            line = re.sub(rf"(['\"]){re.escape(label)}\1", "'…'", line)
    line = re.sub(r"(?<![\w.])-?\d{2,}(\.\d+)?(?![\w.])", "…", line)
    line = line.replace(str(ROOT), "")
    line = re.sub(r"/\S+/", "", line)
    return line if len(line) <= _MOST_OF_A_MESSAGE else line[: _MOST_OF_A_MESSAGE - 1] + "…"


def _last_line(path: Path, code: int) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ended with code {code} and no message"


def _surroundings(system: System, folder: Path) -> dict[str, str]:
    path = str(ROOT / "src") if system.ours else str(RUNNERS / "shared")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RANKVEIL", "ARROW"))}
    ledger = str(folder / "ledger.sqlite")
    return {**kept, **_ONE_THREAD, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "RANKVEIL_LEDGER": ledger}
