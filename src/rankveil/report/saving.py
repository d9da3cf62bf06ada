"""Charts by themselves as SVG, PNG or a page; whole or not at all."""

from __future__ import annotations

from pathlib import Path

from rankveil.errors import OutputError
from rankveil.figure import Figure
from rankveil.report.charts import drawn, inline, picture
from rankveil.report.render import internal_path, page
from rankveil.write import write_bytes

_KINDS = (".svg", ".png", ".html")


def as_svg(figure: Figure) -> str:
    return f"<!-- {_comment(figure)} -->\n{picture(figure.spec)}"


def save(figure: Figure, path: Path) -> Path:
    """Where it was written: the name of an internal figure says so."""
    kind = path.suffix.lower()
    if kind not in _KINDS:
        raise OutputError(
            f"{path.name}: a figure is saved as SVG, PNG or a page.",
            cost="",
            remedy=f"Let the name end in {', '.join(_KINDS[:-1])} or {_KINDS[-1]}.",
        )
    path = internal_path(path) if figure.internal else path
    if kind == ".html":
        write_bytes(path, _as_page(figure).encode())
        return path
    svg, png = drawn(figure.spec)
    write_bytes(path, png if kind == ".png" else f"<!-- {_comment(figure)} -->\n{svg}\n".encode())
    return path


def _as_page(figure: Figure) -> str:
    heading = figure.spec["title"]
    chart = {key: value for key, value in figure.spec.items() if key != "title"}
    # The page's font may be wider than the one that charts are laid out with: room for labels at their left.
    chart["padding"] = {"left": 48, "right": 48, "top": 5, "bottom": 5}
    return page(
        "figure.html.jinja",
        title=figure.title,
        note=figure.note,
        about=[line for line in heading["subtitle"] if line not in figure.note and "INTERNAL" not in line],
        internal=figure.internal,
        chart=inline(chart, figure.title),
    )


def _comment(figure: Figure) -> str:
    return figure.note.replace("--", "- -")  # XML allows none in a comment
