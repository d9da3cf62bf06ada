"""A PostgreSQL server for tests, started and ended here; they skip, with the reason, where there is none."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


def _unprivileged() -> list[str]:
    """PostgreSQL does not run as root: another user's account, if this is root's."""
    if os.geteuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        if shutil.which("setpriv"):
            return ["setpriv", f"--reuid={name}", f"--regid={pwd.getpwnam(name).pw_gid}", "--clear-groups"]
    pytest.skip("this is root, and there is no other user (or no setpriv) to run PostgreSQL")


@contextmanager
def server() -> Iterator[str]:
    """The address of a database without its table: add `&table=...`."""
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    as_user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="rv-pg-", dir="/tmp"))  # a socket's path has to be short
    folder.chmod(0o777)
    data, options = folder / "data", f"-k {folder} -c listen_addresses='' -c fsync=off"

    def run(*command: str) -> None:
        done = subprocess.run([*as_user, *command], capture_output=True, text=True, timeout=120, cwd="/")
        if done.returncode:
            pytest.skip(f"PostgreSQL cannot be started here: {done.stderr.strip()[-200:]}")

    try:
        run(str(found / "initdb"), "-D", str(data), "-A", "trust", "-U", "rv", "-E", "UTF8", "--no-sync")
        start = [str(found / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w"]
        # Its children must not hold the pipes that `run` reads.
        begun = subprocess.run(
            [*as_user, *start, "start"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )
        if begun.returncode:
            pytest.skip("PostgreSQL cannot be started here")
        try:
            yield f"postgresql://rv@/postgres?host={folder}"
        finally:
            run(str(found / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
