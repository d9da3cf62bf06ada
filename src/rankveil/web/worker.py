"""One job in a process of its own: `python -m rankveil.web.worker FOLDER`. Started by jobs.py.

It calls what the command line calls. Its result, or the refusal in the command line's words, is left in result.json;
a job that was ended leaves none, and the ledger says what it cost.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rankveil import system
from rankveil.errors import BudgetError, RankveilError, bug_in
from rankveil.web import commands
from rankveil.web.budget import ledger_says
from rankveil.web.home import Working
from rankveil.web.jobs import READ, Job, remove_copy
from rankveil.web.private import held, keep
from rankveil.web.tables import REMOVE_COPY

Progress = Callable[[str], None]


class Cancelled(BaseException):
    """The page asked this job to end. Not an Exception, so that only cleaning up stands in its way."""


def main(folder: Path) -> None:
    job = Job(folder)
    signal.signal(signal.SIGTERM, _end)
    keep(folder / "pid", str(os.getpid()).encode())
    with held(folder / "running") if system.windows() else nullcontext():
        _run(job, folder)


def _run(job: Job, folder: Path) -> None:
    try:
        result = _WORK[job.spec.kind](job, _progress(folder))
    except Cancelled:
        return
    except RankveilError as error:
        result = {"error": error.as_dict()}
    except Exception as error:
        result = {"error": _as_refusal(job, error)}
    finally:
        keep(folder / READ, b"")
        _remove_copy_if_asked(job)
    keep(folder / "result.json", json.dumps(result).encode())


def _release(job: Job, progress: Progress) -> dict[str, Any]:
    from rankveil.release import release

    spec = job.spec
    before = ledger_says(Path(spec.ledger), job.id)
    if before.spent:  # cannot happen by way of the page; a second spend must be impossible all the same
        raise BudgetError(
            "The budget of this release was spent before; it is not made twice.",
            cost=f"Nothing further was spent: entry {before.entry} of the ledger stands.",
            remedy="Start a new release.",
        )
    made = release(
        spec.table,
        job.plan(),
        out=spec.out,
        accept_no_guarantee=spec.accept_no_guarantee,
        accept_large_epsilon=spec.accept_large_epsilon,
        replicates=spec.replicates,
        ledger=spec.ledger,
        reference=job.id,
        name=spec.table_name,
        progress=progress,
    )
    return {"statement": made.certificate.statement, "rows": made.certificate.rows}


def _evaluate(job: Job, progress: Progress) -> dict[str, Any]:
    from rankveil.evaluate import evaluate
    from rankveil.evaluate.evaluation import certificate_beside, release_file
    from rankveil.report.evaluation import as_page
    from rankveil.report.reproduction import reproduction

    plan_path, table = job.folder / "plan.toml", Path(job.spec.table)
    release = release_file(Path(job.spec.of_release or ""))
    plan = job.plan()
    result = evaluate(table, release, plan, progress=progress)
    made = reproduction(
        [("table", table), ("release", release), ("plan", plan_path)],
        command=commands.evaluation(job.spec.table_name),
        plan_text=plan_path.read_text(encoding="utf-8"),
    )
    page = as_page(result, plan, certificate_beside(release), made=made, progress=progress)
    keep(job.folder / "evaluation.internal.json", result.to_json().encode())
    keep(job.folder / "evaluation.internal.html", page.encode())
    return {}


def _risk(job: Job, progress: Progress) -> dict[str, Any]:
    from rankveil.report.risk import as_page
    from rankveil.risk import risk

    found = risk(job.spec.table, job.spec.of_release, job.plan(), progress=progress)
    progress("drawing charts")
    keep(job.folder / "risk.internal.json", found.to_json().encode())
    keep(job.folder / "risk.internal.html", as_page(found).encode())
    return {}


def _compare(job: Job, progress: Progress) -> dict[str, Any]:
    from rankveil.compare import compare

    options = job.spec.options or {}
    compare(
        job.spec.table,
        job.plan(),
        methods=options["methods"],
        epsilons=[text.strip() for text in options["epsilons"].split(",") if text.strip()],
        runs=options["runs"],
        stand_in="made" if options["on"] == "made" else None,
        out=job.spec.out,  # finished cells are kept there: a comparison that was ended goes on
        progress=lambda step: progress(str(step)),
    )
    return {}


def _attack(job: Job, progress: Progress) -> dict[str, Any]:
    from rankveil.audit.attack import attack
    from rankveil.report.attack import as_page

    options = job.spec.options or {}
    found = attack(
        job.spec.table, job.plan(), methods=options["methods"] or None, sample=options["sample"], progress=progress
    )
    progress("drawing charts")
    keep(job.folder / "attack.internal.json", found.to_json().encode())
    keep(job.folder / "attack.internal.html", as_page(found).encode())
    return {}


_WORK: dict[str, Callable[[Job, Progress], dict[str, Any]]] = {
    "release": _release,
    "evaluate": _evaluate,
    "risk": _risk,
    "compare": _compare,
    "attack": _attack,
}


def _progress(folder: Path) -> Progress:
    def show(stage: str) -> None:
        if (folder / "cancelled").exists():
            raise Cancelled
        keep(folder / "stage", stage.encode())

    return show


def _end(number: int, frame: object) -> None:
    raise Cancelled


def _as_refusal(job: Job, error: Exception) -> dict[str, Any]:
    """A bug, without the exception's own text, and with what it cost."""
    paid = ledger_says(Path(job.spec.ledger), job.id) if job.spec.kind == "release" else None
    cost = "No release was completed." if job.spec.kind == "release" else "Nothing was spent."
    if paid is not None:
        cost += f" Its budget is spent: entry {paid.entry} of the ledger." if paid.spent else " No budget was spent."
    return {
        "error": "Bug",
        "problem": bug_in(error),
        "cost": cost,
        "remedy": "Please report it. The same command in a terminal, with RANKVEIL_DEBUG=1, shows more.",
        "exit_code": 1,
    }


def _remove_copy_if_asked(job: Job) -> None:
    """The page was closed while this job was reading the copy of an upload."""
    working = Working(job.folder.parent.parent)
    if (working.folder / REMOVE_COPY).exists():
        remove_copy(working)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
