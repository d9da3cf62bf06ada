"""What the ledger adds up to at one of its entries, sealed, so that a spend need not read all entries before it.

Guarantee    A spend believes a checkpoint only if the key has sealed it for the very entry that stands at its number;
             otherwise it is refused. What was added since is verified entry by entry.
Argument     The seal covers the accounts, the number of the entry and that entry's own seal, which covers all entries
             before it. Accounts lie in 256 pieces, each with its seal, so that a spend reads those of its own
             identities; all pieces are always there, so that an account cannot be taken away by itself. An older
             checkpoint put in the place of a newer one is as true: more entries are read after it.
Not covered  An entry changed before the checkpoint is found by `rankveil ledger verify`, which reads the whole chain
             and adds it up anew, and no longer by the next spend. The spend is not misled by it: it adds up what was
             sealed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rankveil.ledger.accounts import Account, Accounts

EVERY = 256  # entries between two checkpoints
PIECES = 256
Seal = Callable[..., str]
TABLE = (
    "CREATE TABLE checkpoints (piece INTEGER PRIMARY KEY, number INTEGER NOT NULL, content TEXT NOT NULL,"
    " seal TEXT NOT NULL)"
)


class DoesNotFit(Exception):
    """A checkpoint that the key has not sealed for this chain."""


@dataclass(frozen=True)
class Checkpoint:
    """Accounts at an entry; of some pieces or of all."""

    number: int
    accounts: Accounts


def piece_of(identity: str) -> int:
    return hashlib.sha256(identity.encode()).digest()[0] % PIECES


def read(
    connection: sqlite3.Connection, seal: Seal, seal_at: Callable[[int], str | None], pieces: Iterable[int]
) -> Checkpoint | None:
    """The last checkpoint, as far as some pieces of it are asked for; None if there is none as yet."""
    wanted = sorted(set(pieces))
    marks = ",".join("?" * len(wanted))
    rows = connection.execute(
        f"SELECT piece, number, content, seal FROM checkpoints WHERE piece IN ({marks}) ORDER BY piece",
        wanted,
    ).fetchall()
    if not rows and connection.execute("SELECT 1 FROM checkpoints LIMIT 1").fetchone() is None:
        return None
    if [row[0] for row in rows] != wanted or len({row[1] for row in rows}) != 1:
        raise DoesNotFit
    number, accounts = rows[0][1], Accounts()
    chain = seal_at(number) if isinstance(number, int) else None
    for piece, _, content, found in rows:
        if chain is None or not isinstance(content, str) or found != seal("checkpoint", piece, number, chain, content):
            raise DoesNotFit
        accounts |= {item[0]: Account.from_json(item) for item in json.loads(content)}
    return Checkpoint(number, accounts)


def write(connection: sqlite3.Connection, seal: Seal, checkpoint: Checkpoint, chain: str) -> None:
    """Put a checkpoint in the place of the last one. `chain`: the seal of the entry it stands at."""
    content: list[list[object]] = [[] for _ in range(PIECES)]
    for identity in sorted(checkpoint.accounts):
        content[piece_of(identity)].append(checkpoint.accounts[identity].as_json())
    texts = [json.dumps(piece) for piece in content]
    connection.execute("DELETE FROM checkpoints")
    connection.executemany(
        "INSERT INTO checkpoints VALUES (?, ?, ?, ?)",
        [
            (piece, checkpoint.number, text, seal("checkpoint", piece, checkpoint.number, chain, text))
            for piece, text in enumerate(texts)
        ],
    )
