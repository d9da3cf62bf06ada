"""`rankveil evaluate --publish`: paid for first, on the certificate whole or not at all, and refused where unclear."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from rankveil.certificate import Certificate
from rankveil.certificate.nist import nist_page
from rankveil.certificate.odds import meaning_of
from rankveil.certificate.registry import registry_entry
from rankveil.declare import Plan
from rankveil.errors import BudgetError, RankveilError, SigningError
from rankveil.evaluate import publish
from rankveil.evaluate.publish import publish_accuracy
from rankveil.ledger import Ledger
from rankveil.noise import SeededSource
from rankveil.release import release
from rankveil.sign import new_key
from rankveil.verify import verify
from tests.certificates import certificate_of
from tests.support import Ran, category, integer, plan_text

COLUMNS = {"age": integer(99), "sex": category(["f", "m"]), "pay": integer(1000, more="null = true")}
ROWS = 400


def table_text(rows: int = ROWS) -> str:
    lines = [f"{row % 90},{'fm'[row % 3 == 0]},{'' if row % 7 == 0 else row * 13 % 1000}" for row in range(rows)]
    return "age,sex,pay\n" + "\n".join(lines) + "\n"


class Case:
    """A table, its plan and its release."""

    def __init__(self, folder: Path, **parts: object) -> None:
        self.folder = folder
        self.table, self.plan, self.out = folder / "people.csv", folder / "plan.toml", folder / "out"
        self.table.write_text(table_text(), encoding="utf-8")
        self.plan.write_text(plan_text(COLUMNS, **{"method": "synthetic", **parts}), encoding="utf-8")  # type: ignore[arg-type]
        release(self.table, self.plan, out=self.out, accept_no_guarantee=True)

    @property
    def certificate(self) -> Path:
        return self.out / "certificate.json"

    def spent(self, ledger: Path) -> Fraction:
        with Ledger(ledger) as opened:
            return sum((Fraction(entry.epsilon or 0) for entry in opened.entries()), Fraction(0))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_the_papers_of_a_signed_release_are_signed_again_by_the_same_key_or_nothing_is_spent(
    case: Case, ledger_of_this_test: Path, cli: Callable[..., Ran]
) -> None:
    key, other = case.folder / "key.pem", case.folder / "other.pem"
    for path in (key, other):
        new_key(path)
    release(case.table, case.plan, out=case.out, overwrite=True, key=key)
    spent, papers = case.spent(ledger_of_this_test), case.certificate.read_bytes()
    for wrong in (None, other):
        with pytest.raises(SigningError, match="the key that has signed it"):
            publish_accuracy(case.table, case.out, case.plan, epsilon="0.5", key=wrong)
    assert case.spent(ledger_of_this_test) == spent
    assert case.certificate.read_bytes() == papers
    publish_accuracy(case.table, case.out, case.plan, epsilon="0.5", key=key)
    assert verify(case.out, key=case.folder / "key.pub.pem", ledger=ledger_of_this_test).verified
    said = cli("verify", case.out).out.split("The certificate says:")[1]
    assert "ε = 1.5 in all" in said, "not that of the release alone"
    assert "measured on the table" in (case.out / "certificate.html").read_text(encoding="utf-8")


def test_figures_are_added_to_the_certificate_and_everything_still_verifies(
    case: Case, cli: Callable[..., Ran], ledger_of_this_test: Path
) -> None:
    before = json.loads(case.certificate.read_text(encoding="utf-8"))
    arguments = ("evaluate", "people.csv", "out", "--plan", "plan.toml", "--publish", "--epsilon")
    ran = cli(*arguments, "0.5", "--query", "age >= 65 and sex = 'f'", "--quiet")
    assert ran.code == 0, ran.err
    assert "1-way TV, mean of 3 columns" in ran.out and "ε = 1.5, δ = 0 in all" in ran.out
    again = cli(*arguments, "0.25", "--json", "--quiet")
    assert again.code == 0, again.err
    printed = json.loads(again.out)
    after = json.loads(case.certificate.read_text(encoding="utf-8"))
    first, second = after.pop("published_accuracy")
    assert before.pop("published_accuracy") is None
    alone, together = before.pop("meaning"), after.pop("meaning")
    assert after == before, "nothing else has changed"
    assert (alone["odds_factor"], together["odds_factor"]) == ("2.72", "5.76"), "e^1 and e^1.75: all that is published"
    assert printed == second
    assert [one["kind"] for one in first["figures"]] == ["1-way TV", "2-way TV", "query"]
    assert (first["together_epsilon"], second["together_epsilon"]) == ("1.5", "1.75")
    assert case.spent(ledger_of_this_test) == Fraction("1.75")
    checked = verify(case.certificate, case.out / "release.csv")
    assert checked.verified, checked.as_dict()
    assert any(check.check == "published accuracy adds up" for check in checked.checks)


def test_page_registry_and_nist_count_what_the_figures_cost_as_well(case: Case) -> None:
    """PRIVACY: an attacker who reads the certificate has its figures, too."""
    made = publish_accuracy(case.table, case.out, case.plan, epsilon="0.5")
    shown = (case.out / "certificate.html").read_text(encoding="utf-8")
    alone = meaning_of(Fraction(1), None, None)
    assert "What ε = 1.5 means here" in shown and "it is ε = 1.5 in all" in shown.split("</header>")[0]
    assert made.meaning == meaning_of(Fraction("1.5"), None, None) != alone
    assert all(f"{one.true_positive_percent} %" not in shown for one in alone.attacks)
    loss = registry_entry(made, author="A", curator_type="Government")["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.5}
    assert "it is ε = 1.5 in all" in nist_page(made)
    content = json.loads(case.certificate.read_text(encoding="utf-8"))
    content["meaning"] = json.loads(alone.model_dump_json())
    case.certificate.write_text(json.dumps(content), encoding="utf-8")
    failed = {check.check: check.detail for check in verify(case.out).checks if not check.holds}
    assert failed["claim is the method's own"] == "not what rankveil says of synthetic: meaning"


def test_an_entry_for_the_registry_states_no_rho_of_a_part_beside_the_epsilon_of_all() -> None:
    alone = certificate_of("concentrated")
    together = alone.model_copy(update={"published_accuracy": certificate_of("all papers").published_accuracy})
    stated = [
        registry_entry(one, author="A", curator_type="Government")["deployment"]["privacy_loss"]["privacy_parameters"]
        for one in (alone, together)
    ]
    assert ("rho" in stated[0], "rho" in stated[1]) == (True, False)
    assert stated[1]["epsilon"] == float(together.together or 0)


def test_a_ledger_that_has_lost_what_the_figures_cost_was_rolled_back(case: Case, ledger_of_this_test: Path) -> None:
    with Ledger(ledger_of_this_test) as opened:
        before = len(opened.entries())
    publish_accuracy(case.table, case.out, case.plan, epsilon="0.5")
    assert verify(case.out, ledger=ledger_of_this_test).verified
    connection = sqlite3.connect(ledger_of_this_test)
    connection.execute("DROP TRIGGER no_delete")
    connection.execute("DELETE FROM entries WHERE number > ?", (before,))
    connection.commit()
    connection.close()
    failed = {
        check.check: check.detail for check in verify(case.out, ledger=ledger_of_this_test).checks if not check.holds
    }
    assert failed == {
        "ledger": f"the ledger ends with entry {before}, and statement 1 of published accuracy is entry {before + 1}:"
        " the ledger was rolled back, or is another one"
    }


def test_figures_are_entered_where_the_release_was_or_nothing_is_spent(case: Case) -> None:
    other = case.folder / "other.sqlite"
    papers = case.certificate.read_bytes()
    with pytest.raises(BudgetError, match="not the one that the release was entered in: there is no ledger"):
        publish_accuracy(case.table, case.out, case.plan, epsilon="0.5", ledger=other)
    assert not other.exists()
    (case.folder / "second").mkdir()
    second = Case(case.folder / "second")
    release(second.table, second.plan, out=second.out, overwrite=True, ledger=other)
    with pytest.raises(BudgetError, match="is not this release"):
        publish_accuracy(case.table, case.out, case.plan, epsilon="0.5", ledger=other)
    assert case.spent(other) == 1
    assert case.certificate.read_bytes() == papers


def test_the_figures_are_near_the_exact_ones_where_epsilon_is_large(case: Case) -> None:
    made = publish_accuracy(case.table, case.out, case.plan, epsilon=20, queries=("age < 30",))
    one_way, _, query = (made.published_accuracy or ())[-1].figures
    released = (case.out / "release.csv").read_text(encoding="utf-8").splitlines()[1:]
    young = sum(int(line.split(",")[0]) < 30 for line in released)
    exact = (sum(row % 90 < 30 for row in range(ROWS)) - young) / ROWS
    assert abs(query.value - exact) < 0.02  # noise of more than 8 rows comes once in 10^22 times
    assert 0 <= one_way.value <= 0.5 and query.upper - query.lower < 0.02


@pytest.mark.parametrize("change", ["value", "noisy", "epsilon", "together", "removed price"])
def test_a_changed_figure_is_refused_by_verify(case: Case, change: str) -> None:
    publish_accuracy(case.table, case.out, case.plan, epsilon="0.5")
    content = json.loads(case.certificate.read_text(encoding="utf-8"))
    statement = content["published_accuracy"][0]
    figure = statement["figures"][0]
    if change == "together":
        statement["together_epsilon"] = "1"
    elif change == "noisy":
        figure["noisy"] += 100
    elif change == "removed price":
        statement["epsilon"] = figure["epsilon"] = "0"
    else:
        figure[change] = 0.001 if change == "value" else "0.3"
    case.certificate.write_text(json.dumps(content), encoding="utf-8")
    failed = [check.check for check in verify(case.certificate, case.out / "release.csv").checks if not check.holds]
    assert "published accuracy adds up" in failed
    assert "files are those on the list" in failed


def test_the_spend_is_entered_before_noise_is_drawn_and_stands_if_the_run_fails(
    case: Case, monkeypatch: pytest.MonkeyPatch, ledger_of_this_test: Path
) -> None:
    before = case.certificate.read_bytes()

    def fails(*_: object) -> None:
        assert case.spent(ledger_of_this_test) == Fraction("1.5"), "paid for before noise"
        raise RankveilError("It fails.", remedy="Nothing.")

    monkeypatch.setattr(publish, "noisy_answers", fails)
    with pytest.raises(RankveilError) as caught:
        publish_accuracy(case.table, case.out, case.plan, epsilon="0.5")
    assert "budget is spent" in caught.value.cost and "certificate is unchanged" in caught.value.cost
    assert case.certificate.read_bytes() == before


def test_a_cap_binds_and_the_certificate_stays_as_it_was(
    case: Case, cli: Callable[..., Ran], ledger_of_this_test: Path
) -> None:
    assert cli("ledger", "cap", "people.csv", "--epsilon", "1.2").code == 0
    before = case.certificate.read_bytes()
    ran = cli("evaluate", "people.csv", "out", "--plan", "plan.toml", "--publish", "--epsilon", "0.5")
    assert ran.code == BudgetError.exit_code and "BudgetError" in ran.err
    assert case.certificate.read_bytes() == before
    assert case.spent(ledger_of_this_test) == Fraction("2.2")  # the release's and the cap's own entry
    assert cli("evaluate", "people.csv", "out", "--plan", "plan.toml", "--publish", "--epsilon", "0.2").code == 0


BAD = {
    "another plan": (2, "another plan"),
    "other rows": (3, "not one of this table"),
    "missing column": (3, "does not have"),
    "changed release": (3, "not the file"),
    "no certificate": (3, "No certificate"),
    "epsilon 0": (2, "above 0"),
    "epsilon -1": (2, "above 0"),
    "epsilon 0.1.2": (2, "above 0"),
    "epsilon nan": (2, "above 0"),
    "epsilon 1000": (2, "at most 20"),
    "query on a stranger": (2, "'height'"),
    "query that is none": (2, "query"),
    "no epsilon": (2, "--publish needs --epsilon"),
    "with a page": (2, "--publish goes with"),
    "epsilon alone": (2, "go with --publish"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_before_anything_is_spent(
    what: str, case: Case, cli: Callable[..., Ran], ledger_of_this_test: Path
) -> None:
    more = ["--publish", "--epsilon", "0.1"]
    if what == "another plan":
        case.plan.write_text(plan_text({**COLUMNS, "age": integer(98)}, method="synthetic"), encoding="utf-8")
    elif what == "other rows":
        case.table.write_text(table_text(ROWS - 1), encoding="utf-8")
    elif what == "missing column":
        lines = case.table.read_text(encoding="utf-8").splitlines()
        case.table.write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n", encoding="utf-8")
    elif what == "changed release":
        with (case.out / "release.csv").open("a", encoding="utf-8") as file:
            file.write("1,f,2\n")
    elif what == "no certificate":
        case.certificate.unlink()
    elif what.startswith("epsilon ") and what != "epsilon alone":
        more = ["--publish", f"--epsilon={what.removeprefix('epsilon ')}"]
    elif what.startswith("query"):
        more += ["--query", "height > 3" if "stranger" in what else "age > > 3"]
    elif what == "no epsilon":
        more = ["--publish"]
    elif what == "with a page":
        more += ["--html", "page.html"]
    elif what == "epsilon alone":
        more = ["--epsilon", "0.1"]
    before = {path.name: path.read_bytes() for path in case.out.iterdir()}
    ran = cli("evaluate", "people.csv", "out", "--plan", "plan.toml", "--quiet", *more)
    code, said = BAD[what]
    assert (ran.code, said in " ".join(ran.err.split())) == (code, True), ran.err
    assert {path.name: path.read_bytes() for path in case.out.iterdir()} == before
    assert case.spent(ledger_of_this_test) == 1


def test_a_release_without_a_guarantee_has_no_private_figures(tmp_path: Path, cli: Callable[..., Ran]) -> None:
    columns = {"age": integer(99), "sex": category(["f", "m"])}
    (tmp_path / "t.csv").write_text("age,sex\n" + "".join(f"{row},f\n" for row in range(90)), encoding="utf-8")
    (tmp_path / "p.toml").write_text(plan_text(columns, method="published:ranking", k=3), encoding="utf-8")
    release(tmp_path / "t.csv", tmp_path / "p.toml", out=tmp_path / "o", accept_no_guarantee=True)
    ran = cli("evaluate", "t.csv", "o", "--plan", "p.toml", "--publish", "--epsilon", "0.1", "--quiet")
    assert ran.code == 2 and "GuaranteeError" in ran.err


def test_a_test_release_is_measured_in_tests_alone(tmp_path: Path, ledger_of_this_test: Path) -> None:
    plan = Plan.parse(plan_text(COLUMNS, method="synthetic"))
    (tmp_path / "t.csv").write_text(table_text(), encoding="utf-8")
    release(tmp_path / "t.csv", plan, out=tmp_path / "o", source=SeededSource(1))
    with pytest.raises(RankveilError, match="fixed seed"):
        publish_accuracy(tmp_path / "t.csv", tmp_path / "o", plan, epsilon=1)
    made = publish_accuracy(tmp_path / "t.csv", tmp_path / "o", plan, epsilon=1, source=SeededSource(2))
    assert (made.published_accuracy or ())[0].ledger_entry is None
    assert not ledger_of_this_test.exists()


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_persons_are_protected_as_the_plan_says_and_it_verifies(tmp_path: Path, neighbours: str) -> None:
    text = plan_text({"who": 'kind = "drop"', "age": integer(99), "sex": category(["f", "m"])}, method="synthetic")
    text += f'[privacy]\nneighbours = "{neighbours}"\nperson = "who"\nrows_per_person = 2\n'
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    lines = [f"{row // 3},{row % 90},{'fm'[row % 2]}" for row in range(900)]
    (tmp_path / "t.csv").write_text("who,age,sex\n" + "\n".join(lines) + "\n", encoding="utf-8")
    release(tmp_path / "t.csv", tmp_path / "p.toml", out=tmp_path / "o")
    made = publish_accuracy(tmp_path / "t.csv", tmp_path / "o", tmp_path / "p.toml", epsilon="0.5")
    one_way = (made.published_accuracy or ())[0].figures[0]
    per_row = 2 if neighbours == "replace" else 1
    assert Fraction(one_way.scale) == Fraction(2 * per_row * 2) / Fraction(1, 4)  # r · per row · tables, at a half of ε
    assert verify(tmp_path / "o" / "certificate.json", tmp_path / "o" / "release.csv").verified
    assert "not public" in (made.published_accuracy or ())[0].statement


def test_options_that_were_in_force_need_not_be_in_the_plan_file(tmp_path: Path) -> None:
    case = Case(tmp_path)
    other = tmp_path / "other"
    release(case.table, Plan.load(case.plan).with_(epsilon="0.7"), out=other)
    made = publish_accuracy(case.table, other, case.plan, epsilon="0.1")
    assert isinstance(made, Certificate) and (made.published_accuracy or ())[0].together_epsilon == "0.8"
