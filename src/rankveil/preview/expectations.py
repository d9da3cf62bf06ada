"""What the noise of a plan does to things people ask for: a count, a share, a median, a single value.

All of it follows from the plan and a number of rows. Widths are for the noise that is put on what is measured; what is
made of it afterwards (projection to counts that add up, tables that measure the same column again) only helps in the
simulations of tests/statistics/test_preview_widths.py, which compare whole releases with what is said here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rankveil.flow.budget import Mechanism, Price
from rankveil.flow.declare import Column
from rankveil.flow.declare.domain import Grid, Nominal
from rankveil.flow.microaggregate.counts import CountGrid
from rankveil.flow.protect.marginals.choose import Synopsis, synopsis_rule
from rankveil.flow.protect.marginals.partition import level_parts, nested_edges
from rankveil.flow.protect.records import DISTANCE_UNITS, label_distances
from rankveil.preview.reach import HALF, MOST, laplace_reach, mean_size, reach_of

_BINS = 20  # evaluate compares numbers in so many bins
_MEDIAN_MARGIN = 1.25  # for cells that end beside the middle, and for rows that are drawn
_MOSTLY_NOISE = 0.25  # of a range: a column whose noise reaches further is mostly noise


@dataclass(frozen=True)
class Expectation:
    """One thing to ask of one column, and how far off the answer may be: within `reach` in 95 of 100 releases."""

    column: str
    question: str
    reach: float | None  # in the column's own units, or people; None where it is a chance and not a width
    answer: str  # the same in words
    relative: float  # 0: exact, 1: as large as what is asked for
    assumes: str = ""


@dataclass(frozen=True)
class Outlook:
    """What is expected of one column. `warning`: a sentence that goes after the column's name and a colon."""

    expectations: tuple[Expectation, ...] = ()
    warning: str = ""
    one_way_error: float | None = None  # at most about the expected total variation of the released column


def of_marginal(column: Column, mechanism: Mechanism, rows: int) -> Outlook:
    """A column that is released as counts, sums or a mean (`synthetic`)."""
    if column.private_bounds:
        return Outlook(warning="its range is found with noise first; how well, the plan cannot tell.")
    price = Price("epsilon", mechanism.epsilon) if mechanism.epsilon is not None else _rho(mechanism)
    synopsis = synopsis_rule(column, rows, price)
    if synopsis.kind == "histogram":
        return _counted_labels(column, price, rows)
    if not isinstance(column.domain, Grid):
        raise TypeError("only labels have a histogram of their own")
    if synopsis.kind == "mean":
        return _mean_only(column, column.domain, price, rows)
    if synopsis.kind == "ranked":
        return _rank_means(column, column.domain, synopsis.clusters, price, rows)
    return _counted_numbers(column, column.domain, synopsis, price, rows)


def _rho(mechanism: Mechanism) -> Price:
    if mechanism.rho is None:
        raise ValueError("a marginal has a price")
    return Price("rho", mechanism.rho)


def _counted_labels(column: Column, price: Price, rows: int) -> Outlook:
    cells = CountGrid(column).cell_count
    noise = price.laplace_or_gaussian(l1=2, l2_squared=2)
    reach = reach_of(noise)
    return Outlook(
        _people(column.name, "people with one label", reach, rows, cells),
        _too_thin(reach, rows, cells, "label"),
        min(1.0, cells * mean_size(noise) / 2 / rows),
    )


def _too_thin(reach: int, rows: int, cells: int, what: str) -> str:
    if reach < rows / cells:
        return ""
    return f"mostly noise. The noise on a count is larger than the number of people with an average {what}."


def _people(name: str, question: str, reach: int, rows: int, cells: int) -> tuple[Expectation, ...]:
    answer = f"± {reach:,} ({_percent(reach / rows)} of all)" if reach < rows else "nothing: all is noise"
    return (Expectation(name, question, float(reach), answer, min(1.0, reach * cells / rows)),)


def _counted_numbers(column: Column, grid: Grid, synopsis: Synopsis, price: Price, rows: int) -> Outlook:
    counted = CountGrid(column)
    if synopsis.tree is None:
        raise ValueError("a tree needs a shape")
    edges = nested_edges(counted, synopsis.tree)
    wide = counted.size > synopsis.tree.leaves
    left = price * (1 - (synopsis.for_heaps if wide else Fraction(0)))
    parts = level_parts(len(edges), synopsis.tree.for_top)
    # Single values are leaves; heaps and the middle show on the first level best.
    noise, of_leaves = ((left * part).laplace_or_gaussian(l1=2, l2_squared=2) for part in (parts[0], parts[-1]))
    reach, top = reach_of(noise), len(edges[0]) - 1
    if not wide:
        what = "label" if grid.labels else "value"
        people = _people(column.name, f"people with one {what}", reach_of(of_leaves), rows, counted.cell_count)
    else:
        what = "range"
        where = "0" if 0 <= counted.zero < counted.size and grid.date_format is None else "the lowest value"
        people = _people(column.name, f"people with {where}", reach, rows, top)
    # The people below the middle are half of the top level's cells; that all cells add up to n is known.
    below = math.sqrt(max(top, 2) / 4) * noise.deviation
    share = _MEDIAN_MARGIN * 1.96 * below / rows
    warning = _too_thin(reach, rows, top, what)
    if not warning and share > _MOSTLY_NOISE:
        warning = "mostly noise. The median may be off by more than a quarter of the range."
    # Where cells are mere noise, most of them are emptied, and a median says nothing.
    median = () if grid.log or grid.labels or warning else (_median(column.name, grid, share),)
    bins = _bin_error(len(edges[-1]) - 1, (noise if wide else of_leaves).deviation, rows)
    return Outlook((*median, *people), warning, bins)


def _median(name: str, grid: Grid, share: float) -> Expectation:
    reach = max(share * grid.span, float(grid.step))
    return Expectation(name, "median", reach, f"about {_width(grid, reach)}", share, "if values are spread evenly")


def _bin_error(leaves: int, deviation: float, rows: int) -> float:
    """At most the expected total variation over the bins that `evaluate` uses; the factor is fitted, a test holds it.

    Columns whose values sit in few places come out better.
    """
    bins = min(_BINS, leaves)
    return min(1.0, 0.4 * bins * deviation * math.sqrt(min(max(leaves / bins, 1.0), 3.0)) / rows)


def _mean_only(column: Column, grid: Grid, price: Price, rows: int) -> Outlook:
    noise = price.laplace_or_gaussian(l1=grid.width, l2_squared=grid.width**2)
    share = reach_of(noise) / rows / grid.width
    reach = share * grid.span
    return Outlook(
        (Expectation(column.name, "noise on the mean", reach, _width(grid, reach), min(1.0, share)),),
        "mostly noise. The plan asks for no more than a noisy mean; the shape around it is a guess.",
    )


def _rank_means(column: Column, grid: Grid, clusters: int, price: Price, rows: int) -> Outlook:
    if column.allows_null:
        price = price * Fraction(7, 8)
    size = rows // max(1, min(clusters, rows))
    noise = price.laplace_or_gaussian(l1=grid.axis_width, l2_squared=grid.axis_width**2)
    steps = Fraction(reach_of(noise), size)
    share = float(steps) / grid.axis_width
    warning = f"mostly noise, on means of {size:,} people." if share > _MOSTLY_NOISE else ""
    shown = distance(grid, steps)
    reach = None if grid.log else float(steps * Fraction(grid.step))
    question = f"noise on the mean of {size:,} neighbours"
    return Outlook((Expectation(column.name, question, reach, shown, min(1.0, share)),), warning)


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
        shown = _percent(low) if _percent(low) == _percent(high) else f"{_percent(low)} to {_percent(high)}"
        question = "one label stays as it is" if single else f"{cluster_size} equal labels stay as they are"
        warning = "mostly noise. Fewer than half of the labels stay as they are." if high < HALF else ""
        return Outlook((Expectation(column.name, question, None, f"in {shown} of cases", 1 - low),), warning)
    grid = column.domain
    half, most = steps_within(mechanism, cluster_size)
    share = min(1.0, float(most) / grid.axis_width)
    reach = None if grid.log else min(float(most * Fraction(grid.step)), grid.span)
    question = "one value" if single else f"mean of {cluster_size} neighbours"
    warning = ""
    if float(half) / grid.axis_width > _MOSTLY_NOISE:
        warning = "mostly noise. Half of the values move by more than a quarter of the range."
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
        return f"× {math.exp(exponent):.3g}" if axis_steps < grid.axis_width else "the whole range"
    return _width(grid, float(axis_steps * Fraction(grid.step)))


def _width(grid: Grid, reach: float) -> str:
    if reach >= grid.span:
        return "the whole range"
    return f"± {_amount(reach)}" + (" days" if grid.date_format else " ranks" if grid.labels else "")


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def chance_kept(nominal: Nominal, with_missing: bool, scale: Fraction) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each label: the probability that the exponential mechanism leaves it as it is."""
    weights = np.exp(-label_distances(nominal, with_missing=with_missing) / DISTANCE_UNITS / float(scale))
    return np.asarray(1 / weights.sum(axis=1))
