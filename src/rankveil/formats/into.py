"""A release as a table of a database, whole or not at all.

Guarantee    The table appears with all its rows or not at all, and one that is there is replaced only where that was
             asked for.
Argument     All of it is one transaction of SQLite, DuckDB or PostgreSQL, in each of which tables can be made and
             dropped. A database file that was made for it and stays empty is removed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from rankveil.errors import OutputError, RankveilError, TableError
from rankveil.formats import FORMATS
from rankveil.formats.addresses import database, is_address, shown
from rankveil.formats.format import Part
from rankveil.formats.tables import named, quoted

_SQL_TYPES = {"SQLite": {"int64": "INTEGER", "double": "REAL", "bool": "BOOLEAN", "date32[day]": "DATE"}}


class _Base(Protocol):
    """One transaction in a database."""

    def __init__(self, part: Part) -> None: ...

    def has(self, table: str) -> bool: ...

    def drop(self, table: str) -> None: ...

    def create(self, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Target:
    """Where a table is to go; looked at before anything is read or spent."""

    kind: str
    part: Part
    overwrite: bool

    @classmethod
    def of(cls, address: str, *, overwrite: bool = False) -> Target:
        if not is_address(address):
            raise OutputError(
                f"{shown(address)} is not the address of a table.",
                remedy="Give one such as 'sqlite:///people.db?table=released', 'duckdb:///…' or 'postgresql://…'.",
            )
        try:
            kind, part = database(address)
        except TableError as error:
            raise OutputError(error.problem, remedy=error.remedy) from None
        if part.inside is None:
            raise OutputError("The address names no table.", remedy="Add it: '…?table=released'.")
        target = cls(kind, part, overwrite)
        target._refuse()
        return target

    @property
    def name(self) -> str:
        return self.part.inside or ""

    def _refuse(self) -> None:
        if self.part.server is None:
            if not self.part.path.parent.is_dir():
                raise OutputError(f"The folder of {self.part.path} does not exist.", remedy="Check the address.")
            if not self.part.path.exists():
                return
        with _answering(self), closing(self._opened()) as base:
            if base.has(self.name) and not self.overwrite:
                raise OutputError(
                    f"The database already has a table {self.name!r}.",
                    remedy="Choose another name: nothing is replaced unless you say --overwrite.",
                )

    def _opened(self) -> _Base:
        FORMATS[self.kind].reads  # noqa: B018 - says what has to be installed
        bases: dict[str, type[_Base]] = {"sqlite": _Sqlite, "duckdb": _Duck, "postgresql": _Postgres}
        return bases[self.kind](self.part)

    def write(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        new = self.part.server is None and not self.part.path.exists()
        try:
            with _answering(self), closing(self._opened()) as base:
                if base.has(self.name):
                    if not self.overwrite:
                        raise OutputError(
                            f"The database already has a table {self.name!r}.", remedy="Choose another name."
                        )
                    base.drop(self.name)
                base.create(self.name, schema, batches)
                base.commit()
        except BaseException:
            if new:
                self.part.path.unlink(missing_ok=True)
            raise


class _answering:
    """Whatever goes wrong in a database, in our words: its own may quote values, and the address a password."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or isinstance(error, RankveilError) or not isinstance(error, Exception):
            return
        raise OutputError(
            f"The table {self._target.name!r} cannot be written: the database does not answer, has gone away, or does"
            " not allow it.",
            remedy="Check the address, and whether the user may create tables there. A release that is in its folder"
            " already is written as a table, at no cost, by: rankveil load FOLDER ADDRESS",
        ) from None


class _Sqlite:
    def __init__(self, part: Part) -> None:
        self._base = sqlite3.connect(part.path, isolation_level=None)
        self._base.execute("BEGIN IMMEDIATE")

    def has(self, table: str) -> bool:
        return self._base.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone() is not None

    def drop(self, table: str) -> None:
        self._base.execute(f"DROP TABLE {quoted(table)}")

    def create(self, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        types = _SQL_TYPES["SQLite"]
        columns = ", ".join(f"{quoted(field.name)} {types.get(str(field.type), 'TEXT')}" for field in schema)
        self._base.execute(f"CREATE TABLE {quoted(table)} ({columns})")
        row = f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(schema))})"
        for batch in batches:
            columns_of = [c.cast(pa.string()) if pa.types.is_date(c.type) else c for c in batch.columns]
            self._base.executemany(row, zip(*(column.to_pylist() for column in columns_of), strict=True))

    def commit(self) -> None:
        self._base.execute("COMMIT")

    def close(self) -> None:
        self._base.close()  # what was not committed is taken back


class _Duck:
    def __init__(self, part: Part) -> None:
        import duckdb

        self._base: Any = duckdb.connect(str(part.path))
        self._base.execute("BEGIN")

    def has(self, table: str) -> bool:
        schema, _, name = table.rpartition(".")
        found = "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
        return bool(self._base.execute(found, [schema or "main", name]).fetchone())

    def drop(self, table: str) -> None:
        self._base.execute(f"DROP TABLE {named(table)}")

    def create(self, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self._base.register("rankveil_rows", pa.RecordBatchReader.from_batches(schema, iter(batches)))
        self._base.execute(f"CREATE TABLE {named(table)} AS SELECT * FROM rankveil_rows")
        self._base.unregister("rankveil_rows")

    def commit(self) -> None:
        self._base.execute("COMMIT")

    def close(self) -> None:
        self._base.close()


class _Postgres:
    def __init__(self, part: Part) -> None:
        from adbc_driver_postgresql import dbapi

        self._base: Any = dbapi.connect(part.server or "")
        self._cursor = self._base.cursor()

    def has(self, table: str) -> bool:
        self._cursor.execute("SELECT to_regclass($1) IS NOT NULL", (named(table),))
        return bool(self._cursor.fetchone()[0])

    def drop(self, table: str) -> None:
        self._cursor.execute(f"DROP TABLE {named(table)}")

    def create(self, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        before, _, name = table.rpartition(".")
        reader = pa.RecordBatchReader.from_batches(schema, iter(batches))
        self._cursor.adbc_ingest(name, reader, mode="create", db_schema_name=before or None)

    def commit(self) -> None:
        self._base.commit()

    def close(self) -> None:
        self._cursor.close()
        self._base.close()  # what was not committed is taken back
