"""PostgreSQL: a real server, started by these tests."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rankveil.declare import Plan
from rankveil.engines import open_table
from rankveil.errors import OutputError, TableError
from rankveil.ledger.identity import identities
from rankveil.load import load
from rankveil.release import release
from rankveil.verify import verify
from tests.formats.postgres_server import server

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
ROWS = 400
PEOPLE = pa.table(
    {
        "age": [18 + number % 60 for number in range(ROWS)],
        "town": [["Köln", "Łódź", 'a "b"', None][number % 4] for number in range(ROWS)],
        "born": [datetime.date(1950, 1, 1) + datetime.timedelta(days=37 * number) for number in range(ROWS)],
        "here": [number % 3 == 0 for number in range(ROWS)],
    }
)
PLAN = Plan.from_dict(
    {
        "release": {"epsilon": 5},
        "columns": {
            "age": {"kind": "integer", "lower": 0, "upper": 120},
            "town": {"kind": "category", "categories": ["Köln", "Łódź", 'a "b"'], "null": True},
            "born": {"kind": "date", "lower": "1900-01-01", "upper": "2020-12-31"},
            "here": {"kind": "boolean"},
        },
    }
)


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    with server() as address:
        run(address, "CREATE SCHEMA other")
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("people", PEOPLE, mode="create")
            connection.commit()
        yield address


def run(address: str, *statements: str) -> list[Any]:
    found: list[Any] = []
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            found = cursor.fetchall() if statement.startswith("SELECT") else []
        connection.commit()
    return found


def test_a_table_has_the_identity_of_its_copies(base: str) -> None:
    key = b"k" * 32
    there = open_table(f"{base}&table=people")
    assert (there.name, there.row_count()) == ("people", ROWS)
    assert identities(there, key)[0].digest == identities(open_table(PEOPLE), key)[0].digest


def test_a_release_comes_back_as_a_table_and_is_verified_there(base: str, tmp_path: Path) -> None:
    target = f"{base}&table=other.released"
    release(f"{base}&table=people", PLAN, out=tmp_path / "out", into=target)
    assert run(base, "SELECT count(*) FROM other.released") == [(ROWS,)]
    assert verify(tmp_path / "out" / "certificate.json", target).verified
    run(base, "UPDATE other.released SET age = age + 1 WHERE ctid = (SELECT min(ctid) FROM other.released)")
    failed = [check.check for check in verify(tmp_path / "out" / "certificate.json", target).checks if not check.holds]
    assert failed == ["table is the release"]


def test_a_table_that_is_there_is_replaced_only_when_asked(base: str, tmp_path: Path) -> None:
    release(PEOPLE, PLAN, out=tmp_path / "out")
    run(base, "CREATE TABLE taken (x int)")
    with pytest.raises(OutputError, match="already has a table 'taken'"):
        release(PEOPLE, PLAN, out=tmp_path / "second", into=f"{base}&table=taken")
    assert not (tmp_path / "second" / "certificate.json").exists()
    assert load(tmp_path / "out", f"{base}&table=taken", overwrite=True) == ROWS
    assert run(base, "SELECT count(*) FROM taken") == [(ROWS,)]


def test_numeric_and_unknown_types_are_read_as_their_texts(base: str) -> None:
    run(
        base,
        "CREATE TABLE odd AS SELECT 1.50::numeric AS n, '{1,2}'::int[] AS l, interval '1 day' AS i, 'x'::char(3) AS c",
    )
    rows = pa.Table.from_batches(open_table(f"{base}&table=odd").batches()).to_pylist()
    assert rows == [{"n": "1.50", "l": "{1,2}", "i": "1 day", "c": "x"}]


@pytest.mark.parametrize("table", ["nothing", "other.nothing", "pg_catalog.pg_user"])
def test_a_table_that_does_not_exist_is_refused(base: str, table: str) -> None:
    with pytest.raises(TableError, match="There is no table"):
        open_table(f"{base}&table={table}")


def test_a_server_that_does_not_answer_is_refused_without_its_password() -> None:
    with pytest.raises(TableError, match="does not answer") as refused:
        open_table("postgresql://somebody:sesame@127.0.0.1:9/base?table=people")
    assert "sesame" not in str(refused.value)


def test_a_database_that_goes_away_in_the_middle_leaves_nothing_and_spends_nothing(tmp_path: Path) -> None:
    with server() as address:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("people", PEOPLE, mode="create")
            connection.commit()
        table = open_table(f"{address}&table=people")
    with pytest.raises(TableError, match="has gone away"):
        list(table.batches())
    with pytest.raises(TableError, match="has gone away"):
        release(f"{address}&table=people", PLAN, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    assert not (tmp_path / "out").exists() and not (tmp_path / "l.sqlite").exists()


def test_a_connection_cut_while_rows_come_is_one_clear_error(base: str) -> None:
    run(base, "CREATE TABLE slow AS SELECT generate_series AS n, repeat('x', 500) AS t FROM generate_series(1, 200000)")
    rows = open_table(f"{base}&table=slow").batches()
    next(rows)
    run(base, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'rv'")
    with pytest.raises(TableError, match="has gone away"):
        list(rows)
