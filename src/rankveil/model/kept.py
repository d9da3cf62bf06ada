"""A model one can keep: what was measured and what was fitted to it, to draw rows and tables from at any time.

Guarantee    All of it follows from noisy answers, the plan and fresh randomness: post-processing (T1), with public
             columns T28. Whoever has it can draw as often as they like: it costs no budget and needs no data.
Files        docs/reference/model.md. `model.json` lists the others with their fingerprints; a folder with a changed
             file, or of another format, is not read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil._version import __version__
from rankveil.declare import Plan, Schema
from rankveil.declare.unit import Unit
from rankveil.draw.again import draw_again
from rankveil.draw.rows import Rows
from rankveil.errors import ModelError, RankveilError
from rankveil.fit.model import Model as Fitted
from rankveil.fragments import fragment
from rankveil.measure.measurements import Measurements
from rankveil.model.plan import bounds_of, plan_files, schema_of
from rankveil.model.stored import fitted_files, fitted_from, measurement_files, measurements_from, rounded
from rankveil.model.tables import TableEstimate, estimated
from rankveil.noise import RandomSource, SystemSource
from rankveil.write import CERTIFICATE_NAME, MODEL_NAME, as_arrow, write_folder

FORMAT = 1
MANIFEST = "model.json"
_NOT_READ = "Nothing was drawn or written."


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """Measurements and the model that was fitted to them: rows and tables are drawn from it, without data or budget.

    >>> model = rv.fit(people, plan)
    >>> model
    Model of 500 rows and 3 columns
    >>> model.save("people-model")
    >>> rv.Model.load("people-model").sample(1000, where="age >= 65").num_rows
    1000
    """

    measurements: Measurements
    fitted: Fitted
    plan_files: Mapping[str, str]
    for_release: bool = True
    version: str = __version__
    certificate: str | None = None  # its JSON text, of a model without a release; beside a release lies that one's

    def __repr__(self) -> str:
        return f"Model of {self.rows:,} rows and {len(self.schema.columns)} columns"

    def _repr_html_(self) -> str:
        measured = self.measurements
        orders = [len(table.columns) for table in measured.tables]
        return fragment(
            repr(self),
            warning=None if self.for_release else "NOT FOR RELEASE: drawn from a fixed seed.",
            facts=[
                ("columns", ", ".join(self.schema.names)),
                (
                    "measured",
                    f"{len(measured.asked)} columns; {orders.count(2)} tables of two, {orders.count(3)} of three",
                ),
                ("linkage", measured.linkage),
            ],
        )

    @classmethod
    def of(cls, plan: Mapping[str, str], measured: Measurements, fitted: Fitted, *, for_release: bool) -> Model:
        """`plan`: the files that `public_files` makes of one."""
        return cls(measured, rounded(fitted), plan, for_release)

    @staticmethod
    def public_files(plan: Plan, schema: Schema) -> dict[str, str]:
        """What of a plan goes with a model."""
        return plan_files(plan, schema)

    @property
    def schema(self) -> Schema:
        return self.measurements.schema

    @property
    def rows(self) -> int:
        """How many rows the table has, or has about where that is protected."""
        return self.measurements.rows

    # Drawing

    def sample(self, n: int, where: str | None = None, source: RandomSource | None = None) -> pa.Table:
        """`n` fresh rows as an Arrow table, all of which fulfil a condition such as "age >= 65 and sex = 'f'".

        >>> rv.fit(people, plan).sample(20, where="sex = 'f'").to_pandas()["sex"].unique().tolist()
        ['f']
        """
        return as_arrow(self.draw(n, where, source))

    def draw(self, n: int, where: str | None = None, source: RandomSource | None = None) -> Rows:
        """The same, ready to be written."""
        chance = SystemSource() if source is None else source
        return draw_again(self.measurements, self.fitted, n, where, chance)

    def table(self, columns: Sequence[str]) -> TableEstimate:
        """Counts of the cells of one to three columns: measured ones where there are, else those of the model.

        >>> len(rv.fit(people, plan).table(["sex"]).texts())
        2
        """
        return estimated(self.measurements, self.fitted, [columns] if isinstance(columns, str) else columns)

    # Files

    def files(self) -> dict[str, bytes]:
        """Every file of the model's folder: name -> content."""
        content = {
            **{name: text.encode() for name, text in self.plan_files.items()},
            **measurement_files(self.measurements),
            **fitted_files(self.measurements, self.fitted),
        }
        unit = self.schema.unit
        manifest = {
            "model_format": FORMAT,
            "rankveil_version": self.version,
            "for_release": self.for_release,
            "protects": {"neighbours": unit.neighbours, "persons": unit.person is not None, "rows": unit.rows},
            "bounds": bounds_of(self.schema),
            "files": [
                {"name": name, "sha256": hashlib.sha256(each).hexdigest(), "bytes": len(each)}
                for name, each in content.items()
            ],
        }
        return {MANIFEST: json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n", **content}

    def save(self, folder: str | Path) -> None:
        """Write the model, and its certificate if it has one, to a folder that does not exist yet; all or nothing.

        >>> rv.fit(people, plan).save("people-model")
        >>> rv.verify("people-model").verified
        True
        """
        beside = {} if self.certificate is None else {CERTIFICATE_NAME: self.certificate.encode()}
        write_folder(Path(folder), {**self.files(), **beside})

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        """Read a model's folder, or that of a release with a model beside it.

        >>> made = rv.release(people, plan, out="2031-q1", keep_model=True)
        >>> rv.Model.load("2031-q1")
        Model of 500 rows and 3 columns
        """
        path = Path(folder)
        path = path / MODEL_NAME if (path / MODEL_NAME / MANIFEST).exists() else path
        manifest = _manifest(path)
        files = _checked(path, manifest)
        try:
            said = manifest["protects"]
            unit = Unit(said["neighbours"], "" if said["persons"] else None, said["rows"])
            _, schema = schema_of(path, manifest["bounds"], unit)
            measured, fitted = measurements_from(files, schema), fitted_from(files, schema)
            texts = {name: each.decode() for name, each in files.items() if name.endswith((".toml", ".csv"))}
            own = path / CERTIFICATE_NAME
            certificate = own.read_text(encoding="utf-8") if own.exists() else None
            how = bool(manifest["for_release"]), str(manifest["rankveil_version"]), certificate
            return cls(measured, fitted, texts, *how)
        except (
            RankveilError,
            OSError,
            LookupError,
            ValueError,
            TypeError,
            AttributeError,
            ArithmeticError,
            pa.ArrowException,
        ):
            raise _damaged(path, "its files are not those of a model") from None


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((path / MANIFEST).read_bytes())
        known = isinstance(content, dict) and isinstance(content["files"], list)
        form, version = content["model_format"], content["rankveil_version"]
    except OSError:
        raise ModelError(
            f"{path} is no folder of a model: it has no {MANIFEST}.",
            cost=_NOT_READ,
            remedy="`rankveil release --keep-model` writes one: the folder model/ beside the release.",
        ) from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _damaged(path, f"{MANIFEST} cannot be read") from None
    if form != FORMAT:
        raise ModelError(
            f"The model in {path} is of format {form}, written by rankveil {version}; this is rankveil {__version__},"
            f" which reads format {FORMAT}.",
            cost=_NOT_READ,
            remedy="Read it with the version that wrote it.",
        )
    if not known:
        raise _damaged(path, f"{MANIFEST} cannot be read")
    return content


def _checked(path: Path, manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """The content of all files, each with the fingerprint that the list says."""
    files = {}
    for entry in manifest["files"]:
        try:
            name, digest = str(entry["name"]), entry["sha256"]
            if Path(name).name != name or not (path / name).is_file():
                raise ValueError
            files[name] = (path / name).read_bytes()
        except (OSError, LookupError, TypeError, ValueError):
            raise _damaged(path, "a file is missing, or has no proper name") from None
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise _damaged(path, f"{name} has changed since it was written")
    return files


def _damaged(path: Path, problem: str) -> ModelError:
    return ModelError(
        f"The model in {path} is damaged: {problem}.",
        cost=_NOT_READ,
        remedy="Get it again from whoever published it; `rankveil verify` checks it against its certificate.",
    )
