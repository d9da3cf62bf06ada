"""A virtual environment per peer, so that their dependencies cannot clash.

The pinned list of a peer is complete, so it is installed without resolving anything: what was measured is what is
installed. An environment is made once; it is made again when its list has changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.systems import System, short_hash


class EnvironmentFailed(Exception):
    """The environment of a peer cannot be made; the message says why, in the installer's words."""


def interpreter(system: System, folder: Path) -> Path:
    """The Python that runs this system, made ready if it is not."""
    if system.ours:
        return Path(sys.executable)
    home = folder / "environments" / system.peer
    python, ready = home / "bin" / "python", home / "ready"
    wanted = short_hash(system.requirements.read_bytes())
    if ready.exists() and ready.read_text() == wanted:
        return python
    shutil.rmtree(home, ignore_errors=True)
    _call([sys.executable, "-m", "venv", str(home)])
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--requirement", str(system.requirements)]
    _call([str(python), "-m", "pip", "install", *options])
    ready.write_text(wanted)
    return python


def _call(command: list[str]) -> None:
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        said = [line for line in finished.stderr.splitlines() if line.startswith("ERROR")] or ["no message"]
        raise EnvironmentFailed(f"installing failed: {said[-1]}")
