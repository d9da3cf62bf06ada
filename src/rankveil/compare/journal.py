"""Finished cells on the disk, one line of JSON each, so that a comparison that was killed goes on where it was.

The first line says what the cells belong to: which table, plan, test table and version. Cells are added only under the
same first line. A line is on the disk (fsync) before the next cell starts. A last line that a kill has cut off is
dropped. The file holds measures, never rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rankveil.compare.grid import Cell
from rankveil.compare.run import Measured
from rankveil.errors import OutputError, PlanError

NAME = "compare.internal.jsonl"
_WORDS = {
    "table": "the table has changed",
    "plan": "the plan's columns have changed",
    "test": "the test table or the target has changed",
    "version": "they were made by another version of rankveil",
    "stand_in": "they were made on another table (a stand-in, or the table itself)",
}


def _for_the_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Journal:
    """Finished cells of one comparison; without a folder they are kept in memory only."""

    def __init__(self, folder: Path | None, note: str, belongs_to: Mapping[str, Any]) -> None:
        self._path = None if folder is None else folder / NAME
        self._head = {"note": note, "belongs_to": dict(belongs_to)}
        self._done: dict[str, Measured] = {}
        if self._path is not None:
            self._open(self._path)

    def find(self, cell: Cell) -> Measured | None:
        return self._done.get(cell.key)

    def add(self, cell: Cell, finding: Measured) -> None:
        if self._path is not None:
            self._append(self._path, {"key": cell.key, "cell": asdict(cell), "finding": asdict(finding)})
        self._done[cell.key] = finding

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes() if path.exists() else b""
            whole = content[: content.rfind(b"\n") + 1]
            if not whole:
                path.unlink(missing_ok=True)
                self._append(path, self._head)
                return
            lines = [json.loads(line) for line in whole.splitlines()]
            self._check(path, lines[0]["belongs_to"])
            for line in lines[1:]:
                self._done.setdefault(line["key"], Measured(**line["finding"]))
        except (ValueError, KeyError, TypeError):
            raise PlanError(
                f"The file {path} is not a comparison's, or damaged.",
                remedy="Name another folder with --out, or remove the file to start anew.",
            ) from None
        except OSError as error:
            raise unwritable(path.parent, error) from None
        if len(whole) < len(content):
            os.truncate(path, len(whole))

    def _check(self, path: Path, found: Mapping[str, Any]) -> None:
        wanted = self._head["belongs_to"]
        assert isinstance(wanted, dict)  # noqa: S101 - made so above
        changed = [words for part, words in _WORDS.items() if found.get(part) != wanted.get(part)]
        if changed:
            raise PlanError(
                f"The folder {path.parent} holds results of another comparison: {'; '.join(changed)}.",
                cost="Nothing was computed, and the results there were left alone.",
                remedy="Name another folder with --out, or remove this one to start anew.",
            )

    def _append(self, path: Path, content: Any) -> None:
        try:
            with open(path, "ab", opener=_for_the_owner_only) as file:
                file.write((json.dumps(content, ensure_ascii=False) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(path.parent, error) from None


def unwritable(folder: Path, error: OSError) -> OutputError:
    return OutputError(
        f"The folder {folder} cannot be written: {error.strerror}.", remedy="Name another folder with --out."
    )
