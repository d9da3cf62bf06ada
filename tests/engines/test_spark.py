"""The Spark engine on a real Spark: the same statistics, the same codes, the same rows as on one machine."""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import rankveil as rv
from rankveil.declare import Plan, Schema, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import LocalEngine, open_table
from rankveil.engines.spark import FrameTable, SparkEngine
from rankveil.errors import DomainError, OutputError, PlanError, TableError
from rankveil.ledger import Ledger
from rankveil.ledger.identity import identities
from rankveil.measure.counts import count_columns
from rankveil.noise import SeededSource
from tests.engines.folds import AllCodes
from tests.support import category, files_in, integer, plan_text

ROWS = 3000
DAYS = 'kind = "date"\nlower = 2019-12-01\nupper = 2020-12-31\nnull = true'
COLUMNS = {
    "age": integer(100, more="null = true"),
    "income": 'kind = "number"\nlower = 0\nupper = 2000000\nstep = 1\nscale = "log"',
    "job": category(["cook", "baker", "a, b", 'say "hi"'], more="null = true"),
    "rate": 'kind = "number"\nlower = -10\nupper = 10\nstep = 0.01\nnull = true',
    "member": 'kind = "boolean"\nnull = true',
}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng = np.random.default_rng(5)
    gone = rng.random(ROWS) < 0.1
    return pa.table(
        {
            "age": pa.array(rng.integers(0, 101, ROWS), mask=gone),
            "income": pa.array(np.rint(rng.lognormal(10, 1, ROWS)).clip(0, 2e6)),
            "job": pa.array(rng.choice(["cook", "baker", "a, b", 'say "hi"'], ROWS), mask=gone),
            "rate": pa.array([None if r < 0.1 else Decimal(int(r * 2000) - 1000) / 100 for r in rng.random(ROWS)]),
            "member": pa.array(rng.random(ROWS) < 0.3, mask=gone),
        }
    )


@pytest.fixture(scope="module")
def parquet(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    papq.write_table(people, path, row_group_size=250)
    return path


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon=3), folder=Path())


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh rows in pieces of at most 64; what else is derived from a piece's largest size stays as it is."""
    importlib.import_module("rankveil.release.steps")
    monkeypatch.setattr("rankveil.draw.rows.PIECE_ROWS", 64)


def counts(table: Any, schema: Schema, engine: Any) -> tuple[int, dict[str, list[int]]]:
    found, rows = count_columns(Dataset(schema, table, engine), schema.columns)
    return rows, {name: count.per_cell.tolist() for name, count in found.items()}


def all_codes(table: Any, plan: Plan, engine: Any) -> dict[str, list[int]]:
    """The codes of all rows, sorted: which row has which is for no engine to say."""
    schema = declare(plan, table)
    rows, _ = Dataset(schema, table, engine).fold(AllCodes(tuple(schema.names)))
    return dict(zip(schema.names, map(list, zip(*sorted(rows), strict=True)), strict=True))


@pytest.mark.parametrize("fan_in", [16, 2], ids=["merged by the driver", "merged in a tree"])
@pytest.mark.parametrize("partitions", [1, 7])
def test_counts_are_those_of_the_local_engine_whatever_the_partitions(
    spark: Any, parquet: Path, plan: Plan, partitions: int, fan_in: int
) -> None:
    local = open_table(parquet)
    wanted = counts(local, declare(plan, local), LocalEngine())
    assert wanted[0] == ROWS
    table = open_table(spark.read.parquet(str(parquet)).repartition(partitions))
    assert isinstance(table, FrameTable)
    assert counts(table, declare(plan, table), SparkEngine(spark, fan_in=fan_in)) == wanted


@pytest.mark.parametrize("fan_in", [16, 2])
def test_files_are_read_by_the_executors_with_the_same_counts(
    spark: Any, parquet: Path, plan: Plan, fan_in: int
) -> None:
    engine = SparkEngine(spark, fan_in=fan_in)
    table = engine.open(parquet)
    assert not isinstance(table, FrameTable)
    assert len(table.slices()) == 12
    assert counts(table, declare(plan, table), engine) == counts(table, declare(plan, table), LocalEngine())


def test_every_type_that_spark_reads_gives_the_codes_of_the_local_engine(spark: Any, tmp_path: Path) -> None:
    moments = [dt.datetime(2020, 1, 1, 23, 30), None, dt.datetime(2020, 6, 1, 0, 30), dt.datetime(2019, 12, 31, 0, 0)]
    arrays = {
        "int8": (pa.array([1, None, 3, 100], pa.int8()), integer(100, more="null = true")),
        "uint8": (pa.array([1, 200, None, 0], pa.uint8()), integer(255, more="null = true")),
        "uint32": (pa.array([1, 2**32 - 1, None, 0], pa.uint32()), integer(2**33, more="null = true")),
        "uint64": (pa.array([1, 2**40, None, 0], pa.uint64()), integer(2**40, more="null = true")),
        "float": (
            pa.array([0.1, float("nan"), None, 0.25], pa.float32()),
            'kind = "number"\nlower = 0\nupper = 1\nstep = 0.01\nnull = true',
        ),
        "decimal": (
            pa.array([Decimal("1.05"), None, Decimal("-2.25"), Decimal("0.15")], pa.decimal128(10, 2)),
            'kind = "number"\nlower = -3\nupper = 3\nstep = 0.1\nnull = true',
        ),
        "plain moment": (pa.array(moments, pa.timestamp("us")), DAYS),
        "moment in ms": (pa.array(moments, pa.timestamp("ms")), DAYS),
        "moment in UTC": (pa.array(moments, pa.timestamp("us", tz="UTC")), DAYS),
        "date": (pa.array([m and m.date() for m in moments], pa.date32()), DAYS),
        "labels": (pa.array(["a", " b", None, "a"]).dictionary_encode(), category(["a", "b"], more="null = true")),
        "large": (pa.array(["a", "b", None, "a"], pa.large_string()), category(["a", "b"], more="null = true")),
        "number text": (
            pa.array(["1", "2.5", None, "3"]),
            'kind = "number"\nlower = 0\nupper = 5\nstep = 0.5\nnull = true',
        ),
        "truth": (pa.array([True, None, False, True]), 'kind = "boolean"\nnull = true'),
    }
    plan = Plan.parse(plan_text({name: entry for name, (_, entry) in arrays.items()}, method="synthetic"))
    papq.write_table(pa.table({name: array for name, (array, _) in arrays.items()}), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    local = open_table(tmp_path / "t.parquet")
    assert all_codes(open_table(frame), plan, SparkEngine(spark)) == all_codes(local, plan, LocalEngine())


def test_a_moment_counts_as_the_day_it_has_in_the_time_zone_of_the_session(spark: Any, tmp_path: Path) -> None:
    moment = dt.datetime(2020, 1, 1, 23, 30)  # in UTC; the next day in Madrid
    path = tmp_path / "t.parquet"
    plan = Plan.parse(plan_text({"day": DAYS}, method="synthetic"))
    papq.write_table(pa.table({"day": pa.array([moment] * 2, pa.timestamp("us", tz="Europe/Madrid"))}), path)
    spark.conf.set("spark.sql.session.timeZone", "Europe/Madrid")
    try:
        in_madrid = all_codes(open_table(spark.read.parquet(str(path))), plan, SparkEngine(spark))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    in_utc = all_codes(open_table(spark.read.parquet(str(path))), plan, SparkEngine(spark))
    assert in_madrid == all_codes(open_table(path), plan, LocalEngine()) == {"day": [32, 32]}
    assert in_utc == {"day": [31, 31]}


def test_what_spark_reads_means_what_it_means_to_the_local_engine(
    spark: Any, people: pa.Table, tmp_path: Path, plan: Plan
) -> None:
    """ORC, JSON, a catalogue table, and CSV by its URL, with an empty field, quotes and a line inside a field."""
    small = people.slice(0, 40)
    papq.write_table(small, tmp_path / "small.parquet")
    wanted = all_codes(open_table(tmp_path / "small.parquet"), plan, LocalEngine())
    frame = spark.read.parquet(str(tmp_path / "small.parquet"))
    frame.write.orc(str(tmp_path / "small.orc"))
    frame.write.json(str(tmp_path / "small.json"))
    frame.createOrReplaceTempView("small_people")
    engine = SparkEngine(spark)
    for source in (tmp_path / "small.orc", str(tmp_path / "small.json"), "small_people"):
        assert all_codes(engine.open(source), plan, engine) == wanted, source

    text = 'a;b\n1;"x;y"\n;"say ""hi"""\n3;"two\nlines"\n'
    (tmp_path / "text.csv").write_text(text)
    two = {"a": integer(5, more="null = true"), "b": category(["x;y", 'say "hi"', "two\\nlines"])}
    plan = Plan.parse(plan_text(two, method="synthetic", table='separator = ";"').replace("\\\\n", "\\n"))
    path = tmp_path / "text.csv"
    by_url = engine.open(path.as_uri(), separator=";")
    assert isinstance(by_url, FrameTable)
    assert all_codes(by_url, plan, engine) == all_codes(open_table(path, separator=";"), plan, LocalEngine())


def test_json_is_read_as_text_so_that_no_record_decides_how_others_are_read(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"a": 1}\n{"a": 2.5}\n')
    table = SparkEngine(spark).open(tmp_path / "t.json")
    assert table.schema == pa.schema([("a", pa.string())])


def test_a_release_of_a_frame_is_the_release_of_its_file_row_by_row(
    spark: Any, parquet: Path, plan: Plan, tmp_path: Path
) -> None:
    """With the same noise. The frame that comes back is made again for every question, and is the same each time."""
    local = rv.release(parquet, plan, source=SeededSource(3)).table
    made = rv.release(spark.read.parquet(str(parquet)).repartition(5), plan, source=SeededSource(3))
    assert made.table.count() == ROWS
    first, second = made.table.toArrow(), made.table.toArrow()
    assert first.equals(second)
    assert first.to_pydict() == local.to_pydict()
    rv.release(spark.read.parquet(str(parquet)), plan, out=tmp_path / "out", source=SeededSource(3))
    written = papq.read_table(tmp_path / "out" / "release.parquet")
    assert written.to_pydict() == local.to_pydict()
    assert "part-00000.parquet" in "".join(files_in(tmp_path / "out"))


def test_a_release_in_parts_verifies_and_a_changed_part_does_not(
    spark: Any, parquet: Path, plan: Plan, tmp_path: Path, cli: Callable[..., Any], small_pieces: None
) -> None:
    out = tmp_path / "out"
    made = rv.release(spark.read.parquet(str(parquet)), plan, out=out)
    assert made.certificate.for_release
    parts = sorted((out / "release.parquet").iterdir())
    assert len(parts) > 1
    assert sum(papq.read_metadata(part).num_rows for part in parts) == ROWS
    assert [name for name in files_in(out) if "tmp" in name] == []
    assert cli("verify", out / "certificate.json", out / "release.parquet").code == 0
    content = bytearray(parts[0].read_bytes())
    content[len(content) // 2] ^= 1
    parts[0].write_bytes(bytes(content))
    assert cli("verify", out / "certificate.json", out / "release.parquet").code != 0


def test_values_outside_the_plan_are_counted_on_the_executors_and_refused_without_showing_them(
    spark: Any, tmp_path: Path
) -> None:
    frame = spark.createDataFrame(pa.table({"a": [1, 2, 4711]}))
    with pytest.raises(DomainError, match="1 of 3 values lie outside") as refusal:
        rv.release(frame, Plan.parse(plan_text({"a": integer(100)}, method="synthetic")), out=tmp_path / "out")
    assert "4711" not in str(refusal.value)
    assert files_in(tmp_path / "out") == []


def test_a_refusal_on_an_executor_arrives_as_the_refusal_it_is(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3\n")
    engine = SparkEngine(spark)
    plan = Plan.parse(plan_text({"a": integer(5), "b": integer(5)}, method="synthetic"))
    with pytest.raises(TableError, match="line 3 has 1 fields where the header has 2"):
        rv.release(path, plan, engine=engine)


def test_errors_of_spark_itself_do_not_quote_rows(spark: Any) -> None:
    from pyspark.sql.functions import expr

    frame = spark.createDataFrame(pa.table({"a": ["secret-4711", "2"]})).select(expr("cast(a as int) as a"))
    with pytest.raises(TableError, match="Spark reports") as refusal:
        rv.release(frame, Plan.parse(plan_text({"a": integer(5)}, method="synthetic")))
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("method", ["laplace", "aligned", "unlinked", "multivariate"])
def test_methods_that_need_records_are_refused_before_anything_is_read(spark: Any, method: str) -> None:
    frame = spark.createDataFrame(pa.table({"a": [1, 2, 4711]}))
    with pytest.raises(PlanError, match="record by record, and on the driver alone"):
        rv.release(frame, Plan.parse(plan_text({"a": integer(5)}, method=method, k=2)))


def test_public_columns_are_refused_on_spark(spark: Any) -> None:
    columns = {"a": integer(5), "b": integer(5, more='role = "public"')}
    with pytest.raises(PlanError, match="A plan with public columns"):
        rv.release(
            spark.createDataFrame(pa.table({"a": [1, 2], "b": [1, 2]})),
            Plan.parse(plan_text(columns, method="synthetic")),
        )


def test_a_url_is_refused_as_output_because_nothing_can_appear_there_whole(
    spark: Any, plan: Plan, parquet: Path
) -> None:
    with pytest.raises(OutputError, match="whole or not at all"):
        rv.release(spark.read.parquet(str(parquet)), plan, out="s3://bucket/out")


def test_a_table_that_is_nowhere_is_refused_by_its_name(spark: Any) -> None:
    with pytest.raises(TableError, match="neither as a file nor in Spark's catalogue"):
        SparkEngine(spark).open("no_such_table")


def test_the_identity_of_a_frame_does_not_depend_on_its_partitions_and_changes_with_any_value(
    spark: Any, parquet: Path
) -> None:
    key = bytes(32)
    frame = spark.read.parquet(str(parquet))
    whole = identities(open_table(frame), key)[0].digest
    assert identities(open_table(frame.repartition(5)), key)[0].digest == whole
    assert identities(open_table(frame), key, engine=SparkEngine(spark))[0].digest == whole
    assert identities(open_table(parquet), key, engine=SparkEngine(spark))[0].digest == whole
    assert identities(open_table(parquet), key)[0].digest == whole, "the frame and the file that it was read from"
    assert identities(open_table(frame.limit(ROWS - 1)), key)[0].digest != whole
    swapped = [pa.table({"a": [1, None], "b": [None, 1]}), pa.table({"a": [None, 1], "b": [None, 1]})]
    first, second = (identities(open_table(spark.createDataFrame(table)), key)[0].digest for table in swapped)
    assert first != second


def test_a_file_has_one_identity_on_both_engines_and_so_one_budget(
    spark: Any, parquet: Path, plan: Plan, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    rv.release(parquet, plan, ledger=ledger)
    rv.release(parquet, plan, ledger=ledger, engine=SparkEngine(spark), out=tmp_path / "out")
    with Ledger(ledger) as book:
        spends = [entry for entry in book.entries() if entry.kind == "spend"]
    assert len(spends) == 2
    assert len({entry.identity for entry in spends}) == 1


def test_rows_of_a_frame_can_be_streamed_through_the_driver(spark: Any, parquet: Path, people: pa.Table) -> None:
    table = open_table(spark.read.parquet(str(parquet)))
    ages = [age for batch in table.batches(["age"]) for age in batch.column("age").to_pylist()]
    assert sorted(ages, key=str) == sorted(people["age"].to_pylist(), key=str)


def test_the_local_engine_can_read_a_frame_too(spark: Any, parquet: Path, plan: Plan) -> None:
    frame, file = open_table(spark.read.parquet(str(parquet))), open_table(parquet)
    assert all_codes(frame, plan, LocalEngine()) == all_codes(file, plan, LocalEngine())


def test_a_folder_of_text_is_released_as_a_folder_of_text(
    spark: Any, tmp_path: Path, cli: Callable[..., Any], small_pieces: None
) -> None:
    (tmp_path / "text").mkdir()
    for number in range(3):
        lines = [f"{value};{'xy'[value % 2]}" for value in range(number, 100, 3)]
        (tmp_path / "text" / f"{number}.csv").write_text("\n".join(["a;b", *lines]) + "\n")
    plan = Plan.parse(plan_text({"a": integer(100), "b": category(["x", "y"])}, method="synthetic"))
    out = tmp_path / "out"
    rv.release(tmp_path / "text", plan, engine=SparkEngine(spark), out=out, source=SeededSource(4))
    parts = sorted((out / "release.csv").iterdir())
    assert [part.name for part in parts] == ["part-00000.csv", "part-00001.csv"]
    rv.release(tmp_path / "text", plan, out=tmp_path / "local", source=SeededSource(4))
    whole = (tmp_path / "local" / "release.csv").read_text().splitlines()
    assert [line for part in parts for line in part.read_text().splitlines()[1:]] == whole[1:]
    rv.release(tmp_path / "text", plan, engine=SparkEngine(spark), out=tmp_path / "true")
    checked = cli("verify", tmp_path / "true" / "certificate.json", tmp_path / "true" / "release.csv")
    assert checked.code == 0, checked.text


def test_a_frame_whose_column_names_need_quoting_is_read(spark: Any) -> None:
    frame = spark.createDataFrame(pa.table({"a.b": [1, 2, 3], "c`d": [1, 2, 3]}))
    plan = Plan.parse(plan_text({"a.b": integer(5), "c`d": integer(5)}, method="synthetic"))
    assert all_codes(open_table(frame), plan, SparkEngine(spark)) == {"a.b": [1, 2, 3], "c`d": [1, 2, 3]}


def test_rules_derived_columns_and_special_values_are_the_same_on_both_engines(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    age = rng.integers(0, 90, 3000)
    job = np.where(age < 15, None, rng.choice(["cook", "smith"], 3000))
    hours = np.where(rng.random(3000) < 0.1, 99, rng.integers(1, 60, 3000))
    table = pa.table({"age": age, "job": pa.array(list(job)), "old": age >= 65, "hours": hours})
    papq.write_table(table, tmp_path / "t.parquet")
    columns = {
        "age": {"kind": "integer", "lower": 0, "upper": 100},
        "job": {"kind": "category", "categories": ["cook", "smith"], "null": True},
        "old": {"kind": "boolean", "derived": {"by": "age >= 65"}},
        "hours": {"kind": "integer", "lower": 1, "upper": 60, "special": [99]},
    }
    rules = [{"when": "age < 15", "then": "job is missing"}]
    plan = Plan.from_dict({"release": {"epsilon": 1}, "columns": columns, "rule": rules})
    local = rv.release(tmp_path / "t.parquet", plan, source=SeededSource(3)).table
    frame = spark.read.parquet(str(tmp_path / "t.parquet")).repartition(4)
    assert rv.release(frame, plan, source=SeededSource(3)).table.toArrow().to_pydict() == local.to_pydict()
    strict = Plan.from_dict(
        {"release": {"epsilon": 1}, "columns": columns, "rule": [{"then": "age < 15 or hours < 50"}]}
    )
    refusals = []
    for source in (tmp_path / "t.parquet", frame):
        with pytest.raises(DomainError, match="of 3000 rows break rule 1") as refusal:
            rv.release(source, strict)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]
