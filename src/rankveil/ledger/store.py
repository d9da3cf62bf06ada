"""The ledger's file: what was spent, in entries that are only ever added.

Guarantee    A release is entered before its noise is drawn, and an entry is never taken back. An entry counts for all
             the identities it names, and every cap on any of them is kept; what an entry has named beside a table is
             named by later entries on it too. Processes that release at the same time cannot together spend more than
             a cap allows. A changed, removed or reordered entry shows.
Argument     Checking what is left and adding the entry happen in one transaction that locks the file for writing
             (BEGIN IMMEDIATE) and is synced to the disk before it returns. Each entry carries an HMAC, under the
             ledger's key, of its content and of the HMAC of the entry before it. The certificate of a release quotes
             its entry, so that cutting off the end of the ledger shows as well. A spend verifies what was added since
             the last checkpoint (checkpoint.py), `broken_at` everything.
Not covered  Someone who holds the key can write another history. Spending adds up by composition (T2): ε to ε, δ to δ.
Formats      2. Entries of format 1 named one identity and had no names; a ledger of that format is continued: its
             entries, seals, caps and spends stay as they are.
Arithmetic   ε and δ are rational and stored as text.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from rankveil import system
from rankveil.errors import BudgetError
from rankveil.ledger import checkpoint, layout
from rankveil.ledger.accounts import Account, Accounts, Damaged, Entry, added
from rankveil.ledger.checkpoint import Checkpoint, DoesNotFit
from rankveil.ledger.identity import Identity
from rankveil.ledger.layout import Foreign
from rankveil.noise import SystemSource
from rankveil.temporary import sweep, temporary_file

_WAIT_SECONDS = 30
_GENESIS = "0" * 64
_UNUSABLE = (sqlite3.Error, UnicodeError)  # the latter where SQLite's own message quotes damaged bytes
_COLUMNS = "number, identity, kind, at, epsilon, delta, note, seal, names"
_RECEIPT = ", receipt "


@dataclass(frozen=True)
class Reservation:
    """A spend that has been entered: its number and receipt go into the certificate.

    PRIVACY: a receipt is random, and noted with the entry. The entry's seal would show it as well, but depends on the
    identity of the table, and so on exact data: keyed, but not by noise.
    """

    number: int
    receipt: str
    identities: tuple[Identity, ...]  # all that the entry names


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
            with self._usable():
                self._prepare()
        except BaseException:
            self.close()  # or its lock would outlive the refusal
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
        sweep(key_path.parent)
        with temporary_file(key_path.parent) as temporary:
            handle = os.open(temporary, system.binary(os.O_WRONLY))
            try:
                os.write(handle, SystemSource().random_bytes(32))
                os.fsync(handle)
            finally:
                os.close(handle)
            with suppress(FileExistsError):
                os.link(temporary, key_path)
        return key_path.read_bytes()

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            known = layout.prepare(connection)
        if not known:
            raise BudgetError(
                f"The ledger {self.path} has a format that this version does not know.",
                remedy="Use the version of rankveil that wrote it, or a newer one.",
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, with the file locked for writing from the first statement on."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            layout.check(self._connection)
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

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """What is wrong with the file, in our words."""
        try:
            yield
        except _UNUSABLE as error:
            raise self._trouble(error) from None
        except Damaged as error:
            raise BudgetError(
                f"The ledger {self.path} is damaged: entry {error} does not hold what an entry holds.", remedy=_RESTORE
            ) from None
        except DoesNotFit:
            raise self._tampered("its checkpoint does not fit its entries") from None
        except Foreign:
            raise self._tampered("its file holds something that no ledger holds (a trigger, a view, a table)") from None

    # What is spent

    def spend(
        self, identities: Sequence[Identity], epsilon: Fraction | None, delta: Fraction, note: str
    ) -> Reservation:
        """Enter a release before its noise is drawn. `epsilon` is None for a release without a guarantee."""
        with self._usable(), self._transaction():
            chain, identities = self._extended(identities)
            for account in chain.of(identities):
                if epsilon is None and account.cap_epsilon is not None:
                    raise BudgetError(
                        f"{account.sentence} has a cap, and a release without a guarantee cannot keep any cap.",
                        remedy="Use a method with a guarantee: rankveil methods.",
                    )
                if epsilon is not None:
                    _check("ε", epsilon, account.spent_epsilon, account.cap_epsilon, account.shown)
                    _check("δ", delta, account.spent_delta, account.cap_delta, account.shown)
            receipt = SystemSource().random_bytes(16).hex()
            number = self._append(chain, identities, "spend", epsilon, delta, f"{note}{_RECEIPT}{receipt}")
            return Reservation(number, receipt, tuple(identities))

    def published(self, identities: Sequence[Identity], reservation: Reservation, what: str) -> None:
        """Note that a reserved release was published. Its absence means that the spend bought nothing."""
        with self._usable(), self._transaction():
            chain = self._verified(identities)
            self._append(chain, identities, "published", None, None, f"entry {reservation.number}, {what}")

    def cap(self, identities: Sequence[Identity], epsilon: Fraction, delta: Fraction) -> None:
        """Set what a table (under all its identities) or a population may spend in all. A cap is set once.

        The same cap may be said again where it gains an identity: that of the table as a plan reads it.
        """
        with self._usable(), self._transaction():
            chain = self._verified(identities)
            accounts = chain.of(identities)
            gains = any(account.cap_epsilon is None for account in accounts)
            for account in accounts:
                if account.cap_epsilon is not None and not (
                    gains and (account.cap_epsilon, account.cap_delta) == (epsilon, delta)
                ):
                    raise BudgetError(
                        f"{account.sentence} has a cap already: ε = {_shown(account.cap_epsilon)}.",
                        remedy="A cap is set once and stays: that is what makes it a promise.",
                    )
                if account.unprotected:
                    raise BudgetError(
                        f"{account.sentence} has been released without a guarantee; a cap would promise what"
                        " no longer holds.",
                        remedy="No cap can be set for it.",
                    )
            self._append(chain, identities, "cap", epsilon, delta, "")

    def _extended(self, identities: Sequence[Identity]) -> tuple[_Chain, list[Identity]]:
        """The chain, and identities with those that entries have named beside them: one step, and no further.

        PRIVACY: or a cap on a population would end where a plan no longer names it, and one that knows a table by its
        file, or as it is read without a plan, where a copy is released. Tables that are named beside count where they
        have a cap; all others would only make entries longer.
        """
        own = {identity.digest: identity for identity in identities}
        tables = [identity for identity in identities if identity.kind != "population"]
        beside = {link.digest: link for account in self._verified(tables).of(tables) for link in account.links}
        chain = self._verified([*beside.values(), *identities])
        bound = [
            identity
            for identity, account in zip(beside.values(), chain.of(list(beside.values())), strict=True)
            if identity.digest not in own and (identity.kind != "table" or account.cap_epsilon is not None)
        ]
        return chain, [*identities, *bound]

    def _append(
        self,
        chain: _Chain,
        identities: Sequence[Identity],
        kind: str,
        epsilon: Fraction | None,
        delta: Fraction | None,
        note: str,
    ) -> int:
        number, at = chain.number + 1, self._clock().isoformat(timespec="seconds")
        content = (number, " ".join(map(str, identities)), kind, at, _text(epsilon), _text(delta), note)
        names = json.dumps([identity.name for identity in identities])
        seal = self._seal(*content, names, chain.seal)
        row = (*content, seal, names)
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        # PRIVACY: a file can say that what is inserted is not kept.
        found = self._connection.execute(f"SELECT {_COLUMNS} FROM entries WHERE number = ?", (number,)).fetchall()
        if found != [row]:
            raise Foreign
        if number - chain.since >= checkpoint.EVERY:
            whole = self._verified(None)
            checkpoint.write(self._connection, self._seal, Checkpoint(number, whole.accounts), seal)
        return number

    def _seal(self, *content: object) -> str:
        return hmac.new(self.key, json.dumps(content).encode(), hashlib.sha256).hexdigest()

    def _seal_of(self, entry: Entry, before: str) -> str:
        named = () if entry.names is None else (entry.names,)
        amounts = (entry.epsilon, entry.delta)
        return self._seal(entry.number, entry.identity, entry.kind, entry.at, *amounts, entry.note, *named, before)

    def _verified(self, identities: Sequence[Identity] | None) -> _Chain:
        """The end of the chain and some accounts (or all), read from the last checkpoint on and verified from there."""
        wanted = None if identities is None else {identity.digest for identity in identities}
        pieces = range(checkpoint.PIECES) if wanted is None else map(checkpoint.piece_of, wanted)
        start = checkpoint.read(self._connection, self._seal, self._seal_at, pieces)
        number, accounts = (0, Accounts()) if start is None else (start.number, start.accounts)
        before, since = self._seal_at(number) or _GENESIS, number
        for entry in self._chain(number, before):
            number, before = entry.number, entry.seal
            if wanted is None or any(identity.digest in wanted for identity in entry.identities):
                added(accounts, entry)
        return _Chain(number, before, since, accounts)

    def _chain(self, number: int, before: str) -> Iterator[Entry]:
        """Entries after a number, each verified."""
        for entry in self._entries_after(number):
            number += 1
            if not self._fits(entry, number, before):
                raise self._tampered(f"entry {number} does not fit its seal")
            before = entry.seal
            yield entry

    def _tampered(self, how: str) -> BudgetError:
        return BudgetError(f"The ledger {self.path} was tampered with: {how}.", remedy=_RESTORE)

    def _fits(self, entry: Entry, number: int, before: str) -> bool:
        return entry.number == number and hmac.compare_digest(
            self._seal_of(entry, before).encode(), entry.seal.encode()
        )

    def _seal_at(self, number: int) -> str | None:
        found = self._connection.execute("SELECT seal FROM entries WHERE number = ?", (number,)).fetchone()
        return found[0] if found is not None and isinstance(found[0], str) else None

    def _entries_after(self, number: int) -> Iterator[Entry]:
        # All of them without a look-up by number, which a damaged file might answer with fewer.
        where = f"WHERE number > {number:d}" if number > 0 else ""
        for row in self._connection.execute(f"SELECT {_COLUMNS} FROM entries {where} ORDER BY number"):
            yield Entry(*row).check()

    # What is there

    def entries(self) -> list[Entry]:
        with self._usable():
            return list(self._entries_after(0))

    @property
    def continues_format_1(self) -> bool:
        """Whether there are entries that know tables by the bytes of their files."""
        with self._usable():
            first = next(self._entries_after(0), None)
            return first is not None and first.names is None

    def account(self, identity: Identity) -> Account:
        """What one table or population has spent. The entries that were read for it are verified."""
        with self._usable():
            return self._verified([identity]).of([identity])[0]

    def accounts_of(self, identities: Sequence[Identity]) -> list[Account]:
        """All accounts that a release with these identities would spend from."""
        with self._usable():
            chain, extended = self._extended(identities)
            return chain.of(extended)

    def accounts(self) -> list[Account]:
        """All accounts, in the order of their first entries; identities of a table that share all entries are one.

        Everything is verified for it.
        """
        with self._usable():
            accounts, seen = Accounts(), dict[str, list[int]]()
            for entry in self._chain(0, _GENESIS):
                added(accounts, entry)
                for identity in entry.identities:
                    seen.setdefault(identity.digest, []).append(entry.number)
        if not self.checkpoint_fits():
            raise self._tampered("its checkpoint does not fit its entries")
        known: dict[tuple[bool, tuple[int, ...]], Account] = {}
        for digest, account in accounts.items():
            known.setdefault((account.kind == "population", tuple(seen[digest])), account)
        return list(known.values())

    def reference(self, reference: str) -> tuple[int | None, bool]:
        """The spend that was entered with a reference, and whether its release was published."""
        end = f", reference {reference}"
        with self._usable():
            paid = self._connection.execute(
                "SELECT number FROM entries WHERE kind = 'spend' AND (substr(note, ?) = ? OR instr(note, ?))"
                " ORDER BY number LIMIT 1",
                (-len(end), end, end + _RECEIPT),  # entries of format 1 have no receipt
            ).fetchone()
            if paid is None:
                return None, False
            begin = f"entry {paid[0]}, "
            found = self._connection.execute(
                "SELECT 1 FROM entries WHERE number > ? AND kind = 'published' AND substr(note, 1, ?) = ? LIMIT 1",
                (paid[0], len(begin), begin),
            ).fetchone()
        return paid[0], found is not None

    def broken_at(self) -> int | None:
        """The number of the first entry whose seal does not fit; None if the whole chain holds."""
        with self._usable():
            before = _GENESIS
            for number, entry in enumerate(self._entries_after(0), start=1):
                if not self._fits(entry, number, before):
                    return number
                before = entry.seal
        return None

    def checkpoint_fits(self) -> bool:
        """Whether the checkpoint says what all entries up to it add up to, counted anew."""
        with self._usable():
            try:
                found = checkpoint.read(self._connection, self._seal, self._seal_at, range(checkpoint.PIECES))
            except DoesNotFit:
                return False
            if found is None:
                return True
            accounts = Accounts()
            for entry in self._entries_after(0):
                if entry.number <= found.number:
                    added(accounts, entry)
        return accounts == found.accounts

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@dataclass(frozen=True)
class _Chain:
    """The end of the chain, and accounts there."""

    number: int
    seal: str
    since: int  # the entry of the last checkpoint
    accounts: Accounts

    def of(self, identities: Sequence[Identity]) -> list[Account]:
        """Accounts of some identities, under the names that are used now."""
        found = [self.accounts.get(identity.digest) or Account.of(identity) for identity in identities]
        pairs = zip(found, identities, strict=True)
        return [replace(account, name=now.name or account.name, kind=now.kind) for account, now in pairs]


_RESTORE = "Compare it with a copy and restore it; no release is entered in a ledger that does not hold."


def _check(what: str, requested: Fraction, spent: Fraction, cap: Fraction | None, whose: str) -> None:
    if cap is None or spent + requested <= cap:
        return
    remaining = cap - spent
    raise BudgetError(
        f"The budget of {whose} does not allow the release.\nRequested:  {what} = {_shown(requested)}\n"
        f"Remaining:  {what} = {_shown(remaining)} (of {_shown(cap)})\nDifference: {_shown(requested - remaining)}",
        remedy="Ask for less, or do not release: the cap was set once and stays.",
    )


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


def _shown(number: Fraction) -> str:
    return f"{float(number):.6g}"
