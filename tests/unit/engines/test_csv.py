"""Text files as people write them: separators, quotes, encodings, line ends, and files that are no tables."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from rankveil.engines import open_table
from rankveil.errors import TableError

Write = Callable[..., Path]


def rows_of(path: Path, **how: str) -> list[dict[str, str]]:
    table = open_table(path, **how)
    return [row for batch in table.batches() for row in batch.to_pylist()]


def refusal(path: Path, **how: str) -> str:
    with pytest.raises(TableError) as caught:
        rows_of(path, **how)
    assert caught.value.exit_code == 3
    return str(caught.value)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_usual_separators_are_found(write_table: Write, separator: str) -> None:
    text = "\n".join(separator.join(row) for row in (["x", "y", "z"], ["1", "a b", "3"], ["4", "5.5", "6"])) + "\n"
    path = write_table(text)
    assert rows_of(path) == [{"x": "1", "y": "a b", "z": "3"}, {"x": "4", "y": "5.5", "z": "6"}]
    assert open_table(path).dialect.separator == separator  # type: ignore[union-attr]


def test_a_decimal_comma_does_not_pass_for_a_separator(write_table: Write) -> None:
    path = write_table("x;y\n1,5;2\n3,25;4\n")
    assert rows_of(path) == [{"x": "1,5", "y": "2"}, {"x": "3,25", "y": "4"}]


def test_a_separator_given_by_the_plan_wins(write_table: Write) -> None:
    path = write_table("x^y\n1,2^3,4\n")
    assert rows_of(path, separator="^") == [{"x": "1,2", "y": "3,4"}]


def test_separators_and_line_ends_inside_quotes_belong_to_the_value(write_table: Write) -> None:
    path = write_table('x,y\n"a,b","c\nd"\n"he said ""hi""",2\n')
    assert rows_of(path) == [{"x": "a,b", "y": "c\nd"}, {"x": 'he said "hi"', "y": "2"}]


def test_a_column_name_may_hold_a_separator_and_a_line_end(write_table: Write) -> None:
    path = write_table('"a,b","c\nd"\n1,2\n3,4\n')
    assert rows_of(path) == [{"a,b": "1", "c\nd": "2"}, {"a,b": "3", "c\nd": "4"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_usual_encodings_are_found(write_table: Write, encoding: str) -> None:
    path = write_table("größe,stadt\n1,Málaga\n2,Köln\n".encode(encoding))
    assert rows_of(path) == [{"größe": "1", "stadt": "Málaga"}, {"größe": "2", "stadt": "Köln"}]


def test_an_encoding_given_by_the_plan_wins(write_table: Write) -> None:
    path = write_table("имя,x\nИван,1\nОльга,2\n".encode("koi8-r"))
    assert rows_of(path, encoding="koi8-r")[0] == {"имя": "Иван", "x": "1"}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_of_any_system_and_a_missing_last_one_are_read(write_table: Write, end: str, last: bool) -> None:
    path = write_table(end.join(["x,y", "1,2", "3,4"]) + (end if last else ""))
    assert rows_of(path) == [{"x": "1", "y": "2"}, {"x": "3", "y": "4"}]


def test_a_compressed_file_is_read_as_it_is(write_table: Write) -> None:
    path = write_table(gzip.compress(b"x,y\n1,2\n"), name="table.csv.gz")
    assert rows_of(path) == [{"x": "1", "y": "2"}]


def test_null_texts_are_left_for_the_plan_to_judge(write_table: Write) -> None:
    path = write_table("x,y\n?,NA\n,null\n")
    assert rows_of(path) == [{"x": "?", "y": "NA"}, {"x": "", "y": "null"}]


def test_an_empty_line_in_a_table_of_one_column_is_a_row(write_table: Write) -> None:
    assert rows_of(write_table("x\n1\n\n3\n")) == [{"x": "1"}, {"x": ""}, {"x": "3"}]


def test_an_empty_line_in_a_wider_table_is_no_row(write_table: Write) -> None:
    assert len(rows_of(write_table("x,y\n1,2\n\n3,4\n\n"))) == 2


def test_only_the_columns_asked_for_are_read(write_table: Write) -> None:
    table = open_table(write_table("x,y,z\n1,2,3\n"))
    assert [batch.to_pylist() for batch in table.batches(["z", "x"])] == [[{"z": "3", "x": "1"}]]


def test_blanks_around_column_names_are_removed(write_table: Write) -> None:
    assert open_table(write_table("x , y\n1,2\n")).schema.names == ["x", "y"]


def test_rows_keep_their_order_over_many_blocks(write_table: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankveil.formats.delimited._BLOCK", 512)
    path = write_table("x,y\n" + "".join(f"{i},v{i}\n" for i in range(2000)))
    assert len(list(open_table(path).batches())) > 10
    assert [int(row["x"]) for row in rows_of(path)] == list(range(2000))


# Files that are no tables

CANARY = "Zanzibar-4711"


@pytest.mark.parametrize(
    "text", [f"x,y\n1,2\n{CANARY},3,4\n", f"x,y\n1,2\n{CANARY}\n", f'x,y\n1,2\n"{CANARY},3\n4,5\n']
)
def test_a_ragged_row_is_refused_without_its_text(write_table: Write, text: str) -> None:
    said = refusal(write_table(text))
    assert CANARY not in said


def test_a_ragged_row_is_refused_by_its_number_of_fields(write_table: Write) -> None:
    assert "3 fields where the header has 2" in refusal(write_table("x,y\n1,2\n3,4,5\n"))


@pytest.mark.parametrize("content", [b"", b"   \n\n", b"\n"])
def test_an_empty_file_is_refused(write_table: Write, content: bytes) -> None:
    assert "is empty" in refusal(write_table(content))


def test_a_file_that_ends_in_its_header_is_refused_for_having_no_rows(write_table: Write) -> None:
    assert "has no rows" in refusal(write_table("x,y"))


@pytest.mark.parametrize("content", [bytes(range(256)) * 20, b"\x89PNG\r\n\x1a\n" + bytes(64), bytes(1000)])
def test_binary_files_are_refused(write_table: Write, content: bytes) -> None:
    assert "binary data" in refusal(write_table(content))


def test_a_zip_file_that_is_none_is_refused(write_table: Write) -> None:
    assert "damaged" in refusal(write_table(b"PK\x03\x04" + bytes(64)))


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"x" * 100, b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_damaged_parquet_file_is_refused(write_table: Write, content: bytes) -> None:
    assert "cannot be read" in refusal(write_table(content, name="table.parquet"))


def test_a_truncated_parquet_file_is_refused(write_table: Write, tmp_path: Path) -> None:
    whole = write_table(pa.table({"x": list(range(10_000))})).read_bytes()
    assert "cannot be read" in refusal(write_table(whole[: len(whole) // 2], name="half.parquet"))


def test_a_damaged_compressed_file_is_refused(write_table: Write) -> None:
    content = gzip.compress(b"x,y\n" + b"1,2\n" * 10_000)
    assert "cannot be read" in refusal(write_table(content[: len(content) // 2], name="table.csv.gz"))
    assert "cannot be read" in refusal(write_table(b"x,y\n1,2\n", name="plain.csv.gz"))


def test_text_in_another_encoding_than_the_plan_says_is_refused(write_table: Write) -> None:
    path = write_table(f"x,y\n1,{CANARY} Köln\n".encode("cp1252"))
    said = refusal(path, encoding="utf-8")
    assert "encoding" in said
    assert CANARY not in said


def test_bytes_that_appear_late_and_fit_no_encoding_are_refused(write_table: Write) -> None:
    path = write_table(b"x,y\n" + b"1,2\n" * 300_000 + b"\xff\xfe,3\n")
    assert "encoding" in refusal(path)


@pytest.mark.parametrize("encoding", ["hex", "rot13", "undefined", "no-such-thing", "base64", "zip", ""])
def test_an_encoding_that_is_none_is_refused(write_table: Write, encoding: str) -> None:
    assert "encoding" in refusal(write_table("x,y\n1,2\n"), encoding=encoding) or encoding == ""


def test_duplicate_column_names_are_refused_by_their_places(write_table: Write) -> None:
    assert "columns 1 and 3" in refusal(write_table("x,y,x\n1,2,3\n"))


def test_an_empty_column_name_is_refused_by_its_place(write_table: Write) -> None:
    assert "column 2 has no name" in refusal(write_table("x,,z\n1,2,3\n"))
    assert "column 2 has no name" in refusal(write_table('x," ",z\n1,2,3\n'))


def test_more_than_a_thousand_columns_are_refused(write_table: Write) -> None:
    header = ",".join(f"c{i}" for i in range(1001))
    assert "1001 columns" in refusal(write_table(header + "\n" + "1," * 1000 + "1\n"))


def test_a_first_line_of_more_than_a_mebibyte_is_refused(write_table: Write) -> None:
    assert "first line is longer" in refusal(write_table(b"x" * (2 << 20)))


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)
    assert "does not exist" in refusal(tmp_path / "nothing.csv")


def test_a_table_that_vanishes_between_the_two_looks_is_refused(write_table: Write) -> None:
    path = write_table("x,y\n1,2\n")
    table = open_table(path)
    path.unlink()
    with pytest.raises(TableError, match="cannot be read"):
        list(table.batches())
