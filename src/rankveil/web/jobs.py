"""Releases, evaluations, tests of risk, comparisons and attacks: each a process of its own, in a folder of its own.

Guarantee    One id, one job: however often a form is sent, its release is started once. What the page says about a
             job is what the disk and the ledger say, also after the page or the job was killed.
Argument     A job is its folder, and making a folder succeeds once. The process holds a lock on a file in it from
             before it starts (the server takes the lock and hands it over) until it ends, however it ends. The ledger
             notes the job's id with the spend, in the same entry.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rankveil import system
from rankveil.declare import Plan
from rankveil.declare.plan_file import plan_toml
from rankveil.ledger import default_ledger_path
from rankveil.web.budget import LedgerSays, ledger_says
from rankveil.web.guard import secret
from rankveil.web.home import Working
from rankveil.web.private import held, is_held, keep
from rankveil.web.tables import REMOVE_COPY
from rankveil.write import CERTIFICATE_NAME, RELEASE_NAMES, recover, write_text

READ = "read"  # a file of a job that no longer reads the table
JOB_ID = re.compile(r"[0-9a-f]{16}")
_PATIENCE = 3.0  # seconds between asking a job to end and ending it
Kind = Literal["release", "evaluate", "risk", "compare", "attack"]
About = Literal["evaluate", "risk"]  # what is found out about a release, from the original
StateName = Literal["running", "done", "refused", "cancelled", "broken"]
_children: list[subprocess.Popen[bytes]] = []  # to be reaped
_started: dict[Path, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Spec:
    """What a job is to do."""

    kind: Kind
    table: str
    table_name: str
    out: str  # where results go
    ledger: str
    created: float
    method: str
    epsilon: str
    delta: str | None = None
    k: int | None = None
    accept_no_guarantee: bool = False
    accept_large_epsilon: bool = False
    replicates: int | None = None
    of_release: str | None = None  # folder of the release to evaluate
    options: dict[str, Any] | None = None


@dataclass(frozen=True)
class Status:
    """How a job stands."""

    state: StateName
    stage: str
    seconds: float
    ledger: LedgerSays
    written: bool  # release and certificate lie in the output folder
    error: dict[str, Any] | None = None

    @property
    def running(self) -> bool:
        return self.state == "running"


class Job:
    """A job in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name

    @property
    def spec(self) -> Spec:
        return Spec(**json.loads((self.folder / "job.json").read_bytes()))

    @property
    def out(self) -> Path:
        return Path(self.spec.out)

    def plan(self) -> Plan:
        return Plan.load(self.folder / "plan.toml")

    def release_file(self) -> Path | None:
        found = [self.out / name for name in RELEASE_NAMES if (self.out / name).exists()]
        return found[0] if found and (self.out / CERTIFICATE_NAME).exists() else None

    def alive(self) -> bool:
        for child in list(_children):
            if child.poll() is not None:
                _children.remove(child)
        started = _started.get(self.folder)  # on Windows the lock is free until the child has taken it
        return is_held(self.folder / "running") or (system.windows() and started in _children)

    def reads(self) -> bool:
        """Whether it may still read the table. A job that has read it goes on for a moment: result, end of process."""
        return self.alive() and not (self.folder / READ).exists()

    def status(self) -> Status:
        try:
            spec = self.spec
        except (OSError, ValueError, TypeError):  # killed between making the folder and saying what it is for
            return Status("broken", "never started", 0.0, LedgerSays(), False)
        alive = self.alive()  # first: a job that ends from here on has left its result
        finished = _read_json(self.folder / "result.json")
        paid = ledger_says(Path(spec.ledger), self.id) if spec.kind == "release" else LedgerSays()
        written = spec.kind == "release" and self.release_file() is not None
        stage = _read_text(self.folder / "stage") or "starting"
        ends = (_changed(self.folder / name) for name in ("result.json", "cancelled", "stage"))
        end = time.time() if alive else next(filter(None, ends), spec.created)
        error = None if finished is None else finished.get("error")
        state: StateName
        if finished is not None:
            state = "done" if error is None else "refused"
        elif alive:
            state = "running"
        elif written and paid.spent:
            state = "done"  # killed after its last step, before it could say so
        else:
            state = "cancelled" if (self.folder / "cancelled").exists() else "broken"
        return Status(state, stage, max(0.0, end - spec.created), paid, written, error)

    def cancel(self) -> None:
        """End the process: asked first, so that it removes its own temporary files, then made to."""
        if not self.alive():
            return
        (self.folder / "cancelled").touch(mode=0o600)
        deadline = time.monotonic() + _PATIENCE
        asked = False
        while self.alive() and time.monotonic() < deadline:
            if not asked and (self.folder / "pid").exists():
                self._signal(signal.SIGTERM)
                asked = True
            time.sleep(0.05)
        if self.alive():
            self._signal(system.kill_signal())
            while self.alive() and time.monotonic() < deadline + _PATIENCE:
                time.sleep(0.05)
        self.tidy()

    def _signal(self, number: signal.Signals) -> None:
        # The lock is held, so the process that wrote the file still is the one with this number.
        text = _read_text(self.folder / "pid")
        if text is not None and text.isdigit() and self.alive():
            try:
                os.kill(int(text), number)
            except ProcessLookupError:
                return

    def tidy(self) -> None:
        """Remove what a job that was ended has left half-done: protected rows."""
        if self.alive() or self.spec.kind != "release":
            return
        recover(self.out)


def jobs_of(working: Working) -> list[Job]:
    """Oldest first."""
    folder = working.jobs_folder
    found = [Job(path) for path in folder.iterdir() if JOB_ID.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda job: job.folder.stat().st_ctime)


def is_read(working: Working) -> bool:
    """Whether a job may still read the table."""
    return any(job.reads() for job in jobs_of(working))


def remove_copy(working: Working) -> None:
    """Remove the copy of an uploaded table, or leave that to the job that still reads it.

    First it is asked for, then jobs are looked at; a job first says that it has read the table, then looks whether it
    is asked. So one of the two removes the copy, whichever comes first.
    """
    state = working.read()
    if not state.uploaded:
        return
    (working.folder / REMOVE_COPY).touch(mode=0o600)
    if is_read(working):
        return
    Path(state.table).unlink(missing_ok=True)
    (working.folder / REMOVE_COPY).unlink(missing_ok=True)


def releases_of(working: Working) -> list[Job]:
    return _jobs_of_kind(working, "release")


def _jobs_of_kind(working: Working, kind: Kind) -> list[Job]:
    return [job for job in jobs_of(working) if (job.folder / "job.json").exists() and job.spec.kind == kind]


def job_named(working: Working, job_id: str) -> Job | None:
    folder = working.jobs_folder / job_id
    return Job(folder) if JOB_ID.fullmatch(job_id) and folder.is_dir() else None


def start(working: Working, job_id: str, plan: Plan, spec: Spec) -> Job:
    """Start a job, unless one with this id was started before: then that one is given back."""
    folder = working.jobs_folder / job_id
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return Job(folder)
    if spec.kind == "release" and not plan.unit.rows_public:
        # PRIVACY: the plan goes with the release, which does not read how many rows were counted.
        plan = plan.with_(expected_rows=None)
    write_text(folder / "plan.toml", plan_toml(plan))
    for name in files_named_by(plan):
        shutil.copyfile(working.folder / name, folder / name)
    keep(folder / "job.json", json.dumps(asdict(spec)).encode())
    with held(folder / "running") as lock:
        child = subprocess.Popen(
            [sys.executable, "-m", "rankveil.web.worker", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # The lock goes with the open file: the child holds it until it ends. On Windows it takes it by itself.
            pass_fds=[] if system.windows() else [lock],
            **system.apart(),  # a Ctrl-C in the terminal ends the page, not a release that was paid for
        )
        _children.append(child)
        _started[folder] = child
    return Job(folder)


def folder_in(out: Path, job_id: str) -> Path:
    """Where a release goes if the page was given a folder for releases."""
    return out / f"release-{job_id[:8]}"


def release_spec(
    working: Working,
    plan: Plan,
    job_id: str,
    *,
    out: Path | None,
    ledger: Path | None,
    consent: dict[str, bool],
    replicates: int | None = None,
) -> Spec:
    state = working.read()
    folder = working.jobs_folder / job_id / "out" if out is None else folder_in(out, job_id)
    return Spec(
        kind="release",
        table=state.source,
        table_name=state.name,
        out=str(folder),
        ledger=str(ledger or default_ledger_path()),
        created=time.time(),
        method=plan.release.method,
        epsilon=f"{plan.release.epsilon:f}",
        delta=None if plan.release.delta is None else f"{plan.release.delta:f}",
        k=plan.release.k,
        accept_no_guarantee=consent["accept_no_guarantee"],
        accept_large_epsilon=consent["accept_large_epsilon"],
        replicates=replicates,
    )


def find_out(working: Working, release: Job, kind: About) -> Job:
    """Start an evaluation or a test of a release, or give back the one that is at work or done."""
    with working.locked():
        for job in found_about(working, release, kind):
            status = job.status()
            if status.running or status.state == "done":
                return job
        job_id = secret(8)
        out = str(working.jobs_folder / job_id)
        spec = replace(release.spec, kind=kind, created=time.time(), of_release=str(release.out), out=out)
        return start(working, job_id, release.plan(), spec)


def found_about(working: Working, release: Job, kind: About) -> list[Job]:
    """Evaluations or tests of one release, newest first."""
    return [job for job in _jobs_of_kind(working, kind) if job.spec.of_release == str(release.out)][::-1]


def looked_ahead(plan: Plan) -> str:
    """A fingerprint of the plan and of how many rows it expects, which a made table has."""
    return hashlib.sha256(f"{plan.sha256()} {plan.release.expected_rows}".encode()).hexdigest()


def ahead(working: Working, kind: Kind, options: dict[str, Any], *, ledger: Path | None) -> Job:
    """Start a comparison or an attack by the plan as it is now, or give back the one that is at work or done."""
    with working.locked():
        plan = working.plan()
        digest = looked_ahead(plan)
        for job in ahead_of(working, kind):
            status, same = job.status(), (job.spec.options or {}) == options and looked_ahead(job.plan()) == digest
            if status.running or (status.state == "done" and same):
                return job
        job_id = secret(8)
        consent = {"accept_no_guarantee": False, "accept_large_epsilon": False}
        spec = release_spec(working, plan, job_id, out=None, ledger=ledger, consent=consent)
        # Finished cells of a comparison are kept: one that was ended goes on.
        out = working.folder / f"compare-{options['on']}-{digest[:12]}" if kind == "compare" else None
        spec = replace(spec, kind=kind, options=options, out=str(out or working.jobs_folder / job_id))
        return start(working, job_id, plan, spec)


def ahead_of(working: Working, kind: Kind) -> list[Job]:
    """Comparisons or attacks of a session, newest first."""
    return _jobs_of_kind(working, kind)[::-1]


def files_named_by(plan: Plan) -> list[str]:
    """Taxonomies and label files of a plan."""
    names = [getattr(entry, key, None) for entry in plan.columns.values() for key in ("taxonomy", "taxonomy_labels")]
    return sorted({name for name in names if name})


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
