"""What a plan means before any data are touched: the price of every column, and its noise in terms people use.

reach.py          how far noise of a given law reaches
expectations.py   what that does to a count, a median, a single value
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from rankveil.certificate import plain
from rankveil.flow.budget import Mechanism
from rankveil.flow.declare import Column, Plan, declare_alone
from rankveil.flow.declare.domain import Nominal
from rankveil.flow.relink.synthetic import ASSUMED_ROWS
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

__all__ = ["Expectation", "Part", "Preview", "PreviewLine", "preview"]


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
    purpose: Literal["column", "linkage", "bounds"]
    share: float  # of the whole


@dataclass(frozen=True)
class Preview:
    method: Method
    epsilon: str | None
    delta: str | None
    k: int | None
    lines: tuple[PreviewLine, ...]
    rows: int  # that all of this is for
    rows_assumed: bool  # nobody has said how many there are
    split: tuple[Part, ...]
    expectations: tuple[Expectation, ...]
    linkage: str  # in words
    one_way_error: float | None  # at most about the expected total variation, mean over columns
    warnings: tuple[str, ...]

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
            "linkage": self.linkage,
            "one_way_error": self.one_way_error,
            "warnings": list(self.warnings),
        }


def preview(plan: Plan, rows: int | None = None) -> Preview:
    """Noise per column and what to expect of it, from the plan alone.

    `rows` takes the place of the plan's `expected_rows`; without either, 10,000 are assumed.
    """
    method = method_named(plan.release.method)
    if rows is not None:
        plan = plan.with_release(expected_rows=rows)
    columns = {column.name: column for column in declare_alone(plan).protected}
    cluster_size = (plan.release.k or 1) if method.needs_clusters else 1
    counted = plan.release.expected_rows or ASSUMED_ROWS
    mechanisms = method.planned(plan)
    lines = [_line(columns.get(mechanism.column), mechanism, cluster_size) for mechanism in mechanisms]
    outlooks = [
        (mechanism.column, _outlook(columns[mechanism.column], mechanism, method, counted, cluster_size))
        for mechanism in mechanisms
        if mechanism.column in columns
    ]
    errors = [outlook.one_way_error for _, outlook in outlooks if outlook.one_way_error is not None]
    linkage, about_linkage = _linkage(method, mechanisms, len(columns))
    return Preview(
        method=method,
        epsilon=plain(plan.release.epsilon) if method.uses_budget else None,
        delta=None if plan.release.delta is None else plain(plan.release.delta),
        k=plan.release.k if method.needs_clusters else None,
        lines=tuple(lines),
        rows=counted,
        rows_assumed=plan.release.expected_rows is None,
        split=_split(mechanisms, columns),
        expectations=tuple(expectation for _, outlook in outlooks for expectation in outlook.expectations),
        linkage=linkage,
        one_way_error=sum(errors) / len(errors) if errors and method.name == "synthetic" else None,
        warnings=(*_grouped(outlooks), *([about_linkage] if about_linkage else [])),
    )


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


def _grouped(outlooks: list[tuple[str, Outlook]]) -> list[str]:
    """Columns with the same trouble share one sentence."""
    names: dict[str, list[str]] = {}
    for name, outlook in outlooks:
        if outlook.warning:
            names.setdefault(outlook.warning, []).append(name)
    return [f"{', '.join(named)}: {warning}" for warning, named in names.items()]


def _split(mechanisms: list[Mechanism], columns: dict[str, Column]) -> tuple[Part, ...]:
    """How the budget is divided; nothing for methods whose noise is no part of one."""
    prices = [(mechanism, mechanism.rho or mechanism.epsilon or Fraction(0)) for mechanism in mechanisms]
    whole = sum(price for _, price in prices)
    if not whole:
        return ()
    shares: dict[tuple[str, Literal["column", "linkage", "bounds"]], Fraction] = {}
    for mechanism, price in prices:
        if "for bounds" in mechanism.name:
            key: tuple[str, Literal["column", "linkage", "bounds"]] = ("bounds", "bounds")
        elif mechanism.column in columns and "channel" not in mechanism.name:
            key = (mechanism.column, "column")
        else:
            key = (mechanism.name, "linkage")
        shares[key] = shares.get(key, Fraction(0)) + price / whole
    return tuple(Part(name, purpose, float(share)) for (name, purpose), share in shares.items() if share)


def _linkage(method: Method, mechanisms: list[Mechanism], columns: int) -> tuple[str, str]:
    """How columns are linked, and a warning where they are hardly linked at all."""
    if method.name == "unlinked":
        return "Columns are not linked: every one is shuffled by itself.", ""
    if method.name == "aligned":
        words = "Row r belongs to record r: its cells go through one channel, for what the columns leave of ε."
        return words, "No widths are stated for aligned: what a row keeps is bounded by T26, on the certificate."
    if method.name != "synthetic" or columns < 2:
        return "", ""
    names = [mechanism.name for mechanism in mechanisms]
    tables = next((name for name in names if name.endswith("two-way tables")), None)
    if tables is not None:
        pairs = columns * (columns - 1) // 2
        return f"Columns are linked by {tables}, of {pairs} possible ones, chosen by their dependence.", ""
    if "sign products" in names:
        words = "Columns are linked by one noisy correlation per pair: tables of pairs would be mostly noise."
        return words, "Dependence between columns is kept roughly, by correlations only: more rows or a larger ε help."
    return (
        "Columns are not linked: at this ε every measure of dependence would be mostly noise.",
        "Columns come out independent of each other: at this ε and so few rows nothing about pairs can be measured.",
    )
