"""`rankveil methods`"""

from __future__ import annotations

import click

from rankveil.cli.output import console, json_option, print_json


@click.command("methods")
@json_option
def command(as_json: bool) -> None:
    """List the methods and what holds for the table each of them releases.

    \b
      rankveil methods
      rankveil methods --json
    """
    from rankveil.methods import METHODS
    from rankveil.privacy import cited

    if as_json:
        print_json(
            [
                {
                    "method": method.name,
                    "summary": method.summary,
                    "microaggregate": method.columns_in_table[0],
                    "protect": method.columns_in_table[1],
                    "relink": method.columns_in_table[2],
                    "differentially_private": method.differentially_private,
                    "holds": method.holds,
                    "theorems": [{"id": one.id, "title": one.title} for one in cited(method.theorems)],
                }
                for method in METHODS.values()
            ]
        )
        return
    terminal = console()
    for method in METHODS.values():
        verdict = "differentially private" if method.differentially_private else "NOT differentially private"
        terminal.print(f"[bold]{method.name}[/bold]  ({verdict})")
        grouping, noise, linking = method.columns_in_table
        for heading, text in (
            ("in short", method.summary),
            ("microaggregate", grouping),
            ("protect", noise),
            ("relink", linking),
            ("holds", method.holds),
            ("by", ", ".join(f"{one.id} {one.title}" for one in cited(method.theorems))),
        ):
            terminal.print(f"  {heading:<15} {text}")
        terminal.print()
