"""`rankveil verify`: honest releases pass, and whoever changes a file or a claim is told what does not fit."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from rankveil import Model, Plan, fit, release
from rankveil import certificate as certificates
from rankveil.certificate import Certificate
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.verify import verify
from tests.support import Ran, category, integer, plan_text

Cli = Callable[..., Ran]
NOT_VERIFIED = 3
COLUMNS = {
    "age": integer(120, more="null = true"),
    "money": 'kind = "number"\nlower = -5.5\nupper = 1000\nstep = 0.1',
    "job": category(["cook", "smith", "baker, or so"]),
    "born": 'kind = "date"\nlower = 1990-01-01\nupper = 2020-12-31',
}


def people(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "age": [None if value > 100 else int(value) for value in rng.integers(0, 110, rows)],
            "money": rng.integers(-55, 10_000, rows) / 10,
            "job": rng.choice(["cook", "smith", "baker, or so"], rows),
            "born": pa.array(rng.integers(7305, 18627, rows).astype("datetime64[D]")),
        }
    )


def as_csv(table: pa.Table, path: Path, separator: str = ",") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(table.column_names)
        writer.writerows(row.values() for row in table.to_pylist())
    return path


def plan_for(method: str = "laplace", *, delta: str = "", columns: dict[str, str] = COLUMNS, **more: Any) -> Plan:
    text = plan_text(columns, method=method, k=20 if METHODS[method].needs_clusters else None, **more)
    return Plan.parse(text.replace("[release]", f"[release]\ndelta = {delta}" if delta else "[release]"))


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """Makes a release in a folder of its own."""

    def make(method: str = "laplace", *, delta: str = "", table: object = None, plan: Plan | None = None) -> Path:
        source = as_csv(people(), tmp_path / "people.csv") if table is None else table
        release(
            source,
            plan or plan_for(method, delta=delta),
            out=tmp_path / "out",
            accept_no_guarantee=True,
            accept_large_epsilon=True,
        )
        return tmp_path / "out"

    return make


PAPERS = ("page says what the certificate says", "files are those on the list")  # see test_signatures.py


def checked(folder: Path) -> dict[str, str]:
    """The checks that fail, with their details; those of the papers beside the certificate fail with any change."""
    (file,) = folder.glob("release.*")
    checks = verify(folder / "certificate.json", file).checks
    return {check.check: check.detail for check in checks if not check.holds and check.check not in PAPERS}


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the certificate's content."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def certify_again(folder: Path) -> None:
    """Put a changed file's fingerprint into the certificate, as a careful forger would."""
    (file,) = folder.glob("release.*")
    content = file.read_bytes()
    digest, size = hashlib.sha256(content).hexdigest(), len(content)
    rewrite(folder, lambda content: content["release"].update(sha256=digest, bytes=size))


# Honest releases


@pytest.mark.parametrize("method", METHODS)
def test_every_methods_release_verifies(made: Callable[..., Path], method: str) -> None:
    assert checked(made(method)) == {}


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.uses_delta])
@pytest.mark.parametrize("delta", ["0.000000001", "0.01"])
def test_a_release_with_a_delta_verifies(made: Callable[..., Path], method: str, delta: str) -> None:
    assert checked(made(method, delta=delta)) == {}


def test_a_release_of_typed_columns_verifies(made: Callable[..., Path], tmp_path: Path) -> None:
    typed = people().cast(
        pa.schema(
            [
                ("age", pa.int8()),
                ("money", pa.float32()),
                ("job", pa.dictionary(pa.int32(), pa.string())),
                ("born", pa.timestamp("us")),
            ]
        )
    )
    papq.write_table(typed, tmp_path / "people.parquet")
    folder = made(table=tmp_path / "people.parquet")
    assert (folder / "release.parquet").exists()
    assert checked(folder) == {}


def test_an_empty_text_is_a_label_where_the_plan_lists_it_and_missing_elsewhere(
    made: Callable[..., Path], tmp_path: Path
) -> None:
    columns = {"age": COLUMNS["age"], "job": category(["", "cook", "smith"])}
    table = pa.table({"age": [1, 2, None, 4] * 20, "job": ["", "cook", "smith", ""] * 20})
    papq.write_table(table, tmp_path / "people.parquet")
    folder = made(table=tmp_path / "people.parquet", plan=plan_for(columns=columns))
    assert checked(folder) == {}
    shutil.rmtree(folder)
    (tmp_path / "people.csv").write_text("age,job\n" + "1,cook\n2,\nNA,smith\n4,\n" * 20)
    read = 'null_values = ["NA"]'
    assert checked(made(table=tmp_path / "people.csv", plan=plan_for(columns=columns, table=read))) == {}


def test_an_unusual_separator_and_a_single_column_verify(made: Callable[..., Path], tmp_path: Path) -> None:
    table = people().select(["age", "money"])
    columns = {name: COLUMNS[name] for name in ("age", "money")}
    source = as_csv(table, tmp_path / "odd.csv", separator="^")
    assert checked(made(table=source, plan=plan_for(columns=columns, table='separator = "^"'))) == {}


def test_a_column_of_one_value_may_cost_nothing(made: Callable[..., Path]) -> None:
    columns = {"age": COLUMNS["age"], "job": category(["cook"])}
    table = pa.table({"age": [1, 2, None, 4], "job": ["cook"] * 4})
    assert checked(made(table=table, plan=plan_for(columns=columns))) == {}


def test_dates_in_another_format_are_checked_by_that_format(made: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("born,age\n" + "31.12.1999,4\n01.01.2001,5\n" * 20)
    columns = {"born": COLUMNS["born"] + '\nformat = "%d.%m.%Y"', "age": COLUMNS["age"]}
    folder = made(table=tmp_path / "days.csv", plan=plan_for(columns=columns))
    assert checked(folder) == {}
    replace_value(folder, 5, 0, "1999-12-31")
    certify_again(folder)
    assert "column 'born': 1 value(s) outside" in checked(folder)["rows and values are those declared"]


def test_numbers_with_a_decimal_comma_are_checked_by_their_value(made: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "pay.csv").write_text("pay;age\n" + "1.200,5;4\n3,5;5\n" * 20)
    text = plan_text({"pay": 'kind = "number"\nlower = 0\nupper = 2000\nstep = 0.5', "age": COLUMNS["age"]}, epsilon=1)
    plan = Plan.parse(text + '[table]\ndecimal = ","\nthousands = "."\n')
    folder = made(table=tmp_path / "pay.csv", plan=plan)
    assert checked(folder) == {}
    replace_value(folder, 5, 0, "0,3", ";")
    certify_again(folder)
    assert "column 'pay': 1 value(s) outside" in checked(folder)["rows and values are those declared"]


# A changed release


def replace_value(folder: Path, row: int, place: int, value: str, separator: str = ",") -> None:
    with (folder / "release.csv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter=separator))
    rows[row][place] = value
    with (folder / "release.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)


def test_any_changed_byte_is_found(made: Callable[..., Path]) -> None:
    folder = made()
    content = (folder / "release.csv").read_bytes()
    (folder / "release.csv").write_bytes(content.replace(b"cook", b"kook", 1))
    assert "SHA-256" in checked(folder)["file is the certified one"]


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, "121", "column 'age': 1 value(s) outside"),
        (0, "-1", "column 'age': 1 value(s) outside"),
        (0, "7.5", "column 'age': 1 value(s) outside"),
        (0, "old", "column 'age': "),
        (1, "", "column 'money': 1 value(s) missing"),
        (1, "0.15", "column 'money': 1 value(s) outside"),
        (1, "nan", "column 'money': 1 value(s) outside"),
        (3, "1989-12-31", "column 'born': 1 value(s) outside"),
        (3, "31.12.1999", "column 'born': 1 value(s) outside"),
    ],
)
def test_a_value_outside_its_domain_is_found_even_if_the_fingerprint_fits(
    made: Callable[..., Path], place: int, value: str, words: str
) -> None:
    folder = made()
    replace_value(folder, 5, place, value)
    certify_again(folder)
    failing = checked(folder)
    assert set(failing) == {"rows and values are those declared"}
    assert words in failing["rows and values are those declared"]


def test_more_labels_than_declared_are_found(made: Callable[..., Path]) -> None:
    folder = made()
    for row in (1, 2, 3):
        replace_value(folder, row, 2, f"job {row}")
    certify_again(folder)
    assert "more than its 4 labels" in checked(folder)["rows and values are those declared"]  # 3 and the root


def test_a_lost_row_a_lost_column_and_another_order_are_found(made: Callable[..., Path], tmp_path: Path) -> None:
    papq.write_table(people(), tmp_path / "people.parquet")
    folder = made(table=tmp_path / "people.parquet")
    whole = papq.read_table(folder / "release.parquet")
    for changed, check, words in (
        (whole.slice(1), "rows and values are those declared", "399 rows instead of 400"),
        (whole.drop_columns(["age"]), "columns are those declared", "other columns"),
        (whole.select(whole.column_names[::-1]), "columns are those declared", "another order"),
    ):
        papq.write_table(changed, folder / "release.parquet")
        certify_again(folder)
        assert words in checked(folder)[check]


def test_a_file_that_is_no_table_is_a_failed_check_and_not_a_crash(made: Callable[..., Path]) -> None:
    folder = made()
    for content in (b"", b"\0\1\2", b"PAR1 and nothing else", b"age\n"):
        (folder / "release.csv").write_bytes(content)
        assert len(checked(folder)) == 3


# A changed certificate


def lower_epsilon(content: dict[str, Any]) -> None:
    text = content["statement"]
    content.update(epsilon="0.5", statement=text.replace("ε = 1 ", "ε = 0.5 ").replace("ε = 1,", "ε = 0.5,"))
    content["settings"]["epsilon"] = "0.5"


@pytest.mark.parametrize("delta", ["", "0.000000001"])
def test_a_lowered_epsilon_does_not_fit_the_shares(made: Callable[..., Path], delta: str) -> None:
    folder = made("synthetic", delta=delta)
    rewrite(folder, lower_epsilon)
    found = checked(folder)
    assert set(found) == {"shares stay within the budget", "claim is the method's own"}
    assert "meaning" in found["claim is the method's own"]


def test_a_lowered_delta_does_not_fit_the_shares(made: Callable[..., Path]) -> None:
    folder = made("synthetic", delta="0.001")
    rewrite(folder, lambda content: content.update(delta="0.00001"))
    assert {"shares stay within the budget", "claim is the method's own"} <= set(checked(folder))


@pytest.mark.parametrize(("method", "delta"), [("laplace", ""), ("synthetic", ""), ("synthetic", "0.000001")])
@pytest.mark.parametrize("place", [0, -1])
def test_a_removed_share_is_missed(made: Callable[..., Path], method: str, delta: str, place: int) -> None:
    folder = made(method, delta=delta)
    rewrite(folder, lambda content: content["shares"].pop(place))
    found = set(checked(folder))
    assert "shares are complete" in found
    assert found <= {"shares are complete", "claim is the method's own"}, "which may cite a theorem too many now"


@pytest.mark.parametrize(
    ("entry", "check"),
    [
        ({"epsilon": None}, "shares stay within the budget"),
        ({"epsilon": "-0.25"}, "shares stay within the budget"),
        ({"epsilon": "1e-9"}, "shares stay within the budget"),
        ({"epsilon": "1/0"}, "shares stay within the budget"),
        ({"epsilon": None, "rho": "0.01"}, "shares stay within the budget"),
        ({"epsilon": "0.01"}, "shares are complete"),
        ({"epsilon": "0.26"}, "shares stay within the budget"),
    ],
)
def test_a_share_with_another_price_is_found(made: Callable[..., Path], entry: dict[str, Any], check: str) -> None:
    folder = made()
    rewrite(folder, lambda content: content["shares"][-1].update(entry))
    assert check in checked(folder)


def test_a_published_method_cannot_claim_differential_privacy(made: Callable[..., Path]) -> None:
    folder = made("published:individual-ranking")
    rewrite(folder, lambda content: content.update(differentially_private=True))
    assert "differentially_private" in checked(folder)["claim is the method's own"]
    # ... nor under the whole dress of another method's claim.
    sound = certificates.theorems_for(METHODS["laplace"], (), (), None)
    rewrite(
        folder,
        lambda content: content.update(
            epsilon="1",
            delta="0",
            reason=None,
            theorems=[one.model_dump() for one in sound],
            statement="Differentially private with ε = 1.",
        ),
    )
    assert "claim is the method's own" in checked(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "magic"},
        {"statement": "Nobody can learn anything."},
        {"theorems": []},
        {"reason": "none"},
        {"epsilon": None},
        {"delta": "0.000001"},
        {"delta": None},
        {"differentially_private": False},
        {"for_release": False},
    ],
)
def test_a_claim_that_rankveil_does_not_make_is_found(made: Callable[..., Path], change: dict[str, Any]) -> None:
    folder = made()
    rewrite(folder, lambda content: content.update(change))
    assert "claim is the method's own" in checked(folder)


def test_a_certificate_of_another_version_may_use_other_words_but_not_make_other_claims(
    made: Callable[..., Path],
) -> None:
    folder = made()
    rewrite(folder, lambda content: content.update(rankveil_version="99", statement="Private."))
    assert checked(folder) == {}
    rewrite(folder, lambda content: content.update(statement="NOT differentially private."))
    assert "statement" in checked(folder)["claim is the method's own"]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["theorems"].pop(),
        lambda content: content["theorems"][0].update(sentence="Nobody can learn anything."),
        lambda content: content["shares"][0].update(theorems=[]),
        lambda content: content["shares"][0].update(theorems=["T999"]),
    ],
    ids=["one left out", "another sentence", "a share without", "one that there is not"],
)
def test_other_theorems_than_those_of_the_method_and_its_shares_are_found(
    made: Callable[..., Path], change: Callable[[dict[str, Any]], object]
) -> None:
    folder = made()
    rewrite(folder, change)
    assert "theorems" in checked(folder)["claim is the method's own"]


def test_a_certificate_of_format_1_is_still_verified_but_for_its_theorem(made: Callable[..., Path]) -> None:
    """As versions before this one wrote it: a text instead of a list, and none at the shares."""
    folder = made()

    def older(content: dict[str, Any]) -> None:
        content["certificate_format"] = 1
        content["theorem"] = "a text that no page goes with"
        del content["theorems"]
        for share in content["shares"]:
            del share["theorems"]

    rewrite(folder, older)
    assert checked(folder) == {}
    done = verify(folder / "certificate.json", folder / "release.csv")
    assert "format 1" in done.checks[0].detail and "cites no theorems" in done.checks[0].detail
    rewrite(folder, lambda content: content["shares"].pop())
    assert checked(folder)


def test_a_certificate_from_before_gaussian_accounting_is_still_verified(made: Callable[..., Path]) -> None:
    """Format 2 without the entry `accounting`: shares of ρ are then of zero-concentrated differential privacy."""
    folder = made(plan=plan_for("synthetic", delta="0.000001", epsilon=200))
    content = json.loads((folder / "certificate.json").read_text())
    assert content["accounting"] == "concentrated"
    rewrite(folder, lambda content: content.pop("accounting"))
    assert checked(folder) == {}
    rewrite(folder, lambda content: content.update(delta="0.0000001"))
    assert "of zCDP, which does not imply" in checked(folder)["shares stay within the budget"]


@pytest.mark.parametrize("epsilon", [1, 50, 1000])
@pytest.mark.parametrize("delta", ["", "0.000001"])
def test_releases_of_yes_or_no_columns_and_of_columns_that_link_to_nothing_verify(
    made: Callable[..., Path], epsilon: int, delta: str
) -> None:
    """Where there is nothing to choose among, or no table is worth its price, shares are complete all the same."""
    columns = dict.fromkeys("abc", 'kind = "boolean"') | {"n": integer(9)}
    rng = np.random.default_rng(2)
    bits = {name: rng.random(400) < 0.3 for name in "abc"}
    numbers = {"n": rng.integers(0, 10, 400)}
    for names in ("abc", "abn", "abcn"):
        some = plan_for("synthetic", delta=delta, columns={name: columns[name] for name in names}, epsilon=epsilon)
        folder = made(plan=some, table=pa.table({name: (bits | numbers)[name] for name in names}))
        assert checked(folder) == {}
        shutil.rmtree(folder)


def test_a_certificate_from_before_plans_had_interests_is_still_verified(made: Callable[..., Path]) -> None:
    folder = made("synthetic")
    rewrite(folder, lambda content: content.pop("interest"))
    assert checked(folder) == {}


def test_a_release_with_an_interest_verifies(made: Callable[..., Path]) -> None:
    plan = plan_for("synthetic").model_dump() | {"interest": [{"target": "age"}, {"columns": ["job", "money"]}]}
    folder = made(plan=Plan.from_dict(plan))
    assert checked(folder) == {}
    assert json.loads((folder / "certificate.json").read_text())["interest"][0]["target"] == "age"


def test_the_accounting_must_be_the_one_that_noise_was_bought_in(made: Callable[..., Path]) -> None:
    folder = made("synthetic", delta="0.000001")
    assert json.loads((folder / "certificate.json").read_text())["accounting"] == "gaussian"
    for wrong in ("concentrated", None):
        rewrite(folder, lambda content, wrong=wrong: content.update(accounting=wrong))  # type: ignore[misc]
        assert {"shares stay within the budget", "claim is the method's own"} <= set(checked(folder))


def test_a_larger_rho_cannot_be_had_by_naming_the_other_accounting(made: Callable[..., Path]) -> None:
    folder = made(plan=plan_for("synthetic", delta="0.000001", epsilon=200))
    rewrite(folder, lambda content: content.update(accounting="gaussian"))
    assert {"shares are complete", "claim is the method's own"} <= set(checked(folder))


def test_pure_differential_privacy_names_no_accounting_of_rho(made: Callable[..., Path]) -> None:
    folder = made()
    rewrite(folder, lambda content: content.update(accounting="gaussian"))
    assert "accounting" in checked(folder)["claim is the method's own"]


def test_a_public_column_must_be_named_among_the_neighbours(made: Callable[..., Path]) -> None:
    folder = made()
    rewrite(folder, lambda content: content["columns"][0].update(role="public"))
    assert "neighbours" in checked(folder)["claim is the method's own"]


def test_a_seeded_release_is_not_verified(tmp_path: Path) -> None:
    release(people(), plan_for(), out=tmp_path / "out", source=SeededSource(1))
    assert set(checked(tmp_path / "out")) == {"made for release"}


def test_a_certificate_of_a_release_in_memory_names_no_file(made: Callable[..., Path]) -> None:
    folder = made()
    rewrite(folder, lambda content: content.update(release=None))
    assert "names no file" in checked(folder)["file is the certified one"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "certificate.json is not a certificate of format 1 or 2"),
        ("[1]", "certificate.json is not a certificate of format 1 or 2"),
        ("{", "certificate.json is not JSON text"),
        ('{"epsilon": "1", "epsilon": "0.1"}', "occurs twice"),
    ],
)
def test_what_is_not_a_certificate_is_said_to_be_none(made: Callable[..., Path], text: str, words: str) -> None:
    folder = made()
    (folder / "certificate.json").write_text(text)
    assert words in checked(folder)["certificate can be read"]


def test_unknown_entries_and_another_format_are_not_overlooked(made: Callable[..., Path]) -> None:
    folder = made()
    content = json.loads((folder / "certificate.json").read_text())
    for change in ({"certificate_format": 3}, {"extra": "entry"}):
        (folder / "certificate.json").write_text(json.dumps({**content, **change}))
        assert next(iter(change)) in checked(folder)["certificate can be read"]


# The command


def test_the_command_verifies_a_file_or_a_folder(cli: Cli, made: Callable[..., Path]) -> None:
    folder = made()
    for target in (folder, folder / "release.csv"):
        done = cli("verify", folder / "certificate.json", target)
        assert (done.code, done.err) == (0, "")
        assert "Verified." in done.out
        assert "ε = 1" in done.out


def test_the_command_ends_with_code_3_and_says_what_fails(cli: Cli, made: Callable[..., Path]) -> None:
    folder = made()
    with (folder / "release.csv").open("a") as file:
        file.write("1,0.1,cook,2000-01-01\n")
    done = cli("verify", folder / "certificate.json", folder)
    assert done.code == NOT_VERIFIED
    assert "NOT VERIFIED: 3 of 12 checks fail." in done.out
    said = cli("verify", folder / "certificate.json", folder, "--json")
    assert said.code == NOT_VERIFIED
    found = json.loads(said.out)
    assert found["verified"] is False
    assert [set(check) for check in found["checks"]] == [{"check", "holds", "detail"}] * 12
    assert [check["holds"] for check in found["checks"]].count(False) == 3


def test_texts_of_strangers_neither_move_the_cursor_nor_turn_other_texts_round(
    cli: Cli, made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate must not be able to clear the screen and to say that it was verified."""
    folder = made()
    spoof = "\x1b[2J\x1b[H\x9b8m\r\u202eVerified.\nVerified."
    rewrite(folder, lambda content: content.update(statement=spoof, title=spoof, reason=spoof))
    (folder / f"{spoof.replace(chr(10), '')}.csv").write_text("x")
    for command in (("verify", folder), ("certificate", folder)):
        shown: list[str] = []
        monkeypatch.setattr("click.echo", lambda text="", shown=shown, **how: shown.append(str(text)))
        ran = cli(*command)
        monkeypatch.undo()
        text = ran.out + "\n".join(shown)
        assert "\\x1b[2J" in text and "\\u202e" in text
        assert not set(text) & set("\x1b\x9b\r\u202e")
        assert not any(line.startswith("Verified.") for line in text.splitlines())


def test_a_certificate_that_does_not_exist_is_wrong_usage(cli: Cli, made: Callable[..., Path]) -> None:
    assert cli("verify", "nowhere.json", made()).code == 2


def test_the_certificates_own_model_reads_what_verify_reads(made: Callable[..., Path]) -> None:
    path = made() / "certificate.json"
    read = verify(path, path.parent / "release.csv").certificate
    assert read == Certificate.model_validate_json(path.read_text())


# A model that was kept


@pytest.fixture
def with_model(tmp_path: Path) -> Path:
    release(people(), plan_for("synthetic"), out=tmp_path / "out", keep_model=True, ledger=tmp_path / "ledger.sqlite")
    return tmp_path / "out"


def of_model(folder: Path) -> tuple[bool, str]:
    result = verify(folder / "certificate.json", folder / "release.parquet")
    [check] = [check for check in result.checks if check.check == "model is the certified one"]
    assert result.verified == check.holds
    return check.holds, check.detail


def test_a_model_beside_its_release_is_verified_with_it(with_model: Path) -> None:
    assert of_model(with_model)[0]
    assert "it can be read" in of_model(with_model)[1]


@pytest.mark.parametrize("name", ["model.json", "rows.parquet", "measurements.json", "plan.toml"])
def test_a_changed_file_of_the_model_fails(name: str, with_model: Path) -> None:
    path = with_model / "model" / name
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    assert not of_model(with_model)[0]


def test_a_file_too_many_or_too_few_in_the_model_fails(with_model: Path) -> None:
    (with_model / "model" / "more.csv").write_text("a")
    assert of_model(with_model) == (False, "1 file(s) in the folder that are not certified: more.csv")
    (with_model / "model" / "more.csv").unlink()
    (with_model / "model" / "rows.parquet").unlink()
    assert not of_model(with_model)[0]


def test_a_model_that_was_not_passed_on_is_said_not_to_be_checked(with_model: Path) -> None:
    shutil.rmtree(with_model / "model")
    assert of_model(with_model) == (True, "certified, but not beside the release: not checked")


def test_a_model_that_the_certificate_does_not_know_fails(with_model: Path) -> None:
    content = json.loads((with_model / "certificate.json").read_text())
    content["model"] = None
    (with_model / "certificate.json").write_text(json.dumps(content))
    assert of_model(with_model)[0] is False


def test_a_model_without_a_release_is_verified_by_the_certificate_in_its_folder(cli: Cli, tmp_path: Path) -> None:
    kept = fit(people(), plan_for("synthetic"), ledger=tmp_path / "ledger.sqlite")
    kept.save(tmp_path / "kept")
    assert cli("verify", "kept/certificate.json", "kept").code == 0
    Model.load(tmp_path / "kept").save(tmp_path / "again")
    done = cli("verify", "again/certificate.json", "again", "--json")
    assert json.loads(done.out)["verified"]
    (tmp_path / "again" / "rows.parquet").write_bytes(b"PAR1")
    assert cli("verify", "again/certificate.json", "again").code == NOT_VERIFIED
    assert cli("verify", "kept/certificate.json", "ledger.sqlite").code == NOT_VERIFIED
