"""A comparison as one page that needs nothing else, made from the comparison's JSON.

The page has no script and loads nothing; its policy names its one style sheet by hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

from rankveil.report.lines import Line, Point, chart, sample

_LOOK = Path(__file__).parent / "look"
_RESAMPLED = "resampled"
_BY_K = ("pair_total_variation", "wasserstein", "jsd", "variance_change")
Content = dict[str, Any]
SettingDict = dict[str, Any]

_EXPLAINED = {
    "total_variation": "How far single columns are off: the share of rows that would have to change.",
    "pair_total_variation": "The same for pairs of columns.",
    "wasserstein": "How far numbers have moved, in standard deviations of the column.",
    "correlation_error": "Change of rank correlations.",
    "query_error": "How far off random counts over two columns are, as a share of rows.",
    "jsd": "Jensen-Shannon divergence of single columns, the paper's measure.",
    "variance_change": "Relative change of variances, the paper's measure.",
    "relative_error": "Row by row, the paper's measure; only for releases whose rows belong to records.",
    "learning": "Score of a learner taught by the release, on real test records. Larger is better.",
}


def page(content: Content) -> str:
    """The whole page."""
    sheet = "\n".join((_LOOK / name).read_text(encoding="utf-8") for name in ("tokens.css", "compare.css"))
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    standing_in = bool(content["table"]["stand_in"])
    parts = [
        _head(content),
        _words(content),
        _cost(content),
        _by_epsilon(content),
        _by_k(content),
        _table(content),
        _failures(content),
        _about(content),
    ]
    return (
        f"<!-- {escape(content['note'])} -->\n"
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex, nofollow">\n'
        f"<title>Comparison ({'on a stand-in' if standing_in else 'internal'})</title>\n<style>{sheet}</style></head>\n"
        f'<body><p class="banner{" calm" if standing_in else ""}" role="note">{escape(content["note"])}</p>\n'
        '<div class="page">' + "\n".join(part for part in parts if part) + "</div></body></html>\n"
    )


def summary(content: Content) -> str:
    """A few lines for a notebook: what is best, and the means."""
    words = "".join(f"<li>{escape(text)}</li>" for text in content["in_words"])
    return f"<div><p><strong>{escape(content['note'])}</strong></p><ul>{words}</ul>{_figures(content)}</div>"


def _head(content: Content) -> str:
    table = content["table"]
    kind = f" ({escape(table['stand_in'])})" if table["stand_in"] else ""
    epsilons = ", ".join(_epsilons(content))
    runs = max((setting["runs"] for setting in content["settings"]), default=1)
    return (
        f'<header><h1>Comparison</h1><p class="lead">Table: <strong>{escape(str(table["name"]))}</strong>{kind},'
        f" {table['rows']:,} rows, {table['columns']} columns. ε = {escape(epsilons)}; {_runs(runs)}.</p></header>"
    )


def _runs(runs: int) -> str:
    if runs == 1:
        return "one run per setting, so how much is chance is not known"
    return f"{runs} runs per setting, shown as their mean, with whiskers of one standard deviation between runs"


def _words(content: Content) -> str:
    entries = "".join(f"<li>{escape(text)}</li>" for text in content["in_words"])
    note = (
        "Named are methods with a guarantee only. Smaller is better for every measure but the model score. Figures are"
        " means ± the standard deviation between runs."
    )
    return f'<section><h2>What is best</h2><ul class="best">{entries}</ul><p class="quiet">{note}</p></section>'


def _cost(content: Content) -> str:
    if content["table"]["stand_in"]:
        text = (
            "These figures come from a stand-in, so choosing by them costs no privacy. They hold for the stand-in: your"
            " table may have other shapes and dependences, and another setting may be best for it."
        )
        return f'<section class="box calm"><h2>What this costs</h2><p>{text}</p></section>'
    text = (
        "These figures were computed from the original table, without noise. The releases behind them were drawn in"
        " memory, measured and thrown away; no budget was spent and the ledger does not know of them. But whoever"
        " chooses a method, ε or k by them lets the table decide something that the published certificate then shows:"
        " a small leak that ε does not cover. To choose without it, compare on a public table of the same columns, or"
        " on one made from the plan:"
    )
    return (
        f'<section class="box"><h2>What this costs</h2><p>{text}</p>'
        "<pre>rankveil compare --plan plan.toml --stand-in made</pre></section>"
    )


# Charts


def _epsilons(content: Content) -> list[str]:
    found = {setting["epsilon"] for setting in content["settings"] if setting["epsilon"] is not None}
    return sorted(found, key=float)


def _names(content: Content) -> list[str]:
    """Methods in the order of their looks."""
    return list(dict.fromkeys(setting["method"] for setting in content["settings"]))


def _look(content: Content, method: str) -> str:
    fixed = {"laplace": "laplace", "published:ranking": "plain", _RESAMPLED: "again"}
    if method in fixed:
        return fixed[method]
    others = [name for name in _names(content) if name not in fixed]
    return f"s{others.index(method) % 8}"


def _called(method: str) -> str:
    return {
        _RESAMPLED: "the original, drawn again with replacement: what chance alone does",
        "published:ranking": "published:ranking: microaggregation without noise, no guarantee",
    }.get(method, method + (" (no guarantee)" if method.startswith("published:") else ""))


def _legend(content: Content, methods: Iterable[str]) -> str:
    entries = "".join(f"<li>{sample(_look(content, name))}{escape(_called(name))}</li>" for name in methods)
    return f'<ul class="legend">{entries}</ul>'


def _point(x: float, setting: SettingDict, measure: str) -> Point:
    mean, spread = setting["mean"][measure], setting["spread"][measure]
    ends = (None, None) if spread is None else (max(mean - spread, mean / 4), mean + spread)
    return Point(x, mean, *ends)


def _better(content: Content, measure: str) -> Callable[[SettingDict], float]:
    sign = -1.0 if measure in content["larger_is_better"] else 1.0
    return lambda setting: sign * setting["mean"][measure]


def _by_epsilon(content: Content) -> str:
    if not _epsilons(content):
        return ""
    figures = []
    for measure, title in content["measures"].items():
        lines = [line for name in _names(content) if (line := _line(content, name, measure, "epsilon"))]
        about = f"{title} against ε, one line per method; the table below has the numbers"
        figures.append(_figure(title, _EXPLAINED[measure], chart(lines, x_title="ε", about=about)))
    note = (
        "Methods that form clusters are shown with the k that is best for the measure at that ε. Most scales are"
        " logarithmic: an untouched copy of the original has no error at all, and lies below every chart."
    )
    return (
        f'<section><h2>Error against ε</h2><p class="quiet">{note}</p>{_legend(content, _names(content))}'
        f'<div class="charts">{"".join(figures)}</div></section>'
    )


def _line(content: Content, method: str, measure: str, x: str, epsilon: str | None = None) -> Line | None:
    """A method's best means against `x`, at one ε or at all; drawn across the chart where it has no such setting."""
    own = [s for s in content["settings"] if s["method"] == method and s["mean"][measure] is not None]
    own = [s for s in own if epsilon is None or s["epsilon"] in (epsilon, None)]
    if not own:
        return None
    better, look = _better(content, measure), _look(content, method)
    if own[0][x] is None:
        return Line(method, look, (_point(1.0, min(own, key=better), measure),), across=True)
    best = {s[x]: s for s in sorted(own, key=better, reverse=True)}  # the best one comes last, and stays
    return Line(method, look, tuple(_point(float(value), setting, measure) for value, setting in best.items()))


def _by_k(content: Content) -> str:
    clustering = [s for s in content["settings"] if s["k"] is not None]
    if len({s["k"] for s in clustering}) < 2:
        return ""
    blocks = []
    for measure in (name for name in _BY_K if name in content["measures"]):
        title = content["measures"][measure]
        figures = []
        for epsilon in _epsilons(content):
            lines = [line for name in _names(content) if (line := _line(content, name, measure, "k", epsilon))]
            about = f"{title} against k at ε = {epsilon}, one line per method; the table below has the numbers"
            figures.append(_figure(f"ε = {epsilon}", "", chart(lines, x_title="k", about=about)))
        blocks.append(f'<h3>{escape(title)}</h3><div class="charts">{"".join(figures)}</div>')
    note = "Methods without clusters are drawn across."
    return (
        f'<section><h2>Error against k</h2><p class="quiet">{note}</p>{_legend(content, _names(content))}'
        f"{''.join(blocks)}</section>"
    )


def _figure(title: str, words: str, picture: str) -> str:
    said = f'<span class="quiet">{escape(words)}</span>' if words else ""
    return f"<figure><figcaption><strong>{escape(title)}</strong>{said}</figcaption>{picture}</figure>"


# Numbers


def _table(content: Content) -> str:
    return (
        '<section><h2>All settings</h2><p class="quiet">Mean ± standard deviation between runs. Bold: best at its ε'
        " among the methods with a guarantee that were asked for.</p>"
        f'<div class="scroll" role="region" aria-label="All settings" tabindex="0">{_figures(content)}</div></section>'
    )


def _figures(content: Content) -> str:
    measures = content["measures"]
    best = {
        (setting["epsilon"], measure): min(rivals, key=_better(content, measure))
        for setting in content["settings"]
        for measure in measures
        if (rivals := [s for s in content["settings"] if _competes(s, setting["epsilon"], measure)])
    }
    head = "".join(f'<th scope="col" class="n">{escape(title)}</th>' for title in measures.values())
    lines = []
    for setting in sorted(content["settings"], key=lambda s: (float(s["epsilon"] or 0), s["method"], s["k"] or 0)):
        cells = "".join(
            f'<td class="n">{_cell(setting, name, winner=best.get((setting["epsilon"], name)) is setting)}</td>'
            for name in measures
        )
        given = "".join(f'<td class="n">{escape(str(setting[part] or "–"))}</td>' for part in ("epsilon", "k"))
        mark = "" if setting["differentially_private"] else ' <span class="quiet">no guarantee</span>'
        delta = f' <span class="quiet">δ = {escape(setting["delta"])}</span>' if setting["delta"] else ""
        lines.append(
            f'<tr><th scope="row">{escape(setting["method"])}{mark}{delta}</th>{given}{cells}'
            f'<td class="n">{setting["seconds"]:.2f}</td></tr>'
        )
    return (
        '<table><thead><tr><th scope="col">method</th><th scope="col" class="n">ε</th><th scope="col" class="n">k</th>'
        f'{head}<th scope="col" class="n">seconds</th></tr></thead><tbody>\n{chr(10).join(lines)}\n</tbody></table>'
    )


def _competes(setting: SettingDict, epsilon: str | None, measure: str) -> bool:
    asked = setting["role"] == "asked" and setting["differentially_private"]
    return bool(
        asked and epsilon is not None and setting["epsilon"] == epsilon and setting["mean"][measure] is not None
    )


def _cell(setting: SettingDict, measure: str, *, winner: bool) -> str:
    mean, spread = setting["mean"][measure], setting["spread"][measure]
    if mean is None:
        return "–"
    shown = _short(mean) + ("" if spread is None else f' <span class="quiet">± {_short(spread)}</span>')
    return f"<strong>{shown}</strong>" if winner else shown


def _short(value: float) -> str:
    if abs(value) < 0.00005:
        return f"{value:.1g}"
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"


def _failures(content: Content) -> str:
    failed = [row for row in content["rows"] if row["failed"]]
    entries = "".join(
        f"<li>{escape(row['method'])}, ε = {escape(str(row['epsilon']))}, k = {escape(str(row['k']))}:"
        f" {escape(row['failed'])}</li>"
        for row in failed
    )
    return f"<section><h2>Could not be run</h2><ul>{entries}</ul></section>" if failed else ""


def _about(content: Content) -> str:
    target = f" The model learns {escape(content['target'])}." if content["target"] else ""
    return (
        f'<section><h2>Making this again</h2><p class="quiet">rankveil {escape(content["rankveil_version"])}.'
        " Noise comes from the system's generator, so figures differ a little from run to run; the same folder goes on"
        f" where it was left.{target} The JSON and CSV files beside this page hold every run.</p></section>"
    )
