"""Opening a table: the copy of an upload, the plan that is drafted or brought along, and when copies are removed.

A table named on the command line is read where it lies. An upload is copied into the private folder (mode 0600).
The copy is removed when the page is closed (also by SIGTERM), when its session is removed, and, if the page was
killed, at the next start more than an hour after it was last used. A release that still reads it removes it itself.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rankveil.declare import Plan, declare
from rankveil.declare.codebooks import with_own_labels
from rankveil.declare.draft import draft_of
from rankveil.declare.plan_file import plan_toml
from rankveil.engines import open_table
from rankveil.errors import PlanError, RankveilError, TableError
from rankveil.web.guard import secret
from rankveil.web.home import Home, State, Working, in_sheet
from rankveil.web.private import keep

STALE_AFTER = 3600.0  # seconds: a killed page may be started again and go on within this time
REMOVE_COPY = "remove-copy"  # a file that asks the last process at work to remove the copy
_LARGEST_SMALL_FILE = 16 << 20
_EXAMPLE_TAXONOMIES = ("marital_status.csv", "native_country.csv", "occupation.csv", "workclass.csv")


@dataclass(frozen=True)
class SmallFile:
    """A plan, a taxonomy or a codebook as it was brought along."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Codebooks:
    """Documents that describe a table. What they say is public, and no guess; each entry names its source."""

    paths: tuple[Path, ...] = ()
    extract: bool = False  # the table has only some of the variables they describe

    @property
    def known_by(self) -> list[list[str]]:
        return [[path.name, hashlib.sha256(_content(path)).hexdigest()] for path in self.paths]


NO_CODEBOOKS = Codebooks()


def open_path(
    home: Home,
    table: Path,
    plan: Path | None,
    owner: str,
    codebooks: Codebooks = NO_CODEBOOKS,
    *,
    sheet: str | None = None,
) -> Working:
    """The working session of a table named at the start: an earlier one if nothing has changed, else a new one."""
    table = table.resolve()
    digest = None if plan is None else hashlib.sha256(_content(plan)).hexdigest()
    source = None if plan is None else str(plan.resolve())
    for working in home.workings():
        try:
            known = working.read()
        except RankveilError:
            continue
        documents = (known.codebooks, known.extract) == (codebooks.known_by, codebooks.extract)
        same = (known.source, known.plan_source, known.plan_source_sha256) == (in_sheet(table, sheet), source, digest)
        if not known.uploaded and documents and same:
            with working.changing() as state:
                state.owner = owner
            return working
    folder = home.folder_for_new()
    try:
        return _begin(
            home, folder, table, table.name, sheet, plan=plan, uploaded=False, owner=owner, codebooks=codebooks
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def example() -> tuple[Path, Path]:
    """Adult, which comes with rankveil, and its plan."""
    from rankveil.reproduce.data import example_file

    for taxonomy in _EXAMPLE_TAXONOMIES:
        example_file(taxonomy)
    return example_file("adult.csv.gz"), example_file("adult.toml")


def open_upload(
    home: Home,
    folder: Path,
    copy: Path,
    name: str,
    plan: SmallFile | None,
    taxonomies: Iterable[SmallFile],
    owner: str,
    *,
    codebooks: Iterable[SmallFile] = (),
    extract: bool = False,
    sheet: str | None = None,
) -> Working:
    """A working session for a table that was uploaded to `copy` in the new folder `folder`."""
    try:
        brought = None
        if plan is not None:
            brought = folder / "brought" / safe_name(plan.name, "plan.toml")
            keep(brought, plan.content)
            for taxonomy in taxonomies:
                keep(brought.parent / safe_name(taxonomy.name, "taxonomy.csv"), taxonomy.content)
        documents = []
        for codebook in codebooks:
            documents.append(folder / "brought" / safe_name(codebook.name, "codebook"))
            keep(documents[-1], codebook.content)
        described = Codebooks(tuple(documents), extract)
        return _begin(home, folder, copy, name, sheet, plan=brought, uploaded=True, owner=owner, codebooks=described)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(folder / "brought", ignore_errors=True)


def _begin(
    home: Home,
    folder: Path,
    path: Path,
    name: str,
    sheet: str | None,
    *,
    plan: Path | None,
    uploaded: bool,
    owner: str,
    codebooks: Codebooks,
) -> Working:
    if plan is not None and codebooks.paths:
        raise PlanError(
            "A plan and a codebook were given.", remedy="Give the plan alone, or draft one from the codebook."
        )
    if plan is None:
        table = open_table(in_sheet(path, sheet))
        own = with_own_labels(path)  # what a file of SPSS, Stata or SAS says of itself
        made = draft_of(table, codebooks=(*codebooks.paths, *own), extract=codebooks.extract)
        text = made.text(short=False)
        guesses, dropped = len(Plan.parse(text, name="draft").guesses), made.dropped
    else:
        dropped = {}
        brought = Plan.load(plan)
        table = open_table(in_sheet(path, sheet), separator=brought.table.separator, encoding=brought.table.encoding)
        given = brought.over(table.schema.names)
        text = plan_toml(given) if brought.has_patterns else _content(plan).decode("utf-8-sig")
        text, guesses = _with_own_files(given, text, folder), len(given.guesses)
        declare(given, table)  # refuses a plan that is not about this table
    state = State(
        table=str(path),
        name=in_sheet(name, sheet),
        sheet=sheet,
        uploaded=uploaded,
        plan=text,
        created=time.time(),
        next_release=secret(8),
        rows=table.row_count(),
        guessed_at_start=guesses,
        plan_source=None if plan is None or uploaded else str(plan.resolve()),
        plan_source_sha256=None if plan is None or uploaded else hashlib.sha256(_content(plan)).hexdigest(),
        owner=owner,
        codebooks=codebooks.known_by,
        extract=codebooks.extract,
        dropped=dropped,
    )
    return home.begin(folder, state)


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST_SMALL_FILE:
            raise PlanError(f"{path.name} is larger than {_LARGEST_SMALL_FILE >> 20} MiB.", remedy="Check the file.")
        return path.read_bytes()
    except OSError as error:
        raise PlanError(f"{path.name} cannot be read: {error.strerror}.", remedy="Check the path.") from None


def _with_own_files(plan: Plan, text: str, folder: Path) -> str:
    """The plan's text, with every file it names copied beside it. The user's own files are never written to."""
    content = plan.model_dump()
    renamed = False
    for entry in content["columns"].values():
        for key in ("taxonomy", "taxonomy_labels"):
            if entry.get(key):
                kept = keep_file(folder, SmallFile(Path(entry[key]).name, _content(plan.folder / entry[key])))
                renamed |= kept != entry[key]
                entry[key] = kept
    return plan_toml(Plan.from_dict(content, folder=folder)) if renamed else text


def keep_file(folder: Path, file: SmallFile) -> str:
    """A small file beside the plan, under its own name or, if that is taken by another content, a longer one."""
    name = safe_name(file.name, "taxonomy.csv")
    path = folder / name
    if path.exists() and path.read_bytes() != file.content:
        name = f"{path.stem}-{hashlib.sha256(file.content).hexdigest()[:8]}{path.suffix}"
    keep(folder / name, file.content)
    return name


def safe_name(name: str, otherwise: str) -> str:
    """The last part of a file's name, without anything that a file system or a shell might take amiss."""
    cleaned = re.sub(r"[^\w.\-]+", "_", re.split(r"[/\\]", name)[-1]).lstrip(".-")[:100]
    reserved = ("working.json", "lock", "jobs", "brought", "table", REMOVE_COPY)
    return cleaned if cleaned.strip("._") and cleaned not in reserved else otherwise


def table_of(state: State) -> Path:
    """The table, if it is still there."""
    path = Path(state.table)
    if not path.exists():
        if state.uploaded:
            raise TableError(
                f"The copy of {state.name} was removed when the page was closed.",
                remedy="Give the same file once more on the page Table: your plan and your releases are kept.",
            )
        raise TableError(f"Table {state.name} is no longer where it was.", remedy="Put it back, or open another one.")
    return path


# Removing copies


def left_behind(working: Working, now: float) -> bool:
    """Whether nobody has used a session for so long that its copy is no longer waited for."""
    return now - (working.folder / "working.json").stat().st_mtime > STALE_AFTER
