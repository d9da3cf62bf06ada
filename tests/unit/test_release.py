"""A release and its certificate: what appears, what it says, and that nothing appears when something fails."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from rankveil import Certificate, Plan, evaluate, preview, release
from rankveil.errors import GuaranteeError, OutputError, RankveilError
from rankveil.noise import SeededSource
from rankveil.write import files, folder
from tests.support import PAPERS, category, files_in, integer, plan_text

NOISELESS = ("published:ranking", "published:mdav-insensitive", "published:mdav")
PUBLISHED = ("published:individual-ranking", "published:multivariate", *NOISELESS)
TABLE = "age,city,note\n31,Rome,Zanzibar-4711\n45,Oslo,Zanzibar-4712\n62,Rome,Zanzibar-4713\n18,Oslo,Zanzibar-4714\n"
COLUMNS = {"age": integer(120), "city": category(["Rome", "Oslo", "Lima"]), "note": 'kind = "drop"'}

Write = Callable[..., Path]


@pytest.fixture
def table(write_table: Write) -> Path:
    return write_table(TABLE)


def plan_of(method: str = "laplace", **how: Any) -> Plan:
    return Plan.parse(plan_text(COLUMNS, method=method, k=2, **how))


def certificate_in(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    return content


# What appears


def test_a_release_and_its_certificate_appear_and_nothing_else(table: Path, tmp_path: Path) -> None:
    release(table, plan_of(), out=tmp_path / "out")
    assert files_in(tmp_path / "out") == [*PAPERS, "release.csv"]
    with (tmp_path / "out" / "release.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [["age", "city"]] * 4
    assert all(0 <= int(row["age"]) <= 120 and row["city"] in ("Rome", "Oslo", "Lima") for row in rows)


def test_the_certificate_names_the_release_by_its_hash_and_size(table: Path, tmp_path: Path) -> None:
    release(table, plan_of(), out=tmp_path / "out")
    content = (tmp_path / "out" / "release.csv").read_bytes()
    note = certificate_in(tmp_path / "out")["release"]
    assert note == {
        "file": "release.csv",
        "format": "csv",
        "decimal": ".",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "parts": None,
    }


def test_a_parquet_table_is_released_as_parquet(write_table: Write, tmp_path: Path) -> None:
    source = write_table(pa.table({"age": pa.array([1, 2, 3], pa.int16()), "city": ["Rome"] * 3, "note": ["x"] * 3}))
    release(source, plan_of(), out=tmp_path / "out")
    assert files_in(tmp_path / "out") == [*PAPERS, "release.parquet"]
    released = papq.read_table(tmp_path / "out" / "release.parquet")
    assert released.schema.field("age").type == pa.int64()  # the type of its kind: docs/limits.md
    assert certificate_in(tmp_path / "out")["release"]["format"] == "parquet"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_csv_release_keeps_the_separator_of_its_table(write_table: Write, tmp_path: Path, separator: str) -> None:
    release(write_table(TABLE.replace(",", separator)), plan_of(), out=tmp_path / "out")
    first = (tmp_path / "out" / "release.csv").read_text().splitlines()[0]
    assert first == separator.join(["age", "city"])


def test_labels_and_names_that_need_quotes_get_them(write_table: Write, tmp_path: Path) -> None:
    labels = ["a,b", 'c "d"', "e\nf", "plain"]
    text = 'x,"na,me"\n1,"a,b"\n2,"c ""d"""\n3,"e\nf"\n4,plain\n'
    columns = {
        "x": integer(9, more='role = "public"'),
        "na,me": category(["a,b", 'c "d"', "plain", "q"]).replace('"q"', '"e\\nf"'),
    }
    release(
        write_table(text), Plan.parse(plan_text(columns, epsilon=100)), out=tmp_path / "out", source=SeededSource(1)
    )
    with (tmp_path / "out" / "release.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows] == ["1", "2", "3", "4"]
    assert [row["na,me"] for row in rows] == labels  # at ε = 100 labels stay


def test_missing_values_are_written_as_empty_fields_and_read_back_as_missing(
    write_table: Write, tmp_path: Path
) -> None:
    columns = {"a": integer(9, more="null = true"), "b": category(["x"], more="null = true\nrole = 'public'")}
    source = write_table("a,b\n" + "?,x\n1,?\n" * 200)
    plan = Plan.parse(plan_text(columns, epsilon=50, table='null_values = ["?"]'))
    release(source, plan, out=tmp_path / "out", source=SeededSource(1))
    lines = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert lines[1] == ",x"
    assert lines[2].endswith(",")
    assert evaluate(source, tmp_path / "out" / "release.csv", plan).jsd < 0.05


@pytest.mark.parametrize("method", ["laplace", *PUBLISHED])
def test_every_method_can_be_evaluated_from_its_files(table: Path, tmp_path: Path, method: str) -> None:
    plan = plan_of(method, epsilon=5)
    release(table, plan, out=tmp_path / "out", accept_no_guarantee=True)
    measured = evaluate(table, tmp_path / "out" / "release.csv", plan)
    assert {column.name for column in measured.columns} == {"age", "city"}


def test_dates_truth_values_and_numbers_come_out_as_they_are_written(write_table: Write, tmp_path: Path) -> None:
    columns = {
        "d": 'kind = "date"\nlower = 2020-01-01\nupper = 2020-12-31\nformat = "%d.%m.%Y"\nrole = "public"',
        "t": 'kind = "boolean"\nrole = "public"',
        "n": 'kind = "number"\nlower = 0\nupper = 1\nstep = 0.1\nrole = "public"',
        "k": integer(3),
    }
    release(
        write_table("d,t,n,k\n29.02.2020,yes,0.3,1\n01.03.2020,no,0.7,2\n"),
        Plan.parse(plan_text(columns)),
        out=tmp_path / "out",
    )
    lines = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert lines[1].startswith("29.02.2020,true,0.3,")
    assert lines[2].startswith("01.03.2020,false,0.7,")


# What the certificate says


@pytest.mark.parametrize("method", ["laplace", *PUBLISHED])
def test_a_certificate_fits_its_model_and_its_json_schema(table: Path, tmp_path: Path, method: str) -> None:
    made = release(table, plan_of(method), out=tmp_path / "out", accept_no_guarantee=True)
    text = (tmp_path / "out" / "certificate.json").read_text()
    assert Certificate.model_validate_json(text) == made.certificate
    schema = Certificate.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(text) | {"remark": "x"}, schema)


def test_a_sound_release_is_certified_with_its_epsilon(table: Path) -> None:
    made = release(table, plan_of(epsilon="0.3")).certificate
    assert made.differentially_private
    assert made.epsilon == "0.3"
    assert made.reason is None
    assert made.for_release
    assert "ε = 0.3" in made.statement
    assert made.statement.startswith("The released table is")
    assert "NOT" not in made.statement


@pytest.mark.parametrize("method", PUBLISHED)
def test_a_published_method_is_certified_as_not_private_with_its_reason(table: Path, method: str) -> None:
    made = release(table, plan_of(method), accept_no_guarantee=True).certificate
    assert not made.differentially_private
    assert made.epsilon is None
    assert made.delta is None
    assert made.reason
    assert made.statement.startswith("NOT differentially private")
    assert all(share.epsilon is None for share in made.shares)
    assert made.settings.k == 2


@pytest.mark.parametrize(
    ("method", "findings"),
    [("published:individual-ranking", ("T34", "T35")), ("published:multivariate", ("T34", "T36"))],
)
def test_the_certificate_names_what_refutes_the_paper(table: Path, method: str, findings: tuple[str, ...]) -> None:
    made = release(table, plan_of(method), accept_no_guarantee=True).certificate
    assert tuple(one.id for one in made.theorems) == findings


@pytest.mark.parametrize("method", PUBLISHED)
def test_a_published_method_is_refused_without_consent_before_the_table_is_opened(method: str) -> None:
    with pytest.raises(GuaranteeError, match="accept-no-guarantee"):
        release("no-such-table.csv", plan_of(method))


def test_a_seed_marks_the_certificate_as_not_for_release(table: Path) -> None:
    made = release(table, plan_of(), source=SeededSource(1)).certificate
    assert not made.for_release
    assert made.statement.startswith("NOT FOR RELEASE")


def test_the_same_seed_gives_the_same_release_and_the_system_does_not(table: Path) -> None:
    def ages(**how: Any) -> list[int]:
        rows: list[int] = release(table, plan_of(epsilon="0.5"), **how).table["age"].to_pylist()
        return rows

    assert ages(source=SeededSource(1)) == ages(source=SeededSource(1))
    assert len({tuple(ages()) for _ in range(10)}) > 1


def test_the_certificate_holds_plan_and_rows_and_time(table: Path) -> None:
    moment = datetime(2031, 1, 2, 3, 4, 5, tzinfo=UTC)
    plan = plan_of()
    made = release(table, plan, clock=lambda: moment).certificate
    assert made.created == moment
    assert made.rows == 4
    assert made.plan.sha256 == plan.sha256()
    assert [(note.name, note.kind, note.lower, note.upper, note.categories) for note in made.columns] == [
        ("age", "integer", "0", "120", None),
        ("city", "category", None, None, 3),
    ]


def test_a_changed_plan_changes_the_fingerprint_in_the_certificate(
    table: Path, write_plan: Write, tmp_path: Path
) -> None:
    first = write_plan(COLUMNS, name="one.toml")
    second = write_plan(COLUMNS | {"age": integer(121)}, name="two.toml")
    notes = [release(table, path).certificate.plan for path in (first, second)]
    assert notes[0].sha256 != notes[1].sha256


def test_a_certificate_says_nothing_of_the_comments_in_a_plan(table: Path, write_plan: Write) -> None:
    told = write_plan(COLUMNS, name="told.toml")
    other = write_plan(COLUMNS, name="other.toml")
    told.write_text("# 200 different values, several rows each\n" + told.read_text())
    notes = [release(table, path).certificate.plan for path in (told, other)]
    assert notes[0] == notes[1]
    assert notes[0].file_sha256 is None


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_the_fingerprint_of_a_plan_does_not_tell_a_number_of_rows_that_is_not_public(neighbours: str) -> None:
    def fingerprint(rows: int, said: dict[str, Any]) -> str:
        columns = {"age": {"kind": "integer", "lower": 0, "upper": 9}, "whose": {"kind": "drop"}}
        return Plan(release={"epsilon": 1, "expected_rows": rows}, privacy=said, columns=columns).sha256()

    said = {"neighbours": neighbours, "person": "whose", "rows_per_person": 2}
    assert fingerprint(1234, said) == fingerprint(1235, said)
    assert fingerprint(1234, {}) != fingerprint(1235, {})  # public: one of the settings, as it always was


def test_public_columns_are_named_where_neighbours_are_defined(table: Path) -> None:
    columns = COLUMNS | {"city": category(["Rome", "Oslo"], more='role = "public"')}
    assert "public" not in release(table, plan_of()).certificate.neighbours.split("The number of rows")[0]
    assert "Columns marked public" in release(table, Plan.parse(plan_text(columns))).certificate.neighbours


@pytest.mark.parametrize("method", ["laplace", *PUBLISHED])
def test_no_value_of_the_data_is_in_the_certificate(write_table: Write, tmp_path: Path, method: str) -> None:
    """The plan's bounds and number of labels may be there; what only the table knows may not."""
    columns = COLUMNS | {"age": integer(1_000_000, more="null = true")}
    ages = [777_123, 777_124, 777_125, 777_126, 777_127, None]
    rows = "".join(f"{'' if age is None else age},Rome,Zanzibar-{4711 + i}\n" for i, age in enumerate(ages))
    plan = Plan.parse(plan_text(columns, method=method, k=2, epsilon="0.001"))
    release(
        write_table("age,city,note\n" + rows), plan, out=tmp_path / "out", accept_no_guarantee=True,
        clock=lambda: datetime(2031, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    text = (tmp_path / "out" / "certificate.json").read_text()
    text = re.sub(r"\b[0-9a-f]{64}\b", "", text)  # four digits may well occur in a digest
    assert "7771" not in text
    assert "Zanzibar" not in text
    assert "Rome" not in text


def test_certificates_of_two_neighbouring_tables_are_equal_but_for_the_hash(write_table: Write, tmp_path: Path) -> None:
    """With missing values, too: how many there are must not show in the number of clusters."""
    columns = {"a": integer(9, more="null = true")}
    texts = []
    for name, last in (("one", "5"), ("two", "")):
        source = write_table(f"a\n1\n2\n3\n4\n5\n{last}\n", name=f"{name}.csv")
        for method in ("laplace", *PUBLISHED):
            plan = Plan.parse(plan_text(columns, method=method, k=2))
            made = release(source, plan, accept_no_guarantee=True, clock=lambda: datetime(2031, 1, 1, tzinfo=UTC))
            content = json.loads(made.certificate.to_json())
            content.pop("ledger", None)  # a running number, and a seal under the ledger's secret key
            texts.append((name, content))
    assert [text for name, text in texts if name == "one"] == [text for name, text in texts if name == "two"]


# Whole or not at all


def test_a_release_that_exists_is_not_replaced_unless_asked(table: Path, tmp_path: Path) -> None:
    release(table, plan_of(), out=tmp_path / "out")
    before = (tmp_path / "out" / "release.csv").read_bytes()
    with pytest.raises(OutputError, match="already holds"):
        release(table, plan_of(), out=tmp_path / "out")
    assert (tmp_path / "out" / "release.csv").read_bytes() == before
    release(table, plan_of(epsilon="7"), out=tmp_path / "out", overwrite=True)
    assert certificate_in(tmp_path / "out")["epsilon"] == "7"
    assert files_in(tmp_path / "out") == [*PAPERS, "release.csv"]


def test_replacing_a_release_by_one_of_the_other_format_leaves_no_stale_file(
    table: Path, write_table: Write, tmp_path: Path
) -> None:
    release(table, plan_of(), out=tmp_path / "out")
    parquet = write_table(pa.table({"age": [1, 2], "city": ["Rome"] * 2, "note": ["x"] * 2}))
    release(parquet, plan_of(), out=tmp_path / "out", overwrite=True)
    assert files_in(tmp_path / "out") == [*PAPERS, "release.parquet"]


def test_a_folder_that_holds_only_a_certificate_counts_as_taken(table: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "certificate.json").write_text("{}")
    with pytest.raises(OutputError, match=r"certificate\.json"):
        release(table, plan_of(), out=tmp_path / "out")


def test_other_files_in_the_folder_are_left_alone(table: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    release(table, plan_of(), out=tmp_path / "out")
    assert files_in(tmp_path / "out") == [*PAPERS, "notes.txt", "release.csv"]


def _full(*arguments: object, **more: object) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("at", ["write_rows", "sync", "write"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_full_disk_leaves_nothing_behind(
    at: str, kind: str, table: Path, write_table: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "parquet":
        table = write_table(pa.table({"age": [1, 2], "city": ["Rome"] * 2, "note": ["x"] * 2}))
    monkeypatch.setattr(files._Fingerprinting if at == "write" else folder, at, _full)
    with pytest.raises(OutputError, match="No space left on device") as caught:
        release(table, plan_of(), out=tmp_path / "out")
    assert "No release was written" in str(caught.value)
    assert files_in(tmp_path / "out") == []


@pytest.mark.parametrize("call", [1, 2])
def test_a_rename_that_fails_leaves_neither_a_release_nor_a_certificate_of_nothing(
    call: int, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    rename = Path.replace

    def failing(self: Path, target: Path) -> Path:
        calls.append(target)
        return _full() if len(calls) == call else rename(self, target)  # type: ignore[no-any-return]

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OutputError):
        release(table, plan_of(), out=tmp_path / "out")
    assert len(calls) == call
    assert files_in(tmp_path / "out") == []


def test_a_bug_while_certifying_leaves_nothing_behind(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Certificate) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(Certificate, "to_json", broken)
    with pytest.raises(ZeroDivisionError):
        release(table, plan_of(), out=tmp_path / "out")
    assert files_in(tmp_path / "out") == []


def test_a_release_is_readable_by_others(table: Path, tmp_path: Path) -> None:
    release(table, plan_of(), out=tmp_path / "out")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o644}


@pytest.mark.parametrize("at", ["file", "file/below", "/proc/rankveil"])
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_rows_are_read(
    at: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("rankveil.engines.source.Table.batches", _full)
    with pytest.raises(OutputError, match="cannot be written to"):
        release(table, plan_of(), out=tmp_path / at)


# Looking first


@pytest.mark.parametrize("method", ["laplace", *PUBLISHED])
def test_a_preview_needs_no_table_and_names_every_protected_column(method: str) -> None:
    looked = preview(plan_of(method))
    assert [line.column for line in looked.lines] == ["age", "city"]
    assert json.dumps(looked.as_dict())


@pytest.mark.parametrize("epsilon", ["0.000001", "1", "5000", "1000000"])
def test_a_preview_of_any_epsilon_a_plan_may_have_can_be_shown(epsilon: str) -> None:
    columns = {
        "n": integer(10, more="null = true"),
        "l": integer(1000, more='scale = "log"'),
        "c": category(["x", "y"], more="null = true"),
        "b": 'kind = "boolean"',
        "o": 'kind = "ordinal"\ncategories = ["a", "b"]',
        "d": 'kind = "date"\nlower = 2020-01-01\nupper = 2021-01-01',
    }
    assert len(preview(Plan.parse(plan_text(columns, epsilon=epsilon))).lines) == 7


def test_a_preview_promises_the_noise_that_the_release_then_states(table: Path) -> None:
    """Prices and mechanisms of the dry run are those of the certificate."""
    plan = plan_of(epsilon="0.3")
    promised = [(line.column, line.mechanism, line.epsilon) for line in preview(plan).lines]
    stated = [(share.column, share.mechanism, share.epsilon) for share in release(table, plan).certificate.shares]
    assert promised == stated


def test_every_refusal_says_what_is_wrong_what_it_cost_and_what_to_do(table: Path, tmp_path: Path) -> None:
    for wrong in (
        lambda: release(table, plan_of("published:mdav")),
        lambda: release(tmp_path / "nothing.csv", plan_of()),
        lambda: release(
            table, Plan.parse(plan_text({"age": integer(5), "city": 'kind = "drop"', "note": 'kind = "drop"'}))
        ),
    ):
        with pytest.raises(RankveilError) as caught:
            wrong()
        parts = caught.value.as_dict()
        assert parts["problem"]
        assert parts["cost"] == "No file was written and no budget was spent."
        assert parts["remedy"]
        assert str(caught.value).count("\n") >= 2
