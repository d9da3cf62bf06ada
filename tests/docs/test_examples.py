"""The bundled data are the data they claim to be, and the bundled plans fit them."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rankveil as rv
from rankveil.declare import Plan, declare, encode
from rankveil.engines import open_table
from rankveil.taxonomy import read_taxonomy

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SHARED = Path(os.environ.get("RANKVEIL_DATA", ROOT.parent / "shared" / "data"))
PARTS = {"adult.csv.gz": 32_561, "adult_test.csv.gz": 16_281}
TAXONOMIES = {
    "occupation": "occupation.csv",
    "native-country": "native_country.csv",
    "marital-status": "marital_status.csv",
    "workclass": "workclass.csv",
}


def rows_of(name: str) -> list[dict[str, str]]:
    with gzip.open(EXAMPLES / name, "rt", encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_adult", EXAMPLES / "make_adult.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "count"), PARTS.items())
def test_bundled_part_has_all_records_and_clean_labels(name: str, count: int) -> None:
    rows = rows_of(name)
    assert len(rows) == count
    assert {row["income"] for row in rows} == {"<=50K", ">50K"}
    assert not any(value != value.strip() for row in rows for value in row.values())
    assert {column for row in rows for column, value in row.items() if value == "?"} == {
        "workclass",
        "occupation",
        "native-country",
    }


def test_both_parts_together_stay_small() -> None:
    assert sum((EXAMPLES / name).stat().st_size for name in PARTS) < 1_500_000


@pytest.mark.parametrize("name", PARTS)
def test_compressed_files_carry_neither_time_nor_name(name: str) -> None:
    header = (EXAMPLES / name).read_bytes()[:8]
    assert header[3] == 0
    assert header[4:8] == b"\0\0\0\0"


def test_training_part_equals_an_independent_copy_value_for_value() -> None:
    independent = SHARED / "adult_full.csv"
    if not independent.exists():
        pytest.skip("the independent copy of Adult is not on this machine")
    with independent.open(encoding="ascii", newline="") as file:
        assert rows_of("adult.csv.gz") == list(csv.DictReader(file))


def test_converting_removes_junk_and_nothing_else(maker: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(maker.ROWS, "adult.test", 2)
    record = "25, Private, 1, 11th, 7, Never-married, ?, Own-child, Black, Male, 0, 0, 40, Hong, "
    text = f"|1x3 Cross validator\n{record}<=50K.\n{record}>50K.\n\n"
    header, first, second = maker.as_csv("adult.test", text).splitlines()
    assert header.split(",") == list(maker.COLUMNS)
    assert first == "25,Private,1,11th,7,Never-married,?,Own-child,Black,Male,0,0,40,Hong,<=50K"
    assert second.endswith(",Hong,>50K")


def test_a_lost_record_stops_the_rebuild(maker: ModuleType) -> None:
    with pytest.raises(SystemExit, match="1 records where 32561 were expected"):
        maker.as_csv("adult.data", ", ".join(["x"] * 15) + "\n")


def test_compressing_twice_gives_the_same_bytes(maker: ModuleType) -> None:
    assert maker.compressed("a,b\n1,2\n") == maker.compressed("a,b\n1,2\n")
    assert gzip.decompress(maker.compressed("a,b\n1,2\n")) == b"a,b\n1,2\n"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("plan_name", ["adult.toml", "adult_paper.toml"])
def test_plan_covers_every_value_of_the_bundled_data(plan_name: str, part: str) -> None:
    plan = Plan.load(EXAMPLES / plan_name)
    assert not plan.guesses
    table = open_table(EXAMPLES / part)
    records = encode(table, declare(plan, table))
    assert records.row_count == PARTS[part]


def test_adult_plan_declares_all_15_columns_in_the_order_of_the_table() -> None:
    plan = Plan.load(EXAMPLES / "adult.toml")
    assert list(plan.columns) == list(open_table(EXAMPLES / "adult.csv.gz").schema.names)
    assert not any(entry.kind == "drop" for entry in plan.columns.values())


def test_paper_plan_keeps_the_four_attributes_of_the_paper() -> None:
    plan = Plan.load(EXAMPLES / "adult_paper.toml")
    kept = {name for name, entry in plan.columns.items() if entry.kind != "drop"}
    assert kept == {"age", "hours-per-week", "occupation", "native-country"}
    assert plan.release.method == "published:individual-ranking"


@pytest.mark.parametrize(("column", "file"), TAXONOMIES.items())
def test_leaves_of_each_taxonomy_are_the_labels_of_the_data(column: str, file: str) -> None:
    labels = {row[column] for name in PARTS for row in rows_of(name)} - {"?"}
    taxonomy = read_taxonomy(EXAMPLES / file)
    assert set(taxonomy.labels) == labels
    depths = taxonomy.ancestors[: taxonomy.label_count].sum(axis=1)
    assert 3 <= depths.max() <= 5


def test_adult_plan_releases_with_a_guarantee(tmp_path: Path) -> None:
    made = rv.release(EXAMPLES / "adult_test.csv.gz", EXAMPLES / "adult.toml", out=tmp_path)
    assert made.certificate.differentially_private
    assert made.certificate.rows == PARTS["adult_test.csv.gz"]
    assert (tmp_path / "release.csv").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="the demonstration is a bash script")
def test_demo_runs_from_any_directory_and_starts_afresh(tmp_path: Path) -> None:
    # A copy, so that the demo-output of whoever works here is left alone.
    for folder in ("examples", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    output = tmp_path / "demo-output"
    (output / "release").mkdir(parents=True)
    for stale in ("release/release.csv", "draft.internal.toml"):
        (output / stale).write_text("from an earlier run", encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [tmp_path / "examples" / "demo.sh"],
        cwd="/",
        env={**os.environ, "PATH": path, "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "Where to look" in done.stdout.decode("utf-8")
    assert not (output / "refused").exists()
    for name in ("release/release.csv", "release/certificate.json", "published/release.csv", "draft.internal.toml"):
        assert "from an earlier run" not in (output / name).read_text(encoding="utf-8")
    for name in ("evaluation.internal.json", "evaluation.internal.html"):
        assert "INTERNAL" in (output / name).read_text(encoding="utf-8")
        assert f"demo-output/{name}" in done.stdout.decode("utf-8").partition("Where to look")[2]
