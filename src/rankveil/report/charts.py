"""One quiet visual language for every chart of rankveil: specifications in, SVG or PNG out."""

from __future__ import annotations

import json
from typing import Any

from rankveil.errors import MissingExtraError

# Distinct for colour-blind readers, in print and on screens.
INK = "#1f2933"
QUIET = "#7b8794"
GRID = "#e4e7eb"
SERIES = ("#0b6e99", "#d9822b", "#8c3b6f", "#4f7f3b")
FONT = "Inter, Helvetica Neue, Helvetica, Arial, sans-serif"

_CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": QUIET, "titleColor": INK, "titleFontWeight": "normal", "gridColor": GRID, "domainColor": GRID,
        "tickColor": GRID, "labelFontSize": 11, "titleFontSize": 12,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal", "labelFontSize": 11,
               "symbolStrokeWidth": 2, "labelLimit": 320},
    "title": {"color": INK, "fontSize": 13, "fontWeight": "bold", "anchor": "start", "offset": 8},
    "line": {"strokeWidth": 1.8},
}  # fmt: skip


def drawn(spec: dict[str, Any]) -> tuple[str, bytes]:
    """A specification as (SVG text, PNG bytes)."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("Drawing charts", "report") from None
    text = json.dumps({"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": _CONFIG, **spec})
    svg: str = vl_convert.vegalite_to_svg(text, vl_version="5.20")
    png: bytes = vl_convert.vegalite_to_png(text, vl_version="5.20", scale=2)
    return svg, png


def lines(
    values: list[dict[str, Any]],
    *,
    x: str,
    y: str,
    x_title: str,
    y_title: str,
    title: str,
    colour: tuple[str, list[str], list[str]],
    dash: tuple[str, list[str], list[list[int]]],
    log: bool = False,
    width: int = 330,
    height: int = 220,
) -> dict[str, Any]:
    """Lines of y against x. `colour` and `dash`: (field, values in legend order, colours or dash patterns)."""
    return {
        "title": title,
        "width": width,
        "height": height,
        "data": {"values": values},
        # No accessible label per mark: it would spell out every number of the data.
        "mark": {"type": "line", "aria": False, "clip": True},
        "encoding": {
            "x": {"field": x, "type": "quantitative", "title": x_title, "scale": {"nice": False, "zero": False}},
            "y": {
                "field": y,
                "type": "quantitative",
                "title": y_title,
                "scale": {"type": "log"} if log else {"zero": True},
                "axis": {"tickCount": 5},
            },
            "color": {
                "field": colour[0], "type": "nominal", "title": None,
                "scale": {"domain": colour[1], "range": colour[2]},
                "legend": {"orient": "bottom", "symbolType": "stroke"},
            },
            "strokeDash": {
                "field": dash[0], "type": "nominal", "title": None,
                "scale": {"domain": dash[1], "range": dash[2]},
                "legend": {"orient": "bottom", "symbolType": "stroke"},
            },
        },
    }  # fmt: skip


def stacked(rows: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Charts in rows, with one legend for all."""
    return {"vconcat": [{"hconcat": row, "spacing": 36} for row in rows], "spacing": 24}
