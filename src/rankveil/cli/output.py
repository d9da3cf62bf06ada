"""What commands share: tables and progress for people on standard error, JSON for machines on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON object on standard output."
)


def console(*, err: bool = False) -> Console:
    return Console(stderr=err, highlight=False, soft_wrap=False)


def print_json(content: Any) -> None:
    click.echo(json.dumps(content, indent=2, ensure_ascii=False))


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int = 99) -> None:
    """A table on standard output; columns from `numbers_from` on are aligned to the right."""
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for place, header in enumerate(headers):
        table.add_column(header, justify="right" if place >= numbers_from else "left", header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))  # as it is: a column name may look like markup
    console().print(table)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner on standard error that names the stage at work."""
    if quiet:
        yield lambda stage: None
        return
    terminal = console(err=True)
    with terminal.status("starting") as status:

        def show(stage: str) -> None:
            if terminal.is_terminal:
                status.update(stage)
            else:
                terminal.print(f"... {stage}")

        yield show
