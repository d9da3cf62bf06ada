"""Step 5: the release file and its certificate, whole or not at all.

Guarantee    A file appears under its name only when all of it is on the disk. The certificate appears before the
             release, so there is never a release without one.
Argument     Both are written to temporary names in the same folder, flushed and synced; then renamed, certificate
             first; then the folder is synced. A rename within a folder replaces a name in one step.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.errors import OutputError
from rankveil.flow.declare import Schema
from rankveil.flow.declare.domain import Grid
from rankveil.flow.relink import Rows

CERTIFICATE_NAME = "certificate.json"


@dataclass(frozen=True)
class Written:
    """A finished file."""

    name: str
    sha256: str
    size: int


def arrow_batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Released codes as values, columns in the order of the table, all batches of one type."""
    schema: pa.Schema | None = None
    for codes in rows.batches:
        table = pa.table({column.name: column.decode(codes[column.name]) for column in rows.schema.columns})
        schema = schema or table.schema
        yield from table.cast(schema).to_batches()


def as_arrow(rows: Rows) -> pa.Table:
    """All rows in memory."""
    return pa.Table.from_batches(list(arrow_batches(rows)))


class OutputFolder:
    """The folder a release goes to, checked before any data are read or noise is drawn."""

    def __init__(
        self, path: str | Path, file_format: str, *, overwrite: bool = False, escape_formulas: bool = False
    ) -> None:
        self.path = Path(path)
        self.release_name = f"release.{file_format}"
        self._format = file_format
        self._overwrite = overwrite
        self._escape_formulas = escape_formulas
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            raise OutputError(
                f"The folder {self.path} cannot be written to: {error.strerror}.",
                remedy="Choose another folder with --out, or change its permissions.",
            ) from None
        taken = [name for name in ("release.csv", "release.parquet", CERTIFICATE_NAME) if (self.path / name).exists()]
        if taken and not overwrite:
            raise OutputError(
                f"The folder {self.path} already holds {taken[0]}.",
                remedy="Choose another folder: a release that was made is not replaced unless you say --overwrite.",
            )

    def publish(self, rows: Rows, separator: str, certify: Callable[[Written], str]) -> Written:
        """Write the rows, have them certified by their fingerprint, and let both files appear."""
        temporary: list[Path] = []
        try:
            release = self._temporary(temporary)
            _write_rows(rows, release, self._format, separator, escape_formulas=self._escape_formulas)
            written = Written(self.release_name, *_fingerprint(release))
            certificate = self._temporary(temporary)
            certificate.write_text(certify(written), encoding="utf-8")
            for path in (release, certificate):
                path.chmod(0o644)  # temporary files are private; a release is meant to be read
                _sync(path)
            if self._overwrite:
                for name in ("release.csv", "release.parquet"):
                    (self.path / name).unlink(missing_ok=True)
            certificate.replace(self.path / CERTIFICATE_NAME)
            try:
                release.replace(self.path / self.release_name)
            except OSError:
                (self.path / CERTIFICATE_NAME).unlink(missing_ok=True)  # it would certify a file that is not there
                raise
            _sync(self.path)
        except (OSError, pa.ArrowException) as error:
            raise OutputError(
                f"The release could not be written to {self.path}: {getattr(error, 'strerror', None) or 'bad output'}.",
                cost="No release was written. Its randomness is lost and nothing of it was published.",
                remedy="Free space or choose another folder, and run the release again.",
            ) from None
        finally:
            for path in temporary:
                path.unlink(missing_ok=True)
        return written

    def _temporary(self, kept: list[Path]) -> Path:
        handle, name = tempfile.mkstemp(dir=self.path, prefix=".rankveil-", suffix=".tmp")
        os.close(handle)
        kept.append(Path(name))
        return kept[-1]


def write_text(path: Path, text: str) -> None:
    """A small text file (a plan, a result), whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> None:
    """A small file, whole or not at all."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".rankveil-", suffix=".tmp")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another place.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _write_rows(rows: Rows, path: Path, file_format: str, separator: str, *, escape_formulas: bool) -> None:
    batches = arrow_batches(rows)
    first = next(batches)
    if file_format == "parquet":
        with papq.ParquetWriter(path, first.schema) as parquet:
            for batch in chain([first], batches):
                parquet.write_batch(batch)
        return
    quoting = "none" if _needs_no_quotes(rows.schema, separator) else "needed"
    options = pacsv.WriteOptions(include_header=False, delimiter=separator, quoting_style=quoting)
    names = _harmless(pa.array(rows.schema.names)).to_pylist() if escape_formulas else rows.schema.names
    with path.open("wb") as file:
        # The header by hand: Arrow puts quotes around every name.
        file.write((separator.join(_quoted(name, separator) for name in names) + "\n").encode())
        with pacsv.CSVWriter(file, _plain_text(first).schema, write_options=options) as writer:
            for batch in chain([first], batches):
                plain = _plain_text(batch)
                writer.write_batch(_without_formulas(plain) if escape_formulas else plain)


def _plain_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without dictionary encoding, which the CSV writer does not take."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [_harmless(column) if pa.types.is_string(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _harmless(texts: pa.Array) -> pa.Array:
    """An apostrophe before every text that a spreadsheet would run as a formula."""
    return pc.replace_substring_regex(texts, pattern=r"^([=+\-@\t\r])", replacement=r"'\1")


def _needs_no_quotes(schema: Schema, separator: str) -> bool:
    """Whether no label that the release may hold needs quotes; decided by the plan, not by what was drawn."""
    for column in schema.columns:
        labels = column.domain.labels if isinstance(column.domain, Grid) else column.domain.taxonomy.names
        if any(not label or _quoted(label, separator) != label for label in labels or ()):
            return False
        if isinstance(column.domain, Grid) and column.domain.date_format and separator in column.domain.date_format:
            return False
    return True


def _quoted(text: str, separator: str) -> str:
    if any(mark in text for mark in (separator, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def _fingerprint(path: Path) -> tuple[str, int]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest(), path.stat().st_size


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
