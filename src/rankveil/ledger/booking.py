"""A release's entry in the ledger: made before noise is drawn, and never taken back.

Guarantee    When `enter` returns, the spend is on the disk. Whatever fails afterwards says that the spend stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from rankveil.engines import Engine, Table
from rankveil.engines.content import TextReading
from rankveil.errors import BudgetError, RankveilError
from rankveil.ledger.head import Head, head_at
from rankveil.ledger.identity import default_ledger_path, identities
from rankveil.ledger.store import Ledger, Reservation


@dataclass(frozen=True)
class Booking:
    """What a release has spent. A test, which releases nothing, has no reservation and leaves the ledger alone."""

    reservation: Reservation | None = None
    path: Path = Path()
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @classmethod
    def enter(
        cls,
        path: str | Path | None,
        table: Table,
        engine: Engine,
        *,
        epsilon: Fraction | None,  # None for a release without a guarantee
        delta: Fraction,
        note: str,
        name: str,
        population: str | None,
        reading: TextReading,
        clock: Callable[[], datetime],
    ) -> Booking:
        where = default_ledger_path() if path is None else Path(path)
        with Ledger(where, clock=clock) as ledger:
            found = identities(
                table,
                ledger.key,
                name=name,
                population=population,
                reading=reading,
                older=ledger.continues_format_1,
                engine=engine,
            )
            return cls(ledger.spend(found, epsilon, delta, note), where, clock)

    def published(self, what: str) -> None:
        if self.reservation is not None:
            with Ledger(self.path, clock=self.clock) as ledger:
                ledger.published(self.reservation.identities, self.reservation, what)

    def head(self) -> Head | None:
        """What stands for the ledger at this entry, for a manifest to quote; None for a test."""
        if self.reservation is None:
            return None
        with Ledger(self.path, clock=self.clock) as ledger:
            digest = head_at(ledger, self.reservation.number)
        if digest is None:
            raise BudgetError(
                f"The ledger {self.path} has lost entry {self.reservation.number} while the release was made.",
                remedy="Find out who changes the ledger, restore it, and release again.",
            )
        return Head(self.reservation.number, self.reservation.receipt, digest)

    @contextmanager
    def stands(self, made: str = "No release was written.") -> Iterator[None]:
        """An error after the spend says that the spend stands, and what there is to show for it."""
        try:
            yield
        except RankveilError as error:
            if self.reservation is not None:
                error.cost = f"{made} Its budget is spent: entry {self.reservation.number} of the ledger."
            raise
