"""Measurements and the fitted model as files, and back: docs/reference/model.md describes every column and entry.

Guarantee    A function of the measurements, of the model that was fitted to them and of the plan: post-processing (T1).
             What is read back is the same to the last bit, but for the order of values inside a cell (`rounded`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
from numpy.typing import NDArray

from rankveil.declare.digits import LastDigits
from rankveil.declare.schema import Schema
from rankveil.declare.unit import Unit
from rankveil.fit.limits import Limits
from rankveil.fit.marginal import Marginal, marginal_again
from rankveil.fit.model import Model as Fitted
from rankveil.measure.budget import Mechanism
from rankveil.measure.measurements import (
    ColumnMeasurement,
    DigitCounts,
    Floats,
    Level,
    Measurements,
    NoiseLaw,
    SignProducts,
    TableMeasurement,
)
from rankveil.model.words import apart, base_cells, last_digits, ranges, together

LEVEL, DIGITS, TABLE, PARITY, SIGNS = "column level", "last digits", "table", "parity", "sign product"
EVEN_LESS_ODD, ABOVE_LESS_BELOW = "an even number less an odd number", "above less below the middle"
_STEPS = 32  # of the latent value, to a standard deviation: far finer than the jitter that draws add
_FARTHEST = 127


@dataclass(frozen=True)
class _Asked:
    """One question: its lines in measurements.parquet, and what measurements.json says besides."""

    kind: str
    columns: tuple[str, ...]
    words: Sequence[str]  # of all cells of its columns ...
    cells: NDArray[np.int64]  # ... and which of them: a line for each answer, column by column
    noisy: Floats
    deviation: float
    law: NoiseLaw
    more: Mapping[str, Any]  # what reading it back needs


def law_of(measured: Measurements) -> NoiseLaw:
    """Of all noise: a plan with δ buys Gaussian noise, others Laplace noise."""
    return "discrete Gaussian" if any(note.rho is not None for note in measured.notes) else "discrete Laplace"


def _asked(measured: Measurements) -> Iterator[_Asked]:
    law = law_of(measured)
    columns = {column.name: column for column in measured.schema.columns}
    for name, each in measured.asked.items():
        beside = last_covering(each)
        for number, level in enumerate(each.levels):
            cells, noisy = ranges(each.column, level.low, level.high), level.noisy
            if number == beside:
                cells, noisy = cells + apart(each.column), np.append(noisy, each.apart)
            more = {"low": level.low.tolist(), "high": level.high.tolist(), "with_apart": number == beside}
            places = np.arange(len(cells))[:, None]
            yield _Asked(LEVEL, (name,), [*map(str, cells)], places, noisy, level.deviation, level.law, more)
        if each.digits is not None:
            words, places = last_digits(each.digits.digits, each.column), np.arange(each.digits.digits.count)[:, None]
            yield _Asked(DIGITS, (name,), words, places, each.digits.noisy, each.digits.deviation, each.digits.law, {})
    base = {name: base_cells(columns[name], marginal) for name, marginal in measured.columns.items()}
    for table in measured.tables:
        groups = {"groups": [group.tolist() for group in table.groups]}
        if table.parity:
            noisy, places = np.array([table.noisy[0] - table.noisy[1]]), np.zeros((1, len(table.columns)), np.int64)
            yield _Asked(PARITY, table.columns, [EVEN_LESS_ODD], places, noisy, table.deviation, law, groups)
            continue
        sides = [together(base[name], group) for name, group in zip(table.columns, table.groups, strict=True)]
        first = np.cumsum([0, *map(len, sides)])[:-1]
        places = np.indices(table.noisy.shape).reshape(table.noisy.ndim, -1).T + first
        words = [str(cell) for side in sides for cell in side]
        yield _Asked(TABLE, table.columns, words, places, table.noisy.ravel(), table.deviation, law, groups)
    if measured.signs is not None:
        deviation, places = measured.signs.deviation, np.zeros((1, 2), np.int64)
        for pair, product in measured.signs.products.items():
            yield _Asked(SIGNS, pair, [ABOVE_LESS_BELOW], places, np.array([product]), deviation, law, {})


def last_covering(each: ColumnMeasurement) -> int:
    """The level with which special values and missing were counted: the last of those that cover the column."""
    whole = int(each.levels[0].high[-1])
    covering = [place for place, level in enumerate(each.levels) if (level.high - level.low).sum() == whole]
    found = [place for place in covering if each.levels[place].deviation == each.apart_deviation]
    if not found:
        raise ValueError("no level covers the column")
    return found[-1]


# Files


def measurement_files(measured: Measurements) -> dict[str, bytes]:
    """measurements.parquet and measurements.json."""
    asked = list(_asked(measured))
    lengths = [len(each.noisy) for each in asked]
    which = np.repeat(np.arange(len(asked), dtype=np.int32), lengths)
    words = [pa.array(each.words, pa.string()).take(pa.array(each.cells.ravel())) for each in asked]
    ends = np.cumsum(np.repeat([len(each.columns) for each in asked], lengths))
    lines = pa.table(
        {
            "measurement": pa.array(which),
            "kind": pa.array([each.kind for each in asked]).take(which),
            "columns": pa.array([list(each.columns) for each in asked], pa.list_(pa.string())).take(which),
            "cell": pa.ListArray.from_arrays(np.append(0, ends).astype(np.int32), pa.concat_arrays(words)),
            "noisy": pa.array(np.concatenate([each.noisy for each in asked])),
            "deviation": pa.array(np.repeat([each.deviation for each in asked], lengths)),
            "law": pa.array([each.law for each in asked]).take(which),
        }
    )
    said = {
        "rows": measured.rows,
        "linkage": measured.linkage,
        "prices": [_price(note) for note in measured.notes],
        "measurements": [
            {
                "number": number,
                "kind": each.kind,
                "columns": list(each.columns),
                "cells": len(each.noisy),
                "deviation": each.deviation,
                "law": each.law,
                **each.more,
            }
            for number, each in enumerate(asked)
        ],
    }
    return {"measurements.parquet": parquet(lines), "measurements.json": as_json(said)}


def fitted_files(measured: Measurements, fitted: Fitted) -> dict[str, bytes]:
    """rows.parquet: base cells, weights and places inside cells; marginals.json: what base cells hold."""
    rows: dict[str, NDArray[Any]] = {"weight": fitted.weights}
    for place, (name, marginal) in enumerate(fitted.marginals.items()):
        rows[f"cell of {name}"] = fitted.cells[place].astype(marginal.cell_type)
        if marginal.ordered:
            rows[f"place of {name}"] = _in_steps(fitted.latent[:, place])
    base = {column.name: column for column in measured.schema.columns}
    marginals = {
        name: {
            "cells": [cell.as_dict() for cell in base_cells(base[name], marginal)],
            **{key: part.tolist() for key, part in marginal.parts().items()},
            "mass": marginal.mass.tolist(),
            "variance": marginal.variance.tolist(),
            "mass_before_tables": measured.columns[name].mass.tolist(),
            "variance_before_tables": measured.columns[name].variance.tolist(),
        }
        for name, marginal in fitted.marginals.items()
    }
    files = {"rows.parquet": parquet(pa.table(rows)), "marginals.json": as_json(marginals)}
    if measured.known:
        files["public.parquet"] = parquet(pa.table(dict(measured.known)))
    return files


def parquet(table: pa.Table) -> bytes:
    memory = pa.BufferOutputStream()
    papq.write_table(table, memory, compression="zstd")
    return bytes(memory.getvalue())


def as_json(content: Any) -> bytes:
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


# Back


def measurements_from(files: Mapping[str, bytes], schema: Schema) -> Measurements:
    said, marginals = json.loads(files["measurements.json"]), json.loads(files["marginals.json"])
    lines = _columns(files["measurements.parquet"], ["measurement", "noisy"])
    which, noisy = lines["measurement"], lines["noisy"]
    answers = np.split(noisy, np.flatnonzero(np.diff(which)) + 1)
    columns = {column.name: column for column in schema.columns}
    levels: dict[str, list[Level]] = {}
    counted_apart: dict[str, tuple[Floats, float]] = {}
    digits: dict[str, DigitCounts] = {}
    tables: list[TableMeasurement] = []
    products, sign_deviation = dict[tuple[str, ...], float](), 0.0
    for each, answer in zip(said["measurements"], answers, strict=True):
        names, kind, deviation = tuple(each["columns"]), each["kind"], each["deviation"]
        if kind == LEVEL:
            low, high = np.array(each["low"], np.int64), np.array(each["high"], np.int64)
            present, beside = np.split(answer, [len(low)])
            levels.setdefault(names[0], []).append(Level(low, high, present, deviation, each["law"]))
            if each["with_apart"]:
                counted_apart[names[0]] = beside, deviation
        elif kind == DIGITS:
            classes = LastDigits.of(columns[names[0]])
            if classes is None or classes.count != len(answer):
                raise ValueError("last digits that the column does not have")
            digits[names[0]] = DigitCounts(classes, answer, deviation, each["law"])
        elif kind == SIGNS:
            products[names], sign_deviation = float(answer[0]), deviation
        else:
            groups = tuple(np.array(group, np.int64) for group in each["groups"])
            if kind == PARITY:
                both = (said["rows"] + answer[0]) / 2, (said["rows"] - answer[0]) / 2
                tables.append(TableMeasurement(names, groups, np.array(both), deviation, parity=True))
            else:
                shape = [int(group.max()) + 1 for group in groups]
                tables.append(TableMeasurement(names, groups, answer.reshape(shape), deviation))
    asked = {
        name: ColumnMeasurement(columns[name], tuple(found), *counted_apart[name], digits.get(name))
        for name, found in levels.items()
    }
    for of_column in asked.values():
        last_covering(of_column)  # there is one
    return Measurements(
        schema,
        said["rows"],
        _marginals(marginals, schema, "_before_tables"),
        tuple(tables),
        SignProducts(products, sign_deviation) if products else None,
        tuple(_mechanism(note, schema.unit) for note in said["prices"]),
        said["linkage"],
        _columns(files["public.parquet"]) if "public.parquet" in files else {},
        asked,
    )


def fitted_from(files: Mapping[str, bytes], schema: Schema) -> Fitted:
    marginals = _marginals(json.loads(files["marginals.json"]), schema)
    rows = _columns(files["rows.parquet"])
    cells = [rows[f"cell of {name}"].astype(np.uint16) for name in marginals]
    weights = rows["weight"]
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("weights that are none")
    if any((here >= each.cell_count).any() for here, each in zip(cells, marginals.values(), strict=True)):
        raise ValueError("cells that the marginals do not know")
    latent = np.zeros((len(weights), len(marginals)))
    for place, name in enumerate(marginals):
        if f"place of {name}" in rows:
            latent[:, place] = rows[f"place of {name}"] / _STEPS
    return Fitted(marginals, cells, weights, latent, limits=Limits.of(schema.rules, marginals))


def rounded(fitted: Fitted) -> Fitted:
    """The model as its files say it: places inside cells in small steps, and no longer the terms of the fit."""
    latent = _in_steps(fitted.latent) / _STEPS
    latent[:, [not marginal.ordered for marginal in fitted.marginals.values()]] = 0.0
    return replace(fitted, latent=latent, terms=(), movers=())


def _in_steps(latent: Floats) -> NDArray[np.int8]:
    return np.clip(np.rint(latent * _STEPS), -_FARTHEST, _FARTHEST).astype(np.int8)


def _marginals(content: Mapping[str, Any], schema: Schema, when: str = "") -> dict[str, Marginal]:
    columns = {column.name: column for column in schema.columns}
    found: dict[str, Marginal] = {}
    for name, said in content.items():
        whole = {key: np.array(said[key], np.int64) for key in ("low", "high", "edges", "label_cells") if key in said}
        parts = {key: np.array(said[key], np.float64) for key in ("segment_mass", "label_mass") if key in said}
        mass, variance = (np.array(said[f"{key}{when}"], np.float64) for key in ("mass", "variance"))
        if not (np.isfinite(mass).all() and (mass >= 0).all()):
            raise ValueError("masses that are none")
        cells = whole.get("label_cells", np.zeros(0, np.int64))
        if ((cells < 0) | (cells >= len(mass))).any():
            raise ValueError("labels in cells that there are not")
        found[name] = marginal_again(columns[name], {**whole, **parts}, mass, variance)
    return found


def _columns(content: bytes, names: Sequence[str] | None = None) -> dict[str, Any]:
    # By this thread alone: Arrow's own may still be at work when a short command ends, which aborts the process.
    with papq.ParquetFile(pa.BufferReader(content)) as file:
        table = file.read(names, use_threads=False)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _price(note: Mechanism) -> dict[str, Any]:
    return {
        "columns": note.column,
        "mechanism": note.name,
        "epsilon": None if note.epsilon is None else str(note.epsilon),
        "rho": None if note.rho is None else str(note.rho),
        "accounting": note.accounting,
        "sensitivity": note.sensitivity,
        "theorems": list(note.theorems),
    }


def _mechanism(said: Mapping[str, Any], unit: Unit) -> Mechanism:
    def exact(text: str | None) -> Fraction | None:
        return None if text is None else Fraction(text)

    return Mechanism(
        said["columns"],
        said["mechanism"],
        exact(said["epsilon"]),
        sensitivity=said["sensitivity"],
        rho=exact(said["rho"]),
        theorems=tuple(said["theorems"]),
        accounting=said["accounting"],
        protects=unit,
    )
