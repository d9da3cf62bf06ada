"""`rankveil load`"""

from __future__ import annotations

from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json
from rankveil.cli.run import EXIT_CODES


@click.command("load", epilog=EXIT_CODES)
@click.argument("release", type=PATH)
@click.argument("address")
@click.option("--overwrite", is_flag=True, help="Replace a table that is already there.")
@json_option
def command(release: Path, address: str, overwrite: bool, as_json: bool) -> None:
    """Write RELEASE, the folder of a release, as the table of a database that ADDRESS names.

    Needs no data and costs no budget. The release has to fit its certificate. The table appears whole or not at all.

    \b
      rankveil load 2031-q1/ 'postgresql://me@host/clinic?table=patients_2031'
      rankveil load 2031-q1/ 'sqlite:///clinic.db?table=patients_2031'
    """
    from rankveil.formats.addresses import shown
    from rankveil.load import load

    rows = load(release, address, overwrite=overwrite)
    if as_json:
        print_json({"table": shown(address), "rows": rows})
        return
    click.echo(f"Table  {shown(address)}  ({rows} rows)")
