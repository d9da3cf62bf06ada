"""The command line without its process: which commands there are, and how each ends."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rankveil._version import __version__
from rankveil.cli.stopping import Stopped, Stopping
from rankveil.errors import RankveilError, bug_in
from rankveil.system import reader_has_gone

_COMMANDS = (
    "init",
    "release",
    "verify",
    "certificate",
    "key",
    "estimate",
    "sample",
    "load",
    "tables",
    "evaluate",
    "compare",
    "audit",
    "attack",
    "risk",
    "methods",
    "explain",
    "ledger",
    "reproduce",
    "web",
)

EXIT_CODES = (
    "Exit codes: 0 done, 1 bug, 2 usage, 3 data outside the plan, 4 budget refused, 5 audit contradicts the claim."
)
_CLOSED_EARLY = 141  # 128 + SIGPIPE, as other programs end before `| head`


class ClosedEarly(Exception):
    """The program that reads the output has gone. Not an OSError: click would make an exit of its own of it."""


class _Lazy(click.Group):
    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _noticing_the_reader():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _noticing_the_reader():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"rankveil.cli.{cmd_name}").command
        return command


@contextmanager
def _noticing_the_reader() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if reader_has_gone(error) or reader_has_gone(error.__context__):  # the latter: rich
            raise ClosedEarly from None
        raise


@click.command(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, prog_name="rankveil")
def root() -> None:
    """Publish a differentially private version of a whole table, with a certificate that says what holds.

    \b
      rankveil init people.csv                                    draft a plan
      rankveil release people.csv --plan plan.toml --out 2031-q1/ publish
      rankveil evaluate people.csv 2031-q1/ --plan plan.toml      see what it cost in utility
    """


def run(stopping: Stopping | None = None) -> int:
    """The command that `sys.argv` names, to its exit code; every refusal is one message.

    After a signal nothing is said here, whatever it was turned into on its way: the exception is raised on.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ε that the terminal cannot show must not end a run
    stopping = stopping or Stopping()
    try:
        root(standalone_mode=False)
    except BaseException as error:
        if stopping.code is not None:
            raise
        try:
            return _told(error)
        except OSError as unwritten:
            if not reader_has_gone(unwritten):
                raise
            return _CLOSED_EARLY
    if stopping.code is not None:
        raise Stopped(stopping.code)  # it was lost on its way
    return 0


def _told(error: BaseException) -> int:
    """An exception in words, and the exit code for it."""
    if isinstance(error, ClosedEarly):
        return _CLOSED_EARLY
    if isinstance(error, RankveilError):
        return _refused(error)
    if isinstance(error, click.exceptions.Abort):
        click.echo("Stopped.", err=True)
        return 130
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return _apologised(error)


def _refused(error: RankveilError) -> int:
    if "--json" in sys.argv:
        click.echo(json.dumps(error.as_dict(), indent=2))
    click.echo(f"{type(error).__name__}: {error}", err=True)
    return error.exit_code


def _apologised(error: BaseException) -> int:
    """A bug. The exception's own text is not shown, because it may quote data."""
    if os.environ.get("RANKVEIL_DEBUG"):
        traceback.print_exception(error)
    click.echo(
        f"{bug_in(error)}\n"
        "No release was completed.\n"
        "Please report it. RANKVEIL_DEBUG=1 shows the full traceback, which may contain values of your data.",
        err=True,
    )
    return 1


def flushed(code: int) -> int:
    """The exit code once everything printed has left this process; what cannot leave is thrown away."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if not reader_has_gone(error):
                raise
            code = _CLOSED_EARLY
    if code == _CLOSED_EARLY:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for handle in (1, 2):
            os.dup2(nowhere, handle)  # Python flushes once more when it ends
    return code
