"""What became of a release: its first rows, papers, evaluation, risk, downloads."""

from __future__ import annotations

import io
import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

from rankveil.certificate import Certificate
from rankveil.engines import open_table
from rankveil.errors import RankveilError
from rankveil.meaning import LARGE
from rankveil.web import jobs
from rankveil.web.home import Working
from rankveil.web.jobs import About, Job, files_named_by, found_about
from rankveil.web.private import keep
from rankveil.web.site import Ask
from rankveil.web.tables import table_of
from rankveil.write import CERTIFICATE_NAME, PAPER_NAMES
from rankveil.write.swap import WEIGHTS_NAMES

# A report is a page of its own: no script, no request, only its own style. It may be shown inside this page.
REPORT_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none';"
    " base-uri 'none'; frame-ancestors 'self'; sandbox allow-same-origin",
    "x-frame-options": "SAMEORIGIN",
}
_INTERNAL = (
    *("evaluation.internal.html", "evaluation.internal.json", "compare.internal.html", "compare.internal.csv"),
    *("risk.internal.html", "risk.internal.json"),
    *("attack.internal.html", "attack.internal.json"),
)
_SHOWN_ROWS, _SHOWN_COLUMNS = 10, 40
_TYPES = {".csv": "text/csv", ".json": "application/json", ".toml": "application/toml", ".html": "text/html"}


def result_page(ask: Ask) -> Response:
    working, job, status = ask.working, ask.job, ask.job.status()
    if status.stage == "never started":
        nothing: dict[str, Any] = {"spec": None, "evaluation": None, "risk": None, "others": []}
        return ask.step("result.html.jinja", "result", job=job, status=status, **nothing)
    if job.spec.kind in ("compare", "attack"):
        return ask.go(f"{ask.here}/method/{job.spec.kind}")
    if job.spec.kind != "release":
        raise HTTPException(404)
    if not status.running:
        job.tidy()
    certificate = _certificate(job) if status.state == "done" else None
    return ask.step(
        "result.html.jinja",
        "release" if status.running else "result",
        job=job,
        spec=job.spec,
        status=status,
        certificate=certificate,
        large=certificate is not None and Fraction(certificate.epsilon or 0) > LARGE,
        checks=_checked(job) if certificate is not None else None,
        release_file=job.release_file(),
        published={path.name for path in _published(job)},
        plan=job.plan(),
        out=None if ask.site.out is None else job.out,
        ledger=ask.site.ledger,
        plan_text=(job.folder / "plan.toml").read_text(encoding="utf-8"),
        private=ask.site.out is None or job.out.is_relative_to(working.folder),
        rows=_first_rows(job) if certificate is not None else None,
        evaluation=_latest(working, job, "evaluate"),
        risk=_latest(working, job, "risk"),
        others=[other for other in jobs.releases_of(working) if other.id != job.id],
    )


def _certificate(job: Job) -> Certificate | None:
    try:
        return Certificate.model_validate_json((job.out / CERTIFICATE_NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def _changed(job: Job) -> list[int]:
    """When the published files were written: what was verified then may not hold for others."""
    return [path.stat().st_mtime_ns for path in sorted(_published(job))]


def _checked(job: Job) -> list[dict[str, Any]]:
    """What `rankveil verify` says, asked once."""
    kept = job.folder / "verified.json"
    release = job.release_file()
    if release is None:
        return []
    try:
        known = json.loads(kept.read_bytes())
        if known["changed"] == _changed(job):
            return list(known["checks"])
    except (OSError, ValueError, KeyError):
        pass
    from rankveil.verify import verify

    result = verify(job.out / CERTIFICATE_NAME, release)
    checks = [{"check": check.check, "holds": check.holds, "detail": check.detail} for check in result.checks]
    keep(kept, json.dumps({"changed": _changed(job), "checks": checks}).encode())
    return checks


def _first_rows(job: Job) -> dict[str, Any] | None:
    """The first rows of what was released. They are protected as the certificate says, and shuffled or in order as it
    says; nothing of the original is read."""
    release = job.release_file()
    if release is None:
        return None
    try:
        table = open_table(release)
        names = table.schema.names[:_SHOWN_COLUMNS]
        batch = next(iter(table.batches(names)), None)
    except RankveilError:
        return None
    if batch is None:
        return None
    rows = [
        ["" if value is None else str(value) for value in row.values()]
        for row in batch.slice(0, _SHOWN_ROWS).to_pylist()
    ]
    return {"names": names, "rows": rows, "more": len(table.schema.names) - len(names)}


def _latest(working: Working, release: Job, kind: About) -> dict[str, Any] | None:
    for job in found_about(working, release, kind):
        return {"job": job, "spec": job.spec, "status": job.status()}
    return None


def find_out(ask: Ask, kind: About) -> Response:
    """Start an evaluation, or a test of the risk."""
    job = ask.job
    if job.spec.kind != "release" or job.status().state != "done":
        raise HTTPException(404)
    table_of(ask.working.read())  # refuses, before a job is started, where a copy was removed
    jobs.find_out(ask.working, job, kind)
    return ask.go(f"{ask.here}/releases/{job.id}#{kind}")


def report(ask: Ask) -> Response:
    """An internal report, or the certificate for people, shown inside the page or in a tab of its own."""
    path = _file(ask)
    if path.suffix != ".html":
        raise HTTPException(404)
    return HTMLResponse(path.read_text(encoding="utf-8"), headers=REPORT_HEADERS)


def download(ask: Ask) -> Response:
    if ask.request.path_params["name"] == "release.zip":
        return _bundle(ask.job)
    path = _file(ask)
    return FileResponse(path, filename=path.name, media_type=_TYPES.get(path.suffix, "application/octet-stream"))


def _file(ask: Ask) -> Path:
    """The file of a release that the address names. Only names on this list are ever served."""
    job = ask.job
    known: dict[str, Path] = {"plan.toml": job.folder / "plan.toml"}
    known |= {name: job.folder / name for name in files_named_by(job.plan())}
    known |= {path.name: path for path in _published(job)}
    kinds: tuple[About, ...] = ("evaluate", "risk")
    about = [other for kind in kinds for other in reversed(found_about(ask.working, job, kind))]
    for other in [*about, *([job] if job.spec.kind != "release" else [])]:
        known |= {name: other.out / name for name in _INTERNAL if (other.out / name).exists()}
    found = known.get(ask.request.path_params["name"])
    if found is None or not found.is_file():
        raise HTTPException(404)
    return found


def _published(job: Job) -> list[Path]:
    """What may be given away of a finished release: the rows, the papers, and replicate weights if there are some."""
    release = job.release_file()
    if release is None:
        return []
    beside = (*PAPER_NAMES, *WEIGHTS_NAMES)
    return [release, *(job.out / name for name in beside if (job.out / name).is_file())]


def _bundle(job: Job) -> Response:
    """All that may be given away, with the plan and its taxonomies. Nothing internal."""
    published = _published(job)
    if not published:
        raise HTTPException(404)
    packed = job.folder / "release.zip"
    if not packed.exists():
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in published:
                archive.write(path, f"release/{path.name}")
            for name in ("plan.toml", *files_named_by(job.plan())):
                archive.write(job.folder / name, name)
        keep(packed, content.getvalue())
    return FileResponse(packed, filename="release.zip", media_type="application/zip")
