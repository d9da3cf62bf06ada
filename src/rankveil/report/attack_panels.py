"""The pictures of the attack view as SVG written by hand: one panel per column, one line per method.

Two kinds of figures stand apart: what an attack that was run has found (full dots and bars), and what ε allows at most
(hollow dots, and one dashed line for all methods with a guarantee). So a bound is never read as a measurement.
Colours are classes: in a page they follow it into the dark; a picture by itself brings its own (`STYLE`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 440
_NAMES, _RIGHT, _ROW, _TOP, _BOTTOM = 184, 70, 20, 8, 40  # pixels
STYLE = (
    ".panel text{font:12px Inter,'Helvetica Neue',Helvetica,Arial,sans-serif;fill:#1f2933}.panel .tick,.panel .group"
    "{font-size:11px;fill:#52606d}.panel .grid{stroke:#e4e7eb}.panel .start{stroke:#7b8794}.panel .bound{stroke:"
    "#1f2933;stroke-dasharray:4 3}.panel .sound{fill:#0b6e99;stroke:#0b6e99}.panel .published{fill:#d9822b;stroke:"
    "#d9822b}.panel .learnt{fill-opacity:.4;stroke:none}.panel .hollow{fill:#fff}"
)


@dataclass(frozen=True)
class Mark:
    """One line of a panel."""

    method: str
    sound: bool
    after: float
    label: str  # the figure in words
    measured: bool  # an attack was run; else it is only what ε allows
    is_bound: bool  # of what was measured


def height(marks: Sequence[Mark]) -> int:
    return _TOP + _BOTTOM + _ROW * (len(marks) + _groups(marks))


def _groups(marks: Sequence[Mark]) -> int:
    """How many lines say that what follows was not attacked."""
    return int(not all(mark.measured for mark in marks))


def panel(marks: Sequence[Mark], *, before: float, bound: float | None, ranged: bool, about: str) -> str:
    """`ranged`: what is left, on a logarithmic scale; else the chance of the true label. `about` is said aloud."""
    right, left, bottom = WIDTH - _RIGHT, _NAMES + 14, height(marks) - _BOTTOM
    lowest = min([0.1, *(mark.after for mark in marks), *([bound] if bound else [])])

    def across(value: float) -> float:
        inside = 1 - math.log10(max(value, lowest)) / math.log10(lowest) if ranged else value
        return left + min(max(inside, 0.0), 1.0) * (right - left)

    parts = [
        f'<line class="grid" x1="{across(tick):.1f}" x2="{across(tick):.1f}" y1="{_TOP}" y2="{bottom}"/>'
        f'<text class="tick" x="{across(tick):.1f}" y="{bottom + 15}" text-anchor="middle">{_percent(tick)}</text>'
        for tick in _ticks(lowest, ranged=ranged)
    ]
    parts.append(f'<line class="start" x1="{across(before):.1f}" x2="{across(before):.1f}" y1="{_TOP}" y2="{bottom}"/>')
    if bound is not None:
        parts.append(
            f'<line class="bound" x1="{across(bound):.1f}" x2="{across(bound):.1f}" y1="{_TOP}" y2="{bottom}"/>'
        )
    words = "values still possible (log)" if ranged else "chance given to the true label"
    parts.append(
        f'<text class="tick" x="{(left + right) / 2:.0f}" y="{bottom + 32}" text-anchor="middle">{words}</text>'
    )
    y = float(_TOP)
    ordered = sorted(marks, key=lambda mark: not mark.measured)
    for place, mark in enumerate(ordered):
        if not mark.measured and (not place or ordered[place - 1].measured):
            parts.append(f'<text class="group" x="0" y="{y + 14:.1f}">not attacked, only what ε allows:</text>')
            y += _ROW
        parts.append(_line(mark, y + _ROW / 2, across(before), across(mark.after), right))
        y += _ROW
    return (
        f'<svg class="panel" viewBox="0 0 {WIDTH} {height(marks)}" role="img" aria-label="{escape(about, quote=True)}">'
        + "".join(parts)
        + "</svg>"
    )


def _line(mark: Mark, y: float, start: float, end: float, right: float) -> str:
    look = "sound" if mark.sound else "published"
    name = f'<text x="0" y="{y + 4:.1f}">{escape(mark.method)}</text>'
    low, high = min(start, end), max(start, end)
    bar = f'<rect class="learnt {look}" x="{low:.1f}" y="{y - 2.5:.1f}" width="{high - low:.1f}" height="5"/>'
    hollow = " hollow" if mark.is_bound or not mark.measured else ""
    dot = f'<circle class="{look}{hollow}" cx="{end:.1f}" cy="{y:.1f}" r="4" stroke-width="1.6"/>'
    said = f'<text x="{right + 12:.1f}" y="{y + 4:.1f}">{escape(mark.label)}</text>'
    return name + (bar if mark.measured else "") + dot + said


def _ticks(lowest: float, *, ranged: bool) -> list[float]:
    if not ranged:
        return [0.0, 0.5, 1.0]
    decades = math.floor(-math.log10(lowest) + 1e-9)
    return [10.0**-power for power in range(0, decades + 1, 1 + decades // 4)]


def _percent(value: float) -> str:
    return f"{100 * value:.6g} %"


def together(panels: Sequence[tuple[str, str, str, int]], head: Sequence[str]) -> str:
    """One picture of all panels, two beside each other, under some lines; a panel: title, words, SVG, height."""
    gap, parts, y = 30, [], 26.0 + 18 * len(head)
    rows = [panels[start : start + 2] for start in range(0, len(panels), 2)]
    for row in rows:
        for place, (title, words, picture, tall) in enumerate(row):
            x = place * (WIDTH + gap)
            placed = picture.replace("<svg ", f'<svg x="0" y="38" width="{WIDTH}" height="{tall}" ', 1)
            parts.append(
                f'<g transform="translate({x},{y:.0f})"><text y="12" style="font-weight:600;font-size:13px">'
                f'{escape(title)}</text><text class="tick" y="28">{escape(words)}</text>'
                f"{placed}</g>"
            )
        y += max(tall for _, _, _, tall in row) + 62
    wide = WIDTH * 2 + gap if len(panels) > 1 else WIDTH
    said = "".join(
        f'<text y="{16 + 18 * place}" style="font-weight:{400 if place else 600}">{escape(line)}</text>'
        for place, line in enumerate(head)
    )
    return (
        f'<svg class="panel" xmlns="http://www.w3.org/2000/svg" width="{wide + 40}" height="{y + 20:.0f}"'
        f' viewBox="-20 -10 {wide + 40} {y + 20:.0f}"><style>{STYLE}</style>'
        f'<rect x="-20" y="-10" width="100%" height="100%" fill="#fff"/>{said}{"".join(parts)}</svg>\n'
    )
