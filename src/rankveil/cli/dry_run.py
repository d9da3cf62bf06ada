"""The dry run in the terminal: where the budget goes, and what to expect of every column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from rankveil.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from rankveil.flow.declare import Plan
    from rankveil.preview import Part, Preview

_BAR = 60  # characters
_LOOKS = {"column": ("█", "blue"), "linkage": ("▓", "yellow"), "bounds": ("░", "white")}


def show_dry_run(plan: Plan, *, as_json: bool) -> None:
    from rankveil.preview import preview

    looked = preview(plan)
    if as_json:
        print_json({**looked.as_dict(), "unconfirmed": plan.guesses})
        return
    click.echo(_heading(looked) + "\n")
    _show_split(looked.split)
    _show_columns(looked)
    for text in (looked.linkage, _one_way(looked)):
        if text:
            click.echo(f"\n{text}")
    if looked.warnings:
        click.echo("\nWorth knowing")
        for warning in looked.warnings:
            click.echo(f"- {warning}")
    click.echo(f"\nWhat would hold: {looked.method.holds}")
    if looked.rows_assumed:
        click.echo(f"Assumed: {looked.rows:,} rows. Set expected_rows in [release] for your own number.")
    click.echo("Dry run: no data were read, nothing was written, no budget was spent.")
    if plan.guesses:
        click.echo(f"The plan holds guesses in {len(plan.guesses)} places; a release would refuse them.")


def _heading(looked: Preview) -> str:
    settings = [("ε", looked.epsilon), ("δ", looked.delta), ("k", looked.k), ("rows", f"{looked.rows:,}")]
    return f"{looked.method.name}: " + ", ".join(f"{name} = {value}" for name, value in settings if value)


def _show_split(split: tuple[Part, ...]) -> None:
    """The budget as one bar, and what its parts are."""
    if not split:
        return
    shares: dict[tuple[str, str], float] = {}
    for part in split:
        name = "columns, each by itself" if part.purpose == "column" else part.name
        shares[name, part.purpose] = shares.get((name, part.purpose), 0.0) + part.share
    bar, done, drawn = Text(), 0.0, 0
    for (_, purpose), share in shares.items():
        done += share
        sign, colour = _LOOKS[purpose]
        bar.append(sign * (round(_BAR * done) - drawn), style=colour)
        drawn = round(_BAR * done)
    console().print(bar)
    click.echo("budget: " + ", ".join(f"{name} {100 * share:.0f} %" for (name, _), share in shares.items()) + "\n")


def _show_columns(looked: Preview) -> None:
    shares = {part.name: f"{100 * part.share:.2g} %" for part in looked.split if part.purpose == "column"}
    mechanisms: dict[str, list[str]] = {}
    for line in looked.lines:
        mechanisms.setdefault(line.column, []).append(line.mechanism)
    kinds = {line.column: line.kind for line in looked.lines if line.kind}
    rows = []
    for name, kind in kinds.items():
        found = [expectation for expectation in looked.expectations if expectation.column == name]
        first = [name, kind, shares.get(name, "none")]
        for expectation in found:
            answer = f"{expectation.answer} {expectation.assumes}".strip()
            rows.append([*first, expectation.question, answer, "; ".join(mechanisms[name]) if first[0] else ""])
            first = ["", "", ""]
        if not found:
            rows.append([*first, "", "", "; ".join(mechanisms[name])])
    print_table("", ["column", "kind", "budget", "what you ask", "within, in 95 of 100", "mechanism"], rows)


def _one_way(looked: Preview) -> str:
    if looked.one_way_error is None:
        return ""
    return (
        f"Expected error of a column by itself (total variation, mean over columns): at most about"
        f" {looked.one_way_error:.2g}."
    )
