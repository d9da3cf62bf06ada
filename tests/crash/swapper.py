"""Lets a release take the place of another one, killed before every single call to the system: run by the tests.

    swapper.py FOLDER OLD NEW MODE    OLD and NEW: none, csv, parquet, parts, model; MODE: exchange, renames, no-links

Prints what was found, as JSON. Only forks and kills; Arrow's threads are started in children alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankveil.declare import Plan, declare_alone
from rankveil.draw.rows import Piece, Rows
from rankveil.write import OutputFolder, Written, recover
from rankveil.write.files import FileFormat, write_rows

SCHEMA = declare_alone(
    Plan.parse('[release]\nmethod = "synthetic"\nepsilon = 1\n[columns.a]\nkind = "integer"\nlower = 0\nupper = 9\n')
)
CALLS = ("mkdir", "open", "fsync", "symlink", "rename", "replace", "unlink", "rmdir", "chmod")


def rows(start: int) -> Rows:
    def codes(piece: Piece) -> dict[str, Any]:
        return {"a": (np.arange(piece.rows) + start) % 10}

    return Rows(SCHEMA, 20, (), False, pieces=tuple(Piece(i, 10, bytes(32)) for i in range(2)), make=codes)


def certify(written: Written, **more: Any) -> dict[str, bytes]:
    """A certificate, and beside it a manifest and a page that name it. A release in parts has a signature as well."""
    parts = {part.name: part.sha256 for part in written.parts}
    certificate = json.dumps({"name": written.name, "sha256": written.sha256, "parts": parts, **more}).encode()
    papers = dict.fromkeys(
        ("manifest.json", "certificate.html", *(["manifest.sig"] if parts else [])),
        hashlib.sha256(certificate).hexdigest().encode(),
    )
    return {"certificate.json": certificate, **papers}


def publish(out: Path, kind: str, start: int) -> None:
    made = rows(start)

    def write(into: Path) -> Iterator[Written]:
        for piece in made.pieces:
            name = f"part-{piece.number:05}.parquet"
            yield write_rows(replace(made, pieces=(piece,)), into / name, name, FileFormat("parquet"))

    folder = OutputFolder(out, FileFormat("csv" if kind == "csv" else "parquet"), overwrite=True)
    if kind == "parts":
        folder.publish_parts(write, certify)
    elif kind == "model":  # a release with one
        files = {"model.json": b"%d" % start, "rows.parquet": b"rows"}
        says = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        folder.publish(made, lambda written: certify(written, model=says), model=files)
    else:
        folder.publish(made, certify)


def seen(out: Path) -> dict[str, Any] | str | None:
    """The certificate of the release that lies in a folder; None for an empty one; what is wrong otherwise."""
    names = [name for name in ("release.csv", "release.parquet") if (out / name).exists()]
    if not (out / "certificate.json").exists():
        return "a release without its certificate" if names else None
    says: dict[str, Any] = json.loads((out / "certificate.json").read_text())
    own = hashlib.sha256((out / "certificate.json").read_bytes()).hexdigest()
    papers = {name for name in ("manifest.json", "certificate.html", "manifest.sig") if (out / name).exists()}
    if papers != {"manifest.json", "certificate.html", *(["manifest.sig"] if says["parts"] else [])}:
        return "papers are missing, or too many"
    if any((out / name).read_text() != own for name in papers):
        return "papers of another release"
    if names != [says["name"]]:
        return "a certificate without its release" if not names else "a release beside its certificate"
    release, kept = out / says["name"], {}
    if (out / "model").exists():
        kept = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (out / "model").iterdir()}
    if kept != says.get("model", {}):
        return "another model, or half of one"
    if says["parts"]:
        found = {part.name: hashlib.sha256(part.read_bytes()).hexdigest() for part in release.iterdir()}
        return says if found == says["parts"] else "other parts"
    return says if hashlib.sha256(release.read_bytes()).hexdigest() == says["sha256"] else "another release"


def in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def die_before(number: int) -> None:
    """Arm this process: its `number`-th call to the system from here on is never made."""
    left = [number]

    def armed(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **named)

        return counted

    os.fsync = lambda handle: None  # a process that is killed takes nothing back from the system; this saves time
    for name in CALLS:
        setattr(os, name, armed(getattr(os, name)))
    with suppress(ImportError):
        from rankveil.write import swap

        swap.exchange = armed(swap.exchange)


def restrict(mode: str) -> None:
    """A file system that can do less."""

    def refuse(*arguments: object, **named: object) -> None:
        raise OSError(95, "Operation not supported")

    if mode != "exchange":
        from rankveil.write import swap

        swap.exchange = lambda first, second: False
    if mode == "no-links":
        os.symlink = refuse


def main() -> None:
    folder, old, new, mode = Path(sys.argv[1]), *sys.argv[2:]
    found: dict[str, Any] = {"kills": 0, "old": 0, "new": 0, "wrong": []}
    certificates = {}
    for kind, start in ((old, 1), (new, 2)):
        if kind != "none":
            assert in_child(lambda kind=kind, start=start: publish(folder / f"{start}", kind, start)) == 0
        else:
            (folder / f"{start}").mkdir()
        certificates[start] = seen(folder / f"{start}")
    out = folder / "out"
    for number in range(1, 1000):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder / "1", out)
        (out / "notes.txt").write_text("mine")

        def replace(number: int = number) -> None:
            restrict(mode)
            die_before(number)
            publish(out, new, 2)

        status = in_child(replace)
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        found["kills"] += 1
        shown = seen(out)
        if shown not in certificates.values():
            found["wrong"].append([number, "after the kill", shown])
        recover(out)  # what the next run does first
        after = seen(out)
        names = sorted(path.name for path in out.iterdir())
        # Without links the next run may go on to the new release where the old one was still to be seen.
        kept = after == shown or shown not in certificates.values() or mode == "no-links"
        if after not in certificates.values() or not kept:
            found["wrong"].append([number, "after the next run", after])
        if any(name.startswith(".") for name in names) or any(path.is_symlink() for path in out.iterdir()):
            found["wrong"].append([number, "left behind", names])
        if (out / "notes.txt").read_text() != "mine":
            found["wrong"].append([number, "another file is gone"])
        found["new" if after == certificates[2] else "old"] += 1
    print(json.dumps(found))


if __name__ == "__main__":
    main()
