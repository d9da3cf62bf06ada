"""The folder a release goes to: the release, its papers, and its model if it is kept, whole or not at all.

Guarantee    A release, one file or in parts, appears under its name only when all of it is on the disk, in one step
             with its certificate and model; so it is where it takes the place of another one (swap.py).
Argument     All are written into a temporary folder beside, flushed and synced; so is every part of a release in
             parts, and their folder. Then they are swapped in.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from rankveil.draw.rows import Rows
from rankveil.engines import RowProgress, silent
from rankveil.errors import OutputError
from rankveil.temporary import temporary_folder
from rankveil.write.files import FileFormat, Written, write_rows
from rankveil.write.swap import (
    MODEL_NAME,
    PAPER_NAMES,
    RELEASE_NAMES,
    WEIGHTS_NAMES,
    prepared,
    recover,
    refuse_taken,
    swap_in,
    sync,
)

Certify = Callable[[Written], Mapping[str, bytes]]  # the papers that go with what was written: name -> content
_NO_FILES: Mapping[str, bytes] = {}


class OutputFolder:
    """The folder a release goes to, checked before any data are read or noise is drawn."""

    def __init__(self, path: str | Path, form: FileFormat, *, overwrite: bool = False) -> None:
        self.path, self.form = Path(path), form
        self._name = f"release.{form.name}"
        self._overwrite = overwrite
        self._beside: dict[str, Callable[[Path], Written]] = {}
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise OutputError(
                f"The folder {self.path} cannot be written to: {error.strerror}.",
                remedy="Choose another folder with --out, or change its permissions.",
            ) from None
        recover(self.path)
        refuse_taken(self.path, overwrite=overwrite)

    def refuse_to_replace(self, inputs: Iterable[Path]) -> None:
        """Refuse if the table itself lies where the release is to go: it would be gone."""
        ours = [(self.path / name).resolve() for name in (*RELEASE_NAMES, *PAPER_NAMES, *WEIGHTS_NAMES, MODEL_NAME)]
        for path in inputs:
            if any(path.resolve() == place or place in path.resolve().parents for place in ours):
                raise OutputError(
                    f"The table {path.name} lies where the release is to go, and would be replaced by it.",
                    remedy="Choose another folder with --out.",
                )

    def add(self, name: str, write: Callable[[Path], Written]) -> None:
        """Let another file appear with the release: `write` is given where, and says what it has written."""
        self._beside[name] = write

    def publish(
        self, rows: Rows, certify: Certify, progress: RowProgress = silent, model: Mapping[str, bytes] = _NO_FILES
    ) -> Written:
        """Write the rows, have them certified by their fingerprint, and let both appear, with the files of a model."""
        return self._appeared(
            lambda release: write_rows(rows, release, self._name, self.form, progress), certify, model
        )

    def publish_parts(
        self,
        write: Callable[[Path], Iterable[Written]],
        certify: Certify,
        model: Mapping[str, bytes] = _NO_FILES,
    ) -> Written:
        """Let `write` fill a folder with Parquet files, and let it appear as `release.parquet/` with its certificate.

        `write` gets the temporary folder and gives back what it has written there, in the order of the rows. It may
        let other processes write, on other machines too if they see the same file system.
        """

        def fill(release: Path) -> Written:
            release.mkdir()
            written = Written.in_parts(self._name, tuple(write(release)))
            found = {path.name: path.stat().st_size for path in release.iterdir()}
            if found != {part.name: part.size for part in written.parts} or len(found) < len(written.parts):
                raise OSError(None, "parts are missing, or more were written than were reported")
            return written

        return self._appeared(fill, certify, model)

    def _appeared(self, fill: Callable[[Path], Written], certify: Certify, model: Mapping[str, bytes]) -> Written:
        """By way of a temporary folder that is always removed. What goes wrong with the disk is said in our words."""
        try:
            with prepared(self.path) as held:
                release = held / "new" / self._name
                written = fill(release)
                others = {held / "new" / name: write for name, write in self._beside.items()}
                written = replace(written, beside=tuple(write(path) for path, write in others.items()))
                papers = {held / "new" / name: content for name, content in certify(written).items()}
                for path, content in papers.items():
                    path.write_bytes(content)
                kept = _filled(held / "new" / MODEL_NAME, model) if model else []
                for path in (*(release / part.name for part in written.parts), release, *others, *papers, *kept):
                    path.chmod(0o755 if path.is_dir() else 0o644)
                    sync(path)
                swap_in(held, overwrite=self._overwrite)
        except (OSError, pa.ArrowException) as error:
            raise OutputError(
                f"The release could not be written to {self.path}: {getattr(error, 'strerror', None) or 'bad output'}.",
                cost="No release was written. Its randomness is lost and nothing of it was published.",
                remedy="Free space or choose another folder, and run the release again.",
            ) from None
        return written


def _filled(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """A new folder with files, and all that is to be synced."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [*(folder / name for name in files), folder]


def fingerprints(files: Mapping[str, bytes]) -> Written:
    """Files of a folder as they will be written."""
    parts = (Written(name, hashlib.sha256(each).hexdigest(), len(each)) for name, each in files.items())
    return Written.in_parts(MODEL_NAME, tuple(parts))


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """A folder of small files, whole or not at all, where there is none of its name, or an empty one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise OutputError(f"{path} is already there.", remedy="Choose another place: nothing is replaced.")
        with temporary_folder(path.parent, lambda held: None) as held:
            for each in _filled(held / "new", files):
                each.chmod(0o755 if each.is_dir() else 0o644)
                sync(each)
            (held / "new").rename(path)
            sync(path.parent)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None
