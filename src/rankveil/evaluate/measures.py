"""The paper's three measures of information loss, on codes of one column.

    relative error      |x - x'| / max(span / 100, |x|), row by row; for labels the semantic distance instead
    variance change     |var' - var| / var
    JSD                 Jensen-Shannon divergence of the two histograms, base 2, so 0 to 1

A value missing in only one of the two tables counts as an error of 1; missing is a bin of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column
from rankveil.declare.domain import MISSING, Codes, Grid

SANITY_SHARE = 100  # the sanity bound is this fraction of the domain
BINS = 100
_MOST_SINGLE_VALUES = 200  # domains up to this size get one bin per value, as the paper's Adult columns do


def relative_errors(column: Column, original: Codes, released: Codes) -> NDArray[np.float64]:
    """One error per row."""
    absent = (original == MISSING).astype(np.int64) + (released == MISSING)
    first, second = np.maximum(original, 0), np.maximum(released, 0)
    if isinstance(column.domain, Grid):
        grid = column.domain
        # Days and ranks have no natural zero: their magnitude is their distance from the low end.
        as_numbers = grid.labels is None and grid.date_format is None
        x, y = (grid.numbers(first), grid.numbers(second)) if as_numbers else (first, second)
        errors = np.abs(x - y) / np.maximum(grid.span / SANITY_SHARE, np.abs(x))
    else:
        errors = column.domain.taxonomy.distances[first, second]
    return np.where(absent == 0, errors, np.where(absent == 1, 1.0, 0.0))


def variance_change(column: Column, original: Codes, released: Codes) -> float | None:
    """None for labels, and where the original does not vary."""
    if not isinstance(column.domain, Grid):
        return None
    grid = column.domain
    before, after = (_variance(grid.numbers(codes[grid.ordinary(codes)])) for codes in (original, released))
    return abs(after - before) / before if before > 0 else None


def _variance(values: NDArray[np.float64]) -> float:
    return float(np.var(values)) if len(values) else 0.0


def jensen_shannon(column: Column, original: Codes, released: Codes) -> float:
    """Divergence between two histograms over the column's public domain."""
    return divergence(histogram(column, original), histogram(column, released))


def histogram(column: Column, codes: Codes) -> NDArray[np.float64]:
    """Shares per bin: one bin per value of a small domain, otherwise 1/100 of the domain each; missing last."""
    if isinstance(column.domain, Grid):
        width = column.domain.width
        special = len(column.domain.special)
        values = width + 1 + special
        bins = values if values <= _MOST_SINGLE_VALUES else BINS + special
        places = codes if bins == values else np.minimum(codes * BINS // width, BINS - 1)
        if special and bins != values:
            places = np.where(codes > width, BINS + codes - width - 1, places)
    else:
        bins = column.domain.taxonomy.node_count
        places = codes
    counts = np.bincount(np.where(codes == MISSING, bins, places), minlength=bins + 1)
    return counts / max(1, len(codes))


def divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    mixture = (p + q) / 2
    return float((_relative_entropy(p, mixture) + _relative_entropy(q, mixture)) / 2)


def _relative_entropy(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    some = p > 0
    return float(np.sum(p[some] * np.log2(p[some] / q[some])))
