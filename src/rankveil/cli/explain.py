"""`rankveil explain`"""

from __future__ import annotations

from dataclasses import asdict

import click

from rankveil.cli.output import console, json_option, print_json, print_table
from rankveil.privacy import Theorem, theorem_named, theorems


@click.command("explain")
@click.argument("theorem", required=False)
@json_option
def command(theorem: str | None, as_json: bool) -> None:
    """Print a theorem that code or a certificate names, with its proof; without THEOREM list all.

    THEOREM is its number, as certificates cite it, or its title. The same pages are in docs/privacy.

    \b
      rankveil explain
      rankveil explain T20
      rankveil explain "joint channel" --json
    """

    def fields(one: Theorem) -> dict[str, object]:
        return {**asdict(one), "where": one.where}

    if theorem is not None:
        found = theorem_named(theorem)
        if as_json:
            print_json(fields(found))
        else:
            _print(found)
        return
    every = list(theorems().values())
    if as_json:
        print_json([fields(one) for one in every])
        return
    print_table("", ["", "theorem", "page"], [[one.id, one.title, one.page] for one in every])


def _print(found: Theorem) -> None:
    from rich.markdown import Markdown
    from rich.padding import Padding

    terminal = console()
    terminal.print(f"[bold]{found.id} {found.title}[/bold]\n")
    for paragraph in (f"**Statement.** {found.statement}", found.proof):
        terminal.print(Padding(Markdown(paragraph), (0, 0, 1, 0)))
    for heading, files in (("relied on by", found.modules), ("checked by", found.checked_by)):
        if files:
            terminal.print(f"{heading:<13} {', '.join(files)}")
    terminal.print(f"{'page':<13} {found.where}")
