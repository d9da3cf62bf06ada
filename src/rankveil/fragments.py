"""Small pieces of HTML for notebooks: facts and tables that take the notebook's own colours, light or dark.

Everything is text that came in and was escaped. Lines and grounds are mixed from the text's colour, so a piece looks
right on any ground; styles hold inside `.rankveil` only.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def fragment(
    title: str,
    *,
    warning: str | None = None,
    facts: Sequence[tuple[str, str]] = (),
    table: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    footer: str | None = None,
) -> str:
    """One object as HTML. `table`: its headers and its rows. All texts are escaped here."""
    parts = [f'<p class="rv-title">{escape(title)}</p>']
    if warning:
        parts.append(f'<p class="rv-warning">{escape(warning)}</p>')
    if facts:
        entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
        parts.append(f"<dl>{entries}</dl>")
    if table is not None:
        headers, rows = table
        head = "".join(f"<th>{escape(text)}</th>" for text in headers)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        parts.append(f'<div class="rv-scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
    if footer:
        parts.append(f'<p class="rv-footer">{escape(footer)}</p>')
    return f'<div class="rankveil"><style>{STYLE}</style>{"".join(parts)}</div>'
