"""Which table and which people an entry of the ledger is about.

Guarantee    Without the ledger's key an identity tells nothing about the table, not even whether a guess of its whole
             content is right. Copies of one table have one identity: it follows the values (engines/content.py).
Argument     HMAC-SHA256 of the fingerprint of the table's values, or of the name of its population, under a random key
             of 256 bits that is kept in a file of its own, readable by its owner only. The key stays in this process.
Sets         A release has several identities, and spends the budget of each: its table as it is read without a plan,
             its table as the plan reads it, with all columns and without those that it drops, where those are others;
             its population if the plan names one. In a ledger that has entries of format 1, its table also as those
             knew it: by the bytes of its file. The ledger adds what entries have named beside these (store.py).
Not covered  A table with one changed value that the plan reads has an identity of its own. Where several extracts hold
             the same people, the plan names their `population`, and they share one budget. Names are for people to
             read; they are no part of an identity.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path

from rankveil.engines import Engine, LocalEngine, Map, Table
from rankveil.engines.content import Content, TextReading
from rankveil.errors import TableError
from rankveil.system import data_folder


def default_ledger_path() -> Path:
    """RANKVEIL_LEDGER, or ledger.sqlite in the user's data folder."""
    given = os.environ.get("RANKVEIL_LEDGER")
    if given:
        return Path(given)
    return data_folder("data") / "ledger.sqlite"


@dataclass(frozen=True)
class Identity:
    """One of the things whose budget an entry concerns."""

    kind: str  # table, population; file: a table by the bytes of its file, as format 1 knew it
    digest: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.digest}"

    @classmethod
    def parse(cls, text: str, name: str) -> Identity:
        kind, colon, digest = text.partition(":")
        return cls(kind, digest, name) if colon else cls("file", text, name)

    @property
    def label(self) -> str:
        return self.name or self.digest[:12]

    @property
    def shown(self) -> str:
        """For sentences: this table (people.csv)."""
        return f"this {'population' if self.kind == 'population' else 'table'} ({self.label})"


def identities(
    table: Table,
    key: bytes,
    *,
    name: str = "",
    population: str | None = None,
    reading: TextReading | None = None,
    older: bool = False,
    engine: Engine | None = None,
) -> list[Identity]:
    """All identities of a release of a table. `older`: also the one that format 1 would have given it."""
    engine = LocalEngine() if engine is None else engine
    work = Content(tuple(table.schema.names), reading or TextReading())
    name = name or called(table)
    digests = work.digests(engine.fold(table, work))
    found = [Identity("table", _keyed(key, b"table\0", digest), name) for digest in digests]
    if older:
        found.append(Identity("file", _keyed(key, b"table\0", _older_digest(table, engine.map)), name))
    if population is not None:
        found.append(population_identity(population, key))
    return found


def population_identity(population: str, key: bytes) -> Identity:
    population = population.strip()  # as the plan does
    return Identity("population", _keyed(key, b"population\0", population.encode()), population)


def called(table: Table) -> str:
    """What people call a table: the name of its file or folder."""
    unnamed = {"in memory": f"{table.format} table in memory", "of Spark": "data frame of Spark"}
    return unnamed.get(table.name, table.name) if table.path is None else table.name


def _keyed(key: bytes, what: bytes, content: bytes) -> str:
    return hmac.new(key, what + content, hashlib.sha256).hexdigest()


# How format 1 knew tables: by the bytes of files, and by types and values of tables in memory.


def _older_digest(table: Table, run: Map) -> bytes:
    if not table.parts:
        return table.digest()
    digests = sorted(run(_file_digest, [part.path for part in table.parts]))
    return digests[0] if len(digests) == 1 else hashlib.sha256(b"parts\0" + b"".join(digests)).digest()


def _file_digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise TableError(f"Table {path.name} cannot be read: {error.strerror}.", remedy="Check the file.") from None
