"""Does what a dry run prints hold? Whole releases of tables of shapes that hurt, against what was printed before.

    python -m benchmarks.dry_run [--releases 200] [--json] [--write-docs]

For each table: what `rankveil release --dry-run` says of it; releases of it (`rv.release`) from a seeded source, which
also notes what noise was added to what; and how much of it was within what had been said. Seeded, so that it prints the
same every time. The results are in docs/dry-run.md.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

import rankveil as rv
from rankveil.certificate import Certificate
from rankveil.declare import Plan, declare_alone
from rankveil.measure.budget import Noise, Price
from rankveil.measure.columns import first_question
from rankveil.methods import METHODS
from rankveil.noise import Law, SeededSource
from rankveil.preview import Expectation, Preview
from rankveil.preview.reach import MOST

PAGE = Path(__file__).resolve().parents[1] / "docs" / "dry-run.md"
BEGIN, END = "<!-- dry run: begin -->", "<!-- dry run: end -->"
FALSE_ALARM = 1e-4  # probability of so many draws outside, if what is printed holds, below which it is said not to

Columns = Mapping[str, tuple[dict[str, Any], Any]]  # name -> entry of the plan, values
Made = Callable[[np.random.Generator, int], Columns]


# Tables


def _integer(upper: int, **more: Any) -> dict[str, Any]:
    return {"kind": "integer", "lower": 0, "upper": upper, **more}


def _labels(count: int) -> dict[str, Any]:
    return {"kind": "category", "categories": [f"l{place}" for place in range(count)]}


def _bell(rng: np.random.Generator, rows: int) -> Any:
    return np.clip(rng.normal(400, 90, rows), 0, 999).astype(np.int64)


def _spiked(rng: np.random.Generator, rows: int) -> Any:
    return np.where(rng.random(rows) < 0.15, 999, _bell(rng, rows))


def _tail(rng: np.random.Generator, rows: int) -> Any:
    return np.minimum(np.exp(rng.normal(8, 1.5, rows)), 10_000_000).astype(np.int64)


def _falling(rng: np.random.Generator, rows: int) -> Any:
    return np.minimum(rng.exponential(120, rows), 1000).astype(np.int64)


def _zeros(rng: np.random.Generator, rows: int) -> Any:
    return np.where(rng.random(rows) < 0.6, 0, _falling(rng, rows))


def _clusters(rng: np.random.Generator, rows: int) -> Any:
    return np.where(rng.random(rows) < 0.5, rng.integers(0, 20, rows), rng.integers(99_900, 100_000, rows))


def _rare(rng: np.random.Generator, rows: int, count: int, first: float) -> Any:
    weights = np.array([first, *[(1 - first) / (count - 1)] * (count - 1)])
    return np.array(_labels(count)["categories"])[rng.choice(count, rows, p=weights)]


def _days(rng: np.random.Generator, rows: int) -> Any:
    return np.datetime64("1980-01-01") + np.sort(rng.integers(0, 12_000, rows)).astype("timedelta64[D]")


_DAYS = {"kind": "date", "lower": "1950-01-01", "upper": "2020-12-31"}


def _several(count: int, entry: dict[str, Any], draw: Callable[[np.random.Generator, int], Any]) -> Made:
    return lambda rng, rows: {f"c{place}": (entry, draw(rng, rows)) for place in range(count)}


def _mixed(rng: np.random.Generator, rows: int, count: int = 50) -> Columns:
    kinds: list[tuple[dict[str, Any], Callable[[], Any]]] = [
        (_integer(999), lambda: _spiked(rng, rows)),
        (_labels(12), lambda: _rare(rng, rows, 12, 0.5)),
        (_labels(2), lambda: _rare(rng, rows, 2, 0.97)),
        (_integer(99), lambda: rng.integers(0, 100, rows)),
        (_integer(1), lambda: np.zeros(rows, np.int64)),
    ]
    return {f"c{place}": (kinds[place % 5][0], kinds[place % 5][1]()) for place in range(count)}


def _with_nulls(rng: np.random.Generator, rows: int) -> Columns:
    found: dict[str, tuple[dict[str, Any], Any]] = {}
    for name, (entry, values) in _mixed(rng, rows, 5).items():
        holes = values.astype(object)
        holes[rng.random(rows) < 0.3] = None
        found[name] = (entry | {"null": True}, holes)
    return found


def _zero_one(rng: np.random.Generator, rows: int) -> Columns:
    """Noisy counts decide whether a column of numbers has two values."""
    drawn = [(rng.random(rows) < 0.3 * (place % 2)).astype(np.int64) for place in range(8)]
    return {f"c{place}": (_integer(1), values) for place, values in enumerate(drawn)}


def _constant(rng: np.random.Generator, rows: int) -> Columns:
    return {"number": (_integer(999), np.full(rows, 7)), "label": (_labels(20), np.full(rows, "l3"))}


def _of_each(rng: np.random.Generator, rows: int) -> Columns:
    return {
        "amount": (_integer(100_000, scale="log"), np.minimum(_tail(rng, rows), 100_000)),
        "bell": (_integer(999), _bell(rng, rows)),
        "day": (_DAYS, _days(rng, rows)),
        "label": (_labels(6), _rare(rng, rows, 6, 0.5)),
    }


def _alone(entry: dict[str, Any], draw: Callable[[np.random.Generator, int], Any]) -> Made:
    return lambda rng, rows: {"c": (entry, draw(rng, rows))}


@dataclass(frozen=True)
class Shape:
    name: str
    made: Made
    settings: tuple[tuple[int, str, str | None], ...]  # rows, ε, δ
    method: str = "synthetic"
    k: int | None = None
    often: int = 3  # releases of each table, beside those of others: few where one takes long


def _settings(*given: str) -> tuple[tuple[int, str, str | None], ...]:
    """From words such as "500 0.1 δ"."""
    parts = [each.split() for each in given]
    return tuple((int(part[0]), part[1], "1e-9" if len(part) > 2 else None) for part in parts)


SHAPES = (
    Shape("bell, 3 columns", _several(3, _integer(999), _bell), _settings("500 1", "20000 0.1 δ", "2000 10")),
    Shape("15 % 999 on a bell", _several(3, _integer(999), _spiked), _settings("2000 0.1", "5000 1 δ", "20000 1")),
    Shape(
        "lognormal, bound 3,000 times the median",
        _several(2, _integer(10_000_000), _tail),
        _settings("1000 1", "20000 1 δ", "2000 10"),
    ),
    Shape("exponential", _several(2, _integer(1000), _falling), _settings("500 0.1", "5000 1", "2000 10 δ")),
    Shape("constant columns", _constant, _settings("500 1", "5000 0.1 δ", "20000 10"), often=6),
    Shape("60 % zeros", _several(2, _integer(1000), _zeros), _settings("2000 0.1 δ", "5000 1", "20000 10")),
    Shape(
        "uniform, 1 column",
        _alone(_integer(100_000), lambda rng, rows: rng.integers(0, 100_001, rows)),
        _settings("500 0.1", "5000 1 δ", "20000 10"),
        often=6,
    ),
    Shape("two far clusters", _several(2, _integer(100_000), _clusters), _settings("2000 1", "5000 10 δ")),
    Shape(
        "41 labels, one has 90 %",
        _several(3, _labels(41), lambda rng, rows: _rare(rng, rows, 41, 0.9)),
        _settings("500 1", "5000 0.1", "20000 1 δ"),
        often=8,
    ),
    Shape(
        "16 yes/no columns",
        _several(16, _labels(2), lambda rng, rows: _rare(rng, rows, 2, 0.95)),
        _settings("500 1", "5000 1 δ"),
        often=6,
    ),
    Shape("8 columns of 0 and 1, half constant", _zero_one, _settings("2000 1", "2000 10 δ"), often=6),
    Shape("50 columns of five kinds", _mixed, _settings("500 0.1", "2000 1 δ", "1000 10"), often=1),
    Shape("30 % missing, 5 columns", _with_nulls, _settings("2000 0.1 δ", "5000 1"), often=2),
    Shape("dates, 2 columns", _several(2, _DAYS, _days), _settings("500 1", "20000 0.1", "2000 10 δ")),
    Shape("noise on values, four kinds", _of_each, _settings("500 10", "5000 60"), method="laplace", often=13),
    Shape(
        "noise on values, one column of amounts",
        lambda rng, rows: {"amount": _of_each(rng, rows)["amount"]},
        _settings("500 10"),
        method="laplace",
        often=13,
    ),
    Shape(
        "bell, clusters of 10", _alone(_integer(999), _bell), _settings("5000 10000"), "multivariate", k=10, often=13
    ),
)


# Releases


class Noting(SeededSource):
    """A seeded source that notes the size of all integer noise that it adds, by its law and in order."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: list[tuple[Noise, NDArray[np.float64]]] = []

    def answer(self, law: Law, exact: NDArray[Any]) -> NDArray[Any]:
        noisy = super().answer(law, exact)
        if isinstance(law, Noise):
            self.drawn.append((law, np.abs(noisy - exact).astype(np.float64).ravel()))
        return noisy


@dataclass
class Statement:
    """One kind of statement about one table, and how often it held."""

    words: str
    said: float = MOST  # the share that it is said to hold for
    upto: float = 1.0  # for chances: the upper end
    tries: int = 0
    within: int = 0
    printed: list[str] = field(default_factory=list)

    def add(self, tries: int, within: int, printed: str) -> None:
        self.tries += tries
        self.within += within
        if printed not in self.printed:
            self.printed.append(printed)

    @property
    def holds(self) -> bool:
        if self.said == 1:
            return self.within == self.tries
        too_few = stats.binom.cdf(self.within, self.tries, self.said) < FALSE_ALARM
        too_many = self.upto < 1 and stats.binom.sf(self.within - 1, self.tries, self.upto) < FALSE_ALARM
        return not (too_few or too_many)


@dataclass
class Case:
    shape: Shape
    rows: int
    epsilon: str
    delta: str | None
    releases: int = 0
    statements: dict[str, Statement] = field(default_factory=dict)

    def statement(self, words: str, said: float = MOST, upto: float = 1.0) -> Statement:
        return self.statements.setdefault(words, Statement(words, said, upto))


def cases(releases: int) -> Iterator[Case]:
    """Every table at every setting, with as many releases of each as make so many together."""
    wanted = [(shape, *setting) for shape in SHAPES for setting in shape.settings]
    times = math.ceil(releases / sum(shape.often for shape, *_ in wanted))
    for number, (shape, rows, epsilon, delta) in enumerate(wanted):
        yield _released(Case(shape, rows, epsilon, delta), times * shape.often, np.random.default_rng(number))


def _released(case: Case, releases: int, rng: np.random.Generator) -> Case:
    columns = case.shape.made(rng, case.rows)
    table = pa.table({name: pa.array(values) for name, (_, values) in columns.items()})
    release = {"method": case.shape.method, "epsilon": case.epsilon, "delta": case.delta, "k": case.shape.k}
    entries = {name: entry for name, (entry, _) in columns.items()}
    known = {name: value for name, value in release.items() if value is not None}
    plan = Plan.from_dict({"release": known, "columns": entries})
    looked = rv.preview(plan, table=table)
    for seed in range(releases):
        source = Noting(seed)
        made = rv.release(table, plan, source=source)
        case.releases += 1
        if case.shape.method == "synthetic":
            _check_counts(case, plan, looked, source)
            _check_account(case, looked, made.certificate)
        elif case.shape.method == "laplace":
            _check_values(case, looked, table, made.table)
        else:
            _check_means(case, looked, source)
    return case


def _check_counts(case: Case, plan: Plan, looked: Preview, source: Noting) -> None:
    """Noise on the counts that every column is measured by first, in the order of columns."""
    schema = {column.name: column for column in declare_alone(plan).protected}
    prices = {
        mechanism.column: Price.of(mechanism)
        for mechanism in METHODS["synthetic"].planned(plan.with_(expected_rows=case.rows))
        if mechanism.column in schema
    }
    drawn = iter(source.drawn)
    for expected in looked.expectations:
        sizes = np.zeros(0)
        for _, noise in first_question(schema[expected.column], case.rows, prices[expected.column]).levels:
            sizes = next(found for law, found in drawn if law == noise)
        inside = int(np.count_nonzero(sizes <= _reach(expected)))
        ranges = re.search(r"one of (\d+) ranges", expected.question)
        what = "noise on the count of one range" if ranges else expected.question
        case.statement(what).add(len(sizes), inside, expected.answer.split(" (")[0])
        if ranges:
            as_said = len(sizes) == int(ranges[1])
            case.statement("number of ranges", said=1).add(1, int(as_said), ranges[1])


def _reach(expected: Expectation) -> float:
    if expected.reach is None:
        raise AssertionError(f"a width is stated for {expected.question}")
    return expected.reach


def _check_account(case: Case, looked: Preview, certificate: Certificate) -> None:
    """How columns are linked and what every part costs, against the certificate."""
    kind, said = certificate.linkage or "none", looked.linkage
    names = [share.mechanism for share in certificate.shares]
    words = {
        "tables": "as many as are worth their noise",
        "copula": "one noisy correlation per pair",
        "none": "Nothing is measured about pairs" if len(certificate.columns) > 1 else "",
    }[kind]
    parities = "parities" in said  # then noisy counts decide between them and tables, as is said
    as_said = words in said and (parities or not any("parities" in name for name in names))
    as_said &= parities or ("of three columns" in said) == any("three-way" in name for name in names)
    stated = re.search(r"all (\d+) pairs", said)
    as_said &= stated is None or any(name == f"choice among {stated[1]} pairs" for name in names)
    case.statement("how columns are linked", said=1).add(1, int(as_said), kind + (", parities" if parities else ""))
    prices = {
        (share.column, share.mechanism): Fraction(share.epsilon or share.rho or 0) for share in certificate.shares
    }
    whole = sum(prices.values())
    columns = {part.name: part.share for part in looked.split if part.purpose == "column"}
    paid = {name: float(price / whole) for (name, _), price in prices.items() if name in columns}
    same = paid.keys() == columns.keys() and all(math.isclose(paid[name], columns[name]) for name in paid)
    linking = sorted(float(price / whole) for (name, _), price in prices.items() if name not in columns)
    shown = sorted(part.share for part in looked.split if part.purpose == "linkage")
    if parities:
        linking, shown = [sum(linking)], [sum(shown)]
    same &= len(linking) == len(shown) and bool(np.allclose(linking, shown))
    case.statement("where the budget goes", said=1).add(1, int(same), f"columns {sum(columns.values()):.0%}")


def _check_values(case: Case, looked: Preview, before: pa.Table, after: pa.Table) -> None:
    """Released values beside those of the table, row by row."""
    for expected in looked.expectations:
        old, new = (table.column(expected.column).to_numpy(zero_copy_only=False) for table in (before, after))
        if expected.question == "one label stays as it is":
            shares = [float(share) / 100 for share in re.findall(r"([\d.]+) (?:%|to)", expected.answer)]
            half = 0.005 if shares[0] >= 0.1 else 0.0005  # printed in whole percents, or with two digits
            held = case.statement(expected.question, said=min(shares) - half, upto=max(shares) + half)
            held.add(len(old), int(np.count_nonzero(old == new)), expected.answer)
            continue
        if expected.answer.startswith("×"):
            most = float(expected.answer.split()[1].rstrip(","))
            moved = np.abs(np.log((new + 1) / (old + 1))) / math.log(most)
        elif expected.answer == "the whole range":
            moved = np.zeros(len(old))
        else:
            distance = np.abs((new.astype("int64") - old.astype("int64")).astype(np.float64))
            moved = distance / _reach(expected)
        case.statement(expected.question).add(len(old), int(np.count_nonzero(moved <= 1)), expected.answer)


def _check_means(case: Case, looked: Preview, source: Noting) -> None:
    [expected] = looked.expectations
    sizes = max((found for _, found in source.drawn), key=len) / (case.shape.k or 1)
    inside = int(np.count_nonzero(sizes <= _reach(expected) + 1e-9))
    case.statement(expected.question).add(len(sizes), inside, expected.answer)


# What is shown


def summary(found: list[Case]) -> str:
    lines = [
        "| table | rows | ε | δ | what is said | printed | said to hold | tries | held | share | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in found:
        start = f"| {case.shape.name} | {case.rows:,} | {case.epsilon} | {case.delta or ''} |"
        for each in case.statements.values():
            said = f"{100 * each.said:.3g} %" + (f" to {100 * each.upto:.3g} %" if each.upto < 1 else "")
            share = f"{100 * each.within / each.tries:.1f} %"
            lines.append(
                f"{start} {each.words} | {_range(each.printed)} | {said} | {each.tries:,} | {each.within:,} | {share} |"
                f" {'' if each.holds else '**no**'} |"
            )
    statements = [each for case in found for each in case.statements.values()]
    held = sum(each.holds for each in statements)
    shapes = len({case.shape.name for case in found})
    lines += [
        "",
        f"{sum(case.releases for case in found)} releases of {len(found)} tables of {shapes} shapes; {held} of"
        f" {len(statements)} statements held as often as they say.",
    ]
    return "\n".join(lines)


def _range(printed: list[str]) -> str:
    return printed[0] if len(printed) == 1 else f"{len(printed)} such, {printed[0]} first"


def as_dict(case: Case) -> dict[str, Any]:
    return {
        "table": case.shape.name,
        "method": case.shape.method,
        "rows": case.rows,
        "epsilon": case.epsilon,
        "delta": case.delta,
        "releases": case.releases,
        "statements": [vars(each) | {"holds": each.holds} for each in case.statements.values()],
    }


def write_docs(text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="How often what a dry run prints holds.")
    parser.add_argument("--releases", type=int, default=200, help="of all tables together, at least")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/dry-run.md")
    options = parser.parse_args()
    found = []
    for case in cases(options.releases):
        found.append(case)
        print(case.shape.name, case.rows, case.epsilon, case.releases, file=sys.stderr, flush=True)
    text = summary(found)
    print(json.dumps([as_dict(case) for case in found], indent=2, ensure_ascii=False) if options.json else text)
    if options.write_docs:
        write_docs(text)


if __name__ == "__main__":
    main()
