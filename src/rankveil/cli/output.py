"""What commands share: tables and progress for people on standard error, JSON for machines on standard output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar, cast

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


class _Table(click.Path):
    """A path; an address of a table in a database, or standard input (`-`), as it is written."""

    name = "table"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, Path) or value == "-" or "://" in value else Path(value)


TABLE = _Table(path_type=Path)


SHEET_HELP = "The sheet of an Excel workbook that holds TABLE, where there are several."


def table_argument(*, required: bool = True) -> Callable[[Command], Command]:
    """TABLE, and which sheet of a workbook it is."""

    def add(function: Command) -> Command:
        @wraps(function)
        def command(*arguments: Any, sheet: str | None = None, **named: Any) -> Any:
            if sheet is not None and named.get("table") is not None:
                named["table"] = f"{named['table']}#{sheet}"
            return function(*arguments, **named)

        with_sheet = click.option("--sheet", metavar="NAME", help=SHEET_HELP)(command)
        return cast(Command, click.argument("table", type=TABLE, required=required)(with_sheet))

    return add


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON object on standard output."
)
quiet_option = click.option("--quiet", is_flag=True, help="No progress on standard error.")


def plan_option(words: str) -> Callable[[Command], Command]:
    return click.option("--plan", "plan_path", required=True, type=PATH, help=words)


def console(*, err: bool = False) -> Console:
    return Console(stderr=err, highlight=False, soft_wrap=False)


_ORDERS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))  # which way texts are read
_SPELT = {
    code: chr(code).encode("unicode_escape").decode()
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *_ORDERS)
    if chr(code) != "\n"
}


def harmless(text: str) -> str:
    """The text of a stranger, for a terminal: what moves its cursor, hides or turns round other texts is spelt out."""
    return text.translate(_SPELT)


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
        side: Any = "right" if place >= numbers_from else "left"
        table.add_column(header, justify=side, header_style="bold", overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))  # no markup: a column name may look like it
    console().print(table)


class Progress:
    """Names the stage at work on standard error, and how fast its rows go by."""

    def __init__(self, show: Callable[[str], None], *, every: float, clock: Callable[[], float] = monotonic) -> None:
        self._show, self._every, self._clock = show, every, clock
        self._stage = "starting"
        self._begin()

    def _begin(self) -> None:
        self._done, self._start = 0, self._clock()
        self._shown = self._start

    def __call__(self, stage: str) -> None:
        self._stage = stage
        self._begin()
        self._show(stage)

    def rows(self, done: int, total: int | None) -> None:
        """So many rows of a pass are done; another pass of the same stage begins where this number falls."""
        if done < self._done:
            self._begin()
        self._done, now = done, self._clock()
        if now - self._shown >= self._every:
            self._shown = now
            self._show(f"{self._stage}: {_pace(done, total, now - self._start)}")


def _pace(done: int, total: int | None, seconds: float) -> str:
    parts = [f"{done:,} rows", f"{done / seconds:,.0f} rows/s"]
    if total is not None and total > done:
        parts.append(f"about {timedelta(seconds=round((total - done) * seconds / done))} left")
    return ", ".join(parts)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """A spinner on a terminal; elsewhere a line for every stage, and every ten seconds of a long one."""
    if quiet:
        yield Progress(lambda text: None, every=3600)
        return
    terminal = console(err=True)
    with terminal.status("starting") as status:
        if terminal.is_terminal:
            yield Progress(status.update, every=0.2)
        else:
            yield Progress(lambda text: terminal.print(f"... {text}"), every=10)
