"""The attack view as a picture and as a page. Both are internal: first line, title and file name say so."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rankveil.audit.attack import Attack, ColumnAttack
from rankveil.report.attack_panels import Mark, height, panel, together
from rankveil.report.render import page

_SIGNS = {
    ("range", "upper bound"): "≥ ",
    ("chance", "upper bound"): "≤ ",
    ("range", "lower bound"): "≤ ",
    ("chance", "lower bound"): "≥ ",
}
LEGEND = (
    "range: the values that hold 95 % of the attacker's posterior probability, as a share of those before the release"
    " (median of the rows attacked). 100 %: nothing learnt.",
    "chance: how likely the attacker thinks the true label is (mean of the rows attacked). In brackets: how many values"
    " the public domain has.",
    "Upper bound (range ≥, chance ≤): no attacker learns more. Lower bound (range ≤, chance ≥): this attacker learns"
    " that much, another one may learn more.",
)


def percent(value: float, sign: str = "") -> str:
    """Three digits that count; a bound is rounded so that it still holds."""
    if value >= 0.9995 and sign != "≥ ":
        return f"{sign}100 %"
    factor = 10.0 ** (2 - math.floor(math.log10(100 * value)))
    digits = 100 * value * factor
    kept = round(digits) if not sign else math.floor(digits) if sign == "≥ " else math.ceil(digits)
    return f"{sign}{kept / factor:.3g} %"


def cell(column: ColumnAttack) -> str:
    # Less than one value cannot be left, so a lower bound on what is learnt is exact there.
    return percent(column.after, "" if _is_one_value(column) else _SIGNS.get((column.measure, column.basis), ""))


def _is_one_value(column: ColumnAttack) -> bool:
    """Whether the attacker knows the value; a bound that allows it does not say so."""
    return column.measure == "range" and column.basis != "upper bound" and column.after * column.values < 1.01


def heading(column: ColumnAttack) -> str:
    return f"{column.name}\n{column.measure} ({column.values:,})"


def as_svg(result: Attack) -> str:
    """One panel per column, one line per method. The first line says that it is internal."""
    head = ("What an attacker who knows everyone else learns about one record", _attacked(result), *KEY, result.note)
    shown = [(one.title, one.words, one.picture, one.height) for one in panels(result)]
    return f"<!-- {result.note} -->\n{together(shown, head)}"


KEY = (
    "Bars begin at what was known before the release: no bar, nothing learnt. Full dots: an attack was run and this is"
    " what it found. Hollow dots: a bound.",
    "Dashed line: ε lets no attacker on any method with a guarantee get beyond it. Blue: with a guarantee; orange:"
    " published, without one.",
)


@dataclass(frozen=True)
class Panel:
    title: str
    words: str
    picture: str
    height: int


def panels(result: Attack) -> list[Panel]:
    """One picture per column."""
    return [_panel(result, place) for place in range(len(result.methods[0].columns))] if result.methods else []


def _panel(result: Attack, place: int) -> Panel:
    columns = [(attack, attack.columns[place]) for attack in result.methods]
    marks = [
        Mark(
            method=attack.method,
            sound=attack.differentially_private,
            after=column.after,
            label="one value" if _is_one_value(column) else cell(column),
            measured=attack.was_attacked,
            is_bound=column.basis.endswith("bound") and not _is_one_value(column),
        )
        for attack, column in columns
    ]
    first = columns[0][1]
    bound = next((column.bound for _, column in columns if column.bound is not None), None)
    about = f"{first.name}: " + "; ".join(f"{mark.method} {mark.label}" for mark in marks)
    picture = panel(marks, before=first.before, bound=bound, ranged=first.measure == "range", about=about)
    return Panel(first.name, f"{first.values:,} possible values", picture, height(marks))


def _attacked(result: Attack) -> str:
    about = f"ε = {result.epsilon}" + ("" if result.k is None else f", k = {result.k}")
    attacked = f"row {result.row}" if result.row is not None else f"{result.attacked_rows:,} rows"
    done = "attacked" if any(attack.was_attacked for attack in result.methods) else "looked at"
    return f"{about}; {attacked} of {result.rows:,} {done}."


def as_page(result: Attack) -> str:
    """A page that needs nothing else: the pictures, the numbers, and what they mean."""
    left = [
        (attack.method, column.name, str(column.left))
        for attack in result.methods
        for column in attack.columns
        if column.left is not None
    ]
    reasons: dict[tuple[str, str], list[str]] = {}
    for attack in result.methods:
        reasons.setdefault((attack.basis, attack.says), []).append(attack.method)
    return page(
        "attack.html.jinja",
        title="Attack view",
        note=result.note,
        result=result,
        about=_attacked(result),
        columns=result.methods[0].columns if result.methods else (),
        panels=panels(result),
        attacked=[attack for attack in result.methods if attack.was_attacked],
        bounded=[attack for attack in result.methods if not attack.was_attacked],
        reasons=[(basis, says, methods) for (basis, says), methods in reasons.items()],
        left=left,
        legend=LEGEND,
        cell=cell,
        percentage=percent,
    )
