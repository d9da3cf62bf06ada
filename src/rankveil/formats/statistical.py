"""SPSS, Stata and SAS files, read by pyreadstat in pieces of rows, each value as it stands in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankveil.errors import MissingExtraError, TableError

_READERS = {"sav": "read_sav", "zsav": "read_sav", "por": "read_por", "dta": "read_dta", "sas7bdat": "read_sas7bdat",
            "xpt": "read_xport"}  # fmt: skip


def read_dictionary(path: Path, kind: str) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("Files of SPSS, Stata and SAS", "spss") from None
    more: dict[str, Any] = {} if kind in ("por", "xpt") else {"user_missing": True}
    catalogue = path.with_suffix(".sas7bcat")
    if kind == "sas7bdat" and catalogue.is_file():
        more["catalog_file"] = str(catalogue)
    try:
        _, read = getattr(pyreadstat, _READERS[kind])(str(path), metadataonly=True, output_format="dict", **more)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, OSError, ValueError):
        raise TableError(
            f"Table {path.name} cannot be read: it is damaged, or not what its name says.", remedy="Check the file."
        ) from None
    return read
