"""What the entries of a ledger add up to, for each identity.

Guarantee    An entry counts for every identity it names: a spend on a table that the plan says is taken from a
             population is a spend of both. Sums are exact.
Links        A table remembers what its entries have named beside it: populations, files, and the table that was
             released as it is read without a plan. From a population no link leads anywhere.
What counts  A release is a spend whose release was published: written, or handed over in memory. A spend without that
             is `unpublished`: a run that was refused, failed or was killed after it had spent. A run that is refused
             before it pays leaves no entry at all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from rankveil.ledger.identity import Identity

_AMOUNT = re.compile(r"[0-9]{1,400}(/0*[1-9][0-9]{0,399})?")  # as str() writes a Fraction


class Damaged(Exception):
    """An entry does not hold what an entry holds."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    number: int
    identity: str  # all identities, as the file holds them
    kind: str  # cap, spend, published
    at: str
    epsilon: str | None
    delta: str | None
    note: str
    seal: str
    names: str | None = None  # JSON; entries of the first format have none

    def check(self) -> Entry:
        texts = (self.identity, self.kind, self.at, self.note, self.seal)
        perhaps = (text for text in (self.epsilon, self.delta, self.names) if text is not None)
        if not isinstance(self.number, int) or not all(isinstance(text, str) for text in (*texts, *perhaps)):
            raise Damaged(self.number)
        return self

    @property
    def identities(self) -> tuple[Identity, ...]:
        found = self.identity.split(" ")
        try:
            names = [""] * len(found) if self.names is None else json.loads(self.names)
        except ValueError:
            raise Damaged(self.number) from None
        if not isinstance(names, list) or len(names) != len(found) or not all(isinstance(name, str) for name in names):
            raise Damaged(self.number)
        return tuple(Identity.parse(text, name) for text, name in zip(found, names, strict=True))

    @property
    def name(self) -> str:
        """What people call it: the table, and its population."""
        return ", ".join(dict.fromkeys(identity.label for identity in self.identities))

    def amount(self, text: str | None) -> Fraction:
        if text is None:
            return Fraction(0)
        if not _AMOUNT.fullmatch(text):
            raise Damaged(self.number)
        return Fraction(text)


@dataclass(frozen=True)
class Account:
    """What one table or population has spent, and what it may."""

    identity: str
    kind: str
    name: str
    spent_epsilon: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)
    cap_epsilon: Fraction | None = None
    cap_delta: Fraction | None = None
    releases: int = 0  # published
    unpublished: int = 0  # spent, not published
    unprotected: int = 0  # releases without a guarantee, published or not
    links: tuple[Identity, ...] = ()  # what entries have named beside it

    @classmethod
    def of(cls, identity: Identity) -> Account:
        return cls(identity.digest, identity.kind, identity.name)

    @property
    def label(self) -> str:
        return Identity(self.kind, self.identity, self.name).label

    @property
    def left_epsilon(self) -> Fraction | None:
        """What may still be spent; None without a cap."""
        return None if self.cap_epsilon is None else self.cap_epsilon - self.spent_epsilon

    @property
    def shown(self) -> str:
        return Identity(self.kind, self.identity, self.name).shown

    @property
    def sentence(self) -> str:
        """The same at the beginning of one."""
        return f"T{self.shown[1:]}"

    def with_entry(self, entry: Entry, identity: Identity) -> Account:
        """The account after one more entry."""
        changed = self if identity.kind == "population" else self._linked(entry)
        if identity.name or identity.kind != self.kind:
            changed = replace(changed, kind=identity.kind, name=identity.name or self.name)
        if entry.kind == "spend":
            return replace(
                changed,
                spent_epsilon=changed.spent_epsilon + entry.amount(entry.epsilon),
                spent_delta=changed.spent_delta + entry.amount(entry.delta),
                unpublished=changed.unpublished + 1,
                unprotected=changed.unprotected + (entry.epsilon is None),
            )
        if entry.kind == "published" and changed.unpublished:
            return replace(changed, releases=changed.releases + 1, unpublished=changed.unpublished - 1)
        if entry.kind == "cap" and changed.cap_epsilon is None:
            return replace(changed, cap_epsilon=entry.amount(entry.epsilon), cap_delta=entry.amount(entry.delta))
        return changed

    def _linked(self, entry: Entry) -> Account:
        first, *others = entry.identities
        beside = [identity for identity in others if identity.kind in ("population", "file")]
        found = {link.digest: link for link in (*self.links, *([] if first.kind == "population" else [first]), *beside)}
        found.pop(self.identity, None)
        return replace(self, links=tuple(found.values()))

    def as_json(self) -> list[Any]:
        amounts = (self.spent_epsilon, self.spent_delta, self.cap_epsilon, self.cap_delta)
        texts = [None if amount is None else str(amount) for amount in amounts]
        counts = (self.releases, self.unpublished, self.unprotected)
        links = [[link.kind, link.digest, link.name] for link in self.links]
        return [self.identity, self.kind, self.name, *texts, *counts, links]

    @classmethod
    def from_json(cls, content: list[Any]) -> Account:
        amounts = [None if text is None else Fraction(text) for text in content[3:7]]
        links = tuple(Identity(*link) for link in content[10])
        return replace(cls(*content[:3], *amounts, *content[7:10]), links=links)


Accounts = dict[str, Account]


def added(accounts: Accounts, entry: Entry) -> None:
    """Count one more entry, in place."""
    for identity in entry.identities:
        known = accounts.get(identity.digest) or Account.of(identity)
        accounts[identity.digest] = known.with_entry(entry, identity)
