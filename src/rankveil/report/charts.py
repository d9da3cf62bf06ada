"""One quiet visual language for every chart of rankveil: specifications in, SVG or PNG out."""

from __future__ import annotations

import hashlib
import re
from html import escape
from typing import Any

from rankveil.errors import OutputError
from rankveil.report.drawer import draw, harmless_text

# Distinct for colour-blind readers, in print and on screens.
INK = "#1f2933"
QUIET = "#7b8794"
GRID = "#e4e7eb"
SERIES = ("#0b6e99", "#d9822b", "#8c3b6f", "#4f7f3b")
BEFORE, AFTER = QUIET, SERIES[0]  # the original and the release, in every chart
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


# A picture is as wide as its text in the font of whoever draws it; that of whoever looks may be a tenth wider.
_ROOM = {**_CONFIG, "padding": {"left": 14, "top": 5, "right": 44, "bottom": 5}}


def drawn(spec: dict[str, Any]) -> tuple[str, bytes]:
    """A specification as (SVG text, PNG bytes)."""
    made = draw(_whole(spec, _ROOM), png=True)
    if made is None:
        raise OutputError("A chart could not be drawn.", cost="", remedy="Please report it: its figures are at fault.")
    return made


def picture(spec: dict[str, Any]) -> str:
    """A specification as SVG; one that says so where it could not be drawn."""
    made = draw(_whole(spec, _ROOM))
    return _NOT_DRAWN if made is None else made[0]


def inline(spec: dict[str, Any], description: str) -> str:
    """A specification as SVG to be put into a page.

    It has no ground of its own, and its colours are those of this module, spelt as attributes: the page's style sheet
    turns them into its own (look/report.css), so that a chart is light or dark with its page. `description` is what a
    screen reader says instead of the parts.
    """
    made = draw(_whole(spec, {**_CONFIG, "background": None}))
    svg = _NOT_DRAWN if made is None else made[0]
    description += "" if made is not None else ": this chart could not be drawn"
    svg = re.sub(r' (?:role|aria-[a-z]+|pointer-events|font-family)="[^"]*"', "", svg)
    svg = re.sub(r'<path class="(?:background|foreground)"[^>]*/>', "", svg)
    svg = re.sub(r' (?:d|transform)="[^"]*"', lambda found: _LONG_NUMBER.sub(_shorter, found[0]), svg)
    # Several charts share one page: names of clips and gradients must not.
    mark = hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1c{mark}-", svg)
    svg = svg.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1).replace(' version="1.1"', "", 1)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(harmless_text(description))}" ', 1)


_NOT_DRAWN = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="40" viewBox="0 0 320 40">'
    f'<text x="0" y="24" font-size="13" fill="{INK}">This chart could not be drawn.</text></svg>'
)
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")


def _shorter(found: re.Match[str]) -> str:
    """A hundredth of a pixel is enough."""
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _whole(spec: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "config": config, **spec}


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
                "legend": {"orient": "bottom", "symbolType": "stroke", "columnPadding": 28},
            },
            "strokeDash": {
                "field": dash[0], "type": "nominal", "title": None,
                "scale": {"domain": dash[1], "range": dash[2]},
                "legend": {"orient": "bottom", "symbolType": "stroke", "columnPadding": 28},
            },
        },
    }  # fmt: skip


def stacked(rows: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Charts in rows, with one legend for all."""
    return {"vconcat": [{"hconcat": row, "spacing": 36} for row in rows], "spacing": 24}
