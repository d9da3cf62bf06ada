"""The paper's four figures, drawn from `curves`.

figure1   Census: individual ranking with noise against plain Laplace and ranking alone, m = 1, 8, 13
figure2   Adult: the same
figure3   Census: individual ranking with noise against the predecessor, and both microaggregations alone
figure4   Adult: the same
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rankveil.report.charts import QUIET, SERIES, drawn, lines, stacked
from rankveil.reproduce.curves import Point
from rankveil.write import write_bytes, write_text

FIGURES = {
    "figure1": (("census-1", "census-8", "census-13"), ("IR", "laplace", "ranking")),
    "figure2": (("adult",), ("IR", "laplace", "ranking")),
    "figure3": (("census-1", "census-8", "census-13"), ("IR", "MV", "ranking", "mdav-insensitive")),
    "figure4": (("adult",), ("IR", "MV", "ranking", "mdav-insensitive")),
}
# Colour says how much noise, the pattern of a line whose clusters: "no noise" is the microaggregation alone.
_FAMILIES = {
    "IR": "individual ranking",
    "ranking": "individual ranking",
    "MV": "predecessor (insensitive MDAV)",
    "mdav-insensitive": "predecessor (insensitive MDAV)",
    "laplace": "plain Laplace, no clusters",
}
_DASHES = {
    "individual ranking": [1, 0],
    "predecessor (insensitive MDAV)": [6, 3],
    "plain Laplace, no clusters": [2, 2],
}
_TITLES = {
    "census-1": "Census, m = 1 (mean of 13 attributes)",
    "census-8": "Census, m = 8",
    "census-13": "Census, m = 13",
    "adult": "Adult, m = 4",
}
_LEVELS = ["ε = 0.1", "ε = 1", "ε = 10", "no noise"]


def write_figures(points: list[Point], folder: Path) -> list[Path]:
    """Each figure as SVG and PNG, and all points as CSV. Figures whose cases were not run are left out."""
    written = [folder / "curves.csv"]
    write_text(written[0], _as_csv(points))
    available = {point.case for point in points}
    for name, (cases, methods) in FIGURES.items():
        shown = [case for case in cases if case in available]
        if not shown:
            continue
        svg, png = drawn(_figure(points, shown, methods))
        write_text(folder / f"{name}.svg", svg)
        write_bytes(folder / f"{name}.png", png)
        written += [folder / f"{name}.svg", folder / f"{name}.png"]
    return written


def _figure(points: list[Point], cases: list[str], methods: tuple[str, ...]) -> dict[str, Any]:
    rows = []
    families = list(dict.fromkeys(_FAMILIES[method] for method in methods))
    for case in cases:
        values = _values([point for point in points if point.case == case and point.method in methods])
        shared: dict[str, Any] = {
            "x": "k",
            "x_title": "cluster size k",
            "colour": ("level", _LEVELS, [*SERIES[:3], QUIET]),
            "dash": ("family", families, [_DASHES[family] for family in families]),
        }
        rows.append(
            [
                lines(
                    values, y="relative_error", y_title="relative error (log)", title=_TITLES[case], log=True, **shared
                ),
                lines(values, y="jsd", y_title="JSD", title="", **shared),
            ]
        )
    return stacked(rows)


def _values(points: list[Point]) -> list[dict[str, Any]]:
    ends = [min(point.k for point in points if point.k > 1), max(point.k for point in points)]
    values = []
    for point in points:
        level = f"ε = {point.epsilon}" if point.epsilon else "no noise"
        # Plain Laplace forms no clusters: a horizontal line over the whole range of k.
        for k in ends if point.method == "laplace" else [point.k]:
            values.append(
                {"k": k, "family": _FAMILIES[point.method], "level": level,
                 "relative_error": round(point.relative_error, 6), "jsd": round(point.jsd, 6)}
            )  # fmt: skip
    return values


def _as_csv(points: list[Point]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Point)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(point) for point in points)
    return text.getvalue()
