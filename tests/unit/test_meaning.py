"""What an ε means in words: no figure that cannot be held, a warning above 10, and a release by consent above 20."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.errors import GuaranteeError
from rankveil.ledger import Ledger
from rankveil.meaning import in_words
from rankveil.noise import SeededSource
from tests.support import Ran, integer, plan_text

Cli = Callable[..., Ran]
TABLE = "a\n" + "1\n2\n3\n" * 20


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "10", "10.1", "20", "20.01", "710", "1e6", "1000000000"])
def test_every_epsilon_has_words_without_infinities(epsilon: str) -> None:
    said = in_words(Decimal(epsilon))
    for wrong in ("inf", "nan", "e+", "Infinity"):
        assert wrong not in said.replace("meaningful", "")
    assert ("is large" in said) == (Decimal(epsilon) > 10)
    assert ("no meaningful limit" in said) == (Decimal(epsilon) > 20)


def test_factors_are_those_of_the_promise() -> None:
    assert "a factor of about 2.7." in in_words(Decimal(1))
    assert "a factor of about 1.01." in in_words(Decimal("0.01"))
    assert "a factor of about 160,000." in in_words(Decimal(12))
    assert f"a factor that has {len(str(int(math.e**50)))} digits" in in_words(Decimal(50))
    assert "extra probability of δ = 1e-09" in in_words(Decimal(1), Decimal("1e-9"))


def test_a_guess_becomes_as_likely_as_bayes_allows() -> None:
    odds = math.exp(12) * 1e-4 / (1 - 1e-4)
    assert f"{100 * odds / (1 + odds):.0f} times in a hundred" in in_words(Decimal(12))


def test_what_is_not_certain_is_not_called_certain() -> None:
    assert "become right 99 times in a hundred" in in_words(Decimal(14))
    assert "become right more than 99 times in a hundred" in in_words(Decimal(15))
    assert "100 times" not in in_words(Decimal(20))


def test_the_certificate_says_what_a_large_epsilon_means_and_verifies(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "t.csv"
    table.write_text(TABLE)
    for epsilon, said in (("5", False), ("12", True), ("800", True)):
        plan = rv.Plan.parse(plan_text({"a": integer(9)}, epsilon=epsilon))
        made = rv.release(table, plan, out=tmp_path / epsilon, accept_large_epsilon=True)
        assert ("is large" in made.certificate.statement) == said
        assert any(
            "Accepted by whoever released this: ε above 20." in remark for remark in made.certificate.remarks
        ) == (epsilon == "800")
        assert cli("verify", tmp_path / epsilon / "certificate.json", tmp_path / epsilon).code == 0


def test_an_epsilon_above_twenty_needs_consent_and_the_ledger_notes_it(ledger_of_this_test: Path) -> None:
    table = pa.table({"a": [1, 2, 3] * 10})
    plan = rv.Plan.parse(plan_text({"a": integer(9)}, epsilon="20.5"))
    with pytest.raises(GuaranteeError, match="no meaningful limit"):
        rv.release(table, plan)
    rv.release(table, plan, source=SeededSource(1))  # not for release
    rv.release(table, plan.with_(epsilon="20"))
    rv.release(table, plan, accept_large_epsilon=True)
    with Ledger(ledger_of_this_test) as book:
        notes = [entry.note for entry in book.entries() if entry.kind == "spend"]
    assert [note.partition(", receipt")[0] for note in notes] == ["laplace", "laplace, ε above 20 accepted"]


def test_the_command_asks_at_a_terminal_and_refuses_without_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "plan.toml").write_text(plan_text({"a": integer(9)}, epsilon=30))
    command = ("release", tmp_path / "t.csv", "--plan", tmp_path / "plan.toml", "--out")
    refused = cli(*command, tmp_path / "refused")
    assert refused.code == 2
    assert "--accept-large-epsilon" in refused.err
    assert not (tmp_path / "refused").exists()
    assert cli(*command, tmp_path / "flag", "--accept-large-epsilon").code == 0
    for answer, code in ((False, 2), (True, 0)):
        asked: list[str] = []
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr(
            "click.confirm", lambda words, answer=answer, asked=asked, **_: asked.append(words) or answer
        )
        assert cli(*command, tmp_path / f"asked-{answer}").code == code
        assert len(asked) == 1


def test_the_dry_run_and_a_draft_say_it_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    done = cli("init", tmp_path / "t.csv", "--out", tmp_path / "plan.toml", "--epsilon", "1000")
    assert "no meaningful limit" in done.out
    assert "with ε alone" in done.out
    assert "# Expected share of records" in (tmp_path / "plan.toml").read_text()
    shown = cli("release", tmp_path / "t.csv", "--plan", tmp_path / "plan.toml", "--dry-run")
    assert "no meaningful limit" in shown.out
    said = json.loads(cli("release", tmp_path / "t.csv", "--plan", tmp_path / "plan.toml", "--dry-run", "--json").out)
    assert "435 digits" in said["meaning"]


def test_words_are_the_same_for_every_spelling_of_a_number() -> None:
    assert in_words(Decimal("30.0"), Decimal("0.10")) == in_words(Decimal("3E+1"), Decimal("0.1"))
