"""Single values that carry many records: zeros of an amount, rounded ages, top codes.

Guarantee    Differentially private at the price it is given.
Argument     A search from coarse to single codes, only inside cells that the released tree shows to be heavy. Each
             level is a histogram over cells fixed by released numbers and a public grid: L1 2, L2 sqrt 2 at an even
             part of the price. Adaptive composition: T14.
"""

from __future__ import annotations

import math

import numpy as np

from rankveil.measure.budget import Price
from rankveil.measure.counts import Counts
from rankveil.measure.marginals.tree import Segments
from rankveil.noise import RandomSource

_BRANCHING = 16
_HEAVY = 5.0  # deviations


def find_heaps(counts: Counts, segments: Segments, price: Price, source: RandomSource) -> Segments:
    """The segments with heaps cut out as segments of one code."""
    widest = int((segments.high - segments.low).max())
    depth = max(1, math.ceil(math.log(widest, _BRANCHING) - 1e-9)) if widest > 1 else 1
    noise = (price / depth).laplace_or_gaussian(l1=2, l2_squared=2)
    limit = _HEAVY * noise.deviation
    heavy = np.flatnonzero((segments.mass > limit) & (segments.high - segments.low > 1))
    searched = [(int(place), int(segments.low[place]), int(segments.high[place])) for place in heavy]
    heaps: dict[int, list[tuple[int, float]]] = {}
    for level in range(depth):
        unit = _BRANCHING ** (depth - 1 - level)
        cells = [
            counts.snapped(np.unique(np.concatenate([[low], np.arange((low // unit + 1) * unit, high, unit), [high]])))
            for _, low, high in searched
        ]
        if not cells:
            break
        exact = np.concatenate([counts.between(edges) for edges in cells])
        # PRIVACY: all cells of the level in one histogram; they are disjoint.
        noisy = noise.added_to(exact, source)
        found, first = [], 0
        for (place, _, _), edges in zip(searched, cells, strict=True):
            here = noisy[first : first + len(edges) - 1]
            first += len(edges) - 1
            for cell in np.flatnonzero(here > limit):
                low, high = int(edges[cell]), int(edges[cell + 1])
                if high - low == 1:
                    heaps.setdefault(place, []).append((low, float(here[cell])))
                else:
                    found.append((place, low, high))
        searched = found
    return _cut_out(segments, heaps, 2 * noise.deviation)


def _cut_out(segments: Segments, heaps: dict[int, list[tuple[int, float]]], least_rest: float) -> Segments:
    low, high, mass = [], [], []
    for place in range(len(segments.mass)):
        start, end, whole = int(segments.low[place]), int(segments.high[place]), float(segments.mass[place])
        inside = sorted(heaps.get(place, []))
        in_heaps = sum(amount for _, amount in inside)
        rest, factor = whole - in_heaps, 1.0
        if inside and rest < least_rest:
            rest, factor = 0.0, whole / in_heaps
        free = max(end - start - len(inside), 1)
        for code, amount in [*inside, (end, 0.0)]:
            if code > start:
                low.append(start)
                high.append(code)
                mass.append(rest * (code - start) / free)
            if code < end:
                low.append(code)
                high.append(code + 1)
                mass.append(amount * factor)
            start = code + 1
    return Segments(np.array(low), np.array(high), np.array(mass), segments.missing)
