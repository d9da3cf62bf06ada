"""What the ledger says about the table: what was spent, what is left, and what one release has to do with it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from rankveil.engines import Table, open_table
from rankveil.errors import PlanError
from rankveil.ledger import Account, Identity, Ledger, default_ledger_path, identities, population_identity
from rankveil.methods import method_named
from rankveil.web.home import Working, in_sheet
from rankveil.web.tables import table_of


@dataclass(frozen=True)
class BudgetView:
    """All amounts as text for people; None where there is no cap."""

    name: str  # of the table, or of its population where that leaves less
    population: bool
    spent: str
    spent_delta: str | None
    cap: str | None
    after: str | None  # what would be spent after the next release; None for one without a guarantee
    left_after: str | None
    fits: bool
    releases: int
    unpublished: int
    unprotected: int
    share_spent: float  # of the cap
    share_after: float


def budget_view(working: Working, ledger: Path | None) -> BudgetView:
    plan = working.plan()
    with Ledger(ledger or default_ledger_path()) as book:
        found = content_identities(working, book)
        if plan.release.population is not None:
            found.append(population_identity(plan.release.population, book.key))
        accounts = book.accounts_of(found)
    method = method_named(plan.release.method)
    asked = Fraction(plan.release.epsilon) if method.differentially_private else None
    account = min(accounts, key=_room)  # the one that binds
    after = None if asked is None else account.spent_epsilon + asked
    cap = account.cap_epsilon
    return BudgetView(
        name=account.label,
        population=account.kind == "population",
        spent=amount(account.spent_epsilon),
        spent_delta=f"{float(account.spent_delta):.3g}" if account.spent_delta else None,
        cap=None if cap is None else amount(cap),
        after=None if after is None else amount(after),
        left_after=None if cap is None or after is None else amount(max(cap - after, Fraction(0))),
        fits=all(_fits(account, asked, Fraction(plan.release.delta or 0)) for account in accounts),
        releases=account.releases,
        unpublished=account.unpublished,
        unprotected=account.unprotected,
        share_spent=0.0 if not cap else min(1.0, float(account.spent_epsilon / cap)),
        share_after=0.0 if not cap or after is None else min(1.0, float(after / cap)),
    )


def set_cap(working: Working, ledger: Path | None, epsilon: str, delta: str) -> None:
    """Set, once and for all, what the releases of the table, or of the population that the plan names, may spend."""
    limits = [_limit("ε", epsilon), _limit("δ", delta or "0")]
    if limits[0] == 0:
        raise PlanError("A cap of ε = 0 would allow no release.", remedy="Give a number above 0.")
    population = working.plan().release.population
    with Ledger(ledger or default_ledger_path()) as book:
        named = [] if population is None else [population_identity(population, book.key)]
        book.cap(named or content_identities(working, book), *limits)


def _limit(what: str, text: str) -> Fraction:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0 or abs(number.adjusted()) > 40:
        raise PlanError(f"The cap on {what} must be a number of at least 0.", remedy="Write it like 3 or 1e-6.")
    return Fraction(number)


def _room(account: Account) -> tuple[bool, Fraction]:
    """Less is first: caps by what is left, then what has spent most."""
    cap = account.cap_epsilon
    return (cap is None, -account.spent_epsilon if cap is None else cap - account.spent_epsilon)


def _fits(account: Account, epsilon: Fraction | None, delta: Fraction) -> bool:
    if account.cap_epsilon is None or account.cap_delta is None:
        return True
    spent = account.spent_delta + delta
    return epsilon is not None and account.spent_epsilon + epsilon <= account.cap_epsilon and spent <= account.cap_delta


def open_dialect(working: Working, path: Path) -> Table:
    """A table, or the session's sheet of a workbook, read as the session's plan says."""
    entry = working.plan().table
    return open_table(in_sheet(path, working.read().sheet), separator=entry.separator, encoding=entry.encoding)


def content_identities(working: Working, book: Ledger) -> list[Identity]:
    """The table's identities in the ledger, remembered for as long as the file has not changed."""
    state, plan = working.read(), working.plan()
    known, name = state.identity, plan.publication.title or state.name
    reading = repr(plan.text_reading)
    ours = known.get("ledger") == str(book.path) and state.uploaded and "identities" in known
    if ours and (known.get("reading") == reading or not Path(state.table).exists()):
        return _remembered(known, name)  # a copy of ours does not change, and may have been removed
    path = table_of(state)
    facts, older = path.stat(), book.continues_format_1
    stamp = {"ledger": str(book.path), "bytes": facts.st_size, "changed": facts.st_mtime_ns, "older": older}
    stamp |= {"reading": reading}
    if known | stamp == known and "identities" in known:
        return _remembered(known, name)
    found = identities(open_dialect(working, path), book.key, name=name, reading=plan.text_reading, older=older)
    with working.changing() as changed:
        changed.identity = {**stamp, "identities": [[identity.kind, identity.digest] for identity in found]}
    return found


def _remembered(known: dict[str, Any], name: str) -> list[Identity]:
    return [Identity(kind, digest, name) for kind, digest in known["identities"]]


@dataclass(frozen=True)
class LedgerSays:
    """What the ledger knows of one release by its reference."""

    entry: int | None = None  # the spend
    published: bool = False  # the release was written

    @property
    def spent(self) -> bool:
        return self.entry is not None


def ledger_says(ledger: Path, reference: str) -> LedgerSays:
    """Whether a release was paid for, and whether it was written. The ledger is the only authority on this."""
    if not ledger.exists():
        return LedgerSays()
    with Ledger(ledger) as book:
        return LedgerSays(*book.reference(reference))


def amount(number: Fraction) -> str:
    return f"{float(number):.6g}"
