"""What it takes to make an evaluation again: the command, the plan, versions, and fingerprints of the files."""

from __future__ import annotations

import hashlib
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rankveil._version import __version__
from rankveil.certificate import Certificate
from rankveil.declare import Plan
from rankveil.formats.addresses import shown

_LIBRARIES = ("numpy", "pyarrow", "scikit-learn", "vl-convert-python")


@dataclass(frozen=True)
class File:
    """A file that took part."""

    role: str
    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Reproduction:
    command: str | None
    plan_text: str | None
    files: tuple[File, ...]
    versions: tuple[tuple[str, str], ...]

    def sha256_of(self, role: str) -> str | None:
        return next((file.sha256 for file in self.files if file.role == role), None)


def reproduction(
    files: Sequence[tuple[str, Path]] = (), *, command: Sequence[str] = (), plan_text: str | None = None
) -> Reproduction:
    """`files`: (role, path), of which the page shows the name and not the folder."""
    return Reproduction(
        command=shlex.join(map(shown, command)) or None,
        plan_text=plan_text,
        files=tuple(_fingerprint(role, path) for role, path in files if path.is_file()),
        versions=(("rankveil", __version__), ("Python", platform.python_version()), *_installed()),
    )


def belongs(certificate: Certificate, plan: Plan, made: Reproduction) -> list[str]:
    """What does not fit together, in sentences; empty if everything that can be compared does."""
    said = []
    measured = made.sha256_of("release")
    if certificate.release is not None and measured is not None and certificate.release.sha256 != measured:
        said.append(
            "The certificate belongs to another file: its SHA-256 is not that of the release measured here. Nothing in"
            " this section holds for the release."
        )
    if certificate.plan.sha256 != plan.sha256():
        said.append(
            "The release was made with other settings than this plan's: an option such as --method or --epsilon changed"
            " them, or the plan has been edited since."
        )
    return said


def _fingerprint(role: str, path: Path) -> File:
    with path.open("rb") as file:
        return File(role, path.name, hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def _installed() -> list[tuple[str, str]]:
    found = []
    for name in _LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "not installed"))
    return found
