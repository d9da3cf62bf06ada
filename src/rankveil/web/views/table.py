"""Opening a table, going on with an earlier one, removing one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from rankveil.errors import RankveilError, TableError
from rankveil.formats import FORMATS
from rankveil.ledger import Ledger, default_ledger_path, identities
from rankveil.system import binary
from rankveil.web.budget import content_identities, open_dialect
from rankveil.web.columns import guesses_left
from rankveil.web.home import Working
from rankveil.web.jobs import jobs_of, releases_of
from rankveil.web.private import only_for_me
from rankveil.web.site import Ask
from rankveil.web.tables import REMOVE_COPY, example, open_path, open_upload, safe_name


def start_page(ask: Ask) -> Response:
    sessions = [_summary(working) for working in ask.site.home.workings()]
    endings = sorted({"." + ending.split(".")[-1] for each in FORMATS.values() for ending in each.endings})
    return ask.page("start.html.jinja", sessions=sessions, endings=endings)


def _summary(working: Working) -> dict[str, Any]:
    try:
        state = working.read()
        guesses = guesses_left(working.plan(state))
    except RankveilError:
        return {"id": working.id, "broken": True}
    return {
        "id": working.id,
        "broken": False,
        "state": state,
        "guesses": guesses,
        "releases": len(releases_of(working)),
        "there": Path(state.table).exists(),
    }


def open_page(ask: Ask) -> Response:
    """An upload: table, and a plan with its taxonomies if there is one."""
    table = ask.file("table")
    if table is None:
        raise TableError("No file was chosen.", remedy="Choose a CSV or Parquet file.")
    plans = ask.small_files("plan")
    folder = ask.site.home.folder_for_new()
    copy = _copied(table, folder)
    working = open_upload(
        ask.site.home,
        folder,
        copy,
        safe_name(table.filename or "", "table.csv"),
        plans[0] if plans else None,
        ask.small_files("taxonomies"),
        ask.site.owner,
        codebooks=ask.small_files("codebook"),
        extract=ask.text("extract") == "on",
        sheet=ask.text("sheet").strip() or None,
    )
    with Ledger(ask.site.ledger or default_ledger_path()) as book:
        content_identities(working, book)  # remembered, while the copy is there
    return ask.go(f"{ask.site.base}/w/{working.id}/columns")


def open_example(ask: Ask) -> Response:
    """The example that comes with rankveil, with its plan: nobody's secret, to try the page on."""
    working = open_path(ask.site.home, *example(), ask.site.owner)
    return ask.go(f"{ask.site.base}/w/{working.id}/columns")


def _copied(table: UploadFile, folder: Path) -> Path:
    """The upload in the private folder, readable by its owner only. Its ending is kept: it may mean compression."""
    name = safe_name(table.filename or "", "table.csv")
    path = only_for_me(folder / "table") / name
    handle = os.open(path, binary(os.O_WRONLY | os.O_CREAT | os.O_EXCL), 0o600)
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(table.file, file, 1 << 20)
    return path


def table_page(ask: Ask) -> Response:
    state = ask.working.read()
    columns = len(ask.working.plan(state).columns)
    return ask.step("table.html.jinja", "table", there=Path(state.table).exists(), columns=columns)


def give_again(ask: Ask) -> Response:
    """The same table once more, after its copy was removed."""
    working = ask.working
    table = ask.file("table")
    if table is None:
        raise TableError("No file was chosen.", remedy="Choose the file that was uploaded before.")
    state = working.read()
    if not state.uploaded:
        raise TableError(
            f"{state.name} is read where it lies.", remedy="Put it back there; nothing is uploaded for it."
        )
    incoming = ask.site.home.folder_for_new()
    try:
        copy = _copied(table, incoming)
        with Ledger(ask.site.ledger or default_ledger_path()) as book:
            if (
                identities(open_dialect(working, copy), book.key)[0].digest
                != content_identities(working, book)[0].digest
            ):
                raise TableError(
                    f"This is not the table that was uploaded as {state.name}.",
                    remedy="Choose the same file, or open this one as a new table from the start page.",
                )
        only_for_me(Path(state.table).parent)
        copy.replace(state.table)
        (working.folder / REMOVE_COPY).unlink(missing_ok=True)
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
    return ask.go(f"{ask.here}/columns")


def remove(ask: Ask) -> Response:
    """Remove a session and all it has in the private folder. The ledger is not touched: what is spent is spent."""
    found = ask.site.home.working(ask.request.path_params["working"])
    if found is not None:
        if any(job.status().running for job in releases_of(found)):
            raise TableError(
                "A release of this session is at work.",
                remedy="Wait for it, or cancel it on its page, and remove then.",
            )
        for job in jobs_of(found):
            job.cancel()
        found.remove()
    return ask.go(f"{ask.site.base}/")
