"""How much noise a plan puts on what: a count, a mean, a single value, and how often a label stays.

Guarantee    Whatever is said here holds for every table with this number of rows: it follows from the law of the noise,
             which the plan and the number of rows decide. Widths hold in at least 95 of 100 draws.
Not covered  How far off a released figure is. What is made of noisy counts (counts that add up, thin cells, tables that
             measure the same column again, rows that are drawn) depends on the table: a spike, a constant column or a
             long tail can make it better or worse than the noise, so nothing is said about it.
Checked      tests/statistics/test_preview_widths.py and benchmarks/dry_run.py, against whole releases: docs/dry-run.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rankveil.declare import Column
from rankveil.declare.axis import Axis
from rankveil.declare.domain import Grid, Nominal
from rankveil.measure.budget import Mechanism, Noise, Price
from rankveil.measure.columns import first_question
from rankveil.perturb.records import DISTANCE_UNITS, label_distances
from rankveil.preview.reach import HALF, MOST, laplace_reach, reach_of

ABOUT_NOISE = (
    "These widths are for the noise, and hold for every table of this size. What is made of it can come out nearer to"
    " your table, or further from it where it has spikes or few values."
)
_WIDE = 0.25  # of a range: noise that reaches further is worth a warning


@dataclass(frozen=True)
class Expectation:
    """One kind of noise on one column: within `reach` in 95 of 100 draws, or a chance."""

    column: str
    question: str
    reach: float | None  # in the column's own units, or people; None where it is a chance and not a width
    answer: str  # the same in words
    relative: float  # beside the people in an average cell, or beside the range; 1: as large as that, or larger


@dataclass(frozen=True)
class Outlook:
    """What is known of one column. `warning`: a sentence that goes after the column's name and a colon."""

    expectations: tuple[Expectation, ...] = ()
    warning: str = ""


def of_marginal(column: Column, mechanism: Mechanism, rows: int) -> Outlook:
    """A column that is released as counts (`synthetic`)."""
    if column.private_bounds:
        return Outlook(warning="its range is found with noise first; how well, the plan cannot tell.")
    price = Price.of(mechanism)
    asked = first_question(column, rows, price)
    labelled = not isinstance(column.domain, Grid) or bool(column.domain.labels)
    single = "label" if labelled else "value"
    what = single if asked.cells == Axis.of(column).size else "range"
    return _counts(column.name, what, asked.cells + int(column.allows_null), asked.levels[-1][1], rows)


def _counts(name: str, what: str, cells: int, noise: Noise, rows: int) -> Outlook:
    """Noise on the finest counts that are taken whatever the answers are."""
    reach = reach_of(noise)
    of_all = f"({percent(reach / rows)} of all)" if reach < rows else "(more than all people)"
    question = (
        f"noise on the count of one {what}" if what != "range" else f"noise on the count of one of {cells} ranges"
    )
    found = Expectation(name, question, float(reach), f"± {reach:,} {of_all}", min(1.0, reach * cells / rows))
    thin = reach >= rows / cells
    warning = f"the noise on a count is larger than the number of people with an average {what}." if thin else ""
    return Outlook((found,), warning)


def of_values(column: Column, mechanism: Mechanism, cluster_size: int) -> Outlook:
    """A column whose values, or means of clusters, get noise one by one."""
    if mechanism.scale is None:
        return Outlook()
    single = cluster_size == 1
    if isinstance(column.domain, Nominal):
        if mechanism.epsilon is None:  # Algorithm 2 of the paper may answer with a concept above the labels
            return Outlook()
        kept = chance_kept(column.domain, column.allows_null, mechanism.scale)
        low, high = float(kept.min()), float(kept.max())
        shown = percent(low) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"
        question = "one label stays as it is" if single else f"{cluster_size} equal labels stay as they are"
        warning = "no label stays as it is in more than half of all cases." if high < HALF else ""
        return Outlook((Expectation(column.name, question, None, f"in {shown} of cases", 1 - low),), warning)
    grid = column.domain
    half, most = steps_within(mechanism, cluster_size)
    share = min(1.0, float(most) / grid.axis_width)
    reach = None if grid.log else min(float(most * Fraction(grid.step)), grid.span)
    question = "noise on one value" if single else f"noise on the mean of {cluster_size} neighbours"
    wide = float(half) / grid.axis_width > _WIDE
    warning = "half of all draws of noise reach further than a quarter of the range." if wide else ""
    return Outlook((Expectation(column.name, question, reach, distance(grid, most), share),), warning)


def steps_within(mechanism: Mechanism, cluster_size: int) -> tuple[Fraction, Fraction]:
    """How far half and 95 % of the draws reach, in steps of the axis. Scales of clusters are per mean."""
    if mechanism.scale is None:
        raise ValueError("no noise, no reach")
    if not mechanism.name.startswith("discrete"):  # the published methods' floating-point Laplace noise
        return mechanism.scale * Fraction(math.log(2)), mechanism.scale * Fraction(math.log(20))
    # Drawn on sums, as integers.
    half, most = (laplace_reach(mechanism.scale * cluster_size, share) for share in (HALF, MOST))
    return Fraction(half, cluster_size), Fraction(most, cluster_size)


def distance(grid: Grid, axis_steps: Fraction) -> str:
    """A distance on the axis in the column's own units."""
    if grid.log:
        # On a logarithmic axis noise multiplies.
        exponent = float(axis_steps) * math.log1p(grid.width) / grid.axis_width
        return (
            f"× {math.exp(exponent):.3g}, of {_counted_from(grid)}"
            if axis_steps < grid.axis_width
            else "the whole range"
        )
    return _width(grid, float(axis_steps * Fraction(grid.step)))


def _counted_from(grid: Grid) -> str:
    """What noise multiplies on a logarithmic axis: one step more than the distance from the lowest value."""
    if grid.lower == 0:
        return f"the value plus {_amount(float(grid.step))}"
    return f"the distance from {_amount(float(grid.lower) - float(grid.step))}"


def _width(grid: Grid, reach: float) -> str:
    if reach >= grid.span:
        return "the whole range"
    return f"± {_amount(reach)}" + (" days" if grid.date_format else " ranks" if grid.labels else "")


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def chance_kept(nominal: Nominal, with_missing: bool, scale: Fraction) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each label: the probability that the exponential mechanism leaves it as it is."""
    weights = np.exp(-label_distances(nominal, with_missing=with_missing) / DISTANCE_UNITS / float(scale))
    return np.asarray(1 / weights.sum(axis=1))
