"""Ledgers: a damaged file is refused, and is never taken to hold less than was spent."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from rankveil.errors import BudgetError
from rankveil.ledger import Identity, Ledger
from tests.fuzz.harness import CASES, Findings, cases, refused

SPENT = Fraction(3, 2)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger in one file: a cap of 2 and two spends that leave a half."""
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as opened:
        opened.cap([Identity("table", "t")], Fraction(2), Fraction(1, 10))
        first = opened.spend([Identity("table", "t")], Fraction(1), Fraction(0), "laplace")
        opened.published([Identity("table", "t")], first, "0" * 64)
        opened.spend([Identity("table", "t")], Fraction(1, 2), Fraction(1, 10**6), "synthetic")
        opened.spend([Identity("table", "u")], None, Fraction(0), "published:ranking")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA page_size = 512")  # a small file, so that damage hits something
    connection.execute("VACUUM")
    connection.close()
    return path


def restored(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def shown(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.accounts()
        ledger.broken_at()


def spent(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.spend([Identity("table", "t")], Fraction(1), Fraction(0), "laplace")


def capped(path: Path) -> None:
    with Ledger(path) as ledger:
        ledger.cap([Identity("table", "v")], Fraction(1), Fraction(0))


def test_any_file_is_a_ledger_or_refused_and_never_allows_more_than_its_cap(ledger: Path) -> None:
    original, findings, readable = ledger.read_bytes(), Findings(), 0
    for number, content in cases({"": original}, CASES["ledger"], seed=8):
        with findings.case(content if len(content) < 20 else f"{len(content)} bytes", number):
            restored(ledger, content)
            readable += refused(lambda: shown(ledger)) is None
            if number % 4 == 0:
                refused(lambda: capped(ledger))
            refusal = refused(lambda: spent(ledger))
            # An empty file is a new ledger; what was cut off shows in the certificates, not here.
            assert isinstance(refusal, BudgetError) or not ledger_holds_entries(content), "1 was spent of a half"
    findings.none()
    assert 20 < readable < CASES["ledger"]


def ledger_holds_entries(content: bytes) -> bool:
    return b"laplace" in content


def test_any_key_is_the_ledgers_or_refused(ledger: Path) -> None:
    key, findings = ledger.with_name(ledger.name + ".key"), Findings()
    for number, content in cases({"": key.read_bytes()}, CASES["ledger key"], seed=9):
        with findings.case(content, number):
            key.write_bytes(content)
            assert isinstance(refused(lambda: spent(ledger)), BudgetError)
            refused(lambda: shown(ledger))
    findings.none()


@pytest.mark.parametrize("column", ["number", "identity", "kind", "at", "epsilon", "delta", "note", "seal", "names"])
@pytest.mark.parametrize(
    "value", [None, "", "x", "1/0", "1e999999", "nan", "9" * 5000, b"\xff\x00", 1.5, -1, "\ud800é"]
)
def test_any_cell_of_an_entry_is_taken_or_refused(ledger: Path, column: str, value: object) -> None:
    value = value.encode("utf-16", "surrogatepass") if value == "\ud800é" else value
    connection = sqlite3.connect(ledger)
    connection.execute("DROP TRIGGER no_update")
    with suppress(sqlite3.IntegrityError):  # SQLite does not take every value in every column
        connection.execute(f"UPDATE entries SET {column} = ? WHERE number = 2", (value,))
    connection.commit()
    connection.close()
    refused(lambda: shown(ledger))
    assert isinstance(refused(lambda: spent(ledger)), BudgetError)
