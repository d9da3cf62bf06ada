"""What a plan means before any data are touched: the price of every column, and its noise in the column's own units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rankveil.certificate import plain
from rankveil.flow.budget import Mechanism
from rankveil.flow.declare import Column, Plan, declare_alone
from rankveil.flow.declare.domain import Grid, Nominal
from rankveil.flow.protect.records import DISTANCE_UNITS, label_distances
from rankveil.methods import Method, method_named


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
class Preview:
    method: Method
    epsilon: str | None
    delta: str | None
    k: int | None
    lines: tuple[PreviewLine, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "dry_run": True,
            "method": self.method.name,
            "differentially_private": self.method.differentially_private,
            "holds": self.method.holds,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "k": self.k,
            "columns": [vars(line) for line in self.lines],
        }


def preview(plan: Plan) -> Preview:
    """Noise per column, from the plan alone."""
    method = method_named(plan.release.method)
    columns = {column.name: column for column in declare_alone(plan).protected}
    lines = [_line(columns.get(mechanism.column), mechanism) for mechanism in method.planned(plan)]
    return Preview(
        method=method,
        epsilon=plain(plan.release.epsilon) if method.uses_budget else None,
        delta=None if plan.release.delta is None else plain(plan.release.delta),
        k=plan.release.k if method.needs_clusters else None,
        lines=tuple(lines),
    )


def _line(column: Column | None, mechanism: Mechanism) -> PreviewLine:
    half, most = ("", "") if column is None else _reach(column, mechanism)
    return PreviewLine(
        column=mechanism.column,
        kind="" if column is None else column.kind,
        mechanism=mechanism.name,
        epsilon=None if mechanism.epsilon is None else plain(mechanism.epsilon),
        rho=None if mechanism.rho is None else f"{float(mechanism.rho):.3g}",
        half_within=half,
        most_within=most,
    )


def _reach(column: Column, mechanism: Mechanism) -> tuple[str, str]:
    domain, scale = column.domain, mechanism.scale
    if mechanism.name.startswith("randomized response") and mechanism.epsilon is not None:
        return f"flips {1 / (1 + math.exp(min(float(mechanism.epsilon), 700.0))):.1%}", ""
    if scale is None:
        return mechanism.sensitivity, ""
    if isinstance(domain, Nominal):
        if mechanism.epsilon is None:
            return "", ""
        kept = _kept(domain, column.allows_null, scale)
        return f"keeps {kept.min():.1%} to {kept.max():.1%} of labels", ""
    return _distance(domain, scale * Fraction(math.log(2))), _distance(domain, scale * Fraction(math.log(20)))


def _distance(grid: Grid, axis_steps: Fraction) -> str:
    if grid.log:
        # On a logarithmic axis noise multiplies.
        exponent = float(axis_steps) * math.log1p(grid.width) / grid.axis_width
        return f"× {math.exp(exponent):.3g}" if exponent < 50 else "the whole range"
    reach = float(axis_steps * Fraction(grid.step))
    if reach >= grid.span:
        return "the whole range"
    return f"± {reach:.3g}" + (" days" if grid.date_format else " ranks" if grid.labels else "")


def _kept(nominal: Nominal, with_missing: bool, scale: Fraction) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each label: the probability that the exponential mechanism leaves it as it is."""
    weights = np.exp(-label_distances(nominal, with_missing=with_missing) / DISTANCE_UNITS / float(scale))
    return np.asarray(1 / weights.sum(axis=1))
