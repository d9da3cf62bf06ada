"""Tables of several files: folders, patterns, and what keeps parts from being one table."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from rankveil.engines import LocalEngine, Table, open_table
from rankveil.errors import TableError
from rankveil.ledger import identities


def numbers(table: Table) -> list[int]:
    return [int(value) for batch in table.batches(["x"]) for value in batch.column("x").to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three parts; 'b' comes before 'c' though it was written last."""
    path = tmp_path / "table"
    path.mkdir()
    for name, values in (("a", [1, 2]), ("c", [5]), ("b", [3, 4])):
        papq.write_table(pa.table({"x": values, "t": ["v"] * len(values)}), path / f"{name}.parquet")
    return path


def test_the_parts_of_a_folder_are_read_in_the_order_of_their_names(folder: Path) -> None:
    table = open_table(folder)
    assert (table.format, table.name, numbers(table)) == ("parquet", "table", [1, 2, 3, 4, 5])
    assert table.expected_rows() == 5


def test_a_pattern_names_some_parts(folder: Path) -> None:
    assert numbers(open_table(f"{folder}/[ac].parquet")) == [1, 2, 5]
    assert numbers(open_table(folder.parent / "**" / "*.parquet")) == [1, 2, 3, 4, 5]


def test_hidden_files_and_marks_of_other_programs_are_no_parts(folder: Path) -> None:
    for name in ("_SUCCESS", "_metadata", ".a.parquet.crc", ".hidden"):
        (folder / name).write_bytes(b"no table")
    assert numbers(open_table(folder)) == numbers(open_table(folder / "*")) == [1, 2, 3, 4, 5]


def test_text_parts_may_be_compressed_and_each_has_its_header(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x;y\n1;ä\n2;b\n", encoding="utf-8")
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"x;y\n3;\xe4\n"))  # another encoding
    (tmp_path / "3.csv").write_text("x;y\n", encoding="utf-8")
    table = open_table(tmp_path)
    rows = [row for batch in table.batches() for row in batch.to_pylist()]
    assert rows == [{"x": "1", "y": "ä"}, {"x": "2", "y": "b"}, {"x": "3", "y": "ä"}]


def test_a_table_with_the_columns_of_a_part_in_another_order_is_one_table(folder: Path) -> None:
    papq.write_table(pa.table({"t": ["v"], "x": [6]}), folder / "d.parquet")
    assert numbers(open_table(folder)) == [1, 2, 3, 4, 5, 6]
    assert [batch.schema.names for batch in open_table(folder).batches(["x", "t"])] == [["x", "t"]] * 4


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (pa.table({"x": [1], "other": ["v"]}), "a.parquet and d.parquet have different"),
        (pa.table({"x": [1.5], "t": ["v"]}), "a.parquet and d.parquet have different"),
        (b"x,t\n1,v\n", "a.parquet is a parquet file and d.parquet is not"),
        (b"", "a.parquet is a parquet file and d.parquet is not"),
    ],
)
def test_a_part_that_does_not_belong_to_the_others_is_named(folder: Path, other: object, named: str) -> None:
    if isinstance(other, bytes):
        (folder / "d.parquet").write_bytes(other)
    else:
        papq.write_table(other, folder / "d.parquet")
    with pytest.raises(TableError, match=named):
        open_table(folder)


def test_text_parts_with_other_headers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x,y\n1,2\n")
    (tmp_path / "2.csv").write_text("y,x\n1,2\n")
    with pytest.raises(TableError, match=r"1\.csv and 2\.csv have different header lines"):
        open_table(tmp_path)


def test_folders_of_folders_and_empty_ones_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "year=2031").mkdir()
    with pytest.raises(TableError, match="holds another one, year=2031"):
        open_table(folder)
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match="folder without files"):
        open_table(tmp_path / "none")
    with pytest.raises(TableError, match="No file matches"):
        open_table(tmp_path / "none" / "*.csv")


def test_a_damaged_part_is_named_whoever_reads_it(folder: Path) -> None:
    whole = (folder / "b.parquet").read_bytes()
    table = open_table(folder)
    (folder / "b.parquet").write_bytes(whole[:4] + bytes(60) + whole[64:])

    class Rows:
        columns = ("x", "t")

        def zero(self) -> int:
            return 0

        def step(self, state: int, batch: pa.RecordBatch) -> int:
            return state + batch.num_rows

        def merge(self, first: int, second: int) -> int:
            return first + second

    for threads in (1, 2):
        with pytest.raises(TableError, match=r"b\.parquet cannot be read"):
            LocalEngine(threads).fold(table, Rows())


def test_an_engine_tells_about_every_row_it_has_done(folder: Path) -> None:
    class Nothing:
        columns = ("x",)

        def zero(self) -> None: ...
        def step(self, state: None, batch: pa.RecordBatch) -> None: ...
        def merge(self, first: None, second: None) -> None: ...

    for threads in (1, 2):
        told: list[int] = []
        LocalEngine(threads).fold(open_table(folder), Nothing(), told.append)
        assert sorted(told) == [1, 2, 2]


def test_the_identity_of_a_table_of_parts_does_not_depend_on_their_names_or_order(folder: Path) -> None:
    key = b"k" * 32
    before = identities(open_table(folder), key)[0].digest
    (folder / "a.parquet").rename(folder / "z.parquet")
    assert identities(open_table(folder), key)[0].digest == before
    assert identities(open_table(folder / "*.parquet"), key)[0].digest == before
    assert identities(open_table(folder / "[bz].parquet"), key)[0].digest != before
    # A folder of one part is the table of that file.
    alone = identities(open_table(folder / "c.parquet"), key)[0].digest
    assert identities(open_table(folder / "[c].parquet"), key)[0].digest == alone != before


@pytest.mark.parametrize(("text", "rows"), [("x\n" + "1234\n" * 1000, 1000), ("x\n" + "1234\n" * 500_000, 500_000)])
def test_the_rows_of_a_text_file_are_estimated_from_its_size(tmp_path: Path, text: str, rows: int) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert open_table(tmp_path / "t.csv").expected_rows() == pytest.approx(rows, rel=0.01)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert open_table(tmp_path / "t.csv.gz").expected_rows() is None
