"""A release written in parts by many workers, each of which makes its own rows.

Guarantee    The parts hold the rows that one process would have written, in the same order, each of them once, whatever
             workers are lost on the way.
Argument     Pieces are functions of themselves (draw/rows.py). Every attempt at a part writes to a name of its own,
             in a folder beside the release to be; only the attempt that the engine reports is moved into it. What
             other attempts leave behind, or write later, never enters the release.
Not covered  File systems that workers and driver do not share, or that cannot rename: see docs/scaling.md.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from rankveil.draw.rows import Piece, Rows
from rankveil.engines import Map
from rankveil.errors import OutputError
from rankveil.write.decode import Decoder
from rankveil.write.files import FileFormat, Written, write_rows
from rankveil.write.swap import sync

# Public and the same on every cluster: parts follow from the number of rows. Two million rows are enough for sixteen
# workers to have something to do; beyond, a part has about 4 million: a hundred megabytes or so of Parquet.
PIECES_PER_PART = 32
_SMALL_PARTS = 16


@dataclass(frozen=True)
class Part:
    """Pieces that follow each other and make one file."""

    name: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Attempt:
    """A part as one worker has written it."""

    file: str
    written: Written


@dataclass(frozen=True)
class PartWriter:
    """Makes a part's rows and writes them; can be sent to other machines."""

    rows: Rows
    folder: Path  # of attempts
    file_format: FileFormat

    def __call__(self, part: Part) -> Attempt:
        try:
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=part.name + ".")
            os.close(handle)
            path = Path(name)
            written = write_rows(replace(self.rows, pieces=part.pieces), path, part.name, self.file_format)
            path.chmod(0o644)
            sync(path)
        except OSError as error:
            raise OutputError(
                f"A worker cannot write to the folder of the release: {error.strerror}.",
                remedy="Choose a folder that the driver and all workers share under the same path, and have room in.",
            ) from None
        return Attempt(path.name, written)


def parts_of(rows: Rows, file_format: FileFormat) -> list[Part]:
    """Pieces in parts: the first sixteen pieces' worth of rows side by side, and more parts where they get large."""
    count = max(-(-len(rows.pieces) // PIECES_PER_PART), min(_SMALL_PARTS, len(rows.pieces)))
    ends = [number * len(rows.pieces) // count for number in range(count + 1)]
    return [
        Part(f"part-{number:05d}.{file_format.name}", tuple(rows.pieces[ends[number] : ends[number + 1]]))
        for number in range(count)
    ]


def write_spread(rows: Rows, folder: Path, file_format: FileFormat, run: Map) -> Iterator[Written]:
    """Write all parts into `folder` with the help of `run`, and say in order what was written."""
    attempts = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".rankveil-", suffix=".tmp"))
    try:
        for attempt in run(PartWriter(rows, attempts, file_format), parts_of(rows, file_format)):
            found = attempts / attempt.file
            if not found.is_file() or found.stat().st_size != attempt.written.size:
                raise OutputError(
                    f"The worker's file {attempt.written.name} is not in the folder of the release.",
                    remedy="Choose a folder that the driver and all workers share under the same path.",
                )
            found.replace(folder / attempt.written.name)
            yield attempt.written
    finally:
        shutil.rmtree(attempts, ignore_errors=True)


@dataclass(frozen=True)
class BatchMaker:
    """The rows of a piece as Arrow values; can be sent to other machines."""

    rows: Rows

    def __call__(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        yield Decoder.of(self.rows.schema)(self.rows.make(piece))
