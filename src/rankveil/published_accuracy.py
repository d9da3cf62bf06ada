"""Accuracy of a release as a statement for the public: what a certificate says of it, and how its figures follow.

It is made of protected answers alone (measure/accuracy.py): everything here is post-processing (T1).

Intervals    A figure is an exact integer plus discrete Laplace noise of a known scale s, so the integer lies within w
             of what was drawn with a probability of at least 95 %, w being the least number with
             P(|noise| > w) = 2 q^(w+1) / (1 + q) <= 5 % and q = e^(-1/s). It says how much the noise may have moved the
             figure. It holds for each figure by itself, not for all at once.
Cut off      A distance is not negative, and a total variation at most 1: figure and interval are cut off there.
Rounded      To two digits of the interval's half width, its ends outwards: what people read is what the JSON says.
"""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

CONFIDENCE = Fraction(95, 100)
THEOREMS = ("T53", "T6", "T2")
MEANINGS = {
    "1-way TV": "mean total variation of single columns, between the table and the release",
    "2-way TV": "mean total variation of pairs of columns, between the table and the release",
    "query": "share of rows in the table that fulfil the condition, less that in the release",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AccuracyFigure(_Part):
    """One figure with noise."""

    kind: Literal["1-way TV", "2-way TV", "query"]
    condition: str | None = Field(None, description="Of a query: which rows are counted.")
    value: float = Field(
        description="The figure, 0 for a perfect copy: noisy / unit, rounded, cut off where it cannot be."
    )
    lower: float = Field(description="The interval holds the figure without noise in at least 95 % of cases.")
    upper: float
    noisy: int = Field(description="The integer that was protected, with its noise.")
    unit: int = Field(ge=1, description="What the integer is divided by: 2 · rows · tables, or rows for a query.")
    tables: int = Field(ge=1, description="How many columns, or pairs of columns, it is a mean of; 1 for a query.")
    epsilon: str = Field(description="Its share of the statement's ε, exactly.")
    scale: str = Field(description="Scale of its discrete Laplace noise, exactly, in units of the integer.")


class AccuracyStatement(_Part):
    """What was published about the accuracy of the release, for an ε of its own."""

    created: datetime
    statement: str
    epsilon: str = Field(description="What these figures cost, beside the release.")
    together_epsilon: str = Field(description="The release, earlier statements and this one together, by T2.")
    together_delta: str
    theorems: tuple[str, ...] = Field(description="Ids of what carries it: rankveil explain prints them.")
    ledger_entry: int | None = Field(description="The entry of the ledger that holds it; null for tests.")
    ledger_receipt: str | None
    figures: tuple[AccuracyFigure, ...] = Field(min_length=1)

    def in_words(self) -> list[str]:
        """A line for each figure."""
        return [f"{describe(figure)}: {shown(figure)}" for figure in self.figures]


def describe(figure: AccuracyFigure) -> str:
    if figure.kind == "query":
        return f"error of the share of rows with {figure.condition}"
    what = "columns" if figure.kind == "1-way TV" else "pairs of columns"
    return f"{figure.kind}, mean of {figure.tables} {what}"


def shown(figure: AccuracyFigure) -> str:
    return f"{figure.value} (95 %: {figure.lower} to {figure.upper})"


def figure_of(
    kind: Literal["1-way TV", "2-way TV", "query"],
    *,
    noisy: int,
    rows: int,
    tables: int,
    epsilon: str,
    scale: str,
    rows_public: bool,
    condition: str | None = None,
) -> AccuracyFigure:
    """Figure and interval from a protected integer; `verify` computes them again."""
    unit = rows if kind == "query" else 2 * rows * tables
    off = half_width(Fraction(scale))
    low = -math.inf if kind == "query" else 0.0
    high = 1.0 if kind != "query" and rows_public else math.inf
    places = min(15, max(2, 1 - math.floor(math.log10(max(off, 1) / unit))))
    ends = (noisy, round), (noisy - off, math.floor), (noisy + off, math.ceil)
    exact = (whole(Fraction(each, unit) * 10**places) / 10**places for each, whole in ends)
    value, lower, upper = (min(max(each, low), high) for each in exact)
    return AccuracyFigure(
        kind=kind, condition=condition, value=value, lower=lower, upper=upper, noisy=noisy, unit=unit, tables=tables,
        epsilon=epsilon, scale=scale,
    )  # fmt: skip


def half_width(scale: Fraction) -> int:
    """The least w with P(|noise| > w) <= 5 % for discrete Laplace noise of this scale."""
    step = 1 / float(scale)
    miss = float(1 - CONFIDENCE)
    # 2 q^(w+1) / (1+q) <= miss; rounding in the logarithm is far below one part in 10^9.
    least = (math.log(2 / miss) - math.log1p(math.exp(-step))) / step - 1
    return max(0, math.ceil(least * (1 - 1e-12)) if least < 1e15 else math.ceil(least))


def statement_of(epsilon: str, rows_public: bool) -> str:
    share = "" if rows_public else " The number of rows is not public: counts are shares of the released rows."
    return (
        f"These figures are differentially private with ε = {epsilon}, beside what the release costs."
        " They were drawn with noise after the release was made; an interval holds the figure without noise in at"
        f" least 95 % of cases.{share}"
    )
