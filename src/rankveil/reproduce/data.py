"""Census and Adult as the paper prepared them.

Not covered  Privacy. The domain of a number is [0, 1.5 · largest value in the data], the paper's choice; it depends on
             single records, and the release's support gives the maximum away (T37).
"""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

from rankveil.engines import open_table
from rankveil.errors import TableError
from rankveil.flow.declare import Column, Records, Schema, encode
from rankveil.flow.declare.domain import DEFAULT_NULL_TOKENS, Domain, Grid, Nominal
from rankveil.taxonomy import read_taxonomy

ADULT_NUMBERS = ("age", "hours-per-week")
ADULT_LABELS = ("occupation", "native-country")
_WIDE_ENOUGH = 1 << 40  # for the first look, which finds the maximum


def data_folder(given: Path | None = None) -> Path:
    """Where the reference data are: as given, or RANKVEIL_DATA, or ../shared/data beside the working folder."""
    folder = given or Path(os.environ.get("RANKVEIL_DATA", "../shared/data"))
    if not (folder / "census.csv").exists():
        raise TableError(
            f"The reference data (census.csv, adult.csv, taxonomies/) are not in {folder}.",
            remedy="Name their folder with --data or in the environment variable RANKVEIL_DATA.",
        )
    return folder


def census(folder: Path) -> Records:
    """All 13 attributes, in file order, with the paper's domains."""
    path = folder / "census.csv"
    return _numbers_and_labels(path, tuple(open_table(path).schema.names), {})


def adult(folder: Path, taxonomies: str = "crises") -> Records:
    """The paper's four attributes. `taxonomies`: which of two sets of trees stands in for the paper's."""
    trees = folder / "taxonomies" / taxonomies
    labels: dict[str, Domain] = {
        name: Nominal(read_taxonomy(trees / f"{name}.csv", label_file=trees / f"{name}_labels.csv"))
        for name in ADULT_LABELS
    }
    return _numbers_and_labels(folder / "adult.csv", ADULT_NUMBERS, labels)


def first_columns(records: Records, count: int) -> Records:
    """Only the first attributes: the paper's experiments with m of them."""
    columns = records.schema.columns[:count]
    return Records(Schema(columns), {column.name: records.codes[column.name] for column in columns}, records.row_count)


def single_column(records: Records, place: int) -> Records:
    column = records.schema.columns[place]
    return Records(Schema((column,)), {column.name: records.codes[column.name]}, records.row_count)


def _numbers_and_labels(path: Path, numbers: tuple[str, ...], labels: dict[str, Domain]) -> Records:
    domains = dict.fromkeys(numbers, Grid(_WIDE_ENOUGH)) | labels
    schema = Schema(tuple(_column(name, domain) for name, domain in domains.items()))
    records = encode(open_table(path), schema)
    widths = {name: int(Decimal("1.5") * int(np.max(records.codes[name]))) for name in numbers}
    columns = tuple(
        replace(column, domain=Grid(widths[column.name])) if column.name in widths else column
        for column in schema.columns
    )
    return replace(records, schema=Schema(columns))


def _column(name: str, domain: Domain) -> Column:
    kind = "integer" if isinstance(domain, Grid) else "category"
    return Column(name, kind, domain, "protected", False, False, DEFAULT_NULL_TOKENS, pa.string())
