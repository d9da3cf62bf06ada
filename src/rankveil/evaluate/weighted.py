"""Estimates that use survey weights, from both tables: the total of weights, weighted means and weighted totals.

A plan says `role = "weight"` for one column. A record counts with its weight, not at all if that is missing or special.
Missing and special values are left out of means; a label's total is the sum of the weights of its records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import Codes, Grid
from rankveil.evaluate.results import Estimate


def estimates(original: Records, released: Records) -> tuple[Estimate, ...]:
    """Nothing where no column holds weights."""
    weight = next((column for column in original.schema.columns if column.role == "weight"), None)
    if weight is None:
        return ()
    weights = [_weights(weight, records.codes[weight.name]) for records in (original, released)]
    found = [Estimate(weight.name, "total", None, *(float(each.sum()) for each in weights))]
    for column in original.schema.columns:
        codes = [records.codes[column.name] for records in (original, released)]
        domain = column.domain
        if column.name == weight.name or (isinstance(domain, Grid) and domain.date_format is not None):
            continue
        if isinstance(domain, Grid) and domain.labels is None:
            before, after = (_mean(domain, each, by) for each, by in zip(codes, weights, strict=True))
            if before is not None and after is not None:
                found.append(Estimate(column.name, "mean", None, before, after))
            continue
        labels = domain.labels if isinstance(domain, Grid) else domain.taxonomy.labels
        for place, label in enumerate(labels or ()):
            totals = [float(by[each == place].sum()) for each, by in zip(codes, weights, strict=True)]
            found.append(Estimate(column.name, "total", label, *totals))
    return tuple(found)


def _weights(column: Column, codes: Codes) -> NDArray[np.float64]:
    assert isinstance(column.domain, Grid)  # noqa: S101 - the plan has checked it
    return np.where(column.domain.ordinary(codes), np.nan_to_num(column.domain.numbers(codes)), 0.0)


def _mean(grid: Grid, codes: Codes, weights: NDArray[np.float64]) -> float | None:
    some = grid.ordinary(codes)
    total = float(weights[some].sum())
    return float((grid.numbers(codes[some]) * weights[some]).sum()) / total if total > 0 else None
