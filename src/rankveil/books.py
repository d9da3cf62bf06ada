"""The ledger for Python and the command line: what was spent on which table, what is left, and caps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from rankveil.declare import Amount, Plan, planned
from rankveil.engines import open_table
from rankveil.errors import BudgetError, PlanError
from rankveil.fragments import fragment
from rankveil.ledger import (
    Account,
    Entry,
    Identity,
    Ledger,
    default_ledger_path,
    identities,
    population_identity,
)

HEADERS = ("table", "releases", "spent, not published", "ε spent", "δ spent", "cap", "ε left", "")


def ledger(path: str | Path | None = None) -> Books:
    """The ledger: what was spent on which table, and what is left.

        >>> rv.ledger().cap(people, epsilon=3)
        >>> made = rv.release(people, plan)
        >>> account = rv.ledger().account(people)
        >>> account.releases, account.spent_epsilon, account.left_epsilon
        (1, Fraction(1, 1), Fraction(2, 1))

    By default the user's own: RANKVEIL_LEDGER, or ledger.sqlite in the user's data folder. Every release and every
    fit is entered there before noise is drawn.
    """
    return Books(default_ledger_path() if path is None else Path(path), named=path is not None)


@dataclass(frozen=True, repr=False)
class Books:
    """A ledger to look at and to set caps in. Nothing is ever taken back from it.

    >>> books = rv.ledger("office.sqlite")
    >>> books.cap(people, epsilon=3)
    >>> [account.cap_epsilon for account in books.accounts()]
    [Fraction(3, 1)]
    >>> books.verify()
    1
    """

    path: Path
    named: bool = True  # a ledger that was named and is not there is a mistake, and none is made by looking

    def __repr__(self) -> str:
        lines = [list(HEADERS), *self.rows()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([f"Ledger {self.path.name}", *shown])

    def _repr_html_(self) -> str:
        return fragment("Ledger", warning=None, facts=[], table=(list(HEADERS), self.rows()))

    @contextmanager
    def _open(self) -> Iterator[Ledger]:
        if self.named and not self.path.exists():
            raise BudgetError(
                f"There is no ledger {self.path}.",
                cost="",
                remedy="`rankveil ledger init` makes one, and so does a cap.",
            )
        with Ledger(self.path) as opened:
            yield opened

    def accounts(self) -> list[Account]:
        """What each table and population has spent, and its cap; all entries are verified first.

        >>> made = rv.release(people, plan)
        >>> [(account.label, account.spent_epsilon) for account in rv.ledger().accounts()]
        [('pandas table in memory', Fraction(1, 1))]
        """
        with self._open() as opened:
            return opened.accounts()

    def entries(self) -> list[Entry]:
        """Every entry, in the order in which they were made.

        >>> made = rv.release(people, plan)
        >>> [entry.kind for entry in rv.ledger().entries()]
        ['spend', 'published']
        """
        with self._open() as opened:
            return opened.entries()

    def account(
        self, table: object = None, *, population: str | None = None, plan: Plan | str | Path | None = None
    ) -> Account:
        """What a table (under whatever name or format) or a population has spent, and its cap.

        >>> rv.ledger().account(people).spent_epsilon
        Fraction(0, 1)
        """
        with self._open() as opened:
            found = opened.accounts_of(self._identities(opened, table, population, plan))
        capped = [account for account in found if account.left_epsilon is not None]
        if capped:
            return min(capped, key=lambda account: account.left_epsilon or Fraction(0))
        return max(found, key=lambda account: account.spent_epsilon)

    def cap(
        self,
        table: object = None,
        *,
        epsilon: Amount | Fraction,
        delta: Amount | Fraction = 0,
        population: str | None = None,
        plan: Plan | str | Path | None = None,
    ) -> None:
        """Set, once and for all, what all releases of a table (or of a population) may spend together.

            >>> rv.ledger().cap(people, epsilon=1)
            >>> made = rv.release(people, plan)
            >>> rv.release(people, plan)
            Traceback (most recent call last):
                ...
            rankveil.errors.BudgetError: ...

        A table is known by its values: the cap holds for every copy of it. `plan` says how to read a text file that is
        not read right without.
        """
        self.capped(table, _amount("epsilon", epsilon), _amount("delta", delta), population, plan)

    def capped(
        self,
        table: object,
        epsilon: Fraction,
        delta: Fraction,
        population: str | None,
        plan: Plan | str | Path | None,
    ) -> tuple[Identity, Fraction]:
        """The same; gives what it was set for, and what that has spent so far."""
        if epsilon == 0:
            raise PlanError("A cap has an ε of more than 0.", remedy="Give a larger one.")
        with Ledger(self.path) as opened:
            found = self._identities(opened, table, population, plan)
            opened.cap(found, epsilon, delta)
            return found[0], max(opened.account(identity).spent_epsilon for identity in found)

    @staticmethod
    def _identities(
        opened: Ledger, table: object, population: str | None, plan: Plan | str | Path | None
    ) -> Sequence[Identity]:
        if (table is None) == (population is None):
            raise PlanError("Either a table or a population is named.", remedy="Give one of the two.", cost="")
        if population is not None:
            return [population_identity(population, opened.key)]
        read = None if plan is None else planned(plan)
        how = {} if read is None else {"separator": read.table.separator, "encoding": read.table.encoding}
        return identities(
            open_table(table, **how),
            opened.key,
            name="" if read is None else read.publication.title or "",
            older=opened.continues_format_1,
            reading=None if read is None else read.text_reading,
        )

    def verify(self) -> int:
        """Check that no entry was changed, removed or put in another order; gives their number.

        >>> rv.ledger().verify()
        0
        """
        broken, count, fits = self.checked()
        if broken is not None:
            raise BudgetError(
                f"The ledger {self.path} was tampered with: entry {broken} does not fit its seal.",
                cost="",
                remedy="Compare it with a copy; releases after that entry cannot be relied on to be complete.",
            )
        if not fits:
            raise BudgetError(
                f"The ledger {self.path} was tampered with: its checkpoint does not fit its entries.",
                cost="",
                remedy="Compare it with a copy and restore it. The entries themselves hold.",
            )
        return count

    def checked(self) -> tuple[int | None, int, bool]:
        """The first entry that does not hold, the number of all, and whether the checkpoint fits them."""
        with self._open() as opened:
            return opened.broken_at(), len(opened.entries()), opened.checkpoint_fits()

    def rows(self) -> list[list[str]]:
        """Accounts for people to read, under `HEADERS`."""
        return [_row(account) for account in self.accounts()]


def _row(account: Account) -> list[str]:
    cap, left = account.cap_epsilon, account.left_epsilon
    return [
        f"{account.label} (population)" if account.kind == "population" else account.label,
        str(account.releases),
        str(account.unpublished),
        f"{float(account.spent_epsilon):.6g}",
        f"{float(account.spent_delta):.3g}",
        "none" if cap is None else f"{float(cap):.6g}",
        "–" if left is None else f"{float(left):.6g}",
        "released without a guarantee" if account.unprotected else "",
    ]


def _amount(name: str, given: Amount | Fraction) -> Fraction:
    if isinstance(given, Fraction):
        return given
    try:
        number = Decimal(str(given))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0 or abs(number.adjusted()) > 40:
        raise PlanError(f"{name} must be a number of at least 0.", remedy="Give another one.")
    return Fraction(number)
