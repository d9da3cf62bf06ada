"""Estimates as a page: numbers, and a chart in which every interval is a band. Made from a release alone."""

from __future__ import annotations

from typing import Any

from rankveil.estimate import Estimate, Estimates
from rankveil.report.charts import BEFORE, INK, SERIES, inline
from rankveil.report.render import page

_MOST_DRAWN = 60
_LABELS = 220


def as_page(found: Estimates, *, title: str = "Estimates from a release") -> str:
    """One HTML file that needs nothing else."""
    shown = drawn(found)
    return page(
        "estimates.html.jinja",
        title=title,
        note="Made from a release, its weights and its certificate. No original was read.",
        found=found,
        lines=found.lines(),
        chart=inline(of_estimates(found), f"Intervals of {len(shown)} estimates") if shown else None,
        left_out=len(found.each) - len(shown),
    )


def drawn(found: Estimates) -> tuple[Estimate, ...]:
    """Those that fit a chart: not the constant of a regression, which has other units."""
    rest = tuple(one for one in found.each if not (one.name == "constant" and len(found.each) > 1))
    return rest[:_MOST_DRAWN]


def places(found: Estimates, one: Estimate) -> dict[str, Any]:
    """What a chart draws of an estimate: numbers, or dates as text."""
    numbers = {"estimate": one.estimate, "low": one.low, "high": one.high}
    if not found.dates:
        return {"name": one.name, **numbers}
    return {"name": one.name, **{key: found.shown(value, one.standard_error) for key, value in numbers.items()}}


def of_estimates(found: Estimates) -> dict[str, Any]:
    """A point for every estimate on the band of its interval; those that were not measured in another colour."""
    shown = drawn(found)
    kinds = ["measured", "not supported by what was measured"]
    values = [{**places(found, one), "kind": kinds[not one.supported]} for one in shown]
    y = {
        "field": "name", "type": "nominal", "sort": [one.name for one in shown], "title": None,
        "axis": {"ticks": False, "domain": False, "labelLimit": _LABELS, "labelPadding": 6, "labelColor": INK},
    }  # fmt: skip
    legend = None if all(one.supported for one in shown) else {"orient": "bottom"}
    colour = {
        "field": "kind", "type": "nominal", "title": None, "legend": legend,
        "scale": {"domain": kinds, "range": list(SERIES[:2])},
    }  # fmt: skip
    numbers = {"type": "quantitative", "scale": {"zero": False}, "axis": {"tickCount": 5, "format": "~s"}}
    x = {"title": None, **({"type": "temporal", "axis": {"tickCount": 5}} if found.dates else numbers)}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "bar", "height": 9, "opacity": 0.3, "aria": False},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1, "aria": False},
            "encoding": {"x": {"field": "estimate", **x}, "color": colour},
        },
    ]
    if not found.dates and (any(one.low < 0 < one.high for one in shown) or found.is_regression):
        zero = {"type": "rule", "color": BEFORE, "strokeDash": [3, 3], "aria": False}
        layers.insert(0, {"mark": zero, "encoding": {"x": {"datum": 0}, "y": None}})
    return {
        "padding": {"left": 28, "right": 12, "top": 5, "bottom": 5},  # a reader's font may be wider than the drawer's
        "width": 420, "height": {"step": 22}, "data": {"values": values}, "encoding": {"y": y}, "layer": layers,
    }  # fmt: skip
