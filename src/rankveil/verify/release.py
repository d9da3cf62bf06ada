"""The release against its certificate: its bytes, its columns, its rows and values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import reduce
from itertools import chain
from pathlib import Path

from rankveil.certificate import Certificate, PartNote
from rankveil.engines import LocalEngine, Table, open_table
from rankveil.engines.content import Content, TextReading
from rankveil.engines.spelling import Marks
from rankveil.model import Model
from rankveil.verify.inspection import Inspection
from rankveil.verify.numbers import Fails
from rankveil.write import CERTIFICATE_NAME, MODEL_NAME, Written


def fingerprint(read: Certificate, path: Path) -> str:
    if read.release is None:
        raise Fails("the certificate is of a release in memory: it names no file")
    if not path.exists():
        raise Fails(f"{read.release.file} is missing")
    if read.release.parts is None:
        _is_certified(path, read.release.sha256, read.release.bytes)
        return f"SHA-256 and {read.release.bytes} bytes"
    if not path.is_dir():
        raise Fails("a file instead of a folder of parts")
    size = _parts_are_certified(path, read.release.parts, read.release.sha256, read.release.bytes)
    return f"SHA-256 of {len(read.release.parts)} parts and {size} bytes"


def model(read: Certificate, path: Path) -> str:
    """The model beside the release, if there is one; or the model, of which there is no release."""
    folder = path if read.release is None else path.parent / MODEL_NAME
    if read.model is None:
        if (folder / "model.json").exists():
            raise Fails("a model lies beside the release, which the certificate does not know")
        return "none was kept"
    if read.method != "synthetic":
        raise Fails(f"the method {read.method} has no model")
    if not folder.is_dir() and read.release is not None:
        return "certified, but not beside the release: not checked"
    beside = [CERTIFICATE_NAME] if read.release is None else []
    size = _parts_are_certified(folder, read.model.parts, read.model.sha256, read.model.bytes, beside)
    kept = Model.load(folder)
    if (kept.rows, kept.schema.names) != (read.rows, [column.name for column in read.columns]):
        raise Fails("other columns, or another number of rows, than those of the release")
    return f"SHA-256 of {len(read.model.parts)} files and {size} bytes; it can be read"


def _parts_are_certified(
    path: Path, parts: Sequence[PartNote], sha256: str, size: int, beside: Sequence[str] = ()
) -> int:
    """Every file of a folder is listed, all listed ones are there, and they add up to the whole; its size."""
    certified = {part.name for part in parts}
    absent = sorted(name for name in certified if not (path / Path(name).name).is_file())
    if len(certified) < len(parts) or any(Path(name).name != name or name.startswith(".") for name in certified):
        raise Fails("a part has no proper name, or the name of another one")
    if absent:
        raise Fails(f"{absent[0]} is missing")
    strangers = sorted(one.name for one in path.iterdir() if one.name not in {*certified, *beside})
    if strangers:
        raise Fails(f"{len(strangers)} file(s) in the folder that are not certified: {strangers[0]}")
    for part in parts:
        _is_certified(path / part.name, part.sha256, part.bytes, f"{part.name}: ")
    whole = Written.in_parts("", tuple(Written(part.name, part.sha256, part.bytes) for part in parts))
    if (whole.sha256, whole.size) != (sha256, size):
        raise Fails("the parts are those listed, but do not add up to the certified whole")
    return whole.size


def _is_certified(path: Path, sha256: str, size: int, where: str = "") -> None:
    digest, found = fingerprint_of(path)
    if found != size:
        raise Fails(f"{where}{found} bytes instead of {size}")
    if digest != sha256:
        raise Fails(f"{where}SHA-256 {digest} instead of {sha256}")


def fingerprint_of(path: Path) -> tuple[str, int]:
    """SHA-256 and size. Of files only: pipes and devices would keep readers waiting."""
    _is_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def _is_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise Fails(f"{path.name} is not a file")


def weights(read: Certificate, folder: Path) -> str:
    """The replicate weights, which lie beside the release."""
    if read.weights is None:
        return "there are none"
    name = read.weights.file
    if Path(name).name != name or name.startswith("."):
        raise Fails("the file of weights has no proper name")
    if not (folder / name).is_file():
        raise Fails(f"{name} does not lie beside the release")
    _is_certified(folder / name, read.weights.sha256, read.weights.bytes)
    return f"{read.weights.replicates} replicates, SHA-256 and {read.weights.bytes} bytes"


def certified_files(read: Certificate, path: Path) -> list[Path]:
    """The file, or the parts in their certified order."""
    if read.release is None or read.release.parts is None:
        return [path]
    return [path / Path(part.name).name for part in read.release.parts]


def columns(read: Certificate, path: Path) -> str:
    declared = [column.name for column in read.columns]
    for file in certified_files(read, path):
        table = opened(read, file)
        names = list(table.schema.names)
        if names != declared and (table.in_order or set(names) != set(declared)):
            raise Fails("other columns" if set(names) != set(declared) else "the same columns in another order")
    return f"{len(declared)}, in order"


def opened(read: Certificate, path: Path) -> Table:
    """The table, the separator of a text file read from what follows the first column's name, for it may be unusual."""
    _is_file(path)
    if read.release is not None and read.release.format != "csv":
        return open_table(path)
    name = read.columns[0].name if len(read.columns) > 1 else ""
    with path.open("rb") as file:
        header = file.readline(1 << 20).decode(errors="replace")
    declared = [column.name for column in read.columns]
    quoted = '"' + name.replace('"', '""') + '"'
    for spelt in (name, quoted, "'" + name, quoted[:1] + "'" + quoted[1:]):  # an apostrophe: formulas escaped
        separator = header[len(spelt) : len(spelt) + 1]
        if name and header.startswith(spelt) and separator.isascii() and separator not in ("", "\r", "\n", '"'):
            return open_table(path, separator=separator).unescaped(declared)
    return open_table(path).unescaped(declared)


def table(read: Certificate, file: Path, address: str) -> str:
    """Whether a table of a database holds the rows of the certified release, in any order."""
    notes = read.columns
    marks = Marks("." if read.release is None else read.release.decimal)
    formats = tuple((note.name, note.format or "%Y-%m-%d") for note in notes if note.kind == "date")
    truths = tuple(note.name for note in notes if note.kind == "boolean")
    work, engine = Content([note.name for note in notes], TextReading(marks, (), formats, truths)), LocalEngine()
    loaded = open_table(address)
    if loaded.schema.names != [note.name for note in notes]:
        raise Fails("other columns than those of the release")
    states = [engine.fold(opened(read, part), work) for part in certified_files(read, file)]
    if work.digests(reduce(work.merge, states))[-1] != work.digests(engine.fold(loaded, work))[-1]:
        raise Fails("other values, or another number of rows, than those of the release")
    return f"{read.rows} rows with the values of the release"


def contents(read: Certificate, path: Path) -> str:
    files = [opened(read, file) for file in certified_files(read, path)]
    common = set(files[0].schema.names).intersection(*(table.schema.names for table in files))
    decimal = "." if read.release is None else read.release.decimal
    of_texts = files[0].of_texts
    inspections = [Inspection(column, decimal, of_texts) for column in read.columns if column.name in common]
    rows = 0
    for batch in chain.from_iterable(table.batches() for table in files):
        rows += batch.num_rows
        for inspection in inspections:
            inspection.see(batch.column(inspection.note.name))
    complaints = [] if rows == read.rows else [f"{rows} rows instead of {read.rows}"]
    complaints += [text for inspection in inspections for text in inspection.complaints()]
    if complaints:
        raise Fails("; ".join(complaints[:10]))
    return f"{rows} rows, every value within its declared domain"
