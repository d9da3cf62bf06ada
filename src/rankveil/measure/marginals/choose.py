"""Which synopsis a column gets, and its release.

Guarantee    The release of all marginals is differentially private at the share of the budget it is given.
Argument     Each column's synopsis is private at that column's part (tree.py T13, heaps.py T14, few.py, ranked.py, and
             for labels a histogram, T12: L1 2, L2 sqrt 2); the parts add up (T2). Which synopsis is used, how wide its
             cells are and how the share is divided follows from n, the plan and the budget alone, or from the plan's
             own word. Searches for heaps come last and may look at all columns' released counts (adaptive composition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from rankveil.declare import Column
from rankveil.declare.domain import Grid
from rankveil.measure.budget import Budget, Mechanism, Price
from rankveil.measure.counts import CountGrid, Counts
from rankveil.measure.marginals.few import noisy_mean
from rankveil.measure.marginals.heaps import find_heaps
from rankveil.measure.marginals.outline import Evidence, Outline
from rankveil.measure.marginals.partition import TreeShape
from rankveil.measure.marginals.pooling import outlines
from rankveil.measure.marginals.projection import project
from rankveil.measure.marginals.ranked import ranked_sums
from rankveil.measure.marginals.shape import Marginal, NominalMarginal, OrderedMarginal
from rankveil.measure.marginals.thin import MANY, believed_labels
from rankveil.measure.marginals.tree import Segments, divided, drawn_tree
from rankveil.noise import RandomSource

BASE_CELLS = 16
_SMALL_DOMAIN = 128
_MOST_BARS = 1 << 16  # of a histogram that the plan asks for
_ALL_BELIEVED: dict[str, Any] = {"keep": 1.0, "keep_beside": 0.0}  # of cells that are few, or single values
_FALSE_CELLS = 0.005  # of a wide column: how many cells of mere noise may be taken for occupied, at most, on average
_FEWEST_CELLS = 6
_FOR_TOP = Fraction(17, 20)
_FOR_GROUPS = Fraction(1, 3)  # of the price, where the level below is of single values
_SHARE_GROWS_UNTIL = 40  # columns with more values than this get no larger share


@dataclass(frozen=True)
class Synopsis:
    """What a column gets, in public terms."""

    kind: str  # histogram, tree, mean, ranked
    tree: TreeShape | None = None
    for_heaps: Fraction = Fraction(0)  # part of the column's share
    clusters: int = 0  # ranked sums

    def in_words(self) -> str:
        if self.kind == "tree" and self.tree is not None:
            return f"count tree, {self.tree.leaves} leaves" + (", finer at zero" if self.tree.outlined else "")
        if self.kind == "ranked":
            return f"ranked sums of {self.clusters} clusters"
        return {"histogram": "histogram", "mean": "mean only"}[self.kind]

    def theorems(self, column: Column) -> tuple[str, ...]:
        """What bounds the sensitivity of its counts or sums."""
        if self.kind == "tree":
            return ("T13", "T14") if self.for_heaps else ("T13",)
        if self.kind == "histogram":
            return ("T12",)
        return ("T21", "T16") if self.kind == "ranked" and column.allows_null else ("T21",)


def synopsis_rule(column: Column, rows: int, price: Price) -> Synopsis:
    """The public rule: by the number of records per unit of noise and the size of the domain."""
    size = CountGrid(column).size
    if not isinstance(column.domain, Grid):
        return Synopsis("histogram")
    reach = rows / price.laplace_or_gaussian(l1=2, l2_squared=2).deviation
    if column.synopsis == "ranked":
        return Synopsis("ranked", clusters=max(2, min(round(reach / 8), 64)))
    if column.synopsis == "histogram":
        return Synopsis("tree", TreeShape(_MOST_BARS, _MOST_BARS, **({} if size > _MOST_BARS else _ALL_BELIEVED)))
    pure = price.unit == "epsilon"
    if size <= _SMALL_DOMAIN:
        return Synopsis("tree", _tree_to_single_values(size, reach, pure=pure))
    if column.synopsis == "mean":
        return Synopsis("mean")
    if reach < (1500 if pure else 300):
        return Synopsis("tree", _tree_of_few_levels(reach, pure=pure))
    if reach < 5000:
        return Synopsis("tree", TreeShape(216, 6, outlined=True), Fraction(10, 100))
    return Synopsis("tree", TreeShape(512, 8, outlined=True), Fraction(10, 100))


def _tree_to_single_values(size: int, reach: float, *, pure: bool) -> TreeShape:
    """A small domain: all cells of the first level are believed, unless noise is strong and values are many. Then with
    pure ε, where a third of the price is three times the noise, the first level has half of it.
    """
    if reach < 300 and size > _SHARE_GROWS_UNTIL:
        return TreeShape(leaves=_SMALL_DOMAIN, branching=12, keep=3.0, for_top=None if pure else _FOR_GROUPS)
    return TreeShape(leaves=_SMALL_DOMAIN, branching=12, for_top=_FOR_GROUPS, **_ALL_BELIEVED)


def _tree_of_few_levels(reach: float, *, pure: bool) -> TreeShape:
    """A wide domain with few records per unit of noise: about 2·sqrt(reach) cells, the heavy ones once more divided.

    Most of the price goes to the first level, for the mass of far cells decides variance and W1. There a cell counts
    as occupied by itself only if noise alone would hardly ever, in any of the cells, reach so far. With the fewest
    cells a column with two or three records per unit of noise still shows whether it is narrow or wide.
    """
    cells = max(_FEWEST_CELLS, round(2 * math.sqrt(reach)))
    nats = math.log(cells / _FALSE_CELLS)
    keep = nats / math.sqrt(2) if pure else math.sqrt(2 * nats)
    if reach < 32:
        return TreeShape(cells, cells, outlined=True, keep=keep)
    return TreeShape(8 * cells, 8, outlined=True, keep=keep, most_levels=2, for_top=_FOR_TOP)


def column_parts(columns: Sequence[Column], price_unit: str) -> dict[str, Fraction]:
    """How the share for marginals is divided: by the number of values, the power that makes total error least."""
    power = 1 / 2 if price_unit == "epsilon" else 2 / 3
    weights = {
        column.name: round(1000 * min(CountGrid(column).size, _SHARE_GROWS_UNTIL) ** power) for column in columns
    }
    whole = sum(weights.values())
    return {name: Fraction(weight, whole) for name, weight in weights.items()}


def planned_marginals(columns: Sequence[Column], rows: int, budget: Budget, share: Fraction) -> list[Mechanism]:
    """What the rule would give each column of a table with so many rows."""
    parts = column_parts(columns, budget.whole.unit)
    return [_note(column, rows, budget.part(share * parts[column.name])) for column in columns]


def _note(column: Column, rows: int, price: Price) -> Mechanism:
    synopsis = synopsis_rule(column, rows, price)
    per_level = synopsis.kind in ("tree", "histogram")
    name = f"{price.laplace_or_gaussian(l1=2, l2_squared=2).name}, {synopsis.in_words()}"
    sensitivity = "L1 2, L2 √2 per level" if per_level else "width of the axis"
    return price.note(column.name, name, sensitivity, (*synopsis.theorems(column), price.noise_theorem))


def release_marginals(
    counts: dict[str, Counts],
    rows: int,
    budget: Budget,
    share: Fraction,
    least_mass: float,
    source: RandomSource,
) -> tuple[dict[str, Marginal], list[Mechanism]]:
    """All columns' marginals for a share of the budget. `least_mass`: of a base cell, a public number."""
    columns = [column_counts.grid.column for column_counts in counts.values()]
    parts = column_parts(columns, budget.whole.unit)
    notes, drawn = [], {}
    for column in columns:
        price = budget.spend(share * parts[column.name], f"marginal of {column.name}")
        synopsis = synopsis_rule(column, rows, price)
        drawn[column.name] = _drawn(counts[column.name], rows, synopsis, price, least_mass, source)
        notes.append(_note(column, rows, price))
    evidence = {name: each.evidence for name, each in drawn.items() if each.evidence is not None}
    found = dict(zip(evidence, outlines(list(evidence.values())), strict=True))
    return {name: each.finished(found.get(name)) for name, each in drawn.items()}, notes


@dataclass(frozen=True)
class _Drawn:
    """A marginal that may wait for what the other columns say."""

    finished: Callable[[Outline | None], Marginal]
    evidence: Evidence | None = None  # for an outline


def exact_marginal(counts: Counts, rows: int, least_mass: float) -> Marginal:
    """The marginal of a public column, which everyone knows: no noise and no price."""
    null = counts.grid.column.allows_null
    if not isinstance(counts.grid.column.domain, Grid):
        return NominalMarginal(
            counts.per_cell.astype(np.float64),
            most_cells=BASE_CELLS,
            least_mass=least_mass,
            label_variance=1e-6,
            null=null,
        )
    occupied = np.flatnonzero(counts.present)
    edges = np.arange(counts.grid.size + 1) if counts.grid.edges is None else counts.grid.edges
    segments = Segments(
        edges[occupied], edges[occupied + 1], counts.present[occupied].astype(np.float64), float(counts.missing)
    )
    return OrderedMarginal(
        counts.grid.size, segments, most_cells=BASE_CELLS, least_mass=least_mass, cell_variance=1e-6, null=null
    )


def _drawn(
    counts: Counts, rows: int, synopsis: Synopsis, price: Price, least_mass: float, source: RandomSource
) -> _Drawn:
    grid, own = counts.grid, replace(counts)  # sums that it keeps while it is read go with it
    null = grid.column.allows_null
    noise = price.laplace_or_gaussian(l1=2, l2_squared=2)
    variance = noise.deviation**2

    def ordered(segments: Segments, cell_variance: float) -> Marginal:
        return OrderedMarginal(
            grid.size, segments, most_cells=BASE_CELLS, least_mass=least_mass, cell_variance=cell_variance, null=null
        )

    if synopsis.kind == "histogram":
        # PRIVACY: one replaced record moves one count: L1 2, L2 sqrt 2.
        noisy = noise.added_to(own.per_cell, source).astype(np.float64)
        believed = believed_labels(noisy, noise, float(rows)) if len(noisy) > MANY else project(noisy, float(rows))
        labels = NominalMarginal(
            believed,
            most_cells=BASE_CELLS,
            least_mass=least_mass,
            label_variance=variance,
            null=null,
        )
        return _Drawn(lambda _: labels)
    if synopsis.kind in ("mean", "ranked"):
        segments = (
            noisy_mean(own, rows, price, source)
            if synopsis.kind == "mean"
            else ranked_sums(own, rows, synopsis.clusters, price, source)
        )
        return _Drawn(lambda _: ordered(segments, (rows / BASE_CELLS) ** 2))
    if synopsis.tree is None:
        raise ValueError("a tree needs a shape")
    shape = synopsis.tree
    for_heaps = synopsis.for_heaps if grid.size > shape.leaves else Fraction(0)
    tree = drawn_tree(own, rows, price * (1 - for_heaps), shape, source)

    def finished(outline: Outline | None) -> Marginal:
        segments = tree.settled(outline)
        if for_heaps:
            segments = find_heaps(replace(counts), segments, price * for_heaps, source)
        if outline is not None:
            segments = divided(segments, outline)
        return ordered(segments, 1.5 * shape.depth(grid.size) * variance)

    return _Drawn(finished, tree.evidence)
