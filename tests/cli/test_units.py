"""Persons and numbers of rows, from the plan to the certificate: what is refused, what is said, what is never shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rankveil import Plan, evaluate, preview, release
from rankveil.declare.draft import draft
from rankveil.declare.draft.identifiers import Identifier, Values
from rankveil.declare.plan_file import plan_toml
from rankveil.engines import open_table
from rankveil.errors import DomainError, GuaranteeError, PlanError
from rankveil.ledger import Ledger
from rankveil.noise import SeededSource
from rankveil.verify import verify
from tests.support import Ran, category, integer, plan_text

Cli = Callable[..., Ran]
COLUMNS = {"who": 'kind = "drop"', "age": integer(99), "ward": category(["a", "b", "c"])}
ROWS = 1537  # not round, so that it can be looked for


def privacy(*lines: str, columns: dict[str, str] = COLUMNS, method: str = "synthetic", epsilon: object = 2) -> str:
    return plan_text(columns, method=method, epsilon=epsilon) + "\n".join(["[privacy]", *lines]) + "\n"


PERSONS = privacy('person = "who"', "rows_per_person = 3")
THERE = privacy('neighbours = "add-remove"')
BOTH = privacy('neighbours = "add-remove"', 'person = "who"', "rows_per_person = 3")


def stays(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(2)
    whose = [f"p{number}" for number in rng.integers(0, rows // 2, rows)]
    return pa.table({"who": whose, "age": rng.integers(0, 100, rows), "ward": rng.choice(["a", "b", "c"], rows)})


# What is refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (privacy('person = "nobody"', "rows_per_person = 2"), "'nobody', which is not among its columns"),
        (privacy('person = "age"', "rows_per_person = 2"), "'age', which is to be released"),
        (privacy('person = "who"', "rows_per_person = 0"), "privacy.rows_per_person"),
        (privacy('person = "who"', "rows_per_person = -1"), "privacy.rows_per_person"),
        (privacy('person = "who"', "rows_per_person = 1.5"), "privacy.rows_per_person"),
        (privacy('person = "who"'), "person and rows_per_person go together"),
        (privacy("rows_per_person = 2"), "person and rows_per_person go together"),
        (privacy('neighbours = "some"'), "privacy.neighbours"),
        (privacy('household = "who"'), "privacy.household: unknown entry"),
    ],
)
def test_a_plan_that_contradicts_itself_about_persons_is_refused(text: str, words: str) -> None:
    with pytest.raises(PlanError) as refused:
        Plan.parse(text)
    assert words in refused.value.problem


@pytest.mark.parametrize("method", ["aligned", "laplace"])
@pytest.mark.parametrize("text", [PERSONS, THERE])
def test_methods_whose_rows_belong_to_records_refuse_other_units(method: str, text: str) -> None:
    plan = Plan.parse(text.replace('"synthetic"', f'"{method}"'))
    with pytest.raises(PlanError, match=f"The method {method} protects single rows"):
        release(stays(), plan, source=SeededSource(1))


@pytest.mark.parametrize("text", [PERSONS, THERE])
def test_public_columns_which_show_the_number_of_rows_are_refused(text: str) -> None:
    plan = Plan.parse(text.replace("upper = 99\n", 'upper = 99\nrole = "public"\n'))
    with pytest.raises(PlanError, match="how many rows there are"):
        release(stays(), plan, source=SeededSource(1))


@pytest.mark.parametrize("nobody", [None, "", "  ", "NA"])
def test_rows_that_name_nobody_are_refused_with_their_number_and_nothing_is_spent(
    nobody: str | None, tmp_path: Path
) -> None:
    table = stays(50)
    whose = table["who"].to_pylist()
    table = table.set_column(0, "who", pa.array([nobody, *whose[1:-1], nobody]))
    plan = Plan.parse(PERSONS.replace("[privacy]", '[table]\nnull_values = ["NA"]\n[privacy]'))
    with pytest.raises(DomainError) as refused:
        release(table, plan, ledger=tmp_path / "ledger.sqlite")
    assert "column 'who': 2 of 50 rows do not say whose they are" in refused.value.problem
    assert not (tmp_path / "ledger.sqlite").exists()


def test_values_that_do_not_fit_are_refused_with_their_line_before_rows_are_left_out(tmp_path: Path, cli: Cli) -> None:
    lines = [f"p{number % 4},{number},a" for number in range(40)]
    lines[17] = "p1,Zanzibar,a"
    (tmp_path / "t.csv").write_text("who,age,ward\n" + "\n".join(lines) + "\n")
    (tmp_path / "plan.toml").write_text(privacy('person = "who"', "rows_per_person = 1"))
    done = cli("release", tmp_path / "t.csv", "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out")
    assert done.code == 3
    assert "1 of 40 values are not whole numbers" in done.err and "line 19" in done.err
    assert "Zanzibar" not in done.text


@pytest.mark.parametrize("seed", range(8))
def test_a_row_that_breaks_a_rule_is_refused_whether_or_not_it_would_stay(seed: int, tmp_path: Path) -> None:
    text = privacy('person = "who"', "rows_per_person = 1") + '[[rule]]\nwhen = "age < 16"\nthen = "ward = \'a\'"\n'
    table = pa.table({"who": [f"p{row % 4}" for row in range(40)], "age": range(40), "ward": ["a"] * 3 + ["b"] * 37})
    with pytest.raises(DomainError) as refused:
        release(table, Plan.parse(text), source=SeededSource(seed), ledger=tmp_path / "ledger.sqlite")
    assert "13 of 40 rows break" in refused.value.problem
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_budget_too_small_for_the_number_of_rows_is_refused_before_it_is_spent(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="number of rows would be released with noise"):
        release(
            stays(), Plan.parse(privacy('neighbours = "add-remove"', epsilon="0.00001")), ledger=tmp_path / "l.sqlite"
        )
    assert not (tmp_path / "l.sqlite").exists()


# What is said


@pytest.mark.parametrize(
    ("text", "who", "differ"),
    [
        (PERSONS, "any one person, with up to 3 rows", "for tables that differ in one person"),
        (THERE, "any one row; the number of rows is not public", "differ in whether one record is there"),
        (BOTH, "any one person, with up to 3 rows", "differ in whether one person is there"),
    ],
)
@pytest.mark.parametrize("delta", ["", "delta = 1e-9"])
def test_a_release_says_who_is_protected_and_never_how_many_rows_there_were(
    text: str, who: str, differ: str, delta: str, tmp_path: Path
) -> None:
    plan = Plan.parse(text.replace("[release]", f"[release]\n{delta}"))
    table, book = stays(), tmp_path / "ledger.sqlite"
    made = release(table, plan, out=tmp_path / "out", ledger=book)
    certificate = made.certificate
    assert differ in certificate.statement
    assert dict(certificate.facts())["protected"] == who
    assert certificate.shares[0].column == "number of rows"
    said = (tmp_path / "out" / "certificate.json").read_text()
    assert str(ROWS) not in said and f"{ROWS:,}" not in said
    assert "who" not in {column["name"] for column in json.loads(said)["columns"]}
    assert certificate.rows == evaluate(table, tmp_path / "out", plan).rows
    found = verify(tmp_path / "out" / "certificate.json", tmp_path / "out" / "release.parquet")
    assert found.verified, found.checks
    assert f"protects {who}" in Ledger(book).entries()[0].note


def test_verify_refuses_a_certificate_that_claims_more_than_its_shares_pay_for(tmp_path: Path) -> None:
    release(stays(), Plan.parse(THERE), out=tmp_path / "out", ledger=tmp_path / "ledger.sqlite")
    path = tmp_path / "out" / "certificate.json"
    honest: dict[str, Any] = json.loads(path.read_text())
    for change in (
        {"protects": None},
        {"protects": {**honest["protects"], "neighbours": "replace"}},
        {"protects": {"neighbours": "add-remove", "persons": True, "rows": 3}},
        {"neighbours": "Nobody can be told apart from anybody."},
        {"shares": honest["shares"][1:]},
    ):
        path.write_text(json.dumps({**honest, **change}))
        assert not verify(path, tmp_path / "out" / "release.parquet").verified, change


def test_the_dry_run_says_who_is_protected_and_does_not_count_the_table(tmp_path: Path, cli: Cli) -> None:
    import pyarrow.csv as pacsv

    pacsv.write_csv(stays(), tmp_path / "t.csv")
    (tmp_path / "plan.toml").write_text(BOTH)
    done = cli("release", tmp_path / "t.csv", "--plan", tmp_path / "plan.toml", "--dry-run")
    assert done.code == 0
    assert "any one person, with up to 3 rows" in done.out
    assert "number of rows 2 %" in done.out
    assert str(ROWS) not in done.text and f"{ROWS:,}" not in done.text
    assert preview(Plan.parse(BOTH), table=tmp_path / "t.csv").rows == 10_000


def test_noise_in_a_dry_run_follows_the_unit() -> None:
    one, three = (preview(Plan.parse(text), 10_000) for text in (plan_text(COLUMNS, method="synthetic"), PERSONS))
    assert one.expectations[0].answer != three.expectations[0].answer


def test_a_plan_keeps_its_fingerprint_and_its_privacy_when_it_is_written() -> None:
    plain = Plan.parse(plan_text(COLUMNS, method="synthetic"))
    assert Plan.parse(plan_text(COLUMNS, method="synthetic") + "[privacy]\n").sha256() == plain.sha256()
    plan = Plan.parse(BOTH)
    assert plan.sha256() != plain.sha256()
    assert Plan.parse(plan_toml(plan)) == plan


# What init notices


def test_a_draft_asks_about_persons_with_several_rows_and_a_release_refuses_it() -> None:
    text = draft(open_table(stays()))
    plan = Plan.parse(text)
    assert plan.privacy.person == "who"
    assert plan.columns["who"].kind == "drop"
    assert plan.guesses["[privacy]"] == ("person", "rows_per_person")
    assert "# who:" in text and "several rows each" in text
    confirmed = "\n".join(
        line for line in text.split("\n") if not line.startswith("unconfirmed") or "rows_per_person" in line
    )
    with pytest.raises(GuaranteeError, match=r"\[privacy\]: person, rows_per_person"):
        release(stays(), Plan.parse(confirmed), source=SeededSource(1))


@pytest.mark.parametrize(("rows", "about"), [(307, 310), (1237, 1200), (99_876, 100_000)])
def test_beside_persons_a_draft_writes_a_round_number_of_rows(rows: int, about: int) -> None:
    with_persons = stays(rows)
    assert Plan.parse(draft(open_table(with_persons))).release.expected_rows == about
    assert Plan.parse(draft(open_table(with_persons.drop_columns("who")))).release.expected_rows == rows


def test_rows_per_person_are_proposed_so_that_nine_in_ten_rows_stay() -> None:
    found = Values()
    found.add(pa.array([f"p{number}" for number in range(90) for _ in range(1 + number % 3)]))
    assert Identifier.of("patient_id", found) == Identifier("patient_id", 90, True, 3)


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "id", "household", "hh_nr", "customer number", "pid"])
def test_names_of_identifiers_are_recognised(name: str) -> None:
    found = Values()
    found.add(pa.array([str(number * 37 % 400) for number in range(1000)]))
    assert Identifier.of(name, found) is not None


@pytest.mark.parametrize("name", ["age", "patient_age", "user_income", "idle", "covid", "weekday", "household_size"])
def test_other_columns_are_not_taken_for_identifiers(name: str) -> None:
    found = Values()
    found.add(pa.array([str(number * 37 % 400) for number in range(1000)]))
    assert Identifier.of(name, found) is None


def test_numbers_that_count_rows_are_left_out_and_amounts_are_not() -> None:
    rng = np.random.default_rng(1)
    table = pa.table(
        {"line": range(500), "file": rng.permutation(10**7)[:500] + 10**7, "pay": rng.integers(0, 10**6, 500)}
    )
    plan = Plan.parse(draft(open_table(table)))
    assert [entry.kind for entry in plan.columns.values()] == ["drop", "drop", "integer"]
    assert plan.privacy.person is None
