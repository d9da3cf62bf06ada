"""Small line charts as SVG written by hand: every colour is a class, so that they follow the page into the dark.

Vega-Lite (charts.py) writes colours into the picture and takes a third of a second each; a comparison has dozens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 340, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 40


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None  # ends of the whisker
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A series; `look` is its class. A line of one point without an x of its own is drawn across the chart."""

    name: str
    look: str
    points: tuple[Point, ...]
    across: bool = False


def chart(lines: Sequence[Line], *, x_title: str, about: str, y_log: bool = True) -> str:
    """Lines over a logarithmic x. `about` is said to those who cannot see it."""
    lines = [line for line in lines if line.points]
    xs = sorted({point.x for line in lines if not line.across for point in line.points}) or [1.0]
    ys = [value for line in lines for point in line.points for value in (point.y, point.low, point.high) if value]
    y_log = y_log and bool(ys) and min(ys) > 0 and max(ys) / min(ys) > 5
    bottom, top = _y_range(ys, log=y_log)

    def across(x: float) -> float:
        first, last = math.log(xs[0]), math.log(xs[-1])
        inside = 0.5 if first == last else (math.log(x) - first) / (last - first)
        return _LEFT + 14 + inside * (_WIDTH - _LEFT - _RIGHT - 28)

    def up(y: float) -> float:
        clipped = min(max(y, bottom), top)
        inside = math.log(clipped / bottom) / math.log(top / bottom) if y_log else (clipped - bottom) / (top - bottom)
        return _HEIGHT - _BOTTOM - inside * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{up(tick):.1f}" y2="{up(tick):.1f}"/>'
        f'<text class="tick" x="{_LEFT - 7}" y="{up(tick) + 3.5:.1f}" text-anchor="end">{_number(tick)}</text>'
        for tick in _ticks(bottom, top, log=y_log)
    ]
    parts += [
        f'<text class="tick" x="{across(x):.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{_number(x)}</text>'
        for x in _apart(xs, across)
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text class="title" x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x_title)}</text>')
    for line in lines:
        if line.across:
            height = up(line.points[0].y)
            parts.append(
                f'<line class="line {line.look}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height:.1f}"'
                f' y2="{height:.1f}"/>'
            )
            continue
        places = [(across(point.x), up(point.y), point) for point in sorted(line.points, key=lambda point: point.x)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        whiskers = "".join(
            f'<line class="whisker {line.look}" x1="{x:.1f}" x2="{x:.1f}" y1="{up(point.low):.1f}"'
            f' y2="{up(point.high):.1f}"/>'
            for x, _, point in places
            if point.low is not None and point.high is not None
        )
        dots = "".join(f'<circle class="dot {line.look}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y, _ in places)
        parts.append(f'<polyline class="line {line.look}" points="{path}"/>{whiskers}{dots}')
    return (
        f'<svg class="lines" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(about, quote=True)}">'
        + "".join(parts)
        + "</svg>"
    )


def sample(look: str) -> str:
    """A piece of a line for the legend."""
    return (
        f'<svg class="lines sample" viewBox="0 0 34 10" aria-hidden="true"><line class="line {look}" x1="0" x2="34"'
        f' y1="5" y2="5"/><circle class="dot {look}" cx="17" cy="5" r="3.2"/></svg>'
    )


def _y_range(values: list[float], *, log: bool) -> tuple[float, float]:
    if not values:
        return (0.0, 1.0)
    if log:
        return (min(values) / 1.25, max(values) * 1.25)
    least, top = min(values), max([*values, 1e-9])
    flat = top - least < 1e-3 * top
    low = min(least, 0.0) if flat or least < 0.4 * top else least - (top - least) * 0.3
    return (low, top + (top - low) * 0.08)


def _ticks(bottom: float, top: float, *, log: bool) -> list[float]:
    if not log:
        step = _nice((top - bottom) / 4)
        first = math.ceil(bottom / step - 1e-9)
        return [place * step for place in range(first, math.floor(top / step + 1e-9) + 1)]
    powers = range(math.floor(math.log10(bottom)), math.ceil(math.log10(top)) + 1)
    decades = [10.0**power for power in powers if bottom <= 10.0**power <= top]
    if len(decades) >= 3:
        return decades
    return [factor * 10.0**power for power in powers for factor in (1, 2, 5) if bottom <= factor * 10.0**power <= top]


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)


def _apart(xs: list[float], across: object) -> list[float]:
    """Ticks that do not touch."""
    assert callable(across)  # noqa: S101 - a function of this module
    kept: list[float] = []
    for x in xs:
        if not kept or across(x) - across(kept[-1]) > 30:
            kept.append(x)
    return kept


def _number(value: float) -> str:
    return "0" if abs(value) < 1e-12 else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
