"""`rankveil risk`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankveil.cli.output import (
    PATH,
    json_option,
    plan_option,
    print_json,
    print_table,
    progress,
    quiet_option,
    table_argument,
)

if TYPE_CHECKING:
    from rankveil.risk import Risk

_SHOWN = 3  # columns of inference


@click.command("risk")
@table_argument()
@click.argument("release", type=PATH)
@plan_option("The plan of the release.")
@click.option("--held-out", type=PATH, help="Records from the same source that are not in the release.")
@click.option(
    "--control-share",
    type=float,
    help="Without --held-out: set this part of the table aside and release the rest again, in memory. [default: 0.2]",
)
@click.option("--targets", type=int, default=1000, show_default=True, help="Attack at most so many records per side.")
@click.option(
    "--shadows", type=int, default=400, show_default=True, help="Releases for membership inference; 0 leaves it out."
)
@click.option("--shadow-rows", type=int, default=200, show_default=True, help="Rows of each of them.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same result.")
@click.option("--html", type=PATH, help="Write a page with charts; `internal` is added to its name.")
@quiet_option
@json_option
def command(
    table: str | Path, release: Path, plan_path: Path, html: Path | None, quiet: bool, as_json: bool, **how: Any
) -> None:
    """Attack RELEASE (a file, or the folder of a release) with the help of TABLE, from which it was made.

    Singling out, linkability and inference, each on people in the table and on people who are not; whether released
    rows lie nearer to the first; and membership inference on many small releases. Every figure comes with an interval
    and stands beside what ε allows. The result is computed from the original: it is internal, not to be published.

    \b
      rankveil risk patients.csv 2031-q1/ --plan plan.toml
      rankveil risk patients.csv 2031-q1/ --plan plan.toml --held-out later.csv
      rankveil risk patients.csv 2031-q1/ --plan plan.toml --html risk.internal.html
      rankveil risk patients.csv 2031-q1/ --plan plan.toml --shadows 0 --json > risk.internal.json
    """
    from rankveil.risk import risk

    if html is not None:
        from rankveil.report.evaluation import check_extras

        check_extras()
    with progress(quiet=quiet or as_json) as show:
        result = risk(table, release, plan_path, progress=show, **how)
    written = None
    if html is not None:
        from rankveil.report.render import internal_path
        from rankveil.report.risk import as_page
        from rankveil.write import write_text

        written = internal_path(html)
        write_text(written, as_page(result))
    if as_json:
        print_json(result.as_dict())
        return
    _show(result)
    if written is not None:
        click.echo(f"\nWrote {written}")


def _show(result: Risk) -> None:
    from rankveil.report.risk import attack_rows, membership_lines, nearest_lines, skipped_lines

    click.echo(result.note)
    click.echo(f"{result.tested}\n")
    rows = attack_rows(result, most=_SHOWN)
    print_table("", ["criterion", "attack", "members", "others", "risk", "95 %", "limit"], rows, numbers_from=2)
    click.echo()
    for line in (*nearest_lines(result), *membership_lines(result), *skipped_lines(result)):
        click.echo(line)
