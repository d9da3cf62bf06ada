"""The ledger: append-only, sealed, and never overspent."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.engines import open_table
from rankveil.errors import BudgetError
from rankveil.ledger import Identity, Ledger, identities, store

ONE = Fraction(1)


def of(*names: str) -> list[Identity]:
    """Tables by their names."""
    return [Identity("table", name, f"{name}.csv") for name in names]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_spends_add_up_exactly_and_a_cap_is_kept_to_the_last_fraction(ledger: Ledger) -> None:
    ledger.cap(of("t"), ONE, Fraction(0))
    for _ in range(3):
        ledger.spend(of("t"), Fraction(1, 3), Fraction(0), "synthetic")
    with pytest.raises(BudgetError, match="Requested"):
        ledger.spend(of("t"), Fraction(1, 10**12), Fraction(0), "synthetic")
    assert ledger.account(of("t")[0]).spent_epsilon == 1


def test_a_refusal_says_what_was_asked_for_what_is_left_and_the_difference(ledger: Ledger) -> None:
    ledger.cap(of("t"), ONE, Fraction(0))
    ledger.spend(of("t"), Fraction(3, 4), Fraction(0), "synthetic")
    with pytest.raises(BudgetError) as refused:
        ledger.spend(of("t"), Fraction(1, 2), Fraction(0), "synthetic")
    text = str(refused.value)
    assert "Requested:  ε = 0.5" in text
    assert "Remaining:  ε = 0.25" in text
    assert "Difference: 0.25" in text
    assert refused.value.exit_code == 4


def test_delta_has_a_cap_of_its_own(ledger: Ledger) -> None:
    ledger.cap(of("t"), Fraction(10), Fraction(1, 10**6))
    ledger.spend(of("t"), ONE, Fraction(1, 10**6), "synthetic")
    with pytest.raises(BudgetError, match="δ"):
        ledger.spend(of("t"), ONE, Fraction(1, 10**9), "synthetic")


def test_a_cap_is_set_once(ledger: Ledger) -> None:
    ledger.cap(of("t"), ONE, Fraction(0))
    with pytest.raises(BudgetError, match="already"):
        ledger.cap(of("t"), Fraction(5), Fraction(0))


def test_tables_do_not_share_a_budget_and_a_table_without_a_cap_is_only_recorded(ledger: Ledger) -> None:
    ledger.cap(of("a"), ONE, Fraction(0))
    ledger.spend(of("b"), Fraction(100), Fraction(0), "synthetic")
    ledger.spend(of("a"), ONE, Fraction(0), "synthetic")
    assert [account.identity for account in ledger.accounts()] == ["a", "b"]


def test_a_release_without_a_guarantee_breaks_any_cap(ledger: Ledger) -> None:
    ledger.cap(of("capped"), ONE, Fraction(0))
    with pytest.raises(BudgetError, match="without a guarantee"):
        ledger.spend(of("capped"), None, Fraction(0), "published:ranking")
    ledger.spend(of("open"), None, Fraction(0), "published:ranking")
    with pytest.raises(BudgetError, match="no longer holds"):
        ledger.cap(of("open"), ONE, Fraction(0))


@given(st.lists(st.sampled_from(["spend", "cap", "publish"]), max_size=12), st.data())
def test_any_history_verifies_and_any_change_to_it_shows(
    tmp_path_factory: pytest.TempPathFactory, history: list[str], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("history") / "ledger.sqlite"
    with Ledger(path) as ledger:
        first = ledger.spend(of("t"), ONE, Fraction(0), "first")
        for number, kind in enumerate(history):
            if kind == "spend":
                ledger.spend(of(f"t{number % 3}"), Fraction(1, number + 1), Fraction(0), "x")
            elif kind == "cap":
                ledger.cap(of(f"c{number}"), ONE, Fraction(0))
            else:
                ledger.published(of("t"), first, "ab" * 32)
        assert ledger.broken_at() is None
        count = len(ledger.entries())
    victim = data.draw(st.integers(1, count))
    changes = [
        "UPDATE entries SET epsilon = '1/1000000' WHERE number = ?",
        "UPDATE entries SET at = 'x' WHERE number = ?",
    ]
    if victim < count:  # a missing last entry shows only against a certificate that quotes it
        changes.append("DELETE FROM entries WHERE number = ?")
    change = data.draw(st.sampled_from(changes))
    raw = sqlite3.connect(path)
    for trigger in ("no_update", "no_delete"):
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute(change, (victim,))
    raw.commit()
    raw.close()
    with Ledger(path) as ledger:
        assert ledger.broken_at() == victim
        with pytest.raises(BudgetError, match="tampered"):
            ledger.spend(of("t"), ONE, Fraction(0), "more")


def test_the_file_itself_refuses_changes_to_entries(ledger: Ledger) -> None:
    ledger.spend(of("t"), ONE, Fraction(0), "x")
    raw = sqlite3.connect(ledger.path)
    for statement in ("UPDATE entries SET epsilon = '0'", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)
    raw.close()


SPENDER = """
import sys
from fractions import Fraction
from rankveil.errors import BudgetError
from rankveil.ledger import Identity, Ledger
with Ledger(sys.argv[1]) as ledger:
    for _ in range(5):
        try:
            ledger.spend([Identity("table", "t")], Fraction(1), Fraction(0), "race")
            print("spent")
        except BudgetError:
            print("refused")
"""


def test_processes_that_spend_at_once_cannot_together_exceed_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.cap(of("t"), Fraction(7), Fraction(0))
    racers = [
        subprocess.Popen([sys.executable, "-c", SPENDER, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [word for racer in racers for word in racer.communicate(timeout=120)[0].split()]
    assert said.count("spent") == 7
    assert said.count("refused") == 13
    with Ledger(path) as ledger:
        assert ledger.broken_at() is None
        assert ledger.account(of("t")[0]).spent_epsilon == 7


def test_two_processes_that_make_the_ledger_at_once_share_one_key(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    racers = [
        subprocess.Popen([sys.executable, "-c", SPENDER, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [word for racer in racers for word in racer.communicate(timeout=120)[0].split()]
    assert said.count("spent") == 15
    with Ledger(path) as ledger:
        assert ledger.broken_at() is None


def test_a_ledger_without_its_key_is_refused(ledger: Ledger) -> None:
    ledger.spend(of("t"), ONE, Fraction(0), "x")
    ledger.close()
    ledger.path.with_name(ledger.path.name + ".key").unlink()
    with pytest.raises(BudgetError, match="lost its key"):
        Ledger(ledger.path)


def test_the_key_can_be_read_by_its_owner_only(ledger: Ledger) -> None:
    assert ledger.path.with_name(ledger.path.name + ".key").stat().st_mode & 0o077 == 0


def test_a_damaged_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.spend(of("t"), ONE, Fraction(0), "x")
    junk = b"this is not a database, and long enough to look like one" * 200
    path.write_bytes(junk)
    with pytest.raises(BudgetError, match="damaged"):
        Ledger(path)
    assert path.read_bytes() == junk


def test_a_locked_ledger_is_waited_for_and_then_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_WAIT_SECONDS", 0.2)
    blocker = sqlite3.connect(ledger.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(BudgetError, match="another process"):
        Ledger(ledger.path).spend(of("t"), ONE, Fraction(0), "x")
    blocker.execute("ROLLBACK")
    blocker.close()


def test_a_ledger_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BudgetError, match="cannot be used"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_a_clock_that_goes_backwards_does_not_disturb_the_order(tmp_path: Path) -> None:
    times = iter([datetime(2031, 1, 2, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC), datetime(1999, 1, 1, tzinfo=UTC)])
    ledger = Ledger(tmp_path / "ledger.sqlite", clock=lambda: next(times))
    for _ in range(3):
        ledger.spend(of("t"), ONE, Fraction(0), "x")
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3]
    assert ledger.broken_at() is None


def test_the_ledger_holds_no_value_of_the_table(ledger: Ledger) -> None:
    table = open_table(pa.table({"a": np.array([123456789123] * 3), "b": ["CANARY-VALUE"] * 3}))
    ledger.spend(identities(table, ledger.key), ONE, Fraction(0), "synthetic")
    ledger.close()
    content = b"".join(path.read_bytes() for path in ledger.path.parent.iterdir())
    assert b"CANARY" not in content
    assert b"123456789123" not in content


# Sets of identities

PATIENTS = Identity("population", "p", "patients")


def test_a_cap_of_the_table_still_binds_once_the_plan_names_a_population(ledger: Ledger) -> None:
    ledger.cap(of("t"), ONE, Fraction(0))
    ledger.spend(of("t"), Fraction(3, 4), Fraction(0), "synthetic")
    with pytest.raises(BudgetError, match=r"The budget of this table \(t\.csv\) does not allow the release"):
        ledger.spend([*of("t"), PATIENTS], Fraction(1, 2), Fraction(0), "synthetic")


def test_a_spend_counts_for_the_table_and_for_its_population(ledger: Ledger) -> None:
    ledger.cap([PATIENTS], ONE, Fraction(0))
    for table in ("t", "u"):
        ledger.spend([*of(table), PATIENTS], Fraction(1, 2), Fraction(0), "synthetic")
    with pytest.raises(BudgetError, match=r"this population \(patients\)"):
        ledger.spend([*of("v"), PATIENTS], Fraction(1, 2), Fraction(0), "synthetic")
    spent = {account.label: account.spent_epsilon for account in ledger.accounts()}
    assert spent == {"patients": 1, "t.csv": Fraction(1, 2), "u.csv": Fraction(1, 2)}


def test_every_identity_is_refused_a_release_without_a_guarantee_and_a_second_cap(ledger: Ledger) -> None:
    ledger.cap([PATIENTS], ONE, Fraction(0))
    with pytest.raises(BudgetError, match=r"This population \(patients\) has a cap"):
        ledger.spend([*of("t"), PATIENTS], None, Fraction(0), "published:ranking")
    ledger.cap(of("t", "as-the-plan-reads-it"), ONE, Fraction(0))
    with pytest.raises(BudgetError, match=r"This table \(.*\) has a cap already"):
        ledger.cap(of("as-the-plan-reads-it"), ONE, Fraction(0))


def test_identities_of_a_table_that_share_all_entries_are_one_account_under_its_latest_name(ledger: Ledger) -> None:
    ledger.spend(of("t", "read"), ONE, Fraction(0), "x")
    ledger.spend([Identity("table", "t", "renamed.csv"), of("read")[0]], ONE, Fraction(0), "x")
    (account,) = ledger.accounts()
    assert (account.name, account.spent_epsilon) == ("renamed.csv", 2)


def test_a_cap_of_a_population_binds_a_table_of_it_whose_plan_no_longer_names_it(ledger: Ledger) -> None:
    ledger.cap([PATIENTS], ONE, Fraction(0))
    first = ledger.spend([*of("t"), PATIENTS], Fraction(1, 4), Fraction(0), "x")
    second = ledger.spend(of("t"), Fraction(1, 4), Fraction(0), "x")
    assert list(second.identities) == [*of("t"), PATIENTS] == list(first.identities)
    with pytest.raises(BudgetError, match=r"this population \(patients\)"):
        ledger.spend(of("t"), Fraction(3, 4), Fraction(0), "x")
    with pytest.raises(BudgetError, match=r"This population \(patients\) has a cap"):
        ledger.spend(of("t"), None, Fraction(0), "published:ranking")
    assert [account.label for account in ledger.accounts_of(of("t"))] == ["t.csv", "patients"]


def test_no_link_leads_from_a_population_to_its_other_tables(ledger: Ledger) -> None:
    ledger.cap(of("t"), ONE, Fraction(0))
    ledger.spend([*of("t"), PATIENTS], ONE, Fraction(0), "x")
    assert list(ledger.spend([*of("u"), PATIENTS], ONE, Fraction(0), "x").identities) == [*of("u"), PATIENTS]
    assert list(ledger.spend([PATIENTS], ONE, Fraction(0), "x").identities) == [PATIENTS]
    assert list(ledger.spend(of("u"), ONE, Fraction(0), "x").identities) == [*of("u"), PATIENTS]


def test_a_cap_of_a_table_without_a_plan_binds_copies_that_a_plan_reads_as_the_same(ledger: Ledger) -> None:
    ledger.cap(of("as-it-is"), ONE, Fraction(0))
    ledger.spend(of("as-it-is", "read"), ONE, Fraction(0), "x")
    with pytest.raises(BudgetError, match=r"this table \(as-it-is\.csv\)"):
        ledger.spend(of("copy", "read"), ONE, Fraction(0), "x")


def test_tables_without_a_cap_do_not_make_entries_longer(ledger: Ledger) -> None:
    for number in range(5):
        assert len(ledger.spend(of(f"day-{number}", "read"), ONE, Fraction(0), "x").identities) == 2


@pytest.mark.parametrize("every", [2, 1000])
def test_links_outlive_a_checkpoint(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    monkeypatch.setattr(store.checkpoint, "EVERY", every)
    ledger.cap([PATIENTS], ONE, Fraction(0))
    ledger.spend([*of("t"), PATIENTS], ONE, Fraction(0), "x")
    for number in range(5):
        ledger.spend(of(f"u{number}"), ONE, Fraction(0), "x")
    with pytest.raises(BudgetError, match=r"this population \(patients\)"):
        ledger.spend(of("t"), ONE, Fraction(0), "x")
    assert ledger.checkpoint_fits()


# What the file may hold


@pytest.mark.parametrize(
    "planted",
    [
        "CREATE TRIGGER t BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE number = NEW.number; END",
        "CREATE TRIGGER no_delete BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON checkpoints BEGIN DELETE FROM checkpoints; END",
        "CREATE VIEW v AS SELECT * FROM entries",
        "CREATE INDEX i ON entries(kind)",
        "CREATE TABLE more (x)",
    ],
)
def test_a_file_that_holds_more_than_a_ledger_does_is_refused(tmp_path: Path, planted: str) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        raw = sqlite3.connect(path)
        raw.execute("DROP TRIGGER no_delete")
        raw.execute(planted)
        raw.commit()
        raw.close()
        with pytest.raises(BudgetError, match="was tampered with"):
            ledger.spend(of("t"), ONE, Fraction(0), "x")
    with pytest.raises(BudgetError, match="was tampered with"):
        Ledger(path)


def test_an_entry_that_the_file_does_not_keep_is_no_entry(ledger: Ledger) -> None:
    # A trigger of this connection alone: the file itself looks as it should.
    ledger._connection.execute("CREATE TEMP TRIGGER t BEFORE INSERT ON main.entries BEGIN SELECT RAISE(IGNORE); END")
    with pytest.raises(BudgetError, match="was tampered with"):
        ledger.spend(of("t"), ONE, Fraction(0), "x")


def test_entries_that_do_not_hold_are_not_added_up(ledger: Ledger) -> None:
    ledger.spend(of("t"), ONE, Fraction(0), "x")
    ledger._connection.execute("DROP TRIGGER no_update")
    ledger._connection.execute("UPDATE entries SET epsilon = '1/1000'")
    with pytest.raises(BudgetError, match="entry 1 does not fit its seal"):
        ledger.accounts()


# What counts as a release


def test_releases_are_those_that_were_published_and_refused_ones_leave_no_trace(ledger: Ledger) -> None:
    ledger.cap(of("t"), Fraction(2), Fraction(0))
    first = ledger.spend(of("t"), ONE, Fraction(0), "x")
    ledger.published(of("t"), first, "sha256 " + "0" * 64)
    ledger.spend(of("t"), ONE, Fraction(0), "x")
    with pytest.raises(BudgetError):
        ledger.spend(of("t"), ONE, Fraction(0), "x")
    account = ledger.account(of("t")[0])
    assert (account.releases, account.unpublished, account.spent_epsilon) == (1, 1, 2)


def test_a_reference_finds_its_spend_and_whether_it_was_published(ledger: Ledger) -> None:
    paid = ledger.spend(of("t"), ONE, Fraction(0), "x, reference 0123")
    assert ledger.reference("0123") == (1, False)
    ledger.published(of("t"), paid, "in memory")
    assert ledger.reference("0123") == (1, True)
    assert ledger.reference("4567") == (None, False)
