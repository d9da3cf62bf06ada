"""The four data sets of the comparison, and everything about them that is public.

Every system is told the same: the kind of each column, bounds of numbers (all are integers), lists of labels. No
scales, taxonomies or orders of labels, which only some systems could use. Bounds are those of the data folder's README.

EIA is released without its identifiers (UTILITYID, UTILNAME) and without YEAR, which is constant.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import rankveil as rv

ROOT = Path(__file__).parents[2]
ADULT_TEST = ROOT / "examples" / "adult_test.csv.gz"

Column = dict[str, Any]


def number(name: str, lower: int, upper: int) -> Column:
    return {"name": name, "kind": "integer", "lower": lower, "upper": upper}


def labels(name: str, *values: str) -> Column:
    return {"name": name, "kind": "category", "labels": list(values)}


@dataclass(frozen=True)
class Data:
    """One table. `target` is what a learner predicts: a column of two labels, or a number's being above its median."""

    name: str
    title: str
    columns: tuple[Column, ...]
    target: str
    test: Path | None = None  # real records that no system sees; without, a part of the table itself

    @property
    def entries(self) -> dict[str, Column]:
        """The columns of a plan."""
        return {
            column["name"]: {"kind": "integer", "lower": column["lower"], "upper": column["upper"]}
            if column["kind"] == "integer"
            else {"kind": "category", "categories": column["labels"]}
            for column in self.columns
        }

    @cached_property
    def plan(self) -> rv.Plan:
        return rv.Plan.from_dict({"release": {"epsilon": 1}, "columns": self.entries})

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps([self.columns, self.target]).encode()).hexdigest()[:12]

    def prepare(self, source: Path, folder: Path) -> Path:
        """The table every system gets: a CSV file with the columns of this data set alone."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.csv"
        self._write(_rows(source / f"{self.name}.csv"), path)
        return path

    def prepare_test(self, folder: Path) -> Path | None:
        if self.test is None:
            return None
        path = folder / f"{self.name}_test.csv"
        complete = (row for row in _rows(self.test) if "?" not in row.values())  # as in the table itself
        self._write(complete, path)
        return path

    def _write(self, rows: Iterator[dict[str, str]], path: Path) -> None:
        names = [column["name"] for column in self.columns]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    yield from csv.DictReader(text.splitlines())


_ADULT = (
    number("age", 17, 90),
    labels("workclass", "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov",
           "Without-pay", "Never-worked"),
    number("fnlwgt", 0, 1_500_000),
    labels("education", "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
           "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
    number("education-num", 1, 16),
    labels("marital-status", "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed",
           "Married-spouse-absent", "Married-AF-spouse"),
    labels("occupation", "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
           "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
           "Priv-house-serv", "Protective-serv", "Armed-Forces"),
    labels("relationship", "Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    labels("race", "White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    labels("sex", "Female", "Male"),
    number("capital-gain", 0, 99_999),
    number("capital-loss", 0, 5_000),
    number("hours-per-week", 1, 99),
    labels("native-country", "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany",
           "Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras",
           "Philippines", "Italy", "Poland", "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France",
           "Dominican-Republic", "Laos", "Ecuador", "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua",
           "Scotland", "Thailand", "Yugoslavia", "El-Salvador", "Trinadad&Tobago", "Peru", "Hong",
           "Holand-Netherlands"),
    labels("income", "<=50K", ">50K"),
)  # fmt: skip

_CENSUS = tuple(
    number(name, 0, upper)
    for name, upper in {
        "AFNLWGT": 1_000_000, "AGI": 200_000, "EMCONTRB": 10_000, "FEDTAX": 60_000, "PTOTVAL": 200_000,
        "STATETAX": 20_000, "TAXINC": 200_000, "POTHVAL": 150_000, "INTVAL": 100_000, "PEARNVAL": 200_000,
        "FICA": 10_000, "WSALVAL": 200_000, "ERNVAL": 200_000,
    }.items()
)  # fmt: skip

_STATES = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN", "KS", "KY",
    "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM", "NV", "NY", "OH",
    "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
]  # fmt: skip
_GROUPS = [
    "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE", "OTHRSALES",
]  # fmt: skip
_EIA = (
    labels("STATE", *_STATES),
    number("MONTH", 1, 12),
    *(
        number(name, *((-50_000, 1_000_000) if name.endswith("REVENUE") else (-500_000, 10_000_000)))
        for name in _GROUPS
    ),
    number("TOTREVENUE", 0, 2_000_000),
    number("TOTSALES", 0, 20_000_000),
)

_STOCKS = [
    "FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "UNCOMMITTED.FUNDS", "PAID.UP.CAPITAL", "SHORT.TERM.DEBT",
    "SALES", "LABOR.COSTS", "DEPRECIATION", "OPERATING.PROFIT", "FINANCIAL.OUTCOME", "GROSS.PROFIT",
    "NET.PROFIT",
]  # fmt: skip
_NARROW = {"TREASURY", "OPERATING.PROFIT", "FINANCIAL.OUTCOME", "GROSS.PROFIT", "NET.PROFIT"}
_TARRAGONA = tuple(number(name, -1_000_000, 2_000_000 if name in _NARROW else 20_000_000) for name in _STOCKS)

DATA = {
    data.name: data
    for data in (
        Data("adult", "Adult, 15 columns", _ADULT, "income", ADULT_TEST),
        Data("census", "Census, 13 columns", _CENSUS, "ERNVAL"),
        Data("eia", "EIA, 12 columns", _EIA, "TOTSALES"),
        Data("tarragona", "Tarragona, 13 columns", _TARRAGONA, "NET.PROFIT"),
    )
}
