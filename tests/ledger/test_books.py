"""The ledger from Python: accounts, caps, and whether it holds."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import rankveil as rv
from rankveil.errors import BudgetError, PlanError, TableError

PLAN = rv.Plan(release={"epsilon": 1}, columns={"age": {"kind": "integer", "lower": 0, "upper": 99}})
PEOPLE = pd.DataFrame({"age": [place % 80 for place in range(300)]})


def test_a_cap_is_kept_for_every_copy_of_a_table_and_what_is_left_is_said(tmp_path: Path) -> None:
    rv.ledger().cap(PEOPLE, epsilon=1.5)
    rv.release(PEOPLE, PLAN)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    account = rv.ledger().account(tmp_path / "people.csv")
    assert (account.spent_epsilon, account.cap_epsilon, account.left_epsilon) == (1, Fraction(3, 2), Fraction(1, 2))
    with pytest.raises(BudgetError):
        rv.release(tmp_path / "people.csv", PLAN)
    rv.release(PEOPLE, PLAN, epsilon=0.5)
    assert rv.ledger().account(PEOPLE).left_epsilon == 0


def test_a_population_has_an_account_of_its_own() -> None:
    rv.ledger().cap(population="patients", epsilon=1)
    rv.release(PEOPLE, PLAN.with_(population="patients"))
    assert rv.ledger().account(population="patients").left_epsilon == 0
    with pytest.raises(BudgetError):
        rv.release(PEOPLE, PLAN.with_(population="patients"))


def test_a_table_without_a_release_has_spent_nothing() -> None:
    account = rv.ledger().account(PEOPLE)
    assert (account.spent_epsilon, account.left_epsilon) == (0, None)


def test_the_ledger_shows_itself_and_counts_its_entries() -> None:
    rv.release(PEOPLE, PLAN)
    books = rv.ledger()
    assert "pandas table in memory" in repr(books) and "pandas table in memory" in books._repr_html_()
    assert [entry.kind for entry in books.entries()] == ["spend", "published"]
    assert books.verify() == 2


def test_a_ledger_that_was_tampered_with_is_found_out(ledger_of_this_test: Path) -> None:
    rv.release(PEOPLE, PLAN)
    connection = sqlite3.connect(ledger_of_this_test, isolation_level=None)
    ((guard,),) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'no_update'").fetchall()
    for statement in ("DROP TRIGGER no_update", "UPDATE entries SET epsilon = '1/100' WHERE number = 1", guard):
        connection.execute(statement)
    connection.close()
    with pytest.raises(BudgetError, match="tampered with"):
        rv.ledger().verify()


def test_looking_makes_no_ledger_where_one_was_named_and_a_cap_does(tmp_path: Path) -> None:
    books = rv.ledger(tmp_path / "office.sqlite")
    for look in (books.accounts, books.entries, books.verify, lambda: books.account(PEOPLE)):
        with pytest.raises(BudgetError, match="There is no ledger"):
            look()
    assert not list(tmp_path.iterdir())
    books.cap(PEOPLE, epsilon=1)
    assert len(books.accounts()) == 1


@pytest.mark.parametrize("epsilon", [0, -1, "much", "nan", float("inf")])
def test_a_cap_that_is_no_number_above_nothing_is_refused(epsilon: float | str) -> None:
    with pytest.raises(PlanError):
        rv.ledger().cap(PEOPLE, epsilon=epsilon)


def test_a_cap_is_for_a_table_or_a_population() -> None:
    for table, population in ((None, None), (PEOPLE, "patients")):
        with pytest.raises(PlanError, match="Either a table or a population"):
            rv.ledger().cap(table, population=population, epsilon=1)


def test_a_release_is_verified_by_its_folder_by_itself_or_by_both_names(tmp_path: Path) -> None:
    made = rv.release(PEOPLE, PLAN, out=tmp_path / "out", keep_model=True)
    certificate = tmp_path / "out" / "certificate.json"
    for named in ((made,), (tmp_path / "out",), (certificate,), (certificate, tmp_path / "out")):
        found = rv.verify(*named)
        assert found.verified, found.checks
        assert repr(found).startswith("Verified: all ")
    with pytest.raises(TableError, match="in memory has no file"):
        rv.verify(rv.release(PEOPLE, PLAN))
    (tmp_path / "out" / "release.parquet").write_bytes(b"PAR1")
    assert not rv.verify(tmp_path / "out").verified
    assert "FAILS" in rv.verify(tmp_path / "out")._repr_html_()
