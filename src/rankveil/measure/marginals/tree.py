"""Noisy counts over nested public cells, made consistent: the synopsis of a wide numeric column.

Guarantee    Differentially private at the price it is given, for replacing one record.
Argument     Each level of the tree is a histogram over public cells (plus the cell of missing values on the first
             level): a replacement takes one record from one cell and adds it to another, so L1 is 2 and L2 is
             sqrt 2 (T12). The price is divided over the levels and composes by addition (T13).
             Reading is lazy: the children of a cell are drawn only if the cell's noisy count is well above the noise.
             That is the full noisy tree, of which a part is thrown away unread, so it costs no more. Everything after
             the draws is post-processing, the outline that counts are drawn towards included (outline.py).
Not covered  Which rows hold which values; see relink.
Arithmetic   Integer counts and exact integer noise; floating point after.
Reference    Hay, Rastogi, Miklau, Suciu 2010 for consistency; the pruning of noise is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.measure.budget import Noise, Price
from rankveil.measure.counts import CountGrid, Counts
from rankveil.measure.marginals.outline import Evidence, Outline
from rankveil.measure.marginals.partition import Edges, TreeShape, level_parts, nested_edges
from rankveil.measure.marginals.projection import Floats, project_rows
from rankveil.measure.marginals.thin import believed_values
from rankveil.noise import RandomSource

_LOOK_INTO = 4.0  # children are read if a noisy count exceeds this many deviations ...
_LOOK_INTO_SMALL = 2.0  # ... or this many, where every code is a leaf
_SHRINK = 0.7  # how strongly counts are drawn towards what is expected without them (James-Stein)
_EVEN_WEIGHT = 1e-6
_UPPER_END = 3.0  # deviations: a heap at the upper end, far from all else, needs more than another cell
_LEFT_OVER = 2.0  # deviations: single values leave records over. One question, where `keep` is for one in every cell


@dataclass(frozen=True)
class Segments:
    """A released marginal as masses on consecutive ranges of codes [low, high)."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    mass: Floats
    missing: float = 0.0


@dataclass
class _Level:
    edges: NDArray[np.int64]
    parent: NDArray[np.int64]
    read: NDArray[np.bool_]
    noisy: Floats
    noise: Noise
    estimate: Floats | None = None
    variance: Floats | None = None
    is_leaf: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class DrawnTree:
    """Noisy counts, as they were drawn: released, so that whatever is made of them is post-processing."""

    grid: CountGrid
    shape: TreeShape
    levels: list[_Level]
    total: float  # records, the missing apart
    missing: float
    evidence: Evidence | None  # for an outline

    def settled(self, outline: Outline | None) -> Segments:
        """Made consistent. What counts leave open is the outline's, where there is one."""
        _average_upwards(self.levels)
        return _share_downwards(self, outline)

    @property
    def wide(self) -> bool:
        """More codes than leaves; else every code is a leaf."""
        return self.grid.size > self.shape.leaves

    def emptied(self, depth: int) -> bool:
        """Are cells of mere noise emptied on this level?"""
        # Below the first level only if those levels had little of the price: where they had as much as the first,
        # emptying thin cells of a tail heaps its records up in the others (decision 13).
        return depth == 0 or self.shape.for_top is not None


def _public_levels(grid: CountGrid, shape: TreeShape, price: Price) -> list[tuple[Edges, Noise]]:
    """Where each level is counted, and the noise on a count: a function of n, the plan and the budget."""
    wide = grid.size > shape.leaves
    edges = nested_edges(grid, shape)
    noises = [(price * part).laplace_or_gaussian(l1=2, l2_squared=2) for part in level_parts(len(edges), shape.for_top)]
    # Bounds are often top codes: the upper end is a cell of its own on every level.
    return [
        (np.union1d(level, [grid.size - 1]) if wide else level, noise)
        for level, noise in zip(edges, noises, strict=True)
    ]


def first_counts(grid: CountGrid, shape: TreeShape, price: Price, for_heaps: Fraction) -> tuple[int, Noise]:
    """How many counts the first level has, that of missing values included, and the noise on each."""
    left = price * (1 - for_heaps) if grid.size > shape.leaves else price
    edges, noise = _public_levels(grid, shape, left)[0]
    return len(edges) - 1 + int(grid.column.allows_null), noise


def drawn_tree(counts: Counts, rows: int, price: Price, shape: TreeShape, source: RandomSource) -> DrawnTree:
    """Draw the counts of the tree, level by level."""
    grid = counts.grid
    wide = grid.size > shape.leaves
    public = _public_levels(grid, shape, price)
    all_edges, noises = [counts.snapped(edges) for edges, _ in public], [noise for _, noise in public]
    look_into = _LOOK_INTO if wide else _LOOK_INTO_SMALL

    levels: list[_Level] = []
    missing = 0.0
    above, open_above = np.array([0, grid.size]), np.ones(1, np.bool_)
    for edges, noise in zip(all_edges, noises, strict=True):
        parent = np.searchsorted(above, edges[:-1], side="right") - 1
        read = open_above[parent]
        exact = counts.between(edges)[read]
        if not levels and grid.column.allows_null:
            exact = np.append(exact, counts.missing)
        # PRIVACY: one draw per cell of the level; L1 2, L2 sqrt 2 for the level as a whole.
        drawn = noise.added_to(exact, source).astype(np.float64)
        if not levels and grid.column.allows_null:
            missing, drawn = min(max(float(drawn[-1]), 0.0), float(rows)), drawn[:-1]
        noisy = np.zeros(len(parent))
        noisy[read] = drawn
        levels.append(_Level(edges, parent, read, noisy, noise))
        # The upper end is counted again on every level: far from all else, its counts together tell a heap from noise.
        again = edges[:-1] == grid.size - 1
        above, open_above = edges, read & ((noisy > look_into * noise.deviation) | again)
        if not open_above.any():
            break
    first, total = levels[0], rows - missing
    evidence = Evidence.of(counts, first.edges, first.noisy, noises[0], total) if shape.outlined else None
    return DrawnTree(grid, shape, levels, total, missing, evidence)


def _average_upwards(levels: list[_Level]) -> None:
    """Each node's own count and the sum of its children, weighted by their variances (Hay et al.)."""
    below: _Level | None = None
    for level in reversed(levels):
        count, variance = len(level.noisy), level.noise.deviation**2
        level.estimate, level.variance = level.noisy.copy(), np.full(count, variance)
        level.is_leaf = level.read.copy()
        if below is not None and below.estimate is not None and below.variance is not None:
            child_sum = np.bincount(below.parent, below.estimate * below.read, minlength=count)
            child_variance = np.bincount(below.parent, below.variance * below.read, minlength=count)
            has_children = child_variance > 0
            child_variance = np.where(has_children, child_variance, 1.0)
            weight = variance / (variance + child_variance)
            level.estimate = np.where(has_children, weight * child_sum + (1 - weight) * level.noisy, level.noisy)
            level.variance = np.where(has_children, weight * child_variance, variance)
            level.is_leaf &= ~has_children
        below = level


def _share_downwards(tree: DrawnTree, outline: Outline | None) -> Segments:
    """Children add up to their parent."""
    parents_mass = np.array([float(tree.total)])
    low, high, mass = [], [], []
    for depth, level in enumerate(tree.levels):
        if level.estimate is None or level.is_leaf is None:
            raise ValueError("the tree has not been averaged")
        nodes = np.flatnonzero(level.read)
        families, family = np.unique(level.parent[nodes], return_inverse=True)
        totals = parents_mass[families]
        node_mass = np.zeros(len(level.noisy))
        if depth > 0 and not tree.wide:
            values = level.edges[:-1][nodes]
            node_mass[nodes] = believed_values(level.estimate[nodes], level.noise, values, totals, family)
        else:
            node_mass[nodes] = _shared(tree, depth, nodes, family, totals, outline)
        low.append(level.edges[:-1][level.is_leaf])
        high.append(level.edges[1:][level.is_leaf])
        mass.append(node_mass[level.is_leaf])
        parents_mass = node_mass
    order = np.argsort(np.concatenate(low), kind="stable")
    return Segments(
        np.concatenate(low)[order], np.concatenate(high)[order], np.concatenate(mass)[order], missing=tree.missing
    )


def _shared(
    tree: DrawnTree,
    depth: int,
    nodes: NDArray[np.int64],
    family: NDArray[np.int64],
    totals: Floats,
    outline: Outline | None,
) -> Floats:
    """The families' totals among these nodes of a level: counts drawn towards what is expected of them, cells of mere
    noise emptied, the rest non-negative. Expected is what the outline says, or an even spread where there is none.
    """
    level = tree.levels[depth]
    if level.estimate is None or level.variance is None:
        raise ValueError("the tree has not been averaged")
    sizes = np.bincount(family)
    place = np.arange(len(nodes)) - (np.cumsum(sizes) - sizes)[family]

    def padded(values: Floats) -> Floats:
        matrix = np.zeros((len(sizes), int(sizes.max())))
        matrix[family, place] = values
        return matrix

    there = padded(np.ones(len(nodes))) > 0
    estimate = padded(level.estimate[nodes])
    deviation = padded(np.sqrt(level.variance[nodes]))
    share = padded(_expected_shares(level.edges, outline)[nodes])
    estimate = np.where(there, estimate + ((totals - estimate.sum(axis=1)) / sizes)[:, None], 0.0)
    expected = totals[:, None] * share / share.sum(axis=1, keepdims=True)
    if depth > 0 or outline is not None:
        away = np.where(there, estimate - expected, 0.0)
        noise_energy = _SHRINK * np.maximum(sizes - 1, 0.5) * (deviation**2).max(axis=1)
        factor = np.maximum(0.0, 1 - noise_energy / np.maximum((away**2).sum(axis=1), 1e-9))
        estimate = np.where(there, expected + factor[:, None] * away, 0.0)
    kept = there
    if tree.emptied(depth):
        found, unsure = estimate[family, place], deviation[family, place]
        significance = found / unsure
        start, end = level.edges[:-1][nodes], level.edges[1:][nodes]
        at_upper_end = tree.wide & (start == tree.grid.size - 1)
        seeds = significance > np.where(at_upper_end, max(tree.shape.keep, _UPPER_END), tree.shape.keep)
        if depth == 0:
            # Somewhere there are records; and if single values leave many over, some are in the other cells.
            asked = seeds | ~at_upper_end  # an empty upper end says nothing
            seeds |= asked & (significance >= significance[asked].max())
            spread = end - start > 1
            if tree.total - found[asked & ~spread].sum() > min(tree.shape.keep, _LEFT_OVER) * unsure.max():
                seeds |= spread & (significance >= significance[spread].max(initial=-np.inf))
        kept = np.zeros_like(there)
        kept[family, place] = _connected(significance, seeds, start, end, tree.shape.keep_beside)
        hopeless = ~kept.any(axis=1)
        kept[hopeless] = there[hopeless]
        estimate = np.where(kept, estimate, 0.0)
        estimate[hopeless] = expected[hopeless]
    shared: Floats = project_rows(estimate, totals, kept)[family, place]
    return shared


def _expected_shares(edges: Edges, outline: Outline | None) -> Floats:
    """Of each cell, before its count is seen."""
    even: Floats = np.diff(edges) / (edges[-1] - edges[0])
    # Where the outline says nothing of a region, the shape inside it is even.
    return even if outline is None else outline.between(edges) + _EVEN_WEIGHT * even


def divided(segments: Segments, outline: Outline) -> Segments:
    """Segments divided at the points of the outline, in the proportions that it has inside them."""
    edges = np.unique(np.concatenate([segments.low, segments.high, outline.points]))
    share = _expected_shares(edges, outline)
    of = np.searchsorted(segments.low, edges[:-1], side="right") - 1
    inside = (of >= 0) & (edges[:-1] < segments.high[of])
    low, high, share, of = edges[:-1][inside], edges[1:][inside], share[inside], of[inside]
    whole = np.bincount(of, share, minlength=len(segments.mass))
    return Segments(low, high, segments.mass[of] * share / whole[of], segments.missing)


def _connected(
    significance: Floats,
    seeds: NDArray[np.bool_],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    weak: float,
) -> NDArray[np.bool_]:
    """The seeds, and weaker cells next to them, and next to those."""
    kept, eligible = seeds, significance > weak
    linked = high[:-1] == low[1:]
    while True:
        beside = np.zeros_like(kept)
        beside[1:] |= kept[:-1] & linked
        beside[:-1] |= kept[1:] & linked
        grown = kept | (eligible & beside)
        if (grown == kept).all():
            return kept
        kept = grown
