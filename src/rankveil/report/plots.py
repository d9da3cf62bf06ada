"""What `.plot()` of a result draws: Vega-Lite specifications with a title and a note, one function per result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rankveil.errors import EstimateError, PlanError
from rankveil.evaluate.results import Distribution, Evaluation
from rankveil.figure import Figure
from rankveil.report import figures, tables_of_pairs
from rankveil.report.charts import AFTER, BEFORE, GRID, INK, QUIET, SERIES
from rankveil.report.drawer import check_extra
from rankveil.report.estimates import places
from rankveil.report.figures import Spec

if TYPE_CHECKING:
    from rankveil.estimate import Estimates
    from rankveil.preview import Preview

_MOST_COLUMNS = 24  # of an evaluation, unless they are named
_ACROSS = 3
_PANEL = 240
_NO_LABEL = {
    "title": None,
    "axis": {"ticks": False, "domain": False, "labelLimit": 420, "labelColor": INK, "labelPadding": 6},
}


def _made(spec: Spec, title: str, note: str, *, internal: bool, about: str = "") -> Figure:
    """With its title and, in a second line, what it shows and whether it may be shown around."""
    check_extra()
    said = [
        line for line in (about, "INTERNAL: computed from the original, not protected." if internal else "") if line
    ]
    heading = {"text": title, "subtitle": said, "subtitleColor": QUIET, "subtitleFontSize": 11, "subtitlePadding": 4}
    return Figure({"title": heading, **spec}, title, note, internal)


# Evaluations


def evaluation(found: Evaluation, columns: Sequence[str], what: str) -> Figure:
    ways: dict[str, Callable[[Evaluation], tuple[Spec, str, str]]] = {
        "columns": lambda found: _columns(found, columns),
        "pairs": _pairs,
        "correlations": _correlations,
        "queries": _queries,
        "groups": _groups,
    }
    if what not in ways:
        raise PlanError(f"An evaluation has no plot of {what!r}.", cost="", remedy=f"Choose among {', '.join(ways)}.")
    if columns and what != "columns":
        raise PlanError("Columns are named for the plot of columns only.", cost="", remedy="Leave them out.")
    spec, title, about = ways[what](found)
    return _made(spec, title, found.note, internal=True, about=about)


def _columns(found: Evaluation, names: Sequence[str]) -> tuple[Spec, str, str]:
    known = {each.column: each for each in found.distributions}
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        raise PlanError(
            f"The evaluation has no column {unknown[0]!r}." if unknown else "The evaluation has no columns to plot.",
            cost="",
            remedy=f"It has {', '.join(known)}." if known else "Make it with rv.evaluate.",
        )
    shown = [known[name] for name in names] if names else list(known.values())[:_MOST_COLUMNS]
    left = len(known) - len(shown) if not names else 0
    about = "The original is grey (a mark on bars of labels), the release blue. Shares of rows."
    title = f"{shown[0].column} before and after" if len(shown) == 1 else "Columns before and after"
    if left:
        about += f" {left} more columns: name them to see them."
    return {"concat": [_panel(each) for each in shown], "columns": _ACROSS, "spacing": 28}, title, about


def _panel(shown: Distribution) -> Spec:
    spec = {key: value for key, value in figures.of_distribution(shown).items() if key != "autosize"}
    extras = [
        f"{name}: {100 * before:.1f} % before, {100 * after:.1f} % after"
        for name, before, after in (
            ("missing", shown.missing_before, shown.missing_after),
            *([(shown.spike.label, shown.spike.before, shown.spike.after)] if shown.spike is not None else []),
        )
        if before or after
    ]
    title = {"text": shown.column, "subtitle": extras, "subtitleColor": QUIET, "subtitleFontSize": 10}
    return {**spec, "width": _PANEL, "title": title}


def _pairs(found: Evaluation) -> tuple[Spec, str, str]:
    names = list(dict.fromkeys(name for pair in found.pairs for name in pair.columns))
    about = "The share of rows that would have to change, in percent: the stronger the colour, the more."
    return tables_of_pairs.of_pair_errors(found.pairs, names), "Errors of pairs of columns", about


def _correlations(found: Evaluation) -> tuple[Spec, str, str]:
    correlated = [pair for pair in found.pairs if pair.correlation is not None]
    names = list(dict.fromkeys(name for pair in found.pairs for name in pair.columns))
    ordered = [name for name in names if any(name in pair.columns for pair in correlated)]
    about = "Below the diagonal the original, above it the release. Orange is negative."
    return tables_of_pairs.of_correlations(correlated, ordered), "Rank correlations", about


def _queries(found: Evaluation) -> tuple[Spec, str, str]:
    if found.queries is None:
        raise PlanError("The evaluation has asked no questions.", cost="", remedy="Make it with rv.evaluate.")
    about = "Random counts over two columns, as shares of rows. On the line, both agree."
    return figures.of_queries(found.queries), "Questions to both tables", about


def _groups(found: Evaluation) -> tuple[Spec, str, str]:
    judged = [group for group in found.subgroups if group.error is not None]
    return figures.of_subgroups(judged), "Errors inside groups", "Blue: the release. Grey: what chance alone would do."


# Previews


def preview(looked: Preview) -> Figure:
    """The budget as one bar, and the noise on each column."""
    noise = [
        {
            "what": f"{each.column}: {each.question.removeprefix('noise on ')}",
            "share": min(max(each.relative, 0.0), 1.0),
            "answer": each.answer,
        }
        for each in looked.expectations
    ]
    parts = [_split(looked)] if looked.split else []
    parts += [_noise(noise)] if noise else []
    if not parts:
        raise PlanError(
            f"Of {looked.method.name} nothing is known before a release.",
            cost="",
            remedy="Plot a method with a budget.",
        )
    rows = f"{looked.rows:,} rows" + (" assumed" if looked.rows_assumed else "")
    budget = "".join(f", {symbol} = {value}" for symbol, value in (("ε", looked.epsilon), ("δ", looked.delta)) if value)
    note = "From the plan and the number of rows: nothing else was read, nothing was spent."
    return _made(
        {"vconcat": parts, "spacing": 30, "resolve": {"legend": {"color": "independent"}}},
        f"{looked.method.name}{budget}, {rows}",
        note,
        internal=False,
        about=note,
    )


def _split(looked: Preview) -> Spec:
    names = {"column": "columns, each by itself", "linkage": "what links them", "bounds": "bounds", "rows": "size"}
    values = [
        {"part": part.name, "for": names[part.purpose], "share": part.share, "place": place}
        for place, part in enumerate(looked.split)
    ]
    used = [name for name in names.values() if any(value["for"] == name for value in values)]
    return {
        "title": {"text": "Where the budget goes", "fontSize": 12},
        "width": 460,
        "height": 26,
        "data": {"values": values},
        "mark": {"type": "bar", "stroke": "white", "strokeWidth": 1, "aria": False},
        "encoding": {
            "x": {"field": "share", "type": "quantitative", "stack": "zero", "title": None,
                  "scale": {"domain": [0, 1], "nice": False},
                  "axis": {"format": "~%", "tickCount": 5, "grid": False}},
            "order": {"field": "place"},
            "color": {"field": "for", "type": "nominal", "title": None,
                      "scale": {"domain": used, "range": list(SERIES[: len(used)])},
                      "legend": {"orient": "bottom", "columnPadding": 40}},
        },
    }  # fmt: skip


def _noise(values: list[dict[str, Any]]) -> Spec:
    y = {"field": "what", "type": "nominal", "sort": [value["what"] for value in values], **_NO_LABEL}
    return {
        "title": {
            "text": "Noise, in 95 of 100 draws",
            "fontSize": 12,
            "subtitle": "A full bar is noise as large as what is asked for, or as the column's whole range.",
            "subtitleColor": QUIET,
            "subtitleFontSize": 11,
        },
        "width": 200,
        "height": {"step": 20},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "bar", "height": 9, "color": AFTER, "opacity": 0.75, "aria": False},
                "encoding": {
                    "x": {"field": "share", "type": "quantitative", "title": None, "scale": {"domain": [0, 1]},
                          "axis": {"format": "~%", "values": [0, 0.5, 1]}},
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 8, "color": INK, "fontSize": 11, "aria": False},
                "encoding": {"text": {"field": "answer"}, "x": {"value": 200}},
            },
        ],
    }  # fmt: skip


# Comparisons


def comparison(content: dict[str, Any], measure: str) -> Figure:
    """Means of one measure against ε, one line per method, with a standard deviation between runs to each side."""
    if measure not in content["measures"]:
        raise PlanError(
            f"The comparison has no measure {measure!r}.", cost="", remedy=f"It has {', '.join(content['measures'])}."
        )
    better = max if measure in content["larger_is_better"] else min
    best: dict[tuple[str, str | None], dict[str, Any]] = {}
    for setting in content["settings"]:  # of several k, the best
        if setting["mean"][measure] is not None:
            key = (setting["method"], setting["epsilon"])
            rivals = [setting, *([best[key]] if key in best else [])]
            best[key] = better(rivals, key=lambda each: each["mean"][measure])
    values = [_mean(method, epsilon, setting, measure) for (method, epsilon), setting in best.items()]
    epsilons = {value["epsilon"] for value in values if value["epsilon"] is not None}
    title = content["measures"][measure] + (" against ε" if len(epsilons) > 1 else "")
    about = "Means, with one standard deviation between runs to each side. "
    about += "Larger is better." if better is max else "Smaller is better."
    spec = _lines(values) if len(epsilons) > 1 else _dots(values)
    return _made(spec, title, content["note"], internal=not content["table"]["stand_in"], about=about)


def _mean(method: str, epsilon: str | None, setting: dict[str, Any], measure: str) -> dict[str, Any]:
    mean, spread = setting["mean"][measure], setting["spread"][measure] or 0.0
    chance = "the original, drawn again: what chance alone does"
    called = method if setting["differentially_private"] else f"{method} (no guarantee)"
    return {
        "method": chance if method == "resampled" else called,
        "epsilon": None if epsilon is None else float(epsilon),
        "mean": mean,
        "low": max(mean - spread, 0.0),
        "high": mean + spread,
    }


def _colour(values: list[dict[str, Any]]) -> Spec:
    methods = list(dict.fromkeys(value["method"] for value in values))
    colours = [*SERIES, INK, BEFORE, "#b5a642", "#5b4fa0"]
    return {
        "field": "method", "type": "nominal", "title": None,
        "scale": {"domain": methods, "range": [colours[place % len(colours)] for place in range(len(methods))]},
    }  # fmt: skip


def _lines(values: list[dict[str, Any]]) -> Spec:
    y = {"field": "mean", "type": "quantitative", "title": None, "scale": {"zero": True}, "axis": {"tickCount": 5}}
    ticks = sorted({value["epsilon"] for value in values if value["epsilon"] is not None})
    x = {"field": "epsilon", "type": "quantitative", "title": "ε (log)", "scale": {"type": "log", "nice": False},
         "axis": {"grid": False, "values": ticks, "format": "~r"}}  # fmt: skip
    colour = {**_colour(values), "legend": {"orient": "bottom", "columns": 2, "columnPadding": 40}}
    with_budget = {"filter": "datum.epsilon != null"}
    return {
        "width": 460,
        "height": 260,
        "data": {"values": values},
        "encoding": {"color": colour},
        "layer": [
            {"transform": [with_budget], "mark": {"type": "line", "point": True, "aria": False},
             "encoding": {"x": x, "y": y}},
            {"transform": [with_budget], "mark": {"type": "rule", "aria": False},
             "encoding": {"x": x, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}},
            {"transform": [{"filter": "datum.epsilon == null"}],
             "mark": {"type": "rule", "strokeDash": [4, 3], "aria": False}, "encoding": {"y": y}},
        ],
    }  # fmt: skip


def _dots(values: list[dict[str, Any]]) -> Spec:
    y = {"field": "method", "type": "nominal", "sort": [value["method"] for value in values], **_NO_LABEL}
    return _ranges(values, y, "mean", {"color": {**_colour(values), "legend": None}})


def _ranges(values: list[dict[str, Any]], y: Spec, middle: str, look: Spec, *, dates: bool = False) -> Spec:
    """A point and its interval for each line."""
    x = {"type": "quantitative", "title": None, "scale": {"zero": False, "padding": 12},
         "axis": {"tickCount": 5, "gridColor": GRID}}  # fmt: skip
    if dates:
        x |= {"type": "temporal", "scale": {"padding": 12}}
    return {
        "width": 380,
        "height": {"step": 26},
        "data": {"values": values},
        "encoding": {"y": y, **look},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 2, "aria": False},
             "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "aria": False},
             "encoding": {"x": {"field": middle, **x}}},
        ],
    }  # fmt: skip


# Estimates


def estimates(found: Estimates) -> Figure:
    """Each estimate with its interval; what is not supported by what was measured stands out."""
    values = [
        {**places(found, one), "support": "measured" if one.supported else "not supported by what was measured"}
        for one in found.each
    ]
    if not values:
        raise EstimateError("There is no estimate to plot.", remedy="Ask another question.")
    support = ["measured", "not supported by what was measured"]
    look = {
        "color": {"field": "support", "type": "nominal", "title": None,
                  "scale": {"domain": support, "range": [AFTER, SERIES[1]]},
                  "legend": {"orient": "bottom"} if found.warning else None},
    }  # fmt: skip
    y = {"field": "name", "type": "nominal", "sort": [value["name"] for value in values], **_NO_LABEL}
    note = f"{found.asked}: from a release, by post-processing. {found.about}"
    return _made(
        _ranges(values, y, "estimate", look, dates=found.dates),
        found.asked,
        note,
        internal=False,
        about=f"{found.percent} intervals for the {found.target}, from {found.replicates} replicates.",
    )
