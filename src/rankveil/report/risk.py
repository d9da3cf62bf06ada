"""Attacks on a release as a page. Internal: first line, title and file name say so."""

from __future__ import annotations

from typing import Any

from rankveil.report.charts import GRID, INK, QUIET, SERIES, inline
from rankveil.report.render import environment, page
from rankveil.risk.results import CRITERIA, AttackRisk, Risk

_ROW_HEIGHT = 22
MEANINGS = {
    "singling out": "Does a condition made from the release fit one person alone, more often if they are in the table?",
    "linkability": "Does the release tell that two halves of a record are one person's, more often of people in it?",
    "inference": "Does the release tell a missing value better of people in the table than of people who are not?",
}
READING = (
    "A risk is what an attack finds out about people in the table beyond what it finds out about people who are not in"
    " it: 0 if they are no worse off, 1 if every attack on them succeeds and none on the others that could fail.",
    "The bar is the range that holds the risk of all from whom targets were drawn, in at least 95 of 100 cases. A range"
    " that reaches below 0 holds no proof of any risk. Each range holds by itself: of twenty attacks one may lie"
    " outside its own by chance, and the worst of many looks worse than it is.",
    "The mark is the limit that ε sets, for the mean over releases. One release may come out above or below it by"
    " chance. Of a published method it is what the ε that its paper claims would allow, which is refuted; without noise"
    " there is no limit.",
    "An attack that does no better than guessing (weak) shows little: a better one may find more. Limits hold for all.",
)
DOING = (
    "Risks near 0 and below their limits: the release does what its certificate says.",
    "A risk well above 0 although a limit allows it: ε is large. Choose a smaller one, or leave out the column.",
    "A risk above its limit by more than its range, or a claim that is contradicted: do not publish, and report it.",
    "A published method: what shows here is a leak that no theorem bounds. Use a method with a guarantee.",
)


def attack_rows(result: Risk, most: int | None = None) -> list[list[str]]:
    """A line for each attack, the most certain risk of a criterion first; of inference at most so many columns."""
    rows = []
    for criterion in CRITERIA:
        seen: dict[str, int] = {}
        for each in result.of(criterion):
            seen[each.attack] = seen.get(each.attack, 0) + 1
            if most is None or seen[each.attack] <= most:
                rows.append([criterion, each.name + (" (weak)" if each.weak else ""), *_figures(each)])
    return rows


def _figures(each: AttackRisk) -> list[str]:
    low, high = each.between
    limit = "none" if each.limit is None else f"{each.limit:.3f}"
    rates = [f"{each.members.value:.3f}", f"{each.others.value:.3f}"]
    return [*rates, f"{each.risk:.3f}", f"{low:.3f} to {high:.3f}", limit]


def nearest_lines(result: Risk) -> list[str]:
    found = result.nearest
    limit = "no limit" if found.limit is None else f"limit of ε {found.limit:.3f}"
    verdict = (
        "more than chance gives (p = " if found.p_value < 0.05 else "as chance gives (p = "
    ) + f"{found.p_value:.3g})"
    return [
        f"Nearest record: {found.share:.3f} of {found.released_rows:,} released rows lie nearer to people in the table"
        f" than to as many others (95 %: {found.low:.3f} to {found.high:.3f}; by chance {found.by_chance[0]:.3f} to"
        f" {found.by_chance[1]:.3f}; {limit}): {verdict}. {found.copies:.3f} equal a sampled record in every column.",
    ]


def membership_lines(result: Risk) -> list[str]:
    found = result.membership
    if found is None:
        return []
    low, high = found.advantage_between
    limit = "no limit" if found.advantage_limit is None else f"limit of ε {found.advantage_limit:.3f}"
    claimed = "no ε is claimed" if found.claimed is None else f"claimed: {found.claimed:g}"
    lines = [
        f"Membership: ε is at least {found.epsilon_at_least:.3f}, which holds in 95 of 100 such tests ({claimed});"
        f" advantage {found.advantage:.3f} (95 %: {low:.3f} to {high:.3f}; {limit}). By {found.statistic}, in"
        f" {found.with_target.hits} of {found.with_target.trials} releases of {found.rows} rows with the person and"
        f" {found.without_target.hits} of {found.without_target.trials} without.",
    ]
    if found.contradicts and result.differentially_private:
        lines.append("THE CLAIM IS CONTRADICTED: that happens to a method that keeps it once in 10,000 tests at most.")
    elif found.contradicts:
        lines.append("The ε that the paper claims is contradicted, as theory says: the table is not protected by it.")
    return lines


def skipped_lines(result: Risk) -> list[str]:
    return [f"Not tested: {what} ({why})." for what, why in result.skipped.items()]


def _short(each: AttackRisk) -> str:
    """Names beside bars are short, or they would be cut off."""
    if each.column is None:
        return each.attack
    return f"{each.column}, own row" if each.attack == "own row" else each.column


_LEAST_DRAWN = -0.25  # what lies further to the left is drawn here; the table has the figures


def specification(result: Risk) -> dict[str, Any]:
    """Risks with their ranges, beside the limits."""
    attacks = [each for criterion in CRITERIA for each in result.of(criterion)]
    values: list[dict[str, Any]] = []
    for each in attacks:
        low, high = each.between
        values.append(
            {
                "attack": _short(each),
                "criterion": each.criterion,
                "risk": max(each.risk, _LEAST_DRAWN),
                "low": max(low, _LEAST_DRAWN),
                "high": high,
                "limit": each.limit,
                "label": f"{each.risk:.2f}",
            }
        )
    names = [value["attack"] for value in values]
    y = {
        "field": "attack", "type": "nominal", "sort": names, "title": None,
        "axis": {"ticks": False, "domain": False, "labelLimit": 220,
                 "minExtent": 12 + 7 * min(28, max(map(len, names))), "labelColor": INK, "labelPadding": 8},
    }  # fmt: skip
    scale = {"domain": [min(-0.05, *(value["low"] for value in values)), 1.0], "nice": False}
    x = {"field": "risk", "type": "quantitative", "title": "risk beyond that of people who are not in the table",
         "scale": scale, "axis": {"tickCount": 5}}  # fmt: skip
    colour = {
        "field": "criterion", "type": "nominal", "title": None,
        "scale": {"domain": list(CRITERIA), "range": list(SERIES[:3])},
        "legend": {"orient": "bottom", "symbolType": "circle", "symbolOpacity": 1},
    }  # fmt: skip
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": GRID, "aria": False},
         "encoding": {"x": {"datum": 0, "type": "quantitative"}, "y": None}},
        {"mark": {"type": "bar", "height": 6, "opacity": 0.4, "aria": False},
         "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour}},
        {"mark": {"type": "point", "filled": True, "size": 50, "opacity": 1, "aria": False},
         "encoding": {"x": x, "color": colour}},
    ]  # fmt: skip
    if result.epsilon is not None:
        layers.append(
            {"mark": {"type": "tick", "thickness": 2, "size": 16, "color": INK, "aria": False},
             "encoding": {"x": {**x, "field": "limit"}}}
        )  # fmt: skip
    return {
        "title": {"text": "Risk of each attack, with its range" + (
            " and the limit of ε (mark)" if result.epsilon is not None else "; there is no limit"),
            "subtitle": result.note, "subtitleColor": QUIET, "subtitleFontSize": 11, "offset": 12},
        "width": 380, "height": {"step": _ROW_HEIGHT}, "data": {"values": values}, "encoding": {"y": y},
        "layer": layers,
    }  # fmt: skip


def content(result: Risk) -> dict[str, Any]:
    """What the page's template needs; the same for a part of another page."""
    delta = f", δ = {result.delta:g}" if result.delta else ""
    amount = "" if result.epsilon is None else f"ε = {result.epsilon:g}{delta}"
    holds = f"{amount}; protects {result.protects}" if result.differentially_private else "without a guarantee"
    claim = f" (its paper claims {amount})" if amount and not result.differentially_private else ""
    return {
        "result": result,
        "picture": inline(specification(result), "Risk of each attack with its range, beside the limit of ε"),
        "about": f"{result.method}, {holds}{claim}",
        "rows": attack_rows(result),
        "meanings": MEANINGS,
        "lines": [*nearest_lines(result), *membership_lines(result), *skipped_lines(result)],
        "reading": READING,
        "doing": DOING,
    }


def as_section(result: Risk) -> str:
    """A part of a page: headings from <h2> on, no style of its own."""
    return str(environment().get_template("risk_section.html.jinja").render(**content(result)))


def as_page(result: Risk) -> str:
    """A page that needs nothing else."""
    return page("risk.html.jinja", title="Risk of a release", note=result.note, **content(result))
