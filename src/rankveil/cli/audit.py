"""`rankveil audit`"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import click

from rankveil.cli.output import json_option, print_json, print_table, progress
from rankveil.cli.run import EXIT_CODES
from rankveil.errors import AuditError, PlanError

if TYPE_CHECKING:
    from rankveil.audit import AuditResult
    from rankveil.audit.findings import Finding

_NO_TABLE = "No table was read; attacks run on tables of their own."


@click.command("audit", epilog=EXIT_CODES)
@click.argument("method", required=False)
@click.option("--all", "everything", is_flag=True, help="Audit every method.")
@click.option("--epsilon", default="1", show_default=True, help="The ε that is claimed.")
@click.option(
    "--runs",
    type=click.IntRange(min=20),
    default=2000,
    show_default=True,
    help="Whole releases per table; single draws are made 200 times as often.",
)
@json_option
def command(method: str | None, everything: bool, epsilon: str, runs: int, as_json: bool) -> None:
    """Attack METHOD and compare a certain lower bound on its ε with the ε it claims.

    Reads no data: worst-case tables are built in. "consistent" proves nothing, for the theorems carry the guarantee;
    "refuted" is wrong at most once in a million audits of all methods, and ends with exit code 5. With --all the
    published methods are expected to be refuted, and exit code 5 says that something else came out than theory says.

    \b
      rankveil audit published:individual-ranking --epsilon 0.1
      rankveil audit --all --json
    """
    from rankveil.audit import audit, audit_all

    if (method is None) != everything:
        raise click.UsageError("Give one METHOD, or --all. `rankveil methods` lists them.")
    claimed = _positive(epsilon)
    with progress(quiet=as_json) as show:
        results = (
            audit_all(claimed, runs=runs, progress=show)
            if method is None
            else [audit(method, claimed, runs=runs, progress=show)]
        )
    if as_json:
        print_json(results[0].as_dict() if method else {"methods": [result.as_dict() for result in results]})
    else:
        _show(results)
    problem = _problem(results[0]) if method else _surprises(results)
    if problem:
        error = AuditError(problem, cost=_NO_TABLE, remedy="Do not rely on the claim; `rankveil methods` lists others.")
        if not as_json:
            raise error
        click.echo(f"AuditError: {error}", err=True)  # the result itself is the only JSON on standard output
        sys.exit(error.exit_code)


def _positive(epsilon: str) -> Decimal:
    try:
        number = Decimal(epsilon)
    except InvalidOperation:
        number = Decimal(0)
    if not Decimal("0.001") <= number <= 100:
        raise PlanError("--epsilon has to be a number from 0.001 to 100.", remedy="Give the ε that is claimed.")
    return number


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
