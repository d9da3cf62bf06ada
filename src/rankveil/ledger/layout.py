"""What the SQLite file of a ledger holds: three tables, and two triggers that keep entries as they are.

Guarantee    A file that holds anything else is refused: SQLite would run triggers of anybody's, and a view can show
             fewer entries than there are.
Argument     Tables and triggers are compared by the very statements that make them, whenever the file is locked. A
             trigger of ours that is missing takes nothing away: seals show what was changed.
"""

from __future__ import annotations

import sqlite3

from rankveil.ledger import checkpoint

FORMAT = 2
_ENTRIES_1 = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, identity TEXT NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL,"
    " epsilon TEXT, delta TEXT, note TEXT NOT NULL, seal TEXT NOT NULL)"
)
_THINGS = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    _ENTRIES_1.removesuffix(")") + ", names TEXT)",  # as SQLite itself writes it where the column is added
    checkpoint.TABLE,
    *(
        f"CREATE TRIGGER no_{change.lower()} BEFORE {change} ON entries"
        " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for change in ("UPDATE", "DELETE")
    ),
)


class Foreign(Exception):
    """The file holds something that no ledger holds, or does not keep what was put into it."""


def check(connection: sqlite3.Connection) -> None:
    # All at once: a statement that is not read to its end would keep the lock.
    found = connection.execute("SELECT sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'").fetchall()
    if any(thing not in (*_THINGS, _ENTRIES_1) for (thing,) in found):
        raise Foreign


def prepare(connection: sqlite3.Connection) -> bool:
    """Make what a new file lacks, and add what format 1 had not; whether the format is known."""
    (things,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if things == 0:  # a new file. A ledger that has lost a table is damaged, not new: see below.
        for thing in _THINGS:
            connection.execute(thing)
        connection.execute("INSERT INTO meta VALUES ('format', ?)", (str(FORMAT),))
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    if found == ("1",):
        connection.execute("ALTER TABLE entries ADD COLUMN names TEXT")
        connection.execute(checkpoint.TABLE)
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT),))
        return True
    return bool(found == (str(FORMAT),))
