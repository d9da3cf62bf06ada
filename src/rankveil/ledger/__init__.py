"""The ledger: an append-only record of what was spent on which table.

store.py      the SQLite file: entries chained by keyed hashes, written in transactions
identity.py   which table an entry is about: a keyed fingerprint that discloses nothing
"""

from rankveil.ledger.identity import default_ledger_path, fingerprint, population_identity
from rankveil.ledger.store import Entry, Ledger, Reservation

__all__ = ["Entry", "Ledger", "Reservation", "default_ledger_path", "fingerprint", "population_identity"]
