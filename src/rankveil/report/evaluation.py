"""The evaluation of a release as one page: internal, self-contained, and with the same figures as its JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankveil.certificate import Certificate
from rankveil.declare import Plan
from rankveil.evaluate.results import Evaluation, PairResult
from rankveil.evaluate.scores import FAIR, GOOD
from rankveil.evaluate.subgroups import FEWEST_JUDGED
from rankveil.report import figures
from rankveil.report.charts import inline
from rankveil.report.drawer import check_extra
from rankveil.report.heat import MOST_COLUMNS
from rankveil.report.render import environment, page
from rankveil.report.reproduction import Reproduction, belongs, reproduction
from rankveil.report.risk import as_section
from rankveil.report.verdict import verdict
from rankveil.risk.results import Risk

_WORST_PAIRS = 12
_WORST_GROUPS = 15


def check_extras() -> None:
    """Refuse at once, before anything is measured, what could not be drawn in the end."""
    check_extra()
    environment()


def as_page(
    evaluation: Evaluation,
    plan: Plan,
    certificate: Certificate | None = None,
    *,
    made: Reproduction | None = None,
    risk: Risk | None = None,
    title: str = "Evaluation of a release",
    progress: Callable[[str], None] = lambda stage: None,
) -> str:
    """One HTML file. `made` says how to make it again: see rankveil.report.reproduction. `risk`: a section of it."""
    made = reproduction() if made is None else made
    found = evaluation.as_dict()
    progress("drawing charts")
    return page(
        "evaluation.html.jinja",
        title=title,
        note=evaluation.note,
        evaluation=evaluation,
        value=lambda path: look_up(found, path),
        plan=plan,
        certificate=certificate,
        misfits=[] if certificate is None else belongs(certificate, plan, made),
        verdict=verdict(evaluation, certificate),
        good=GOOD,
        fair=FAIR,
        fewest=FEWEST_JUDGED,
        charts=_charts(evaluation),
        pairs=_worst_first(evaluation.pairs)[:_WORST_PAIRS],
        groups=list(enumerate(evaluation.subgroups))[:_WORST_GROUPS],
        made=made,
        risk=None if risk is None else as_section(risk),
    )


def look_up(found: dict[str, Any], path: str) -> Any:
    """`columns.2.jsd` in nested dictionaries and lists."""
    place: Any = found
    for part in path.split("."):
        place = place[int(part)] if isinstance(place, list | tuple) else place[part]
    return place


def _worst_first(pairs: tuple[PairResult, ...]) -> list[tuple[int, PairResult]]:
    """With their places in the evaluation."""
    return sorted(enumerate(pairs), key=lambda entry: -entry[1].total_variation)


def _charts(evaluation: Evaluation) -> dict[str, Any]:
    """Every chart of the page as SVG; None where there is nothing to draw."""
    names = list(dict.fromkeys(name for pair in evaluation.pairs for name in pair.columns))
    correlated = [pair for pair in evaluation.pairs if pair.correlation is not None]
    ordered = [name for name in names if any(name in pair.columns for pair in correlated)]
    queries = evaluation.queries
    about_groups = [group for group in evaluation.subgroups if group.error is not None]
    return {
        "columns": [
            _chart(each.bars, figures.of_distribution(each), f"Distribution of {each.column} before and after")
            for each in evaluation.distributions
        ],
        "pairs": figures.of_pair_errors(evaluation.pairs, names) if evaluation.pairs else None,
        "pair_columns": len(names),
        "most_columns": MOST_COLUMNS,
        "strongest": figures.strongest_error(evaluation.pairs),
        "correlations": figures.of_correlations(correlated, ordered) if correlated else None,
        "queries": None
        if queries is None
        else inline(figures.of_queries(queries), "Answers of the release against those of the original"),
        "intervals": None
        if evaluation.intervals is None
        else _chart(
            evaluation.intervals.each,
            figures.of_intervals(evaluation.intervals),
            "Intervals of estimates around what the original says",
        ),
        "groups": _chart(about_groups, figures.of_subgroups(about_groups), "Errors of groups against their size"),
    }


def _chart(wanted: object, spec: figures.Spec, about: str) -> str | None:
    return inline(spec, about) if wanted else None
