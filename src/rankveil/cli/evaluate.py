"""`rankveil evaluate`"""

from __future__ import annotations

from pathlib import Path

import click

from rankveil.cli.output import json_option, print_table


@click.command("evaluate")
@click.argument("table", type=click.Path(path_type=Path))
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--plan", "plan_path", required=True, type=click.Path(path_type=Path), help="The plan of the release.")
@click.option("--not-aligned", is_flag=True, help="Row r of the release does not belong to row r of the table.")
@json_option
def command(table: Path, release: Path, plan_path: Path, not_aligned: bool, as_json: bool) -> None:
    """Measure what RELEASE (a file, or the folder of a release) has lost against TABLE.

    The result is computed from the original and not protected: it is internal, not to be published.

    \b
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml --json > evaluation.internal.json
    """
    from rankveil.evaluate import evaluate

    result = evaluate(table, _release_file(release), plan_path, row_aligned=not not_aligned)
    if as_json:
        click.echo(result.to_json())
        return
    click.echo(result.note)
    rows = [
        [
            column.name,
            column.kind,
            _shown(column.relative_error),
            _shown(column.variance_change),
            _shown(column.jsd),
        ]
        for column in result.columns
    ]
    rows.append(["average", "", _shown(result.relative_error), _shown(result.variance_change), _shown(result.jsd)])
    print_table("", ["column", "kind", "relative error", "variance change", "JSD"], rows, numbers_from=2)
    click.echo("\nAll three are 0 for a perfect copy. JSD is at most 1; the others have no upper limit.")


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _release_file(path: Path) -> Path:
    from rankveil.errors import TableError

    if not path.is_dir():
        return path
    for name in ("release.csv", "release.parquet"):
        if (path / name).exists():
            return path / name
    raise TableError(f"The folder {path} holds no release.", remedy="Name the file, or a folder that release wrote.")
