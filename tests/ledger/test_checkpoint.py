"""A sealed checkpoint: a spend reads what came after it, and believes no other."""

from __future__ import annotations

import shutil
import sqlite3
import statistics
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankveil.errors import BudgetError
from rankveil.ledger import Identity, Ledger, checkpoint

ONE = Fraction(1)


def of(*names: str) -> list[Identity]:
    return [Identity("table", name, f"{name}.csv") for name in names]


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 5)


def spent(path: Path, count: int, start: int = 0) -> None:
    with Ledger(path) as ledger:
        for number in range(start, start + count):
            ledger.spend([*of(f"t{number % 3}"), Identity("population", "p", "people")], ONE, Fraction(0), "x")


def raw(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in ("DROP TRIGGER IF EXISTS no_update", "DROP TRIGGER IF EXISTS no_delete", *statements):
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.usefixtures("often")
def test_accounts_are_the_same_with_and_without_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.cap(of("t0"), Fraction(5), Fraction(0))
    spent(path, 13)
    with Ledger(path) as ledger:
        assert ledger.checkpoint_fits()
        assert ledger.broken_at() is None
        for account in ledger.accounts():
            assert ledger.account(Identity(account.kind, account.identity, account.name)) == account
        with pytest.raises(BudgetError, match=r"this table \(t0\.csv\)"):
            ledger.spend(of("t0"), ONE, Fraction(0), "x")


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE checkpoints SET content = replace(content, '\"4\"', '\"1\"')",
        "UPDATE checkpoints SET content = '[]'",
        "UPDATE checkpoints SET number = number - 1",
        "UPDATE checkpoints SET seal = ''",
        "UPDATE checkpoints SET content = x'ff'",
        "DELETE FROM checkpoints WHERE piece < 255",
        "DELETE FROM entries WHERE number > 3",
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_at_the_next_spend(tmp_path: Path, change: str) -> None:
    path = tmp_path / "ledger.sqlite"
    spent(path, 12)
    raw(path, change)
    with Ledger(path) as ledger:
        with pytest.raises(BudgetError, match="its checkpoint does not fit"):
            ledger.spend(of("t0"), ONE, Fraction(0), "x")
        assert not ledger.checkpoint_fits()


@pytest.mark.usefixtures("often")
def test_an_older_checkpoint_in_the_place_of_a_newer_one_misleads_nobody(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    spent(path, 6)
    kept = shutil.copy(path, tmp_path / "kept.sqlite")
    spent(path, 9, start=6)
    raw(path, "DELETE FROM checkpoints")
    connection = sqlite3.connect(path)
    connection.execute("ATTACH ? AS kept", (str(kept),))
    connection.execute("INSERT INTO checkpoints SELECT * FROM kept.checkpoints")
    connection.commit()
    connection.close()
    with Ledger(path) as ledger:
        assert ledger.account(Identity("population", "p")).spent_epsilon == 15
        assert ledger.account(of("t0")[0]).spent_epsilon == 5


@pytest.mark.usefixtures("often")
def test_an_old_entry_that_was_changed_is_found_by_verifying_and_moves_no_account(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    spent(path, 12)
    raw(path, "UPDATE entries SET epsilon = '1/1000' WHERE number = 1")
    with Ledger(path) as ledger:
        assert ledger.broken_at() == 1
        assert ledger.account(of("t0")[0]).spent_epsilon == 4, "what was sealed counts"
    raw(path, "UPDATE entries SET epsilon = '1/1000' WHERE number = 12")
    with Ledger(path) as ledger, pytest.raises(BudgetError, match="entry 12 does not fit"):
        ledger.spend(of("t0"), ONE, Fraction(0), "x")


@pytest.mark.usefixtures("often")
def test_without_its_checkpoint_everything_is_verified_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    spent(path, 12)
    raw(path, "DELETE FROM checkpoints", "UPDATE entries SET epsilon = '1/1000' WHERE number = 1")
    with Ledger(path) as ledger, pytest.raises(BudgetError, match="entry 1 does not fit"):
        ledger.spend(of("t0"), ONE, Fraction(0), "x")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["spend", "cap", "publish"])), max_size=30))
def test_any_history_adds_up_to_its_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, str]]
) -> None:
    with pytest.MonkeyPatch.context() as patch, Ledger(tmp_path_factory.mktemp("h") / "ledger.sqlite") as ledger:
        patch.setattr(checkpoint, "EVERY", 4)
        last = ledger.spend(of("a"), ONE, Fraction(0), "x")
        for name, kind in history:
            try:
                if kind == "spend":
                    last = ledger.spend(of(name, "shared"), ONE, Fraction(1, 10**9), "x")
                elif kind == "cap":
                    ledger.cap(of(name), Fraction(4), Fraction(1))
                else:
                    ledger.published(of(name), last, "in memory")
            except BudgetError:
                continue
        assert ledger.checkpoint_fits()
        assert ledger.broken_at() is None


def with_entries(path: Path, count: int) -> Ledger:
    """A ledger with so many spends on a thousand tables of ten populations, entered at once."""
    ledger = Ledger(path)
    seal, rows, names = store_genesis, [], '["people.csv", "people"]'
    for number in range(1, count + 1):
        identity = f"table:t{number % 1000} population:p{number % 10}"
        content = (number, identity, "spend", "2031-01-01T00:00:00+00:00", "1/7", "0", "synthetic")
        seal = ledger._seal(*content, names, seal)
        rows.append((*content, seal, names))
    with ledger._transaction():
        ledger._connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    ledger.spend(of("t1"), ONE, Fraction(0), "x")  # leaves a checkpoint
    return ledger


store_genesis = "0" * 64


def test_a_spend_in_a_ledger_of_twenty_thousand_entries_costs_about_what_it_costs_in_one_of_a_thousand(
    tmp_path: Path,
) -> None:
    costs = {}
    for count in (1_000, 20_000):
        with with_entries(tmp_path / f"{count}.sqlite", count) as ledger:
            times = []
            for number in range(30):
                begun = time.process_time()
                entered = ledger.spend(of(f"t{number}"), ONE, Fraction(0), "x").identities
                times.append(time.process_time() - begun)
                assert entered[-1].kind == "population"
            costs[count] = statistics.median(times)
            assert ledger.checkpoint_fits()
    print(f"processor time of a spend: {costs}, ratio {costs[20_000] / costs[1_000]:.2f}")
    assert costs[20_000] < 5 * costs[1_000]
