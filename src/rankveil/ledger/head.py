"""The head of a ledger: one number that stands for all entries up to one of them, so that others can quote it.

Guarantee    Two histories have the same head only if their entries have the same numbers, kinds, times, prices and
             notes, whoever holds the key: rolling a ledger back or rewriting a price shows against a head that was
             published before. A head tells nothing about any table.
Argument     HMAC-SHA256, under the ledger's key, of the entries in their order; two keys or histories with one head
             would be a collision of SHA-256. PRIVACY: identities and names of tables are left out, which follow exact
             values, keyed but not by noise. What remains (numbers, kinds, times, prices, notes with their random
             receipts) follows plans and clocks.
Not covered  To which table an entry counts: that is what the entries' own seals are for (store.py), and whoever holds
             the key can write others.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass

from rankveil.ledger.accounts import Entry
from rankveil.ledger.store import Ledger


@dataclass(frozen=True)
class Head:
    """What a manifest quotes: the release's own entry, its receipt, and what stands for all entries up to it."""

    entry: int
    receipt: str
    digest: str


def head_at(ledger: Ledger, number: int) -> str | None:
    """The head at an entry; None if the ledger does not have it."""
    entries = [entry for entry in ledger.entries() if entry.number <= number]
    return _digest(ledger.key, entries) if len(entries) == number else None


def lacks(ledger: Ledger, entry: int, receipt: str | None, what: str = "this release") -> str | None:
    """Why a ledger does not have an entry that a certificate quotes, as a sentence; None if it has."""
    entries = ledger.entries()
    if len(entries) < entry:
        return (
            f"the ledger ends with entry {len(entries)}, and {what} is entry {entry}: the ledger was rolled back,"
            " or is another one"
        )
    if receipt is not None and f"receipt {receipt}" not in entries[entry - 1].note:
        return f"entry {entry} of the ledger is not {what}: the ledger was rolled back and continued, or is another one"
    return None


def rolled_back(ledger: Ledger, entry: int, receipt: str | None, digest: str | None) -> str | None:
    """What is wrong with a ledger that a certificate or a manifest quotes, as a sentence; None if nothing is."""
    entries = ledger.entries()
    broken = ledger.broken_at()
    if broken is not None:
        return f"entry {broken} of the ledger does not fit its seal: it was changed, or entries were taken out"
    absent = lacks(ledger, entry, receipt)
    if absent is not None:
        return absent
    if digest is not None and not hmac.compare_digest(_digest(ledger.key, entries[:entry]), digest):
        return f"the entries up to {entry} are not those the ledger had when this was signed: they were rewritten"
    return None


def _digest(key: bytes, entries: Iterable[Entry]) -> str:
    mac = hmac.new(key, b"head\0", hashlib.sha256)
    for entry in entries:
        content = (entry.number, entry.kind, entry.at, entry.epsilon, entry.delta, entry.note)
        mac.update(json.dumps(content).encode() + b"\n")
    return mac.hexdigest()
