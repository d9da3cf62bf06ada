"""The page's private folder: working sessions that outlive a tab, a reload and a server.

Guarantee    A change to a working session is on the disk, whole, before the page says so; two changes at once happen
             one after the other; a change made from an old view of the same part is refused, not merged.
Argument     A session is one JSON file, replaced in one step, under a file lock. Every part (each column; the release
             settings) carries a number that grows with each change, and a form returns the number it was shown with.
Not covered  The folder holds limits and labels of the data (plans), evaluations, and copies of uploaded tables. It is
             readable by its owner only. tables.py says when copies are removed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rankveil.declare import Plan
from rankveil.declare.plan import PRIVACY_PART, TABLE_PART
from rankveil.declare.plan_file import plan_toml
from rankveil.errors import OutputError, PlanError, TableError
from rankveil.system import data_folder
from rankveil.web.guard import secret
from rankveil.web.private import check_way, held, keep, only_for_me

_ID = re.compile(r"[0-9a-f]{16}")
RELEASE_PART = "[release]"  # no clash with a column: versions of columns are kept under "column:<name>"


class StaleError(PlanError):
    """A change made from an old view of the plan."""


class FormError(PlanError):
    """A form that makes no sense, in the words of the page; `fields` are those at fault."""

    def __init__(
        self, problem: str, *, fields: tuple[str, ...] = (), remedy: str = "Correct it and save again."
    ) -> None:
        super().__init__(problem, cost="Nothing was saved.", remedy=remedy)
        self.fields = fields


def default_home() -> Path:
    """RANKVEIL_STATE, or a folder of the user's own for the state of programs."""
    given = os.environ.get("RANKVEIL_STATE")
    if given:
        return Path(given)
    return data_folder("state")


def in_sheet(file: str | Path, sheet: str | None) -> str:
    """What commands call a table: a file, and the sheet where it is one of a workbook's."""
    return str(file) if sheet is None else f"{file}#{sheet}"


@dataclass
class State:
    """What a working session remembers."""

    table: str  # path of the table; for an upload, of its copy in the private folder
    name: str  # what the user calls it
    uploaded: bool
    plan: str  # plan.toml
    created: float
    next_release: str  # the id that the next release will have: one form, one release
    touched: float = 0.0
    rows: int | None = None
    guessed_at_start: int = 0
    plan_source: str | None = None  # the file the plan was read from, and what it held
    plan_source_sha256: str | None = None
    versions: dict[str, int] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)  # budget.py: the table's name in the ledger
    owner: str = ""  # the server that last had it open
    codebooks: list[list[str]] = field(default_factory=list)  # the draft's: name, and SHA-256 of what it held
    extract: bool = False  # the table has only some of the variables of its codebooks
    dropped: dict[str, str] = field(default_factory=dict)  # why the draft has left columns out
    sheet: str | None = None  # of a workbook

    @property
    def source(self) -> str:
        """The table as it is opened: the file, and the sheet of a workbook."""
        return in_sheet(self.table, self.sheet)


class Working:
    """A working session in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name

    @property
    def jobs_folder(self) -> Path:
        return self.folder / "jobs"

    def read(self) -> State:
        try:
            return State(**json.loads((self.folder / "working.json").read_bytes()))
        except (OSError, ValueError, TypeError):
            raise TableError(
                "This working session cannot be read.",
                remedy="Remove it from the start page, and open the table again.",
            ) from None

    @contextmanager
    def changing(self) -> Iterator[State]:
        """The state under a lock; written back if nothing was raised."""
        with self.locked():
            state = self.read()
            yield state
            self._write(state)

    def locked(self) -> AbstractContextManager[int]:
        return held(self.folder / "lock")

    def _write(self, state: State) -> None:
        state.touched = time.time()
        keep(self.folder / "working.json", json.dumps(asdict(state)).encode())

    # The plan

    def plan(self, state: State | None = None) -> Plan:
        return Plan.parse((state or self.read()).plan, name="plan.toml", folder=self.folder)

    def change_plan(self, part: str, seen_version: int, content: dict[str, Any]) -> Plan:
        """Replace one part of the plan (a column, or one in brackets), if it is as it was when it was shown."""
        return self.change_parts({part: (seen_version, content)})

    def change_parts(self, parts: Mapping[str, tuple[int, dict[str, Any]]]) -> Plan:
        """Replace several parts of the plan at once, all or none: part -> the version that was seen, content."""
        with self.changing() as state:
            stale = [part for part, (seen, _) in parts.items() if seen != state.versions.get(part, 0)]
            if stale:
                raise StaleError(
                    _stale_words(stale, len(parts)),
                    cost="Nothing was overwritten."
                    if len(parts) > 1
                    else "What you entered is below; nothing was overwritten.",
                    remedy="Compare it with what the plan says now, and save once more if yours is right.",
                )
            whole = self.plan(state).model_dump()
            for part, (_, content) in parts.items():
                if part in (RELEASE_PART, TABLE_PART, PRIVACY_PART):
                    whole[part.strip("[]")] = content
                else:
                    whole["columns"][part.removeprefix("column:")] = content
            changed = Plan.from_dict(whole, name="plan.toml", folder=self.folder)
            state.plan = plan_toml(changed)
            for part, (seen, _) in parts.items():
                state.versions[part] = seen + 1
        return changed

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Home:
    """All working sessions of one user."""

    def __init__(self, folder: Path) -> None:
        try:
            check_way(folder)
            self.folder = only_for_me(folder)
            self.workings_folder = only_for_me(folder / "workings")
            self.servers_folder = only_for_me(folder / "servers")
        except OSError as error:
            raise OutputError(
                f"The private folder {folder} cannot be used: {error.strerror}.",
                remedy="Name another one with the environment variable RANKVEIL_STATE.",
            ) from None

    def working(self, working_id: str) -> Working | None:
        folder = self.workings_folder / working_id
        if not _ID.fullmatch(working_id) or not (folder / "working.json").exists():
            return None
        return Working(folder)

    def workings(self) -> list[Working]:
        """Newest first."""
        found = [Working(path) for path in self.workings_folder.iterdir() if (path / "working.json").exists()]
        return sorted(found, key=lambda working: (working.folder / "working.json").stat().st_mtime, reverse=True)

    def folder_for_new(self) -> Path:
        return only_for_me(self.workings_folder / secret(8))

    def begin(self, folder: Path, state: State) -> Working:
        """The session exists once its file does; a folder without one is removed at the next start."""
        working = Working(folder)
        only_for_me(working.jobs_folder)
        working._write(state)
        return working


def column_part(name: str) -> str:
    return f"column:{name}"


def _stale_words(stale: list[str], of: int) -> str:
    if of == 1:
        return "This part of the plan was changed in the meantime, in another tab or window."
    named = ", ".join(repr(part.removeprefix("column:")) for part in stale[:5]) + (" ..." if len(stale) > 5 else "")
    return f"{named}: changed in the meantime, in another tab or window."
