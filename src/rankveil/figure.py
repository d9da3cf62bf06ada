"""A chart of a result, which shows itself in notebooks and can be saved.

Results lie below the layer that draws them (report/), and know it only by name: what is not drawn need not load it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True, repr=False)
class Figure:
    """A chart that shows itself in notebooks, and can be saved as SVG, PNG or a page.

        >>> figure = rv.preview(plan).plot()
        >>> figure.save("noise.svg").name
        'noise.svg'
        >>> rv.evaluate(people, people, plan).plot("age").save("age.png").name  # from the original: internal
        'age.internal.png'

    `spec` is its Vega-Lite specification, for whoever wants to change it.
    """

    spec: dict[str, Any] = field(compare=True)
    title: str
    note: str  # what it was made from; the first line of what is saved
    internal: bool  # computed from the original table

    def __repr__(self) -> str:
        return f"Figure: {self.title}"

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """The chart as SVG text.

        >>> rv.preview(plan).plot().svg().startswith("<!-- From the plan")
        True
        """
        text: str = import_module("rankveil.report.saving").as_svg(self)
        return text

    def save(self, path: str | Path) -> Path:
        """Write the chart as .svg, .png or .html (one file that loads nothing), and give the path of the file.

        What was computed from the original table has `internal` in its name.

            >>> rv.preview(plan).plot().save("noise.html").name
            'noise.html'
        """
        written: Path = import_module("rankveil.report.saving").save(self, Path(path))
        return written


def plotted(kind: str, *of: object, **options: Any) -> Figure:
    """The chart of a kind (report/plots.py)."""
    made: Figure = getattr(import_module("rankveil.report.plots"), kind)(*of, **options)
    return made
