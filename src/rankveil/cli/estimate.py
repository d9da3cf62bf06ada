"""`rankveil estimate`"""

from __future__ import annotations

from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json, print_table
from rankveil.cli.run import EXIT_CODES


@click.command("estimate", epilog=EXIT_CODES)
@click.argument("release", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("ask")
@click.option(
    "--target",
    type=click.Choice(["table", "population"]),
    default="table",
    show_default=True,
    help="What intervals are for: the table that was protected, or the people it was drawn from.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--html", type=PATH, help="Write a page with a chart of the intervals to this file.")
@json_option
def command(release: Path, ask: str, target: str, level: float, html: Path | None, as_json: bool) -> None:
    """Answer a question from RELEASE, the folder of a release with replicates, with standard errors and intervals.

    ASK is one of count, total, mean, share, median, quantile, table, lm and logit, with `by` columns and `where` a
    condition holds; or one such number minus another. Reads the release, its weights and its certificate only.

    \b
      rankveil estimate 2031-q1/ "mean(income) by sex"
      rankveil estimate 2031-q1/ "share(smoker = 'yes') where age >= 65" --target population
      rankveil estimate 2031-q1/ "quantile(income, 0.9) by region" --level 0.9
      rankveil estimate 2031-q1/ "table(region, sex)" --json
      rankveil estimate 2031-q1/ "mean(income) where sex = 'm' minus mean(income) where sex = 'f'"
      rankveil estimate 2031-q1/ "logit(smoker = 'yes' ~ age + sex)" --html smokers.html
    """
    from rankveil.estimate import estimate

    if html is not None:
        from rankveil.report.drawer import check_extra
        from rankveil.report.render import environment

        check_extra()
        environment()
    found = estimate(release, ask, target=target, level=level)  # type: ignore[arg-type]
    if html is not None:
        from rankveil.report.estimates import as_page
        from rankveil.write import write_text

        write_text(html, as_page(found))
    if as_json:
        print_json(found.as_dict())
        return
    print_table("", ["", "estimate", "standard error", f"{found.percent} interval", ""], found.lines())
    click.echo(f"\n{found.about}")
    if found.warning:
        click.echo(found.warning)
    if html is not None:
        click.echo(f"\nWrote {html}")
