"""The attack view as a picture and as a page. Both are internal: first line, title and file name say so."""

from __future__ import annotations

import math
from typing import Any

from rankveil.audit.attack import Attack, ColumnAttack
from rankveil.report.charts import GRID, INK, QUIET, SERIES, inline, picture
from rankveil.report.render import page

_SOUND, _PUBLISHED = "differentially private", "published, no guarantee"
_PER_ROW = 2
_ROW_HEIGHT = 19
_SIGNS = {
    ("range", "upper bound"): "≥ ",
    ("chance", "upper bound"): "≤ ",
    ("range", "lower bound"): "≤ ",
    ("chance", "lower bound"): "≥ ",
}
LEGEND = (
    "range: the values that hold 95 % of the attacker's belief, as a share of what they were before the release"
    " (median of the rows attacked). 100 %: nothing learnt.",
    "chance: how likely the attacker thinks the true label is (mean of the rows attacked). In brackets: how many values"
    " the public domain has.",
    "Upper bound (range ≥, chance ≤): no attacker learns more. Lower bound (range ≤, chance ≥): this attacker learns"
    " that much, another one may learn more.",
)


def percent(value: float, sign: str = "") -> str:
    """Three digits that count; a bound is rounded so that it still holds."""
    if value >= 0.9995 and sign != "≥ ":
        return f"{sign}100 %"
    factor = 10.0 ** (2 - math.floor(math.log10(100 * value)))
    digits = 100 * value * factor
    kept = round(digits) if not sign else math.floor(digits) if sign == "≥ " else math.ceil(digits)
    return f"{sign}{kept / factor:.3g} %"


def cell(column: ColumnAttack) -> str:
    # Less than one value cannot be left, so a lower bound on what is learnt is exact there.
    return percent(column.after, "" if _is_one_value(column) else _SIGNS.get((column.measure, column.basis), ""))


def _is_one_value(column: ColumnAttack) -> bool:
    """Whether the attacker knows the value; a bound that allows it does not say so."""
    return column.measure == "range" and column.basis != "upper bound" and column.after * column.values < 1.01


def heading(column: ColumnAttack) -> str:
    return f"{column.name}\n{column.measure} ({column.values:,})"


def as_svg(result: Attack) -> str:
    """One panel per column, one line per method. The first line says that it is internal."""
    return f"<!-- {result.note} -->\n{picture(specification(result))}"


def specification(result: Attack) -> dict[str, Any]:
    """Bars start where the attacker was before the release: the longer the bar, the more was learnt."""
    panels = [_panel(result, place) for place in range(len(result.methods[0].columns))] if result.methods else []
    about = f"ε = {result.epsilon}" + ("" if result.k is None else f", k = {result.k}")
    attacked = f"row {result.row}" if result.row is not None else f"{result.attacked_rows} rows"
    return {
        "title": {
            "text": "What an attacker who knows everyone else learns about one record",
            "subtitle": [
                f"{about}; {attacked} of {result.rows:,} attacked. Bars start at what was known before the release:"
                " no bar, nothing learnt. Hollow: a bound.",
                "INTERNAL: computed from the original table. Do not publish.",
            ],
            "subtitleColor": QUIET,
            "subtitleFontSize": 11,
            "subtitlePadding": 4,
            "offset": 14,
            "fontSize": 14,
        },
        "vconcat": [
            {"hconcat": panels[start : start + _PER_ROW], "spacing": 28} for start in range(0, len(panels), _PER_ROW)
        ],
        "spacing": 26,
    }


def _panel(result: Attack, place: int) -> dict[str, Any]:
    columns = [(attack.method, attack.differentially_private, attack.columns[place]) for attack in result.methods]
    values = [
        {
            "method": method,
            "kind": _SOUND if sound else _PUBLISHED,
            "before": column.before,
            "after": column.after,
            "label": "one value" if _is_one_value(column) else cell(column),
            "limit": column.basis.endswith("bound") and not _is_one_value(column),
        }
        for method, sound, column in columns
    ]
    first = columns[0][2]
    ranged = first.measure == "range"
    # The scale leaves room for a number left of the last dot.
    start = min(0.1, min(column.after for _, _, column in columns) ** 1.4)
    decades = math.ceil(-math.log10(start) - 1e-9)
    ticks = [10.0**-power for power in range(0, decades + 1, 1 + decades // 5)]
    scale: dict[str, Any] = {"type": "log", "domain": [start, 1], "nice": False} if ranged else {"domain": [0, 1]}
    left_of_panel = place % _PER_ROW == 0
    y: dict[str, Any] = {
        "field": "method",
        "type": "nominal",
        "sort": [method for method, _, _ in columns],
        "title": None,
        "axis": {"labels": left_of_panel, "ticks": False, "domain": False, "labelLimit": 260, "labelColor": INK,
                 "labelPadding": 8},
    }  # fmt: skip
    x_axis: dict[str, Any] = {
        "format": "~%",
        "labelFlush": False,
        **({"values": ticks} if ranged else {"tickCount": 4}),
    }
    title = "range of values left (log)" if ranged else "chance given to the true label"
    colour = {
        "field": "kind", "type": "nominal", "title": None,
        "scale": {"domain": [_SOUND, _PUBLISHED], "range": [SERIES[0], SERIES[1]]},
        "legend": {"orient": "bottom", "symbolType": "circle", "symbolStrokeWidth": 0, "symbolOpacity": 1},
    }  # fmt: skip
    after = {"field": "after", "type": "quantitative", "title": title, "scale": scale, "axis": x_axis}
    # Numbers stand beside the dot on the side where no bar is.
    beside = {"align": "right", "dx": -9} if ranged else {"align": "left", "dx": 9}
    return {
        "title": {"text": first.name, "subtitle": f"{first.values:,} possible values", "subtitleColor": QUIET},
        "width": 300,
        "height": {"step": _ROW_HEIGHT},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "color": GRID, "strokeWidth": 1.5, "aria": False},
                "encoding": {"x": {"datum": first.before, "type": "quantitative"}, "y": None},
            },
            {
                "mark": {"type": "bar", "height": 5, "opacity": 0.45, "aria": False},
                "encoding": {"x": after, "x2": {"field": "before"}, "color": colour},
            },
            {
                "mark": {"type": "point", "size": 50, "opacity": 1, "strokeWidth": 1.8, "aria": False},
                "encoding": {
                    "x": after,
                    "stroke": colour,
                    "fill": {"condition": {"test": "datum.limit", "value": "white"}, **colour},
                },
            },
            {
                "mark": {"type": "text", "fontSize": 10, "color": INK, "baseline": "middle", **beside},
                "encoding": {"x": after, "text": {"field": "label", "type": "nominal"}},
            },
        ],
    }


def as_page(result: Attack) -> str:
    """A page that needs nothing else: the picture, the numbers, and what they mean."""
    left = [
        (attack.method, column.name, str(column.left))
        for attack in result.methods
        for column in attack.columns
        if column.left is not None
    ]
    return page(
        "attack.html.jinja",
        title="Attack view",
        note=result.note,
        result=result,
        columns=result.methods[0].columns if result.methods else (),
        picture=inline(specification(result), "What an attacker learns about one record, method by method"),
        left=left,
        legend=LEGEND,
        cell=cell,
        percentage=percent,
    )
