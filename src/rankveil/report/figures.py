"""The charts of an evaluation: Vega-Lite specifications, and heat maps. Marks carry no spoken labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankveil.evaluate.results import Distribution, Intervals, PairResult, Queries, Subgroup
from rankveil.report.charts import AFTER, BEFORE, INK, SERIES
from rankveil.report.heat import Cell, heat_map, worst_columns

Spec = dict[str, Any]
_WIDTH = 320  # of a column's chart with its labels: it fits a telephone unscaled
_LABELS = 136
# The fonts of the browser are not those the picture was measured with: labels get room to be wider.
_PADDING = {"left": 18, "right": 6, "top": 4, "bottom": 4}
_FIT = {"type": "fit-x", "contains": "padding"}
_DAY = 86_400_000  # milliseconds
_SHARE = {"format": "~%", "tickCount": 4}


def of_distribution(shown: Distribution) -> Spec:
    return _label_bars(shown) if shown.shape == "labels" else _histogram(shown)


def _label_bars(shown: Distribution) -> Spec:
    """The release as bars, the original as marks across them."""
    labels = [bar.label for bar in shown.bars]
    values = [{"label": bar.label, "before": bar.before, "after": bar.after} for bar in shown.bars]
    y = {
        "field": "label", "type": "nominal", "sort": labels, "title": None,
        "axis": {"ticks": False, "domain": False, "labelLimit": _LABELS, "labelPadding": 6, "labelColor": INK,
                 "minExtent": 40},
    }  # fmt: skip
    return {
        "width": _WIDTH,
        "autosize": _FIT,
        "padding": _PADDING,
        "height": {"step": 19},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "bar", "height": 9, "color": AFTER, "opacity": 0.75, "aria": False},
                "encoding": {"x": {"field": "after", "type": "quantitative", "title": None, "axis": _SHARE}},
            },
            {
                "mark": {"type": "tick", "thickness": 2, "size": 15, "color": INK, "opacity": 1, "aria": False},
                "encoding": {"x": {"field": "before", "type": "quantitative"}},
            },
        ],
    }


def _histogram(shown: Distribution) -> Spec:
    """The original as grey bars, the release as a line of steps over them."""
    factor = _DAY if shown.shape == "dates" else 1
    ends = [((bar.start or 0.0) * factor, (bar.end or 0.0) * factor) for bar in shown.bars]
    values = [
        {"start": start, "end": end, "before": bar.before, "after": bar.after}
        for (start, end), bar in zip(ends, shown.bars, strict=True)
    ]
    steps = [{"at": value["start"], "after": value["after"]} for value in values]
    if values:
        steps = [{"at": values[0]["start"], "after": 0.0}, *steps]
        steps += [{"at": values[-1]["end"], "after": values[-1]["after"]}, {"at": values[-1]["end"], "after": 0.0}]
    kind = "temporal" if shown.shape == "dates" else "quantitative"
    scale: Spec = {"nice": False, "zero": False}
    axis: Spec = {"tickCount": 5, "grid": False, "labelFlush": True, "labelOverlap": "greedy", "labelSeparation": 8}
    if shown.shape == "dates":
        scale["type"] = "utc"
        days = (ends[-1][1] - ends[0][0]) / _DAY if ends else 0.0
        axis |= {"tickCount": 4, "format": "%Y" if days > 4 * 365 else "%b %Y" if days > 90 else "%d %b"}
    elif shown.log:
        lowest = min((start for start, _ in ends), default=1.0)
        scale |= {"type": "log"} if lowest > 0 else {"type": "symlog"}
        axis["format"] = "~s"
    elif max((abs(end) for _, end in ends), default=0.0) >= 100_000:
        axis["format"] = "~s"
    y = {"type": "quantitative", "title": None, "axis": {**_SHARE, "minExtent": 38, "domain": False, "ticks": False}}
    return {
        "width": _WIDTH,
        "autosize": _FIT,
        "height": 150,
        "layer": [
            {
                "data": {"values": values},
                "mark": {
                    "type": "bar",
                    "color": BEFORE,
                    "opacity": 0.45,
                    "aria": False,
                    "binSpacing": 0.5,
                    "orient": "vertical",
                },
                "encoding": {
                    "x": {"field": "start", "type": kind, "scale": scale, "axis": axis, "title": None},
                    "x2": {"field": "end"},
                    "y": {"field": "before", "stack": None, **y},
                    "y2": {"datum": 0},
                },
            },
            {
                "data": {"values": steps},
                "mark": {"type": "line", "interpolate": "step-after", "color": AFTER, "aria": False},
                "encoding": {
                    "x": {"field": "at", "type": kind},
                    "y": {"field": "after", **y},
                    "order": {"value": 0},  # as listed: sorting by x would break the vertical ends
                },
            },
        ],
    }


def of_pair_errors(pairs: Sequence[PairResult], names: Sequence[str]) -> str:
    """Total variation of every pair: the stronger the colour, the more rows would have to change."""
    strongest = strongest_error(pairs)
    cells = {
        (pair.columns[1], pair.columns[0]): Cell(
            pair.total_variation / strongest,
            f"{100 * pair.total_variation:.0f}",
            f"{100 * pair.total_variation:.1f} of 100 rows would have to change",
        )
        for pair in pairs
    }
    shown = worst_columns(names, cells)
    return heat_map(shown[1:], shown[:-1], cells, "Heat map of the errors of pairs of columns")


def strongest_error(pairs: Sequence[PairResult]) -> float:
    """The error that has the full colour: the next tenth."""
    return max(0.1, math.ceil(10 * max((pair.total_variation for pair in pairs), default=0) - 1e-9) / 10)


def of_correlations(pairs: Sequence[PairResult], names: Sequence[str]) -> str:
    """Rank correlations: of the original below the diagonal, of the release above it."""
    cells: dict[tuple[str, str], Cell] = {}
    for pair in pairs:
        first, second = pair.columns
        for row, column, value, whose in (
            (second, first, pair.correlation, "original"),
            (first, second, pair.released_correlation, "release"),
        ):
            if value is not None:
                text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # adding zero turns -0.00 into 0.00
                cells[row, column] = Cell(abs(value), text, f"{text} in the {whose}", negative=value < 0)
    shown = worst_columns(names, cells)
    return heat_map(shown, shown, cells, "Heat map of rank correlations, original and release")


def of_queries(asked: Queries) -> Spec:
    """Every question as a point: its answer by the original and by the release. On the line, both agree."""
    values = [{"before": before, "after": after} for before, after in asked.answers]
    largest = max((max(answer) for answer in asked.answers), default=1.0)
    end = min(1.0, math.ceil(10 * largest) / 10) or 0.1
    scale = {"domain": [0, end], "nice": False}
    x = {"type": "quantitative", "scale": scale, "axis": {**_SHARE, "title": "answer of the original"}}
    y = {"type": "quantitative", "scale": scale, "axis": {**_SHARE, "title": "answer of the release"}}
    return {
        "width": 250,
        "height": 250,
        "layer": [
            {
                "data": {"values": [{"from": 0, "to": end}]},
                "mark": {"type": "rule", "color": BEFORE, "aria": False},
                "encoding": {
                    "x": {"field": "from", **x}, "y": {"field": "from", **y},
                    "x2": {"field": "to"}, "y2": {"field": "to"},
                },
            },
            {
                "data": {"values": values},
                "mark": {"type": "circle", "size": 16, "color": AFTER, "opacity": 0.45, "aria": False, "clip": True},
                "encoding": {"x": {"field": "before", **x}, "y": {"field": "after", **y}},
            },
        ],
    }  # fmt: skip


def of_intervals(found: Intervals) -> Spec:
    """Every interval as a line, in units of half its width, the original's value being at zero: it covers that if it
    crosses the middle line."""
    kinds = ["covers the original", "misses it", "warned, covers it", "warned, misses it"]
    shown = sorted(
        (each for each in found.each if each.high > each.low),
        key=lambda each: (not each.supported, (each.estimate - each.original) / (each.high - each.low)),
    )
    values = []
    for place, each in enumerate(shown):
        half = (each.high - each.low) / 2
        low, middle, high = ((end - each.original) / half for end in (each.low, each.estimate, each.high))
        kind = kinds[2 * (not each.supported) + (not each.covered)]
        values.append({"place": place, "low": low, "middle": middle, "high": high, "kind": kind})
    x = {"type": "quantitative", "scale": {"domain": [-4, 4], "clamp": True},
         "axis": {"title": "half widths from the original's value", "values": [-4, -2, 0, 2, 4]}}  # fmt: skip
    y = {"field": "place", "type": "ordinal", "axis": None}
    colour = {"field": "kind", "type": "nominal", "title": None,
              "legend": {"orient": "bottom", "columns": 2, "symbolOpacity": 1, "columnPadding": 24},
              "scale": {"domain": kinds, "range": [SERIES[0], SERIES[1], BEFORE, SERIES[2]]}}  # fmt: skip
    return {
        "width": _WIDTH,
        "height": {"step": 4},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.6, "aria": False, "clip": True},
                "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "circle", "size": 9, "opacity": 1, "aria": False, "clip": True},
                "encoding": {"x": {"field": "middle", **x}, "color": colour},
            },
            {"mark": {"type": "rule", "color": INK, "aria": False}, "encoding": {"x": {"datum": 0}, "y": None}},
        ],
    }


def of_subgroups(groups: Sequence[Subgroup]) -> Spec:
    """Groups by size: their error, and the one that chance would make."""
    values = [
        {"rows": group.rows, "error": group.error, "chance": group.chance}
        for group in groups
        if group.error is not None
    ]
    x = {"field": "rows", "type": "quantitative", "scale": {"type": "log", "nice": False, "padding": 8},
         "axis": {"title": "rows in the group (log)", "grid": False, "tickCount": 5, "format": "~s",
                  "labelOverlap": True}}  # fmt: skip
    title = "error inside the group"
    y = {"type": "quantitative", "axis": {"title": title, "tickCount": 5}, "scale": {"zero": True}}
    return {
        "width": 270,
        "height": 220,
        "data": {"values": values},
        "encoding": {"x": x},
        "layer": [
            {
                "mark": {"type": "circle", "size": 14, "color": BEFORE, "opacity": 0.8, "aria": False},
                "encoding": {"y": {"field": "chance", **y}},
            },
            {
                "mark": {"type": "circle", "size": 34, "color": AFTER, "opacity": 0.7, "aria": False},
                "encoding": {"y": {"field": "error", **y}},
            },
        ],
    }
