"""Results of single runs, one small JSON file each, so that a comparison resumes where it stopped, on any machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Status = Literal["done", "failed", "timed out"]


@dataclass(frozen=True)
class Run:
    """One release of one system. `measures` is empty unless it is done."""

    data: str
    epsilon: str
    system: str
    seed: int
    status: Status
    message: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    peak_mb: float = 0.0
    version: str = ""
    repairs: int = 0  # values that had to be moved into their public domain, of rows times columns
    measures: dict[str, float] = field(default_factory=dict)
    fingerprint: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)


class Cache:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, data: str, epsilon: str, slug: str, seed: int) -> Path:
        return self.folder / data / f"epsilon-{epsilon}" / f"{slug}-{seed}.json"

    def get(self, data: str, epsilon: str, slug: str, seed: int) -> Run | None:
        path = self.path(data, epsilon, slug, seed)
        return Run(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def put(self, run: Run, slug: str) -> None:
        path = self.path(run.data, run.epsilon, slug, run.seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(asdict(run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        unfinished.replace(path)

    def forget(self, data: str, epsilon: str, slug: str, seed: int) -> None:
        self.path(data, epsilon, slug, seed).unlink(missing_ok=True)
