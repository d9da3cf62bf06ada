"""Fetch axe-core, which the browser tests use to check accessibility, into the virtual environment.

    python tools/fetch_axe.py

It is a test tool of half a megabyte, so it is fetched at set-up and not kept in the repository. Its version and the
hash of its package are pinned here. Without npm or without the package, the tests that need it skip and say so.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "4.14.0"
INTEGRITY = "sha512-9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
AXE = Path(sys.prefix) / "axe" / f"axe-{VERSION}.min.js"


def main() -> int:
    if AXE.exists():
        return 0
    npm = shutil.which("npm")
    if npm is None:
        sys.stderr.write("npm is missing: tests that check accessibility will be skipped.\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run([npm, "pack", "--silent", f"axe-core@{VERSION}"], cwd=folder, capture_output=True)
        package = Path(folder) / f"axe-core-{VERSION}.tgz"
        if packed.returncode or not package.exists():
            sys.stderr.write("axe-core could not be fetched: tests that check accessibility will be skipped.\n")
            return 0
        found = "sha512-" + base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        if found != INTEGRITY:
            sys.stderr.write(f"axe-core {VERSION} is not the package that is pinned; it is not used.\n")
            return 1
        with tarfile.open(package) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None  # noqa: S101 - the package with this hash holds it
            AXE.parent.mkdir(exist_ok=True)
            AXE.write_bytes(member.read())
    return 0


if __name__ == "__main__":
    sys.exit(main())
