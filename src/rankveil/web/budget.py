"""What the ledger says about the table: what was spent, what is left, and what one release has to do with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from rankveil.engines import open_table
from rankveil.errors import PlanError
from rankveil.flow.declare import Plan
from rankveil.ledger import Ledger, default_ledger_path, fingerprint, population_identity
from rankveil.methods import method_named
from rankveil.web.home import Working
from rankveil.web.tables import table_of


@dataclass(frozen=True)
class BudgetView:
    """All amounts as text for people; None where there is no cap."""

    spent: str
    spent_delta: str | None
    cap: str | None
    left: str | None
    after: str | None  # what would be spent after the next release; None for one without a guarantee
    left_after: str | None
    fits: bool
    releases: int
    unprotected: int
    share_spent: float = 0.0  # of the cap
    share_after: float = 0.0
    population: str | None = None


def budget_view(working: Working, ledger: Path | None) -> BudgetView:
    plan = working.plan()
    where = ledger or default_ledger_path()
    with Ledger(where) as book:
        account = book.account(identity_of(working, plan, book))
    method = method_named(plan.release.method)
    asked = Fraction(plan.release.epsilon) if method.differentially_private else None
    after = None if asked is None else account.spent_epsilon + asked
    cap = account.cap_epsilon
    delta_fits = account.cap_delta is None or (
        account.spent_delta + Fraction(plan.release.delta or 0) <= account.cap_delta
    )
    return BudgetView(
        spent=amount(account.spent_epsilon),
        spent_delta=f"{float(account.spent_delta):.3g}" if account.spent_delta else None,
        cap=None if cap is None else amount(cap),
        left=None if cap is None else amount(max(cap - account.spent_epsilon, Fraction(0))),
        after=None if after is None else amount(after),
        left_after=None if cap is None or after is None else amount(max(cap - after, Fraction(0))),
        fits=cap is None or (after is not None and after <= cap and delta_fits),
        releases=account.releases,
        unprotected=account.unprotected,
        share_spent=0.0 if not cap else min(1.0, float(account.spent_epsilon / cap)),
        share_after=0.0 if not cap or after is None else min(1.0, float(after / cap)),
        population=plan.release.population,
    )


def set_cap(working: Working, ledger: Path | None, epsilon: str, delta: str) -> None:
    """Set, once and for all, what the releases of the table may spend together."""
    limits = [_limit("ε", epsilon), _limit("δ", delta or "0")]
    if limits[0] == 0:
        raise PlanError("A cap of ε = 0 would allow no release.", remedy="Give a number above 0.")
    plan = working.plan()
    with Ledger(ledger or default_ledger_path()) as book:
        book.cap(identity_of(working, plan, book), *limits)


def _limit(what: str, text: str) -> Fraction:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0 or abs(number.adjusted()) > 40:
        raise PlanError(f"The cap on {what} must be a number of at least 0.", remedy="Write it like 3 or 1e-6.")
    return Fraction(number)


def identity_of(working: Working, plan: Plan, book: Ledger) -> str:
    """The table's name in the ledger: its population's, or that of its content."""
    if plan.release.population is not None:
        return population_identity(plan.release.population, book.key)
    return content_identity(working, book)


def content_identity(working: Working, book: Ledger) -> str:
    """The keyed fingerprint of the content, remembered for as long as the file has not changed."""
    state = working.read()
    known = state.identity
    if known.get("ledger") == str(book.path) and state.uploaded and "identity" in known:
        return str(known["identity"])  # a copy of ours does not change, and may have been removed
    path = table_of(state)
    facts = path.stat()
    stamp = {"ledger": str(book.path), "bytes": facts.st_size, "changed": facts.st_mtime_ns}
    if known | stamp == known:
        return str(known["identity"])
    identity = fingerprint(open_table(path), None, book.key)
    with working.changing() as changed:
        changed.identity = {**stamp, "identity": identity}
    return identity


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
        entries = book.entries()
    paid = [entry for entry in entries if entry.kind == "spend" and entry.note.endswith(f", reference {reference}")]
    if not paid:
        return LedgerSays()
    number = paid[0].number
    written = re.compile(rf"entry {number}, sha256 [0-9a-f]{{64}}")
    return LedgerSays(number, any(e.kind == "published" and written.fullmatch(e.note) for e in entries))


def amount(number: Fraction) -> str:
    return f"{float(number):.6g}"
