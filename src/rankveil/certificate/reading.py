"""JSON of strangers, read in one way only."""

from __future__ import annotations

import json
from typing import Any


def unambiguous(text: str | bytes) -> Any:
    """The content of a JSON text in which no entry occurs twice: readers would disagree about what it says."""
    return json.loads(text, object_pairs_hook=_once)


class Twice(ValueError):
    """An entry occurs twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise Twice("an entry occurs twice, so readers may disagree about what it says")
    return dict(pairs)
