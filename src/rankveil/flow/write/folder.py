"""The folder a release goes to: the release, as one file or in parts, and its certificate, whole or not at all.

Guarantee    A release appears under its name only when all of it is on the disk. The certificate appears before the
             release, so there is never a release without one.
Argument     Both are written to temporary names in the same folder, flushed and synced; then renamed, certificate
             first; then the folder is synced. A rename within a folder replaces a name in one step. A release in parts
             is a folder of files, each of them synced and then the folder, which is renamed as a whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from rankveil.engines import RowProgress, silent
from rankveil.errors import OutputError
from rankveil.flow.relink import Rows
from rankveil.flow.write.files import FileFormat, Written, write_rows

CERTIFICATE_NAME = "certificate.json"
_RELEASE_NAMES = ("release.csv", "release.parquet")


class OutputFolder:
    """The folder a release goes to, checked before any data are read or noise is drawn."""

    def __init__(
        self, path: str | Path, file_format: str, *, overwrite: bool = False, escape_formulas: bool = False
    ) -> None:
        self.path = Path(path)
        self.release_name = f"release.{file_format}"
        self._format = FileFormat(file_format, escape_formulas=escape_formulas)
        self._overwrite = overwrite
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise OutputError(
                f"The folder {self.path} cannot be written to: {error.strerror}.",
                remedy="Choose another folder with --out, or change its permissions.",
            ) from None
        taken = [name for name in (*_RELEASE_NAMES, CERTIFICATE_NAME) if (self.path / name).exists()]
        if taken and not overwrite:
            raise OutputError(
                f"The folder {self.path} already holds {taken[0]}.",
                remedy="Choose another folder: a release that was made is not replaced unless you say --overwrite.",
            )

    def publish(
        self, rows: Rows, separator: str, certify: Callable[[Written], str], progress: RowProgress = silent
    ) -> Written:
        """Write the rows, have them certified by their fingerprint, and let both files appear."""
        with self._temporaries() as temporary:
            release = self._temporary(temporary)
            written = write_rows(rows, release, self.release_name, replace(self._format, separator=separator), progress)
            release.chmod(0o644)  # temporary files are private; a release is meant to be read
            _sync(release)
            self._appear(release, certify(written), temporary)
        return written

    def publish_parts(self, write: Callable[[Path], Iterable[Written]], certify: Callable[[Written], str]) -> Written:
        """Let `write` fill a folder with Parquet files, and let it appear as `release.parquet/` with its certificate.

        `write` gets the temporary folder and gives back what it has written there, in the order of the rows. It may
        let other processes write, on other machines too if they see the same file system.
        """
        with self._temporaries() as temporary:
            release = Path(tempfile.mkdtemp(dir=self.path, prefix=".rankveil-", suffix=".tmp"))
            temporary.append(release)
            written = Written.in_parts(self.release_name, tuple(write(release)))
            found = {path.name: path.stat().st_size for path in release.iterdir()}
            if found != {part.name: part.size for part in written.parts} or len(found) < len(written.parts):
                raise OSError(None, "parts are missing, or more were written than were reported")
            for part in written.parts:
                (release / part.name).chmod(0o644)
                _sync(release / part.name)
            release.chmod(0o755)
            _sync(release)
            self._appear(release, certify(written), temporary)
        return written

    def _appear(self, release: Path, certificate_text: str, temporary: list[Path]) -> None:
        """Both under their names, the certificate first."""
        certificate = self._temporary(temporary)
        certificate.write_text(certificate_text, encoding="utf-8")
        certificate.chmod(0o644)
        _sync(certificate)
        if self._overwrite:
            for name in _RELEASE_NAMES:
                _remove(self.path / name)
        certificate.replace(self.path / CERTIFICATE_NAME)
        try:
            release.replace(self.path / self.release_name)
        except OSError:
            (self.path / CERTIFICATE_NAME).unlink(missing_ok=True)  # it would certify a file that is not there
            raise
        _sync(self.path)

    @contextmanager
    def _temporaries(self) -> Iterator[list[Path]]:
        """Paths that are removed whatever happens; what goes wrong with the disk is said in our words."""
        temporary: list[Path] = []
        try:
            yield temporary
        except (OSError, pa.ArrowException) as error:
            raise OutputError(
                f"The release could not be written to {self.path}: {getattr(error, 'strerror', None) or 'bad output'}.",
                cost="No release was written. Its randomness is lost and nothing of it was published.",
                remedy="Free space or choose another folder, and run the release again.",
            ) from None
        finally:
            for path in temporary:
                _remove(path)

    def _temporary(self, kept: list[Path]) -> Path:
        handle, name = tempfile.mkstemp(dir=self.path, prefix=".rankveil-", suffix=".tmp")
        os.close(handle)
        kept.append(Path(name))
        return kept[-1]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
