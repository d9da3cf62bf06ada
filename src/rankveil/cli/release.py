"""`rankveil release`"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankveil.cli.output import PATH, json_option, plan_option, print_json, progress, quiet_option, table_argument
from rankveil.cli.passphrase import asked_passphrase
from rankveil.cli.run import EXIT_CODES

if TYPE_CHECKING:
    from rankveil.declare import Plan
    from rankveil.engines import Engine


@click.command("release", epilog=EXIT_CODES)
@table_argument()
@plan_option("The plan (TOML).")
@click.option("--out", type=PATH, help="Folder for the release and its certificate.")
@click.option("--method", help="Use this method instead of the plan's (see: rankveil methods).")
@click.option("--epsilon", help="Use this ε instead of the plan's.")
@click.option("--delta", help="Use this δ instead of the plan's (methods that allow one).")
@click.option("--k", type=int, help="Use this cluster size instead of the plan's.")
@click.option("--accept-no-guarantee", is_flag=True, help="Allow a published method, which gives no guarantee.")
@click.option(
    "--accept-large-epsilon",
    is_flag=True,
    help="Allow an ε above 20 or a δ above 0.00001, which set no meaningful limit. In a terminal the command asks.",
)
@click.option("--ledger", type=PATH, help="Enter the release here instead of the user's ledger.")
@click.option("--key", type=PATH, help="Sign with this key instead of the one beside the ledger (rankveil key new).")
@click.option("--no-sign", is_flag=True, help="Leave the signature out, even if there is a key beside the ledger.")
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where rows are counted and made. With spark, TABLE may be a table of its catalogue or a URL.",
)
@click.option("--master", help="Spark's master, such as local[4] or spark://host:7077; else Spark's own configuration.")
@click.option(
    "--replicates",
    type=int,
    help="Write so many replicate weights of the rows beside the release, for standard errors (80, say). Costs no ε.",
)
@click.option(
    "--into",
    metavar="ADDRESS",
    help="Write the release as a table of a database as well, such as 'postgresql://user@host/base?table=released'.",
)
@click.option("--overwrite", is_flag=True, help="Replace a release that is already in the folder, or the table.")
@click.option(
    "--escape-formulas",
    is_flag=True,
    help="CSV: put an apostrophe before labels and names that a spreadsheet would run as formulas.",
)
@click.option(
    "--keep-model", is_flag=True, help="Keep what was measured and fitted in model/ beside the release (synthetic)."
)
@click.option(
    "--dry-run", is_flag=True, help="Show the noise that the plan asks for; count the rows of TABLE, write nothing."
)
@quiet_option
@json_option
def command(
    table: str | Path,
    plan_path: Path,
    out: Path | None,
    accept_large_epsilon: bool,
    key: Path | None,
    no_sign: bool,
    engine: str,
    master: str | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Publish a protected copy of TABLE as the plan describes.

    TABLE is a file (CSV, Parquet, Excel, SPSS, Stata, SAS, Feather, JSON lines), a folder of CSV or Parquet files, a
    pattern ('2031-*.parquet') that they match, a table of a database ('sqlite:///people.db?table=persons'; DuckDB and
    PostgreSQL alike), or - for standard input. docs/formats.md says what each format keeps.

    Writes the release, in the format of TABLE where that can be written, and its documents to --out: certificate.json,
    certificate.html (the same for people) and manifest.json (all files, signed if there is a key). Spark writes a
    release in parts. The plan's ε is entered in the ledger first and is not given back if the run fails.

    \b
      rankveil release patients.csv --plan plan.toml --dry-run
      rankveil release patients.csv --plan plan.toml --out 2031-q1/
      rankveil release patients.csv --plan plan.toml --out 2031-q1/ --keep-model
      rankveil release patients.csv --plan plan.toml --out compare/ \\
          --method published:individual-ranking --k 25 --accept-no-guarantee
      rankveil release patients.csv --plan plan.toml --out 2031-q1/ --replicates 80
      rankveil release 'postgresql://me@host/clinic?table=patients' --plan plan.toml --out 2031-q1/ \\
          --into 'postgresql://me@host/clinic?table=patients_2031'
      rankveil release patients.csv --plan plan.toml --out 2031-q1/ --key office.pem
      rankveil release sales.parquet --plan plan.toml --out shared/2031-q1/ \\
          --engine spark --master spark://host:7077
    """
    from rankveil.declare import planned

    instead = {key: how.pop(key) for key in ("method", "epsilon", "delta", "k")}
    plan = planned(plan_path, **instead)
    if dry_run:
        from rankveil.cli.dry_run import show_dry_run

        with _engine(engine, master) as runs_on:
            plan, counted = _looked_at(table, plan, runs_on)
            show_dry_run(plan, counted=counted, as_json=as_json)
        return
    if out is None:
        raise click.UsageError("--out is needed: the folder for the release and its certificate.")
    if master is not None and engine != "spark":
        raise click.UsageError("--master is for --engine spark.")
    from rankveil.formats.addresses import shown

    if key is not None and no_sign:
        raise click.UsageError("--key and --no-sign do not go together.")
    from rankveil.release import release

    passphrase = None if no_sign else asked_passphrase(key, how["ledger"])
    accepted = accept_large_epsilon or _accepted(plan)
    with progress(quiet=quiet or as_json) as show, _engine(engine, master) as runs_on:
        made = release(
            table,
            plan,
            out=out,
            accept_large_epsilon=accepted,
            key=key,
            passphrase=passphrase,
            signed=not no_sign,
            engine=runs_on,
            progress=show,
            rows_done=show.rows,
            **how,
        )
    from rankveil.write import MANIFEST_NAME, PAGE_NAME

    certificate = made.certificate
    assert certificate.release is not None  # noqa: S101 - a folder was given
    if as_json:
        said = ("method", "differentially_private", "epsilon", "rows", "statement")
        files = {"release": str(out / certificate.release.file), "certificate": str(out / "certificate.json")}
        files |= {"page": str(out / PAGE_NAME), "manifest": str(out / MANIFEST_NAME)}
        files |= {"model": str(out / certificate.model.folder)} if certificate.model is not None else {}
        if certificate.weights is not None:
            files["weights"] = str(out / certificate.weights.file)
        signer = None if certificate.signed is None else certificate.signed.key
        print_json({**files, **{name: getattr(certificate, name) for name in said}, "signed_by": signer})
        return
    click.echo(certificate.statement)
    if certificate.reason:
        click.echo(certificate.reason)
    click.echo(f"Release      {out / certificate.release.file}  ({certificate.rows} rows)")
    if how["into"] is not None:
        click.echo(f"Table        {shown(how['into'])}")
    if certificate.weights is not None:
        click.echo(f"Weights      {out / certificate.weights.file}  ({certificate.weights.replicates} replicates)")
    click.echo(f"Certificate  {out / 'certificate.json'}")
    click.echo(f"For people   {out / PAGE_NAME}")
    if certificate.model is not None:
        click.echo(f"Model        {out / certificate.model.folder}  ({certificate.model.bytes:,} bytes)")
    if certificate.ledger is not None:
        click.echo(f"Ledger       entry {certificate.ledger.entry}")
    by = certificate.signed
    click.echo(f"Signed       by the key {by.key}" if by else "Not signed   rankveil key new makes a key")


def _looked_at(table: str | Path, plan: Plan, engine: Engine | None) -> tuple[Plan, int | None]:
    """The plan for the table's columns, and how many rows it has.

    None if that is not public, or if the plan says it and the table is not there.
    """
    from rankveil.declare.unit import A_ROW
    from rankveil.engines import LocalEngine
    from rankveil.errors import TableError

    if plan.unit != A_ROW and not plan.has_patterns:
        return plan, None
    try:
        opened = (engine or LocalEngine()).open(table, separator=plan.table.separator, encoding=plan.table.encoding)
    except TableError:
        if plan.release.expected_rows is None or plan.has_patterns:
            raise
        return plan, None
    plan = plan.over(opened.schema.names)
    return plan, opened.row_count() if plan.unit == A_ROW else None


def _accepted(plan: Plan) -> bool:
    """Whether somebody at a terminal says yes to an ε or a δ that sets no meaningful limit."""
    from rankveil.consent import weak
    from rankveil.meaning import in_words
    from rankveil.methods import method_named

    if not weak(plan, method_named(plan.release.method)) or not sys.stdin.isatty():
        return False
    click.echo(in_words(plan.release.epsilon, plan.release.delta), err=True)
    return click.confirm("Release it all the same?", err=True)


@contextmanager
def _engine(name: str, master: str | None) -> Iterator[Engine | None]:
    """The engine that was asked for; Spark is started for the command, and ends with it."""
    if name == "local":
        yield None
        return
    from rankveil.engines.spark import SparkEngine, start_session

    with start_session(master) as session:
        yield SparkEngine(session.spark)
