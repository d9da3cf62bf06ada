"""`rankveil init`"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json, table_argument


@click.command("init")
@table_argument()
@click.option("--out", type=PATH, default=Path("plan.toml"), show_default=True, help="The plan to write.")
@click.option("--overwrite", is_flag=True, help="Replace a plan that is already there.")
@click.option("--epsilon", default="1", show_default=True, help="The ε to put into the plan.")
@json_option
def command(table: str | Path, out: Path, overwrite: bool, epsilon: str, as_json: bool) -> None:
    """Draft a plan for TABLE: a file (CSV, Parquet, Excel, SPSS, Stata, SAS, ...), a table of a database, or - for
    standard input; docs/formats.md lists them.

    Kinds, limits, categories, what is left out, whether values may be missing and how numbers are written are guessed
    from the data and marked as guesses: a release refuses them until you have replaced them by what is publicly known
    and deleted the lines `unconfirmed`. The draft shows limits of your data, so it is internal until then.

    \b
      rankveil init people.csv --out plan.toml
    """
    from rankveil.declare import Plan
    from rankveil.declare.draft import draft
    from rankveil.engines import open_table
    from rankveil.errors import OutputError
    from rankveil.formats.addresses import shown
    from rankveil.meaning import in_words, needs_words
    from rankveil.preview.noise_alone import advice, remark
    from rankveil.write import write_text

    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists already.", remedy="Give another name with --out, or say --overwrite.")
    text = draft(open_table(table), epsilon=epsilon, remark=remark)
    plan = Plan.parse(text, name="draft")
    write_text(out, text)
    if as_json:
        print_json({"plan": str(out), "columns": len(plan.columns), "unconfirmed": plan.guesses})
        return
    click.echo(f"Wrote {out}: {len(plan.columns)} columns, all with guesses taken from the data.")
    if needs_words(plan.release.epsilon):
        click.echo(in_words(plan.release.epsilon))
    for words in advice(plan):
        click.echo(words)
    click.echo("Next: replace each guess by what is publicly known, delete the line `unconfirmed` under it, then")
    said = shlex.quote(shown(table))
    click.echo(f"  rankveil release {said} --plan {out} --dry-run")
