"""One column before and after, as the bars of a chart.

Numbers, small domain     one bar per value, up to 40
Numbers, wide domain      30 bins of equal width (on the plan's logarithmic scale where it sets one) between the 0.5 %
                          and the 99.5 % quantiles of both tables together; the outermost bins hold all beyond
Labels                    one bar per label: ordered labels in their order, others by their share in the original;
                          of more than 16 labels the smallest share one bar

A value of a wide domain that more than half of all rows have (no capital gain, say) would dwarf every other bar. It is
taken out and told as a number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.evaluate.results import Bar, Distribution

_SINGLE_VALUES = 40
_BINS = 30
_LABELS = 16
Shares = NDArray[np.float64]


def distribution(column: Column, original: Codes, released: Codes) -> Distribution:
    missing = [_share(codes == MISSING) for codes in (original, released)]
    if isinstance(column.domain, Grid) and column.domain.labels is None:
        return replace(
            _of_numbers(column, column.domain, original, released), missing_before=missing[0], missing_after=missing[1]
        )
    return Distribution(column.name, "labels", _label_bars(column, original, released), missing[0], missing[1])


def _label_bars(column: Column, original: Codes, released: Codes) -> tuple[Bar, ...]:
    domain = column.domain
    names = (domain.labels or ()) if isinstance(domain, Grid) else _with_concepts(domain)
    before, after = (
        np.bincount(codes[codes != MISSING], minlength=len(names)) / max(1, len(codes))
        for codes in (original, released)
    )
    ordered = isinstance(domain, Grid)
    # Concepts above the labels are shown only where the release uses them.
    labels = len(names) if isinstance(domain, Grid) else domain.label_count
    shown = [place for place in range(len(names)) if place < labels or after[place] > 0]
    if not ordered:
        shown.sort(key=lambda place: (-before[place], -after[place], place))
    kept, rest = shown, list[int]()
    if len(shown) > _LABELS:
        large = set(sorted(shown, key=lambda place: -max(before[place], after[place]))[: _LABELS - 1])
        kept, rest = [place for place in shown if place in large], [place for place in shown if place not in large]
    bars = [Bar(names[place], float(before[place]), float(after[place])) for place in kept]
    if rest:
        bars.append(Bar(f"{len(rest)} others", float(before[rest].sum()), float(after[rest].sum())))
    return tuple(bars)


def _with_concepts(domain: Nominal) -> tuple[str, ...]:
    """Names of all nodes; those above the labels are marked, so that nobody takes them for labels."""
    names, labels = domain.taxonomy.names, domain.label_count
    return (*names[:labels], *(f"{name.removesuffix(' (concept)')} (concept)" for name in names[labels:]))


def _of_numbers(column: Column, grid: Grid, original: Codes, released: Codes) -> Distribution:
    present = [codes[grid.ordinary(codes)] for codes in (original, released)]
    sizes = (max(1, len(original)), max(1, len(released)))
    made = Distribution(column.name, "dates" if grid.date_format else "numbers", (), 0, 0)
    if len(present[0]) + len(present[1]) == 0:
        return made
    spike = None
    if grid.width >= _SINGLE_VALUES and len(present[0]):
        values, counts = np.unique(present[0], return_counts=True)
        value = int(values[np.argmax(counts)])
        if 2 * counts.max() > sizes[0]:
            shares = [
                float(np.count_nonzero(codes == value) / size) for codes, size in zip(present, sizes, strict=True)
            ]
            spike = Bar(_as_text(grid, value), *shares)
            present = [codes[codes != value] for codes in present]
    both = np.concatenate(present)
    if len(both) == 0:
        return replace(made, spike=spike)
    edges, gathered, logarithmic = _edges(grid, both)
    before, after = (
        np.histogram(np.clip(codes, edges[0], np.ceil(edges[-1]) - 1), edges)[0] / size
        for codes, size in zip(present, sizes, strict=True)
    )
    places = _positions(grid, edges)
    bars = tuple(
        Bar(_named(grid, *edges[at : at + 2]), float(before[at]), float(after[at]), places[at], places[at + 1])
        for at in range(len(before))
    )
    return replace(made, bars=bars, spike=spike, gathered=gathered, log=logarithmic)


def _edges(grid: Grid, codes: Codes) -> tuple[Shares, bool, bool]:
    """Edges of bins in codes, each bin [start, end); whether the outermost gather what is beyond; whether they grow."""
    low, high = int(codes.min()), int(codes.max())
    if high - low < _SINGLE_VALUES:
        return np.arange(low, high + 2, dtype=np.float64), False, False
    inner = np.quantile(codes, [0.005, 0.995], method="nearest").astype(np.int64)
    start, end = int(inner[0]), int(inner[1]) + 1
    gathered = start > low or end <= high
    if end - start <= _SINGLE_VALUES:
        return np.arange(start, end + 1, dtype=np.float64), gathered, False
    if grid.log:
        edges = np.expm1(np.linspace(np.log1p(start), np.log1p(end), _BINS + 1))
        return np.unique(np.rint(edges)), gathered, True
    step = -(-(end - start) // _BINS)  # rounded up: never more bins than that
    # Whole steps, so that no bin holds more values of the grid than its neighbour.
    return np.arange(start, end + step, step, dtype=np.float64), gathered, False


def _positions(grid: Grid, edges: Shares) -> list[float]:
    """Edges in the column's own units, half a step below their first value; days since 1970 for dates."""
    lower, step = float(grid.lower), float(grid.step)
    return [lower + (float(edge) - (0.0 if grid.date_format else 0.5)) * step for edge in edges]


def _named(grid: Grid, start: float, end: float) -> str:
    """A bin by its first and its last value."""
    first, last = (_as_text(grid, min(int(code), grid.width)) for code in (start, np.ceil(end) - 1))
    return first if first == last else f"{first} to {last}"


def _as_text(grid: Grid, code: int) -> str:
    value = grid.decode(np.array([code]))[0].as_py()
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _share(where: NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(where) / max(1, len(where)))
