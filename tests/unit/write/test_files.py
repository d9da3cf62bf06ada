"""Files of a release: types, fingerprints, threads, progress."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest

from rankveil.declare import Column, Schema
from rankveil.declare.domain import MISSING, Codes, Grid, Nominal
from rankveil.draw.rows import Piece, Rows
from rankveil.taxonomy import flat_taxonomy
from rankveil.write import FileFormat, ahead, as_arrow
from rankveil.write.files import write_rows

TRADES = Nominal(flat_taxonomy(("cook", "smith", "weaver"), name="trade"))


def column(name: str, domain: Grid | Nominal, *, null: bool = False) -> Column:
    return Column(name, "any", domain, "protected", null, False, ())


SCHEMA = Schema(
    (
        column("age", Grid(90, Decimal(17)), null=True),
        column("income", Grid(1_000_000, step=Decimal("0.25"), whole=False), null=True),
        column("day", Grid(20_000, Decimal(100), date_format="%Y-%m-%d")),
        column("trade", TRADES, null=True),
        column("craft", TRADES),
        column("member", Nominal(flat_taxonomy(("false", "true"), name="member"), boolean=True)),
        column("rank", Grid(2, labels=("low", "mid", "high"))),
    )
)
SIZES = {"age": 91, "income": 1_000_001, "day": 20_001, "trade": 3, "craft": 3, "member": 2, "rank": 3}


def make(piece: Piece) -> dict[str, Codes]:
    rng = np.random.default_rng(piece.number)
    codes = {name: rng.integers(0, size, piece.rows) for name, size in SIZES.items()}
    for name in ("age", "income", "trade"):
        codes[name][rng.random(piece.rows) < 0.1] = MISSING
    return codes


def rows(pieces: int = 7, size: int = 1000, schema: Schema = SCHEMA) -> Rows:
    made = tuple(Piece(number, size, bytes(32)) for number in range(pieces))
    return Rows(schema, pieces * size, (), row_aligned=False, pieces=made, make=make)


def by_the_columns(of: Rows) -> pa.Table:
    """What the columns themselves say, without any table of values."""
    codes = of.collected()
    values = [column.domain.decode(codes[column.name]) for column in of.schema.columns]
    return pa.table(values, schema=of.schema.arrow)


def test_rows_in_memory_are_what_the_columns_decode() -> None:
    made, expected = as_arrow(rows()), by_the_columns(rows())
    assert made.schema.equals(expected.schema)
    assert made.equals(expected)


def test_a_parquet_release_has_the_types_of_the_plan(tmp_path: Path) -> None:
    written = write_rows(rows(), tmp_path / "r.parquet", "r.parquet", FileFormat("parquet"))
    expected = by_the_columns(rows())
    read = papq.read_table(tmp_path / "r.parquet")
    assert read.schema.equals(SCHEMA.arrow)
    for name in expected.column_names:
        assert read[name].to_pylist() == expected[name].to_pylist()
    content = (tmp_path / "r.parquet").read_bytes()
    assert (written.sha256, written.size) == (hashlib.sha256(content).hexdigest(), len(content))


def test_a_csv_release_has_the_values_of_the_table(tmp_path: Path) -> None:
    written = write_rows(rows(), tmp_path / "r.csv", "r.csv", FileFormat("csv", separator=";"))
    read = pacsv.read_csv(tmp_path / "r.csv", parse_options=pacsv.ParseOptions(delimiter=";"))
    assert read.num_rows == 7000
    expected = by_the_columns(rows())
    assert read["age"].to_pylist() == expected["age"].to_pylist()
    assert read["day"].to_pylist() == expected["day"].to_pylist()
    assert isinstance(read["day"][0].as_py(), date)
    assert [text or None for text in read["trade"].to_pylist()] == expected["trade"].to_pylist()
    content = (tmp_path / "r.csv").read_bytes()
    assert (written.sha256, written.size) == (hashlib.sha256(content).hexdigest(), len(content))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_csv_release_spells_values_as_arrow_does(tmp_path: Path, separator: str) -> None:
    signed = column("debt", Grid(20, Decimal(-10), Decimal("0.5"), whole=False), null=True)
    schema = Schema((*SCHEMA.columns, signed))

    def with_debt(piece: Piece) -> dict[str, Codes]:
        return {**make(piece), "debt": np.arange(piece.rows) % 22 - 1}

    made = replace(rows(schema=schema), make=with_debt)
    write_rows(made, tmp_path / "r.csv", "r.csv", FileFormat("csv", separator=separator))
    options = pacsv.WriteOptions(include_header=False, delimiter=separator, quoting_style="none")
    pacsv.write_csv(by_the_columns(made), tmp_path / "arrow.csv", options)
    header, _, body = (tmp_path / "r.csv").read_bytes().partition(b"\n")
    assert header.decode().split(separator) == schema.names
    assert body == (tmp_path / "arrow.csv").read_bytes()


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_the_file_does_not_depend_on_the_number_of_threads(
    file_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints = set()
    for threads in (1, 2, 5, 20):
        monkeypatch.setattr(ahead, "processors", lambda threads=threads: threads)
        fingerprints.add(write_rows(rows(), tmp_path / "r", "r", FileFormat(file_format)).sha256)
    assert len(fingerprints) == 1


def test_no_more_pieces_are_in_memory_than_threads_and_one() -> None:
    lock, made, used, most = threading.Lock(), 0, 0, 0

    def counting(piece: Piece) -> dict[str, Codes]:
        nonlocal made, most
        with lock:
            made += 1
            most = max(most, made - used)
        return make(piece)

    for _ in ahead.made_ahead(replace(rows(40), make=counting), lambda codes: codes, threads=3):
        used += 1
    assert used == 40
    assert most <= 5  # three threads, one that waits, and the one that is being written


def test_progress_is_told_every_row_once(tmp_path: Path) -> None:
    for file_format in ("csv", "parquet"):
        told: list[int] = []
        write_rows(rows(), tmp_path / "r", "r", FileFormat(file_format), told.append)
        assert told == [1000] * 7


def test_an_error_in_a_piece_comes_out_and_ends_the_work() -> None:
    made = []

    def failing(piece: Piece) -> dict[str, Codes]:
        made.append(piece.number)
        if piece.number == 3:
            raise ZeroDivisionError
        return make(piece)

    with pytest.raises(ZeroDivisionError):
        list(ahead.made_ahead(replace(rows(40), make=failing), lambda codes: codes, threads=2))
    assert len(made) < 10


def test_a_stream_is_gone_through_by_one_thread_in_order() -> None:
    threads = set()

    def batches() -> object:
        for number in range(9):
            threads.add(threading.get_ident())
            yield make(Piece(number, 10, b""))

    stream = Rows(SCHEMA, 90, (), row_aligned=True, stream=batches())  # type: ignore[arg-type]
    made = list(ahead.made_ahead(stream, lambda codes: codes["day"].tolist(), threads=4))
    assert made == [make(Piece(number, 10, b""))["day"].tolist() for number in range(9)]
    assert len(threads) == 1


def test_rows_that_are_a_stream_are_not_made_in_pieces() -> None:
    with pytest.raises(TypeError, match="stream"):
        Rows(SCHEMA, 1, (), row_aligned=True, stream=iter(())).make(Piece(0, 1, b""))
