"""Rows published as the engine sees fit: here or by many workers, as a frame or as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankveil.draw.rows import Rows
from rankveil.engines import Engine, Map, Meter, RowsToCome, Table, no_meter
from rankveil.write.ahead import as_arrow
from rankveil.write.files import Written
from rankveil.write.folder import OutputFolder
from rankveil.write.spread import BatchMaker, write_spread


def publish_frame(rows: Rows, like: Table, engine: Engine) -> Any:
    """The rows as a table of the kind that went in, made where the engine keeps such tables."""
    return engine.frame(RowsToCome(rows.schema.arrow, lambda: as_arrow(rows), rows.pieces, BatchMaker(rows)), like)


def publish_files(
    rows: Rows,
    folder: OutputFolder,
    certify: Callable[[Written], Mapping[str, bytes]],
    engine: Engine,
    meter: Meter = no_meter,
    model: Mapping[str, bytes] | None = None,
) -> Written:
    """The rows in a folder with the papers that `certify` gives: in one file, or in parts if many workers write.
    `model`: files that lie beside in a folder of that name."""
    kept = model or {}

    def in_parts(run: Map) -> Written:
        return folder.publish_parts(lambda target: write_spread(rows, target, folder.form, run), certify, kept)

    return engine.files(lambda: folder.publish(rows, certify, meter(rows.row_count), kept), in_parts)
