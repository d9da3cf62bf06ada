"""A look at a plan: every part of the budget, the noise it buys, and what that means for people."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from rankveil.certificate import plain
from rankveil.certificate.spent import Priced, Purpose, divided
from rankveil.consent import refuse_misfit
from rankveil.declare import Column, Plan, Schema, declare_alone
from rankveil.declare.domain import Nominal
from rankveil.declare.schema import refuse_few
from rankveil.declare.unit import A_ROW
from rankveil.engines import open_table
from rankveil.figure import Figure, plotted
from rankveil.meaning import in_words
from rankveil.measure.budget import Mechanism, Price
from rankveil.methods import Method, method_named
from rankveil.preview.expectations import (
    Expectation,
    Outlook,
    chance_kept,
    distance,
    of_marginal,
    of_values,
    steps_within,
)
from rankveil.preview.intervals import ABOUT_INTERVALS, ExpectedInterval, expected_intervals
from rankveil.preview.noise_alone import Choice, choice
from rankveil.preview.reach import reach_of
from rankveil.rules import ASSUMED_ROWS, FEWEST_YES_NO

_MOST_NAMED = 12  # columns of a warning


@dataclass(frozen=True)
class PreviewLine:
    """One mechanism of one column. `half_within` and `most_within`: how far 50 % and 95 % of the draws reach."""

    column: str
    kind: str
    mechanism: str
    epsilon: str | None
    rho: str | None
    half_within: str
    most_within: str


@dataclass(frozen=True)
class Part:
    """A part of the budget and what it buys."""

    name: str
    purpose: Purpose
    share: float  # of the whole


@dataclass(frozen=True)
class Preview:
    """What `preview` says: noise of every column and part of the budget, and what to expect.

    >>> looked = rv.preview(plan, rows=500)
    >>> looked.method.name, looked.epsilon, looked.rows
    ('synthetic', '1', 500)
    >>> looked.expectations[0].question
    'noise on the count of one value'
    """

    method: Method
    epsilon: str | None
    delta: str | None
    k: int | None
    lines: tuple[PreviewLine, ...]
    rows: int  # that all of this is for
    rows_assumed: bool  # nobody has said how many there are
    split: tuple[Part, ...]
    expectations: tuple[Expectation, ...]
    intervals: tuple[ExpectedInterval, ...]  # of estimates from a release with replicates
    linkage: str  # in words
    choice: Choice | None  # pure ε or (ε, δ), for methods that know both
    meaning: str  # of ε; nothing for methods without a guarantee
    protects: str  # whom
    warnings: tuple[str, ...]

    def plot(self) -> Figure:
        """A chart: where the budget goes, and how much noise lies on each column.

        >>> rv.preview(plan, rows=500).plot()
        Figure: synthetic, ε = 1, 500 rows
        """
        return plotted("preview", self)

    def as_dict(self) -> dict[str, Any]:
        return {
            "dry_run": True,
            "method": self.method.name,
            "differentially_private": self.method.differentially_private,
            "holds": self.method.holds,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "k": self.k,
            "rows": self.rows,
            "rows_assumed": self.rows_assumed,
            "columns": [vars(line) for line in self.lines],
            "split": [asdict(part) for part in self.split],
            "expectations": [asdict(expectation) for expectation in self.expectations],
            "intervals": [each.as_dict() for each in self.intervals],
            "about_intervals": ABOUT_INTERVALS if self.intervals else "",
            "linkage": self.linkage,
            "noise_alone": None if self.choice is None else self.choice.as_dict(),
            "meaning": self.meaning,
            "protects": self.protects,
            "warnings": list(self.warnings),
        }


def preview(plan: Plan, rows: int | None = None, *, table: object = None) -> Preview:
    """Noise per column and what is known of it, from the plan and the number of rows; spends nothing.

        >>> looked = rv.preview(plan, rows=500)
        >>> [line.column for line in looked.lines[:3]]
        ['age', 'sex', 'income']

    The rows of `table` are counted, nothing else of it is read; or `rows` says how many there are; or the plan's
    `expected_rows` does. Without any of them 10,000 are assumed, and what is said holds for so many. Where the plan
    protects persons, or the number of rows, only `expected_rows` counts.
    """
    method = method_named(plan.release.method)
    refuse_misfit(plan, method)  # or guarantees would be shown that no release can have
    if plan.unit != A_ROW:  # PRIVACY: the number of rows is not public, or not the number of rows that are used
        rows = None
    elif table is not None:
        rows = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding).row_count()
    if rows is not None:
        refuse_few("The table", rows)
        plan = plan.with_(expected_rows=rows)
    schema = declare_alone(plan)
    columns = {column.name: column for column in schema.protected}
    cluster_size = (plan.release.k or 1) if method.needs_clusters else 1
    counted = plan.release.expected_rows or ASSUMED_ROWS
    mechanisms = method.planned(plan)
    known = _known(mechanisms, columns)
    lines = [_line(columns.get(mechanism.column), mechanism, cluster_size) for mechanism in known]
    outlooks = _outlooks(mechanisms, columns, method, counted, cluster_size)
    budget = (plan.release.epsilon, plan.release.delta)
    linkage, about_linkage = _linkage(method, mechanisms, schema)
    return Preview(
        method=method,
        epsilon=plain(plan.release.epsilon) if method.uses_budget else None,
        delta=None if plan.release.delta is None else plain(plan.release.delta),
        k=plan.release.k if method.needs_clusters else None,
        lines=tuple(lines),
        rows=counted,
        rows_assumed=plan.release.expected_rows is None,
        split=_split(known, columns),
        expectations=tuple(expectation for _, outlook in outlooks for expectation in outlook.expectations),
        intervals=expected_intervals(columns, mechanisms, counted) if method.name == "synthetic" else (),
        linkage=linkage,
        choice=choice(plan, counted, mechanisms),
        meaning=in_words(*budget) + plan.unit.caveat if method.differentially_private else "",
        protects=plan.unit.who if method.differentially_private else "nobody",
        warnings=(*_about_rows(mechanisms), *_grouped(outlooks), *([about_linkage] if about_linkage else [])),
    )


def expectations(plan: Plan, rows: int) -> tuple[Expectation, ...]:
    """How much noise there is on each column of a table of so many rows; for a certificate.

    PRIVACY: `rows` is the number of rows that is released: public, or noisy.
    """
    plan = plan.with_(expected_rows=max(rows, 1))
    method = method_named(plan.release.method)
    columns = {column.name: column for column in declare_alone(plan).protected}
    cluster_size = (plan.release.k or 1) if method.needs_clusters else 1
    outlooks = _outlooks(method.planned(plan), columns, method, max(rows, 1), cluster_size)
    return tuple(expectation for _, outlook in outlooks for expectation in outlook.expectations)


def _outlooks(
    mechanisms: list[Mechanism], columns: dict[str, Column], method: Method, rows: int, cluster_size: int
) -> list[tuple[str, Outlook]]:
    return [
        (mechanism.column, _outlook(columns[mechanism.column], mechanism, method, rows, cluster_size))
        for mechanism in mechanisms
        if mechanism.column in columns
    ]


def _line(column: Column | None, mechanism: Mechanism, cluster_size: int) -> PreviewLine:
    half, most = ("", "") if column is None else _reach(column, mechanism, cluster_size)
    return PreviewLine(
        column=mechanism.column,
        kind="" if column is None else column.kind,
        mechanism=mechanism.name,
        epsilon=None if mechanism.epsilon is None else plain(mechanism.epsilon),
        rho=None if mechanism.rho is None else f"{float(mechanism.rho):.3g}",
        half_within=half,
        most_within=most,
    )


def _reach(column: Column, mechanism: Mechanism, cluster_size: int) -> tuple[str, str]:
    domain, scale = column.domain, mechanism.scale
    if mechanism.name.startswith("randomized response") and mechanism.epsilon is not None:
        return f"flips {1 / (1 + math.exp(min(float(mechanism.epsilon), 700.0))):.1%}", ""
    if scale is None:
        return mechanism.sensitivity, ""
    if isinstance(domain, Nominal):
        if mechanism.epsilon is None:
            return "", ""
        kept = chance_kept(domain, column.allows_null, scale)
        return f"keeps {kept.min():.1%} to {kept.max():.1%} of labels", ""
    half, most = steps_within(mechanism, cluster_size)
    return distance(domain, half), distance(domain, most)


def _outlook(column: Column, mechanism: Mechanism, method: Method, rows: int, cluster_size: int) -> Outlook:
    if method.name == "aligned":
        return Outlook()  # the channel replaces values after the noise on counts, and no simulation covers both
    if method.name == "synthetic":
        return of_marginal(column, mechanism, rows)
    return of_values(column, mechanism, cluster_size)


def _about_rows(mechanisms: list[Mechanism]) -> list[str]:
    """Where the number of rows gets noise, what is said is about a table of the number that will be drawn."""
    for each in mechanisms:
        if Priced.of(each).counts_rows:
            change = each.protects.of_rows
            reach = reach_of(Price.of(each).laplace_or_gaussian(l1=change, l2_squared=change**2))
            return [
                f"The rules read the number of rows with its noise (± {reach:,} in 95 of 100 draws): numbers of ranges,"
                " and how columns are linked, can come out a little different from what stands here."
            ]
    return []


def _grouped(outlooks: list[tuple[str, Outlook]]) -> list[str]:
    """Columns with the same trouble share one sentence."""
    names: dict[str, list[str]] = {}
    for name, outlook in outlooks:
        if outlook.warning:
            names.setdefault(outlook.warning, []).append(name)
    return [f"{_some(list(dict.fromkeys(named)))}: {warning}" for warning, named in names.items()]


def _some(names: list[str]) -> str:
    """The columns of a sentence; of many, the first ones and how many more there are."""
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} other columns"


def _split(mechanisms: list[Mechanism], columns: dict[str, Column]) -> tuple[Part, ...]:
    """How the budget is divided; nothing for methods whose noise is no part of one."""
    shares = divided(map(Priced.of, mechanisms), columns)
    return tuple(Part(name, purpose, float(share)) for (name, purpose), share in shares.items())


def _linkage(method: Method, mechanisms: list[Mechanism], schema: Schema) -> tuple[str, str]:
    """How columns are linked, by the public rule, and a warning where little or nothing is measured about pairs."""
    if method.name == "unlinked":
        return "Columns are not linked: every one is shuffled by itself.", ""
    if method.name == "aligned":
        words = "Row r belongs to record r: its cells go through one channel, for what the columns leave of ε."
        return words, "No widths are stated for aligned: what a row keeps is bounded by T26, on the certificate."
    columns, public = len(schema.columns), len(schema.columns) - len(schema.protected)
    if method.name != "synthetic" or columns < 2:
        return "", ""
    asked = {theorem for mechanism in mechanisms for theorem in mechanism.theorems}
    if asked & {"T17", "T47"}:
        return _tables(mechanisms, math.comb(columns, 2) - math.comb(public, 2)), ""
    if asked & {"T19", "T56"}:
        per_pair = "pair" if "T19" in asked else "pair of a tree, which is chosen with noise"
        return (
            f"Columns are linked by one noisy correlation per {per_pair}. For tables of pairs the public rule asks for"
            " more rows or a larger ε.",
            "Of what two columns have to do with each other, one noisy correlation is measured, and nothing else.",
        )
    return (
        "Nothing is measured about pairs of columns: for that the public rule asks for more rows or a larger ε.",
        "What a protected column has to do with others is not measured, so the release does not keep it.",
    )


def _tables(mechanisms: list[Mechanism], pairs: int) -> str:
    """Noisy tables and parities in words. Nothing is measured about two public columns, so these pairs do not count."""
    tables = [mechanism.name for mechanism in mechanisms if "T17" in mechanism.theorems]
    three = any("three-way" in name for name in tables)
    several = " and, where the fit to these is worst, of three columns" if three else ""
    if not _has_parities(mechanisms):
        return (
            f"Columns are linked by noisy tables of pairs{several}, as many as are worth their noise: noisy scores of"
            f" all {pairs} pairs decide which."
        )
    return (
        "Columns of two values, where noisy counts show both, are linked by noisy parities of all their pairs, and of"
        f" triples if their noise is small; at least {FEWEST_YES_NO} such columns are needed. Other pairs are linked by"
        f" noisy tables{several}, as many as are worth their noise: noisy scores of them decide which."
    )


def _has_parities(mechanisms: list[Mechanism]) -> bool:
    return any("T47" in mechanism.theorems for mechanism in mechanisms)


def _known(mechanisms: list[Mechanism], columns: dict[str, Column]) -> list[Mechanism]:
    """What the plan alone decides. Noisy counts decide which columns have two values, and with that how parities and
    tables share what they get together."""
    if not _has_parities(mechanisms):
        return mechanisms
    alone = [
        each
        for each in mechanisms
        if each.column in columns or "for bounds" in each.name or Priced.of(each).counts_rows
    ]
    linking = [each for each in mechanisms if each not in alone]
    prices = [Priced.of(each).price for each in linking]
    together = Price.of(linking[0]) * (sum(prices) / prices[0])
    theorems = tuple(dict.fromkeys(theorem for each in linking for theorem in each.theorems))
    return [*alone, together.note("pairs of columns", "parities and tables", "", theorems)]
