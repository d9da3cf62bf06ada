"""Rows of a model as files, each whole or not at all. Post-processing (T1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pyarrow as pa

from rankveil.declare import Plan
from rankveil.declare.domain import Grid
from rankveil.errors import OutputError, PlanError
from rankveil.formats import FORMATS, format_of_ending
from rankveil.model.kept import Model
from rankveil.model.plan import PLAN_NAME
from rankveil.noise import RandomSource
from rankveil.temporary import temporary_file
from rankveil.write import FileFormat, recover, released_columns, said_by, write_rows


def write_samples(
    model: Model,
    out: Path,
    *,
    rows: int,
    where: str | None = None,
    sets: int = 1,
    overwrite: bool = False,
    source: RandomSource | None = None,
) -> list[Path]:
    """`sets` tables of `rows` rows in files of their own: `out`, or with its name and a number."""
    if sets < 1:
        raise PlanError(f"{sets} sets cannot be drawn.", cost="", remedy="Ask for 1 set or more.")
    numbers = [f"-{number:0{len(str(sets))}}" for number in range(1, sets + 1)] if sets > 1 else [""]
    files = [out.with_name(f"{out.stem}{number}{out.suffix}") for number in numbers]
    form = _format(model, out, rows)
    taken = [path for path in files if path.is_dir() or (os.path.lexists(path) and not overwrite)]
    if taken:
        raise OutputError(f"{taken[0]} is already there.", remedy="Choose another name, or say --overwrite.")
    for path in files:
        drawn = model.draw(rows, where, source)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            recover(path.parent)
            with temporary_file(path.parent) as temporary:
                write_rows(drawn, temporary, path.name, form)
                temporary.chmod(0o644)
                temporary.replace(path)
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or "bad output"
            raise OutputError(f"{path} cannot be written: {reason}.", remedy="Choose another place.") from None
    return files


def _format(model: Model, out: Path, rows: int) -> FileFormat:
    grids = [column.domain for column in model.schema.columns if isinstance(column.domain, Grid)]
    decimal: Literal[".", ","] = "," if any(grid.marks.decimal == "," for grid in grids) else "."
    form = format_of_ending(out.name)
    if form is None:
        endings = ", ".join(f".{each.name}" for each in FORMATS.values() if each.released_as is None)
        raise PlanError(f"{out.name} says no format.", cost="", remedy=f"Let its name end with one of {endings}.")
    refused = form.writes.refuse(released_columns(model.schema, concepts=False), rows)
    if refused is not None:
        raise PlanError(f"{out.name} cannot be written: {refused}.", cost="", remedy="Choose another format.")
    return FileFormat(
        form.name,
        ";" if decimal == "," else ",",
        decimal=decimal,
        said=said_by(Plan.parse(model.plan_files[PLAN_NAME])),
        concepts=False,
    )
