"""Text files, compressed or not, are read in memory that does not grow with their rows."""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

_READ = """
import resource, sys
from rankveil.engines import open_table
rows = sum(batch.num_rows for batch in open_table(sys.argv[1], encoding=sys.argv[2]).batches())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
BLOCK = "".join(f"{number},{number * 7919 % 1000},text {number % 97}\n" for number in range(100_000))


def peak(path: Path, encoding: str, copies: int) -> int:
    """The most memory that a process has had that read so many copies of the rows."""
    packed = {".gz": gzip.compress, ".zst": pa.Codec("zstd").compress, ".bz2": bz2.compress, ".csv": bytes}[path.suffix]
    rows = bytes(packed(BLOCK.encode(encoding)))
    with path.open("wb") as file:  # compressed pieces one after the other are a compressed file
        file.write(packed("x,y,text\n".encode(encoding)))
        for _ in range(copies):
            file.write(rows)
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path), encoding], capture_output=True, text=True, check=True, timeout=300
    )
    path.unlink()
    count, most = map(int, done.stdout.split())
    assert count == 100_000 * copies
    return most


@pytest.mark.parametrize(
    ("name", "encoding"), [("t.csv.gz", "utf-8"), ("t.csv.zst", "utf-8"), ("t.csv", "utf-8"), ("t.csv.gz", "cp1252")]
)
def test_four_times_the_rows_take_no_more_memory(name: str, encoding: str, tmp_path: Path) -> None:
    assert peak(tmp_path / name, encoding, 80) < 1.3 * peak(tmp_path / name, encoding, 20)
