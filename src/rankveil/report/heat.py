"""Tables of pairs of columns as colours, written by hand: every cell says its figure when the mouse rests on it.

Numbers stand in the cells of small tables. A table of many columns shows those with the largest figures only, and says
so: a picture of a hundred columns would be ten thousand specks. Colours are classes of look/report.css.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from rankveil.report.drawer import harmless_text

NUMBERED = 16  # tables of more columns show colours, and figures on resting
MOST_COLUMNS = 40
_LONGEST = 22  # characters of a name; the whole name is said on resting
_LETTER = 6.4  # pixels, generously


@dataclass(frozen=True)
class Cell:
    strength: float  # from 0 to 1: how much colour
    text: str
    about: str  # the figure in words, after the names of row and column
    negative: bool = False


Cells = Mapping[tuple[str, str], Cell]  # by row and column


def worst_columns(names: Sequence[str], cells: Cells) -> list[str]:
    """At most MOST_COLUMNS of the names, in their order: those with the strongest cells."""
    if len(names) <= MOST_COLUMNS:
        return list(names)
    strongest = dict.fromkeys(names, 0.0)
    for (row, column), cell in cells.items():
        for name in (row, column):
            if name in strongest:
                strongest[name] = max(strongest[name], cell.strength)
    kept = set(sorted(names, key=lambda name: -strongest[name])[:MOST_COLUMNS])
    return [name for name in names if name in kept]


def heat_map(rows: Sequence[str], columns: Sequence[str], cells: Cells, about: str) -> str:
    """`about` is what a screen reader says: the table beside the picture has the figures."""
    numbered = len(columns) <= NUMBERED
    wide, tall = (34, 26) if numbered else (20, 20)
    left = 10 + _LETTER * max((len(_short(name)) for name in rows), default=0)
    below = 14 + 0.75 * _LETTER * max((len(_short(name)) for name in columns), default=0)
    width, height = left + wide * len(columns) + 6, tall * len(rows) + below
    # The first slanted name may begin left of the names of rows.
    lean = max(0.0, below - left - wide / 2)
    parts = []
    for y, row in enumerate(rows):
        parts.append(
            f'<text x="{left - 7:.1f}" y="{tall * y + tall / 2 + 4:.1f}" text-anchor="end">{_name(row)}</text>'
        )
        for x, column in enumerate(columns):
            cell = cells.get((row, column))
            if cell is not None:
                parts.append(_cell(cell, f"{row} × {column}", left + wide * x, tall * y, wide, tall, numbered=numbered))
    bottom = tall * len(rows) + 12
    for x, column in enumerate(columns):
        at = f"{left + wide * x + wide / 2 + 3:.1f},{bottom}"
        parts.append(f'<text transform="translate({at}) rotate(-45)" text-anchor="end">{_name(column)}</text>')
    size = f'width="{width + lean:.0f}" height="{height:.0f}"'
    return (
        f'<svg role="img" class="heat" {size} viewBox="{-lean:.0f} 0 {width + lean:.0f} {height:.0f}"'
        f' aria-label="{escape(harmless_text(about), quote=True)}">{"".join(parts)}</svg>'
    )


def _cell(cell: Cell, names: str, x: float, y: float, wide: int, tall: int, *, numbered: bool) -> str:
    look = "cell negative" if cell.negative else "cell"
    shade = f"{0.65 * min(max(cell.strength, 0.0), 1.0) ** 0.5:.3f}"
    title = f"<title>{escape(harmless_text(f'{names}: {cell.about}'))}</title>"
    size = f'x="{x:.1f}" y="{y:.1f}" width="{wide - 1}" height="{tall - 1}"'
    rect = f'<rect class="{look}" {size} fill-opacity="{shade}">{title}</rect>'
    if not numbered:
        return rect
    text = f'<text class="figure" x="{x + (wide - 1) / 2:.1f}" y="{y + tall / 2 + 3:.1f}">{escape(cell.text)}</text>'
    return rect + text


def _name(name: str) -> str:
    short = escape(harmless_text(_short(name)))
    return short if len(name) <= _LONGEST else f"<title>{escape(harmless_text(name))}</title>{short}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
