"""Bars, drawn as SVG inside the page. The figures stand beside them as text; the bars alone are decoration."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rankveil.certificate.content import SpentNote


def bar(percent: float, largest: float = 100.0, kind: str = "bar") -> str:
    """A bar as long as the percent are of the largest."""
    length = max(0.4, min(100.0, 100.0 * percent / largest)) if percent else 0.0
    return (
        f'<svg class="{kind}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="ground" width="100" height="6"/><rect class="part" width="{length:.2f}" height="6"/></svg>'
    )


_BOUGHT = {
    "linkage": "how columns go together",
    "bounds": "finding limits of columns",
    "rows": "counting the rows",
}


def spending(spent: Sequence[SpentNote]) -> str:
    """One bar for each part of a budget, as long as its part is of the largest."""
    largest = max((float(part.percent) for part in spent), default=0.0)
    rows = "".join(
        f'<li class="{part.purpose}"><span>{_bought(part)}</span>{bar(float(part.percent), largest)}'
        f"<b>{escape(part.percent)} %</b></li>"
        for part in spent
    )
    return f'<ul class="spending">{rows}</ul>' if largest else ""


def _bought(part: SpentNote) -> str:
    """A column, or what else was bought, with the exact words of the certificate."""
    said = _BOUGHT.get(part.purpose)
    return escape(part.what) if said is None else f'{said}<small class="exact">{escape(part.what)}</small>'
