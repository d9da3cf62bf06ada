"""Optional parts of rankveil: whether the libraries they bring are installed."""

from __future__ import annotations

from importlib.util import find_spec

from rankveil.errors import MissingExtraError


def installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # hidden, or half there
        return False


def need(what: str, extra: str, *libraries: str) -> None:
    """Refuse `what` in words if a library of the extra is missing; nothing is imported."""
    if not all(map(installed, libraries)):
        raise MissingExtraError(what, extra)
