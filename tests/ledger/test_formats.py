"""Ledgers of format 1 are continued: their entries hold, and their caps and spends bind."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.engines import open_table
from rankveil.errors import BudgetError
from rankveil.ledger import Ledger, identities, population_identity
from tests.support import integer, plan_text

KEY = b"k" * 32
PLAN = rv.Plan.parse(plan_text({"a": integer(9)}, method="synthetic", epsilon="0.5"))


def older_ledger(path: Path, entries: list[tuple[str, str, str | None, str | None, str]]) -> None:
    """A file as the first format wrote it: (identity, kind, ε, δ, note)."""
    path.with_name(path.name + ".key").write_bytes(KEY)
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    raw.execute(
        "CREATE TABLE entries (number INTEGER PRIMARY KEY, identity TEXT NOT NULL, kind TEXT NOT NULL,"
        " at TEXT NOT NULL, epsilon TEXT, delta TEXT, note TEXT NOT NULL, seal TEXT NOT NULL)"
    )
    for change in ("UPDATE", "DELETE"):
        raw.execute(
            f"CREATE TRIGGER no_{change.lower()} BEFORE {change} ON entries"
            " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )
    raw.execute("INSERT INTO meta VALUES ('format', '1')")
    before = "0" * 64
    for number, (identity, kind, epsilon, delta, note) in enumerate(entries, start=1):
        content = (number, identity, kind, "2031-01-01T00:00:00+00:00", epsilon, delta, note)
        before = hmac.new(KEY, json.dumps((*content, before)).encode(), hashlib.sha256).hexdigest()
        raw.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*content, before))
    raw.close()


def older_identity(content: bytes) -> str:
    return hmac.new(KEY, b"table\0" + hashlib.sha256(content).digest(), hashlib.sha256).hexdigest()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("a\n" + "1\n2\n3\n" * 20)
    return tmp_path / "people.csv"


def test_an_older_ledger_opens_verifies_and_keeps_its_seals(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    older_ledger(path, [("t", "cap", "3", "0", ""), ("t", "spend", "1", "0", "x"), ("u", "spend", "1/2", "0", "x")])
    raw = sqlite3.connect(path)
    seals = raw.execute("SELECT seal FROM entries").fetchall()
    raw.close()
    for _ in range(2):
        with Ledger(path) as ledger:
            assert ledger.broken_at() is None
            assert [(entry.seal,) for entry in ledger.entries()] == seals
            assert [account.spent_epsilon for account in ledger.accounts()] == [1, Fraction(1, 2)]


@pytest.mark.parametrize("again", ["people.csv", "renamed.csv"])
def test_a_cap_and_a_spend_that_knew_a_table_by_its_bytes_still_bind(tmp_path: Path, table: Path, again: str) -> None:
    path, identity = tmp_path / "ledger.sqlite", older_identity(table.read_bytes())
    older_ledger(path, [(identity, "cap", "1", "0", ""), (identity, "spend", "1/4", "0", "x")])
    table = table.rename(tmp_path / again)
    rv.release(table, PLAN, ledger=path)
    with pytest.raises(BudgetError, match=r"this table \(" + again):
        rv.release(table, PLAN, ledger=path)
    with pytest.raises(BudgetError, match="already"), Ledger(path) as ledger:
        ledger.cap(identities(open_table(table), KEY, older=True), Fraction(9), Fraction(0))
    with Ledger(path) as ledger:
        assert ledger.broken_at() is None
        assert sorted(account.spent_epsilon for account in ledger.accounts()) == [Fraction(1, 2), Fraction(3, 4)]


def test_a_cap_that_knew_a_table_by_its_bytes_binds_copies_once_the_file_itself_was_released(
    tmp_path: Path, table: Path
) -> None:
    path, identity = tmp_path / "ledger.sqlite", older_identity(table.read_bytes())
    older_ledger(path, [(identity, "cap", "1", "0", ""), (identity, "spend", "1/4", "0", "x")])
    rv.release(table, PLAN, ledger=path)
    (tmp_path / "sorted.csv").write_text("a\n" + "1\n" * 20 + "2\n" * 20 + "3\n" * 20)
    for copy in (tmp_path / "sorted.csv", pa.table({"a": [3, 2, 1] * 20})):
        with pytest.raises(BudgetError, match=r"this table \(people\.csv\)"):
            rv.release(copy, PLAN, ledger=path)


def test_a_population_of_an_older_ledger_leads_to_none_of_its_tables(tmp_path: Path, table: Path) -> None:
    path, people = tmp_path / "ledger.sqlite", population_identity("patients", KEY).digest
    older_ledger(path, [(people, "spend", "1", "0", "x")])
    rv.release(table, PLAN.with_(population="patients"), ledger=path)
    other = pa.table({"a": [3, 2, 1, 0] * 20})
    rv.release(other, PLAN.with_(population="patients"), ledger=path)
    with Ledger(path) as ledger:
        assert ledger.entries()[-1].name == "arrow table in memory, patients"
        assert [found.kind for found in ledger.entries()[-1].identities] == ["table", "file", "population"]


def test_a_population_that_was_capped_in_an_older_ledger_is_still_capped(tmp_path: Path, table: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    people = population_identity("patients", KEY).digest
    older_ledger(path, [(people, "cap", "1", "0", ""), (people, "spend", "3/4", "0", "x")])
    with pytest.raises(BudgetError, match=r"this population \(patients\)"):
        rv.release(table, PLAN.with_(population="patients"), ledger=path)


def test_a_table_in_memory_is_known_as_before(tmp_path: Path) -> None:
    frame = pa.table({"a": [1, 2, 3] * 20})
    path = tmp_path / "ledger.sqlite"
    # What the first format's code gave for this table and this key.
    older = identities(open_table(frame), KEY, older=True)[-1].digest
    assert older == "7ed3e0620894d0d05c865db92f0d08fbe5558fb30eab4de98b1d318879f84297"
    older_ledger(path, [(older, "cap", "1/4", "0", "")])
    with pytest.raises(BudgetError, match="does not allow"):
        rv.release(frame, PLAN, ledger=path)


def test_an_older_ledger_whose_entry_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    older_ledger(path, [("t", "cap", "3", "0", ""), ("t", "spend", "1", "0", "x")])
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER no_update")
    raw.execute("UPDATE entries SET epsilon = '1/10' WHERE number = 2")
    raw.commit()
    raw.close()
    with Ledger(path) as ledger:
        assert ledger.broken_at() == 2
        with pytest.raises(BudgetError, match="entry 2 does not fit"):
            ledger.spend([population_identity("p", KEY)], Fraction(1), Fraction(0), "x")
