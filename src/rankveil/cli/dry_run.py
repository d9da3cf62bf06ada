"""The dry run in the terminal: where the budget goes, and how much noise every column gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from rankveil.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from rankveil.declare import Plan
    from rankveil.preview import Part, Preview

_BAR = 60  # characters
_LOOKS = {"column": ("█", "blue"), "linkage": ("▓", "yellow"), "bounds": ("░", "white"), "rows": ("▒", "white")}


def show_dry_run(plan: Plan, *, counted: int | None, as_json: bool) -> None:
    """`counted`: how many rows the table was found to have; None where it could not be looked at."""
    from rankveil.preview import preview
    from rankveil.preview.expectations import ABOUT_NOISE

    looked = preview(plan, counted)
    if as_json:
        print_json({**looked.as_dict(), "rows_counted": counted is not None, "unconfirmed": plan.guesses})
        return
    click.echo(_heading(looked))
    if looked.meaning:
        click.echo(looked.meaning)
    click.echo()
    _show_split(looked.split)
    _show_columns(looked)
    if looked.expectations:
        click.echo(f"\n{ABOUT_NOISE}")
    _show_intervals(looked)
    if looked.linkage:
        click.echo(f"\n{looked.linkage}")
    if looked.choice is not None:
        click.echo(f"\nε alone, or δ as well\n{looked.choice.words}")
    if looked.warnings:
        click.echo("\nWorth knowing")
        for warning in looked.warnings:
            click.echo(f"- {warning}")
    click.echo(f"\nWhat would hold: {looked.method.holds} Protected: {looked.protects}.")
    read = "of the table only the number of rows was read" if counted is not None else "no table was read"
    click.echo(f"Dry run: {read}, nothing was written, no budget was spent.")
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
            mechanism = "; ".join(mechanisms[name]) if first[0] else ""
            rows.append([*first, expectation.question, expectation.answer, mechanism])
            first = ["", "", ""]
        if not found:
            rows.append([*first, "", "", "; ".join(mechanisms[name])])
    print_table("", ["column", "kind", "budget", "what noise", "within, in 95 of 100 draws", "mechanism"], rows)


def _show_intervals(looked: Preview) -> None:
    """How wide intervals of estimates will be."""
    from rankveil.preview.intervals import ABOUT_INTERVALS

    if not looked.intervals:
        return
    rows = [[each.column or "two columns", each.question, each.answer] for each in looked.intervals]
    click.echo()
    print_table("", ["estimate from", "what", "95 % interval, expected"], rows)
    click.echo(f"\n{ABOUT_INTERVALS}")
