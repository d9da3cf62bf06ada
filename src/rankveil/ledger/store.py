"""The ledger's file: what was spent, in entries that are only ever added.

Guarantee    A release is entered before its noise is drawn, and an entry is never taken back. Processes that release at
             the same time cannot together spend more than a cap allows. A changed, removed or reordered entry shows.
Argument     Checking what is left and adding the entry happen in one transaction that locks the file for writing
             (BEGIN IMMEDIATE) and is synced to the disk before it returns. Each entry carries an HMAC, under the
             ledger's key, of its content and of the HMAC of the entry before it. The certificate of a release quotes
             its entry, so that cutting off the end of the ledger shows as well.
Not covered  Someone who holds the key can write another history. Spending adds up by composition (T2): ε to ε, δ to δ.
Arithmetic   ε and δ are rational and stored as text.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from rankveil.errors import BudgetError
from rankveil.noise import SystemSource

_FORMAT = 1
_WAIT_SECONDS = 30
_GENESIS = "0" * 64
_UNUSABLE = (sqlite3.Error, UnicodeError)  # the latter where SQLite's own message quotes damaged bytes
_AMOUNT = re.compile(r"[0-9]{1,400}(/0*[1-9][0-9]{0,399})?")  # as str() writes a Fraction


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    number: int
    identity: str
    kind: str  # cap, spend, published
    at: str
    epsilon: str | None
    delta: str | None
    note: str
    seal: str


@dataclass(frozen=True)
class Reservation:
    """A spend that has been entered: its number and seal go into the certificate."""

    number: int
    seal: str


@dataclass(frozen=True)
class Account:
    """What one table has spent, and what it may."""

    identity: str
    spent_epsilon: Fraction
    spent_delta: Fraction
    cap_epsilon: Fraction | None
    cap_delta: Fraction | None
    releases: int
    unprotected: int  # releases without a guarantee


class Ledger:
    """An open ledger. `clock` says what time it is; times are informative, the order of entries is their number."""

    def __init__(self, path: str | Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = Path(path)
        self._clock = clock
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.key = self._key()
            self._connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._trouble(error) from None
        try:
            self._prepare()
        except BaseException as error:
            self.close()  # or its lock would outlive the refusal
            if isinstance(error, _UNUSABLE):
                raise self._trouble(error) from None
            raise

    def _key(self) -> bytes:
        """The key beside the ledger, made with it; a ledger that has lost its key is refused."""
        key_path = self.path.with_name(self.path.name + ".key")
        if key_path.exists():
            key = key_path.read_bytes()
            if len(key) != 32:
                raise BudgetError(f"The key {key_path} is damaged.", remedy="Restore it from a copy.")
            return key
        if self.path.exists() and self.path.stat().st_size:
            raise BudgetError(
                f"The ledger {self.path} has lost its key {key_path.name}.",
                remedy="Restore the key from a copy: without it the ledger cannot be checked or continued.",
            )
        # Written whole under another name first; of two processes that start at once, the first one wins.
        temporary = key_path.with_name(f".{key_path.name}.{os.getpid()}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, SystemSource().random_bytes(32))
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.link(temporary, key_path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
        return key_path.read_bytes()

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            (things,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if things == 0:  # a new file. A ledger that has lost a table is damaged, not new: see below.
                self._create()
        found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        if found != (str(_FORMAT),):
            raise BudgetError(
                f"The ledger {self.path} has a format that this version does not know.",
                remedy="Use the version of rankveil that wrote it, or a newer one.",
            )

    def _create(self) -> None:
        connection = self._connection
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        connection.execute(
            "CREATE TABLE entries (number INTEGER PRIMARY KEY, identity TEXT NOT NULL,"
            " kind TEXT NOT NULL, at TEXT NOT NULL, epsilon TEXT, delta TEXT, note TEXT NOT NULL,"
            " seal TEXT NOT NULL)"
        )
        for change in ("UPDATE", "DELETE"):
            connection.execute(
                f"CREATE TRIGGER no_{change.lower()} BEFORE {change} ON entries"
                " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
        connection.execute("INSERT INTO meta VALUES ('format', ?)", (str(_FORMAT),))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, with the file locked for writing from the first statement on."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself rolls back where the disk is full or the file damaged
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _trouble(self, error: Exception) -> BudgetError:
        text = str(error)
        if "locked" in text or "busy" in text:
            reason = f"another process has held it for more than {_WAIT_SECONDS} seconds"
        elif isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a database" in text):
            reason = "the file is damaged"
        elif "full" in text:
            reason = "the disk is full"
        elif "readonly" in text:
            reason = "it cannot be written to"
        else:
            reason = getattr(error, "strerror", None) or "the file cannot be used"
        return BudgetError(
            f"The ledger {self.path} cannot be used: {reason}.",
            remedy="No release is made without its ledger. Repair or restore it, or name another one with --ledger.",
        )

    # What is spent

    def spend(self, identity: str, epsilon: Fraction | None, delta: Fraction, note: str) -> Reservation:
        """Enter a release before its noise is drawn. `epsilon` is None for a release without a guarantee."""
        try:
            with self._transaction():
                self._refuse_if_broken()
                account = self.account(identity)
                if epsilon is None and account.cap_epsilon is not None:
                    raise BudgetError(
                        "This table has a cap, and a release without a guarantee cannot keep any cap.",
                        remedy="Use a method with a guarantee: rankveil methods.",
                    )
                if epsilon is not None:
                    _check("ε", epsilon, account.spent_epsilon, account.cap_epsilon)
                    _check("δ", delta, account.spent_delta, account.cap_delta)
                return self._append(identity, "spend", None if epsilon is None else str(epsilon), str(delta), note)
        except _UNUSABLE as error:
            raise self._trouble(error) from None

    def published(self, identity: str, reservation: Reservation, release_sha256: str) -> None:
        """Note that a reserved release was written. Its absence means that the spend bought nothing."""
        try:
            with self._transaction():
                self._refuse_if_broken()
                self._append(identity, "published", None, None, f"entry {reservation.number}, sha256 {release_sha256}")
        except _UNUSABLE as error:
            raise self._trouble(error) from None

    def cap(self, identity: str, epsilon: Fraction, delta: Fraction) -> None:
        """Set what a table may spend in all. A cap is set once."""
        try:
            with self._transaction():
                self._refuse_if_broken()
                account = self.account(identity)
                if account.cap_epsilon is not None:
                    raise BudgetError(
                        f"This table has a cap already: ε = {_shown(account.cap_epsilon)}.",
                        remedy="A cap is set once and stays: that is what makes it a promise.",
                    )
                if account.unprotected:
                    raise BudgetError(
                        "This table has been released without a guarantee; a cap would promise what no longer holds.",
                        remedy="No cap can be set for it.",
                    )
                self._append(identity, "cap", str(epsilon), str(delta), "")
        except _UNUSABLE as error:
            raise self._trouble(error) from None

    def _append(self, identity: str, kind: str, epsilon: str | None, delta: str | None, note: str) -> Reservation:
        last = self._connection.execute("SELECT number, seal FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        number, before = (1, _GENESIS) if last is None else (last[0] + 1, last[1])
        at = self._clock().isoformat(timespec="seconds")
        seal = self._seal(number, identity, kind, at, epsilon, delta, note, before)
        self._connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number, identity, kind, at, epsilon, delta, note, seal),
        )
        return Reservation(number, seal)

    def _seal(self, *content: object) -> str:
        return hmac.new(self.key, json.dumps(content).encode(), hashlib.sha256).hexdigest()

    # What is there

    def entries(self) -> list[Entry]:
        try:
            rows = self._connection.execute(
                "SELECT number, identity, kind, at, epsilon, delta, note, seal FROM entries ORDER BY number"
            ).fetchall()
        except _UNUSABLE as error:
            raise self._trouble(error) from None
        for number, identity, kind, at, epsilon, delta, note, seal in rows:
            texts = (identity, kind, at, "" if epsilon is None else epsilon, "" if delta is None else delta, note, seal)
            if not isinstance(number, int) or not all(isinstance(text, str) for text in texts):
                raise self._damaged(number)
        return [Entry(*row) for row in rows]

    def _damaged(self, number: object) -> BudgetError:
        return BudgetError(
            f"The ledger {self.path} is damaged: entry {number} does not hold what an entry holds.",
            remedy="Compare it with a copy and restore it; no release is entered in a ledger that does not hold.",
        )

    def _amount(self, entry: Entry, text: str | None) -> Fraction:
        if text is None:
            return Fraction(0)
        if not _AMOUNT.fullmatch(text):
            raise self._damaged(entry.number)
        return Fraction(text)

    def account(self, identity: str) -> Account:
        entries = [entry for entry in self.entries() if entry.identity == identity]
        spends = [entry for entry in entries if entry.kind == "spend"]
        caps = [entry for entry in entries if entry.kind == "cap"]
        return Account(
            identity=identity,
            spent_epsilon=sum((self._amount(entry, entry.epsilon) for entry in spends), Fraction(0)),
            spent_delta=sum((self._amount(entry, entry.delta) for entry in spends), Fraction(0)),
            cap_epsilon=self._amount(caps[0], caps[0].epsilon) if caps else None,
            cap_delta=self._amount(caps[0], caps[0].delta) if caps else None,
            releases=len(spends),
            unprotected=sum(entry.epsilon is None for entry in spends),
        )

    def accounts(self) -> list[Account]:
        return [self.account(identity) for identity in dict.fromkeys(entry.identity for entry in self.entries())]

    def broken_at(self) -> int | None:
        """The number of the first entry whose seal does not fit; None if the whole chain holds."""
        before, expected = _GENESIS, 1
        for entry in self.entries():
            fits = self._seal(
                entry.number, entry.identity, entry.kind, entry.at, entry.epsilon, entry.delta, entry.note, before
            )
            if entry.number != expected or not hmac.compare_digest(fits.encode(), entry.seal.encode()):
                return expected
            before, expected = entry.seal, expected + 1
        return None

    def _refuse_if_broken(self) -> None:
        broken = self.broken_at()
        if broken is not None:
            raise BudgetError(
                f"The ledger {self.path} was tampered with: entry {broken} does not fit its seal.",
                remedy="Compare it with a copy and restore it; no release is entered in a ledger that does not hold.",
            )

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _check(what: str, requested: Fraction, spent: Fraction, cap: Fraction | None) -> None:
    if cap is None or spent + requested <= cap:
        return
    remaining = cap - spent
    raise BudgetError(
        f"The budget of this table does not allow the release.\nRequested:  {what} = {_shown(requested)}\n"
        f"Remaining:  {what} = {_shown(remaining)} (of {_shown(cap)})\nDifference: {_shown(requested - remaining)}",
        remedy="Ask for less, or do not release: the cap was set once and stays.",
    )


def _shown(number: Fraction) -> str:
    return f"{float(number):.6g}"
