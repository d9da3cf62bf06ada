"""`rankveil sample`"""

from __future__ import annotations

from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json
from rankveil.cli.run import EXIT_CODES


@click.command("sample", epilog=EXIT_CODES)
@click.argument("model", type=PATH)
@click.option("--rows", type=int, required=True, help="How many rows to draw.")
@click.option("--where", metavar="CONDITION", help="Draw rows that fulfil this, in the language of rules of plans.")
@click.option("--sets", type=int, default=1, show_default=True, help="Draw so many tables, each in a file of its own.")
@click.option(
    "--out",
    type=PATH,
    required=True,
    help="The file to write; its ending says the format: .csv, .parquet, .xlsx, .sav, .dta, .feather, .jsonl, ... Sets"
    " are numbered.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that are already there.")
@json_option
def command(model: Path, rows: int, where: str | None, sets: int, out: Path, overwrite: bool, as_json: bool) -> None:
    """Draw fresh rows from MODEL: the folder model/ that `release --keep-model` wrote, or the one around it.

    Needs no data and costs no budget: what is drawn follows from what was released. Every row obeys the rules of the
    plan. A condition is fulfilled by drawing from what it leaves of the model, not by throwing other rows away.

    \b
      rankveil sample 2031-q1/ --rows 100000 --out more.parquet
      rankveil sample 2031-q1/ --rows 5000 --where "age >= 65 and sex = 'f'" --out old.csv
      rankveil sample 2031-q1/model --rows 1000 --sets 10 --out set.csv
    """
    from rankveil.model import Model
    from rankveil.model.samples import write_samples

    kept = Model.load(model)
    files = write_samples(kept, out, rows=rows, where=where, sets=sets, overwrite=overwrite)
    if as_json:
        print_json({"files": [str(path) for path in files], "rows": rows, "for_release": kept.for_release})
        return
    for path in files:
        click.echo(f"Rows  {path}  ({rows} rows)")
    if not kept.for_release:
        click.echo("NOT FOR RELEASE: the model was drawn from a fixed seed.")
