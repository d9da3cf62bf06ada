"""`rankveil tables`"""

from __future__ import annotations

from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json, print_table
from rankveil.cli.run import EXIT_CODES


@click.command("tables", epilog=EXIT_CODES)
@click.argument("model", type=PATH)
@click.argument("columns", nargs=-1, required=True)
@json_option
def command(model: Path, columns: tuple[str, ...], as_json: bool) -> None:
    """Count the cells of one to three COLUMNS as MODEL knows them, with the standard deviation of each count.

    MODEL is the folder model/ that `release --keep-model` wrote, or the one around it. A table that was measured is
    shown as it was measured, noise and all, and its deviations are known. Any other is that of the model, and no
    deviation is claimed for it: the line above the table says which.

    \b
      rankveil tables 2031-q1/ age
      rankveil tables 2031-q1/ age sex
      rankveil tables 2031-q1/model age sex region --json > table.json
    """
    from rankveil.model import Model

    found = Model.load(model).table(columns)
    if as_json:
        print_json(found.as_dict())
        return
    click.echo(found.note[0].upper() + found.note[1:] + ".")
    print_table("", [*columns, "count", "deviation"], found.texts(), numbers_from=len(columns))
