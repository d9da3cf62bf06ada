"""Papers of strangers: read in one way only, and never more of them than a paper holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_LARGEST = 1 << 26  # bytes of a paper: one about a thousand columns has a few million


def content_of(path: Path) -> bytes:
    """The bytes of a paper. ValueError for one without end, and for pipes and devices, which keep readers waiting."""
    if path.exists() and not path.is_file():
        raise ValueError("not a file")
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("too large")
    return content


def unambiguous(text: str | bytes) -> Any:
    """The content of a JSON text in which no entry occurs twice: readers would disagree about what it says."""
    return json.loads(text, object_pairs_hook=_once)


class Twice(ValueError):
    """An entry occurs twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise Twice("an entry occurs twice, so readers may disagree about what it says")
    return dict(pairs)
