"""`rankveil reproduce`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankveil.cli.output import PATH, json_option, print_json, print_table, progress, quiet_option

if TYPE_CHECKING:
    from rankveil.reproduce.table1 import Cell


@click.group("reproduce")
def command() -> None:
    """Run the paper's evaluation again and put our numbers beside the printed ones.

    Adult comes with rankveil, and its figures run anywhere. Census (census.csv) has to be fetched from R's sdcMicro:
    table1 says how if it is not there. Name its folder with --data.

    \b
      rankveil reproduce figures --out figures/
      rankveil reproduce table1 --data reference/
    """


_data = click.option("--data", type=PATH, help="Folder that holds census.csv.")


def _told_if_other(path: Path) -> Path:
    from rankveil.reproduce.data import CENSUS_SHA256, is_reference_census

    if not is_reference_census(path):
        click.echo(
            f"Note: {path} is not the file of the printed figures byte for byte (SHA-256 {CENSUS_SHA256}).", err=True
        )
    return path


@command.command("table1")
@_data
@click.option("--runs", type=click.IntRange(min=3), default=10, show_default=True, help="Runs per cell.")
@quiet_option
@json_option
def table1_command(data: Path | None, runs: int, quiet: bool, as_json: bool) -> None:
    """Variance changes of eight Census attributes (Table 1): 192 cells, printed and ours.

    \b
      rankveil reproduce table1 --data reference/ --json > table1.json
    """
    from rankveil.noise import SystemSource
    from rankveil.reproduce.data import census_file
    from rankveil.reproduce.table1 import as_json as rows_as_json
    from rankveil.reproduce.table1 import findings, table1

    path = _told_if_other(census_file(data))
    with progress(quiet=quiet or as_json) as show:
        cells = table1(path, runs, SystemSource(), show)
    if as_json:
        print_json(rows_as_json(cells))
        return
    rows = [
        [individual.attribute, individual.column, f"{individual.epsilon:g}", str(individual.k)]
        + [text for cell in (individual, multivariate) for text in _cell_texts(cell)]
        for individual, multivariate in zip(cells[::2], cells[1::2], strict=True)
    ]
    headers = ["", "column", "ε", "k", "IR printed", "ours ± sd", "", "MV printed", "ours ± sd", ""]
    print_table("Variance change; ≠: printed and ours differ by more than chance", headers, rows, numbers_from=2)
    click.echo("")
    for finding in findings(cells):
        click.echo(f"{'holds' if finding.holds else 'FAILS'}  {finding.claim}: {finding.numbers}")


def _cell_texts(cell: Cell) -> list[str]:
    return [f"{cell.printed:.2f}", f"{cell.mean:.2f} ± {cell.sd:.2f}", "" if cell.agrees else "≠"]


@command.command("figures")
@_data
@click.option("--out", type=PATH, default=Path("figures"), show_default=True, help="Folder to write to.")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Runs per point.")
@click.option("--quick", is_flag=True, help="Few cluster sizes and two runs: a look in under a minute.")
@quiet_option
@json_option
def figures_command(data: Path | None, out: Path, runs: int, quick: bool, quiet: bool, as_json: bool) -> None:
    """Relative error and JSD against k (Figures 1 to 4), as SVG, PNG and CSV, and the shapes the text claims.

    Without --data Adult's alone (Figures 2 and 4), with the taxonomies that come with rankveil.

    \b
      rankveil reproduce figures --out figures/
      rankveil reproduce figures --out figures/ --data reference/
    """
    from dataclasses import asdict

    from rankveil.noise import SystemSource
    from rankveil.reproduce.curves import CASES, CENSUS_CASES, curves
    from rankveil.reproduce.data import ADULT_TAXONOMIES, HOW_TO_GET_CENSUS, census_file
    from rankveil.reproduce.figures import write_figures
    from rankveil.reproduce.shapes import shapes
    from rankveil.write import write_text

    path = None if data is None else _told_if_other(census_file(data))
    cases = [case for case in CASES if path is not None or case not in CENSUS_CASES]
    sizes = (2, 10, 20, 25, 30, 50, 83, 100, 120) if quick else None
    with progress(quiet=quiet or as_json) as show:
        points = curves(path, cases, 2 if quick else runs, SystemSource(), show, sizes)
        show("drawing")
        written = write_figures(points, out)
    rows = shapes(points)
    table = "claim,verdict,numbers\n" + "".join(
        ",".join('"' + text.replace('"', '""') + '"' for text in (row.claim, row.verdict, row.numbers)) + "\n"
        for row in rows
    )
    write_text(out / "shapes.csv", table)
    written.append(out / "shapes.csv")
    if not quiet:
        click.echo(ADULT_TAXONOMIES, err=True)
        if path is None:
            click.echo(f"Figures 1 and 3 need census.csv. {HOW_TO_GET_CENSUS}", err=True)
    if as_json:
        print_json({"files": [str(path) for path in written], "shapes": [asdict(row) for row in rows]})
        return
    for row in rows:
        click.echo(f"{row.verdict:<6} {row.claim}: {row.numbers}")
    click.echo("Wrote " + ", ".join(str(path) for path in written))
