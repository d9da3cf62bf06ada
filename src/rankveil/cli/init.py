"""`rankveil init`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankveil.cli.output import PATH, json_option, print_json

if TYPE_CHECKING:
    from rankveil.declare import Plan
    from rankveil.declare.draft import Draft

_MOST_SHOWN = 20


@click.command("init")
@click.argument("table", type=str)
@click.option("--out", type=PATH, default=Path("plan.toml"), show_default=True, help="The plan to write.")
@click.option("--overwrite", is_flag=True, help="Replace a plan that is already there.")
@click.option("--epsilon", default="1", show_default=True, help="The ε to put into the plan.")
@click.option(
    "--codebook",
    "codebooks",
    type=PATH,
    multiple=True,
    help="A document that describes the table; may be given several times. DDI-Codebook XML, an SPSS, Stata or SAS file"
    " with labels, Table Schema, CSVW or SDV metadata as JSON, or a CSV or Excel sheet with a column `name`.",
)
@click.option("--extract", is_flag=True, help="The table has only some of the variables of its codebook.")
@click.option("--interactive", is_flag=True, help="Walk through the guesses in the terminal, one key for each.")
@json_option
def command(
    table: str,
    out: Path,
    overwrite: bool,
    epsilon: str,
    codebooks: tuple[Path, ...],
    extract: bool,
    interactive: bool,
    as_json: bool,
) -> None:
    """Draft a plan for TABLE.

    What a codebook says is public: its entries name their source and need no confirmation. A codebook that contradicts
    the table is refused with the whole list. Labels that an SPSS, Stata or SAS file brings along are used like one.

    Everything else is guessed from the data and marked as a guess: kinds, limits, categories, what is left out, whether
    values may be missing, how numbers are written. A release refuses guesses until you have replaced them by what is
    publicly known and deleted the lines `unconfirmed`, or walked through them with --interactive. The draft shows
    limits of your data, so it is internal until then.

    \b
      rankveil init people.csv --out plan.toml
      rankveil init survey.csv --codebook survey.xml
      rankveil init survey.csv --codebook study.xml --extract --codebook weights.csv
      rankveil init people.csv --interactive
    """
    from rankveil.declare import Plan
    from rankveil.declare.codebooks import has_labels
    from rankveil.declare.draft import draft_of
    from rankveil.engines import open_table
    from rankveil.errors import OutputError
    from rankveil.preview.noise_alone import remark
    from rankveil.write import write_text

    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists already.", remedy="Give another name with --out, or say --overwrite.")
    if interactive and as_json:
        raise click.UsageError("--interactive asks in the terminal, and --json answers a machine: use one of them.")
    own = (Path(table),) if has_labels(Path(table)) and Path(table).is_file() else ()
    opened = open_table(table)
    made = draft_of(opened, epsilon=epsilon, codebooks=(*codebooks, *own), extract=extract)
    if interactive:
        from rankveil.cli.walk import walk

        made = walk(made)
    text = made.text(remark)
    plan = Plan.parse(text, name="draft").over(opened.schema.names)
    write_text(out, text)
    if as_json:
        said = {"plan": str(out), "columns": len(plan.columns), "unconfirmed": plan.guesses, "left_out": made.dropped}
        sources = {name: entry.source for name, entry in plan.columns.items() if entry.source is not None}
        print_json({**said, "sources": sources})
        return
    _tell(table, out, plan, made)


def _tell(table: str, out: Path, plan: Plan, made: Draft) -> None:
    from rankveil.meaning import in_words, needs_words
    from rankveil.preview.noise_alone import advice

    open_columns = sum(bool(entry.unconfirmed) for entry in plan.columns.values())
    from_books = sum(entry.source is not None and not entry.unconfirmed for entry in plan.columns.values())
    columns = f"{len(plan.columns)} columns"
    if open_columns == len(plan.columns):
        click.echo(f"Wrote {out}: {columns}, all with guesses taken from the data.")
    else:
        click.echo(
            f"Wrote {out}: {columns}, {from_books} of them from the codebook, {open_columns} with guesses taken from"
            " the data."
        )
    for place, (name, why) in enumerate(made.dropped.items()):
        if place == _MOST_SHOWN:
            click.echo(f"Left out: {len(made.dropped) - place} more, each with its reason in the plan.")
            break
        click.echo(f"Left out: {name} ({why}).")
    if needs_words(plan.release.epsilon):
        click.echo(in_words(plan.release.epsilon))
    for words in advice(plan):
        click.echo(words)
    if plan.guesses:
        click.echo("Next: replace each guess by what is publicly known, delete the line `unconfirmed` under it, then")
    else:
        click.echo("Nothing in it is a guess. Next:")
    click.echo(f"  rankveil release {table} --plan {out} --dry-run")
