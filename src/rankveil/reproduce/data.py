"""Census and Adult as the paper prepared them.

Adult        Comes with rankveil: the training part as UCI publishes it (examples/README.md has source and licence),
             without the records that lack an occupation or a country, which leaves the paper's 30,162.
Taxonomies   The project's own, for occupations and countries. The paper took its from WordNet 2.1 and did not publish
             them; so distances of labels, their order and the candidates of Algorithm 2 differ.
Census       Does not come with rankveil: it is published with R's sdcMicro, under that package's licence.
Not covered  Privacy. The domain of a number is [0, 1.5 · largest value in the data], the paper's choice; it depends on
             single records, and the release's support gives the maximum away (T37).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import rankveil
from rankveil.declare import Column, Records, Schema, encode
from rankveil.declare.domain import DEFAULT_NULL_TOKENS, Domain, Grid, Nominal
from rankveil.engines import Table, open_table
from rankveil.errors import TableError
from rankveil.taxonomy import read_taxonomy

ADULT_NUMBERS = ("age", "hours-per-week")
ADULT_LABELS = {"occupation": "occupation.csv", "native-country": "native_country.csv"}
ADULT_TAXONOMIES = (
    "Adult: the taxonomies are rankveil's own; the paper's, from WordNet 2.1, are not published. Distances of labels,"
    " their order and the candidates of Algorithm 2 differ, so compare shapes with the paper's Figures 2 and 4, not"
    " values."
)
CENSUS_COLUMNS = (
    *("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC"),
    *("POTHVAL", "INTVAL", "PEARNVAL", "FICA", "WSALVAL", "ERNVAL"),
)
CENSUS_ROWS = 1080
CENSUS_SHA256 = "40fb91564d4379274610e941161fd38729adb471bddb9c71d7c01ef142fd0f5b"
HOW_TO_GET_CENSUS = f"""\
It is the Census reference microdata of the CASC project, which R's package sdcMicro (on CRAN) carries under the name
CASCrefmicrodata. In R:
  install.packages("sdcMicro"); data(CASCrefmicrodata, package = "sdcMicro"); options(scipen = 99)
  write.csv(CASCrefmicrodata, "census.csv", row.names = FALSE, quote = FALSE)
Expected are {CENSUS_ROWS:,} rows of whole numbers under the header
  {",".join(CENSUS_COLUMNS)}
SHA-256, with LF at line ends: {CENSUS_SHA256}
Then name the folder that holds it: --data FOLDER."""
_WIDE_ENOUGH = 1 << 40  # for the first look, which finds the maximum
_MISSING = "?"


def census_file(folder: Path | None) -> Path:
    """census.csv in the folder, if it is what the paper used; otherwise an error that says where to get it."""
    if folder is None or not (folder / "census.csv").is_file():
        where = "no folder was named with --data" if folder is None else f"it is not in {folder}"
        raise TableError(f"Table 1 and Figures 1 and 3 need census.csv, and {where}.", remedy=HOW_TO_GET_CENSUS)
    return folder / "census.csv"


def is_reference_census(path: Path) -> bool:
    """Whether it is the file that the figures in docs/reproduction.md were made with, byte for byte."""
    return hashlib.sha256(path.read_bytes()).hexdigest() == CENSUS_SHA256


def census(path: Path) -> Records:
    """All 13 attributes, in file order, with the paper's domains."""
    table = open_table(path)
    if tuple(table.schema.names) != CENSUS_COLUMNS:
        raise TableError(f"{path.name} has other columns than the Census microdata.", remedy=HOW_TO_GET_CENSUS)
    records = _numbers_and_labels(table, CENSUS_COLUMNS, {})
    if records.row_count != CENSUS_ROWS:
        raise TableError(f"{path.name} has {records.row_count} rows.", remedy=HOW_TO_GET_CENSUS)
    return records


def adult() -> Records:
    """The paper's four attributes, of the records that lack none of them."""
    labels: dict[str, Domain] = {
        name: Nominal(read_taxonomy(example_file(file))) for name, file in ADULT_LABELS.items()
    }
    whole = pa.Table.from_batches(open_table(example_file("adult.csv.gz")).batches())
    present = [pc.not_equal(whole[name], _MISSING) for name in labels]
    kept = whole.select([*ADULT_NUMBERS, *labels]).filter(pc.and_(*present))
    return _numbers_and_labels(open_table(kept), ADULT_NUMBERS, labels)


def example_file(name: str) -> Path:
    """A file of examples/: in an installed package beside its modules, in a checkout where it lies."""
    package = Path(rankveil.__file__).parent
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / name).is_file():
            return folder / name
    raise TableError(
        f"{name}, which comes with rankveil, is not where it was installed.", remedy="Install rankveil again."
    )


def first_columns(records: Records, count: int, *, after: int = 0) -> Records:
    """Only so many attributes: the paper's experiments with m of them."""
    columns = records.schema.columns[after : after + count]
    return Records(Schema(columns), {column.name: records.codes[column.name] for column in columns}, records.row_count)


def _numbers_and_labels(table: Table, numbers: tuple[str, ...], labels: dict[str, Domain]) -> Records:
    domains = dict.fromkeys(numbers, Grid(_WIDE_ENOUGH)) | labels
    schema = Schema(tuple(_column(name, domain) for name, domain in domains.items()))
    records = encode(table, schema)
    widths = {name: int(Decimal("1.5") * int(np.max(records.codes[name]))) for name in numbers}
    columns = tuple(
        replace(column, domain=Grid(widths[column.name])) if column.name in widths else column
        for column in schema.columns
    )
    return replace(records, schema=Schema(columns))


def _column(name: str, domain: Domain) -> Column:
    kind = "integer" if isinstance(domain, Grid) else "category"
    return Column(name, kind, domain, "protected", False, False, DEFAULT_NULL_TOKENS, pa.string())
