"""Drafting a plan: every draft is a plan, every guess is marked, and once confirmed it can be released."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil import Plan, release
from rankveil.declare.draft import draft
from rankveil.engines import open_table
from tests.support import Ran, files_in

Write = Callable[..., Path]
Cli = Callable[..., Ran]


def drafted(table: object) -> Plan:
    return Plan.parse(draft(open_table(table)))


def confirmed(text: str) -> str:
    """What a person does who agrees with every guess."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("unconfirmed"))


def releasable(table: object) -> Plan:
    """The draft of a table, confirmed, and shown to work with plain noise."""
    text = confirmed(draft(open_table(table), method="laplace"))
    plan = Plan.parse(text)
    assert not plan.guesses
    release(table, plan)
    return plan


MIXED = (
    "id,age,height,born,member,city,comment,empty\n"
    "u1,31,1.75,1990-02-28,true,Rome,,\n"
    "u2,45,1.6,1985-12-31,false,Oslo,?,\n"
    "u3,62,1.825,2001-01-01,TRUE,Rome,NA,\n"
)


def test_kinds_are_guessed_from_the_values(write_table: Write) -> None:
    plan = drafted(write_table(MIXED))
    kinds = {name: entry.kind for name, entry in plan.columns.items()}
    assert kinds == {
        "id": "category",
        "age": "integer",
        "height": "number",
        "born": "date",
        "member": "boolean",
        "city": "category",
        "comment": "drop",
        "empty": "drop",
    }
    assert plan.columns["height"].step == Decimal("0.001")  # type: ignore[union-attr]
    assert plan.columns["city"].categories == ("Oslo", "Rome")  # type: ignore[union-attr]
    assert plan.columns["born"].lower == datetime.date(1985, 1, 1)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("texts", "kind", "written"),
    [
        (["1999-12-31", "2001-05-01"], "date", "%Y-%m-%d"),
        (["31.12.1999", "01.05.2001"], "date", "%d.%m.%Y"),
        (["31.12.1999", "2001-05-01"], "category", None),
        (["31.02.1999", "01.05.2001"], "category", None),
    ],
)
def test_days_are_guessed_in_one_format(write_table: Write, texts: list[str], kind: str, written: str | None) -> None:
    entry = drafted(write_table("day;x\n" + "".join(f"{text};a\n" for text in texts))).columns["day"]
    assert (entry.kind, getattr(entry, "format", None)) == (kind, written)


def test_everything_taken_from_the_data_is_marked_as_a_guess(write_table: Write) -> None:
    guesses = drafted(write_table(MIXED)).guesses
    assert guesses["age"] == ("kind", "lower", "upper", "null")
    assert guesses["height"] == ("kind", "lower", "upper", "step", "null")
    assert guesses["born"] == ("kind", "lower", "upper", "format", "null")
    assert guesses["city"] == ("kind", "categories", "null")
    assert guesses["member"] == ("kind", "null")
    assert guesses["comment"] == guesses["empty"] == ("kind",), "leaving a column out is a guess like any other"
    assert guesses["[table]"] == ("decimal",)
    assert set(guesses) == {*MIXED.split("\n")[0].split(","), "[table]"}


def test_a_table_that_could_have_made_another_draft_has_a_mark_wherever_the_drafts_differ() -> None:
    """Two tables with the same columns: whatever the drafts say differently is marked in both."""
    one = pa.table({"a": ["1", "2"], "b": ["x", "y"], "c": ["2020-01-01", "2021-01-01"], "d": ["1.5", "2.5"]})
    two = pa.table({"a": [None, "2000"], "b": ["1", "2"], "c": ["true", None], "d": ["1,5", "2,5"]})
    first, second = (tomllib.loads(draft(open_table(table))) for table in (one, two))
    for parts in (
        (first["table"], second["table"]),
        *zip(first["columns"].values(), second["columns"].values(), strict=True),
    ):
        for key in {*parts[0], *parts[1]} - {"unconfirmed"}:
            if parts[0].get(key) != parts[1].get(key):
                assert all(key in part["unconfirmed"] for part in parts if key in part), (parts, key)


def test_the_number_of_rows_is_written_and_is_no_guess(write_table: Write) -> None:
    plan = drafted(write_table('a,b\n1,"two\nlines"\n2,x\n3,y\n'))
    assert plan.release.expected_rows == 3
    assert "[release]" not in plan.guesses


def test_the_refusal_of_a_draft_names_every_column_that_holds_guesses(
    cli: Cli, write_table: Write, tmp_path: Path
) -> None:
    names = [f"column{place}" for place in range(64)]
    table = write_table(",".join(names) + "\n" + 2 * (",".join("1.5" for _ in names) + "\n"))
    assert cli("init", table, "--out", tmp_path / "plan.toml").code == 0
    said = cli("release", table, "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out").err
    assert all(f"{name}" in said.replace(",", " ").replace(":", " ").split() for name in names)
    assert "[table]: decimal" in said
    assert len(said.splitlines()) < 10, "columns with the same guesses share a line"


def test_a_confirmation_of_the_columns_alone_leaves_the_decimal_mark_unconfirmed(
    cli: Cli, write_table: Write, tmp_path: Path
) -> None:
    table = write_table("a;b\n1,5;2\n3,25;4\n")
    head, *columns = draft(open_table(table)).split("[columns.")
    (tmp_path / "plan.toml").write_text(head + "[columns.".join(["", *map(confirmed, columns)]))
    done = cli("release", table, "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out")
    assert done.code == 2
    assert "[table]: decimal" in done.err


def test_missing_values_are_noticed_and_marked(write_table: Write) -> None:
    plan = drafted(write_table("a,b\n1,x\n?,\nNaN,y\n"))
    assert all(entry.null for entry in plan.columns.values())
    assert all("null" in guessed for guessed in plan.guesses.values())
    assert plan.columns["a"].kind == "integer"


def test_a_draft_is_refused_by_a_release_until_it_is_confirmed(cli: Cli, write_table: Write, tmp_path: Path) -> None:
    table = write_table(MIXED)
    done = cli("init", table, "--out", tmp_path / "plan.toml")
    assert done.code == 0, done.err
    assert "8 columns, all with guesses" in done.out
    text = (tmp_path / "plan.toml").read_text()
    assert text.startswith("# INTERNAL DRAFT")
    assert cli("release", table, "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out").code == 2
    (tmp_path / "plan.toml").write_text(confirmed(text))
    done = cli("release", table, "--plan", tmp_path / "plan.toml", "--out", tmp_path / "out", "--method", "laplace")
    assert done.code == 0, done.err


def test_the_limits_of_a_draft_are_round_and_lie_outside_the_values(write_table: Write) -> None:
    plan = drafted(write_table("a,b,c,d\n17,-250,1000001,0\n90,340,1000003,0\n"))
    limits = {name: (entry.lower, entry.upper) for name, entry in plan.columns.items()}  # type: ignore[union-attr]
    assert limits["a"] == (0, 100)
    assert limits["b"] == (-300, 500)
    assert limits["c"][0] < 1000001
    assert limits["c"][1] > 1000003
    assert limits["d"] == (0, 1)


def test_texts_with_too_many_different_values_are_dropped_as_identifiers(write_table: Write) -> None:
    rows = "".join(f"name {i},{i % 3}\n" for i in range(300))
    text = draft(open_table(write_table("who,x\n" + rows)))
    plan = Plan.parse(text)
    assert plan.columns["who"].kind == "drop"
    assert "identifier" in text
    assert "name 1" not in text


ODD_NAMES = [
    "with space",
    "a.b",
    'quo"te',
    "back\\slash",
    "ünï",
    "#",
    "[x]",
    "'",
    "tab\tbed",
    "line\nend",
    "=",
    "-",
    "1",
    "ε",
]


def test_odd_column_names_are_quoted(write_table: Write) -> None:
    table = pa.table({name: [1, 2] for name in ODD_NAMES})
    assert list(releasable(table).columns) == ODD_NAMES
    releasable(write_table(table))


def test_odd_labels_are_quoted() -> None:
    labels = ['"', "\\", "a\nb", "\x7f", "x\u2028y", "'''", '"""', "🙂", "#x", "\\u0041"]
    plan = releasable(pa.table({"a": labels}))
    assert set(plan.columns["a"].categories) == set(labels)  # type: ignore[union-attr]


@pytest.mark.parametrize("words", [["x", "NA", ""], ["x", "?", "nan"], ["nan", "NaN", "x"]])
def test_texts_that_mean_missing_in_csv_files_are_labels_in_other_tables(words: list[str]) -> None:
    plan = releasable(pa.table({"a": words}))
    assert set(plan.columns["a"].categories) == set(words)  # type: ignore[union-attr]


names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5).filter(str.strip)


@settings(max_examples=60)
@given(st.lists(names, min_size=1, max_size=4, unique=True), st.lists(st.text(max_size=4), min_size=2, max_size=5))
def test_any_names_and_texts_make_a_draft_that_parses_as_a_plan(columns: list[str], texts: list[str]) -> None:
    safe = [text.encode("utf-8", "replace").decode() for text in texts]
    plan = drafted(pa.table(dict.fromkeys(columns, safe)))
    assert list(plan.columns) == columns


numbers = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(-(10**9), 10**9, places=4).map(str),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12).map(repr),
)


@settings(max_examples=150)
@given(st.lists(numbers, min_size=2, max_size=5))
def test_any_numbers_make_a_draft_that_can_be_released_once_confirmed(texts: list[str]) -> None:
    plan = Plan.parse(confirmed(draft(open_table(pa.table({"a": texts})))))
    if plan.columns["a"].kind in ("integer", "number"):
        release(pa.table({"a": texts}), plan.with_(method="laplace", epsilon="20"))


@pytest.mark.parametrize(
    "values",
    [
        ["1", "1"],
        ["0", "0"],
        ["-3", "-3"],
        ["96", "96"],
        ["1.5", "1.5"],
        ["1e-9", "5e-9"],
        ["123456789.123456", "1"],
        ["-0.0001", "0.0002"],
        ["999999999", "999999999"],
        ["1e30", "2e30"],
        ["0.1", "1e15"],
        ["0", "1000000000000"],
        ["5", "123456789012345678"],
    ],
)
def test_constant_tiny_and_huge_columns_can_be_drafted_and_released(values: list[str]) -> None:
    plan = Plan.parse(confirmed(draft(open_table(pa.table({"a": values})))))
    release(pa.table({"a": values}), plan.with_(method="laplace", epsilon="20"))


@pytest.mark.parametrize("value", ["1e400", "1e999999999", "9" * 5000, "1e-400"])
def test_numbers_nobody_can_compute_with_do_not_end_a_draft(value: str) -> None:
    assert drafted(pa.table({"a": [value, "1"]})).columns["a"].kind == "category"


def test_integers_that_could_be_read_as_compact_dates_stay_integers(write_table: Write) -> None:
    """20310131 is a day to some readers; a sum of money to others."""
    plan = drafted(write_table("a\n20310131\n99\n12345678\n"))
    assert plan.columns["a"].kind == "integer"


@pytest.mark.parametrize(
    "values", [["9999-12-31", "9999-12-31"], ["0001-01-01", "2020-01-01"], ["2020-12-31", "2020-12-31"]]
)
def test_dates_at_the_ends_of_the_calendar_can_be_drafted(values: list[str]) -> None:
    assert drafted(pa.table({"a": values})).columns["a"].kind == "date"


def test_decimal_commas_are_noticed(write_table: Write) -> None:
    table = write_table("a;b\n1,5;2\n3,25;4\n")
    plan = releasable(table)
    assert plan.table.decimal == ","
    assert plan.columns["a"].kind == "number"


def test_a_parquet_table_of_every_type_can_be_drafted_and_released(write_table: Write) -> None:
    day = datetime.date(2020, 2, 29)
    table = pa.table(
        {
            "small": pa.array([1, 2, None], pa.int8()),
            "float": pa.array([1.5, float("nan"), float("inf")], pa.float32()).filter(pa.array([True, True, True])),
            "decimal": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
            "day": pa.array([day, day, None]),
            "moment": pa.array([datetime.datetime(2020, 1, 1, 5, 6, 7, 8)] * 3, pa.timestamp("us")),
            "zoned": pa.array([datetime.datetime(2020, 1, 1)] * 3, pa.timestamp("ns", "UTC")),
            "truth": pa.array([True, False, None]),
            "word": pa.array(["x", "y", None]).dictionary_encode(),
            "list": pa.array([[1], [2], None]),
            "bytes": pa.array([b"\xff", b"\x00", None]),
            "nothing": pa.nulls(3),
        }
    )
    plan = drafted(table)
    assert {name: entry.kind for name, entry in plan.columns.items()} == {
        "small": "integer",
        "float": "number",
        "decimal": "number",
        "day": "date",
        "moment": "date",
        "zoned": "date",
        "truth": "boolean",
        "word": "category",
        "list": "drop",
        "bytes": "drop",
        "nothing": "drop",
    }
    finite = table.set_column(1, "float", pa.array([1.5, float("nan"), 2.5], pa.float32()))
    releasable(finite)
    releasable(write_table(finite))


@pytest.mark.parametrize("name", ["adult", "adult_full", "census", "eia", "tarragona"])
def test_the_public_data_sets_can_be_drafted_and_released(data_folder: Path, name: str) -> None:
    table = data_folder / f"{name}.csv"
    plan = drafted(table)
    dropped = {column for column, entry in plan.columns.items() if entry.kind == "drop"}
    assert set(plan.guesses) - {"[table]"} == set(plan.columns)
    assert dropped == ({"UTILNAME"} if name == "eia" else set())
    if name != "adult":  # the full one is the same table and more
        releasable(table)


# The command


def test_init_does_not_replace_a_plan_unless_asked(cli: Cli, write_table: Write, tmp_path: Path) -> None:
    table, plan = write_table("a\n1\n2\n"), tmp_path / "plan.toml"
    plan.write_text("mine")
    done = cli("init", table, "--out", plan)
    assert done.code == 2
    assert plan.read_text() == "mine"
    assert cli("init", table, "--out", plan, "--overwrite").code == 0
    assert Plan.load(plan).columns["a"].kind == "integer"


def test_init_with_json_names_the_guesses(cli: Cli, write_table: Write, tmp_path: Path) -> None:
    said = json.loads(cli("init", write_table("a\n1\n2\n"), "--out", tmp_path / "p.toml", "--json").out)
    assert said["unconfirmed"] == {"a": ["kind", "lower", "upper", "null"]}


@pytest.mark.parametrize("content", ["", "a\n", "a", "a,a\n1,2\n", "a,b\n1,2,3\n", b"\x00\x01\x02"])
def test_init_refuses_what_is_no_table_and_leaves_nothing_behind(
    cli: Cli, write_table: Write, tmp_path: Path, content: str | bytes
) -> None:
    done = cli("init", write_table(content), "--out", tmp_path / "plan.toml")
    assert done.code == 3
    assert "Traceback" not in done.text
    assert files_in(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("epsilon", ["abc", "0", "nan", "-1", "1e999999999"])
def test_init_refuses_an_epsilon_that_is_none(cli: Cli, write_table: Write, tmp_path: Path, epsilon: str) -> None:
    done = cli("init", write_table("a\n1\n2\n"), "--out", tmp_path / "plan.toml", "--epsilon", epsilon)
    assert done.code == 2
    assert files_in(tmp_path) == ["table.csv"]


def test_init_into_a_place_that_cannot_be_written_to(cli: Cli, write_table: Write, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = cli("init", write_table("a\n1\n2\n"), "--out", tmp_path / "file" / "plan.toml")
    assert done.code == 2
    assert "cannot be written" in done.err


@pytest.mark.parametrize(
    ("text", "marks", "kinds"),
    [
        ("a;b\n9.734;20,5\n12.000;3\n", {"decimal": ",", "thousands": "."}, {"a": "integer", "b": "number"}),
        ("a;b\n9.734;x\n1.200;y\n", {"decimal": ",", "thousands": "."}, {"a": "integer", "b": "category"}),
        ("a,b\n9.734,x\n1.200,y\n", {"decimal": ".", "thousands": None}, {"a": "number", "b": "category"}),
        ('a,b\n"9,734",1.5\n"12,000.25",2\n', {"decimal": ".", "thousands": ","}, {"a": "number", "b": "number"}),
        ("a;b\n9'734;1.5\n12'000;2\n", {"decimal": ".", "thousands": "'"}, {"a": "integer", "b": "number"}),
        ("a;b\n1.234.567;1\n12;2\n", {"decimal": ",", "thousands": "."}, {"a": "integer", "b": "integer"}),
        ("a;b\n12.5;1\n9.734;2\n", {"decimal": ".", "thousands": None}, {"a": "number", "b": "integer"}),
        ("a\n9.734\n1.200\n", {"decimal": ",", "thousands": "."}, {"a": "integer"}),
    ],
)
def test_marks_of_thousands_are_noticed_and_marked_as_guesses(
    text: str, marks: dict[str, str | None], kinds: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(text)
    plan = Plan.parse(draft(open_table(tmp_path / "t.csv")))
    assert {"decimal": plan.table.decimal, "thousands": plan.table.thousands} == marks
    assert set(plan.table.unconfirmed) == {key for key, mark in marks.items() if mark is not None}
    assert {name: entry.kind for name, entry in plan.columns.items()} == kinds


def test_codes_with_leading_zeros_are_labels_and_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("plz,n\n01005,0\n80331,7\n")
    plan = Plan.parse(draft(open_table(tmp_path / "t.csv")))
    assert {name: entry.kind for name, entry in plan.columns.items()} == {"plz": "category", "n": "integer"}
