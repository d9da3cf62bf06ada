"""`rankveil ledger`"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json, print_table, table_argument


@click.group("ledger")
def command() -> None:
    """What was spent on which table, and what is left.

    Every release is entered before its noise is drawn. The ledger is RANKVEIL_LEDGER, or ledger.sqlite in the user's
    data folder, or what --ledger names. Its key lies beside it: keep a copy of both.

    \b
      rankveil ledger cap people.csv --epsilon 3
      rankveil ledger show
      rankveil ledger verify
    """


_ledger = click.option("--ledger", "path", type=PATH, help="The ledger to use.")
_population = click.option("--population", help="The population named in the plan, instead of a table.")


@command.command("init")
@_ledger
@json_option
def init_command(path: Path | None, as_json: bool) -> None:
    """Make a ledger and its key, if they are not there yet.

    \b
      rankveil ledger init --ledger office.sqlite
    """
    from rankveil.ledger import Ledger, default_ledger_path

    where = path or default_ledger_path()
    with Ledger(where) as ledger:
        entries = len(ledger.entries())
    if as_json:
        print_json({"ledger": str(where), "entries": entries})
        return
    click.echo(f"Ledger {where} with {entries} entries. Keep a copy of it and of {where.name}.key.")


def _there(path: Path | None) -> Path | None:
    """A ledger to look at. One that was named and is not there is a mistake, and none is made."""
    if path is not None and not path.exists():
        raise click.UsageError(f"There is no ledger {path}. `rankveil ledger init` makes one.")
    return path


@command.command("show")
@_ledger
@click.option("--entries", is_flag=True, help="Every entry instead of one line per table.")
@json_option
def show_command(path: Path | None, entries: bool, as_json: bool) -> None:
    """What each table and population has spent, and its cap.

    An entry counts for its table, under whatever name or format, and for the population that the plan names.
    `releases` counts those that were published: written, or handed over in memory. "Spent, not published" is a run that
    was refused, failed or was killed after its budget was spent. Runs that were refused before are not entered.

    All entries are verified first; a ledger that does not hold is not added up (see `rankveil ledger verify`).

    \b
      rankveil ledger show --json
    """
    from dataclasses import asdict

    from rankveil.books import HEADERS, ledger
    from rankveil.ledger import default_ledger_path

    place = _there(path)
    books = ledger(place)
    accounts, lines = books.accounts(), books.entries()
    if as_json:
        tables = [
            {key: None if value is None else str(value) for key, value in asdict(account).items() if key != "links"}
            for account in accounts  # links are shown by entries
        ]
        print_json({"tables": tables, "entries": [{**asdict(line), "name": line.name} for line in lines]})
        return
    if not lines:
        click.echo(f"Nothing has been entered in {place or default_ledger_path()} yet.")
        return
    if entries:
        published = {line.note.partition(",")[0].removeprefix("entry ") for line in lines if line.kind == "published"}
        rows = []
        for e in lines:
            missing = e.kind == "spend" and str(e.number) not in published
            note = f"{e.note}; spent, not published" if missing else e.note
            rows.append([str(e.number), e.at, e.kind, e.name, e.epsilon or "–", e.delta or "–", note])
        print_table("", ["entry", "time", "kind", "table, population", "ε", "δ", "note"], rows)
        return
    print_table("", list(HEADERS), books.rows(), numbers_from=1)


@command.command("cap")
@table_argument(required=False)
@_population
@click.option("--plan", "plan_path", type=PATH, help="How to read a TABLE that is not read right without.")
@_ledger
@click.option("--epsilon", required=True, help="What all releases of the table may spend together.")
@click.option("--delta", default="0", show_default=True, help="The same for δ.")
@json_option
def cap_command(
    table: str | Path | None,
    population: str | None,
    plan_path: Path | None,
    path: Path | None,
    epsilon: str,
    delta: str,
    as_json: bool,
) -> None:
    """Set, once and for all, what a TABLE (or a population) may spend.

    A table is known by its values: the cap holds for every copy of it. Copies in which a plan has to say how texts are
    read (separator, encoding, decimal comma, tokens for missing, formats of dates) are found with --plan; the same
    cap may be set again with it.

    \b
      rankveil ledger cap people.csv --epsilon 3 --delta 1e-6
      rankveil ledger cap --population patients-2031 --epsilon 3
    """
    from rankveil.books import ledger

    limits = [_amount(name, text) for name, text in (("--epsilon", epsilon), ("--delta", delta))]
    if limits[0] == 0:
        raise click.UsageError("--epsilon must be more than 0.")
    if (table is None) == (population is None):
        raise click.UsageError("Give either a TABLE or --population.")
    first, spent = ledger(path).capped(table, limits[0], limits[1], population, plan_path)
    if as_json:
        cap_epsilon, cap_delta = map(str, limits)
        print_json({first.kind: first.digest, "name": first.name, "cap_epsilon": cap_epsilon, "cap_delta": cap_delta})
        return
    click.echo(f"Cap set for {first.shown}: ε = {epsilon}; spent so far: {float(spent):.6g}.")


def _amount(name: str, text: str) -> Fraction:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise click.UsageError(f"{name} must be a number.") from None
    if not number.is_finite() or number < 0 or abs(number.adjusted()) > 40:
        raise click.UsageError(f"{name} must be a number of at least 0.")
    return Fraction(number)


@command.command("verify")
@_ledger
@json_option
def verify_command(path: Path | None, as_json: bool) -> None:
    """Check that no entry was changed, removed or put in another order.

    Reads the whole chain and adds it up anew. A release itself verifies what was entered since the last checkpoint.

    \b
      rankveil ledger verify
    """
    from rankveil.books import ledger

    books = ledger(_there(path))
    if as_json:
        broken, count, fits = books.checked()
        print_json({"ledger": str(books.path), "entries": count, "broken_at": broken, "checkpoint_fits": fits})
    count = books.verify()
    if not as_json:
        click.echo(f"All {count} entries of {books.path} hold.")
