"""The same people in every format: one identity, values that come back, files that follow from the plan alone."""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pytest

from rankveil.declare import Plan
from rankveil.engines import open_table
from rankveil.errors import DomainError, MissingExtraError, OutputError, RankveilError, TableError
from rankveil.evaluate import evaluate
from rankveil.formats import FORMATS, metadata
from rankveil.formats.addresses import shown
from rankveil.formats.format import Released, Style
from rankveil.ledger.identity import identities
from rankveil.load import load
from rankveil.release import release
from rankveil.verify import verify
from tests.support import PAPERS, files_in, integer, plan_text

pyreadstat = pytest.importorskip("pyreadstat")
xlsxwriter = pytest.importorskip("xlsxwriter")
duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")

ROWS = 120
TOWNS = ("Köln", "Łódź, Ost", 'a "b"', "+1 = x")
PEOPLE: dict[str, list[Any]] = {
    "age": [18 + number % 60 for number in range(ROWS)],
    "income": [None if number % 7 == 0 else number * 12.25 for number in range(ROWS)],
    "sex": [1 + number % 2 for number in range(ROWS)],
    "town": [TOWNS[number % 4] for number in range(ROWS)],
    "born": [datetime.date(1950, 1, 1) + datetime.timedelta(days=137 * number) for number in range(ROWS)],
}
COLUMNS: dict[str, Any] = {
    "age": {"kind": "integer", "lower": 0, "upper": 120},
    "income": {"kind": "number", "lower": 0, "upper": 2000, "step": "0.25", "null": True},
    "sex": {"kind": "category", "categories": ["1", "2"]},
    "town": {"kind": "category", "categories": list(TOWNS)},
    "born": {"kind": "date", "lower": "1900-01-01", "upper": "2020-12-31"},
}
PLAN = Plan.from_dict({"release": {"epsilon": 20}, "columns": COLUMNS})
KEY = b"k" * 32
LABELS = {"column_labels": {"age": "SECRET LABEL"}, "variable_value_labels": {"sex": {1: "SECRET MALE", 2: "female"}}}


def frame() -> Any:
    return pandas.DataFrame(PEOPLE)


def csv_text() -> str:
    return str(frame().to_csv(index=False))


def _zip(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("people.csv", csv_text())
    return path


def _text(path: Path) -> Path:
    path.write_text(csv_text(), encoding="utf-8")
    return path


def _arrow(path: Path) -> Path:
    pyarrow.feather.write_feather(pa.table(PEOPLE), str(path))
    return path


def _json(path: Path) -> Path:
    rows = [dict(zip(PEOPLE, row, strict=True)) for row in zip(*PEOPLE.values(), strict=True)]
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows), encoding="utf-8")
    return path


def _excel(path: Path) -> Path:
    book = xlsxwriter.Workbook(str(path), {"strings_to_formulas": False})
    sheet, shown_as = book.add_worksheet("People"), book.add_format({"num_format": "dd.mm.yyyy"})
    for place, (name, values) in enumerate(PEOPLE.items()):
        sheet.write(0, place, name)
        for row, value in enumerate(values, start=1):
            if isinstance(value, datetime.date):
                sheet.write_datetime(row, place, value, shown_as)
            elif value is not None:
                sheet.write(row, place, value)
    book.close()
    return path


def _sqlite(path: Path) -> str:
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE people (age, income, sex, town, born)")
    rows = [[*row[:4], row[4].isoformat()] for row in zip(*PEOPLE.values(), strict=True)]
    base.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    base.commit()
    base.close()
    return f"sqlite:///{path}?table=people"


def _duckdb(path: Path) -> str:
    base = duckdb.connect(str(path))
    base.register("given", pa.table(PEOPLE))
    base.execute("CREATE TABLE people AS SELECT * FROM given")
    base.close()
    return f"duckdb:///{path}?table=people"


def _statistical(write: Callable[..., None], **how: Any) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        write(frame(), str(path), **how)
        return path

    return make


MADE: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "CSV": ("p.csv", _text, "csv"),
    "ZIP": ("p.csv.zip", _zip, "csv"),
    "Feather": ("p.feather", _arrow, "feather"),
    "JSON lines": ("p.jsonl", _json, "jsonl"),
    "Excel": ("p.xlsx", _excel, "xlsx"),
    "SQLite": ("p.db", _sqlite, "parquet"),
    "DuckDB": ("p.duckdb", _duckdb, "parquet"),
    "SPSS": ("p.sav", _statistical(pyreadstat.write_sav, **LABELS), "sav"),
    "SPSS, compressed": ("p.zsav", _statistical(pyreadstat.write_sav, compress=True, **LABELS), "zsav"),
    "Stata": ("p.dta", _statistical(pyreadstat.write_dta, **LABELS), "dta"),
    "SAS transport": ("p.xpt", _statistical(pyreadstat.write_xport), "xpt"),
}


@pytest.mark.parametrize("name", MADE)
def test_a_table_has_one_identity_in_every_container(name: str, tmp_path: Path) -> None:
    file, make, _ = MADE[name]
    table = open_table(make(tmp_path / file))
    assert table.row_count() == ROWS
    assert identities(table, KEY)[0].digest == identities(open_table(pa.table(PEOPLE)), KEY)[0].digest


@pytest.mark.parametrize("name", MADE)
def test_a_release_is_written_as_its_table_was_verified_and_evaluated(name: str, tmp_path: Path) -> None:
    file, make, written = MADE[name]
    source, out = make(tmp_path / file), tmp_path / "out"
    release(source, PLAN, out=out)
    assert files_in(out) == [*PAPERS, f"release.{written}"]
    assert [
        check for check in verify(out / "certificate.json", out / f"release.{written}").checks if not check.holds
    ] == []
    assert evaluate(source, out, PLAN).total_variation < 0.5
    assert b"SECRET" not in (out / f"release.{written}").read_bytes(), "labels come by way of the plan alone"


# Written by us, read by others

FIELDS = (
    Released(
        pa.field("age", pa.int64()), "integer", lower=-5, upper=2000, special=("-9", "999"), label="Ägè " + "x" * 60
    ),
    Released(pa.field("income", pa.float64()), "number", lower=-1e6, upper=1e6),
    Released(pa.field("sex", pa.string()), "category", labels=("1", "2"), value_labels={"1": "male", "2": "female"}),
    Released(pa.field("town", pa.string()), "category", labels=("01", "grün ☃", "x" * 200)),
    Released(pa.field("born", pa.date32()), "date", date_format="%d.%m.%Y", lower=-40_000, upper=9000),
    Released(pa.field("here", pa.bool_()), "boolean"),
)
VALUES = pa.record_batch(
    [
        pa.array([1, -9, None, 1234], pa.int64()),
        pa.array([0.1, None, -1e6, 123456.789]),
        pa.array(["1", "2", None, "1"]),
        pa.array(["01", None, "grün ☃", "x" * 200]),
        pa.array([datetime.date(1890, 2, 28), None, datetime.date(2000, 2, 29), datetime.date(1960, 1, 1)]),
        pa.array([True, False, None, True]),
    ],
    schema=pa.schema([column.field for column in FIELDS]),
)


def written(name: str, path: Path) -> Path:
    with path.open("w+b") as file:
        writer = FORMATS[name].writes.writer(file, FIELDS, Style())
        for start in (0, 3):
            writer.write(writer.prepared(VALUES.slice(start, 3)))
        writer.close()
    return path


@pytest.mark.parametrize("name", ["sav", "zsav", "dta", "xpt"])
def test_values_dates_missing_values_and_texts_come_back(name: str, tmp_path: Path) -> None:
    back = pa.Table.from_batches(open_table(written(name, tmp_path / f"r.{name}")).batches()).to_pydict()
    assert back["age"] == [1, -9, None, 1234]
    assert back["income"] == [0.1, None, -1e6, 123456.789]
    assert back["sex"] == [1, 2, None, 1]
    assert back["town"] == ["01", None, "grün ☃", "x" * 200]
    assert back["born"] == VALUES.column("born").to_pylist()
    assert back["here"] == [1, 0, None, 1]


@pytest.mark.parametrize("name", ["sav", "zsav", "dta"])
def test_labels_and_missing_codes_of_the_plan_are_in_the_file(name: str, tmp_path: Path) -> None:
    found = metadata(written(name, tmp_path / f"r.{name}"))
    assert found["age"].label == "Ägè " + "x" * 60
    assert dict(found["sex"].value_labels) == {"1": "male", "2": "female"}
    assert found["age"].missing == (() if name == "dta" else ("-9", "999"))


def test_pandas_reads_our_stata_file_as_well(tmp_path: Path) -> None:
    read = pandas.read_stata(written("dta", tmp_path / "r.dta"), convert_categoricals=False)
    assert list(read["town"]) == ["01", "", "grün ☃", "x" * 200]
    assert [None if pandas.isna(day) else day.date() for day in read["born"]] == VALUES.column("born").to_pylist()


@pytest.mark.parametrize("name", ["sav", "zsav", "dta", "xpt", "xlsx", "feather"])
def test_a_file_names_no_time(name: str, tmp_path: Path) -> None:
    import time

    first = written(name, tmp_path / f"1.{name}").read_bytes()
    time.sleep(1.1)
    assert written(name, tmp_path / f"2.{name}").read_bytes() == first


def test_missing_letters_of_stata_stay_labels_where_the_plan_lists_them(tmp_path: Path) -> None:
    letters = pandas.DataFrame({"a": pandas.Series([1, 2, "a", None] * 5, dtype=object)})
    labels = {"a": {1: "yes", 2: "no", "a": "refused"}}
    path = tmp_path / "p.dta"
    pyreadstat.write_dta(letters, str(path), missing_user_values={"a": ["a"]}, variable_value_labels=labels)
    read = pa.Table.from_batches(open_table(path).batches())["a"].to_pylist()
    assert read[:4] == ["1", "2", ".a", None]
    plan = {
        "release": {"epsilon": 50},
        "columns": {"a": {"kind": "category", "categories": ["1", "2", ".a"], "null": True}},
    }
    release(path, Plan.from_dict(plan), out=tmp_path / "out", accept_large_epsilon=True)
    released = pa.Table.from_batches(open_table(tmp_path / "out" / "release.dta").batches())["a"].to_pylist()
    assert ".a" in released


# Bad input


def test_several_sheets_are_asked_about_and_one_can_be_named(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(str(tmp_path / "b.xlsx"))
    for name in ("First", "Second"):
        sheet = book.add_worksheet(name)
        sheet.write_row(0, 0, ["a"])
        sheet.write_row(1, 0, [name])
    book.close()
    with pytest.raises(TableError, match="2 sheets") as asked:
        open_table(tmp_path / "b.xlsx")
    assert "--sheet" in str(asked.value) and "'Second'" in str(asked.value)
    assert pa.Table.from_batches(open_table(f"{tmp_path}/b.xlsx#Second").batches()).to_pydict() == {"a": ["Second"]}
    with pytest.raises(TableError, match="no sheet 'Third'"):
        open_table(f"{tmp_path}/b.xlsx#Third")


def _encrypted() -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 2048


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("b.xlsx", _encrypted(), "password"),
        ("b.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2048, "damaged"),
        ("b.xlsx", b"PK\x03\x04 and nothing else", "damaged"),
        ("b.sav", b"$FL2 and nothing else", "damaged"),
        ("b.dta", b"<stata_dta><header><release>118</release>", "damaged"),
        ("b.sas7bdat", b"nothing of the kind", "damaged"),
        ("b.feather", b"ARROW1\0\0 and nothing else", "damaged"),
        ("b.jsonl", b'{"a": 1}\n{"a": SECRET}\n', "line 2"),
        ("b.jsonl", b'{"a": [1]}\n', "line 1"),
        ("b.jsonl", b'{"a": 1, "a": 2}\n', "line 1"),
        ("b.sqlite", b"SQLite format 3\0 and nothing else", "damaged"),
    ],
)
def test_damaged_files_are_refused_in_our_words(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=words) as refused:
        list(open_table(tmp_path / name).batches())
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("ending", ["sav", "dta", "zsav"])
def test_a_file_that_was_cut_off_is_refused_and_nothing_is_spent(ending: str, tmp_path: Path) -> None:
    whole = MADE[{"sav": "SPSS", "dta": "Stata", "zsav": "SPSS, compressed"}[ending]][1](tmp_path / f"p.{ending}")
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    with pytest.raises(RankveilError):
        release(whole, PLAN, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    assert not (tmp_path / "l.sqlite").exists() and not list(tmp_path.glob("out/release*"))


_EVERY_DAMAGE = """
import sys
from pathlib import Path
from rankveil.engines import open_table
from rankveil.errors import TableError
whole, damaged, refused, read = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]), 0, 0
for place in range(0, whole.index(bytes([0xE7, 3, 0, 0])), 4):  # record 999 ends the dictionary
    for bad in (b"\\xff\\xff\\xff\\xff", bytes(4), b"\\x7f\\xff\\xff\\x7f", b"\\1\\0\\0\\0"):
        damaged.write_bytes(whole[:place] + bad + whole[place + 4:])
        try:
            list(open_table(damaged).batches())
            read += 1
        except TableError:
            refused += 1
print(refused, read)
"""


def test_a_damaged_spss_dictionary_is_refused_or_read_but_ends_no_program(tmp_path: Path) -> None:
    """In a process of its own: the library that reads such files crashes on some of them unless we look first."""
    table = pandas.DataFrame({"age": [1.0, 2.0], "town": ["ab", "cdefghijkl"], "sex": [1.0, 2.0]})
    labels = {"column_labels": {"age": "Age"}, "variable_value_labels": {"sex": {1: "m", 2: "f"}}}
    pyreadstat.write_sav(table, str(tmp_path / "p.sav"), missing_ranges={"sex": [9]}, **labels)
    done = subprocess.run(
        [sys.executable, "-c", _EVERY_DAMAGE, tmp_path / "p.sav", tmp_path / "damaged.sav"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    refused, read = map(int, done.stdout.split())
    assert refused > 100 and read > 100, "both happen"


@pytest.mark.parametrize("ending", ["sav", "zsav"])
def test_a_column_of_numbers_and_words_in_one_is_refused_in_words_and_nothing_is_spent(
    ending: str, tmp_path: Path
) -> None:
    ages = ["unknown" if number % 9 == 0 else str(number) for number in range(ROWS)]
    table = pandas.DataFrame({**PEOPLE, "age": ages})
    pyreadstat.write_sav(table, str(tmp_path / f"p.{ending}"), compress=ending == "zsav")
    with pytest.raises(DomainError, match=r"column 'age': 14 of 120 values are not whole numbers") as refused:
        release(tmp_path / f"p.{ending}", PLAN, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    assert "unknown" not in str(refused.value)
    assert not (tmp_path / "l.sqlite").exists() and files_in(tmp_path / "out") == []


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(TableError, match="holds 2 files"):
        open_table(tmp_path / "p.zip")


def test_what_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rankveil.extras.installed", lambda library: False)
    with pytest.raises(MissingExtraError, match=r"rankveil\[excel\]"):
        open_table(_excel(tmp_path / "p.xlsx"))


def test_a_format_that_cannot_hold_the_release_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    plan = Plan.from_dict(
        {"release": {"epsilon": 1}, "columns": {"a": {"kind": "category", "categories": ["a", "y" * 300]}}}
    )
    pyreadstat.write_sav(pandas.DataFrame({"a": ["a", "a", "a"]}), str(tmp_path / "p.sav"))
    with pytest.raises(OutputError, match="more than 255 bytes"):
        release(tmp_path / "p.sav", plan, out=tmp_path / "out", ledger=tmp_path / "l.sqlite")
    assert not (tmp_path / "l.sqlite").exists()


@pytest.mark.parametrize("make", [_sqlite, _duckdb])
def test_a_table_that_fails_halfway_is_not_there(
    make: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = make(tmp_path / "base").replace("table=people", "table=released")
    release(pa.table(PEOPLE), PLAN, out=tmp_path / "out")
    import rankveil.load as loading

    def broken(*given: Any) -> Any:
        yield from list(typed(*given))[:1]
        raise OSError(5, "gone")

    typed = loading._typed_batches
    with monkeypatch.context() as failing:
        failing.setattr(loading, "_typed_batches", broken)
        with pytest.raises(OutputError, match="cannot be written"):
            load(tmp_path / "out", address)
    with pytest.raises(TableError, match="no table 'released'"):
        open_table(address)
    assert load(tmp_path / "out", address) == ROWS
    assert verify(tmp_path / "out" / "certificate.json", address).verified


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:sesame@host/base?table=t",
        "postgresql://me:open/sesame@host/base?table=t",
        "postgresql://me:open@sesame@host/base?table=t",
        "postgresql://me@host/base?table=t&password=sesame",
    ],
)
def test_an_address_is_shown_without_its_password(address: str) -> None:
    assert "sesame" not in shown(address) and shown(address).startswith("postgresql://me")


@pytest.mark.parametrize("address", ["mysql://me:sesame@host/base", "odbc+x://me:sesame@host/base?x#y", "ftp://sesame"])
def test_an_address_of_an_unknown_kind_is_refused_by_its_kind_alone(address: str) -> None:
    with pytest.raises(TableError, match="Tables are not read from addresses that begin with") as refused:
        open_table(address)
    assert "sesame" not in str(refused.value)


def _command(arguments: str) -> str:
    return f"{sys.executable} -c 'from rankveil.cli import main; main()' {arguments}"


def test_a_table_comes_from_standard_input_and_its_copy_goes(tmp_path: Path) -> None:
    _text(tmp_path / "p.csv")
    env = {**os.environ, "TMPDIR": str(tmp_path), "RANKVEIL_LEDGER": str(tmp_path / "l.sqlite")}
    line = f"cat p.csv | {_command('init - --out plan.toml')}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if "standard-input" in path.name] == []


@pytest.mark.parametrize(("lines", "code"), [(1, 141), (10_000, 0)])
def test_a_command_before_head_ends_with_141_where_head_goes_early(lines: int, code: int, tmp_path: Path) -> None:
    """The output is longer than what the pipe and head together take in, so that whoever writes it must wait."""
    fcntl = pytest.importorskip("fcntl")
    if not hasattr(fcntl, "F_SETPIPE_SZ"):
        pytest.skip("the size of a pipe can be set on Linux only")
    names = [f"c{number}" for number in range(300)]
    (tmp_path / "p.csv").write_text("\n".join([",".join(names), *[",".join(["1"] * 300)] * 2, ""]), encoding="utf-8")
    (tmp_path / "plan.toml").write_text(plan_text({name: integer(9) for name in names}), encoding="utf-8")
    line = _command("release p.csv --plan plan.toml --dry-run")
    env = {**os.environ, "RANKVEIL_LEDGER": str(tmp_path / "l.sqlite")}
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1)  # the smallest there is: a page
    with (
        subprocess.Popen(["head", f"-n{lines}"], stdin=reader, stdout=subprocess.PIPE) as head,
        subprocess.Popen(
            ["bash", "-c", f"exec {line}"], stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, env=env
        ) as command,
    ):
        os.close(reader)
        os.close(writer)
        shown, _ = head.communicate(timeout=120)
        _, said = command.communicate(timeout=120)
    assert (command.returncode, said) == (code, b"")
    assert code != 0 or len(shown) > 4 * room, "else head might take in everything"
