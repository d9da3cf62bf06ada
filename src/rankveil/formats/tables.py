"""What tables of databases have in common: their names, and what is said when one is not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankveil.errors import TableError
from rankveil.formats.format import Part


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever characters are in it."""
    return '"' + name.replace('"', '""') + '"'


def named(table: str) -> str:
    """A table, perhaps with its schema before a point."""
    return ".".join(map(quoted, table.split(".", 1)))


def chosen(part: Part, tables: Sequence[str], scheme: str) -> str:
    """The table that was asked for, or the only one that there is."""
    where = part.path.name if part.server is None else "the database"
    if part.inside is not None:
        if part.inside not in tables:
            raise TableError(f"There is no table {part.inside!r} in {where}.", remedy=_which(tables, scheme))
        return part.inside
    if len(tables) != 1:
        raise TableError(f"There are {len(tables)} tables in {where}.", remedy=_which(tables, scheme))
    return tables[0]


def _which(tables: Sequence[str], scheme: str) -> str:
    shown = ", ".join(map(repr, sorted(tables)[:10])) + (" and others" if len(tables) > 10 else "")
    return f"Name one in the address: '{scheme}://…?table=…'." + (f" There are: {shown}." if tables else "")


def no_file(path: Path) -> None:
    if not path.is_file():
        raise TableError(f"Table {path} does not exist.", remedy="Check the path in the address.")


def gone(part: Part) -> TableError:
    """In our words: those of the database may quote values, and its address holds a password."""
    if part.server is None:
        return TableError(
            f"The database {part.path.name} cannot be read: it is damaged, locked by another program, or its table was"
            " changed while it was read.",
            remedy="Check the file, and close what else has it open.",
        )
    return TableError(
        f"The table {part.inside or ''} cannot be read: the database does not answer, has gone away, or does not let"
        " this user in.",
        remedy="Check host, port, database, user and password of the address, and whether the user may read the table.",
    )
