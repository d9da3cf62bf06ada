"""`rankveil attack`"""

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
    from rankveil.audit.attack import Attack

_COLUMNS_AT_ONCE = 3


@click.command("attack")
@table_argument()
@plan_option("The plan of the release.")
@click.option(
    "--method", "methods", multiple=True, metavar="METHOD", help="Attack this method; may be repeated. Default: all."
)
@click.option("--row", type=click.IntRange(min=1), help="Attack this row (the first one is 1) and show what is left.")
@click.option("--sample", type=click.IntRange(min=1), default=20, show_default=True, help="Attack so many random rows.")
@click.option("--epsilon", help="Another ε than the plan's.")
@click.option("--k", type=click.IntRange(min=1), help="Another cluster size than the plan's.")
@click.option("--svg", type=PATH, help="Draw a picture; `internal` is added to its name.")
@click.option("--html", type=PATH, help="Write a page with picture and numbers; likewise.")
@quiet_option
@json_option
def command(
    plan_path: Path,
    methods: tuple[str, ...],
    svg: Path | None,
    html: Path | None,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Show what an attacker who knows everyone else learns about one record of TABLE, under each method.

    Releases are made in memory and attacked; nothing is published and nothing is entered in the ledger. The result is
    computed from the original: it is internal, not to be published.

    \b
      rankveil attack patients.csv --plan plan.toml
      rankveil attack patients.csv --plan plan.toml --k 10 --html attack.internal.html
      rankveil attack patients.csv --plan plan.toml --method unlinked --row 17
    """
    from rankveil.audit.attack import attack
    from rankveil.write import write_text

    with progress(quiet=quiet or as_json) as show:
        result = attack(plan=plan_path, methods=methods or None, progress=show, **how)
    written = []
    if svg is not None or html is not None:
        from rankveil.report.attack import as_page, as_svg
        from rankveil.report.render import internal_path

        for path, draw in ((svg, as_svg), (html, as_page)):
            if path is not None:
                written.append(internal_path(path))
                write_text(written[-1], draw(result))
    if as_json:
        print_json({**result.as_dict(), "files": [str(path) for path in written]})
        return
    _show(result)
    for path in written:
        click.echo(f"Wrote {path}")


def _show(result: Attack) -> None:
    from rankveil.report.attack import LEGEND, cell, heading, percent

    click.echo(result.note)
    columns = result.methods[0].columns if result.methods else ()
    attacked = f"row {result.row}" if result.row is not None else f"{result.attacked_rows} rows"
    about = f"{attacked} of {result.rows} attacked; ε = {result.epsilon}" + (f", k = {result.k}" if result.k else "")
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        some = slice(start, start + _COLUMNS_AT_ONCE)
        rows = [["before the release", *(percent(column.before) for column in columns[some])]]
        rows += [[attack.method, *map(cell, attack.columns[some])] for attack in result.methods]
        print_table("" if start else about, ["method", *map(heading, columns[some])], rows, numbers_from=1)
        click.echo()
    if result.row is not None:
        _show_left(result)
    by_reason: dict[tuple[str, str], list[str]] = {}
    for attack in result.methods:
        by_reason.setdefault((attack.basis, attack.says), []).append(attack.method)
    for (basis, says), methods in by_reason.items():
        click.echo(f"{basis}: {', '.join(methods)}\n  {says}")
    click.echo()
    for line in LEGEND:
        click.echo(line)
    for name, reason in result.skipped.items():
        click.echo(f"Not attacked: {name}. {reason}")


def _show_left(result: Attack) -> None:
    """What remains of the values of a single row."""
    rows = [
        [attack.method, column.name, str(column.left)]
        for attack in result.methods
        for column in attack.columns
        if column.left is not None
    ]
    print_table(f"What is left of row {result.row}", ["method", "column", "possible or likely"], rows)
    click.echo()
