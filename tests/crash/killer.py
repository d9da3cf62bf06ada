"""Releases a small table again and again and kills itself: run by the tests as a process of its own.

    killer.py FOLDER boundary NAME     one release, killed when it reaches a named place
    killer.py FOLDER random COUNT SEED releases killed at random moments
    killer.py FOLDER again COUNT SEED  the same, all into one folder, each to take the place of the one before

The parent only forks and kills; it never starts Arrow's threads, so that forking is safe.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

# What a release imports on its way, made ready here: children that are killed spend their time at work.
import rankveil.certificate.make
import rankveil.formats.delimited
import rankveil.formats.tables
import rankveil.preview.expectations
import rankveil.verify.release  # noqa: F401
from rankveil.declare import Plan
from rankveil.ledger import store
from rankveil.methods import method_named
from rankveil.release import steps
from rankveil.write import folder as write

PLAN = """
[release]
method = "synthetic"
epsilon = 1
[columns.a]
kind = "integer"
lower = 0
upper = 99
[columns.b]
kind = "category"
categories = ["x", "y"]
"""


def die(*arguments: object, **named: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_after(work: Callable[..., object]) -> Callable[..., object]:
    def wrapped(*arguments: object, **named: object) -> object:
        work(*arguments, **named)
        die()
        raise AssertionError("unreachable")

    return wrapped


def arm(boundary: str) -> None:
    """Let the next release die at this place."""
    method = method_named("synthetic")
    steps = {"before grouping": "prepare", "before noise": "protect", "before linking": "rows"}
    if boundary in steps:
        object.__setattr__(method, steps[boundary], die)
    elif boundary == "inside the spend":
        store.Ledger._append = die  # type: ignore[assignment,method-assign]
    elif boundary == "after the spend":
        store.Ledger.spend = dying_after(store.Ledger.spend)  # type: ignore[assignment,method-assign]
    elif boundary == "writing rows":
        write.write_rows = dying_after(write.write_rows)  # type: ignore[assignment]
    elif boundary == "before renaming":
        write.sync = dying_after(write.sync)  # type: ignore[assignment]
    elif boundary == "before the step":
        write.swap_in = die  # type: ignore[assignment]
    elif boundary == "after the release":
        write.OutputFolder.publish = dying_after(write.OutputFolder.publish)  # type: ignore[assignment,method-assign]
    elif boundary == "inside the last entry":
        store.Ledger.published = die  # type: ignore[assignment,method-assign]
    else:
        raise ValueError(boundary)


def release(folder: Path, out: Path) -> None:
    steps.release(folder / "table.csv", Plan.parse(PLAN), out=out, ledger=folder / "ledger.sqlite", overwrite=True)


def main() -> None:
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    if mode == "boundary":
        arm(sys.argv[3])
        release(folder, folder / "out")
        raise SystemExit("the release was not killed")
    count, rng = int(sys.argv[3]), random.Random(int(sys.argv[4]))
    longest = 0.0
    for number in range(count):
        out = folder / ("again" if mode == "again" else f"out{number}")
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            try:
                release(folder, out)
            finally:
                os._exit(0)
        if number < 2:  # let the first ones finish, to learn how long a release takes
            os.waitpid(child, 0)
            longest = max(longest, time.monotonic() - started)
            continue
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if mode == "again" and not whole(out):
            raise SystemExit(f"after kill {number} the folder holds neither the old release nor the new one")


def whole(out: Path) -> bool:
    says = json.loads((out / "certificate.json").read_bytes())["release"]["sha256"]
    return hashlib.sha256((out / "release.csv").read_bytes()).hexdigest() == says


if __name__ == "__main__":
    main()
