"""Text files in other encodings: read as they are, in blocks of any size; no thread is left that wants Python."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

from rankveil.engines import decoding, open_table
from rankveil.engines.decoding import as_utf8
from rankveil.errors import TableError
from rankveil.formats import delimited

ROWS = [(str(number), text) for number in range(3000) for text in ("café", "naïve €", "Œuvre", "", "x")]
BLOCK = 1000


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of which the file has many; and it is an error here to wait in vain until Arrow lets go of it."""
    monkeypatch.setattr(delimited, "_BLOCK", BLOCK)
    monkeypatch.setattr(decoding, "suppress", lambda *_: nullcontext())


def written(path: Path, encoding: str, rows: list[tuple[str, ...]]) -> Path:
    text = "a,b\n" + "".join(",".join(row) + "\n" for row in rows)
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(path: Path, encoding: str) -> list[tuple[str, ...]]:
    batches = open_table(path, encoding=encoding).batches()
    return [(row["a"], row["b"]) for row in pa.Table.from_batches(batches).to_pylist()]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be", "utf-32", "gb18030"])
@pytest.mark.usefixtures("small_blocks")
def test_every_block_is_read(tmp_path: Path, encoding: str, name: str) -> None:
    assert read(written(tmp_path / name, encoding, ROWS), encoding) == ROWS


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.usefixtures("small_blocks")
def test_a_compressed_file_that_breaks_off_is_refused(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "t.csv.gz", encoding, ROWS * 20)  # longer than the first look at it
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(TableError):
        read(path, encoding)


@pytest.mark.parametrize(("encoding", "broken"), [("utf-16", b"\x00\xd8\n\x00"), ("cp1252", b"\x81,x\n")])
@pytest.mark.usefixtures("small_blocks")
def test_bytes_that_are_not_text_in_the_encoding_are_refused(tmp_path: Path, encoding: str, broken: bytes) -> None:
    path = written(tmp_path / "t.csv", encoding, ROWS)
    path.write_bytes(path.read_bytes() + broken)
    with pytest.raises(TableError, match="not valid text in the expected encoding"):
        read(path, encoding)


def test_a_stream_that_is_in_use_is_waited_for() -> None:
    stream, until_let_go = as_utf8(pa.BufferReader(b"caf\xe9"), "cp1252")
    waiting = threading.Thread(target=until_let_go)
    waiting.start()
    assert stream.read(100) == "café".encode()
    waiting.join(0.2)
    assert waiting.is_alive()
    del stream
    waiting.join(20)
    assert not waiting.is_alive()


def test_arrow_reads_utf8_by_itself() -> None:
    plain = pa.BufferReader(b"x")
    for name in ("utf-8", "UTF8", "utf_8_sig"):
        stream, until_let_go = as_utf8(plain, name)
        assert stream is plain
        until_let_go()


# A process that ends at once, with the table read in part or found to be wrong, while a block is being decoded.
ENDS = """
import codecs, sys, time
from rankveil.engines import open_table
from rankveil.errors import TableError
from rankveil.formats import delimited

class Slow(codecs.IncrementalDecoder):
    blocks = 0
    def decode(self, data, final=False):
        self.blocks += 1
        until = time.monotonic() + (0.3 if self.blocks > 1 else 0)
        while time.monotonic() < until:
            pass
        return data.decode("cp1252")

plain = codecs.lookup("cp1252")
slow = codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=Slow, name="slow")
codecs.register(lambda name: slow if name == "slow" else None)
delimited._BLOCK = 1 << 15
try:
    for batch in open_table(sys.argv[1], encoding="slow").batches():
        break
    else:
        sys.exit("no batch")
except TableError as error:
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize(("second", "code"), [(("1", "x"), 0), (("1", "x", "y"), 3)], ids=["left", "refused"])
def test_a_process_that_stops_reading_ends(tmp_path: Path, second: tuple[str, ...], code: int) -> None:
    """It waited for ever, or crashed, for files of more than a block in an encoding that is not UTF-8."""
    path = written(tmp_path / "t.csv", "cp1252", [("1", "café"), second, *ROWS * 2])
    ended = subprocess.run([sys.executable, "-c", ENDS, str(path)], timeout=100, capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr
