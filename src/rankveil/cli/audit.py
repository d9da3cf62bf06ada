"""`rankveil audit`"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rankveil.cli.output import PATH, json_option, print_json, print_table, progress
from rankveil.cli.run import EXIT_CODES
from rankveil.errors import AuditError

if TYPE_CHECKING:
    from rankveil.audit import AuditResult
    from rankveil.audit.findings import Finding

_NO_TABLE = "No table was read; attacks run on tables of their own."
_NOT_PAID = "Nothing was published and nothing was entered in the ledger."
_NAMED = re.compile(r"(\d{1,18})(?:-(\d{1,9}))?")
_SHOWN = 20


@click.command("audit", epilog=EXIT_CODES)
@click.argument("target", metavar="[METHOD|TABLE]", required=False)
@click.option("--all", "everything", is_flag=True, help="Audit every method.")
@click.option("--epsilon", default="1", show_default=True, help="The ε that is claimed.")
@click.option(
    "--runs",
    type=click.IntRange(min=20),
    default=2000,
    show_default=True,
    help="Whole releases per table; single draws are made 200 times as often.",
)
@click.option("--replay", "replayed", is_flag=True, help="Replay whole releases of neighbouring tables instead.")
@click.option("--plan", "plan_path", type=PATH, help="Replay this plan. Default: plans of all kinds.")
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    help="Replay so many pairs. Default: 300, or 50 with --plan; 5000 for a night.",
)
@click.option(
    "--seed", default="0", show_default=True, help="Replay the pairs of this seed, or the one pair SEED-NUMBER."
)
@click.option("--spark", is_flag=True, help="Replay some pairs through Spark, if it can be started here.")
@click.option("--html", type=PATH, help="Write a page about the replay; with TABLE its name will contain 'internal'.")
@json_option
def command(
    target: str | None, everything: bool, epsilon: str, runs: int, replayed: bool, seed: str, as_json: bool, **how: Any
) -> None:
    """Attack METHOD and compare a certain lower bound on its ε with the ε it claims; or replay whole releases.

    Reads no data: worst-case tables are built in. "consistent" proves nothing, for the theorems carry the guarantee;
    "refuted" is wrong at most once in a million audits of all methods, and ends with exit code 5. With --all the
    published methods are expected to be refuted, and exit code 5 says that something else came out than theory says.

    With --replay: a release is run on a table, every protected answer is written down, and it is run again on a
    neighbouring table with these answers given. Both have to come out the same to the last byte, and the answers may
    lose no more than the certificate claims; if not, exit code 5. With --plan that is done for your plan, on tables
    made from it; with TABLE, on your table and copies with one record replaced. Nothing is published or entered in the
    ledger, and no value of the table is shown.

    \b
      rankveil audit published:individual-ranking --epsilon 0.1
      rankveil audit --all --json
      rankveil audit --replay
      rankveil audit --replay --plan plan.toml patients.csv --html replay.internal.html
      rankveil audit --replay --pairs 5000 --seed 7 --spark
      rankveil audit --replay --seed 7-1234
    """
    if replayed:
        if everything:
            raise click.UsageError("--replay goes through all methods by itself; leave --all out.")
        _replay(target, seed, as_json, **how)
        return
    if any(how.values()):
        raise click.UsageError("--plan, --pairs, --spark and --html belong to --replay.")
    from rankveil.audit import audit, audit_all

    if (target is None) != everything:
        raise click.UsageError("Give one METHOD, or --all. `rankveil methods` lists them.")
    with progress(quiet=as_json) as show:
        if target is None:
            results = audit_all(epsilon, runs=runs, progress=show)
        else:
            results = [audit(target, epsilon, runs=runs, progress=show)]
    if as_json:
        print_json(results[0].as_dict() if target else {"methods": [result.as_dict() for result in results]})
    else:
        _show(results)
    problem = _problem(results[0]) if target else _surprises(results)
    if problem:
        remedy = "Do not rely on the claim; `rankveil methods` lists others."
        _contradict(AuditError(problem, cost=_NO_TABLE, remedy=remedy), as_json)


def _contradict(error: AuditError, as_json: bool) -> NoReturn:
    if not as_json:
        raise error
    click.echo(f"AuditError: {error}", err=True)  # the result itself is the only JSON on standard output
    sys.exit(error.exit_code)


def _replay(
    table: str | None,
    seed: str,
    as_json: bool,
    plan_path: Path | None,
    pairs: int | None,
    spark: bool,
    html: Path | None,
) -> None:
    from rankveil.audit.replay import Given, replay
    from rankveil.declare import Plan
    from rankveil.report.replay import as_page, figures, headline, note
    from rankveil.write import write_text

    if table is not None and plan_path is None:
        raise click.UsageError("A TABLE is replayed with its plan: give --plan.")
    named = _NAMED.fullmatch(seed)
    if named is None:
        raise click.UsageError("--seed is a whole number, or the name of a pair such as 7-1234.")
    number, only = named.groups()
    plan = None if plan_path is None else Plan.load(plan_path)
    given = None
    if table is not None and plan is not None:
        given, plan = Given.read(table, plan)
    with progress(quiet=as_json) as show:
        show("replaying pairs")
        result = replay(
            pairs=pairs or (300 if plan is None else 50),
            seed=int(number),
            only=None if only is None else int(only),
            plan=plan,
            table=given,
            spark=spark,
            told=lambda done, total: show(f"replaying pairs: {done:,} of {total:,}") if done % 50 == 0 else None,
        )
    written = None
    if html is not None:
        from rankveil.report.render import internal_path

        written = internal_path(html) if result.real else html
        write_text(written, as_page(result))
    if as_json:
        print_json({**result.as_dict(), "file": None if written is None else str(written)})
    else:
        click.echo(note(result))
        print_table(headline(result), ["", ""], [list(line) for line in figures(result)])
        if written is not None:
            click.echo(f"Wrote {written}")
    if result.problems:
        shown = "\n".join(f"- {problem}" for problem in result.problems[:_SHOWN])
        left = len(result.problems) - _SHOWN
        more = f"\n- and {left} more: --json lists all" if left > 0 else ""
        remedy = "Do not rely on the claim; report the names of the pairs and the version: they can be run again."
        _contradict(AuditError(f"{headline(result)}\n{shown}{more}", cost=_NOT_PAID, remedy=remedy), as_json)


def _problem(result: AuditResult) -> str:
    if result.verdict == "consistent":
        return ""
    return f"The audit contradicts ε = {float(result.claimed_epsilon):g} for {result.method}.\n{result.explanation()}"


def _surprises(results: Sequence[AuditResult]) -> str:
    return "\n".join(
        _problem(result) or f"The audit does not refute {result.method}, which gives no guarantee."
        for result in results
        if not result.as_expected
    )


def _show(results: Sequence[AuditResult]) -> None:
    if len(results) == 1:
        rows = [
            ["REFUTES" if each.refuted else "", each.case, each.kind, _claimed(each), _bound(each), f"{each.runs:,}"]
            for each in results[0].findings
        ]
        print_table("", ["", "attack", "kind", "claimed", "at least", "runs"], rows, numbers_from=3)
        click.echo()
    rows = [
        [
            result.method,
            f"{float(result.claimed_epsilon):g}",
            "infinite" if result.structural else f"{result.lower_bound:.3f}",
            result.verdict,
            f"{result.runs:,}",
        ]
        for result in results
    ]
    print_table("", ["method", "claimed ε", "at least", "verdict", "runs"], rows, numbers_from=1)


def _claimed(finding: Finding) -> str:
    symbol = {"epsilon": "ε", "mu": "μ", "rho": "ρ"}[finding.unit]
    return f"{symbol} {finding.claimed:.4g}{'' if finding.whole else ' (a share)'}"


def _bound(finding: Finding) -> str:
    return "infinite" if finding.kind == "structural" else f"{finding.lower_bound:.4f}"
