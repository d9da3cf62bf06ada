"""`rankveil compare`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankveil.cli.output import PATH, json_option, plan_option, print_table, progress, quiet_option, table_argument
from rankveil.cli.run import EXIT_CODES
from rankveil.errors import PlanError

if TYPE_CHECKING:
    from rankveil.compare import Comparison

_SHOWN = ("total_variation", "pair_total_variation", "wasserstein", "jsd", "variance_change", "learning")


@click.command("compare", epilog=EXIT_CODES)
@table_argument(required=False)
@plan_option("The plan (TOML).")
@click.option(
    "--methods",
    help="Methods, with commas between. By default synthetic, and laplace where the plan allows it.",
)
@click.option("--epsilons", default="", help="Values of ε, with commas between. By default the plan's.")
@click.option("--ks", default="", help="Cluster sizes, for methods that form clusters. By default the plan's.")
@click.option("--delta", help="Use this δ for methods that allow one.")
@click.option("--runs", type=int, default=3, show_default=True, help="Releases per setting.")
@click.option(
    "--stand-in",
    metavar="TABLE",
    help="Compare on this public table instead, or on one made from the plan alone: --stand-in made. TABLE is then not"
    " opened, and choosing by the result costs no privacy.",
)
@click.option("--target", "--label", metavar="COLUMN", help="Teach a learner to predict this column, by each release.")
@click.option("--test", type=PATH, help="Real records, not released, to examine the learner on.")
@click.option("--baselines/--no-baselines", default=True, help="Also run laplace and plain microaggregation.")
@click.option(
    "--out",
    type=PATH,
    default="compare.internal",
    show_default=True,
    help="Folder for the results. What is finished there is not computed again.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print every run as CSV on standard output.")
@quiet_option
@json_option
def command(
    plan_path: Path, methods: str | None, epsilons: str, ks: str, as_csv: bool, quiet: bool, as_json: bool, **how: Any
) -> None:
    """Draw releases of TABLE by several methods, ε and k, and measure each.

    Nothing is published and no budget is spent: rows are drawn in memory, measured and forgotten. The result is
    computed from the original and not protected: it is internal, and choosing by it leaks a little about the table.
    With --stand-in it is not. A run that was stopped goes on when the same command is given again.

    \b
      rankveil compare --plan plan.toml --stand-in made --epsilons 0.1,1,10
      rankveil compare patients.csv --plan plan.toml --methods synthetic,unlinked \\
          --epsilons 0.1,1,10 --ks 10,50,200 --out compare.internal/
      rankveil compare --plan plan.toml --stand-in last-decade.csv --target diagnosis --test test.csv
    """
    from rankveil.compare import compare

    if how["table"] is None and how["stand_in"] is None:
        raise click.UsageError("Name TABLE, or a stand-in for it: --stand-in made.")
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    with progress(quiet=quiet or as_json or as_csv) as show:
        found = compare(
            plan=plan_path,
            methods=None if methods is None else _listed(methods),
            epsilons=_listed(epsilons),
            ks=[_whole(entry) for entry in _listed(ks)],
            progress=lambda step: show(str(step)),
            **how,
        )
    if as_json or as_csv:
        click.echo(found.to_json() if as_json else found.to_csv(), nl=False)
        return
    _show(found, how["out"])


def _listed(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise PlanError(f"{text!r} is no cluster size.", remedy="Give whole numbers: --ks 10,50,200") from None


def _show(found: Comparison, out: Path) -> None:
    from rankveil.compare.run import MEASURES
    from rankveil.compare.sweep import NAMES

    click.echo(found.note + "\n")
    shown = [name for name in found.measured if name in _SHOWN]
    settings = sorted(found.settings, key=lambda s: (float(s.epsilon or 0), s.method, s.k or 0))
    rows = [
        [setting.method, setting.epsilon or "–", str(setting.k or "–"), *(setting.figure(name) for name in shown)]
        for setting in settings
    ]
    print_table("", ["method", "ε", "k", *(MEASURES[name] for name in shown)], rows, numbers_from=1)
    click.echo()
    for sentence in found.in_words():
        click.echo(f"- {sentence}")
    for row in found.rows:
        if row.finding.failed:
            click.echo(f"- Could not be run: {row.cell.in_words()}: {row.finding.failed}")
    click.echo(f"\nTable  {found.table['name']}" + (f" ({found.table['stand_in']})" if found.table["stand_in"] else ""))
    click.echo(f"Page   {out / NAMES['html']}")
    click.echo("Files  " + ", ".join(NAMES[kind] for kind in ("json", "csv")))
