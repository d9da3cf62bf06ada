"""`rankveil evaluate`"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankveil.cli.output import (
    PATH,
    TABLE,
    json_option,
    plan_option,
    print_table,
    progress,
    quiet_option,
    table_argument,
)
from rankveil.cli.passphrase import asked_passphrase

if TYPE_CHECKING:
    from rankveil.evaluate import Evaluation, PairResult

_WORST = 3


@click.command("evaluate")
@table_argument()
@click.argument("release", type=TABLE)
@plan_option("The plan of the release.")
@click.option(
    "--aligned/--not-aligned",
    "row_aligned",
    default=None,
    help="Whether row r of the release belongs to row r of the table. By default the certificate beside the release"
    " says so or, without one, the plan's method.",
)
@click.option("--target", metavar="COLUMN", help="Teach a learner to predict this column, by the release.")
@click.option("--test", type=TABLE, help="Real records, not released, to examine the learner on.")
@click.option(
    "--publish",
    is_flag=True,
    help="Instead: measure a few figures with noise, for an ε that the ledger notes, and add them to the certificate.",
)
@click.option("--epsilon", help="With --publish: what these figures may cost, beside the release.")
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="CONDITION",
    help="With --publish: also the error of the share of rows that fulfil this; may be repeated.",
)
@click.option("--ledger", type=PATH, help="With --publish: another ledger than the usual one.")
@click.option("--key", type=PATH, help="With --publish, if the release is signed: the key that has signed it.")
@click.option(
    "--risk", "attacked", is_flag=True, help="With --html: a section of the report, as `rankveil risk` says it."
)
@click.option("--html", type=PATH, help="Write a report with charts to this file; its name will contain 'internal'.")
@quiet_option
@json_option
def command(
    table: str | Path,
    release: str | Path,
    plan_path: Path,
    test: str | Path | None,
    html: Path | None,
    attacked: bool,
    publish: bool,
    epsilon: str | None,
    queries: tuple[str, ...],
    ledger: Path | None,
    key: Path | None,
    quiet: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Measure what RELEASE (a file, or the folder of a release) has lost against TABLE.

    The result is computed from the original and not protected: it is internal, not to be published.

    With --publish a few figures are drawn with noise instead: the mean total variation of columns and of pairs, and the
    errors of queries. They are differentially private with --epsilon, which is entered in the ledger first and is not
    given back if the run fails, and they are added to the certificate beside the release, for everyone to read.

    \b
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml --html evaluation.internal.html
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml --json > evaluation.internal.json
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml --target diagnosis --test later.csv
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml --publish --epsilon 0.1
      rankveil evaluate patients.csv 2031-q1/ --plan plan.toml --publish --epsilon 0.2 --query "age >= 65"
    """
    from rankveil.evaluate import evaluate

    if attacked and (html is None or publish):
        raise click.UsageError("--risk goes with --html: by itself it is `rankveil risk`.")
    _check_options(publish, epsilon, queries, ledger, key, test=test, html=html, **how)
    if publish:
        _publish(table, release, plan_path, epsilon or "", queries, ledger, key, quiet=quiet, as_json=as_json)
        return

    if html is not None:
        from rankveil.report.evaluation import check_extras

        check_extras()
    with progress(quiet=quiet) as show:
        result = evaluate(table, release, plan_path, test=test, progress=show, **how)
        written = None if html is None else _write_page(html, result, table, release, plan_path, test, show, attacked)
    if as_json:
        click.echo(result.to_json())
        return
    click.echo(result.note)
    _show_columns(result)
    click.echo()
    _show_whole(result)
    if written is not None:
        click.echo(f"\nWrote {written}")


def _check_options(
    publish: bool,
    epsilon: str | None,
    queries: tuple[str, ...],
    ledger: Path | None,
    key: Path | None,
    **internal: Any,
) -> None:
    """Options of the two uses do not mix: what is meant would be a guess."""
    if not publish and (epsilon is not None or queries or ledger is not None or key is not None):
        raise click.UsageError("--epsilon, --query, --ledger and --key go with --publish.")
    if publish and any(value is not None for value in internal.values()):
        raise click.UsageError("--publish goes with --epsilon, --query, --ledger and --key: the rest is internal.")
    if publish and epsilon is None:
        raise click.UsageError("--publish needs --epsilon: what the figures may cost, such as 0.1.")


def _publish(
    table: str | Path,
    release: str | Path,
    plan_path: Path,
    epsilon: str,
    queries: tuple[str, ...],
    ledger: Path | None,
    key: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    from rankveil.evaluate import publish_accuracy
    from rankveil.published_accuracy import describe

    passphrase = asked_passphrase(key, ledger)
    with progress(quiet=quiet) as show:
        certificate = publish_accuracy(
            table, release, plan_path, epsilon=epsilon, queries=queries, ledger=ledger, key=key,
            passphrase=passphrase, progress=show, rows_done=show.rows,
        )  # fmt: skip
    statement = (certificate.published_accuracy or ())[-1]
    if as_json:
        click.echo(statement.model_dump_json(indent=2))
        return
    rows = [[describe(one), f"{one.value}", f"{one.lower} to {one.upper}", one.epsilon] for one in statement.figures]
    print_table("", ["published", "", "in 95 of 100 cases", "ε"], rows, numbers_from=1)
    click.echo(
        f"\nAdded to the certificate, at ε = {statement.epsilon}; with the release ε = {statement.together_epsilon},"
        f" δ = {statement.together_delta} in all. Entry {statement.ledger_entry} of the ledger."
    )


def _write_page(
    html: Path,
    result: Evaluation,
    table: str | Path,
    release: str | Path,
    plan_path: Path,
    test: str | Path | None,
    show: Callable[[str], None],
    attacked: bool,
) -> Path:
    from rankveil.declare import Plan
    from rankveil.engines import open_table
    from rankveil.evaluate.evaluation import certificate_beside, release_file
    from rankveil.report.evaluation import as_page
    from rankveil.report.render import internal_path
    from rankveil.report.reproduction import reproduction
    from rankveil.risk import risk
    from rankveil.write import CERTIFICATE_NAME, write_text

    file = release_file(Path(release))
    certificate = certificate_beside(file)
    files = [("table", Path(table)), ("release", file), ("plan", plan_path)]
    files += [("certificate", file.parent / CERTIFICATE_NAME)] if certificate is not None else []
    files += [("test records", Path(test))] if test is not None else []
    made = reproduction(files, command=["rankveil", *sys.argv[1:]], plan_text=plan_path.read_text(encoding="utf-8-sig"))
    path = internal_path(html)
    plan = Plan.load(plan_path)
    if plan.has_patterns:
        opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
        plan = plan.over(opened.schema.names)
    found = risk(table, release, plan_path, held_out=test, progress=show) if attacked else None
    write_text(path, as_page(result, plan, certificate, made=made, risk=found, progress=show))
    return path


def _show_columns(result: Evaluation) -> None:
    headers = ["column", "kind", "variance change", "JSD", "W1/σ", "1-way TV"]
    shown = [
        (part.name, part.kind, part.variance_change, part.jsd, part.wasserstein, part.total_variation)
        for part in result.columns
    ]
    shown.append(("average", "", result.variance_change, result.jsd, result.wasserstein, result.total_variation))
    rows = [[name, kind, *map(_shown, numbers)] for name, kind, *numbers in shown]
    if result.relative_error is not None:
        headers.append("relative error")
        errors = [*(part.relative_error for part in result.columns), result.relative_error]
        rows = [[*row, _shown(error)] for row, error in zip(rows, errors, strict=True)]
    print_table("", headers, rows, numbers_from=2)


def _show_whole(result: Evaluation) -> None:
    """Measures of the table as a whole, one line each, with what a reader needs to judge them."""
    tells = "0.5 if nothing tells released rows from original ones, 1 if everything does"
    rows = [
        ["2-way TV", _shown(result.pair_total_variation), _worst(result.pairs, "total_variation")],
        ["correlation error", _shown(result.correlation_error), _worst(result.pairs, "correlation_error")],
        ["query error", _shown(result.query_error), "share of rows; 500 random questions about two columns"],
        ["propensity AUC", _shown(result.propensity_auc), _why_not(result, "propensity_auc", tells)],
    ]
    if result.learning is not None:
        learning = result.learning
        taught = f"{learning.target} learnt from the release; {_shown(learning.taught_by_original)} from the original"
        rows.append([f"learning {learning.score}", _shown(learning.taught_by_release), taught])
    elif "learning" in result.not_measured:
        rows.append(["learning", "–", _why_not(result, "learning", "")])
    if result.intervals is not None:
        for kind in result.intervals.kinds:
            weak = f"; {kind.warned} not supported by what was measured" if kind.warned else ""
            said = f"of {kind.estimates} {result.intervals.level:.0%} intervals of {kind.kind} cover the original{weak}"
            rows.append(["intervals", "–" if kind.covered is None else f"{kind.covered:.0%}", said])
    means = [each for each in result.estimates if each.label is None]
    for each in means:
        off = f"{_shown(abs(each.after - each.before) / abs(each.before))} off" if each.before else ""
        rows.append(
            [f"weighted {each.of}", each.column, f"{each.before:,.6g} in the table, {each.after:,.6g} released; {off}"]
        )
    print_table("", ["whole table", "", ""], rows)
    click.echo(
        "\nDistances are 0 for a perfect copy. JSD and TV (total variation) are at most 1; W1/σ, variance change and"
        " relative error have no upper limit."
    )


def _worst(pairs: Sequence[PairResult], measure: str) -> str:
    """The pairs that lost most, by name."""
    measured = [(getattr(pair, measure), " × ".join(pair.columns)) for pair in pairs]
    ranked = sorted((entry for entry in measured if entry[0] is not None), reverse=True)[:_WORST]
    return "worst: " + ", ".join(f"{names} {_shown(value)}" for value, names in ranked) if ranked else "no such pair"


def _why_not(result: Evaluation, measure: str, otherwise: str) -> str:
    reason = result.not_measured.get(measure)
    return otherwise if reason is None else f"not measured: {reason}"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
