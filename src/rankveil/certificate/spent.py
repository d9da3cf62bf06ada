"""Where a budget goes: prices added up by what they buy, as shares of the whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rankveil.certificate.content import Share, SpentNote
from rankveil.measure.budget import Mechanism

Purpose = Literal["column", "linkage", "bounds", "rows"]


@dataclass(frozen=True)
class Priced:
    """A mechanism as far as the division of a budget is concerned."""

    column: str
    mechanism: str
    theorems: tuple[str, ...]
    price: Fraction  # in ρ, or in ε

    @classmethod
    def of(cls, mechanism: Mechanism) -> Priced:
        price = mechanism.rho or mechanism.epsilon or Fraction(0)
        return cls(mechanism.column, mechanism.name, mechanism.theorems, price)

    @classmethod
    def of_share(cls, share: Share) -> Priced:
        return cls(share.column, share.mechanism, share.theorems, Fraction(share.rho or share.epsilon or 0))

    @property
    def counts_rows(self) -> bool:
        return "T52" in self.theorems


def divided(priced: Iterable[Priced], columns: Collection[str]) -> dict[tuple[str, Purpose], Fraction]:
    """What was bought, and for which share of the whole; nothing where noise is no part of a budget."""
    parts = list(priced)
    whole = sum(part.price for part in parts)
    if not whole:
        return {}
    shares: dict[tuple[str, Purpose], Fraction] = {}
    for part in parts:
        if "for bounds" in part.mechanism:
            key: tuple[str, Purpose] = ("bounds", "bounds")
        elif part.counts_rows:
            key = (part.column, "rows")
        elif part.column in columns and "channel" not in part.mechanism:
            key = (part.column, "column")
        else:
            key = (part.mechanism, "linkage")
        shares[key] = shares.get(key, Fraction(0)) + part.price / whole
    return {key: share for key, share in shares.items() if share}


def spent_by(shares: Iterable[Share], columns: Collection[str]) -> tuple[SpentNote, ...]:
    """The same for a certificate, in percent."""
    return tuple(
        SpentNote(what=what, purpose=purpose, percent=_percent(share))
        for (what, purpose), share in divided(map(Priced.of_share, shares), columns).items()
    )


def _percent(share: Fraction) -> str:
    hundredfold = float(100 * share)
    return f"{hundredfold:.1f}" if hundredfold >= 1 else f"{hundredfold:.2g}"
