"""A release that lies in a folder as a table of a database: the same rows, in the types of the certificate's columns.

Post-processing (T1): it needs neither data nor budget, and can be done again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rankveil.certificate import Certificate, ColumnNote
from rankveil.engines import Table
from rankveil.engines.arrays import decoded, is_text, null_of
from rankveil.engines.spelling import number_texts
from rankveil.errors import OutputError
from rankveil.formats.into import Target
from rankveil.verify.checks import read_certificate
from rankveil.verify.numbers import Fails
from rankveil.verify.release import certified_files, fingerprint, opened
from rankveil.write import CERTIFICATE_NAME

_TYPES = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32(), "boolean": pa.bool_()}


def load(folder: str | Path, into: str, *, overwrite: bool = False) -> int:
    """Write the release in `folder` into a database; how many rows that are.

    `into` is an address such as `postgresql://user@host/base?table=released`. The table appears whole or not at all.
    """
    return load_into(Path(folder), Target.of(into, overwrite=overwrite))


def load_into(folder: Path, target: Target) -> int:
    try:
        certificate = read_certificate(folder / CERTIFICATE_NAME)
        if certificate.release is None:
            raise Fails("it is of no file")
        fingerprint(certificate, folder / Path(certificate.release.file).name)
    except (Fails, OSError) as failure:
        raise OutputError(
            f"{folder} is not the folder of a release that fits its certificate ({failure}).",
            cost="Nothing was written.",
            remedy="Name the folder that rankveil release has written, and see rankveil verify.",
        ) from None
    schema = pa.schema([pa.field(note.name, _TYPES.get(note.kind, pa.string())) for note in certificate.columns])
    target.write(schema, _typed_batches(certificate, tables_of(certificate, folder), schema))
    return certificate.rows


def tables_of(certificate: Certificate, folder: Path) -> list[Table]:
    assert certificate.release is not None  # noqa: S101 - asked before
    base = folder / Path(certificate.release.file).name
    return [opened(certificate, path) for path in certified_files(certificate, base)]


def _typed_batches(certificate: Certificate, tables: Sequence[Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    decimal = "." if certificate.release is None else certificate.release.decimal
    for table in tables:
        for batch in table.batches(schema.names):
            arrays = [
                _typed(array, note, field.type, decimal)
                for array, note, field in zip(batch.columns, certificate.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _typed(array: pa.Array, note: ColumnNote, kind: pa.DataType, decimal: str) -> pa.Array:
    array = decoded(array)
    if is_text(array.type):  # a text file writes missing as an empty field
        array = pc.if_else(pc.equal(array, ""), null_of(array.type), array)
        if note.kind == "date":
            array = pc.strptime(array, format=note.format or "%Y-%m-%d", unit="s", error_is_null=True)
        elif note.kind in ("integer", "number") and decimal != ".":
            array = pc.replace_substring(array, decimal, ".")
    if pa.types.is_boolean(kind) and pa.types.is_floating(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_string(kind) and pa.types.is_floating(array.type):  # labels that are numbers, of SPSS
        return number_texts(array)
    return array.cast(kind)
