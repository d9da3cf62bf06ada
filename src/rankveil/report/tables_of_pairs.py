"""Tables of pairs of columns as Vega-Lite, for charts that are saved by themselves; pages draw them with figures on
resting (heat.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankveil.evaluate.results import PairResult
from rankveil.report.charts import GRID, INK, SERIES
from rankveil.report.figures import Spec, strongest_error
from rankveil.report.heat import NUMBERED


def of_pair_errors(pairs: Sequence[PairResult], names: Sequence[str]) -> Spec:
    """Total variation of every pair: the stronger the colour, the more rows would have to change."""
    values = [
        {"row": pair.columns[1], "column": pair.columns[0], "value": pair.total_variation, "kind": "error",
         "text": f"{100 * pair.total_variation:.0f}"}
        for pair in pairs
    ]  # fmt: skip
    return _table(values, names[1:], names[:-1], strongest=strongest_error(pairs))


def of_correlations(pairs: Sequence[PairResult], names: Sequence[str]) -> Spec:
    """Rank correlations: of the original below the diagonal, of the release above it."""
    values = []
    for pair in pairs:
        first, second = pair.columns
        for row, column, value in ((second, first, pair.correlation), (first, second, pair.released_correlation)):
            if value is not None:
                text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # adding zero turns -0.00 into 0.00
                kind = "negative" if value < 0 else "positive"
                values.append({"row": row, "column": column, "value": abs(value), "kind": kind, "text": text})
    return _table(values, names, names, strongest=1.0)


def _table(values: list[dict[str, Any]], rows: Sequence[str], columns: Sequence[str], *, strongest: float) -> Spec:
    numbered = len(columns) <= NUMBERED
    step = 34 if numbered else 20
    axis: Spec = {"title": None}
    look = {"ticks": False, "domain": False, "grid": False, "labelLimit": 120, "labelColor": INK, "labelPadding": 5}
    cell: Spec = {
        "mark": {"type": "rect", "aria": False, "stroke": GRID, "strokeWidth": 1},
        "encoding": {
            "fill": {
                "field": "kind", "type": "nominal", "legend": None,
                "scale": {"domain": ["error", "positive", "negative"], "range": [SERIES[0], SERIES[0], SERIES[1]]},
            },
            "fillOpacity": {
                "field": "value", "type": "quantitative", "legend": None,
                "scale": {"type": "sqrt", "domain": [0, strongest], "range": [0, 0.65], "clamp": True},
            },
        },
    }  # fmt: skip
    text: Spec = {
        "mark": {"type": "text", "fontSize": 10, "color": INK, "aria": False},
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
    return {
        "width": {"step": step},
        "height": {"step": min(step, 26)},
        "data": {"values": values},
        "encoding": {
            "x": {"field": "column", "type": "nominal", "sort": list(columns), **axis,
                  "axis": {**look, "orient": "bottom", "labelAngle": -45}},
            "y": {"field": "row", "type": "nominal", "sort": list(rows), **axis, "axis": look},
        },
        "layer": [cell, text] if numbered else [cell],
    }  # fmt: skip
