"""The command line: one file per command; each parses, calls and prints. Commands are loaded when they are used."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import traceback

import click

from rankveil._version import __version__
from rankveil.errors import RankveilError, bug_in

_COMMANDS = (
    "init",
    "release",
    "verify",
    "evaluate",
    "compare",
    "audit",
    "attack",
    "methods",
    "explain",
    "ledger",
    "reproduce",
    "web",
)

EXIT_CODES = (
    "Exit codes: 0 done, 1 bug, 2 usage, 3 data outside the plan, 4 budget refused, 5 audit contradicts the claim."
)


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"rankveil.cli.{cmd_name}").command
        return command


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


def main() -> None:
    """Run the command line; every refusal ends in one message and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ε that the terminal cannot show must not end a run
    try:
        root(standalone_mode=False)
    except RankveilError as error:
        _refuse(error)
    except click.exceptions.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:
        _apologise(error)


def _refuse(error: RankveilError) -> None:
    if "--json" in sys.argv:
        click.echo(json.dumps(error.as_dict(), indent=2))
    click.echo(f"{type(error).__name__}: {error}", err=True)
    sys.exit(error.exit_code)


def _apologise(error: Exception) -> None:
    """A bug. The exception's own text is not shown, because it may quote data."""
    if os.environ.get("RANKVEIL_DEBUG"):
        traceback.print_exc()
    click.echo(
        f"{bug_in(error)}\n"
        "No release was completed.\n"
        "Please report it. RANKVEIL_DEBUG=1 shows the full traceback, which may contain values of your data.",
        err=True,
    )
    sys.exit(1)
