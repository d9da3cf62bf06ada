"""The released rows and their weights, as arrays; checked against the certificate before anything is computed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.certificate import Certificate, ColumnNote
from rankveil.draw.replicates import UNIT
from rankveil.engines.arrays import decoded, is_text, null_of
from rankveil.errors import EstimateError
from rankveil.estimate.values import Ends, Floats, Values
from rankveil.measure.budget import Price
from rankveil.verify.checks import read_certificate
from rankveil.verify.numbers import Fails
from rankveil.verify.release import opened
from rankveil.write import CERTIFICATE_NAME, WEIGHTS, recover

if TYPE_CHECKING:
    from rankveil.release import Release

_MADE_WITH = "Make a release with replicates: rankveil release TABLE --plan PLAN --out FOLDER --replicates 80"


@dataclass(frozen=True)
class Frame:
    """A release to be estimated from."""

    columns: Mapping[str, Values]
    table: Sequence[Floats]  # replicate weights for the table
    population: Sequence[Floats]
    support: Sequence[Floats]
    of_persons: bool = False  # who may have several rows each
    ends: Mapping[str, Ends] = field(default_factory=dict)  # of protected columns of numbers and of dates

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).series.numbers)

    @classmethod
    def of(cls, release: Release[Any] | str | Path) -> Frame:
        if isinstance(release, str | Path):
            return cls._of_folder(Path(release))
        if release.folder is not None:
            return cls._of_folder(release.folder)
        if release.weights is None:
            raise EstimateError("The release has no replicate weights.", remedy="Release it with replicates=80.")
        from rankveil.engines import first_rows

        rows = first_rows(release.table, release.certificate.rows)
        if rows is None:
            raise EstimateError("Estimates are not made from Spark frames.", remedy="Release to a folder.")
        return cls.made([rows], release.weights, release.certificate)

    @classmethod
    def _of_folder(cls, folder: Path) -> Frame:
        if folder.is_dir():
            recover(folder)
        try:
            certificate = read_certificate(folder / CERTIFICATE_NAME)
        except Fails as failure:
            raise EstimateError(
                f"{folder} is not the folder of a release: its certificate cannot be read ({failure}).",
                remedy="Name the folder that rankveil release has written.",
            ) from None
        if certificate.release is None or certificate.weights is None:
            raise EstimateError("The release has no replicate weights.", remedy=_MADE_WITH)
        parts = certificate.release.parts or ()
        base = folder / Path(certificate.release.file).name
        files = [(base / Path(part.name).name, part.sha256) for part in parts] or [(base, certificate.release.sha256)]
        weights = folder / Path(certificate.weights.file).name
        for path, sha256 in (*files, (weights, certificate.weights.sha256)):
            _check(path, sha256)
        tables = [pa.Table.from_batches(opened(certificate, path).batches()) for path, _ in files]
        read = papq.read_table(weights) if weights.suffix == ".parquet" else pacsv.read_csv(weights)
        return cls.made(tables, read, certificate)

    @classmethod
    def made(cls, tables: Sequence[pa.Table], weights: pa.Table, certificate: Certificate) -> Frame:
        decimal = "." if certificate.release is None else certificate.release.decimal
        columns = {
            note.name: _values(
                pa.concat_arrays([chunk for table in tables for chunk in table[note.name].chunks]), note, decimal
            )
            for note in certificate.columns
        }
        if weights.num_rows != certificate.rows:
            raise EstimateError("There are not as many weights as released rows.", remedy=_MADE_WITH)
        sets = [
            [
                np.rint(weights[name].to_numpy().astype(np.float64) * UNIT) / UNIT  # Parquet has rounded them
                for name in weights.column_names
                if name.startswith(start) and name[len(start) :].isdigit()
            ]
            for start in WEIGHTS
        ]
        return cls(columns, sets[0], sets[1], sets[2], certificate.unit.rows > 1, _ends(certificate))


def _ends(certificate: Certificate) -> dict[str, Ends]:
    found = {}
    paid = {share.column: share for share in certificate.shares}
    for note in certificate.columns:
        share = paid.get(note.name)
        if note.lower is None or note.upper is None or share is None:
            continue
        if share.epsilon is not None:
            price = Price("epsilon", Fraction(share.epsilon), protects=certificate.unit)
        elif share.rho is not None:
            price = Price("rho", Fraction(share.rho), protects=certificate.unit)
        else:
            continue
        number = _days if note.kind == "date" else float
        found[note.name] = Ends(number(note.lower), number(note.upper), price.on_counts().deviation)
    return found


def _days(text: str) -> float:
    return float(np.datetime64(text, "D").astype(np.int64))


def _check(path: Path, sha256: str) -> None:
    try:
        with path.open("rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError as error:
        raise EstimateError(
            f"{path.name} cannot be read: {error.strerror}.", remedy="Keep release, weights and certificate together."
        ) from None
    if not same:
        raise EstimateError(
            f"{path.name} is not the file that the certificate is about: it was changed.",
            remedy="Get the release once more from its publisher, and see rankveil verify.",
        )


def _values(array: pa.Array, note: ColumnNote, decimal: str) -> Values:
    """A column by what the certificate says of it."""
    array = decoded(array)
    if is_text(array.type):
        array = pc.if_else(pc.equal(array, ""), null_of(array.type), array)
    if note.kind == "date":
        if is_text(array.type):
            array = pc.strptime(array, format=note.format or "%Y-%m-%d", unit="s", error_is_null=True)
        return Values.of_days(_numbers(array.cast(pa.date32(), safe=False).cast(pa.int32())))
    if note.lower is not None:
        if is_text(array.type):
            array = pc.replace_substring(array, decimal, ".")
        special = tuple(Fraction(text) for text in note.special or ())
        exact = [Fraction(note.lower), Fraction(note.step or "1"), *special]
        denominator = math.lcm(*(number.denominator for number in exact))
        return Values.of_numbers(_numbers(array.cast(pa.float64())), denominator, special)
    if pa.types.is_boolean(array.type):
        return Values.of_labels(_numbers(array.cast(pa.int8())), ("false", "true"))
    if not is_text(array.type):
        array = array.cast(pa.string())
    listed = array.dictionary_encode()
    labels = listed.dictionary.to_pylist()
    order = np.argsort(np.array(labels, dtype=object)) if labels else np.zeros(0, np.int64)
    place = np.empty(len(labels))
    place[order] = np.arange(len(labels))
    codes = _numbers(listed.indices)
    known = ~np.isnan(codes)
    codes[known] = place[codes[known].astype(np.int64)]
    return Values.of_labels(codes, tuple(labels[each] for each in order))


def _numbers(array: pa.Array) -> Floats:
    numbers: Floats = pc.fill_null(array.cast(pa.float64(), safe=False), float("nan")).to_numpy(zero_copy_only=False)
    return numbers.copy()
