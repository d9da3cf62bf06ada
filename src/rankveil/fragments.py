"""Small pieces of HTML for notebooks: facts and tables that take the notebook's own colours, light or dark.

Everything is text that came in and was escaped. Lines and grounds are mixed from the text's colour, so a piece looks
right on any ground; styles hold inside `.rankveil` only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

Facts = list[tuple[str, str]]

STYLE = """
.rankveil { font: 14px/1.5 Inter, "Helvetica Neue", Helvetica, Arial, sans-serif; max-width: 58rem; color: inherit;
  border: 1px solid color-mix(in srgb, currentColor 18%, transparent); border-radius: 6px; padding: 12px 16px }
.rankveil .rv-title { font-weight: 600; margin: 0 0 6px }
.rankveil .rv-warning { border-left: 3px solid #c8702a; padding: 2px 0 2px 10px; margin: 6px 0; font-weight: 600 }
.rankveil dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 18px; margin: 6px 0 }
.rankveil dt { opacity: 0.75; font-weight: normal }
.rankveil dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
.rankveil .rv-scroll { overflow-x: auto }
.rankveil table { border-collapse: collapse; margin: 8px 0; font-size: 13px; color: inherit; background: none }
.rankveil th, .rankveil td { text-align: left; padding: 3px 18px 3px 0; color: inherit; white-space: nowrap;
  background: none; border: 0; border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent);
  font-variant-numeric: tabular-nums }
.rankveil th { font-weight: 600 }
.rankveil .rv-footer { opacity: 0.75; font-size: 12.5px; margin: 6px 0 0 }
"""


_MOST_BANDS, _LABELS, _CHART, _STEP = 40, 190, 380, 20  # bands in a picture; pixels


@dataclass(frozen=True)
class Band:
    """An estimate on its interval."""

    name: str
    low: float
    middle: float
    high: float
    sure: bool = True  # else it is drawn hollow


def pictured(bands: Sequence[Band], shown: Callable[[float], str] | None = None) -> str:
    """Intervals as bands with a point in each, as SVG in the colour of the text around; nothing if there are none.
    `shown`: what to write at both ends, where numbers stand for something else; zero then has no meaning."""
    bands = [each for each in bands[:_MOST_BANDS] if all(map(math.isfinite, (each.low, each.middle, each.high)))]
    if not bands:
        return ""
    low, high = min(each.low for each in bands), max(each.high for each in bands)
    if shown is None and (low < 0 < high or min(abs(low), abs(high)) < 0.2 * (high - low)):
        low, high = min(low, 0.0), max(high, 0.0)
    unit = (_CHART - 16) / (high - low) if high > low else 0.0

    def at(value: float) -> float:
        return _LABELS + 8 + (value - low) * unit

    height = _STEP * len(bands) + 22
    parts = []
    if shown is None and low <= 0 <= high:
        parts.append(f'<path d="M{at(0):.1f} 0V{height - 20}" stroke="currentColor" opacity="0.35"/>')
    for place, each in enumerate(bands):
        y = _STEP * place + 10
        name = each.name if len(each.name) <= 28 else each.name[:27] + "…"
        wide = max((each.high - each.low) * unit, 1.0)
        look = 'fill="currentColor" opacity="0.22"' if each.sure else 'fill="none" stroke="#c8702a"'
        point = 'fill="currentColor"' if each.sure else 'fill="none" stroke="#c8702a" stroke-width="1.5"'
        parts.append(
            f'<text x="{_LABELS}" y="{y + 4}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{at(each.low):.1f}" y="{y - 4}" width="{wide:.1f}" height="8" rx="2" {look}/>'
            f'<circle cx="{at(each.middle):.1f}" cy="{y}" r="3.2" {point}/>'
        )
    for value, anchor in ((low, "start"), (high, "end")):
        said = f"{value:,.4g}" if shown is None else escape(shown(value))
        parts.append(f'<text x="{at(value):.1f}" y="{height - 5}" text-anchor="{anchor}" opacity="0.7">{said}</text>')
    return (
        f'<svg role="img" aria-label="Intervals of {len(bands)} estimates" width="{_LABELS + _CHART}" height="{height}"'
        f' viewBox="0 0 {_LABELS + _CHART} {height}" font-size="12" fill="currentColor">{"".join(parts)}</svg>'
    )


def fragment(
    title: str,
    *,
    warning: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
    picture: str = "",
    table: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    footer: str | None = None,
) -> str:
    """One object as HTML. `table`: its headers and its rows. All texts are escaped here; `picture` is SVG."""
    parts = [f'<p class="rv-title">{escape(title)}</p>']
    if warning:
        parts.append(f'<p class="rv-warning">{escape(warning)}</p>')
    if facts:
        entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
        parts.append(f"<dl>{entries}</dl>")
    if picture:
        parts.append(f'<div class="rv-scroll">{picture}</div>')
    if table is not None:
        headers, rows = table
        head = "".join(f"<th>{escape(text)}</th>" for text in headers)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        parts.append(f'<div class="rv-scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
    if footer:
        parts.append(f'<p class="rv-footer">{escape(footer)}</p>')
    return f'<div class="rankveil"><style>{STYLE}</style>{"".join(parts)}</div>'
