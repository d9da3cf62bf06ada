"""The dry run as a piece of a page: quick enough to be made anew while a slider moves.

The fragment has no script, no style of its own and no link, so it fits under any content policy; its looks are in
look/preview.css, which takes colours and sizes from look/tokens.css. Charts are SVG written by hand for speed.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from rankveil.declare import Plan
from rankveil.preview import Expectation, Part, Preview, preview
from rankveil.preview.expectations import ABOUT_NOISE, percent
from rankveil.preview.intervals import ABOUT_INTERVALS

_LOOK = Path(__file__).parent / "look"
_BAR = 1000  # width of the budget's bar, in units of its own


def styles() -> str:
    """The style sheet that the fragment needs beside tokens.css."""
    return (_LOOK / "preview.css").read_text(encoding="utf-8")


def fragment(plan: Plan, rows: int | None = None) -> str:
    """The dry run of a plan as HTML. `rows` takes the place of the plan's `expected_rows`."""
    return of_preview(preview(plan, rows))


def of_preview(looked: Preview) -> str:
    parts = [
        _lead(looked),
        _choice(looked),
        _warnings(looked),
        _budget(looked),
        _expectations(looked),
        _intervals(looked),
        _linkage(looked),
    ]
    return '<section class="rv-preview">\n' + "\n".join(part for part in parts if part) + "\n</section>\n"


def _lead(looked: Preview) -> str:
    settings = [
        f"{symbol} = {value}"
        for symbol, value in (("ε", looked.epsilon), ("δ", looked.delta), ("k", looked.k))
        if value
    ]
    rows = f"{looked.rows:,} rows" + (" assumed" if looked.rows_assumed else "")
    said = ", ".join([*settings, rows])
    return (
        f'<p class="rv-lead"><strong>{escape(looked.method.name)}</strong> with {escape(said)}.'
        " From the plan and the number of rows: nothing else was read, nothing was spent.</p>"
    )


def _choice(looked: Preview) -> str:
    """Pure ε or (ε, δ), with both figures."""
    if looked.choice is None:
        return ""
    return f'<div class="rv-choice"><h3>ε alone, or δ as well</h3><p>{escape(looked.choice.words)}</p></div>'


def _warnings(looked: Preview) -> str:
    if not looked.warnings:
        return ""
    entries = "".join(f"<li>{escape(text)}</li>" for text in looked.warnings)
    return f'<div class="rv-warnings"><p><strong>Worth knowing</strong></p><ul>{entries}</ul></div>'


def _budget(looked: Preview) -> str:
    """The budget as one bar: every column, then what links them."""
    if not looked.split:
        return ""
    pieces, start = [], 0.0
    shades = _shades(looked.split)
    for part in looked.split:
        width = _BAR * part.share
        about = f"<title>{escape(part.name)}: {percent(part.share)}</title>"
        look = f"rv-part rv-{part.purpose}{shades.get(part.name, '')}"
        size = f'x="{start:.1f}" y="0" width="{max(width - 1.5, 0.5):.1f}" height="26"'
        pieces.append(f'<rect class="{look}" {size}>{about}</rect>')
        start += width
    legend = "".join(
        f'<li><span class="rv-key rv-{purpose}{shades.get(name, "")}"></span>{escape(name)} {percent(share)}</li>'
        for name, purpose, share in _legend(looked.split)
    )
    words = "; ".join(f"{name} {percent(share)}" for name, _, share in _legend(looked.split))
    return (
        '<figure class="rv-split"><h3>Where the budget goes</h3>'
        f'<svg viewBox="0 0 {_BAR} 26" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(words, quote=True)}">{"".join(pieces)}</svg>'
        f"<figcaption><ul>{legend}</ul></figcaption></figure>"
    )


def _shades(split: tuple[Part, ...]) -> dict[str, str]:
    """What links columns comes in several parts; each has a shade of the same colour."""
    linking = [part.name for part in split if part.purpose == "linkage"]
    return {name: f" rv-shade{place}" for place, name in enumerate(linking)}


def _legend(split: tuple[Part, ...]) -> list[tuple[str, str, float]]:
    """Columns together, the rest one by one: (words, purpose, share)."""
    columns = [part.share for part in split if part.purpose == "column"]
    words = "1 column by itself" if len(columns) == 1 else f"{len(columns)} columns, each by itself,"
    together: list[tuple[str, str, float]] = [(words, "column", sum(columns))] if columns else []
    return together + [(part.name, part.purpose, part.share) for part in split if part.purpose != "column"]


def _expectations(looked: Preview) -> str:
    if not looked.expectations:
        return ""
    shares = {part.name: part.share for part in looked.split if part.purpose == "column"}
    by_column: dict[str, list[Expectation]] = {}
    for expectation in looked.expectations:
        by_column.setdefault(expectation.column, []).append(expectation)
    body = "\n".join(_row(name, shares.get(name), found) for name, found in by_column.items())
    return (
        '<h3>How much noise, in 95 of 100 draws</h3><div class="rv-scroll" role="region" tabindex="0"'
        ' aria-label="Noise on each column"><table class="rv-expect"><thead><tr><th scope="col">column</th>'
        '<th scope="col" class="rv-number rv-wide">budget</th><th scope="col">what noise</th>'
        '<th scope="col">within</th><th scope="col">size</th></tr></thead>'
        f'<tbody>\n{body}\n</tbody></table></div><p class="rv-note">{escape(ABOUT_NOISE)} A full bar is noise as'
        " large as the number of people with an average label or range, or as the column's whole range.</p>"
    )


def _intervals(looked: Preview) -> str:
    """How wide intervals of estimates will be."""
    if not looked.intervals:
        return ""
    body = "\n".join(
        f'<tr><th scope="row">{escape(each.column or "two columns")}</th><td>{escape(each.question)}</td>'
        f"<td>{escape(each.answer)}</td><td>{_noise_bar(10 * each.half_width)}</td></tr>"
        for each in looked.intervals
    )
    return (
        '<h3>How sure estimates will be</h3><div class="rv-scroll" role="region" tabindex="0"'
        ' aria-label="Expected intervals of estimates"><table class="rv-expect"><thead><tr><th scope="col">column</th>'
        '<th scope="col">estimate</th><th scope="col">95 % interval</th><th scope="col">size</th></tr></thead>'
        f'<tbody>\n{body}\n</tbody></table></div><p class="rv-note">{escape(ABOUT_INTERVALS)} A full bar is 10 points.'
        " Release with replicates to get them.</p>"
    )


def _row(name: str, share: float | None, found: list[Expectation]) -> str:
    budget = "" if share is None else percent(share)
    span = f' rowspan="{len(found)}"' if len(found) > 1 else ""
    rows = []
    for place, expectation in enumerate(found):
        head = (
            f'<th scope="row"{span}>{escape(name)}</th><td class="rv-number rv-wide"{span}>{budget}</td>'
            if place == 0
            else ""
        )
        rows.append(
            f"<tr>{head}<td>{escape(expectation.question)}</td><td>{escape(expectation.answer)}</td>"
            f"<td>{_noise_bar(expectation.relative)}</td></tr>"
        )
    return "\n".join(rows)


def _noise_bar(relative: float) -> str:
    """How much of what is asked for is noise, as a bar; the words beside it say the same in numbers."""
    inside = min(max(relative, 0.0), 1.0)
    rank = "rv-much" if inside > 0.5 else "rv-some" if inside > 0.1 else "rv-little"
    return (
        '<svg class="rv-noise" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rv-track" width="100" height="8"></rect>'
        f'<rect class="{rank}" width="{max(100 * inside, 1):.1f}" height="8"></rect></svg>'
    )


def _linkage(looked: Preview) -> str:
    words = [f'<p class="rv-note">{escape(looked.linkage)}</p>'] if looked.linkage else []
    words.append(f'<p class="rv-note">What would hold: {escape(looked.method.holds)}</p>')
    return "".join(words)
