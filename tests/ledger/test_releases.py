"""Releases and the ledger: entered before the noise, never taken back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.engines import open_table
from rankveil.errors import BudgetError, DomainError
from rankveil.ledger import Ledger, identities, population_identity
from rankveil.measure import budget
from rankveil.noise import SeededSource
from tests.support import integer, plan_text

TABLE = pa.table({"a": [1, 2, 3, 4] * 20})
PLAN = rv.Plan.parse(plan_text({"a": integer(9)}, method="synthetic"))


def entries(path: Path) -> list[str]:
    with Ledger(path) as ledger:
        assert ledger.broken_at() is None
        return [entry.kind for entry in ledger.entries()]


def test_a_release_is_entered_and_its_certificate_quotes_the_entry(ledger_of_this_test: Path, tmp_path: Path) -> None:
    made = rv.release(TABLE, PLAN, out=tmp_path / "out")
    assert entries(ledger_of_this_test) == ["spend", "published"]
    with Ledger(ledger_of_this_test) as ledger:
        spend, published = ledger.entries()
    assert made.certificate.ledger is not None
    assert made.certificate.ledger.entry == spend.number
    assert made.certificate.ledger.receipt is not None
    assert spend.note.endswith(f", receipt {made.certificate.ledger.receipt}")
    assert made.certificate.ledger.seal is None, "a seal depends on exact data"
    assert made.certificate.release is not None
    assert made.certificate.release.sha256 in published.note


def test_a_run_that_fails_while_drawing_noise_has_spent_its_epsilon(
    ledger_of_this_test: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        assert entries(ledger_of_this_test) == ["spend"], "noise is drawn before the spend is on the disk"
        raise RuntimeError("power cut")

    monkeypatch.setattr(budget, "discrete_laplace", broken)
    with pytest.raises(RuntimeError):
        rv.release(TABLE, PLAN)
    assert entries(ledger_of_this_test) == ["spend"]


def test_a_table_that_does_not_fit_the_plan_costs_nothing(ledger_of_this_test: Path) -> None:
    with pytest.raises(DomainError):
        rv.release(pa.table({"a": [1, 2, 300]}), PLAN)
    assert not ledger_of_this_test.exists()


def test_no_noise_is_drawn_if_the_ledger_refuses(ledger_of_this_test: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(ledger_of_this_test) as ledger:
        ledger.cap(identities(open_table(TABLE), ledger.key), Fraction(1, 2), Fraction(0))

    def drawn(*arguments: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(budget, "discrete_laplace", drawn)
    with pytest.raises(BudgetError, match="Requested"):
        rv.release(TABLE, PLAN)


def test_releases_of_one_population_share_a_cap_and_each_table_keeps_its_own(ledger_of_this_test: Path) -> None:
    plan = PLAN.with_(population="patients")
    rv.release(TABLE, plan)
    rv.release(pa.table({"a": [5, 6, 7]}), plan)
    with Ledger(ledger_of_this_test) as ledger:
        assert [account.spent_epsilon for account in ledger.accounts()] == [1, 2, 1]
        people = next(account for account in ledger.accounts() if account.kind == "population")
    assert (people.name, people.releases, people.unpublished) == ("patients", 2, 0)


def test_a_cap_of_a_table_holds_for_a_plan_that_names_a_population_or_drops_another_column(
    ledger_of_this_test: Path,
) -> None:
    table = pa.table({"a": [1, 2, 3, 4] * 20, "b": [5, 6, 7, 8] * 20})
    with Ledger(ledger_of_this_test) as ledger:
        ledger.cap(identities(open_table(table), ledger.key, name="people.csv"), Fraction(1), Fraction(0))
    drop = 'kind = "drop"'
    rv.release(table, rv.Plan.parse(plan_text({"a": integer(9), "b": drop}, method="synthetic")))
    other = rv.Plan.parse(plan_text({"a": drop, "b": integer(9)}, method="synthetic", epsilon="0.001"))
    for plan in (other, other.with_(population="patients")):
        with pytest.raises(BudgetError, match=r"this table \(arrow table in memory\)"):
            rv.release(table, plan)


def test_a_cap_of_a_population_holds_for_its_tables_whatever_later_plans_call_it(ledger_of_this_test: Path) -> None:
    with Ledger(ledger_of_this_test) as ledger:
        ledger.cap([population_identity("patients", ledger.key)], Fraction(1), Fraction(0))
    rv.release(TABLE, PLAN.with_(population="patients"))
    for plan in (PLAN, PLAN.with_(population=" patients "), PLAN.with_(population="others")):
        with pytest.raises(BudgetError, match=r"this population \(patients\)"):
            rv.release(TABLE, plan)
    with Ledger(ledger_of_this_test) as ledger:
        assert [(account.releases, account.unpublished) for account in ledger.accounts()] == [(1, 0), (1, 0)]


def test_the_ledger_calls_a_table_by_its_file_or_by_the_title_of_the_publication(
    ledger_of_this_test: Path, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("a\n" + "1\n2\n3\n" * 20)
    rv.release(tmp_path / "people.csv", PLAN)
    titled = rv.Plan.parse(plan_text({"a": integer(9)}) + '[publication]\ntitle = "Income in 2031"\n')
    made = rv.release(tmp_path / "people.csv", titled)
    assert made.certificate.title == "Income in 2031"
    with Ledger(ledger_of_this_test) as ledger:
        assert [entry.name for entry in ledger.entries()] == ["people.csv"] * 2 + ["Income in 2031"] * 2
        (account,) = ledger.accounts()
    assert (account.name, account.spent_epsilon, account.releases) == ("Income in 2031", 2, 2)


def test_a_run_that_fails_after_it_has_paid_is_spent_and_not_published(
    ledger_of_this_test: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(budget, "discrete_laplace", broken)
    with pytest.raises(RuntimeError):
        rv.release(TABLE, PLAN)
    with Ledger(ledger_of_this_test) as ledger:
        (account,) = ledger.accounts()
    assert (account.releases, account.unpublished, account.spent_epsilon) == (0, 1, 1)


def test_a_seeded_test_run_leaves_the_ledger_alone(ledger_of_this_test: Path) -> None:
    made = rv.release(TABLE, PLAN, source=SeededSource(1))
    assert made.certificate.ledger is None
    assert not ledger_of_this_test.exists()


def test_a_release_refused_by_the_ledger_leaves_no_file_behind(ledger_of_this_test: Path, tmp_path: Path) -> None:
    ledger_of_this_test.parent.mkdir(exist_ok=True)
    ledger_of_this_test.write_bytes(b"junk" * 5000)
    (ledger_of_this_test.parent / "ledger.sqlite.key").write_bytes(b"k" * 32)
    with pytest.raises(BudgetError, match="damaged"):
        rv.release(TABLE, PLAN, out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
