"""The ledger: an append-only record of what was spent on which table.

store.py       the SQLite file: entries chained by keyed hashes, written in transactions
layout.py      what that file holds, and nothing else
booking.py     a release's own entry, and what is said of it afterwards
accounts.py    what entries add up to
checkpoint.py  the same at one entry, sealed, so that a spend need not read all entries
head.py        one number that stands for all entries, for others to quote
identity.py    which table and population an entry is about: keyed fingerprints that disclose nothing
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.ledger.accounts import Account, Entry
    from rankveil.ledger.booking import Booking
    from rankveil.ledger.head import Head, lacks, rolled_back
    from rankveil.ledger.identity import Identity, default_ledger_path, identities, population_identity
    from rankveil.ledger.store import Ledger, Reservation

__all__ = [
    "Account",
    "Booking",
    "Entry",
    "Head",
    "Identity",
    "Ledger",
    "Reservation",
    "default_ledger_path",
    "identities",
    "lacks",
    "population_identity",
    "rolled_back",
]

__getattr__, __dir__ = lazily(
    __name__,
    accounts="Account Entry",
    booking="Booking",
    head="Head lacks rolled_back",
    identity="Identity default_ledger_path identities population_identity",
    store="Ledger Reservation",
)
