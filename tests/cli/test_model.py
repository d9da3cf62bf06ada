"""`release --keep-model`, `sample` and `tables` as commands: what they write and print, and how they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest

from tests.support import Ran, category, files_in, integer, plan_text

Cli = Callable[..., Ran]


@pytest.fixture
def released(cli: Cli, tmp_path: Path) -> Path:
    lines = "".join(f"{number % 90},{'fm'[number % 3 == 0]}\n" for number in range(900))
    (tmp_path / "people.csv").write_text("age,sex\n" + lines)
    (tmp_path / "plan.toml").write_text(
        plan_text({"age": integer(99), "sex": category(["f", "m"])}, method="synthetic", epsilon=4)
    )
    done = cli(
        "release", "people.csv", "--plan", "plan.toml", "--out", "out", "--keep-model", "--ledger", "ledger.sqlite"
    )
    assert done.code == 0, done.text
    assert "Model        out/model" in done.out
    return tmp_path / "out"


def test_a_release_that_keeps_its_model_verifies(released: Path, cli: Cli) -> None:
    done = cli("verify", released / "certificate.json", released)
    assert done.code == 0 and "model is the certified one" in done.out


def test_sample_writes_as_many_rows_as_asked_for_without_the_data(released: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "people.csv").unlink()
    (tmp_path / "plan.toml").unlink()
    done = cli("sample", "out", "--rows", 50, "--where", "age >= 65 and sex = 'f'", "--out", "old/old.csv")
    assert (done.code, done.out) == (0, "Rows  old/old.csv  (50 rows)\n")
    rows = pacsv.read_csv(tmp_path / "old" / "old.csv").to_pandas()
    assert len(rows) == 50 and (rows.age >= 65).all() and (rows.sex == "f").all()


def test_sample_writes_sets_side_by_side(released: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("sample", "out/model", "--rows", 5, "--sets", 10, "--out", "sets/s.parquet", "--json")
    assert done.code == 0
    assert json.loads(done.out)["rows"] == 5 and len(json.loads(done.out)["files"]) == 10
    assert files_in(tmp_path / "sets") == [f"s-{number:02}.parquet" for number in range(1, 11)]
    drawn = [papq.read_table(path).to_pylist() for path in sorted((tmp_path / "sets").iterdir())]
    assert all(len(rows) == 5 for rows in drawn) and any(rows != drawn[0] for rows in drawn)


def test_tables_say_where_their_counts_come_from(released: Path, cli: Cli) -> None:
    shown = cli("tables", "out", "sex")
    assert shown.code == 0
    assert shown.out.startswith("Measured: noisy counts") and "deviation" in shown.out
    said = json.loads(cli("tables", "out", "age", "sex", "--json").out)
    assert said["columns"] == ["age", "sex"]
    assert (said["source"] == "measured") == (said["rows"][0]["deviation"] is not None)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("sample", "out", "--rows", 0, "--out", "a.csv"), 2, "0 rows cannot be drawn"),
        (("sample", "out", "--rows", "many", "--out", "a.csv"), 2, "not a valid integer"),
        (("sample", "out", "--rows", 5, "--sets", 0, "--out", "a.csv"), 2, "0 sets cannot be drawn"),
        (("sample", "out", "--rows", 5, "--out", "a.txt"), 2, "says no format"),
        (("sample", "out", "--rows", 5, "--out", "plan.csv/a.csv"), 2, "cannot be written"),
        (("sample", "out", "--rows", 5, "--out", "people.csv"), 2, "already there"),
        (("sample", "out", "--rows", 5, "--where", "age > 99", "--out", "a.csv"), 2, "no row that fulfils"),
        (("sample", "out", "--rows", 5, "--where", "agee > 9", "--out", "a.csv"), 2, "names column 'agee'"),
        (("sample", ".", "--rows", 5, "--out", "a.csv"), 3, "no folder of a model"),
        (("sample", "nowhere", "--rows", 5, "--out", "a.csv"), 3, "no folder of a model"),
        (("tables", "out", "weight"), 2, "no column 'weight'"),
        (("tables", "people.csv", "age"), 3, "no folder of a model"),
    ],
)
def test_bad_input_is_one_message_and_writes_nothing(
    command: tuple[object, ...], code: int, said: str, released: Path, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "plan.csv").write_text("a file and no folder")
    before = files_in(tmp_path)
    done = cli(*command)
    assert (done.code, said in done.err, "Traceback" in done.text) == (code, True, False), done.text
    assert files_in(tmp_path) == before


def test_other_methods_refuse_to_keep_a_model(released: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli(
        *("release", "people.csv", "--plan", "plan.toml", "--out", "other", "--keep-model", "--method", "laplace"),
        *("--ledger", "ledger.sqlite"),
    )
    assert done.code == 2 and "laplace has no model" in done.err
    assert files_in(tmp_path / "other") == []


def test_a_changed_model_and_one_of_another_version_are_refused(released: Path, cli: Cli) -> None:
    manifest = released / "model" / "model.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "model_format": 99, "rankveil_version": "9.0"}))
    done = cli("tables", "out", "age")
    assert done.code == 3 and "format 99, written by rankveil 9.0" in done.err
    manifest.write_text(json.dumps(content))
    (released / "model" / "rows.parquet").write_bytes(b"PAR1")
    done = cli("sample", "out", "--rows", 3, "--out", "a.csv", "--json")
    assert done.code == 3 and "rows.parquet has changed" in json.loads(done.out)["problem"]
