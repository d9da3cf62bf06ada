"""`rankveil reproduce`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankveil.cli.output import json_option, print_json, print_table, progress

if TYPE_CHECKING:
    from rankveil.reproduce.table1 import Cell


@click.group("reproduce")
def command() -> None:
    """Run the paper's evaluation again and put our numbers beside the printed ones.

    The reference data (census.csv, adult.csv, taxonomies/) are looked for in --data, then in RANKVEIL_DATA, then in
    ../shared/data.

    \b
      rankveil reproduce table1
      rankveil reproduce figures --out figures/
    """


_data = click.option("--data", type=click.Path(path_type=Path), help="Folder with the reference data.")


@command.command("table1")
@_data
@click.option("--runs", type=click.IntRange(min=3), default=10, show_default=True, help="Runs per cell.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@json_option
def table1_command(data: Path | None, runs: int, quiet: bool, as_json: bool) -> None:
    """Variance changes of eight Census attributes (Table 1): 192 cells, printed and ours.

    \b
      rankveil reproduce table1 --json > table1.json
    """
    from rankveil.noise import SystemSource
    from rankveil.reproduce.data import data_folder
    from rankveil.reproduce.table1 import as_json as rows_as_json
    from rankveil.reproduce.table1 import findings, table1

    with progress(quiet=quiet or as_json) as show:
        cells = table1(data_folder(data), runs, SystemSource(), show)
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
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("figures"), show_default=True, help="Folder to write to."
)
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Runs per point.")
@click.option("--quick", is_flag=True, help="Few cluster sizes and two runs: a look in under a minute.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@json_option
def figures_command(data: Path | None, out: Path, runs: int, quick: bool, quiet: bool, as_json: bool) -> None:
    """Relative error and JSD against k (Figures 1 to 4), as SVG, PNG and CSV, and the shapes the text claims.

    \b
      rankveil reproduce figures --out figures/
    """
    from dataclasses import asdict

    from rankveil.flow.write import write_text
    from rankveil.noise import SystemSource
    from rankveil.reproduce.curves import CASES, curves
    from rankveil.reproduce.data import data_folder
    from rankveil.reproduce.figures import write_figures
    from rankveil.reproduce.shapes import shapes

    sizes = (2, 10, 20, 25, 30, 50, 83, 100, 120) if quick else None
    with progress(quiet=quiet or as_json) as show:
        points = curves(data_folder(data), CASES, 2 if quick else runs, SystemSource(), show, sizes)
        show("drawing")
        written = write_figures(points, out)
    rows = shapes(points)
    table = "claim,verdict,numbers\n" + "".join(
        ",".join('"' + text.replace('"', '""') + '"' for text in (row.claim, row.verdict, row.numbers)) + "\n"
        for row in rows
    )
    write_text(out / "shapes.csv", table)
    written.append(out / "shapes.csv")
    if as_json:
        print_json({"files": [str(path) for path in written], "shapes": [asdict(row) for row in rows]})
        return
    for row in rows:
        click.echo(f"{row.verdict:<6} {row.claim}: {row.numbers}")
    click.echo("Wrote " + ", ".join(str(path) for path in written))
